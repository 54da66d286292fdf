"""The functions of `linalg/blas` as plain loops, used if NumPy's BLAS cannot be called; and an inner product, which is always used.

Each function has the name, the arguments and the result of the one in `blas.py`. They work on every machine, and are several times
slower than BLAS on large matrices.
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import compiler_off, hot_inline, hot_strict
from onkel._types import Counts, Matrix, Vector


def _dot(a: Vector, b: Vector) -> float:
    """aᵀb: eight sums, which fill vector registers, in the same order wherever it is called.

    `np.dot` is not used, because in compiled code it needs SciPy, takes as long to compile as a matrix product, and costs 60 ns for
    each call.
    """
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = a.size - a.size % 8
    for i in range(0, whole, 8):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    for i in range(whole, a.size):
        s0 += a[i] * b[i]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


dot = np.dot if compiler_off else hot_strict(_dot)


@hot_inline
def symv(S: Matrix, v: Vector, out: Vector) -> None:
    for i in range(v.size):
        out[i] = 0.0
    for i in range(v.size):
        out[i] += S[i, i] * v[i]
        for j in range(i + 1, v.size):
            out[i] += S[i, j] * v[j]
            out[j] += S[i, j] * v[i]


@hot_inline
def syr(S: Matrix, scale: float, v: Vector) -> None:
    for i in range(v.size):
        for j in range(i, v.size):
            S[i, j] += scale * v[i] * v[j]


@hot_inline
def symm(V: Matrix, S: Matrix, out: Matrix) -> None:
    for t in range(V.shape[0]):
        symv(S, V[t], out[t])


@hot_inline
def syrk(S: Matrix, scale: float, V: Matrix) -> None:
    for t in range(V.shape[0]):
        syr(S, scale, V[t])


@hot_inline
def gemm_nt(A: Matrix, B: Matrix, out: Matrix) -> None:
    gemm_nt_part(A, B, 0, A.shape[1], out)


@hot_inline
def gemm_nt_part(A: Matrix, B: Matrix, start: int, stop: int, out: Matrix) -> None:
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            out[i, j] = dot(A[i, start:stop], B[j, start:stop])


@hot_inline
def add_gemm_tn(A: Matrix, B: Matrix, out: Matrix) -> None:
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(B.shape[1]):
                out[i, j] += A[k, i] * B[k, j]


@hot_inline
def solve_upper_transposed(R: Matrix, V: Matrix) -> None:
    for t in range(V.shape[0]):
        v = V[t]
        for i in range(v.size):
            v[i] /= R[i, i]
            for j in range(i + 1, v.size):
                v[j] -= v[i] * R[i, j]


@hot_inline
def potrf(S: Matrix, info: Counts) -> None:
    info[0] = 0
    for k in range(S.shape[0]):
        if not S[k, k] > 0.0:
            info[0] = k + 1
            return
        root = math.sqrt(S[k, k])
        for j in range(k, S.shape[0]):
            S[k, j] /= root
        for i in range(k + 1, S.shape[0]):
            for j in range(i, S.shape[0]):
                S[i, j] -= S[k, i] * S[k, j]
