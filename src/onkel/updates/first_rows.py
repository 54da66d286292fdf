"""The first rows of a stream, kept until something is known of all of them together, then learnt again in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.protocol import Learner, S
from onkel.turns import Call

Present = NDArray[np.bool_]


@dataclass
class FirstRows:
    """So many rows; zeros after those that have come, and zeros altogether once they are dropped."""

    X: Matrix  # (count, dim)
    y: Matrix  # (count, outputs)
    weight: Vector  # (count,)
    there: Present | None = None  # (count, dim)  which values are not missing, where some may be

    @property
    def present(self) -> Present:
        """Which values are not missing."""
        return np.ones(self.X.shape, dtype=bool) if self.there is None else self.there

    def first(self, rows: int) -> FirstRows:
        """So many of them, in the same memory."""
        return self._changed(lambda array: array[:rows])

    def with_more(self, rows: int, X: Matrix, y: Matrix, weight: Vector, there: Present | None = None) -> FirstRows:
        """Those of the new rows that have a weight, after the first `rows`; there is room. Nothing is shared."""
        learnt, kept = np.flatnonzero(weight > 0.0), self._changed(np.copy)
        for array, more in zip(kept._arrays, FirstRows(X, y, weight, there)._arrays, strict=True):
            array[rows : rows + len(learnt)] = more[learnt]
        return kept

    def with_outputs(self, outputs: int, rows: int, label: float) -> FirstRows:
        """With so many outputs in all; the first `rows` have this label in the new ones."""
        labels = np.zeros((len(self.y), outputs - self.y.shape[1]))
        labels[:rows] = label
        return replace(self, y=np.hstack([self.y, labels]))

    def dropped(self) -> FirstRows:
        """None of them."""
        return self._changed(np.zeros_like)

    def holds_exactly(self, rows: int) -> bool:
        """Whether so many rows are kept, each with its weight, and nothing after them."""
        return not any(np.any(array[rows:]) for array in self._arrays) and not np.any(self.weight[:rows] <= 0.0)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [array for array in vars(self).values() if array is not None]

    def _changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> FirstRows:
        there = None if self.there is None else change(self.there)
        return FirstRows(change(self.X), change(self.y), change(self.weight), there)


def empty(count: int, dim: int, outputs: int, gaps: bool = False) -> FirstRows:
    """Room for so many rows, in which values may be missing where there are gaps."""
    there = np.zeros((count, dim), dtype=bool) if gaps else None
    return FirstRows(np.zeros((count, dim)), np.zeros((count, outputs)), np.zeros(count), there)


def footprint(count: int, dim: int, outputs: int, gaps: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return count * (8 * (dim + outputs + 1) + (dim if gaps else 0))


def learn_again(learner: Learner[S], state: S, X: Matrix, Y: Matrix, weight: Vector) -> None:
    """Learn rows that were kept, with a state that nobody else sees yet; they were scored when they came."""
    learner._admit(state, Y, weight)
    learner._take(Call(), state, X, Y, weight, np.empty(Y.shape))
