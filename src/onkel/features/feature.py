"""What a feature map is: x -> z of finite width, with its own small state and one verb besides `init`.

`write` transforms each row just before learning from it, in order, and returns the state after the rows. A row of weight 0 is
transformed as if it came next, and leaves no trace; so a block of weights 0 is a pure prediction. The given state is never changed:
a learner keeps the returned one only when everything else went well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from onkel._types import Matrix, Vector


class Features(ABC):
    fallible: bool = False  # True where a user's function runs inside: it may fail in the middle of a block

    @abstractmethod
    def size(self, dim: int) -> int:
        """How many features a row of `dim` values gives."""

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
        """What a person should know of this state, one sentence each."""
        return []

    def __add__(self, other: Features | tuple[Features, ...]) -> Features:
        from onkel.features.compose import Sum  # the sum is a feature map itself

        return Sum(self, other)

    def __radd__(self, other: tuple[Features, ...]) -> Features:
        from onkel.features.compose import Sum

        return Sum(other, self)
