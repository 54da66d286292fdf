"""Project: a sparse random projection of many inputs to a few.

    z_c(x) = √(count / (dim · s)) Σ_{i, b: h_b(i) = c} σ_b(i) x_i,     E z(x)·z(x') = (count/dim) x·x'

The `count` outputs c are divided into s groups b, where s is the field `entries`. Each input i is added to one output of each
group: the output h_b(i) and the sign σ_b(i) are draws of the counter-based generator (`onkel.random`). Uncorrelated inputs of
variance 1 give outputs of variance about 1. The draws for an input do not depend on the number of inputs. A row costs s additions
for each nonzero input.

Kane & Nelson (2014), Sparser Johnson-Lindenstrauss transforms, JACM 61. With entries=1 it is the count-sketch of Charikar, Chen &
Farach-Colton (2004), known as feature hashing.

>>> X = np.random.default_rng(0).normal(size=(1000, 500))
>>> Z = onkel.Transformer(Project(count=20)).fit_transform(X)
>>> Z.shape, float(Z.std().round(1))
((1000, 20), 1.0)
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix
from onkel._validate import config, whole
from onkel.features.compose import Fixed
from onkel.one_row import Step
from onkel.random import below, uniform
from onkel.state import fixed, memory


@memory
class State:
    places: Counts = fixed()  # (dim, s)  the output c of each input in each group: c if the sign is +, −1 − c if it is −


@config
class Project(Fixed):
    """A sparse random projection to fewer columns.

    count    The number of outputs. Default: 50.
    seed     The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    entries  The number of outputs to which each input is added, at most count. Default: 4.
    """

    count: int = 50
    seed: int = 0
    entries: int = 4

    def __post_init__(self) -> None:
        whole(self, "count", least=1)
        whole(self, "seed", least=0)
        whole(self, "entries", least=1)

    def size(self, dim: int) -> int:
        return self.count

    def init(self, dim: int) -> State:
        places = np.empty((dim, min(self.entries, self.count)), np.int64)
        _draw(self.seed, self.count, places)
        return State(places)

    def footprint(self, dim: int) -> int:
        return 8 * dim * min(self.entries, self.count)

    def step(self, state: State, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(_project, state.places, X, Z, at, self.count)


@hot
def _draw(seed: int, count: int, places: Counts) -> None:
    dim, groups = places.shape
    for i in range(dim):
        for b in range(groups):
            first, end = b * count // groups, (b + 1) * count // groups
            place = first + below(seed, i, 2 * b, end - first)
            places[i, b] = place if uniform(seed, i, 2 * b + 1) < 0.5 else -1 - place


@hot
def _project(places: Counts, X: Matrix, Z: Matrix, at: int, count: int) -> None:
    dim, groups = places.shape
    entry = math.sqrt(count / (dim * groups))
    for t in range(X.shape[0]):
        z = Z[t, at : at + count]
        z[:] = 0.0
        for i in range(dim):
            x = entry * X[t, i]
            if x == 0.0:
                continue
            for b in range(groups):
                place = places[i, b]
                if place >= 0:
                    z[place] += x
                else:
                    z[-1 - place] -= x
