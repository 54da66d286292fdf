"""Ridge regression that remembers every row. Rows are added to sums of products, single ones a few at a time (`linalg.gram`); the
coefficients are solved for again whenever the number of rows has grown by an eighth.

Between two solutions the coefficients do not change. Every prefix of the parts is an expert (`parts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import INTERCEPT_RIDGE, Parts
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.linalg import gram
from onkel.linalg.blas import gemm_nt
from onkel.state import Counted, counter, memory
from onkel.turns import Steps

RENEWALS = 8  # coefficients are computed again when there are this part (1/8) more rows
SHORTEST, LONGEST = 8, 1024  # limits for the number of rows between two computations of the coefficients
FEATURES_A_ROW = 2  # an expert with more features than this times the rows learnt gets the coefficients of a shorter one


@memory
class RidgeState(Counted):
    maps: tuple[Any, ...]
    products: Matrix
    targets: Matrix
    theta: Cube
    waiting: Matrix
    labels: Matrix
    held: Counts
    due: Counts
    learnt: Counts = counter()


class Sums(NamedTuple):
    """The state without its feature maps, for compiled code."""

    products: Matrix  # (r, r)  without the rows that wait
    targets: Matrix  # (outputs, r)
    theta: Cube  # (outputs, experts, r)
    waiting: Matrix  # (gram.ROWS, r)  rows that wait to be added to the sums, times the roots of their weights
    labels: Matrix  # (gram.ROWS, outputs)  their labels, times these roots
    held: Counts  # (1,)  the number of rows that wait
    due: Counts  # (1,)  number of rows at which θ is computed again
    learnt: Counts  # (1,)


class Settings(NamedTuple):
    """The settings, for compiled code."""

    ends: Counts  # (parts,)  the number of features of each prefix of the parts
    lams: Vector  # (2,)
    firsts: Counts  # (2,)  for each ridge, the last part of its shortest expert


@dataclass(frozen=True)
class RememberingRidge:
    parts: Parts
    # two ridges: the first is used for every prefix of the parts, the second only for the longer half of the prefixes
    lams: tuple[float, float]

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(
            Expert(part.name, 1.0, lam, "L" in part.view)
            for lam, first in zip(self.lams, self._firsts, strict=True)
            for part in self.parts[first:]
        )

    @property
    def _firsts(self) -> tuple[int, int]:
        """For each ridge, the last part of its shortest expert."""
        return 0, len(self.parts) // 2

    @cached_property
    def _settings(self) -> Settings:
        return Settings(self.parts.ends, np.array(self.lams), np.array(self._firsts))

    def init(self, outputs: int) -> RidgeState:
        r = self.parts.size
        sums = np.zeros((r, r)), np.zeros((outputs, r)), np.zeros((outputs, len(self.experts), r))
        rows = np.zeros((gram.ROWS, r)), np.zeros((gram.ROWS, outputs)), np.zeros(1, np.int64)
        return RidgeState(self.parts.init_maps(), *sums, *rows, np.array([SHORTEST]))

    def footprint(self, outputs: int) -> int:
        r = self.parts.size
        sums = r * r + outputs * r * (1 + len(self.experts)) + gram.ROWS * (r + outputs)
        return self.parts.footprint() + 8 * (sums + 3)

    def features(self, state: RidgeState, view: View, steps: Steps) -> Matrix:
        return self.parts.transform(state.maps, view, steps)

    def learn(self, state: RidgeState, V: Matrix, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((*Y.shape, len(self.experts)))
        steps.add(learn_block, _sums(state), self._settings, V, Y, weight, scores)
        return scores

    def predict(self, state: RidgeState, V: Matrix, steps: Steps) -> Scored:
        scores = np.empty((len(V), len(state.targets), len(self.experts)))
        steps.add(predict_block, state.theta, V, scores)
        return Scored(scores, V)

    def learn_scored(self, state: RidgeState, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        steps.add(add_rows, _sums(state), self._settings, row.features, Y, weight)

    def widen(self, state: RidgeState, outputs: int) -> None:
        more = outputs - len(state.targets)
        state.targets = np.pad(state.targets, ((0, more), (0, 0)))
        state.theta = np.pad(state.theta, ((0, more), (0, 0), (0, 0)))
        state.labels = np.pad(state.labels, ((0, 0), (0, more)))

    def check(self, state: RidgeState) -> None:
        rows_fit = 0 <= state.rows < state.due[0] and 0 <= state.held[0] < gram.ROWS
        if np.any(np.diag(state.products) < 0.0) or np.any(np.tril(state.products, -1)) or not rows_fit:
            raise InputError("its sums of products cannot come from rows")


def _sums(state: RidgeState) -> Sums:
    return Sums(*(getattr(state, name) for name in Sums._fields))


@hot
def learn_block(sums: Sums, settings: Settings, V: Matrix, Y: Matrix, weight: Vector, scores: Cube) -> None:
    """Score each row, then learn it; rows of weight 0 are only scored."""
    done = 0
    while done < V.shape[0]:
        stop, rows = done, sums.learnt[0]
        while stop < V.shape[0] and rows < sums.due[0]:
            rows += 1 if weight[stop] > 0.0 else 0
            stop += 1
        predict_block(sums.theta, V[done:stop], scores[done:stop])
        add_rows(sums, settings, V[done:stop], Y[done:stop], weight[done:stop])
        done = stop


@hot
def add_rows(sums: Sums, settings: Settings, V: Matrix, Y: Matrix, weight: Vector) -> None:
    """Learn rows of which at most the last one is due for new coefficients."""
    gram.collect(sums.products, sums.targets, sums.waiting, sums.labels, sums.held, V, Y, weight)
    for t in range(weight.size):
        sums.learnt[0] += 1 if weight[t] > 0.0 else 0
    if sums.learnt[0] == sums.due[0]:
        _renew(sums, settings)


@hot
def predict_block(theta: Cube, V: Matrix, scores: Cube) -> None:
    outputs, experts, r = theta.shape
    flat = np.empty((V.shape[0], outputs * experts))
    gemm_nt(V, theta.reshape(outputs * experts, r), flat)
    for t in range(V.shape[0]):
        for o in range(outputs):
            for k in range(experts):
                scores[t, o, k] = flat[t, o * experts + k]


@hot
def _renew(sums: Sums, settings: Settings) -> None:
    """Compute θ from the sums of products. Experts with too many features for the rows so far get those of a shorter one."""
    gram.flush(sums.products, sums.targets, sums.waiting, sums.labels, sums.held)
    rows, r, at = sums.learnt[0], settings.ends[0], 0
    for end in settings.ends:
        r = max(r, end) if end <= FEATURES_A_ROW * rows else r
    R, ridge, targets = np.zeros((r, r)), np.empty(r), sums.targets[:, :r].copy()
    for k in range(settings.lams.size):
        wanted = np.minimum(settings.ends[settings.firsts[k] :], r)
        theta = np.empty((targets.shape[0], wanted.size, r))
        ridge[:] = settings.lams[k]
        ridge[0] = INTERCEPT_RIDGE
        gram.factorise(sums.products, ridge, R)
        gram.solve(R, targets, wanted, theta)
        sums.theta[:, at : at + wanted.size, :r] = theta
        at += wanted.size
    sums.due[0] = rows + min(max(SHORTEST, rows // RENEWALS), LONGEST)
