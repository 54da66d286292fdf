"""A Cholesky factor that grows: L Lᵀ = M, one more row whenever M gets one more row and column.

    M' = [[M, c], [cᵀ, d]]      l = L⁻¹c,   pivot = √(d − l·l),   L' = [[L, 0], [lᵀ, pivot]]

L is packed: row i takes the i + 1 numbers from i(i+1)/2 on, so a new row is simply written behind the last one, and the flat
array can be preallocated and doubled (`onkel.state.grown`). A row costs one triangular solve, O(size²/2).
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector

SMALLEST_RESIDUAL = 1e-10  # pivot² relative to d: below it the new row is already in the span of the old ones
LARGEST_MISMATCH = 1e-6  # of L Lᵀ against the matrix it is said to factor, relative to the two diagonal entries


def packed(size: int) -> int:
    """How many numbers a packed triangle of so many rows takes."""
    return size * (size + 1) // 2


@hot
def solve(L: Vector, size: int, v: Vector) -> None:
    """v ← L⁻¹v, for the first `size` rows of L and entries of v."""
    start = 0
    for i in range(size):
        total = v[i]
        row = L[start : start + i]
        for j in range(row.size):
            total -= row[j] * v[j]
        v[i] = total / L[start + i]
        start += i + 1


@hot
def solve_transposed(L: Vector, size: int, v: Vector) -> None:
    """v ← L⁻ᵀv, for the first `size` rows of L and entries of v."""
    start = size * (size + 1) // 2
    for k in range(size):
        i = size - 1 - k
        start -= i + 1
        v[i] /= L[start + i]
        row, value = L[start : start + i], v[i]
        for j in range(row.size):
            v[j] -= value * row[j]


@hot
def append(L: Vector, size: int, l: Vector, pivot: float) -> None:
    """Write row `size` of L: (l, pivot). L has room for it."""
    start = size * (size + 1) // 2
    L[start : start + size] = l[:size]
    L[start + size] = pivot


def with_row(factor: Vector, size: int, l: Vector, pivot: float) -> Vector:
    """A packed factor with one more row."""
    longer = np.empty(packed(size + 1))
    longer[: packed(size)] = factor[: packed(size)]
    append(longer, size, l, pivot)
    return longer


def independent(K: Matrix) -> tuple[Counts, Vector]:
    """The rows of a Gram matrix that are not in the span of the rows before them, and the factor of those rows and columns."""
    kept: list[int] = []
    L, l = np.empty(packed(len(K))), np.empty(len(K))
    for i in range(len(K)):
        size = len(kept)
        l[:size] = K[i, kept]
        solve(L, size, l)
        residual = K[i, i] - l[:size] @ l[:size]
        if residual > SMALLEST_RESIDUAL * K[i, i]:
            append(L, size, l, np.sqrt(residual))
            kept.append(i)
    return np.array(kept, np.int64), L[: packed(len(kept))].copy()


def dense(L: Vector, size: int) -> Matrix:
    """The factor as a square matrix, for checks and tests."""
    square = np.zeros((size, size))
    square[np.tril_indices(size)] = L[: packed(size)]
    return square


def is_factor(L: Vector, M: Matrix) -> bool:
    """Whether L Lᵀ is M, but for rounding, and for a diagonal that may be larger than M's."""
    size = len(M)
    if len(L) < packed(size):
        return False
    square = dense(L, size)
    if size and np.diag(square).min() <= 0.0:
        return False
    gap = square @ square.T - M
    scale = np.sqrt(np.sum(square**2, axis=1))  # ≥ √M_ii where L is sound
    allowed = LARGEST_MISMATCH * np.outer(scale, scale)
    return bool(np.all(gap >= -allowed) and np.all(np.abs(gap - np.diag(np.diag(gap))) <= allowed))
