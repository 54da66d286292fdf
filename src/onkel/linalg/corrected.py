"""Ridge regression with forgetting from sums of products (as in `onkel.linalg.gram`), on the first N features for several N at
once.

v are the features of a row, y its labels, w its weight; μ is the forgetting factor and Λ the diagonal matrix of the ridges. The
predictions are exact in every row, although the factor R is computed only every `block` rows:

    G ← μG + w v vᵀ,   b ← μb + w y v,   A = G + Λ = RᵀR

R is the factor of A at the last factorisation. The k rows since then are buffered, as ũ and as z̃ = R⁻ᵀũ. With R and these rows the
predictions are computed for A_k, the matrix after them. (In A_k the ridges Λ, too, have faded by μ with each of the k rows; the
next factorisation restores them.)

    A_k = μᵏ(A + Σ_{i<k} ũ_i ũ_iᵀ),   ũ_i = √(w_i μ^{−i−1}) v_i,   z̃_i = R⁻ᵀũ_i

    L Lᵀ = I + Z̃Z̃ᵀ,   e = L⁻¹(ỹ − Z̃c),   l = L⁻¹Z̃z      c = R⁻ᵀb, z = R⁻ᵀv, ỹ_i = √(w_i μ^{−i−1}) y_i
    score = vᵀA_k⁻¹b_k = z·c + l·e

Here v is the row to be scored; Z̃ has the rows z̃_i, and ỹ the entries ỹ_i. The regression on the first N features is called an
*expert*. It uses only the first N coordinates of z, z̃ and c, so its scalar products are prefix sums of those of a larger N. The
triangles L of the experts are interleaved, so that each expert has one lane of a vector register.

A row of r features costs, in multiplications, r²/2 for z, r²/2 for G, r³/(6 block) for R, and block · r/2 for the buffered rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.linalg.blas import gemm_nt_part, solve_upper_transposed
from onkel.linalg.gram import add, factorise
from onkel.linalg.loops import dot
from onkel.linalg.triangular import solve_row

EXPERTS = 4  # the number of different N; the largest N is r


class Sums(NamedTuple):
    """The state, for compiled code."""

    products: Matrix  # (r, r)                    upper triangle of G at the last factorisation
    targets: Matrix  # (outputs, r)              b at the last factorisation
    matrix: Matrix  # (r, r)                    R
    coef: Matrix  # (outputs, r)              c
    rows: Matrix  # (block, r)                ũ of the buffered rows
    solved: Matrix  # (block, r)                z̃
    labels: Matrix  # (block, outputs)          ỹ
    triangles: Cube  # (block, block, EXPERTS)   L, with 1/L_kk on the diagonal
    residuals: Cube  # (block, outputs, EXPERTS) e
    waiting: Counts  # (1,)                      k


class CorrectedSettings(NamedTuple):
    """The settings, for compiled code."""

    ends: Counts  # (EXPERTS,)  the N, in rising order
    ridge: Vector  # (r,)        Λ
    forgetting: float  # μ


@hot
def learn(sums: Sums, settings: CorrectedSettings, V: Matrix, Y: Matrix, weight: Vector, scores: Cube) -> None:
    """Score each row by each expert, into `scores` (n, outputs, EXPERTS), then learn it. Rows of weight 0 are only scored."""
    block, done = sums.rows.shape[0], 0
    while done < V.shape[0]:
        first, stop = sums.waiting[0], done
        while stop < V.shape[0] and weight[stop] > 0.0 and first + stop - done < block:
            stop += 1
        if stop == done:
            stop += 1
            predict(sums, settings, V[done:stop], scores[done:stop])
        elif stop == done + 1:
            z, l, now = np.empty((1, V.shape[1])), np.empty((block, EXPERTS)), slice(done, stop)
            score_row(sums, settings, V[now], z, l, scores[now])
            learn_row(sums, settings, V[now], z, l, Y[now], weight[now], scores[now])
        else:
            _buffer(sums, settings, V[done:stop], Y[done:stop], weight[done:stop])
            _correct(sums, settings, first, scores[done:stop])
            for t in range(done, stop):  # `_correct` has computed the scores of ũ, not of v
                u = np.sqrt(weight[t] * settings.forgetting ** (done - t - first - 1))
                for o in range(scores.shape[1]):
                    for p in range(EXPERTS):
                        scores[t, o, p] /= u
            if sums.waiting[0] == block:
                _factorise_again(sums, settings)
        done = stop


@hot
def score_row(sums: Sums, settings: CorrectedSettings, v: Matrix, z: Matrix, l: Matrix, scores: Cube) -> None:
    """Score one row by each expert, and leave z and l of the row in z (1, r) and l (block, EXPERTS), for `learn_row`."""
    k = sums.waiting[0]
    for j in range(v.shape[1]):
        z[0, j] = v[0, j]
    solve_row(sums.matrix, z[0])
    _prefix_products(settings.ends, z, sums.solved[:k], l[:k].reshape(1, k, EXPERTS))
    _prefix_products(settings.ends, z, sums.coef, scores)
    _substitute(sums.triangles, k, l)
    _add_residuals(sums.residuals, k, l, scores[0])


@hot
def learn_row(
    sums: Sums, settings: CorrectedSettings, v: Matrix, z: Matrix, l: Matrix, Y: Matrix, weight: Vector, scores: Cube
) -> None:  # fmt: skip
    """Learn a row that `score_row` has just scored; nothing if its weight is 0."""
    if weight[0] == 0.0:
        return
    k, own = sums.waiting[0], sums.triangles[sums.waiting[0]]
    u = np.sqrt(weight[0] * settings.forgetting ** (-k - 1))
    for j in range(v.shape[1]):
        sums.rows[k, j], sums.solved[k, j] = u * v[0, j], u * z[0, j]
    for i in range(k):
        for p in range(EXPERTS):
            own[i, p] = u * l[i, p]
    total, start = 0.0, 0
    for p in range(EXPERTS):
        part = sums.solved[k, start : settings.ends[p]]
        total += dot(part, part)
        own[k, p], start = total, settings.ends[p]
    score = np.empty((scores.shape[1], EXPERTS))
    for o in range(Y.shape[1]):
        sums.labels[k, o] = u * Y[0, o]
        for p in range(EXPERTS):
            score[o, p] = u * scores[0, o, p]
    _append(k, own, sums.residuals[k], sums.labels[k], score, np.empty(EXPERTS))
    sums.waiting[0] = k + 1
    if k + 1 == sums.rows.shape[0]:
        _factorise_again(sums, settings)


@hot
def _buffer(sums: Sums, settings: CorrectedSettings, V: Matrix, Y: Matrix, weight: Vector) -> None:
    """Append ũ, z̃ and ỹ of these rows to the buffer."""
    first = sums.waiting[0]
    for a in range(V.shape[0]):
        k = first + a
        u = np.sqrt(weight[a] * settings.forgetting ** (-k - 1))
        for j in range(V.shape[1]):
            sums.rows[k, j] = u * V[a, j]
            sums.solved[k, j] = u * V[a, j]
        for o in range(Y.shape[1]):
            sums.labels[k, o] = u * Y[a, o]
    solve_upper_transposed(sums.matrix, sums.solved[first : first + V.shape[0]])
    sums.waiting[0] = first + V.shape[0]


@hot
def _prefix_products(ends: Counts, Z: Matrix, others: Matrix, out: Cube) -> None:
    """out[a, i, p] ← z_a·others_i over the first ends[p] coordinates. Each expert adds the products of its further coordinates to
    the sum of the expert before it."""
    part, start = np.zeros((Z.shape[0], others.shape[0])), 0
    for p in range(EXPERTS):
        is_longer = 0.0
        if ends[p] > start:
            gemm_nt_part(Z, others, start, ends[p], part)
            start, is_longer = ends[p], 1.0
        for a in range(part.shape[0]):
            for i in range(part.shape[1]):
                out[a, i, p] = part[a, i] if p == 0 else is_longer * part[a, i] + out[a, i, p - 1]


@hot
def _correct(sums: Sums, settings: CorrectedSettings, first: int, scores: Cube) -> None:
    """Compute L, e and the scores of the rows from `first` on in the buffer. The scores are multiplied by √(w μ^{−k−1}).

    1. At first L[k] holds row k of Z̃Z̃ᵀ. Forward substitution with the rows above turns it into row k of L, which is l of row k.
    2. L_kk² = 1 + ‖z̃_k‖² − ‖l‖². The diagonal holds 1/L_kk, so that substitution multiplies.
    3. The score is z̃·c + l·e with e of the rows above, and e_k = (ỹ − score)/L_kk.
    """
    last, L = sums.waiting[0], sums.triangles
    _prefix_products(settings.ends, sums.solved[first:last], sums.solved[:last], L[first:last])
    _prefix_products(settings.ends, sums.solved[first:last], sums.coef, scores)
    left = np.empty(EXPERTS)
    for k in range(first, last):
        _substitute(L, k, L[k])
        _add_residuals(sums.residuals, k, L[k], scores[k - first])
        _append(k, L[k], sums.residuals[k], sums.labels[k], scores[k - first], left)


@hot_inline
def _add_residuals(e: Cube, k: int, l: Matrix, score: Matrix) -> None:
    """Add l·e to the scores of a row after k buffered ones."""
    for o in range(score.shape[0]):
        for i in range(k):
            for p in range(EXPERTS):
                score[o, p] += l[i, p] * e[i, o, p]


@hot_inline
def _append(k: int, own: Matrix, e: Matrix, labels: Vector, score: Matrix, left: Vector) -> None:
    """Compute L_kk and e_k of row k. `own` holds l and ‖z̃‖² of this row; `score` holds its scores, multiplied by √(w μ^{−k−1}), as
    the labels are. `left` is scratch memory."""
    for p in range(EXPERTS):
        left[p] = own[k, p]
    for i in range(k):
        for p in range(EXPERTS):
            left[p] -= own[i, p] * own[i, p]
    for p in range(EXPERTS):
        own[k, p] = 1.0 / np.sqrt(1.0 + max(left[p], 0.0))  # negative only by rounding
    for o in range(score.shape[0]):
        for p in range(EXPERTS):
            e[o, p] = (labels[o] - score[o, p]) * own[k, p]


@hot
def _substitute(L: Cube, k: int, l: Matrix) -> None:
    """l ← L⁻¹l for each expert: forward substitution of the first k entries."""
    for i in range(k):
        for j in range(i):
            for p in range(EXPERTS):
                l[i, p] -= L[i, j, p] * l[j, p]
        for p in range(EXPERTS):
            l[i, p] *= L[i, i, p]


@hot
def _factorise_again(sums: Sums, settings: CorrectedSettings) -> None:
    """Add the buffered rows to G and b, and compute R and c from them."""
    faded = settings.forgetting ** sums.waiting[0]
    add(sums.products, sums.targets, sums.rows, sums.labels)
    for i in range(sums.products.shape[0]):
        row = sums.products[i, i:]
        for j in range(row.size):
            row[j] *= faded
    for o in range(sums.coef.shape[0]):
        for i in range(sums.coef.shape[1]):
            sums.targets[o, i] *= faded
            sums.coef[o, i] = sums.targets[o, i]
    factorise(sums.products, settings.ridge, sums.matrix)
    solve_upper_transposed(sums.matrix, sums.coef)
    sums.waiting[0] = 0


@hot
def predict(sums: Sums, settings: CorrectedSettings, V: Matrix, scores: Cube) -> None:
    """The scores of each row as if it came next; nothing changes."""
    if V.shape[0] == 1:
        score_row(sums, settings, V, np.empty(V.shape), np.empty((sums.rows.shape[0], EXPERTS)), scores)
        return
    Z, k = V.copy(), sums.waiting[0]
    solve_upper_transposed(sums.matrix, Z)
    cross = np.empty((V.shape[0], k, EXPERTS))
    _prefix_products(settings.ends, Z, sums.solved[:k], cross)
    _prefix_products(settings.ends, Z, sums.coef, scores)
    for a in range(V.shape[0]):
        _substitute(sums.triangles, k, cross[a])
        _add_residuals(sums.residuals, k, cross[a], scores[a])
