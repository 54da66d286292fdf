"""Online random trees on the raw inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import select
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.learners import random_trees
from onkel.learners.random_trees import RandomTrees
from onkel.turns import Steps


@dataclass(frozen=True)
class Trees:
    learner: RandomTrees
    dim: int
    view: str  # "X", or "X+L"

    @property
    def experts(self) -> tuple[Expert, ...]:
        return (Expert("trees", lagged="L" in self.view),)

    def init(self, outputs: int) -> Any:
        return self.learner.init(self.dim, outputs)

    def footprint(self, outputs: int) -> int:
        return self.learner.footprint(self.dim, outputs)

    def features(self, state: Any, view: View, steps: Steps) -> Matrix:
        return select(view, self.view, steps)

    def learn(self, state: Any, X: Matrix, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        learner, scores = self.learner, np.empty((*Y.shape, 1))
        settings = learner.gain, learner.forgetting, learner.seed
        steps.add(random_trees.learn_block, state.forest, X, Y, weight, *settings, scores[:, :, 0])
        return scores

    def predict(self, state: Any, X: Matrix, steps: Steps) -> Scored:
        scores = np.empty((len(X), state.outputs, 1))
        steps.add(random_trees.predict_block, state.forest, X, scores[:, :, 0])
        return Scored(scores, X)

    def learn_scored(self, state: Any, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        self.learn(state, row.features, Y, weight, steps)  # scoring the row again costs little

    def widen(self, state: Any, outputs: int) -> None:
        self.learner._widen(state, outputs)

    def check(self, state: Any) -> None:
        self.learner._check(state)
