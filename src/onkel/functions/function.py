"""The interface of a mutable function, whatever its representation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from onkel._types import Matrix, Vector
from onkel.functions.learnt import Learnt
from onkel.kernels import Kernel


class Function(ABC):
    """f = ρ Σ a_i k(x_i, ·), with ρ = `scale`."""

    scale: Vector

    @property
    @abstractmethod
    def compiled(self) -> Any:
        """Its arrays as a named tuple, for compiled code."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether another point would fit."""

    @abstractmethod
    def make_room(self, kernel: Kernel) -> None:
        """Enlarge the arrays if another point would not fit."""

    @abstractmethod
    def bytes_with(self, rows: int) -> int:
        """The most bytes it may hold after `rows` more rows, also while its arrays grow."""

    @abstractmethod
    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse a function that `rows` rounds cannot lead to; `room`: the capacity, if it is fixed."""

    @abstractmethod
    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Learnt:
        """f as it is now; or, with `rounds`, the mean of f over that many rounds, for which it needs a moment."""

    def lists(self, kernel: Kernel, X: Matrix) -> Matrix:
        """What is computed from each row beforehand; a user's functions are called here, and may raise."""
        return X

    def placed(self, kernel: Kernel, lists: Matrix) -> Matrix:
        """The same in the format of compiled code, which may be far wider, for the rows that are learnt at once."""
        return lists

    def rows(self, kernel: Kernel, X: Matrix) -> Matrix:
        """The rows in the format of compiled code."""
        return self.placed(kernel, self.lists(kernel, X))

    @abstractmethod
    def source(self, kernel: Kernel, rows: Matrix) -> Any:
        """The kernel in the format of compiled code, for these rows and the present points."""


SMALLEST_SCALE, LARGEST_SCALE = 1e-8, 1e8  # of ρ; outside them it is multiplied into the coefficients
