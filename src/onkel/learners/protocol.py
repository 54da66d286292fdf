"""Three verbs, and three words about a state: what it will hold, whether it is sound, what to know of it.

state  = learner.init(dim=8, outputs=1)      all of the memory
scores = learner.learn(state, X, y)          the score of each row *before* it is learnt
scores = learner.predict(state, X)           each row scored as if it came next; changes nothing
"""

from __future__ import annotations

import dataclasses
import math
import operator
import os
from typing import Any, ClassVar, Protocol, TypeVar

from numpy.typing import ArrayLike

from onkel._types import Vector
from onkel.errors import InputError
from onkel.losses import Hinge, Square

S = TypeVar("S", bound="State")


class State(Protocol):
    dim: int  # columns of X
    outputs: int  # columns of y


class Learner(Protocol[S]):
    tasks: ClassVar[frozenset[str]]  # "classification", "regression" or both
    multi_output: ClassVar[bool]  # y may be (n, outputs)
    bounded: ClassVar[bool]  # the state never holds more bytes than after `init`
    cut_tolerance: ClassVar[float]  # how far scores may move when the stream is cut elsewhere; 0 = same bits

    def init(self, dim: int, outputs: int = 1) -> S: ...

    def learn(self, state: S, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector: ...

    def predict(self, state: S, X: ArrayLike) -> Vector: ...

    # where multi_output: widen(state, outputs) adds outputs whose labels were 0 until now

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""

    def check(self, state: S) -> None:
        """Refuse a state that `init` and `learn` cannot have made; `load` asks."""

    def notes(self, state: S) -> list[str]:
        """What a person should know of this state: guards that fired, and the like."""


def is_learner(thing: Any) -> bool:
    """Whether it is a learner with its settings, not a class or anything else."""
    return hasattr(thing, "learn") and hasattr(thing, "tasks") and not isinstance(thing, type)


def tasks_of(learner: Any) -> frozenset[str]:
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


def check_sizes(learner: Any, dim: int, outputs: int) -> tuple[int, int]:
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


def check_room(learner: Any, needed: int, remedy: str) -> None:
    """Refuse to hold more bytes than the machine has."""
    if needed > (there := _memory()):
        raise InputError(
            f"{learner!r:.200} would hold {needed / 2**30:,.0f} GiB, more than this machine's {there / 2**30:,.0f}; {remedy}"
        )


def check_wider(learner: Any, state: State, outputs: int) -> int:
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
