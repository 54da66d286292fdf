"""Three verbs.

state  = learner.init(dim=8, outputs=1)      all of the memory
scores = learner.learn(state, X, y)          the score of each row *before* it is learnt
scores = learner.predict(state, X)           each row scored as if it came next; changes nothing
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Protocol, TypeVar

from numpy.typing import ArrayLike

from onkel._types import Vector
from onkel.errors import InputError

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

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""

    def notes(self, state: S) -> list[str]:
        """What a person should know of this state: guards that fired, and the like."""


def check_sizes(learner: Any, dim: int, outputs: int) -> None:
    """Refuse impossible sizes before any memory is taken."""
    if dim < 1:
        raise InputError(f"dim must be at least 1, got {dim}")
    if outputs < 1 or (outputs > 1 and not learner.multi_output):
        raise InputError(
            f"{type(learner).__name__} learns {'1 or more outputs' if learner.multi_output else '1 output'}, got {outputs}"
        )
    needed, there = learner.footprint(dim, outputs), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise InputError(
            f"{learner} on {dim} inputs would hold {needed / 2**30:,.0f} GiB, more than this machine's {there / 2**30:,.0f}; "
            "choose fewer features (a lower degree, a smaller count)"
        )
