"""What learners on explicit features share: everything but what a row of features does to the rest of the state."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from onkel._inputs import refuse_weights
from onkel._types import Matrix, Vector
from onkel.features import Features
from onkel.features.compose import as_features
from onkel.learners.newton import check_labels
from onkel.learners.protocol import Learner
from onkel.losses import Loss
from onkel.turns import Call

ROWS_AT_ONCE = 1024  # features are computed for so many rows at a time, to keep memory flat


class Featured(Learner):
    features: Features | tuple[Features, ...]
    loss: Loss

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = False
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 0.0

    @cached_property
    def _map(self) -> Features:
        return as_features(self.features)

    @abstractmethod
    def _learn(self, state: Any, Z: Matrix, y: Vector, weight: Vector, scores: Vector) -> None:
        """Score, then learn, each row of features, and count it, as one step; those of weight 0 are scored alone."""

    def _admit(self, state: Any, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        check_labels(self.loss, Y)

    def _take(self, call: Call, state: Any, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        # a user's own basis may fail on any row: then all rows are transformed before the first is learnt
        longest = max(1, len(X)) if self._map.fallible else ROWS_AT_ONCE
        for start in range(0, len(X), longest):
            now = slice(start, start + longest)
            Z = np.empty((len(X[now]), self._map.size(state.dim)))
            features = self._map.write(state.features, X[now], weight[now], Z, 0)
            if features is not state.features:
                after = state.rows + int(np.count_nonzero(weight[now]))
                call.owe(partial(_follow, state, after, features))
            self._learn(state, Z, Y[now, 0], weight[now], scores[now, 0])
            if features is not state.features:
                call.pay()

    def _score(self, state: Any, X: Matrix, scores: Matrix) -> None:
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            Z, nothing = np.empty((len(X[now]), self._map.size(state.dim))), np.zeros(len(X[now]))
            self._map.write(state.features, X[now], nothing, Z, 0)  # of weight 0: nothing is learnt
            self._learn(state, Z, nothing, nothing, scores[now, 0])

    def _notes(self, state: Any) -> list[str]:
        return self._map.notes(state.features)


def _follow(state: Any, rows: int, features: Any) -> None:
    """The features as they are after so many rows, once these are learnt."""
    if state.rows == rows:
        state.features = features
