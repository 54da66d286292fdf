"""What learners need of a function that they change, however it is held."""

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
        """The named tuple that compiled code knows it by."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether another point would fit."""

    @abstractmethod
    def make_room(self, kernel: Kernel) -> None:
        """Longer arrays, where another point would not fit."""

    @abstractmethod
    def bytes_with(self, rows: int) -> int:
        """The most bytes it may hold, or hold while it grows, with so many rows more."""

    @abstractmethod
    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse what cannot have come about in so many rounds, with room for so many points where that is fixed."""

    @abstractmethod
    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Learnt:
        """f as it is now; or, where it has a moment, the mean of all that it has been in so many rounds."""

    def lists(self, kernel: Kernel, X: Matrix) -> Matrix:
        """What has to be known of each row; a user's functions are called here, and may fail."""
        return X

    def placed(self, kernel: Kernel, lists: Matrix) -> Matrix:
        """The same as compiled code wants it, which may be far wider: for as many rows as are learnt at once."""
        return lists

    def rows(self, kernel: Kernel, X: Matrix) -> Matrix:
        """The rows as compiled code wants them."""
        return self.placed(kernel, self.lists(kernel, X))

    @abstractmethod
    def source(self, kernel: Kernel, rows: Matrix) -> Any:
        """The kernel as compiled code wants it, for these rows and the points of this moment."""


SMALLEST_SCALE, LARGEST_SCALE = 1e-8, 1e8  # of ρ; beyond them it is folded into the coefficients
