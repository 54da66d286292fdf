"""The protocol of feature maps: x -> z of finite width, with a small state and one verb besides `init`.

`write` transforms each row just before learning from it, in order, and returns the state after the rows. A row of weight 0 is
transformed as if it came next, and changes nothing, so a block of weight 0 is a pure prediction. The given state is never changed:
a learner stores the returned one only after everything else has succeeded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from onkel._types import Matrix, Vector


class Features(ABC):
    fallible: bool = False  # True if a user's function runs inside, which may raise in the middle of a block

    @abstractmethod
    def size(self, dim: int) -> int:
        """The number of features of a row of `dim` values."""

    @abstractmethod
    def init(self, dim: int) -> Any:
        """A fresh state for rows of `dim` values."""

    @abstractmethod
    def footprint(self, dim: int) -> int:
        """The bytes that `init(dim)` will hold."""

    @abstractmethod
    def write(self, state: Any, X: Matrix, weight: Vector, Z: Matrix, at: int) -> Any:
        """Write the features of each row into Z[:, at : at + size] and return the state after learning the rows."""

    def notes(self, state: Any) -> list[str]:
        """What a person should know about this state, one sentence each."""
        return []

    def __add__(self, other: Features | tuple[Features, ...]) -> Features:
        from onkel.features.compose import Sum  # the sum is a feature map itself

        return Sum(self, other)

    def __radd__(self, other: tuple[Features, ...]) -> Features:
        from onkel.features.compose import Sum

        return Sum(other, self)
