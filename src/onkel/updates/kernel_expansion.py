"""The base of learners of a kernel expansion, f = Σ a_i k(x_i, ·): everything except how a row changes f."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from onkel._inputs import check_signs, refuse_weights
from onkel._types import Counts, Matrix, Vector
from onkel.functions import representations, support
from onkel.functions.function import Function
from onkel.functions.learnt import Learnt
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support
from onkel.protocol import check_room, tasks_of
from onkel.state import Counted, copied, counter, memory
from onkel.turns import Call
from onkel.updates.common import alone
from onkel.updates.domains import KernelLearner
from onkel.updates.gradient import check_scores

ROWS_AT_ONCE = 512  # rows that are converted to the format of compiled code at a time


@memory
class State(Counted):
    support: Function
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


class ExpansionState(Protocol):
    """The fields of every state of a learner of a kernel expansion."""

    learnt: Counts
    dim: int
    outputs: int

    @property
    def support(self) -> Function: ...

    @property
    def rows(self) -> int: ...


E = TypeVar("E", bound=ExpansionState)


class ExpansionLearner(KernelLearner[E]):
    """A learner whose function is a kernel expansion, f = Σ a_i k(x_i, ·). Subclasses define how a row changes f."""

    bounded: ClassVar[bool]
    multi_output: ClassVar[bool] = False
    takes_common = True
    cut_tolerance: ClassVar[float] = 0.0

    @property
    def _room(self) -> int | None:
        """The largest number of points; None if it is not limited."""
        return int(self.budget) if self.bounded else None  # type: ignore[attr-defined]

    @abstractmethod
    def _learn(self, state: E, block: RowBlock, scores: Vector) -> int:
        """Score, then learn, the first rows of a block; returns the number of rows done.

        A learner without a budget stops before a row for which there is no room; one with a budget does at least one row. The rows
        must be learnt in one step that no interrupt can split, or in several such steps, each of which learns some whole rows.
        """

    def _points(self, state: E) -> Matrix:
        """The points whose kernel values with a row are needed, one in each column."""
        f = state.support
        assert isinstance(f, Support)
        return f.points[:, : f.size[0]]

    def _source(self, state: E, rows: Matrix) -> Any:
        """The kernel in the format of compiled code, for these rows and the present points."""
        if self._room is None:
            return state.support.source(self.kernel, rows)
        return support.source(self.kernel, rows, self._points(state))

    def _may_run_away(self, state: E, own: Vector) -> bool:
        """Whether steps on rows with these k(x, x) may be so long that scores overflow. Then the rows are learnt on a copy of the
        state, and the scores are checked. Copying a large f costs more than learning the rows, so it is done only then."""
        return False

    def _init(self, dim: int, outputs: int) -> E:
        return State(self._nothing(dim), dim=dim)  # type: ignore[return-value]  # learners with another state override this

    def _nothing(self, dim: int) -> Function:
        """f before the first row."""
        return representations.empty(self.kernel, dim) if self._room is None else support.with_room(dim, self._room)

    def _admit(self, state: E, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        if "regression" not in tasks_of(self):
            check_signs(Y)
        if self._room is None:
            remedy = "learn shorter blocks, or use a learner with a budget"
            check_room(self, state.support.bytes_with(int(np.count_nonzero(weight))), remedy)

    def _take(
        self, call: Call, state: E, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, common: Any = None
    ) -> None:  # fmt: skip
        common = common or alone
        own = common("own", self.kernel.diagonal, X)
        if self._may_run_away(state, own):
            work = copied(state)
            with np.errstate(over="ignore", invalid="ignore"):  # scores that overflow are refused below
                self._rounds(work, X, own, Y[:, 0], weight, scores[:, 0], common)
            if weight.any():
                check_scores(self, scores[:, 0])
        else:
            work = copied(state) if self.kernel.fallible and isinstance(state.support, Support) else state
            self._rounds(work, X, own, Y[:, 0], weight, scores[:, 0], common)
        vars(state).update(vars(work))

    def _score(self, state: E, X: Matrix, scores: Matrix, common: Any = None) -> None:
        nothing, common = np.zeros(len(X)), common or alone  # rows of weight 0 are not learnt
        own = common("own", self.kernel.diagonal, X)
        self._rounds(state, X, own, nothing, nothing, scores[:, 0], common)

    def _rounds(
        self, state: E, X: Matrix, own: Vector, y: Vector, weight: Vector, scores: Vector, common: Any
    ) -> None:  # fmt: skip
        f, at_once, rows, convert = state.support, self._at_once(state, len(X)), X, partial(state.support.rows, self.kernel)
        if self.kernel.fallible:  # a user's functions must raise before rows are learnt
            rows, convert = common("lists", partial(f.lists, self.kernel), X), partial(f.placed, self.kernel)
        for start in range(0, len(X), at_once):
            now = slice(start, start + at_once)
            self._block(state, common(start, convert, rows[now]), own[now], y[now], weight[now], scores[now])

    def _block(self, state: E, rows: Matrix, own: Vector, y: Vector, weight: Vector, scores: Vector) -> None:
        """Score, then learn, rows in the format of compiled code, making room when it is needed."""
        done = 0
        while done < len(rows):
            now = slice(done, None)
            block = RowBlock(self._source(state, rows[now]), rows[now], own[now], y[now], weight[now], state.learnt)
            done += self._learn(state, block, scores[now])
            if weight[now].any():
                self._after(state)

    def _after(self, state: E) -> None:
        """Called after rows have been learnt. Makes room at once, before the next point needs it. Making room may remove points
        with coefficient 0, which changes the last bits of f, so the round in which it happens must not depend on how the stream
        is cut into calls."""
        if self._room is None and not state.support.has_room:
            state.support.make_room(self.kernel)

    def _settle(self, state: E) -> None:
        if state.rows > 0:
            self._after(state)
        elif self._room is None and state.support.has_room:
            vars(state).update(support=self._nothing(state.dim))

    def _at_once(self, state: E, rows: int) -> int:
        """The number of rows that are passed to compiled code at a time; 1 for a user's own kernel."""
        if self.kernel.fallible and isinstance(state.support, Support):
            return 1
        return ROWS_AT_ONCE if self._room is None else max(rows, 1)

    def _footprint(self, dim: int, outputs: int) -> int:
        held = representations.footprint(self.kernel, dim) if self._room is None else support.bytes_of(dim, self._room)
        return held + 8 * 3

    def _function(self, state: E) -> Learnt | None:
        return state.support.learnt(self.kernel)

    def _merge(self, state: E, most: int) -> None:
        if self._room is None and isinstance(state.support, Support) and state.support.size[0] > most:
            state.support.merge()

    def _check(self, state: E) -> None:
        state.support.check(self.kernel, state.rows, self._room)
