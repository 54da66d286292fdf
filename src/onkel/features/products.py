"""Products: products of two inputs, with which a linear learner becomes a quadratic one.

    z_ij(x) = x_i x_j for i < j,     z_ii(x) = (x_i² − 1)/√2

If the inputs are independent and standard normal, each product has mean 0 and variance 1, and no two are correlated: they are the
Hermite polynomials of degree 2. If there are at most `count` pairs (i, j), all are used, in the order (0, 0), (0, 1), (1, 1),
(0, 2), … Otherwise `count` of them are drawn without replacement by the counter-based generator (`onkel.random`); the first draws
do not depend on `count`. Products are clipped to ±1e50.

>>> onkel.Transformer(Products()).fit_transform([[2.0, 3.0]]).round(2)
array([[2.12, 6.  , 5.66]])
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot
from onkel._types import Counts, Matrix
from onkel._validate import config, whole
from onkel.features.compose import Fixed
from onkel.one_row import Step
from onkel.random import below
from onkel.state import fixed, memory

ROOT_HALF = math.sqrt(0.5)


@memory
class State:
    first: Counts = fixed()  # (size,)  i
    second: Counts = fixed()  # (size,)  j ≥ i


@config
class Products(Fixed):
    """Products of pairs of columns.

    count  The largest number of products; if there are more pairs of columns, some are chosen at random. Default: 66.
    seed   The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    count: int = 66
    seed: int = 0

    def __post_init__(self) -> None:
        whole(self, "count", least=1)
        whole(self, "seed", least=0)

    def size(self, dim: int) -> int:
        return min(self.count, _pairs(dim))

    def init(self, dim: int) -> State:
        chosen = range(_pairs(dim)) if _pairs(dim) <= self.count else _drawn(self.seed, self.count, _pairs(dim))
        pairs = [_pair(number) for number in chosen]
        return State(np.array([i for i, _ in pairs], np.int64), np.array([j for _, j in pairs], np.int64))

    def footprint(self, dim: int) -> int:
        return 16 * self.size(dim)

    def step(self, state: State, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(_products, state.first, state.second, X, Z, at)


def _pairs(dim: int) -> int:
    return dim * (dim + 1) // 2


def _pair(number: int) -> tuple[int, int]:
    """(i, j) with i ≤ j and number = j(j + 1)/2 + i."""
    j = (math.isqrt(8 * number + 1) - 1) // 2
    return number - j * (j + 1) // 2, j


def _drawn(seed: int, count: int, total: int) -> list[int]:
    """`count` different numbers below `total`: the first ones of a Fisher-Yates shuffle. Only entries that the shuffle has moved
    are stored."""
    moved: dict[int, int] = {}
    drawn = []
    for k in range(count):
        other = k + below(seed, 0, k, total - k)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(k, k)
    return drawn


@hot
def _products(first: Counts, second: Counts, X: Matrix, Z: Matrix, at: int) -> None:
    for t in range(X.shape[0]):
        x, z = X[t], Z[t, at : at + first.size]
        for p in range(first.size):
            i, j = first[p], second[p]
            product = (x[i] * x[i] - 1.0) * ROOT_HALF if i == j else x[i] * x[j]
            z[p] = min(max(product, -LARGEST_NUMBER), LARGEST_NUMBER)
