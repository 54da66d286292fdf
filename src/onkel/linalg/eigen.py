"""The k leading eigenpairs of a matrix that grows by low-rank updates, without decomposing the whole matrix again.

    M ≈ U diag(values) Uᵀ,  F = (s, u),  P a basis of the part of F outside span U,  C = (U P)ᵀF

    M + s uᵀ + u sᵀ + own s sᵀ ≈ (U P) H (U P)ᵀ,    H = diag(values, 0) + C (own 1; 1 0) Cᵀ,    at most (k+2) × (k+2)

U is n × k, s and u are vectors, and `own` is a number: they make up the update of M. The k leading eigenpairs of H, with vectors
rotated by (U P), are those of the right-hand side. To find them costs O(k³), and to rotate U costs O(n k²).
`tisvd` does the same for M ≈ U diag(values) Vᵀ and any update A Bᵀ. All pairs after the k-th are dropped in each update, so a
direction that grows slowly is dropped each time and starts again from zero. A caller that stores M itself can recompute the pairs
by `leading`.

FORKS: Fast Second-Order Online Kernel Learning using Incremental Sketching, algorithm 2 (TISVD).
Departs from the paper: its update has three columns, of rank two, on each side; written as a symmetric update it needs only the two
columns s and u, and one basis.

>>> U, values = leading(np.diag([4.0, 1.0, 0.0]), 2)
>>> U, values = updated(U, values, s=np.array([0.0, 0.0, 1.0]), u=np.zeros(3), own=2.0)
>>> values.tolist()
[4.0, 2.0]
"""

from __future__ import annotations

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError

SMALLEST_EIGENVALUE = 1e-12  # relative to the largest one; a smaller eigenvalue is rounding and is set to 0
SMALLEST_DIRECTION = 1e-10  # a column, scaled to largest entry 1, is in a span if its part outside the span is smaller


def leading(M: Matrix, k: int) -> tuple[Matrix, Vector]:
    """The k leading eigenpairs of a symmetric positive semi-definite M, of which only the lower triangle is read.

    U (n, k) always has orthonormal columns; values (k,) are descending, and 0 beyond the rank of M. If rounding or truncation has
    made M slightly indefinite, its negative eigenvalues are set to 0.
    """
    if not 1 <= k <= len(M):
        raise InputError(f"k must be from 1 to {len(M)}, the size of the matrix, got {k}")
    found, vectors = np.linalg.eigh(M)  # all pairs: LAPACK's drivers for only a few give less orthogonal vectors
    values = found[::-1][:k]
    kept = values > SMALLEST_EIGENVALUE * values[0]
    return np.ascontiguousarray(vectors[:, ::-1][:, :k]), np.where(kept, values, 0.0)


def updated(U: Matrix, values: Vector, s: Vector, u: Vector, own: float) -> tuple[Matrix, Vector]:
    """The k leading eigenpairs of U diag(values) Uᵀ + s uᵀ + u sᵀ + own s sᵀ, where k is the number of pairs in U and values."""
    basis, C = _widened(U, np.column_stack([s, u]))
    H = C @ np.array([[own, 1.0], [1.0, 0.0]]) @ C.T
    k = values.size
    H[:k, :k] += np.diag(values)
    rotation, largest = leading(H, k)
    return basis @ rotation, largest


def tisvd(U: Matrix, values: Vector, V: Matrix, A: Matrix, B: Matrix) -> tuple[Matrix, Vector, Matrix]:
    """The k leading singular triplets (U, values, V) of U diag(values) Vᵀ + A Bᵀ, where k is the number of given triplets.

    Singular values have no sign: use `updated` for a symmetric update that leaves the matrix indefinite.
    """
    k = values.size
    left, C = _widened(U, A)
    right, D = _widened(V, B)
    H = C @ D.T
    H[:k, :k] += np.diag(values)
    rotation, found, rotation_right = np.linalg.svd(H, full_matrices=False)
    return left @ rotation[:, :k], found[:k], right @ rotation_right[:k].T


def _widened(U: Matrix, F: Matrix) -> tuple[Matrix, Matrix]:
    """An orthonormal basis (U P) of the columns of U and F, and the coordinates of F in this basis.

    A part of F that may be only rounding errors gets no column of P, so F may be rank-deficient, or in the span of U. The columns
    of F are scaled to largest entry 1 before this test, because their lengths are arbitrary: s uᵀ is the same if s is halved and u
    doubled.
    """
    G = U.T @ F
    rest = F - U @ G
    size = np.abs(F).max(axis=0)
    directions, spread, _ = np.linalg.svd(rest / np.where(size > 0.0, size, 1.0), full_matrices=False)
    P = directions[:, spread > SMALLEST_DIRECTION]
    if P.shape[1] == 0:
        return U, G
    # If `rest` is small, rounding leaves P orthogonal to U to only a few digits. The columns of P have unit length, so projecting
    # once more makes them orthogonal to full precision.
    P, _, _ = np.linalg.svd(P - U @ (U.T @ P), full_matrices=False)
    return np.hstack([U, P]), np.vstack([G, P.T @ rest])
