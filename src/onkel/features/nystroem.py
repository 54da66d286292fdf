"""Nystroem: the features of the span of given points, orthonormal in the kernel's space.

    L Lᵀ = K(points, points),   z(x) = L⁻¹ k(points, x),   z(x)·z(x') = ⟨Pφ(x), Pφ(x')⟩

Here φ(x) = k(x, ·), and P projects onto the span of the points' φ. A point whose φ is, up to rounding, in the span of those of the
points before it is left out.

>>> points = np.linspace(-2.0, 2.0, 9)[:, None]
>>> z = Nystroem(onkel.Gaussian(width=1.0), points)
>>> z.size(1)
9
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from onkel._inputs import check_block
from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, instance
from onkel.errors import InputError
from onkel.features.compose import Features
from onkel.kernels import Kernel
from onkel.linalg.cholesky import independent, solve
from onkel.state import fixed, memory

ROWS_AT_ONCE = 256


@memory
class State:
    points: Matrix = fixed()  # (r, dim)
    whitening: Vector = fixed()  # (r (r + 1)/2,)  L, packed


@config
class Nystroem(Features):
    """The features of a kernel in the span of given points.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
    points  The points, (m, dim), in whose span the functions lie. For points chosen from the stream take PKAWVNystroem.
    """

    kernel: Kernel
    points: Any

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        rows = check_block("Nystroem: points", self.points)
        object.__setattr__(self, "points", tuple(map(tuple, rows.tolist())))
        if len(rows) == 0 or self.size(rows.shape[1]) == 0:
            raise InputError("Nystroem: points must hold at least one row x with k(x, x) > 0")

    @cached_property
    def _span(self) -> State:
        rows = np.array(self.points)
        self.kernel.diagonal(rows)
        kept, whitening = independent(self.kernel(rows, rows))
        return State(rows[kept], whitening)

    @property
    def fallible(self) -> bool:  # type: ignore[override]
        return self.kernel.fallible

    def size(self, dim: int) -> int:
        return len(self._span.points)

    def init(self, dim: int) -> State:
        if dim != self._span.points.shape[1]:
            raise InputError(f"Nystroem: its points have {self._span.points.shape[1]} columns, X has {dim}")
        return State(self._span.points.copy(), self._span.whitening.copy())

    def footprint(self, dim: int) -> int:
        return self._span.points.nbytes + self._span.whitening.nbytes

    def write(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> State:
        self.kernel.diagonal(X)  # `diagonal` refuses rows whose kernel values would overflow
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            _whiten(state.whitening, self.kernel.values(X[now], state.points), Z[now], at)
        return state


@hot
def _whiten(L: Vector, K: Matrix, Z: Matrix, at: int) -> None:
    r = K.shape[1]
    for i in range(K.shape[0]):
        z = Z[i, at : at + r]
        for j in range(z.size):
            z[j] = K[i, j]
        solve(L, r, z)
