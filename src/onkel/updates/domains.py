"""Domains: learners in the space of a kernel or eigen-system whose inputs have domains.

A domain may be left open (`domain=None`). Then the first rows score 0 and are stored. When there are FIRST_ROWS of them, the domain
of each input is set to its range among these rows, and they are learnt in order. Later values outside a domain are clipped to it,
and counted. If all rows are known before the first is learnt, as in `fit`, they set the domains (`survey`), and none is stored.

A learner whose kernel has domains delegates its verbs to `OnDomains`. The state of `OnDomains` contains a state of the same
learner, but with the domains written into its kernel. A learner with any other kernel delegates nothing.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, Self, cast

import numpy as np

from onkel._inputs import check_labelled
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.features.mercer.system import System
from onkel.functions.learnt import Learnt
from onkel.kernels import Kernel
from onkel.kernels.space import LARGEST_INPUT
from onkel.protocol import Learner, S
from onkel.state import copied, leaves, memory
from onkel.turns import Call
from onkel.updates import first_rows
from onkel.updates.first_rows import FirstRows, learn_again

FIRST_ROWS = 100
MOST_KNOWN = 256  # the largest number of cached learners on known domains

Space = Kernel | System


class SpaceLearner(Learner[S]):
    """A learner of functions in a space that may have domains."""

    @property
    @abstractmethod
    def _space(self) -> Space: ...

    @abstractmethod
    def _in(self, space: Any) -> Self:
        """The learner with the same settings in another space."""

    @property
    def _hooks(self) -> Learner[Any]:
        return self if self._around is None else self._around

    @cached_property
    def _around(self) -> OnDomains[S] | None:
        return OnDomains(self) if self._space.has_domains else None

    def _alone(self, state: Any) -> tuple[Self, S]:
        """The learner with the domains of this state, and its own state; for methods that are not part of the protocol."""
        return (self, state) if self._around is None else (cast(Self, self._around.closed(state)), state.inner)


class KernelLearner(SpaceLearner[S]):
    """A learner in the space of a kernel."""

    kernel: Kernel

    @property
    def _space(self) -> Kernel:
        return self.kernel

    def _in(self, space: Kernel) -> Self:
        return replace(self, kernel=space)  # type: ignore[type-var]


@memory
class State(Generic[S]):
    inner: S  # the state of the learner with these domains in its kernel
    domains: Matrix  # (inputs, 2)  (low, high) of each input, used if its domain is open
    waiting: FirstRows | None  # the buffer of first rows, if a domain is open
    outside: int = 0  # number of values outside their domain, in all rows learnt
    rows: int = 0  # rows learnt so far, including those in `waiting`
    surveyed: bool = False  # whether the domains were set by all rows, before the first of them was learnt
    dim: int = 1
    outputs: int = 1

    @property
    def is_waiting(self) -> bool:
        return self.waiting is not None and self.rows < FIRST_ROWS and not self.surveyed


@dataclass(frozen=True)
class OnDomains(Learner[State[S]], Generic[S]):
    """The hooks of a learner whose kernel has domains. They set the domains, and delegate to the learner with these domains."""

    learner: SpaceLearner[S]

    @property
    def takes_common(self) -> bool:  # type: ignore[override]
        return self.learner.takes_common

    def closed(self, state: State[S]) -> SpaceLearner[S]:
        """The learner that owns `state.inner`: the open domains of its kernel are replaced by those of the state."""
        return self._on(state.dim, state.domains)

    def _on(self, dim: int, domains: Matrix) -> SpaceLearner[S]:
        key = dim, domains.tobytes()
        learner = self._known.get(key)
        if learner is None:
            learner = self.learner._in(self._space.on(dim, domains)[0])
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = learner
        return learner

    @cached_property
    def _known(self) -> dict[tuple[int, bytes], SpaceLearner[S]]:
        """A cache of learners, by number of columns and domains. To build a learner takes longer than to learn a row."""
        return {}

    @property
    def _space(self) -> Space:
        return self.learner._space

    def _unknown(self, dim: int) -> Matrix:
        """Placeholders for domains that are not known yet."""
        return np.tile((0.0, 1.0), (self._space.domain_count(dim), 1))

    def _init(self, dim: int, outputs: int) -> State[S]:
        unknown = self._unknown(dim)
        inner = self._on(dim, unknown)._init(dim, outputs)
        waiting = first_rows.empty(FIRST_ROWS, dim, outputs) if self._space.is_open else None
        return State(inner, unknown, waiting, dim=dim, outputs=outputs)

    def _admit(self, state: State[S], Y: Matrix, weight: Vector) -> None:
        self.closed(state)._admit(state.inner, Y, weight)

    def _take(
        self, call: Call, state: State[S], X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, **common: Any
    ) -> None:  # fmt: skip
        if state.is_waiting:
            work = copied(state)
            self._take_first(work, X, Y, weight, scores)
            vars(state).update(vars(work))
        else:
            learner = self.closed(state)
            call.defer(partial(_count, learner, state, X, weight, state.rows))
            learner._take(call, state.inner, X, Y, weight, scores, **common)
            call.complete()

    def _take_first(self, state: State[S], X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """Store rows until there are FIRST_ROWS; then learn these, and the rows after them."""
        now = 1 + int(np.searchsorted(state.rows + np.cumsum(weight > 0.0), FIRST_ROWS))  # rows up to number FIRST_ROWS
        first = X[:now], Y[:now], weight[:now]
        self.closed(state)._take(Call(), copied(state.inner), *first, scores[:now])  # a trial: the learner may refuse these rows
        assert state.waiting is not None
        state.waiting = state.waiting.with_more(state.rows, *first)
        state.rows += int(np.count_nonzero(weight[:now] > 0.0))
        if state.is_waiting:
            scores[:] = 0.0
            return
        self._open(state, state.waiting)
        later, before = np.where(np.arange(len(X)) < now, 0.0, weight), state.rows
        self.closed(state)._take(Call(), state.inner, X, Y, later, scores)
        _count(self.closed(state), state, X, later, before)
        scores[:now] = 0.0

    def _open(self, state: State[S], first: FirstRows) -> None:
        """Set the domains from the first rows, and learn these."""
        state.domains = self._space.domains(first.X)
        learner = self.closed(state)
        state.inner, state.rows = learner._init(state.dim, state.outputs), 0
        try:
            learn_again(learner, state.inner, first.X, first.y, first.weight)
        except InputError as error:
            kept = re.sub(r"row (\d+)", r"number \1 of the first rows, stored until now,", str(error))
            raise InputError(f"{kept}; start again with other settings") from None
        _count(learner, state, first.X, first.weight, 0)
        state.waiting = first.dropped()

    def _survey(self, state: State[S], X: Any, Y: Matrix, there: Any = None) -> None:
        """Open domains are set by all rows that will be learnt; so no row has to be stored."""
        if state.waiting is None or not len(X):
            return
        found = self._space.domains(X)
        if state.surveyed:
            found = np.column_stack([np.minimum(state.domains[:, 0], found[:, 0]), np.maximum(state.domains[:, 1], found[:, 1])])
        state.domains, state.surveyed = found, True
        state.inner = self.closed(state)._init(state.dim, state.outputs)

    def _score(self, state: State[S], X: Matrix, scores: Matrix, **common: Any) -> None:
        self.closed(state)._score(state.inner, X, scores, **common)
        if state.is_waiting:
            scores[:] = 0.0

    def _settle(self, state: State[S]) -> None:
        self.closed(state)._settle(state.inner)

    def _learnt(self, state: State[S]) -> int:
        return state.rows

    def _widen(self, state: State[S], outputs: int) -> None:
        self.closed(state)._widen(state.inner, outputs)
        if state.waiting is not None:
            state.waiting = state.waiting.with_outputs(outputs, 0, 0.0)
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        waiting = first_rows.footprint(FIRST_ROWS, dim, outputs) if self._space.is_open else 0
        return int(self.learner._footprint(dim, outputs) + waiting + 8 * (2 * self._space.domain_count(dim) + 5))

    def _check(self, state: State[S]) -> None:
        learner, (low, high) = self.closed(state), state.domains.T
        if not ((low < high).all() and np.abs(state.domains).max() <= LARGEST_INPUT):
            raise InputError("a domain is not (low, high) with low < high")
        known = self._space.is_open and not state.is_waiting
        if not known and not np.array_equal(state.domains, self._unknown(state.dim)):
            raise InputError("it has domains before its first rows determine them")
        if state.waiting is not None:
            self._check_first(state, state.waiting)
        inner, rows = state.inner, 0 if state.is_waiting else state.rows
        if (inner.dim, inner.outputs, learner._learnt(inner)) != (state.dim, state.outputs, rows):
            raise InputError("the columns, outputs or rows of its parts differ in number")
        learner._check(inner)

    def _check_first(self, state: State[S], first: FirstRows) -> None:
        kept, learner = state.rows if state.is_waiting else 0, self.closed(state)
        if not first.holds_exactly(kept):
            raise InputError("its first rows do not fit its number of rows")
        fresh = learner._init(state.dim, state.outputs)
        pairs = zip(leaves(fresh), leaves(state.inner), strict=True)
        if state.is_waiting and not all(np.array_equal(a, b) for (_, a, _), (_, b, _) in pairs):
            raise InputError("it has learnt before its domains were known")
        rows = first.first(kept)
        check_labelled(rows.X, rows.y, state.dim, state.outputs)
        learn_again(learner, fresh, rows.X, rows.y, rows.weight)  # a trial: the learner may refuse these rows

    def _function(self, state: State[S]) -> Learnt | None:
        if state.is_waiting:
            seen = f"{state.rows} of {FIRST_ROWS} rows seen"
            raise InputError(f"{seen}: there are no domains yet, so no curves; learn more rows")
        return self.closed(state)._function(state.inner)

    def _is_waiting(self, state: State[S]) -> bool:
        return state.is_waiting

    def _merge(self, state: State[S], most: int) -> None:
        self.closed(state)._merge(state.inner, most)

    def _notes(self, state: State[S]) -> list[str]:
        notes = self.closed(state)._notes(state.inner)
        if state.is_waiting:
            notes.append(
                f"{state.rows} of the {FIRST_ROWS} rows seen that set the domains; until then scores are 0 (or give domain=…)"
            )
        if state.outside:
            notes.append(f"{state.outside} values were outside their domain and clipped to it (give a wider domain=(low, high))")
        return notes


def _count(learner: SpaceLearner[S], state: State[S], X: Matrix, weight: Vector, before: int) -> None:
    """Update the counts of rows learnt and of values outside their domain. X are the rows of this call, and `before` the number of
    rows before the call. An interrupted call has learnt only the first rows of X; only these are counted."""
    rows = learner._learnt(state.inner)
    new = X if rows - state.rows == len(X) else X[np.flatnonzero(weight)[state.rows - before : rows - before]]
    vars(state).update(outside=state.outside + learner._space.outside(new), rows=rows)  # one step, which no interrupt can split
