"""The protocol of learners: three verbs, and four questions about a state (`footprint`, `check`, `notes`, `function`).

state  = learner.init(dim=8, outputs=1)      all of the memory
scores = learner.learn(state, X, y)          the score of each row *before* it is learnt
scores = learner.predict(state, X)           each row scored as if it came next; changes nothing

Calls are atomic by rows: whatever happens in a call (bad input, Ctrl-C, no memory left, an error in a user's kernel), the call
leaves the state as it is after the first k rows of the call, for some k, and the state can be saved and used further. Calls on one
state from several threads take turns; separate states run in parallel. A state can be used by the learner that made it, or by one
with the same settings; every other learner refuses it.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_weight
from onkel._sparse import count
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.functions.learnt import Learnt
from onkel.groups import Group
from onkel.losses import Hinge, Square
from onkel.one_row import RowSteps, prepared, single_row
from onkel.state import ROW, copied, owned
from onkel.turns import Call, turn

PIPELINE = "_supervised"  # an attribute that a pipeline of River looks up in its parts
OF_ESTIMATORS = {"fit", "partial_fit", "score", "predict_proba", "learn_one", "predict_one", PIPELINE}  # not of learners


class Sizes(Protocol):
    """The fields of every state."""

    dim: int
    outputs: int


S = TypeVar("S", bound=Sizes)


class Learner(ABC, Generic[S]):
    """A frozen config with three verbs. They check the input, take turns, and call these hooks:

    _init      a state before the first row
    _admit     refuse labels and weights that this learner cannot learn, before any row is learnt
    _take      learn rows and write their scores. At every instant either the state has learnt exactly the first k rows, for some
               k, and their scores are written; or the remaining steps are registered as pending with the call (`onkel.turns`)
    _score     write the scores of rows that are not learnt, as if each came next
    _score_any  write the scores of rows that may come at any time, not only next; so earlier labels are not used
    _remember  the earlier labels that the score of the next row depends on
    _settle    finish work that an interrupt may have stopped and that depends on the state alone
    _single    the calls of compiled code that score and learn a single row, if these are always the same (`onkel.one_row`)
    _learnt    the number of rows that a state has learnt
    _is_waiting  whether the rows so far are only buffered, so that scores mean nothing yet
    _merge     merge equal support points if there are more than `most` points, and if it does not matter in which round each came
    _survey    compute the scales of inputs and labels from rows that will be learnt next, before any is learnt
    _take_again  learn rows that were learnt before; statistics of new rows, such as their errors, do not change
    _rows_to_repeat  how many rows are to be learnt again at the end of a fit, because the function has started anew recently
    _widen, _footprint, _check, _notes, _function      the methods of the same names

    They are called as `learner._hooks._take(…)`, because a learner may delegate to another one (`onkel.updates.domains`).

    >>> learner = onkel.PKAWV()
    >>> isinstance(learner, onkel.protocol.Learner), learner.tasks == {"regression", "classification"}, learner.bounded
    (True, True, True)
    """

    tasks: ClassVar[frozenset[str]]  # "classification", "regression" or both
    multi_output: ClassVar[bool]  # y may be (n, outputs)
    bounded: ClassVar[bool]  # the state never holds more bytes than after `init`
    cost: ClassVar[str] = ""  # time for a row, besides its kernel values, as shown by `onkel learners`
    memory: ClassVar[str] = ""  # memory of a state
    group: ClassVar[Group] = Group.OTHER  # where `onkel learners` lists it
    when: ClassVar[str] = ""  # in which case to choose this learner, for the same list
    paper: ClassVar[str] = ""  # authors and year of the paper
    cut_tolerance: ClassVar[float]  # how much scores may depend on how the stream is cut into calls; 0 = same bits
    takes_common: bool = False  # whether `_take` and `_score` accept `common`, results that learners of the same rows share

    def init(self, dim: int, outputs: int = 1) -> Any:
        """A state before the first row, for rows of `dim` inputs. Its type is S, or one that contains an S, if the learner
        delegates."""
        return owned(self, self._hooks._init(*check_sizes(self, dim, outputs)))

    def learn(self, state: Any, X: Any, y: ArrayLike, weight: ArrayLike | None = None, **more: Any) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and changes nothing.

        Some learners take further arguments (`more`).
        """
        call = turn(self, state, True)
        try:
            single = None if more or weight is not None or not _is_one(X) else call.single or prepared(self, state)
            if single is not None and single.reads(X) and single.reads_label(y) and single.learn(call):
                scores = single.scores.reshape(np.shape(y))
                vars(state)[ROW] = single  # the prepared calls can be used for the next row, too
            else:
                scores = self._learnt_rows(call, state, X, y, weight, more)
        except BaseException:
            call.fail()
            raise
        call.end()
        return scores

    def predict(self, state: Any, X: Any, **more: Any) -> Vector:
        """The score of each row as if it came next; changes nothing."""
        call = turn(self, state)
        try:
            single = None if more or not _is_one(X) or call.is_nested else single_row(self, state)
            if single is not None and single.reads(X) and single.score():
                scores = single.scores
            else:
                scores = self._scored(self._hooks._score, state, X, more)
        except BaseException:
            call.fail()
            raise
        call.end()
        return scores

    def widen(self, state: Any, outputs: int) -> None:
        """Add outputs, so that there are `outputs`. Each new one starts exactly as if its label had been 0 in every row so far.

        Only learners with `multi_output` can do this.
        """
        with turn(self, state, True):
            wider = copied(state)
            self._hooks._widen(wider, check_wider(self, state, outputs))
            vars(state).update(vars(wider))  # one step, which no interrupt can split

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes of the state that `init` makes. If a learner is not `bounded`, its header says how they grow."""
        return self._hooks._footprint(dim, outputs)

    def check(self, state: Any) -> None:
        """Refuse a state that `init` and `learn` cannot have made; called by `load`."""
        with turn(self, state):
            self._hooks._check(state)

    def notes(self, state: Any) -> list[str]:
        """What the user should know about this state, one sentence each, such as how often a safeguard was needed."""
        with turn(self, state):
            return self._hooks._notes(state)

    def function(self, state: Any) -> Learnt | None:
        """The function learnt, as points and coefficients, or as curves; None if it has no such form."""
        with turn(self, state):
            return self._hooks._function(state)

    if not TYPE_CHECKING:  # a type checker would believe that learners have every attribute

        def __getattr__(self, name: str) -> Any:
            """Called only for attributes that a learner does not have. For those of estimators, such as `fit`, the error says how
            to make an estimator of the learner."""
            if name not in OF_ESTIMATORS:
                return object.__getattribute__(self, name)
            own = type(self).__name__
            estimator = f"onkel.{'Classifier' if self.tasks == {'classification'} else 'Regressor'}(onkel.{own}())"
            remedy = f"in a pipeline of River: onkel.to_river({estimator})" if name == PIPELINE else f"{estimator} has {name}"
            raise AttributeError(f"{own} is a learner, with init, learn and predict; {remedy}")

    @property
    def _hooks(self) -> Learner[Any]:
        """The learner whose hooks are called: this one, unless it delegates."""
        return self

    def _predicted(self, score: Callable[..., None], state: Any, X: Any, **more: Any) -> Vector:
        with turn(self, state):
            return self._scored(score, state, X, more)

    def _scored(self, score: Callable[..., None], state: Any, X: Any, more: dict[str, Any]) -> Vector:
        rows = self._hooks._rows(state, X)
        scores = np.empty((count(rows), state.outputs))
        score(state, rows, scores, **more)
        return scores if scores.shape[1] > 1 else scores[:, 0]

    def _learnt_rows(
        self, call: turn, state: Any, X: Any, y: ArrayLike, weight: ArrayLike | None, more: dict[str, Any]
    ) -> Vector:  # fmt: skip
        hooks = self._hooks
        rows, labels, shape = hooks._labelled(state, X, y)
        weights = check_weight(weight, len(labels))
        hooks._admit(state, labels, weights)
        scores = np.empty(labels.shape)
        hooks._take(call, state, rows, labels, weights, scores, **more)
        return scores if len(shape) == 2 else scores[:, 0]

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
        """The arguments are (call, state, X, Y, weight, scores); `more` are further arguments of a learner's `learn`."""

    @abstractmethod
    def _score(self, *arguments: Any, **more: Any) -> None:
        """The arguments are (state, X, scores)."""

    def _score_any(self, *arguments: Any, **more: Any) -> None:
        """The arguments are (state, X, scores)."""
        self._score(*arguments, **more)

    def _single(self, state: S) -> RowSteps | None:
        return None

    def _remember(self, state: S) -> Vector:
        return np.empty(0)

    def _settle(self, state: S) -> None:
        return

    def _learnt(self, state: S) -> int:
        return int(state.rows)  # type: ignore[attr-defined]  # learners with another state override this

    def _widen(self, state: S, outputs: int) -> None:
        raise NotImplementedError  # never reached: `check_wider` has refused

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

    def _survey(self, state: S, X: Any, Y: Matrix, there: Any = None) -> None:
        return

    def _take_again(self, state: S, X: Any, Y: Matrix, weight: Vector, **more: Any) -> None:
        self._take(Call(), state, X, Y, weight, np.empty(Y.shape), **more)

    def _rows_to_repeat(self, state: S) -> int:
        return 0


