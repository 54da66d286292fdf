"""What learners on explicit features share: everything but what a row of features does to the rest of the state.

Rows are transformed in pieces. Features may change with the rows (a running mean): a piece is learnt first, and the features' own
state follows as the last step, so that an interrupt never leaves one without the other.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from onkel._inputs import place
from onkel._types import Matrix, Vector
from onkel.features import Features
from onkel.features.compose import as_features
from onkel.protocol import Learner
from onkel.turns import Call

ROWS_AT_ONCE = 1024  # features are computed for so many rows at a time, to keep memory flat
FEW_ROWS = ROWS_AT_ONCE // 2  # so many are one piece, wherever it ends


class FeatureState(Protocol):
    """What the state of such a learner has, whatever else is in it."""

    features: Any  # the features' own state
    dim: int
    outputs: int


F = TypeVar("F", bound=FeatureState)


class FeatureLearner(Learner[F]):
    """A learner of a linear function of explicit features; it says what a row of them does."""

    features: Features | tuple[Features, ...]

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = True

    @abstractmethod
    def _learn(self, state: F, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """Score, then learn and count, each row of features; those of weight 0 are scored alone. At every instant a first part of
        the rows is learnt."""

    def _predict(self, state: F, Z: Matrix, scores: Matrix) -> None:
        """Score each row of features."""
        self._learn(state, Z, np.zeros(scores.shape), np.zeros(len(Z)), scores)

    def _first_piece(self, state: F) -> int:
        """The rows of the first piece; those after it have ROWS_AT_ONCE."""
        return ROWS_AT_ONCE

    @cached_property
    def _map(self) -> Features:
        return as_features(self.features)

    @cached_property
    def _fallible(self) -> bool:
        return self._map.fallible

    def _take(self, call: Call, state: F, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        if len(X) <= FEW_ROWS:  # at once: where rows come one by one, each step counts
            self._take_piece(call, state, X, Y, weight, scores)
            return
        # a user's own basis may fail on any row: then all rows are transformed before the first is learnt
        done, longest = 0, len(X) if self._fallible else self._first_piece(state)
        while done < len(X):
            now = slice(done, done + longest)
            self._take_piece(call, state, X[now], Y[now], weight[now], scores[now])
            done, longest = done + longest, ROWS_AT_ONCE

    def _take_piece(self, call: Call, state: F, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        Z, features = self._map.transformed(state.features, X, weight)
        if features is state.features:
            self._learn(state, Z, Y, weight, scores)
        else:
            call.owe(partial(self._go_on, state, self._learnt(state), features, (Z, Y, weight, scores)))
            call.pay()

    def _go_on(self, state: F, rows: int, features: Any, piece: tuple[Matrix, Matrix, Vector, Matrix]) -> None:
        """Learn what is left of a piece that began after so many rows, and leave the features as they are after it."""
        done = place(piece[2], self._learnt(state) - rows)
        self._learn(state, *(part[done:] for part in piece))
        state.features = features

    def _score(self, state: F, X: Matrix, scores: Matrix) -> None:
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            Z, _ = self._map.transformed(state.features, X[now], np.zeros(len(X[now])))  # weights 0: nothing is learnt
            self._predict(state, Z, scores[now])

    def _notes(self, state: F) -> list[str]:
        return self._map.notes(state.features)
