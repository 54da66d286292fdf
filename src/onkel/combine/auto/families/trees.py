"""Online random trees on the raw inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Cube, Matrix, Vector
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import select
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

    def learn(self, state: Any, view: View, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        learner, scores = self.learner, np.empty((*Y.shape, 1))
        settings = learner.gain, learner.forgetting, learner.seed
        # the first label was subtracted from the labels, which may have made them larger than is allowed
        labels = np.clip(Y, -LARGEST_NUMBER, LARGEST_NUMBER)
        steps.add(random_trees.learn_block, state.forest, select(view, self.view), labels, weight, *settings, scores[:, :, 0])
        return scores

    def predict(self, state: Any, view: View) -> Cube:
        scores = np.empty((len(view.X), state.outputs, 1))
        random_trees.predict_block(state.forest, select(view, self.view), scores[:, :, 0])
        return scores

    def widen(self, state: Any, outputs: int) -> None:
        self.learner._widen(state, outputs)

    def check(self, state: Any) -> None:
        self.learner._check(state)
