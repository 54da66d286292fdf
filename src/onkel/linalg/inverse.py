"""Ridge regression in the inverse form: P = A⁻¹ in one triangle, θ = A⁻¹b, with A = λI + Σ w v vᵀ and b = Σ w y v, summed over
rows with features v, labels y and weights w.

A row      p = P v,  s = vᵀp,  m = θᵀv
           score = m / (1 + s) (Azoury-Warmuth-Vovk)  or  m (ridge)
           g = w / (1 + w s),   θ ← θ + g (y − m) p,   P ← P − g p pᵀ

A block of rows V gives the same numbers by matrix products:

    1. H = V P and G = H Vᵀ hold p and vᵀP v' with P as it was before the block.
    2. Gaussian elimination of column k of G, with the gain g_k as multiplier, turns entry (k, i) into v_kᵀ P_{k-1} v_i, where
       P_{k-1} is P after the first k − 1 rows of the block. The diagonal gives s_k; the multipliers form the unit lower triangular
       T.
    3. The residuals y − m follow from the same elimination, and T⁻¹H has the p of each row as its rows.
    4. P ← P − (T⁻¹H)ᵀ diag(g) T⁻¹H.

Subtracting g p pᵀ loses log₁₀(1 + w s) digits along v, and P as a whole has a relative error of about 1e-16 · max_i P_ii A_ii. This
maximum is the largest variance inflation of a feature. Both losses of digits are checked before anything is learnt. A block that
would raise the inflation above its limit is learnt row by row. A single row that would do so must be learnt in the factor form
(`onkel.linalg.factor`), which never subtracts from a matrix.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.blas import add_gemm_tn, gemm_nt, symm, symv, syr, syrk
from onkel.linalg.loops import dot
from onkel.linalg.triangular import solve_unit_lower

BLOCK = 32  # rows of a block; blocks end at multiples of it, counted from the first row learnt
LARGEST_LEVERAGE = 1e5  # limit for w s; with more, P would keep fewer than about ten digits when g p pᵀ is subtracted
LARGEST_INFLATION = 1e6  # limit for P_ii A_ii, with A after the next rows; with more, P would keep fewer than about ten digits
SHORTEST_BLOCK = 6  # rows; below it matrix products cost more than they save


@hot
def learn(
    P: Matrix, theta: Matrix, diagonal: Vector, learnt: Counts, clamped: Counts, V: Matrix, Y: Matrix, weight: Vector,
    awv: bool, scores: Matrix,
) -> tuple[int, bool]:  # fmt: skip
    """Score, then learn, each row of V. `diagonal` is that of A, `learnt` counts rows, and `clamped` counts how often rounding made
    s negative, so that it was set to 0.

    Returns the number of rows done, and whether P is still accurate enough; if not, the factor form must learn the other rows.
    """
    n, r = V.shape
    outputs = Y.shape[1]
    longest = min(n, BLOCK)
    H, G, T = np.empty((longest, r)), np.empty(longest * longest), np.empty(longest * longest)
    E, gains, p, grown = np.empty((longest, outputs)), np.empty(longest), np.empty(r), np.empty(r)
    done = 0
    while done < n:
        b = min(BLOCK - learnt[0] % BLOCK, n - done)
        if b < SHORTEST_BLOCK or _inflation(P, diagonal, V[done : done + b], weight[done : done + b], grown) > LARGEST_INFLATION:
            now = slice(done, done + 1)
            if not _learn_one(P, theta, diagonal, learnt, clamped, V[now], Y[now], weight[now], awv, scores[now], p, grown):
                return done, False
            done += 1
            continue
        now = slice(done, done + b)
        square = G[: b * b].reshape(b, b), T[: b * b].reshape(b, b)
        clamps = _score_block(P, theta, V[now], Y[now], weight[now], awv, scores[now], H[:b], *square, E[:b], gains)
        if clamps < 0:
            return done, False
        _learn_block(P, theta, H[:b], square[1], E[:b], gains)
        _count(diagonal, learnt, clamped, weight[now], grown, clamps)
        done += b
    return done, True


@hot_lean
def learn_single(
    P: Matrix, theta: Matrix, diagonal: Vector, learnt: Counts, clamped: Counts, V: Matrix, Y: Matrix, weight: Vector,
    awv: bool, scores: Matrix, p: Vector, grown: Vector,
) -> None:  # fmt: skip
    """`learn` for a single row. Its weight becomes 0 if the factor form must learn it. p and `grown` have room for r numbers."""
    if not _learn_one(P, theta, diagonal, learnt, clamped, V, Y, weight, awv, scores, p, grown):
        weight[0] = 0.0


@hot_lean
def _learn_one(
    P: Matrix, theta: Matrix, diagonal: Vector, learnt: Counts, clamped: Counts, V: Matrix, Y: Matrix, weight: Vector,
    awv: bool, scores: Matrix, p: Vector, grown: Vector,
) -> bool:  # fmt: skip
    """Learn the first row of V and count it; False if P is not accurate enough for that."""
    if _inflation(P, diagonal, V, weight, grown) > LARGEST_INFLATION:
        return False
    clamps = _learn_row(P, theta, V[0], Y[0], weight[0], awv, scores[0], p)
    if clamps < 0:
        return False
    _count(diagonal, learnt, clamped, weight, grown, clamps)
    return True


@hot_lean
def _count(diagonal: Vector, learnt: Counts, clamped: Counts, weight: Vector, grown: Vector, clamps: int) -> None:
    """After the rows with these weights: replace the diagonal of A by `grown`, and count."""
    clamped[0] += clamps
    for k in range(weight.size):
        learnt[0] += 1 if weight[k] > 0.0 else 0
    for i in range(diagonal.size):
        diagonal[i] = grown[i]


@hot_lean
def _learn_row(P: Matrix, theta: Matrix, v: Vector, y: Vector, w: float, awv: bool, scores: Vector, p: Vector) -> int:
    symv(P, v, p)
    s = dot(v, p)
    if w * s > LARGEST_LEVERAGE:
        return -1
    clamps = 1 if s < 0.0 else 0
    s = max(s, 0.0)
    gain = w / (1.0 + w * s)
    for o in range(y.size):
        m = dot(theta[o], v)
        scores[o] = m / (1.0 + s) if awv else m
        step = gain * (y[o] - m)
        for i in range(v.size):
            theta[o, i] += step * p[i]
    if gain > 0.0:
        syr(P, -gain, p)
    return clamps


@hot
def _score_block(
    P: Matrix, theta: Matrix, V: Matrix, Y: Matrix, weight: Vector, awv: bool,
    scores: Matrix, H: Matrix, G: Matrix, T: Matrix, E: Matrix, gains: Vector,
) -> int:  # fmt: skip
    """Score the rows of a block, and compute H, T, the residuals E and the gains; P and θ do not change. Returns how often s was
    negative and was set to 0; -1 if w s of a row exceeds LARGEST_LEVERAGE."""
    b = V.shape[0]
    clamps = 0
    symm(V, P, H)
    gemm_nt(H, V, G)
    gemm_nt(V, theta, E)  # the predictions m of θ before the block; step k of the loop turns row k into a residual
    for k in range(b):  # in step k, G[k, i] is v_kᵀ P_{k-1} v_i, and E[k] is m_k after the rows before it were learnt
        s, w = G[k, k], weight[k]
        if w * s > LARGEST_LEVERAGE:
            return -1
        if s < 0.0:
            clamps += 1
            s = 0.0
        gain = w / (1.0 + w * s)
        gains[k] = gain
        for o in range(Y.shape[1]):
            m = E[k, o]
            scores[k, o] = m / (1.0 + s) if awv else m
            E[k, o] = Y[k, o] - m
            for i in range(k + 1, b):
                E[i, o] += gain * G[k, i] * E[k, o]
        for i in range(k + 1, b):
            T[i, k] = gain * G[k, i]
            for j in range(i, b):
                G[i, j] -= T[i, k] * G[k, j]
    return clamps


@hot
def _learn_block(P: Matrix, theta: Matrix, H: Matrix, T: Matrix, E: Matrix, gains: Vector) -> None:
    solve_unit_lower(T, H)
    for k in range(H.shape[0]):
        for o in range(E.shape[1]):
            E[k, o] *= gains[k]
    add_gemm_tn(E, H, theta)
    for k in range(H.shape[0]):
        root = np.sqrt(gains[k])
        for i in range(H.shape[1]):
            H[k, i] *= root
    syrk(P, -1.0, H)


@hot_lean
def _inflation(P: Matrix, diagonal: Vector, V: Matrix, weight: Vector, grown: Vector) -> float:
    """grown ← the diagonal of A after the rows of V. Returns the largest P_ii A_ii, with P as it was before these rows."""
    for i in range(grown.size):
        grown[i] = diagonal[i]
    for k in range(V.shape[0]):
        v, w = V[k], weight[k]
        for i in range(v.size):
            grown[i] += w * v[i] * v[i]
    largest = 0.0
    for i in range(grown.size):
        largest = max(largest, P[i, i] * grown[i])
    return largest


@hot
def predict(P: Matrix, theta: Matrix, V: Matrix, awv: bool, scores: Matrix) -> None:
    if V.shape[0] < SHORTEST_BLOCK:
        predict_rows(P, theta, V, awv, scores, np.empty(V.shape[1]))
        return
    gemm_nt(V, theta, scores)
    if awv:
        H = np.empty_like(V)
        symm(V, P, H)
        for i in range(V.shape[0]):
            shrink = 1.0 + max(dot(H[i], V[i]), 0.0)
            for o in range(scores.shape[1]):
                scores[i, o] /= shrink


@hot_lean
def predict_rows(P: Matrix, theta: Matrix, V: Matrix, awv: bool, scores: Matrix, p: Vector) -> None:
    """The same bits as `_learn_row` writes. p has room for r numbers."""
    for i in range(V.shape[0]):
        s = 0.0
        if awv:
            symv(P, V[i], p)
            s = max(dot(V[i], p), 0.0)
        for o in range(theta.shape[0]):
            m = dot(theta[o], V[i])
            scores[i, o] = m / (1.0 + s) if awv else m
