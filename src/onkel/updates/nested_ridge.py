"""Least squares on the first functions of a list, for all numbers N of them at once or for an N that grows: what `MercerProjection`
does with a row.

The factor holds the functions that have been taken in. Columns after it wait: they hold A and b themselves, to be taken in by
`onkel.linalg.factor.take_in`, and nothing where sums kept elsewhere will tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.factor import ROUNDS, fold, learn_solved, rotate, solve_row, workspace
from onkel.mixing import aggregate, cut, reward, temper

SMALLEST_SCALE = 1e-4  # below it the scale is folded into R and c


class NestedSettings(NamedTuple):
    """The settings, as compiled code sees them."""

    widths: Counts  # functions of each level
    level_of: Counts  # each function, the first that has it
    needed: Vector  # rows that each level waits for; all infinite where every level speaks
    prior: Vector  # of each level
    lam: float
    forgetting: float
    clip: float  # infinite where there is none


class NestedFit(NamedTuple):
    """What compiled code sees of a `State`."""

    matrix: Matrix
    coef: Matrix
    scale: Vector
    shares: Matrix
    squares: Matrix
    largest: Vector


def grown(needed: Vector, rows: float) -> int:
    """N: the last of the levels whose rows are there. None waits for fewer rows than the level before it."""
    return max(1, int(np.searchsorted(needed, rows, side="right")))


@hot
def learn(
    fit: NestedFit,
    taken: int,
    learnt: Counts,
    level: int,
    Psi: Matrix,
    Y: Matrix,
    weight: Vector,
    settings: NestedSettings,
    scores: Matrix,
) -> int:
    """Score, then learn and count, each row, up to the one with which a level comes: how many that are."""
    outputs, levels = Y.shape[1], settings.widths.size
    z, label, work = np.empty(taken), np.empty(outputs), workspace(taken)
    curves, leverages = np.empty((outputs, levels)), np.empty(levels)
    follows, first = settings.needed[0] > 0.0, 0 if settings.needed[0] > 0.0 else level - 1
    is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
    i = 0
    while i < Psi.shape[0]:
        # 1. One level that nothing fades under: many rows share one pass over R. Scores are the same as one by one.
        if not follows and settings.forgetting == 1.0 and weight[i] > 0.0:
            size = _pass_size(learnt[0], level, weight[i:], settings)
            now = slice(i, i + size)
            _pass(fit, taken, level, Psi[now], Y[now], weight[now], settings, scores[now])
            i, learnt[0] = i + size, learnt[0] + size
            if level < levels and settings.needed[level] <= learnt[0]:
                return i
            continue
        # 2. Fading comes before the score. A row that is not learnt is scored as if it were next, on a copy of R that has faded;
        #    one copy serves all such rows until one is learnt.
        if weight[i] > 0.0:
            _begin_round(fit, taken, learnt[0], settings, z, work, Psi.shape[1] > taken)
            is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
        elif not is_ahead and settings.forgetting < 1.0:
            R, c, scale = ahead(fit, taken, learnt[0], settings)
            is_ahead = True
        # 3. One solve serves the score, the leverages of all levels, and the update.
        for j in range(taken):
            z[j] = Psi[i, j]
        solve_row(R, z)
        if follows:
            _every_level(z, c, scale, settings.level_of, curves, leverages)
            _mix(curves, fit.shares, fit.largest, settings.clip, scores[i])
        else:
            _one_level(z[: settings.widths[first]], c, scale, first, curves, leverages)
            for o in range(outputs):
                scores[i, o] = cut(curves[o, first], settings.clip)
        # 4. Levels are judged by what they said before they learn the row; R is in units of the scale, so the row is too.
        if weight[i] > 0.0:
            _compare(fit, curves, leverages, first, level, Y[i], weight[i], learnt[0], settings)
            root = np.sqrt(weight[i]) / scale
            for j in range(taken):
                z[j] *= root
            for o in range(outputs):
                label[o] = root * Y[i, o]
            learn_solved(fit.matrix, fit.coef, z, label, work)
            _wait(fit, taken, Psi[i], Y[i], weight[i])
            learnt[0] += 1
            if not follows and level < levels and settings.needed[level] <= still(learnt[0], settings.forgetting):
                return i + 1
        i += 1
    return i


@hot
def _pass_size(rows: int, level: int, weight: Vector, settings: NestedSettings) -> int:
    """How many rows, the next one among them, are learnt in one pass over R: until a level comes, or a row without weight."""
    most = ROUNDS - rows % ROUNDS
    if level < settings.needed.size:
        most = int(min(most, max(1.0, np.ceil(settings.needed[level] - rows))))
    size = 1
    while size < min(most, weight.size) and weight[size] > 0.0:
        size += 1
    return size


@hot
def _pass(
    fit: NestedFit, taken: int, level: int, Psi: Matrix, Y: Matrix, weight: Vector, settings: NestedSettings, scores: Matrix
) -> None:
    """Score, then learn, rows of one level that nothing fades between: as one by one, with R read once."""
    size, outputs = Y.shape
    new, labels, m, s = np.empty((size, taken)), np.empty((size, outputs)), np.empty((size, outputs)), np.empty(size)
    for k in range(size):
        root = np.sqrt(weight[k])
        for j in range(taken):
            new[k, j] = root * Psi[k, j]
        for o in range(outputs):
            labels[k, o] = root * Y[k, o]
    rotate(fit.matrix, fit.coef, new, labels, np.zeros(size, np.int64), m, s)
    for k in range(size):
        for o in range(outputs):
            curve = m[k, o] / np.sqrt(weight[k])
            scores[k, o] = cut(curve, settings.clip)
            fit.squares[o, level - 1] += weight[k] * (Y[k, o] - curve) ** 2 / (1.0 + s[k])
        _wait(fit, taken, Psi[k], Y[k], weight[k])


@hot
def _begin_round(fit: NestedFit, taken: int, rows: int, settings: NestedSettings, z: Vector, work: Matrix, in_full: bool) -> None:
    """What came before fades, and one coordinate's ridge returns: λ(1 − μʳ) e_j e_jᵀ with j = rows mod r. z is used up."""
    if settings.forgetting == 1.0:
        return
    r, back = fit.matrix.shape[0], rows % fit.matrix.shape[0]
    returning = settings.lam * (1.0 - settings.forgetting**r)
    for j in range(taken, r):
        for i in range(0 if in_full else j, j + 1):
            fit.matrix[i, j] *= settings.forgetting
        for o in range(fit.coef.shape[0] if in_full else 0):
            fit.coef[o, j] *= settings.forgetting
    fit.scale[0] *= np.sqrt(settings.forgetting)
    if fit.scale[0] < SMALLEST_SCALE:
        fold(fit.matrix, fit.coef, fit.scale[0], taken)
        fit.scale[0] = 1.0
    if back >= taken:
        fit.matrix[back, back] += returning
        return
    for j in range(taken):
        z[j] = 0.0
    z[back] = np.sqrt(returning) / fit.scale[0]
    solve_row(fit.matrix, z)
    learn_solved(fit.matrix, fit.coef, z, np.zeros(fit.coef.shape[0]), work)


