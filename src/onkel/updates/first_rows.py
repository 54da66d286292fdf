"""The first rows of a stream, buffered until a statistic of all of them is known, then learnt again in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.protocol import Learner, S
from onkel.state import memory
from onkel.turns import Call

Present = NDArray[np.bool_]


@memory
class FirstRows:
    """A buffer of rows, with zeros after the last row stored. When the rows are no longer needed, the whole buffer is set to
    zeros."""

    X: Matrix  # (count, dim)
    y: Matrix  # (count, outputs)
    weight: Vector  # (count,)
    there: Present | None = None  # (count, dim)  mask of the values that are not missing; None if no value can be missing

    @property
    def present(self) -> Present:
        """The mask of the values that are not missing."""
        return np.ones(self.X.shape, dtype=bool) if self.there is None else self.there

    def first(self, rows: int) -> FirstRows:
        """The first `rows` rows, as views of the same memory."""
        return self._changed(lambda array: array[:rows])

    def with_more(self, rows: int, X: Matrix, y: Matrix, weight: Vector, there: Present | None = None) -> FirstRows:
        """A copy with the new rows of positive weight added after the first `rows` rows. There must be room."""
        learnt, kept = np.flatnonzero(weight > 0.0), self._changed(np.copy)
        for array, more in zip(kept._arrays, FirstRows(X, y, weight, there)._arrays, strict=True):
            array[rows : rows + len(learnt)] = more[learnt]
        return kept

    def followed_by(
        self, rows: int, X: Matrix, y: Matrix, weight: Vector, there: Present
    ) -> tuple[Matrix, Matrix, Vector, Present]:
        """X, y, weight and the mask of the first `rows` rows, followed by those of other rows."""
        first = self.first(rows)
        return (
            np.concatenate([first.X, X]),
            np.concatenate([first.y, y]),
            np.concatenate([first.weight, weight]),
            np.concatenate([first.present, there]),
        )

    def with_outputs(self, outputs: int, rows: int, label: float) -> FirstRows:
        """A copy with `outputs` outputs in total; the first `rows` rows have this label for the new outputs."""
        labels = np.zeros((len(self.y), outputs - self.y.shape[1]))
        labels[:rows] = label
        return replace(self, y=np.hstack([self.y, labels]))

    def dropped(self) -> FirstRows:
        """An empty buffer of the same size."""
        return self._changed(np.zeros_like)

    def holds_exactly(self, rows: int) -> bool:
        """Whether it has exactly `rows` rows, each of positive weight, and zeros after them."""
        return not any(np.any(array[rows:]) for array in self._arrays) and not np.any(self.weight[:rows] <= 0.0)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [array for array in vars(self).values() if array is not None]

    def _changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> FirstRows:
        there = None if self.there is None else change(self.there)
        return FirstRows(change(self.X), change(self.y), change(self.weight), there)


def empty(count: int, dim: int, outputs: int, gaps: bool = False) -> FirstRows:
    """A buffer for `count` rows. If `gaps` is true, values may be missing."""
    there = np.zeros((count, dim), dtype=bool) if gaps else None
    return FirstRows(np.zeros((count, dim)), np.zeros((count, outputs)), np.zeros(count), there)


def footprint(count: int, dim: int, outputs: int, gaps: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return count * (8 * (dim + outputs + 1) + (dim if gaps else 0))


def learn_again(learner: Learner[S], state: S, X: Matrix, Y: Matrix, weight: Vector) -> None:
    """Learn buffered rows, which were scored before. No other call may be able to see the state yet."""
    learner._admit(state, Y, weight)
    learner._take(Call(), state, X, Y, weight, np.empty(Y.shape))
