"""The interface of a mutable function, whatever its representation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from onkel._types import Matrix, Vector
from onkel.functions.learnt import Learnt
from onkel.kernels import Kernel


class Function(ABC):
    """f = ρ Σ a_i k(x_i, ·), with ρ = `scale`."""

    scale: Vector  # (1,)

    @property
    @abstractmethod
    def compiled(self) -> Any:
        """The arrays of f as a named tuple, for compiled code."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether another point would fit."""

    @abstractmethod
    def make_room(self, kernel: Kernel) -> None:
        """Enlarge the arrays if another point would not fit."""

    @abstractmethod
    def bytes_with(self, rows: int) -> int:
        """An upper bound on the bytes that f holds while `rows` more rows are learnt, including copies while arrays grow."""

    @abstractmethod
    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse a function that `rows` rounds cannot lead to. `room` is the number of points it has room for, if that is fixed."""

    @abstractmethod
    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Learnt:
        """f as it is now; if `rounds` is given, the mean of f over that many rounds, for which f must have a moment."""

    def lists(self, kernel: Kernel, X: Matrix) -> Matrix:
        """What is computed from each row before any row of the call is scored or learnt. For curves it is the key and the lists of
        each input (`onkel.kernels.lists`), followed by the row itself; otherwise it is the row alone. The functions of `Bases` are
        called here, so if one of them raises an error, nothing has been learnt."""
        return X

    def placed(self, kernel: Kernel, lists: Matrix) -> Matrix:
        """The `lists` of rows in the format of compiled code. In this format they may be far wider, so they are converted for a few
        rows at a time."""
        return lists

    def rows(self, kernel: Kernel, X: Matrix) -> Matrix:
        """The rows in the format of compiled code."""
        return self.placed(kernel, self.lists(kernel, X))

    @abstractmethod
    def source(self, kernel: Kernel, rows: Matrix) -> Any:
        """The kernel in the format of compiled code, for these rows and the present points of f."""


SMALLEST_SCALE, LARGEST_SCALE = 1e-8, 1e8  # the range of ρ; outside of it ρ is multiplied into the coefficients