@hot
def ahead(fit: NestedFit, taken: int, rows: int, settings: NestedSettings) -> tuple[Matrix, Matrix, float]:
    """R, c and the scale as they will be when the next row is scored."""
    after = NestedFit(fit.matrix.copy(), fit.coef.copy(), fit.scale.copy(), fit.shares, fit.squares, fit.largest)
    _begin_round(after, taken, rows, settings, np.empty(taken), workspace(taken), False)
    return after.matrix, after.coef, after.scale[0]


@hot
def _one_level(z: Vector, c: Matrix, scale: float, N: int, curves: Matrix, leverages: Vector) -> None:
    """The prediction and ψᵀA⁻¹ψ of the level that has the functions of z."""
    leverages[N] = np.dot(z, z) / (scale * scale)
    for o in range(c.shape[0]):
        curves[o, N] = np.dot(z, c[o, : z.size])


@hot_lean
def _every_level(z: Vector, c: Matrix, scale: float, level_of: Counts, curves: Matrix, leverages: Vector) -> None:
    """The prediction and ψᵀA⁻¹ψ of all levels: sums that grow from function to function, and stay with the level at its last one.

    Four outputs side by side, since each sum waits for the one before it. The last output fills the places that are left.
    """
    leverage, last = 0.0, c.shape[0] - 1
    for j in range(z.size):
        leverage += z[j] * z[j]
        leverages[level_of[j]] = leverage / (scale * scale)
    for o in range(0, last + 1, 4):
        o1, o2, o3 = min(o + 1, last), min(o + 2, last), min(o + 3, last)
        c0, c1, c2, c3 = c[o], c[o1], c[o2], c[o3]
        curve0, curve1, curve2, curve3 = curves[o], curves[o1], curves[o2], curves[o3]
        sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
        for j in range(z.size):
            sum0 += z[j] * c0[j]
            sum1 += z[j] * c1[j]
            sum2 += z[j] * c2[j]
            sum3 += z[j] * c3[j]
            N = level_of[j]
            curve0[N], curve1[N], curve2[N], curve3[N] = sum0, sum1, sum2, sum3


@hot_lean
def _mix(curves: Matrix, shares: Matrix, largest: Vector, clip: float, scores: Vector) -> None:
    for o in range(scores.size):
        scores[o] = cut(aggregate(curves[o], shares[o], largest[o]), clip)


@hot_lean
def _compare(
    fit: NestedFit,
    curves: Matrix,
    leverages: Vector,
    first: int,
    last: int,
    y: Vector,
    weight: float,
    rows: int,
    settings: NestedSettings,
) -> None:
    """What the levels from `first` on have lost and count for after these labels, and the largest labels. Uses up the leverages."""
    follows, back = settings.needed[0] > 0.0, 1.0 / (still(rows, settings.forgetting) + 2.0)
    gains = leverages[first:last]  # a slice, since loops from `first` on would not use vector registers
    for N in range(gains.size):
        gains[N] = weight / (1.0 + weight * gains[N])
    for o in range(y.size):
        squares, curve, label = fit.squares[o, first:last], curves[o, first:last], y[o]
        for N in range(gains.size):
            squares[N] = settings.forgetting * squares[N] + gains[N] * (label - curve[N]) ** 2
        if follows:
            bound = fit.largest[o]
            reward(fit.shares[o], settings.prior, curves[o], label, bound, back)
            if settings.clip == np.inf and abs(label) > bound:
                temper(fit.shares[o], settings.prior, (bound / label) ** 2)
                fit.largest[o] = abs(label)


@hot
def _wait(fit: NestedFit, taken: int, psi: Vector, y: Vector, weight: float) -> None:
    """The sums of products of functions that wait."""
    for i in range(psi.size if psi.size > taken else 0):
        times = weight * psi[i]
        for j in range(max(i, taken), psi.size):
            fit.matrix[i, j] += times * psi[j]
    for o in range(y.size):
        times = weight * y[o]
        for j in range(taken, psi.size):
            fit.coef[o, j] += times * psi[j]


@hot_inline
def still(rows: int, forgetting: float) -> float:
    """The rows that still count: 1 + μ + … + μ^(rows − 1)."""
    return float(rows) if forgetting == 1.0 else (1.0 - forgetting**rows) / (1.0 - forgetting)
