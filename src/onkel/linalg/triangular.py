"""Solves with an upper triangular R. If the vector is shorter than R, only the leading block of R is used."""

from __future__ import annotations

import numpy as np

from onkel._jit import compiled_or, hot
from onkel._types import Matrix, Vector


def solve_row_twin(R: Matrix, v: Vector) -> None:
    for i in range(v.size):
        v[i] /= R[i, i]
        v[i + 1 :] -= v[i] * R[i, i + 1 : v.size]


@compiled_or(solve_row_twin)
def solve_row(R: Matrix, v: Vector) -> None:
    """v ← R⁻ᵀv. Four rows of R are used at a time, so that v is read and written a quarter as often."""
    r = v.size
    i = 0
    while i + 4 <= r:
        for k in range(i, i + 4):
            for j in range(i, k):
                v[k] -= v[j] * R[j, k]
            v[k] /= R[k, k]
        z0, z1, z2, z3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        R0, R1, R2, R3, rest = R[i, i + 4 :], R[i + 1, i + 4 :], R[i + 2, i + 4 :], R[i + 3, i + 4 :], v[i + 4 :]
        for j in range(rest.size):
            rest[j] -= z0 * R0[j] + z1 * R1[j] + z2 * R2[j] + z3 * R3[j]
        i += 4
    for k in range(i, r):
        for j in range(i, k):
            v[k] -= v[j] * R[j, k]
        v[k] /= R[k, k]


@hot
def solve_upper(R: Matrix, v: Vector) -> None:
    """v ← R⁻¹v."""
    for k in range(v.size):
        i = v.size - 1 - k
        v[i] = (v[i] - np.dot(R[i, i + 1 :], v[i + 1 :])) / R[i, i]
