"""Ridge regression from sums of products, on the first N features, for several N at once.

    G = Σ w v vᵀ,  b = Σ w y v,    A = G + Λ = RᵀR,    θ = A⁻¹b                Λ: a diagonal matrix, the ridge of each feature

v are the features of a row, y its labels and w its weight. The leading N × N block of R is the factor of the first N features
alone, so one R gives the solutions for every N. Single rows wait in a buffer, and are added to G and b when there are several
(`collect`). R and θ are computed from G and b from time to time. Nothing is subtracted from a matrix, so errors do not accumulate.
The relative error of θ is the condition number of A times 1e-16. To limit it, each ridge is at least SMALLEST_RIDGE times the
largest diagonal entry of G.

For r features, a row costs r²/2 multiplications for G, and computing R costs r³/6, all of it in matrix products.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.linalg.blas import add_gemm_tn, potrf, solve_upper_transposed, syrk
from onkel.linalg.loops import dot

ROWS = 32  # rows that wait at most before they are added to the sums: a matrix product of many rows takes less time for each
SMALLEST_RIDGE = 1e-10  # relative to the largest diagonal entry of G


@hot
def add(products: Matrix, targets: Matrix, V: Matrix, Y: Matrix) -> None:
    """G ← G + VᵀV, in its upper triangle, and b ← b + YᵀV. The caller has multiplied rows and labels by the roots of weights."""
    syrk(products, 1.0, V)
    add_gemm_tn(Y, V, targets)


@hot
def collect(
    products: Matrix, targets: Matrix, waiting: Matrix, labels: Matrix, count: Counts, V: Matrix, Y: Matrix, weight: Vector
) -> None:
    """Add rows to G and b. If there are few, they are stored in `waiting` and `labels` and added later, by `flush`."""
    if V.shape[0] >= ROWS:
        root = np.sqrt(weight).reshape(-1, 1)
        add(products, targets, V * root, Y * root)
        return
    for t in range(V.shape[0]):
        if weight[t] > 0.0:
            k, root_t = count[0], np.sqrt(weight[t])
            for j in range(V.shape[1]):
                waiting[k, j] = root_t * V[t, j]
            for o in range(Y.shape[1]):
                labels[k, o] = root_t * Y[t, o]
            count[0] = k + 1
            if k + 1 == ROWS:
                flush(products, targets, waiting, labels, count)


@hot
def flush(products: Matrix, targets: Matrix, waiting: Matrix, labels: Matrix, count: Counts) -> None:
    """Add the rows that wait to G and b."""
    if count[0] > 0:
        add(products, targets, waiting[: count[0]], labels[: count[0]])
        count[0] = 0


@hot
def factorise(products: Matrix, ridge: Vector, matrix: Matrix) -> None:
    """matrix ← R, with RᵀR = G + Λ."""
    r, largest = ridge.size, 0.0
    for i in range(r):
        to, of = matrix[i, i:], products[i, i:]
        for j in range(to.size):
            to[j] = of[j]
        largest = max(largest, products[i, i])
    for i in range(r):
        matrix[i, i] += max(ridge[i], SMALLEST_RIDGE * largest)
    potrf(matrix, np.zeros(1, np.int64))


@hot
def solve(matrix: Matrix, targets: Matrix, ends: Counts, theta: Cube) -> None:
    """theta[o, p] ← θ of output o on the first ends[p] features, and 0 after them."""
    rotated = targets.copy()
    solve_upper_transposed(matrix, rotated)
    for o in range(targets.shape[0]):
        for p in range(ends.size):
            v = theta[o, p]
            for i in range(v.size):
                v[i] = rotated[o, i] if i < ends[p] else 0.0
            for i in range(ends[p] - 1, -1, -1):
                v[i] = (v[i] - dot(matrix[i, i + 1 : ends[p]], v[i + 1 : ends[p]])) / matrix[i, i]
