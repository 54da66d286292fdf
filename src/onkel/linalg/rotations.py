"""Givens rotations: several rows are rotated into a triangular R in one pass over R.

    column i     h = √(R_ii² + v_i²),  cos = R_ii / h,  sin = v_i / h
                 (R_i, v) ← (cos R_i + sin v,  cos v − sin R_i),  and the same for (c_i, y)

Here v is a new row with the label y, R_i is row i of R, and c the right-hand side. The i-th entry of z = R⁻ᵀv is
v_i / (R_ii · Π cos), with the cosines of the columns before i, so the rotations give z·c and z·z without a solve.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector

LANES = 8  # numbers in the widest vector register, a power of two
PAGE, SAME_PLACE = 512, 24  # numbers in a memory page; rows whose offsets in their pages differ by less than 24 are slow together


@hot
def rotate(R: Matrix, c: Matrix, new: Matrix, labels: Matrix, start: Counts, m: Matrix, s: Vector) -> None:
    """Rotate the rows of [new | labels] into [R | c], in order. Row k is zero before column start[k].

    m and s receive zᵀc and zᵀz with z = R⁻ᵀ new_k, computed with R and c just before row k. `labels` is overwritten. If the new
    rows are shorter than R, only the leading block of R changes.
    """
    size, r = new.shape
    padded = np.empty((size, _stride(r)))
    for k in range(size):
        for j in range(r):
            padded[k, j] = new[k, j]
    _rotate_columns(R, c, r, padded, labels, start, m, s, np.empty(size, np.int64), np.empty((6, size + 1)))


@hot_inline
def _stride(r: int) -> int:
    """The distance between the starts of two rows of r numbers. It must not be near a multiple of the page size, because the
    processor would confuse loads and stores of the two rows (4K aliasing) and stall."""
    stride = (r + LANES - 1) & -LANES
    while (stride + SAME_PLACE) % PAGE < 2 * SAME_PLACE:
        stride += LANES
    return stride


@hot_lean
def _rotate_columns(
    R: Matrix, c: Matrix, r: int, new: Matrix, labels: Matrix, start: Counts, m: Matrix, s: Vector, which: Counts, work: Matrix
) -> None:
    # All new rows are rotated into column i before the next column is begun, so that R is read only once for all rows.
    size = new.shape[0]
    square, inverse, cos, sin, z, grown = work[0], work[1], work[2], work[3], work[4], work[5]
    for k in range(size):
        grown[k], s[k] = 1.0, 0.0
        for o in range(labels.shape[1]):
            m[k, o] = 0.0
    for i in range(r):
        # 1. The squared diagonal entry after each rotation is a running sum. All these sums are computed first. Then the roots and
        #    divisions are independent of each other and vectorise; otherwise each rotation would wait for the root before it.
        active = 0
        square[0] = R[i, i] * R[i, i]
        for k in range(size):
            if start[k] <= i:
                which[active] = k
                square[active + 1] = square[active] + new[k, i] * new[k, i]
                active += 1
        for a in range(active + 1):
            inverse[a] = 1.0 / np.sqrt(square[a])
        # 2. The angles, and entry i of z = R⁻ᵀ new_k, with R as it was before row k. The rotations of the columns before i have
        #    multiplied new[k, i] by their cosines; `grown`, the product of 1/cos, undoes that.
        for a in range(active):
            k = which[a]
            cos[a] = square[a] * inverse[a] * inverse[a + 1]
            sin[a] = new[k, i] * inverse[a + 1]
            z[a] = new[k, i] * inverse[a] * grown[k]
            s[k] += z[a] * z[a]
            grown[k] *= square[a + 1] * inverse[a + 1] * inverse[a]
        # 3. The labels are rotated like one more column. Before the rotation of row k, x is c_i before row k, as needed for z·c.
        for o in range(labels.shape[1]):
            x = c[o, i]
            for a in range(active):
                y = labels[which[a], o]
                m[which[a], o] += z[a] * x
                labels[which[a], o] = cos[a] * y - sin[a] * x
                x = cos[a] * x + sin[a] * y
            c[o, i] = x
        # 4. The rest of row i. It starts a little before column i + 1, so that its length is a multiple of LANES. That does no
        #    harm: the columns before i are 0 in all of these rows and stay 0, and R_ii is then overwritten by the root from step 1.
        first = max(0, r - ((r - i + LANES - 2) & -LANES))
        _rotate_row(R[i, first:r], new, first, which[:active], cos, sin)
        R[i, i] = square[active] * inverse[active]
        for a in range(active):
            new[which[a], i] = 0.0


@hot_lean
def _rotate_row(R_i: Vector, new: Matrix, first: int, which: Counts, cos: Vector, sin: Vector) -> None:
    """Apply a column's rotations to the rest of row i, three at a time, so that R_i is read and written a third as often (a loop
    with four rotations is not vectorised)."""
    a = 0
    while a + 3 <= which.size:
        n0, n1, n2 = new[which[a], first:], new[which[a + 1], first:], new[which[a + 2], first:]
        c0, c1, c2 = cos[a], cos[a + 1], cos[a + 2]
        s0, s1, s2 = sin[a], sin[a + 1], sin[a + 2]
        for j in range(R_i.size):
            x = R_i[j]
            y0, y1, y2 = n0[j], n1[j], n2[j]
            n0[j] = c0 * y0 - s0 * x
            x = c0 * x + s0 * y0
            n1[j] = c1 * y1 - s1 * x
            x = c1 * x + s1 * y1
            n2[j] = c2 * y2 - s2 * x
            R_i[j] = c2 * x + s2 * y2
        a += 3
    while a < which.size:
        n0, c0, s0 = new[which[a], first:], cos[a], sin[a]
        for j in range(R_i.size):
            x, y0 = R_i[j], n0[j]
            n0[j] = c0 * y0 - s0 * x
            R_i[j] = c0 * x + s0 * y0
        a += 1
