"""The BLAS calls of compiled code, on C-ordered arrays, each with a NumPy twin for runs with the compiler off. If NumPy's BLAS
cannot be called, the functions of `onkel.linalg.loops` take their place.

Fortran reads a C-ordered matrix as its transpose. The wrappers below hide that: their triangles, sides and shapes are those a
reader of C-ordered NumPy code expects. A symmetric matrix lives in its upper triangle; the lower one is never read or written.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import blas_or, fortran
from onkel._types import Counts, Matrix, Vector
from onkel.linalg import loops

# The characters that Fortran expects. It reads our upper triangle as its lower one, because it sees the transpose.
_LOWER, _LEFT = (np.uint8(ord(c)) for c in "LL")
_PLAIN, _TRANSPOSED, _NON_UNIT = (np.uint8(ord(c)) for c in "NTN")

_dsymv, _dsyr, _dsymm, _dsyrk = fortran("dsymv"), fortran("dsyr"), fortran("dsymm"), fortran("dsyrk")
_dgemm, _dtrsm = fortran("dgemm"), fortran("dtrsm")
_dpotrf = fortran("dpotrf")


def _full(S: Matrix) -> Matrix:
    return np.triu(S) + np.triu(S, 1).T


def symv_twin(S: Matrix, v: Vector, out: Vector) -> None:
    out[:] = _full(S) @ v


@blas_or(loops.symv, symv_twin)
def symv(S: Matrix, v: Vector, out: Vector) -> None:
    """out ← S v, for symmetric S."""
    _dsymv((_LOWER, v.size, 1.0, S, v.size, v, 1, 0.0, out, 1))


def syr_twin(S: Matrix, scale: float, v: Vector) -> None:
    S += np.triu(scale * np.outer(v, v))


@blas_or(loops.syr, syr_twin)
def syr(S: Matrix, scale: float, v: Vector) -> None:
    """S ← S + scale · v vᵀ, for symmetric S."""
    _dsyr((_LOWER, v.size, scale, v, 1, S, v.size))


def symm_twin(V: Matrix, S: Matrix, out: Matrix) -> None:
    out[:] = V @ _full(S)


@blas_or(loops.symm, symm_twin)
def symm(V: Matrix, S: Matrix, out: Matrix) -> None:
    """out ← V S, for symmetric S."""
    b, r = V.shape
    _dsymm((_LEFT, _LOWER, r, b, 1.0, S, r, V, r, 0.0, out, r))


def syrk_twin(S: Matrix, scale: float, V: Matrix) -> None:
    S += np.triu(scale * (V.T @ V))


@blas_or(loops.syrk, syrk_twin)
def syrk(S: Matrix, scale: float, V: Matrix) -> None:
    """S ← S + scale · Vᵀ V, for symmetric S."""
    b, r = V.shape
    _dsyrk((_LOWER, _PLAIN, r, b, scale, V, r, 1.0, S, r))


def gemm_nt_twin(A: Matrix, B: Matrix, out: Matrix) -> None:
    out[:] = A @ B.T


@blas_or(loops.gemm_nt, gemm_nt_twin)
def gemm_nt(A: Matrix, B: Matrix, out: Matrix) -> None:
    """out ← A Bᵀ."""
    m, k = A.shape
    n = B.shape[0]
    _dgemm((_TRANSPOSED, _PLAIN, n, m, k, 1.0, B, k, A, k, 0.0, out, n))


def add_gemm_tn_twin(A: Matrix, B: Matrix, out: Matrix) -> None:
    out += A.T @ B


@blas_or(loops.add_gemm_tn, add_gemm_tn_twin)
def add_gemm_tn(A: Matrix, B: Matrix, out: Matrix) -> None:
    """out ← out + Aᵀ B."""
    k, m = A.shape
    n = B.shape[1]
    _dgemm((_PLAIN, _TRANSPOSED, n, m, k, 1.0, B, n, A, m, 1.0, out, n))


def solve_upper_transposed_twin(R: Matrix, V: Matrix) -> None:
    for i in range(V.shape[1]):
        V[:, i] = (V[:, i] - V[:, :i] @ R[:i, i]) / R[i, i]


@blas_or(loops.solve_upper_transposed, solve_upper_transposed_twin)
def solve_upper_transposed(R: Matrix, V: Matrix) -> None:
    """Replace each row v of V by R⁻ᵀ v, for upper triangular R (its lower triangle is not read). If V has fewer columns than R, the
    leading block of R is used."""
    n, r = V.shape
    _dtrsm((_LEFT, _LOWER, _PLAIN, _NON_UNIT, r, n, 1.0, R, R.shape[1], V, r))


def gemm_nt_part_twin(A: Matrix, B: Matrix, start: int, stop: int, out: Matrix) -> None:
    out[:] = A[:, start:stop] @ B[:, start:stop].T


@blas_or(loops.gemm_nt_part, gemm_nt_part_twin)
def gemm_nt_part(A: Matrix, B: Matrix, start: int, stop: int, out: Matrix) -> None:
    """out ← A Bᵀ, over the columns from `start` to `stop` only."""
    m, n = A.shape[0], B.shape[0]
    _dgemm((_TRANSPOSED, _PLAIN, n, m, stop - start, 1.0, B[:, start:], B.shape[1], A[:, start:], A.shape[1], 0.0, out, n))


def potrf_twin(S: Matrix, info: Counts) -> None:
    info[0] = 0
    try:
        S[:] = np.linalg.cholesky(S, upper=True) + np.tril(S, -1)
    except np.linalg.LinAlgError:
        info[0] = 1


@blas_or(loops.potrf, potrf_twin)
def potrf(S: Matrix, info: Counts) -> None:
    """S ← R with RᵀR = S, for symmetric S in its upper triangle; the lower one is not touched. `info` becomes 0 if S is positive
    definite, otherwise positive."""
    info[0] = 0
    _dpotrf((_LOWER, S.shape[0], S, S.shape[0], info))