def _is_one(X: Any) -> bool:
    return type(X) is np.ndarray and len(X) == 1


def is_learner(thing: Any) -> bool:
    """Whether `thing` is a learner: an instance, not a class."""
    return hasattr(thing, "learn") and hasattr(thing, "tasks") and not isinstance(thing, type)


def tasks_of(learner: Learner[Any]) -> frozenset[str]:
    """The tasks of a learner with these settings: its own, restricted to those of its loss."""
    return frozenset(learner.tasks & getattr(learner, "loss", learner).tasks)


def suited(learner: Any, task: str) -> Any:
    """The learner for this task. If its loss is the default and cannot be used for this task, the loss is replaced by Square() or
    Hinge()."""
    if task in tasks_of(learner):
        return learner
    able, other = " and ".join(sorted(tasks_of(learner))), Square() if task == "regression" else Hinge()
    if task not in learner.tasks:
        raise InputError(f"{learner!r:.200} learns {able}, but this is {task}; choose another learner (onkel learners lists them)")
    if learner.loss != type(learner)().loss:
        raise InputError(f"{learner!r:.200} learns {able}, but this is {task}; give it another loss, such as loss={other!r}")
    return dataclasses.replace(learner, loss=other)


def check_sizes(learner: Learner[Any], dim: int, outputs: int) -> tuple[int, int]:
    """dim and outputs as plain ints; impossible sizes are refused before any memory is allocated."""
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
    check_columns(learner, dim)
    return dim, outputs


def check_columns(learner: Learner[Any], dim: int) -> None:
    """Refuse rows that do not fit the kernel, or the system of functions, of a learner that has one."""
    for field in ("kernel", "system"):
        if hasattr(learner, field):
            getattr(learner, field).check_columns(dim)


def check_room(learner: Learner[Any], needed: int, remedy: str) -> None:
    """Refuse to hold more bytes than the machine has."""
    if needed > (available := _memory()):
        raise InputError(
            f"{learner!r:.200} would hold {needed / 2**30:,.0f} GiB, more than this machine's {available / 2**30:,.0f}; {remedy}"
        )


def check_wider(learner: Learner[S], state: S, outputs: int) -> int:
    """`outputs`, checked for `widen`."""
    _, outputs = check_sizes(learner, state.dim, outputs)
    if outputs < state.outputs:
        raise InputError(f"the state has {state.outputs} outputs already; widen only adds outputs, got {outputs}")
    return outputs


def _memory() -> float:
    """The machine's memory in bytes; infinite if the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf
