"""Three verbs, and four words about a state: what it will hold, whether it is sound, what to know of it, what it has learnt.

state  = learner.init(dim=8, outputs=1)      all of the memory
scores = learner.learn(state, X, y)          the score of each row *before* it is learnt
scores = learner.predict(state, X)           each row scored as if it came next; changes nothing

Whole or not at all: whatever happens in a call (bad input, Ctrl-C, a full memory, an error in a user's kernel), the state is that
after the first rows of the call, some number of them; it can be saved, and goes on. Calls on one state from several threads take
turns, in any order; separate states run side by side. A state is used by the learner that made it, or one with the same settings,
and refused by any other.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_weight
from onkel._sparse import count
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.functions.learnt import Learnt
from onkel.losses import Hinge, Square
from onkel.state import copied, owned
from onkel.turns import turn


class Sizes(Protocol):
    """What every state has."""

    dim: int
    outputs: int


S = TypeVar("S", bound=Sizes)


class Learner(ABC, Generic[S]):
    """A frozen config with three verbs. They check what comes in, take turns, and leave the rest to these hooks:

    _init      a state that has seen nothing
    _admit     refuse labels and weights that this learner cannot learn, before any row is learnt
    _take      learn rows and write their scores. At every instant the state is that after the first rows, some number of them,
               whose scores are written; or what is missing is owed to the call (`onkel.turns`)
    _score     write the scores of rows that are not learnt, as if each came next
    _score_any the same of rows that may come at any time, where that makes a difference: without earlier labels
    _remember  the earlier labels that the next row would get
    _settle    do what follows from a state alone, and an interrupt may have cut off
    _learnt    how many rows a state has learnt
    _is_waiting  whether the rows so far are only kept, so that scores say nothing yet
    _merge     put equal points together, where there are more than so many and nothing asks which came when
    _widen, _footprint, _check, _notes, _function      the words of the same names

    They are called as `learner._hooks._take(…)`: a learner may leave its work to another one (`onkel.updates.domains`).
    """

    tasks: ClassVar[frozenset[str]]  # "classification", "regression" or both
    multi_output: ClassVar[bool]  # y may be (n, outputs)
    bounded: ClassVar[bool]  # the state never holds more bytes than after `init`
    cost: ClassVar[str] = ""  # of a row, beside its kernel values, as `onkel learners` shows it
    memory: ClassVar[str] = ""  # of a state
    paper: ClassVar[str] = ""  # authors and year
    cut_tolerance: ClassVar[float]  # how far scores may move when the stream is cut elsewhere; 0 = same bits

    def init(self, dim: int, outputs: int = 1) -> Any:
        """A state that has seen nothing, for rows of `dim` inputs: an S, or, where others do the work, theirs around it."""
        return owned(self, self._hooks._init(*check_sizes(self, dim, outputs)))

    def learn(self, state: Any, X: Any, y: ArrayLike, weight: ArrayLike | None = None, **more: Any) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace.

        `more`: what the learner says that it takes besides; most take nothing.
        """
        call = turn(self, state, True)
        try:
            hooks = self._hooks
            rows, labels, shape = hooks._labelled(state, X, y)
            weights = check_weight(weight, len(labels))
            hooks._admit(state, labels, weights)
            scores = np.empty(labels.shape)
            if more:
                hooks._take(call, state, rows, labels, weights, scores, **more)
            else:  # which Python calls more quickly
                hooks._take(call, state, rows, labels, weights, scores)
        except BaseException:
            call.fail()
            raise
        call.end()
        return scores if len(shape) == 2 else scores[:, 0]

    def predict(self, state: Any, X: Any, **more: Any) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        return self._predicted(self._hooks._score, state, X, **more)

    def widen(self, state: Any, outputs: int) -> None:
        """Add outputs in mid-stream; each starts exactly as if its label had been 0 in every row so far.

        For learners with `multi_output`.
        """
        with turn(self, state, True):
            wider = copied(state)
            self._hooks._widen(wider, check_wider(self, state, outputs))
            vars(state).update(vars(wider))  # as one step

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold; where a learner is not `bounded`, its header says how they grow."""
        return self._hooks._footprint(dim, outputs)

    def check(self, state: Any) -> None:
        """Refuse a state that `init` and `learn` cannot have made; `load` asks."""
        with turn(self, state):
            self._hooks._check(state)

    def notes(self, state: Any) -> list[str]:
        """What a person should know of this state, one sentence each: guards that fired, and the like."""
        with turn(self, state):
            return self._hooks._notes(state)

    def function(self, state: Any) -> Learnt | None:
        """What has been learnt, as points and coefficients, or as curves; None where it cannot be written so."""
        with turn(self, state):
            return self._hooks._function(state)

    @property
    def _hooks(self) -> Learner[Any]:
        """The learner that does the work: this one, unless it says otherwise."""
        return self

    def _predicted(self, score: Callable[..., None], state: Any, X: Any, **more: Any) -> Vector:
        call = turn(self, state)
        try:
            rows = self._hooks._rows(state, X)
            scores = np.empty((count(rows), state.outputs))
            score(state, rows, scores, **more)
        except BaseException:
            call.fail()
            raise
        call.end()
        return scores if scores.shape[1] > 1 else scores[:, 0]

    def _labelled(self, state: S, X: Any, y: ArrayLike) -> tuple[Any, Matrix, tuple[int, ...]]:
        return check_labelled(X, y, state.dim, state.outputs)

    def _rows(self, state: S, X: Any) -> Any:
        return check_inputs(X, state.dim)

    @abstractmethod
    def _init(self, dim: int, outputs: int) -> S: ...

    def _admit(self, state: S, Y: Matrix, weight: Vector) -> None:
        return

    @abstractmethod
    def _take(self, *arguments: Any, **more: Any) -> None:
        """(call, state, X, Y, weight, scores); `more` is what a learner's `learn` takes besides."""

    @abstractmethod
    def _score(self, *arguments: Any, **more: Any) -> None:
        """(state, X, scores)"""

    def _score_any(self, *arguments: Any, **more: Any) -> None:
        """(state, X, scores)"""
        self._score(*arguments, **more)

    def _remember(self, state: S) -> Vector:
        return np.empty(0)

    def _settle(self, state: S) -> None:
        return

    def _learnt(self, state: S) -> int:
        return int(state.rows)  # type: ignore[attr-defined]  # or the learner says otherwise

    def _widen(self, state: S, outputs: int) -> None:
        raise NotImplementedError  # `check_wider` has refused

    @abstractmethod
    def _footprint(self, dim: int, outputs: int) -> int: ...

    @abstractmethod
    def _check(self, state: S) -> None: ...

    def _notes(self, state: S) -> list[str]:
        return []

    def _function(self, state: S) -> Learnt | None:
        return None

    def _is_waiting(self, state: S) -> bool:
        return False

    def _merge(self, state: S, most: int) -> None:
        return


def is_learner(thing: Any) -> bool:
    """Whether it is a learner with its settings, not a class or anything else."""
    return hasattr(thing, "learn") and hasattr(thing, "tasks") and not isinstance(thing, type)


def tasks_of(learner: Learner[Any]) -> frozenset[str]:
    """What a learner can do as it is set: its own tasks, narrowed by its loss."""
    return frozenset(learner.tasks & getattr(learner, "loss", learner).tasks)


def suited(learner: Any, task: str) -> Any:
    """The learner for this task: where its loss is for the other one and nobody chose it, it gets one for this."""
    if task in tasks_of(learner):
        return learner
    able, other = " and ".join(sorted(tasks_of(learner))), Square() if task == "regression" else Hinge()
    if task not in learner.tasks:
        raise InputError(f"{learner!r:.200} learns {able}, but this is {task}; choose another learner (onkel learners lists them)")
    if learner.loss != type(learner)().loss:
        raise InputError(f"{learner!r:.200} learns {able}, but this is {task}; give it another loss, such as loss={other!r}")
    return dataclasses.replace(learner, loss=other)


def check_sizes(learner: Learner[Any], dim: int, outputs: int) -> tuple[int, int]:
    """dim and outputs as plain ints; impossible sizes are refused before any memory is taken."""
    try:
        dim, outputs = operator.index(dim), operator.index(outputs)
    except TypeError:
        raise InputError(f"dim and outputs must be whole numbers, got {dim!r} and {outputs!r}") from None
    if dim < 1:
        raise InputError(f"dim must be at least 1, got {dim}")
    if outputs < 1 or (outputs > 1 and not learner.multi_output):
        raise InputError(
            f"{type(learner).__name__} learns {'1 or more outputs' if learner.multi_output else '1 output'}, got {outputs}"
        )
    check_room(learner, max(learner.footprint(dim, outputs), 8 * dim), "choose fewer features (a lower degree, a smaller count)")
    for field in ("kernel", "system"):
        if hasattr(learner, field):
            getattr(learner, field).check_columns(dim)
    return dim, outputs


def check_room(learner: Learner[Any], needed: int, remedy: str) -> None:
    """Refuse to hold more bytes than the machine has."""
    if needed > (there := _memory()):
        raise InputError(
            f"{learner!r:.200} would hold {needed / 2**30:,.0f} GiB, more than this machine's {there / 2**30:,.0f}; {remedy}"
        )


def check_wider(learner: Learner[S], state: S, outputs: int) -> int:
    """`outputs` as `widen` may use it."""
    _, outputs = check_sizes(learner, state.dim, outputs)
    if outputs < state.outputs:
        raise InputError(f"the state has {state.outputs} outputs already; widen adds outputs, it cannot leave {outputs}")
    return outputs


def _memory() -> float:
    """The machine's bytes, where the system tells."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf
