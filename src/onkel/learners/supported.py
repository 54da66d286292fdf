"""What learners of a support set share: everything but what a row does to the set."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onkel._inputs import check_signs, refuse_weights
from onkel._types import Counts, Matrix, Vector
from onkel.dictionary import representations, support
from onkel.dictionary.function import Function
from onkel.dictionary.support import Support
from onkel.kernels import Kernel
from onkel.learners.protocol import Learner, check_room, check_sizes, tasks_of
from onkel.state import Counted, copied, counter
from onkel.turns import Call

ROWS_AT_ONCE = 512  # where compiled code wants rows in another form, so many are written in it at a time


class Block(NamedTuple):
    """Rows, as compiled code sees them."""

    kernel: Any  # a named tuple, as `Function.source` makes it
    X: Matrix  # as `Function.rows` makes them
    own: Vector  # k(x, x)
    y: Vector
    weight: Vector  # 1, or 0 to score a row and leave it unlearnt
    learnt: Counts  # (1,)  the state's own count of rows; compiled code adds each row that it has learnt


@dataclass
class State(Counted):
    support: Function
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


class Supported(Learner):
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
        which there is no room; else one at least. It is one step that no interrupt can cut, or several that each leave a state
        after whole rows."""

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

    def _init(self, dim: int, outputs: int) -> Any:
        dim, outputs = check_sizes(self, dim, outputs)
        return State(self._nothing(dim), dim=dim)

    def _nothing(self, dim: int) -> Function:
        """f before the first row."""
        return representations.empty(self.kernel, dim) if self._room is None else support.with_room(dim, self._room)

    def _admit(self, state: Any, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        if "regression" not in tasks_of(self):
            check_signs(Y)
        if self._room is None:
            remedy = "learn shorter blocks, or take a learner with a budget"
            check_room(self, state.support.bytes_with(int(np.count_nonzero(weight))), remedy)

    def _take(self, call: Call, state: Any, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        own = self.kernel.diagonal(X)
        work = copied(state) if self._may_fail(state, own) else state
        self._rounds(work, X, own, Y[:, 0], weight, scores[:, 0])
        vars(state).update(vars(work))

    def _score(self, state: Any, X: Matrix, scores: Matrix) -> None:
        nothing = np.zeros(len(X))  # of weight 0: nothing is learnt
        self._rounds(state, X, self.kernel.diagonal(X), nothing, nothing, scores[:, 0])

    def _rounds(self, state: Any, X: Matrix, own: Vector, y: Vector, weight: Vector, scores: Vector) -> None:
        done, f = 0, state.support
        written = f.lists(self.kernel, X) if self.kernel.fallible else None  # a user's functions fail before anything is learnt
        while done < len(X):
            now = slice(done, done + self._at_once(state, len(X)))
            rows = f.placed(self.kernel, f.lists(self.kernel, X[now]) if written is None else written[now])
            block = Block(self._source(state, rows), rows, own[now], y[now], weight[now], state.learnt)
            done += self._learn(state, block, scores[now])
            if weight[now].any():
                self._after(state)

    def _after(self, state: Any) -> None:
        """What follows when rows have been learnt. Room is made at once, and not when the next point comes: what is then left out
        changes the last bits of f."""
        if self._room is None and not state.support.has_room:
            state.support.make_room(self.kernel)

    def _settle(self, state: Any) -> None:
        if state.rows > 0:
            self._after(state)
        elif self._room is None and state.support.has_room:
            state.support = self._nothing(state.dim)

    def _at_once(self, state: Any, rows: int) -> int:
        """A user's own kernel gives its values one row at a time."""
        if self.kernel.fallible and isinstance(state.support, Support):
            return 1
        return ROWS_AT_ONCE if self._room is None else rows

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold; where there is no budget they grow with the points, as the header says."""
        held = representations.footprint(self.kernel, dim) if self._room is None else support.bytes_of(dim, self._room)
        return held + 8 * 3

    def _check(self, state: Any) -> None:
        state.support.check(self.kernel, state.rows, self._room)
