"""Ridge regression with forgetting, exact in every row (`onkel.linalg.corrected`). Every prefix of its parts is an expert."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import Parts, ridge_diagonal
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.linalg import corrected
from onkel.state import memory
from onkel.turns import Steps


@memory
class ForgettingState:
    maps: tuple[Any, ...]
    products: Matrix
    targets: Matrix
    matrix: Matrix
    coef: Matrix
    rows: Matrix
    solved: Matrix
    labels: Matrix
    triangles: Cube
    residuals: Cube
    waiting: Counts


@dataclass(frozen=True)
class ForgettingRidge:
    parts: Parts
    forgetting: float
    lam: float
    block: int  # rows between two factorisations

    @property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(Expert(part.name, self.forgetting, self.lam, "L" in part.view) for part in self.parts)

    @cached_property
    def _settings(self) -> corrected.CorrectedSettings:
        ends = self.parts.ends
        return corrected.CorrectedSettings(
            np.append(ends, np.full(corrected.EXPERTS - len(ends), ends[-1])),
            ridge_diagonal(int(ends[-1]), self.lam),
            self.forgetting,
        )

    def init(self, outputs: int) -> ForgettingState:
        r, block = self.parts.size, self.block
        maps = self.parts.init_maps()
        matrix = np.diag(np.sqrt(ridge_diagonal(r, self.lam)))
        wait, lanes = np.zeros((block, r)), corrected.EXPERTS
        return ForgettingState(
            maps, np.zeros((r, r)), np.zeros((outputs, r)), matrix, np.zeros((outputs, r)), wait, wait.copy(),
            np.zeros((block, outputs)), np.zeros((block, block, lanes)), np.zeros((block, outputs, lanes)), np.zeros(1, np.int64),
        )  # fmt: skip

    def footprint(self, outputs: int) -> int:
        r, block, lanes = self.parts.size, self.block, corrected.EXPERTS
        maps = self.parts.footprint()
        sums = 2 * r * r + 2 * outputs * r + 2 * block * r + block * outputs
        return maps + 8 * (sums + lanes * block * (block + outputs) + 1)

    def features(self, state: ForgettingState, view: View, steps: Steps) -> Matrix:
        return self.parts.transform(state.maps, view, steps)

    def learn(self, state: ForgettingState, V: Matrix, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((*Y.shape, corrected.EXPERTS))
        steps.add(corrected.learn, _sums(state), self._settings, V, Y, weight, scores)
        return scores[:, :, : len(self.parts)]

    def predict(self, state: ForgettingState, V: Matrix, steps: Steps) -> Scored:
        scores, solved = np.empty((len(V), len(state.targets), corrected.EXPERTS)), tuple[Matrix, ...]()
        if len(V) == 1:
            solved = np.empty(V.shape), np.empty((self.block, corrected.EXPERTS))
            steps.add(corrected.score_row, _sums(state), self._settings, V, *solved, scores)
        else:
            steps.add(corrected.predict, _sums(state), self._settings, V, scores)
        return Scored(scores[:, :, : len(self.parts)], V, (*solved, scores))

    def learn_scored(self, state: ForgettingState, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        z, l, scores = row.more
        steps.add(corrected.learn_row, _sums(state), self._settings, row.features, z, l, Y, weight, scores)

    def widen(self, state: ForgettingState, outputs: int) -> None:
        more = outputs - len(state.targets)
        state.targets, state.coef = np.pad(state.targets, ((0, more), (0, 0))), np.pad(state.coef, ((0, more), (0, 0)))
        state.labels = np.pad(state.labels, ((0, 0), (0, more)))
        state.residuals = np.pad(state.residuals, ((0, 0), (0, more), (0, 0)))

    def check(self, state: ForgettingState) -> None:
        if np.any(np.diag(state.products) < 0.0) or np.any(np.diag(state.matrix) <= 0.0):
            raise InputError("its sums of products cannot come from rows")
        if not 0 <= state.waiting[0] < self.block:
            raise InputError("the number of rows since its last factorisation is impossible")


def _sums(state: ForgettingState) -> corrected.Sums:
    """The state without its feature maps, for compiled code."""
    return corrected.Sums(
        state.products, state.targets, state.matrix, state.coef, state.rows, state.solved, state.labels, state.triangles,
        state.residuals, state.waiting,
    )  # fmt: skip
