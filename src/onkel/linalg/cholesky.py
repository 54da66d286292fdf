"""A growing Cholesky factor: L Lᵀ = M, with one more row for each row and column that M gains.

    M' = [[M, c], [cᵀ, d]]      l = L⁻¹c,   pivot = √(d − l·l),   L' = [[L, 0], [lᵀ, pivot]]

L is packed: row i is the i + 1 numbers from index i(i+1)/2, so a new row is written after the last one, and the flat array can be
preallocated and doubled (`onkel.state.grown`). A row costs one triangular solve, O(size²/2). With the compiler off, NumPy twins
replace the two solves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onkel._jit import compiled_or, hot
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.loops import dot

SMALLEST_RESIDUAL = 1e-12  # limit for pivot²/(d(1 + a·a)), see `stands_out`; with less, the new row is in the span of the old ones
SMALLEST_RIDGE = 1e-8  # limit for a ridge relative to the diagonal: with less, rounding errors would grow over thousands of rows
LARGEST_DEFICIT = 1e-2  # limit for −(d − l·l)/d; more is not rounding, so the matrix is not positive semi-definite
LARGEST_MISMATCH = 1e-6  # error of an entry of L Lᵀ, relative to the root of the product of the diagonal entries of row and column
ROWS_AT_ONCE = 256


def packed(size: int) -> int:
    """The length of a packed triangle with `size` rows."""
    return size * (size + 1) // 2


def solve_twin(L: Vector, size: int, v: Vector) -> None:
    for i in range(size):
        start = packed(i)
        v[i] = (v[i] - L[start : start + i] @ v[:i]) / L[start + i]


@compiled_or(solve_twin)
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


def solve_transposed_twin(L: Vector, size: int, v: Vector) -> None:
    for i in reversed(range(size)):
        start = packed(i)
        v[i] /= L[start + i]
        v[:i] -= v[i] * L[start : start + i]


@compiled_or(solve_transposed_twin)
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
    for i in range(size):
        L[start + i] = l[i]
    L[start + size] = pivot


def with_row(factor: Vector, size: int, l: Vector, pivot: float) -> Vector:
    """A packed factor with one more row."""
    longer = np.empty(packed(size + 1))
    longer[: packed(size)] = factor[: packed(size)]
    append(longer, size, l, pivot)
    return longer


@hot
def stands_out(a: Vector, residual: float, own: float) -> bool:
    """Whether a new row with this pivot² (`residual`) and diagonal entry (`own`) is outside the span of the old ones, up to
    rounding.

    Rounding errors in a row's entries are amplified by up to ‖L⁻¹‖² in its pivot² and in L⁻¹k of every later row k. The new row
    of L⁻¹ is (−a, 1)/pivot, where a = L⁻ᵀl are the coefficients of the new row in the old ones. So pivot² is compared with
    own · (1 + a·a).
    """
    return bool(residual > SMALLEST_RESIDUAL * own * (1.0 + dot(a, a)))


def coefficients(L: Vector, l: Vector) -> Vector:
    """L⁻ᵀl, the coefficients of a new row in the old ones."""
    a = l.copy()
    solve_transposed(L, len(a), a)
    return a


def independent(K: Matrix) -> tuple[Counts, Vector]:
    """The indices of the rows of a Gram matrix that are outside the span of the rows before them, and the packed factor of these
    rows and columns."""
    kept: list[int] = []
    L, l = np.empty(packed(len(K))), np.empty(len(K))
    for i in range(len(K)):
        size = len(kept)
        l[:size] = K[i, kept]
        solve(L, size, l)
        residual = K[i, i] - l[:size] @ l[:size]
        if stands_out(coefficients(L, l[:size]), residual, K[i, i]):
            append(L, size, l, np.sqrt(residual))
            kept.append(i)
    return np.array(kept, np.int64), L[: packed(len(kept))].copy()


def dense(L: Vector, size: int) -> Matrix:
    """The factor as a square matrix, for checks and tests."""
    square = np.zeros((size, size))
    square[np.tril_indices(size)] = L[: packed(size)]
    return square


def is_factor(L: Vector, size: int, own: Vector, rows: Callable[[int, int], Matrix]) -> bool:
    """Whether L Lᵀ = M up to rounding, except that the diagonal of L Lᵀ may be larger than `own`, the diagonal of M.

    L Lᵀ and M are compared by their products with one vector, of random signs divided by the roots of the diagonal. For this M is
    never in memory as a whole: `rows(a, b)`, which returns its rows from a to b, is called for a few rows at a time.
    """
    if len(L) < packed(size):
        return False
    if size == 0:
        return True
    ends = np.cumsum(np.arange(1, size + 1)) - 1
    diagonal = np.empty(size)
    _row_norms(L, size, diagonal)
    if L[ends].min() <= 0.0 or np.any(own > diagonal * (1.0 + LARGEST_MISMATCH)) or not np.isfinite(diagonal).all():
        return False
    signs = np.random.default_rng().choice([-1.0, 1.0], size) / np.sqrt(diagonal)
    product = signs.copy()
    _times_transposed(L, size, product)
    _times(L, size, product)
    product -= (diagonal - own) * signs
    for start in range(0, size, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, size)
        gap = (product[start:stop] - rows(start, stop) @ signs) / np.sqrt(diagonal[start:stop])
        if not np.all(np.abs(gap) <= LARGEST_MISMATCH * np.sqrt(size)):
            return False
    return True


@hot
def _row_norms(L: Vector, size: int, out: Vector) -> None:
    """out[i] ← (L Lᵀ)_ii."""
    start = 0
    for i in range(size):
        row = L[start : start + i + 1]
        out[i] = dot(row, row)
        start += i + 1


@hot
def _times(L: Vector, size: int, v: Vector) -> None:
    """v ← L v."""
    start = size * (size + 1) // 2
    for k in range(size):
        i = size - 1 - k
        start -= i + 1
        v[i] = dot(L[start : start + i + 1], v[: i + 1])


@hot
def _times_transposed(L: Vector, size: int, v: Vector) -> None:
    """v ← Lᵀ v."""
    start = 0
    for i in range(size):
        row, value = L[start : start + i], v[i]
        for j in range(row.size):
            v[j] += value * row[j]
        v[i] = value * L[start + i]
        start += i + 1
