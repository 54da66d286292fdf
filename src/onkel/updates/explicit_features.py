"""The base of learners on explicit features: everything except how a row of features changes the rest of the state.

Rows are transformed in pieces. The features have a state of their own, such as a running mean. That state is stored after the piece
is learnt. Storing it is registered as pending before the piece is learnt, so an interrupt cannot come between learning and storing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from onkel._inputs import no_weight, place
from onkel._types import Matrix, Vector
from onkel.features import Features
from onkel.features.compose import as_features
from onkel.one_row import Row, RowSteps, Step
from onkel.protocol import Learner
from onkel.turns import Call

ROWS_AT_ONCE = 1024  # rows for which features are computed at a time, so that they need little memory
FEW_ROWS = ROWS_AT_ONCE // 2  # a call with at most this many rows is one piece


class FeatureState(Protocol):
    """The fields of every state of a learner on explicit features."""

    features: Any  # the state of the features
    dim: int
    outputs: int


F = TypeVar("F", bound=FeatureState)


class FeatureLearner(Learner[F]):
    """A learner of a linear function of explicit features. Subclasses define how a row of features is learnt."""

    features: Features | tuple[Features, ...]

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = True
    takes_common = True

    @abstractmethod
    def _learn(self, state: F, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """Score, then learn and count, each row of features; rows of weight 0 are only scored. At every instant the state must be
        that after the first k rows, for some k. Z must not be changed: in `OneVsRest` the learners of the other labels may use
        the same array (`onkel.updates.common`)."""

    def _predict(self, state: F, Z: Matrix, scores: Matrix) -> None:
        """Score each row of features."""
        self._learn(state, Z, np.zeros(scores.shape), np.zeros(len(Z)), scores)

    def _first_piece(self, state: F) -> int:
        """The number of rows of the first piece. Later pieces have ROWS_AT_ONCE rows."""
        return ROWS_AT_ONCE

    @cached_property
    def _map(self) -> Features:
        return as_features(self.features)

    @cached_property
    def _fallible(self) -> bool:
        return self._map.fallible

    @cached_property
    def _fixed(self) -> bool:
        return self._map.fixed

    def _take(
        self, call: Call, state: F, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, common: Any = None
    ) -> None:  # fmt: skip
        if len(X) <= FEW_ROWS:  # a fast path: for single rows, every instruction matters
            self._take_piece(call, state, X, Y, weight, scores, common, 0)
            return
        # a user's function may raise on any row, so then all rows are transformed, as one piece, before the first is learnt
        done, longest = 0, len(X) if self._fallible else self._first_piece(state)
        while done < len(X):
            now = slice(done, done + longest)
            self._take_piece(call, state, X[now], Y[now], weight[now], scores[now], common, done)
            done, longest = done + longest, ROWS_AT_ONCE

    def _take_piece(
        self, call: Call, state: F, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, common: Any, start: int
    ) -> None:  # fmt: skip
        Z, features = self._transformed(state, X, weight, common, start)
        if features is state.features:
            self._learn(state, Z, Y, weight, scores)
        else:
            call.defer(partial(self._learn_rest, state, self._learnt(state), features, (Z, Y, weight, scores)))
            call.complete()

    def _transformed(self, state: F, X: Matrix, weight: Vector, common: Any, start: int) -> tuple[Matrix, Any]:
        """The features of the rows of a call from row `start` on, and the features' state after them."""
        if common is None:
            return self._map.transformed(state.features, X, weight)
        found: tuple[Matrix, Any] = common(start, self._map.transformed, state.features, X, weight)
        return found

    def _learn_rest(self, state: F, rows: int, features: Any, piece: tuple[Matrix, Matrix, Vector, Matrix]) -> None:
        """Learn the rest of a piece that started after `rows` rows, then store the features' state after the piece."""
        done = place(piece[2], self._learnt(state) - rows)
        self._learn(state, *(part[done:] for part in piece))
        state.features = features

    def _score(self, state: F, X: Matrix, scores: Matrix, common: Any = None) -> None:
        if len(X) == 1:  # a fast path
            self._predict(state, self._transformed(state, X, no_weight(1), common, 0)[0], scores)
            return
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            Z, _ = self._transformed(state, X[now], no_weight(len(X[now])), common, start)  # nothing is learnt
            self._predict(state, Z, scores[now])

    def _row_steps(self, state: F, own: Callable[[Matrix, Row], tuple[Step, Step]]) -> RowSteps | None:
        """What `_single` returns: the calls that write the features of a row and score it, and those that write them and learn it.
        None if the map has a state that changes with the rows, such as a running mean."""
        if not self._fixed:
            return None
        row, Z = Row.empty(state.dim, state.outputs), np.empty((1, self._map.size(state.dim)))
        features, (score, learn) = self._map.steps(state.features, row.X, Z, 0), own(Z, row)
        return RowSteps(row, [*features, score], [*features, learn])

    def _notes(self, state: F) -> list[str]:
        return self._map.notes(state.features)
