"""Basis: a user's own functions g_1 … g_r with their Gram matrix Q_ij = ⟨g_i, g_j⟩ in the kernel's space.

    z(x) = Q^{-½} (g_1(x), …, g_r(x))

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, eq. 37.

The user's function takes a block of rows (n, dim) and returns the values (n, r) of g_1 … g_r. It is called for one row at a time,
so that the result does not depend on how the stream is cut into blocks.

>>> def parabola(X): return np.hstack([np.ones((len(X), 1)), X, X**2])
>>> Basis(parabola, gram=np.diag([1.0, 1.0, 4.0])).size(1)
3
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import LARGEST_NUMBER, check_block
from onkel._types import Matrix, Vector
from onkel._validate import config, function_name
from onkel.errors import InputError
from onkel.features.compose import Features
from onkel.state import fixed, memory

SMALLEST_EIGENVALUE = 1e-12  # of gram, relative to its largest one; if it is smaller, the functions are linearly dependent
LARGEST_ASYMMETRY = 1e-12  # largest |Q_ij − Q_ji|, relative to the largest entry of gram


@memory
class State:
    whitening: Matrix = fixed()  # (r, r)  Q^{-½}


@config
class Basis(Features):
    """Your own functions g_1 … g_r as features z(x) = Q^{-½} (g_1(x), …, g_r(x)), with Q (`gram`) their scalar products.

    fn    Your function: a block of rows (n, dim) in, the values of g_1 … g_r (n, r) out. It is saved by its name.
    gram  Q, the (r, r) matrix of scalar products ⟨g_i, g_j⟩ in the kernel's space.
    """

    fn: Callable[[Matrix], ArrayLike]
    gram: Any
    fallible = True

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise InputError(f"Basis: fn must be a function of a block (n, dim), got {self.fn!r}")
        Q = check_block("Basis: gram", self.gram)
        if Q.shape[0] != Q.shape[1] or np.abs(Q - Q.T).max() > LARGEST_ASYMMETRY * np.abs(Q).max():
            raise InputError(f"Basis: gram must be a symmetric (r, r) matrix, got shape {Q.shape}")
        object.__setattr__(self, "gram", tuple(map(tuple, Q.tolist())))
        self.init(0)

    def __repr__(self) -> str:
        return f"Basis(fn={self.name}, gram={self.gram!r})"

    @property
    def name(self) -> str:
        """The name of the function, by which it is printed and saved."""
        return function_name(self.fn)

    def size(self, dim: int) -> int:
        return len(self.gram)

    def init(self, dim: int) -> State:
        values, axes = np.linalg.eigh(np.asarray(self.gram))
        if values[0] <= SMALLEST_EIGENVALUE * values[-1]:
            raise InputError("Basis: gram must be positive definite; drop the functions that depend on the others")
        return State((axes / np.sqrt(values)) @ axes.T)

    def footprint(self, dim: int) -> int:
        return 8 * len(self.gram) ** 2

    def write(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> State:
        r = len(self.gram)
        for t in range(len(X)):
            row = np.asarray(self.fn(X[t : t + 1].copy()))
            if row.shape != (1, r) or row.dtype.kind not in "biuf":
                raise InputError(
                    f"Basis: {self.name} must return numbers of shape (1, {r}) for one row, got {row.dtype} {row.shape}"
                )
            if not (sound := np.abs(row) <= LARGEST_NUMBER).all():
                raise InputError(
                    f"Basis: {self.name} returned {row[~sound][0]} for row {t}; keep it finite, within ±{LARGEST_NUMBER:g}"
                )
            Z[t, at : at + r] = state.whitening @ row[0]
        return state
