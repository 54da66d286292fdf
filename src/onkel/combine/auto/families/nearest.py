"""Nearest neighbours among the last rows, one expert without and one with earlier labels among the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import select
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.learners import neighbours
from onkel.learners.neighbours import Neighbours
from onkel.turns import Steps


@dataclass(frozen=True)
class Nearest:
    learner: Neighbours
    dim: int  # columns of N
    lags: int  # columns of L

    @property
    def experts(self) -> tuple[Expert, ...]:
        alone = (Expert("neighbours"),)
        return (*alone, Expert("neighbours", lagged=True)) if self.lags else alone

    def init(self, outputs: int) -> Any:
        return self.learner.init(self.dim + self.lags, outputs)

    def footprint(self, outputs: int) -> int:
        return self.learner.footprint(self.dim + self.lags, outputs)

    def features(self, state: Any, view: View, steps: Steps) -> Matrix:
        return select(view, "N+L", steps)

    def learn(self, state: Any, X: Matrix, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((len(self.experts), *Y.shape))
        memory = state.points, state.labels, state.weights, state.rows
        steps.add(neighbours.learn_block, *memory, X, Y, weight, self.learner.neighbours, self.lags, scores)
        return scores.transpose(1, 2, 0)

    def predict(self, state: Any, X: Matrix, steps: Steps) -> Scored:
        scores = np.empty((len(self.experts), len(X), state.outputs))
        memory = state.points, state.labels, state.weights, state.rows
        steps.add(neighbours.predict_block, *memory, X, self.learner.neighbours, self.lags, scores)
        return Scored(scores.transpose(1, 2, 0), X)

    def learn_scored(self, state: Any, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        steps.add(neighbours.store_block, state.points, state.labels, state.weights, state.rows, row.features, Y, weight)

    def widen(self, state: Any, outputs: int) -> None:
        self.learner._widen(state, outputs)

    def check(self, state: Any) -> None:
        self.learner._check(state)
