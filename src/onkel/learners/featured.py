"""What learners on explicit features share: everything but what a row of features does to the rest of the state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_on_or_off
from onkel._types import Matrix, Vector
from onkel.features import Features
from onkel.features.compose import as_features
from onkel.learners.newton import check_labels
from onkel.losses import Loss

ROWS_AT_ONCE = 1024  # features are computed for so many rows at a time, to keep memory flat


class Featured(ABC):
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
        """Score, then learn, each row of features; those of weight 0 are scored alone."""

    def learn(self, state: Any, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, 1)
        weights = check_on_or_off(self, weight, len(rows))
        check_labels(self.loss, labels)
        return self._rounds(state, rows, labels[:, 0], weights).reshape(shape)

    def predict(self, state: Any, X: ArrayLike) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        rows = check_inputs(X, state.dim)
        return self._rounds(state, rows, np.zeros(len(rows)), np.zeros(len(rows)))  # weights 0: nothing is learnt

    def _rounds(self, state: Any, X: Matrix, y: Vector, weight: Vector) -> Vector:
        # a user's own basis may fail on any row: then all rows are transformed before the first is learnt
        longest = max(1, len(X)) if self._map.fallible else ROWS_AT_ONCE
        scores = np.empty(len(X))
        for start in range(0, len(X), longest):
            now = slice(start, start + longest)
            Z = np.empty((len(X[now]), self._map.size(state.dim)))
            after = self._map.write(state.features, X[now], weight[now], Z, 0)
            self._learn(state, Z, y[now], weight[now], scores[now])
            state.features = after
            state.rows += int(np.count_nonzero(weight[now]))
        return scores

    def notes(self, state: Any) -> list[str]:
        """What a person should know of this state, one sentence each."""
        return self._map.notes(state.features)
