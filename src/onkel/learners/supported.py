"""What learners of a support set share: everything but what a row does to the set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_on_or_off, check_signs
from onkel._types import Matrix, Vector
from onkel.dictionary import representations, support
from onkel.dictionary.function import Function
from onkel.dictionary.support import Support
from onkel.kernels import Kernel
from onkel.learners.protocol import check_room, check_sizes, tasks_of
from onkel.state import copied

ROWS_AT_ONCE = 512  # where compiled code wants rows in another form, so many are written in it at a time


class Block(NamedTuple):
    """Rows, as compiled code sees them."""

    kernel: Any  # a named tuple, as `Function.source` makes it
    X: Matrix  # as `Function.rows` makes them
    own: Vector  # k(x, x)
    y: Vector
    weight: Vector  # 1, or 0 to score a row and leave it unlearnt


@dataclass
class State:
    support: Function
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
        """Score, then learn, the first rows of a block: how many. Where there is no budget, those before a row to be learnt for
        which there is no room; else one at least."""

    def _points(self, state: Any) -> Matrix:
        """The points whose kernel values a row needs, in columns."""
        points: Matrix = state.support.points[:, : state.support.size[0]]
        return points

    def _source(self, state: Any, rows: Matrix) -> Any:
        """The kernel as compiled code wants it, for these rows and the points of this moment."""
        if self._room is None:
            return state.support.source(self.kernel, rows)
        return support.source(self.kernel, rows, self._points(state))

    def _may_fail(self, state: Any, own: Vector) -> bool:
        """Whether to learn rows with these k(x, x) may fail in the middle: then it is done on a copy."""
        return self.kernel.fallible and isinstance(state.support, Support)

    def init(self, dim: int, outputs: int = 1) -> Any:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        f = representations.empty(self.kernel, dim) if self._room is None else support.with_room(dim, self._room)
        return State(f, dim=dim)

    def learn(self, state: Any, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, 1)
        weights = check_on_or_off(self, weight, len(rows))
        if "regression" not in tasks_of(self):
            check_signs(labels)
        own = self.kernel.diagonal(rows)
        if self._room is None:
            remedy = "learn shorter blocks, or take a learner with a budget"
            check_room(self, state.support.bytes_with(int(np.count_nonzero(weights))), remedy)
        work = copied(state) if self._may_fail(state, own) else state
        scores = self._rounds(work, rows, own, labels[:, 0], weights)
        vars(state).update(vars(work))
        return scores.reshape(shape)

    def predict(self, state: Any, X: ArrayLike) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        rows = check_inputs(X, state.dim)
        nothing = np.zeros(len(rows))  # of weight 0: nothing is learnt
        return self._rounds(state, rows, self.kernel.diagonal(rows), nothing, nothing)

    def _rounds(self, state: Any, X: Matrix, own: Vector, y: Vector, weight: Vector) -> Vector:
        scores, done, f = np.empty(len(X)), 0, state.support
        written = f.lists(self.kernel, X) if self.kernel.fallible else None  # a user's functions fail before anything is learnt
        while done < len(X):
            now = slice(done, done + self._at_once(state, len(X)))
            rows = f.placed(self.kernel, f.lists(self.kernel, X[now]) if written is None else written[now])
            block = Block(self._source(state, rows), rows, own[now], y[now], weight[now])
            used = self._learn(state, block, scores[now])
            state.rows += int(np.count_nonzero(weight[done : done + used]))
            done += used
            if self._room is None and not state.support.has_room:  # at once: what is then left out changes the last bits of f
                state.support.make_room(self.kernel)
        return scores

    def _at_once(self, state: Any, rows: int) -> int:
        """A user's own kernel gives its values one row at a time."""
        if self.kernel.fallible and isinstance(state.support, Support):
            return 1
        return ROWS_AT_ONCE if self._room is None else rows

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold; where there is no budget they grow with the points, as the header says."""
        held = representations.footprint(self.kernel, dim) if self._room is None else support.bytes_of(dim, self._room)
        return held + 8 * 3

    def check(self, state: Any) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        state.support.check(self.kernel, state.rows, self._room)

    def notes(self, state: Any) -> list[str]:
        """What a person should know of this state, one sentence each."""
        return []
