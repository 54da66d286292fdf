"""Sums and products of kernels, which are kernels again. Nested sums and products are flattened: (a + b) + c equals a + (b + c).

>>> from onkel.kernels import Gaussian, Linear
>>> (Gaussian(width=1.0) + Linear()) * Linear()
(Gaussian(width=1.0) + Linear()) * Linear()
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Self, final

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.kernels.kernel import Kernel, Program
from onkel.kernels.rows import ADD, MULTIPLY
from onkel.kernels.space import on_each


@dataclass(frozen=True, repr=False)
class Combination(Kernel):
    """Two or more kernels, combined by one operation on their values."""

    parts: tuple[Kernel, ...]
    code: ClassVar[int]  # the operation in compiled code
    join: ClassVar[np.ufunc]  # the operation in NumPy, since a part may be a CustomKernel

    def __post_init__(self) -> None:
        parts = tuple(chain.from_iterable(part.parts if isinstance(part, type(self)) else (part,) for part in self.parts))
        if len(parts) < 2 or not all(isinstance(part, Kernel) for part in parts):
            raise InputError(f"{type(self).__name__}: parts must be two kernels or more, got {self.parts!r}")
        object.__setattr__(self, "parts", parts)

    @abstractmethod
    def __repr__(self) -> str: ...

    @property
    def fallible(self) -> bool:  # type: ignore[override]
        return any(part.fallible for part in self.parts)

    def check_columns(self, dim: int) -> None:
        for part in self.parts:
            part.check_columns(dim)

    @property
    def parts_with_domains(self) -> tuple[Kernel, ...]:
        return self.parts

    def domain_count(self, dim: int) -> int:
        return sum(part.domain_count(dim) for part in self.parts)

    def domains(self, X: Matrix) -> Matrix:
        return np.vstack([part.domains(X) for part in self.parts])

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        parts, left = on_each(self.parts, dim, domains)
        return type(self)(parts), left

    def outside(self, X: Matrix) -> int:
        return sum(part.outside(X) for part in self.parts)

    def program(self, dim: int) -> Program:
        programs = [part.program(dim) for part in self.parts]
        joined = [codes if k == 0 else np.append(codes, self.code) for k, (codes, _) in enumerate(programs)]
        return np.concatenate(joined), np.concatenate([params for _, params in programs])

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        self.parts[0].fill(X, Z, out)
        values = np.empty_like(out)
        for part in self.parts[1:]:
            part.fill(X, Z, values)
            self.join(out, values, out=out)

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        self.parts[0].fill_diagonal(X, out)
        values = np.empty_like(out)
        for part in self.parts[1:]:
            part.fill_diagonal(X, values)
            self.join(out, values, out=out)


@final
class Sum(Combination):
    """k₁(x, z) + k₂(x, z) + …

    >>> type(onkel.Gaussian() + onkel.Linear()).__name__, onkel.kernels.Sum((onkel.Gaussian(), onkel.Linear()))
    ('Sum', Gaussian(width=None) + Linear())
    """

    code = ADD
    join = np.add

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@final
class Product(Combination):
    """k₁(x, z) · k₂(x, z) · …

    >>> onkel.kernels.Product((onkel.Linear(), onkel.Linear())) == onkel.Linear() * onkel.Linear()
    True
    """

    code = MULTIPLY
    join = np.multiply

    def __repr__(self) -> str:
        return " * ".join(f"({part!r})" if isinstance(part, Sum) else repr(part) for part in self.parts)
