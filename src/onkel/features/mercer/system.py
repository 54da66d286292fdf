"""The protocol of eigen-systems: functions ψ_1, ψ_2, … with values λ_1 ≥ λ_2 ≥ …, so that k(x, z) = Σ_j λ_j ψ_j(x) ψ_j(z).

The functions are orthonormal in a measure, which the header of each system's file states. If the rows are distributed like this
measure, the coefficients of a least-squares fit hardly depend on each other, and no other N functions approximate the kernel's
space better than the first N. Most systems take one column; `ProductSystem` and `AdditiveSystem` combine them for several columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.features.mercer.waves import Waves
from onkel.kernels.space import ANYWHERE, LARGEST_INPUT, Domain, Space, on_first, ranges

UNLIMITED = 2**31

# An open domain reaches beyond the first rows by this share of their range, to each side. So few later rows lie outside, and where
# rows lie, the curve is not bound by what the functions do at the ends of the domain.
MARGIN = 0.25


class System(Space, ABC):
    has_constant: ClassVar[bool] = False  # whether ψ_1 = 1

    @abstractmethod
    def values(self, count: int, dim: int = 1) -> Vector:
        """λ_1 … λ_count, for rows of `dim` columns."""

    @abstractmethod
    def functions(self, X: Matrix, count: int) -> Matrix:
        """ψ_1 … ψ_count of each row, (n, count). X has been checked already."""

    def waves(self, count: int) -> Waves | None:
        """The first functions as `Waves`, if they are sines and cosines of one column; otherwise None."""
        return None

    def limit(self, dim: int) -> int:
        """The largest number of levels; further functions would be only rounding errors."""
        return UNLIMITED

    def size(self, level: int, dim: int) -> int:
        """The number of functions up to a level. Each level adds one function; in an additive system, one for each column."""
        return level

    def dimension(self, dim: int) -> int:
        """d: the dimension of the space of inputs, for rates of convergence; 1 for a sum of curves."""
        return 1


class Line(System):
    """A system of one column."""

    domain: Domain | None = ANYWHERE  # (low, high), mapped to [0, 1]; None: to be set from the data
    wraps: ClassVar[bool] = False  # whether the functions are periodic; otherwise they are constant outside the domain

    @abstractmethod
    def on_unit(self, u: Vector, count: int) -> Matrix:
        """The functions at the values u, which are in [0, 1] if the system has a domain, otherwise anywhere."""

    def check_columns(self, dim: int) -> None:
        if dim != 1:
            name = type(self).__name__
            raise InputError(
                f"{name} is a system of one column, got {dim}; write ProductSystem({name}()) or AdditiveSystem({name}())"
            )

    def functions(self, X: Matrix, count: int) -> Matrix:
        return self.on_unit(self.placed(X[:, 0]), count)

    def placed(self, x: Vector) -> Vector:
        """The values mapped from the domain to [0, 1]."""
        if self.domain == ANYWHERE:
            return x
        if self.domain is None:
            raise InputError(f"{self!r} has no domain; give it one: domain=(low, high)")
        low, high = self.domain
        beyond = np.mod(x - low, high - low) if self.wraps else x.clip(low, high) - low
        return np.asarray(beyond / (high - low))

    @property
    def has_domains(self) -> bool:
        return self.domain != ANYWHERE

    @property
    def is_open(self) -> bool:
        return self.domain is None

    def domain_count(self, dim: int) -> int:
        return 1

    def domains(self, X: Matrix) -> Matrix:
        low, high = ranges(X).T
        return np.column_stack([low - MARGIN * (high - low), high + MARGIN * (high - low)]).clip(-LARGEST_INPUT, LARGEST_INPUT)

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        return on_first(self, domains)

    def outside(self, X: Matrix) -> int:
        low, high = ANYWHERE if self.wraps or self.domain is None else self.domain
        return int(np.count_nonzero((X[:, 0] < low) | (X[:, 0] > high)))


class WaveLine(Line):
    """A system of sines and cosines of one column."""

    @abstractmethod
    def waves(self, count: int) -> Waves: ...

    def on_unit(self, u: Vector, count: int) -> Matrix:
        return self.waves(count).functions(u)
