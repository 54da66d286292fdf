"""The k leading eigenpairs of a matrix that grows by low-rank updates, without decomposing the whole matrix again.

    M ≈ U diag(values) Uᵀ,  F = (s, u),  P a basis of what F has outside span U,  C = (U P)ᵀF

    M + s uᵀ + u sᵀ + own s sᵀ ≈ (U P) H (U P)ᵀ,    H = diag(values, 0) + C (own 1; 1 0) Cᵀ,    at most (k+2) × (k+2)

The k leading eigenpairs of H, turned by (U P), are those of the right-hand side: O(k³), and O(n k²) to turn U. `tisvd` is the same
for M ≈ U diag(values) Vᵀ and any update A Bᵀ. What falls behind the k-th pair is gone: a direction that grows slowly, each time
from nothing, never gets in. Whoever keeps M itself can start anew with `leading`.

FORKS: Fast Second-Order Online Kernel Learning using Incremental Sketching, algorithm 2 (TISVD).
Departs from the paper: the update of its sketch has three columns of rank two; as a symmetric one it needs two, and one basis.

>>> U, values = leading(np.diag([4.0, 1.0, 0.0]), 2)
>>> U, values = updated(U, values, s=np.array([0.0, 0.0, 1.0]), u=np.zeros(3), own=2.0)
>>> values.tolist()
[4.0, 2.0]
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, svd

from onkel._types import Matrix, Vector
from onkel.errors import InputError

SMALLEST_EIGENVALUE = 1e-12  # relative to the largest: below it an eigenvalue is rounding and counts as 0
SMALLEST_DIRECTION = 1e-10  # what columns of largest entry 1 have outside a span: below it they are in it


def leading(M: Matrix, k: int) -> tuple[Matrix, Vector]:
    """The k leading eigenpairs of a symmetric positive semi-definite M, of which only the lower triangle is read.

    U (n, k) has orthonormal columns whatever the rank; values (k,) are descending, and 0 where M has no more. If M is not quite
    semi-definite, as after rounding or truncation, negative eigenvalues count as 0.
    """
    if not 1 <= k <= len(M):
        raise InputError(f"k must be from 1 to {len(M)}, the size of the matrix, got {k}")
    found, vectors = eigh(M, driver="evd")  # the driver for part of the spectrum is less sure of orthogonal vectors
    values = found[::-1][:k]
    kept = values > SMALLEST_EIGENVALUE * values[0]
    return np.ascontiguousarray(vectors[:, ::-1][:, :k]), np.where(kept, values, 0.0)


def updated(U: Matrix, values: Vector, s: Vector, u: Vector, own: float) -> tuple[Matrix, Vector]:
    """The k leading eigenpairs of U diag(values) Uᵀ + s uᵀ + u sᵀ + own s sᵀ; the k before are those given."""
    basis, C = _widened(U, np.column_stack([s, u]))
    H = C @ np.array([[own, 1.0], [1.0, 0.0]]) @ C.T
    k = values.size
    H[:k, :k] += np.diag(values)
    turn, largest = leading(H, k)
    return basis @ turn, largest


def tisvd(U: Matrix, values: Vector, V: Matrix, A: Matrix, B: Matrix) -> tuple[Matrix, Vector, Matrix]:
    """The k leading singular triplets (U, values, V) of U diag(values) Vᵀ + A Bᵀ; the k before are those given.

    Singular values have no sign: a symmetric update that leaves the matrix indefinite is for `updated`.
    """
    k = values.size
    left, C = _widened(U, A)
    right, D = _widened(V, B)
    H = C @ D.T
    H[:k, :k] += np.diag(values)
    turn, found, turn_right = svd(H, full_matrices=False)
    return left @ turn[:, :k], found[:k], right @ turn_right[:k].T


def _widened(U: Matrix, F: Matrix) -> tuple[Matrix, Matrix]:
    """An orthonormal basis (U P) of the columns of U and F, and F in it.

    P has no column for a part of F that rounding alone can have made, so that F may be rank-deficient, or in span U. Columns are
    scaled before that is judged: s uᵀ is the same if s is halved and u doubled.
    """
    G = U.T @ F
    rest = F - U @ G
    size = np.abs(F).max(axis=0)
    directions, spread, _ = svd(rest / np.where(size > 0.0, size, 1.0), full_matrices=False)
    P = directions[:, spread > SMALLEST_DIRECTION]
    if P.shape[1] == 0:
        return U, G
    # A short direction kept few digits of being orthogonal to U. P has unit length again: a second projection restores them.
    P, _, _ = svd(P - U @ (U.T @ P), full_matrices=False)
    return np.hstack([U, P]), np.vstack([G, P.T @ rest])
