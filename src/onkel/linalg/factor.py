"""Ridge regression in the square-root form: an upper triangular R with RᵀR = A, and c = R⁻ᵀb. R changes only by rotations.

Here A = λI + Σ w v vᵀ and b = Σ w y v, for rows with r features v, labels y and weights w. Each row [v | y] is rotated into [R | c]
(`rotations`). The same pass gives m = z·c and s = z·z with z = R⁻ᵀv, hence the score.

With forgetting μ, round t is A ← μA + v vᵀ + λ(1 − μʳ) e_j e_jᵀ, b ← μb + y v, where j = t mod r. All entries decay by one common
factor, `scale`. The ridge decays, too. So in each round the ridge of one feature, j, is restored: the row √(λ(1−μʳ)) e_j is rotated
into R before v.

The leading N × N block of R and the first N entries of c are the factor that the first N features alone would give.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.linalg.blas import gemm_nt, solve_upper_transposed
from onkel.linalg.loops import dot
from onkel.linalg.rotations import rotate
from onkel.linalg.triangular import solve_row

ROUNDS = 9  # rows rotated in one pass over R, in three groups of three, which fit the L1 cache; passes end at multiples of 9 rows
SMALLEST_SCALE = 1e-4  # below it the scale is multiplied into R and c
SMALLEST_PIVOT = 1e-100  # least diagonal entry of R; without it, a ridge that fades for hundreds of rounds could become 0
SMALLEST_REMAINDER = 1e-7  # limit for pivot² relative to the diagonal entry of A; with less, R keeps fewer than about nine digits
LARGEST_ENTRY = 1e150  # in R and c; accepted rows and labels cannot lead to larger ones


@hot
def learn(
    R: Matrix, c: Matrix, scales: Vector, learnt: Counts, V: Matrix, Y: Matrix, weight: Vector,
    awv: bool, lam: float, forgetting: float, scores: Matrix,
) -> None:  # fmt: skip
    """Score, then learn, each row of V. A = scale² RᵀR and b = scale² Rᵀc, where `scales` and `learnt` hold one number each."""
    n, r = V.shape
    restored = lam * (1.0 - forgetting**r)
    rounds, new = np.empty((2 * ROUNDS, r)), np.empty((2 * ROUNDS, Y.shape[1]))
    start, m, s = np.empty(2 * ROUNDS, np.int64), np.empty((2 * ROUNDS, Y.shape[1])), np.empty(2 * ROUNDS)
    done, scale, rows = 0, scales[0], learnt[0]
    while done < n:
        if weight[done] == 0.0:
            predict(R, c, scale, rows, V[done : done + 1], awv, lam, forgetting, scores[done : done + 1])
            done += 1
            continue
        if scale < SMALLEST_SCALE and rows % ROUNDS == 0:
            fold(R, c, scale, r)
            scale = 1.0
        # Collect the rows up to the next multiple of ROUNDS, divided by the scale that holds after their own decay.
        size, first = 0, done
        while done < n and weight[done] > 0.0 and (size == 0 or rows % ROUNDS > 0):
            scale *= np.sqrt(forgetting)
            if forgetting < 1.0:
                start[size] = rows % r
                rounds[size] = 0.0
                rounds[size, start[size]] = np.sqrt(restored) / scale
                new[size] = 0.0
                size += 1
            start[size] = 0
            rounds[size] = V[done] * (np.sqrt(weight[done]) / scale)
            new[size] = Y[done] * (np.sqrt(weight[done]) / scale)
            size += 1
            rows += 1
            done += 1
        rotate(R, c, rounds[:size], new[:size], start[:size], m[:size], s[:size])
        _write_scores(m[:size], s[:size], weight, forgetting, scale, first, done, awv, scores)
    scales[0], learnt[0] = scale, rows


@hot
def fold(R: Matrix, c: Matrix, scale: float, size: int) -> None:
    """Multiply the scale into the leading block of R and c. Pivots are kept above SMALLEST_PIVOT."""
    for i in range(size):
        for j in range(i, size):
            R[i, j] *= scale
        R[i, i] = max(R[i, i], SMALLEST_PIVOT)
        for o in range(c.shape[0]):
            c[o, i] *= scale


def faded_ridge(lam: float, forgetting: float, r: int, rows: int) -> Vector:
    """The ridge of each feature in A after so many rounds: what is left of λ, and of all that was restored."""
    if forgetting == 1.0:
        return np.full(r, lam)
    j = np.arange(r)
    times = np.maximum(0, (rows - 1 - j) // r + 1)  # how often it was restored
    since = rows - 1.0 - (j + (times - 1) * r)  # rounds since the last time
    restored = np.where(times > 0, forgetting ** np.maximum(since, 0.0) * (1.0 - forgetting ** (r * times.astype(float))), 0.0)
    return np.asarray(lam * (forgetting ** float(rows) + restored))


def fading_notes(lam: float, forgetting: float, r: int, rows: int) -> list[str]:
    """A note if the ridge fades away between two restorations: each round restores it in one of the r coordinates."""
    if lam * forgetting ** min(r, rows) >= SMALLEST_PIVOT**2:
        return []
    return [
        f"forgetting={forgetting:g} lets the ridge on {r} features fade to nothing before it is restored, so it is kept above a "
        "floor (raise forgetting, or use fewer features)"
    ]


@hot
def _write_scores(
    m: Matrix, s: Vector, weight: Vector, forgetting: float, scale: float, first: int, done: int, awv: bool, scores: Matrix
) -> None:
    stride = s.size // (done - first)  # rows of m and s for each row learnt: 2 with forgetting (that of the ridge, then v), else 1
    for i in range(first, done):
        k = (i - first) * stride + stride - 1
        shrink = 1.0 + s[k] / weight[i] if awv else 1.0
        scale_then = scale / np.sqrt(forgetting) ** (done - 1 - i)
        for o in range(m.shape[1]):
            scores[i, o] = m[k, o] * scale_then / np.sqrt(weight[i]) / shrink


def border(R: Matrix, c: Matrix, column: Vector, corner: float, target: Vector, floor: float) -> tuple[Matrix, Matrix, bool]:
    """R and c for one more feature, so for [[A, column], [columnᵀ, corner]] and (b, target); and whether they are accurate."""
    r = len(R)
    wider, longer = np.zeros((r + 1, r + 1)), np.empty((len(c), r + 1))
    wider[:r, :r], wider[:r, r], wider[r, r] = R, column, corner
    longer[:, :r], longer[:, r] = c, target
    return wider, longer, factor_column(wider, longer, r, floor)


def factor_column(R: Matrix, c: Matrix, r: int, floor: float) -> bool:
    """Factorise column r of R and c in place. It holds the entries of A and b; the columns before it are factorised already.

    The new pivot² is corner − ‖R⁻ᵀcolumn‖², where the corner is the diagonal entry of A. Without rounding pivot² is at least the
    ridge, `floor`. If pivot² is small relative to the corner, digits cancel. Returns whether enough digits are left.
    """
    corner, v = float(R[r, r]), R[:r, r].copy()
    solve_row(R, v)
    square = corner - float(v @ v)
    R[:r, r], R[r, r] = v, np.sqrt(max(square, floor))
    c[:, r] = (c[:, r] - c[:, :r] @ v) / R[r, r]
    return square >= SMALLEST_REMAINDER * corner


def check_factor(R: Matrix, c: Matrix, size: int, ridge: float) -> None:
    """Refuse an R and c that no rows can lead to. For rows, A = RᵀR is at least the ridge."""
    if R.shape != (size, size) or c.shape[1] != size or np.any(np.diag(R) < np.sqrt(ridge) * (1.0 - 1e-6)):
        raise InputError("its matrix does not belong to its features and its ridge")
    if np.any(np.tril(R, -1)) or max(np.abs(R).max(initial=0.0), np.abs(c).max(initial=0.0)) > LARGEST_ENTRY:
        raise InputError("its matrix is not triangular, or has entries that are too large to come from rows")


@hot
def predict(
    R: Matrix, c: Matrix, scale: float, rows: int, V: Matrix, awv: bool, lam: float, forgetting: float, scores: Matrix
) -> None:
    """The score of each row of V as if it came next. If V has fewer columns than R, only the leading features are used."""
    r, outputs = R.shape[0], c.shape[0]
    if forgetting < 1.0:
        R, c = R.copy(), c.copy()
        if scale < SMALLEST_SCALE and rows % ROUNDS == 0:
            fold(R, c, scale, r)
            scale = 1.0
        scale *= np.sqrt(forgetting)
        ridge = np.zeros((1, r))
        ridge[0, rows % r] = np.sqrt(lam * (1.0 - forgetting**r)) / scale
        start = np.full(1, rows % r)
        rotate(R, c, ridge, np.zeros((1, outputs)), start, np.empty((1, outputs)), np.empty(1))
    Z = V.copy()
    solve_upper_transposed(R, Z)
    gemm_nt(Z, np.ascontiguousarray(c[:, : V.shape[1]]), scores)
    if awv:
        for i in range(V.shape[0]):
            scores[i] /= 1.0 + dot(Z[i], Z[i]) / (scale * scale)
