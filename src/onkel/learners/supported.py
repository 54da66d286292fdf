"""What learners of a support set share: everything but what a row does to the set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_on_or_off, check_signs
from onkel._types import Matrix, Vector
from onkel.dictionary import support
from onkel.dictionary.support import Source, Support
from onkel.kernels import Kernel
from onkel.learners.protocol import check_room, check_sizes, tasks_of
from onkel.state import copied

ROWS_AT_ONCE = 256  # where the set grows, room is made for so many rows at a time


class Block(NamedTuple):
    """Rows, as compiled code sees them."""

    kernel: Source
    X: Matrix
    own: Vector  # k(x, x)
    y: Vector
    weight: Vector  # 1, or 0 to score a row and leave it unlearnt


@dataclass
class State:
    support: Support
    rows: int = 0  # learnt so far
    dim: int = 1
    outputs: int = 1


class Supported(ABC):
    kernel: Kernel
    bounded: ClassVar[bool]
    multi_output: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    @property
    def _room(self) -> int | None:
        """The most points; None where each row may add one."""
        return int(self.budget) if self.bounded else None  # type: ignore[attr-defined]

    @abstractmethod
    def _learn(self, state: Any, block: Block, scores: Vector) -> int:
        """Score, then learn, the first rows of a block, one at least: how many. There is room for all of them."""

    def _points(self, state: Any) -> Matrix:
        """The points whose kernel values a row needs, in columns."""
        points: Matrix = state.support.points[:, : state.support.size[0]]
        return points

    @property
    def _may_fail(self) -> bool:
        """Whether `_learn` may fail in the middle: then it works on a copy."""
        return self.kernel.fallible

    def init(self, dim: int, outputs: int = 1) -> Any:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        return State(support.empty(dim, self._room or 0), dim=dim)

    def learn(self, state: Any, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, 1)
        weights = check_on_or_off(self, weight, len(rows))
        if "regression" not in tasks_of(self):
            check_signs(labels)
        work = copied(state) if self._may_fail else state
        scores = self._rounds(work, rows, labels[:, 0], weights)
        vars(state).update(vars(work))
        return scores.reshape(shape)

    def predict(self, state: Any, X: ArrayLike) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        rows = check_inputs(X, state.dim)
        return self._rounds(state, rows, np.zeros(len(rows)), np.zeros(len(rows)))  # weights 0: nothing is learnt

    def _rounds(self, state: Any, X: Matrix, y: Vector, weight: Vector) -> Vector:
        own, scores = self.kernel.diagonal(X), np.empty(len(X))
        if self._room is None:
            self._check_room(state.support, int(np.count_nonzero(weight)))
        at_once = 1 if self.kernel.fallible else ROWS_AT_ONCE if self._room is None else len(X)
        done = 0
        while done < len(X):
            now = slice(done, done + at_once)
            if self._room is None:
                support.make_room(state.support, int(state.support.size[0]) + int(np.count_nonzero(weight[now])))
            kernel = support.source(self.kernel, X[now], self._points(state))
            used = self._learn(state, Block(kernel, X[now], own[now], y[now], weight[now]), scores[now])
            state.rows += int(np.count_nonzero(weight[done : done + used]))
            done += used
        if self._room is None:
            support.fit(state.support)
        return scores

    def _check_room(self, f: Support, rows: int) -> None:
        """Before the first row is learnt: each of them may join."""
        needed = 2 * support.footprint(len(f.points), int(f.size[0]) + rows)
        check_room(self, needed, "learn shorter blocks, or take a learner with a budget")

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold; where there is no budget they grow with the points, as the header says."""
        return support.footprint(dim, self._room or 0) + 8 * 3

    def check(self, state: Any) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        support.check(state.support, self.kernel, state.rows, self._room)

    def notes(self, state: Any) -> list[str]:
        """What a person should know of this state, one sentence each."""
        return []
