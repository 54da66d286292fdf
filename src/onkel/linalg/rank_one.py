"""Rank-one updates of a factor R, RᵀR = A, by a row v if z = R⁻ᵀv is known: A ← A + v vᵀ, or a Newton step, without rotations.

There is an upper triangular T with TᵀT = I + z zᵀ, so R ← T R has RᵀR = A + v vᵀ. Nothing is subtracted from a matrix.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import compiled_or, hot, hot_inline
from onkel._types import Matrix, Vector
from onkel.linalg.loops import dot

Terms = tuple[float, float, float]  # T_ii, T_ij/z_j and z_i


def update_row_twin(R_i: Vector, sums: Vector, t: float, u: float, z: float) -> None:
    old = R_i.copy()
    R_i[:] = t * old + u * sums
    sums += z * old


@compiled_or(update_row_twin)
def _update_row(R_i: Vector, sums: Vector, t: float, u: float, z: float) -> None:
    for j in range(R_i.size):
        x = R_i[j]
        R_i[j] = t * x + u * sums[j]
        sums[j] += z * x


def update_rows_twin(R_i: Vector, R_j: Vector, sums: Vector, T_i: Terms, T_j: Terms) -> None:
    update_row_twin(R_i, sums, *T_i)
    update_row_twin(R_j, sums, *T_j)


@compiled_or(update_rows_twin)
def _update_rows(R_i: Vector, R_j: Vector, sums: Vector, T_i: Terms, T_j: Terms) -> None:
    """`_update_row` for R_i, then for R_j; the sums are read and written once."""
    ti, ui, zi = T_i
    tj, uj, zj = T_j
    for k in range(R_i.size):
        x, y, total = R_i[k], R_j[k], sums[k]
        R_i[k] = ti * x + ui * total
        total += zi * x
        R_j[k] = tj * y + uj * total
        sums[k] = total + zj * y


@hot
def workspace(r: int) -> Matrix:
    """Scratch memory for `rank_one_update`, to be allocated once for many rows: for small r the allocation costs as much as an
    update."""
    return np.empty((4, r + 1))


@hot_inline
def rank_one_update(R: Matrix, c: Matrix, z: Vector, work: Matrix) -> None:
    """A ← A + v vᵀ for v = Rᵀz with θ = R⁻¹c unchanged: R ← T R and c ← T c, where TᵀT = I + z zᵀ.

    1. T_ii = √(σ_i/σ_{i-1}) and T_ij = z_i z_j/√(σ_i σ_{i-1}) for j > i, with σ_i = 1 + z_0² + … + z_i².
    2. T_ij/z_j is the same for all j > i. So row i of T R is T_ii R_i + (T_ij/z_j) Σ_{k>i} z_k R_k, and from the last row upwards,
       each row adds one term to the sum.

    `work` comes from `workspace(r)`. If z is shorter than R, only the leading block of R changes.
    """
    _update_matrix(R, z, work)
    diagonal, share = work[1], work[2]
    for o in range(c.shape[0]):
        total = 0.0
        for k in range(z.size):
            i = z.size - 1 - k
            x = c[o, i]
            c[o, i] = diagonal[i] * x + share[i] * total
            total += z[i] * x


@hot_inline
def _update_matrix(R: Matrix, z: Vector, work: Matrix) -> None:
    """R ← T R. Leaves T_ii in work[1] and T_ij/z_j in work[2], for the update of c."""
    r = z.size
    root, diagonal, share, below = work[0], work[1], work[2], work[3]
    root[0] = 1.0
    for i in range(r):
        below[i] = 0.0
        root[i + 1] = root[i] + z[i] * z[i]
    for i in range(r + 1):  # a loop of its own, so that the roots vectorise
        root[i] = np.sqrt(root[i])
    for i in range(r):
        diagonal[i] = root[i + 1] / root[i]
        share[i] = z[i] / (root[i + 1] * root[i])
    i = r - 1
    while i > 0:
        above = (diagonal[i - 1], share[i - 1], z[i - 1])
        _update_rows(R[i, i - 1 : r], R[i - 1, i - 1 : r], below[i - 1 : r], (diagonal[i], share[i], z[i]), above)
        i -= 2
    if i == 0:
        _update_row(R[0, :r], below[:r], diagonal[0], share[0], z[0])


@hot
def newton_step(R: Matrix, c: Matrix, z: Vector, shift: float, slope: float, eta: float, work: Matrix) -> None:
    """One Newton step along v = Rᵀz. With g = `slope`: θ ← θ − shift A⁻¹v, then A ← A + η g² v vᵀ, then θ ← θ − g A⁻¹v.

    z is overwritten.
    """
    gain = eta * slope * slope
    step = shift + slope / (1.0 + gain * dot(z, z))
    for i in range(z.size):
        c[0, i] -= step * z[i]
    if gain > 0.0:
        root = np.sqrt(gain)
        for i in range(z.size):
            z[i] *= root
        rank_one_update(R, c, z, work)


@hot
def learn_solved(R: Matrix, c: Matrix, z: Vector, y: Vector, work: Matrix) -> None:
    """Learn the row v with labels y, given z = R⁻ᵀv from scoring: A ← A + v vᵀ and θ ← θ + A⁻¹v (y − m)/(1 + s), where m = z·c and
    s = z·z."""
    _update_matrix(R, z, work)
    _learn_labels(c, z, y, work[1], work[2])


@hot_inline
def _learn_labels(c: Matrix, z: Vector, y: Vector, diagonal: Vector, share: Vector) -> None:
    """c ← T(c + z (y − m)/(1 + s)): entry i is T_ii c_i + T_ij/z_j (y − z_0 c_0 − … − z_i c_i).

    Four outputs are done at a time, because the steps of one output must wait for each other. A group of fewer than four is filled
    up with the last output.
    """
    last = y.size - 1
    for o in range(0, y.size, 4):
        o1, o2, o3 = min(o + 1, last), min(o + 2, last), min(o + 3, last)
        c0, c1, c2, c3 = c[o], c[o1], c[o2], c[o3]
        left0, left1, left2, left3 = y[o], y[o1], y[o2], y[o3]
        for i in range(z.size):
            t, u, z_i = diagonal[i], share[i], z[i]
            x0, x1, x2, x3 = c0[i], c1[i], c2[i], c3[i]
            left0 -= z_i * x0
            left1 -= z_i * x1
            left2 -= z_i * x2
            left3 -= z_i * x3
            c0[i], c1[i], c2[i], c3[i] = t * x0 + u * left0, t * x1 + u * left1, t * x2 + u * left2, t * x3 + u * left3
