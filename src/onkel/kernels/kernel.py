"""The protocol of kernels: a positive semi-definite k(x, z) that fills a Gram block and, if possible, is passed to compiled code.

A kernel is passed to compiled code as a short program in postfix order, in two arrays: `codes`, such as [GAUSSIAN, LINEAR, ADD],
and `params`, the parameters of the elementary kernels in the same order. `onkel.kernels.rows` evaluates the program. The classes
below are abstract; every other kernel class is final.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.kernels.rows import diagonal, gram
from onkel.kernels.space import Space

Program = tuple[Counts, Vector]

LARGEST_VALUE = 1e150  # the largest k(x, x) that learners accept: k(x, x)^1.5, times a row's weight, does not overflow


class Kernel(Space, ABC):
    """k(X, Z) is the Gram block of two blocks of rows; k1 + k2 and k1 * k2 are kernels again.

    >>> k = onkel.Gaussian(width=1.0) * onkel.Linear()
    >>> isinstance(k, onkel.kernels.Kernel), k([[1.0]], [[1.0], [2.0]]).round(2)
    (True, array([[1.  , 1.21]]))
    """

    @abstractmethod
    def program(self, dim: int) -> Program:
        """The codes and parameters of this kernel on rows of `dim` columns."""

    @abstractmethod
    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        """out ← k(X, Z), for blocks already checked. The bits of a row of `out` do not depend on the other rows."""

    @abstractmethod
    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        """out[i] ← k(X[i], X[i]), for a block already checked."""

    def diagonal(self, X: Matrix) -> Vector:
        """k(x, x) of each row, checked. If all of them are in range, so is every k(x, z), since k(x, z)² ≤ k(x, x) k(z, z)."""
        own = np.empty(len(X))
        self.fill_diagonal(X, own)
        sound = (own >= 0.0) & (own <= LARGEST_VALUE)
        if not sound.all():
            wrong = np.flatnonzero(~sound)
            remedy = (
                "a kernel has k(x, x) ≥ 0" if own[wrong[0]] < 0.0 else f"rescale: values beyond {LARGEST_VALUE:g} would overflow"
            )
            raise InputError(f"k(x, x) of {self!r} is {own[wrong[0]]:g} for row {wrong[0]} of X; {remedy}")
        return own

    def values(self, X: Matrix, Z: Matrix) -> Matrix:
        """k(X, Z), for blocks already checked."""
        out = np.empty((len(X), len(Z)))
        self.fill(X, Z, out)
        return out

    def __call__(self, X: ArrayLike, Z: ArrayLike) -> Matrix:
        X, Z = check_block("X", X), check_block("Z", Z)
        if X.shape[1] != Z.shape[1]:
            raise InputError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}; give both the same columns")
        out = self.values(X, Z)
        if not np.isfinite(out).all():
            i, j = np.argwhere(~np.isfinite(out))[0]
            raise InputError(f"{self!r} is {out[i, j]} for row {i} of X and row {j} of Z; rescale the rows")
        return out

    def __add__(self, other: Kernel) -> Kernel:
        from onkel.kernels.combine import Sum  # not at the top, because that file imports this one

        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel) -> Kernel:
        from onkel.kernels.combine import Product

        return Product((self, other)) if isinstance(other, Kernel) else NotImplemented


class Elementary(Kernel):
    """A kernel that compiled code evaluates in a branch of its own (`onkel.kernels.rows.leaf`)."""

    def fill(self, X: Matrix, Z: Matrix, out: Matrix) -> None:
        codes, params = self.program(X.shape[1])
        gram(codes, params, X, Z, out)

    def fill_diagonal(self, X: Matrix, out: Vector) -> None:
        codes, params = self.program(X.shape[1])
        diagonal(codes, params, X, out)
