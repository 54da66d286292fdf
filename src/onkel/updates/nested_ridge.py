"""Least squares on the first functions of a list: the arithmetic of `MercerProjection`.

Level N uses only the first functions of the list, but more of them than level N − 1. Either all levels are used at once, and their
predictions are mixed; or one level is used, which rises with the number of rows.

A sample of the rows is kept. If nothing is forgotten, each row learnt is in it with the same probability (reservoir sampling);
otherwise it is the last rows.

`NestedFit.matrix` has two parts. Its first `taken` columns are the factor R of A = λI + Σ w ψψᵀ, where w is the weight of a row and
ψ the values of the functions there. The columns after them are not factorised yet. Until `onkel.linalg.factor.factor_column`
factorises them, they hold entries of A itself (and `coef` holds entries of b = Σ w y ψ, with the labels y), or only the ridge, if
the learner keeps these sums elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.factor import ROUNDS, fold
from onkel.linalg.loops import dot
from onkel.linalg.rank_one import learn_solved, workspace
from onkel.linalg.rotations import rotate
from onkel.linalg.triangular import solve_row
from onkel.mixing import aggregate, cut, reward, temper
from onkel.random import below

SEED = 0  # of the sample
ROUNDING = 1e-14  # relative tolerance before c N^p is rounded down: rounding must not turn an exact integer into the one below
SMALLEST_SCALE = 1e-4  # a smaller scale is multiplied into R and c


class NestedSettings(NamedTuple):
    """The settings, for compiled code."""

    widths: Counts  # (levels,)  number of functions of each level
    level_of: Counts  # (functions,)  the first level that uses each function, from 0
    needed: Vector  # (levels,)  number of rows from which each level is used; all are infinite if all levels are mixed
    prior: Vector  # (levels,)  weight of each level before the first row
    lam: float
    forgetting: float
    clip: float  # infinite if scores are not clipped


class NestedFit(NamedTuple):
    """The arrays of a `MercerProjection`'s state, for compiled code."""

    matrix: Matrix
    coef: Matrix
    scale: Vector
    shares: Matrix
    squares: Matrix
    largest: Vector
    kept_X: Matrix
    kept_Y: Matrix
    kept_weight: Vector


def grown(needed: Vector, rows: float) -> int:
    """The last level, from 1, that needs at most `rows` rows. `needed` never falls from one level to the next."""
    return max(1, int(np.searchsorted(needed, rows, side="right")))


def needed_rows(widths: Counts, rate: float | None, smoothness: float, d: int) -> Vector:
    """The number of rows from which each level is used: c N^((2α+d)/d), but at least as many as it has functions."""
    if rate is None:
        return np.full(len(widths), np.inf)
    levels, power = np.arange(1, len(widths) + 1), (2.0 * smoothness + d) / d
    with np.errstate(over="ignore"):  # infinite for levels that no stream reaches
        needed = np.maximum(np.floor(rate * levels**power * (1.0 + ROUNDING)), widths)
    needed[0] = 0.0
    return np.asarray(needed)


@hot
def learn(
    fit: NestedFit,
    taken: int,
    learnt: Counts,
    level: int,
    X: Matrix,
    Psi: Matrix,
    Y: Matrix,
    weight: Vector,
    settings: NestedSettings,
    scores: Matrix,
) -> int:
    """Score each row, then learn and count it. Stops as soon as enough rows were learnt for the next level to be used. Returns the
    number of rows done."""
    outputs, levels = Y.shape[1], settings.widths.size
    z, label, work = np.empty(taken), np.empty(outputs), workspace(taken)
    curves, leverages = np.empty((outputs, levels)), np.empty(levels)
    follows, first = settings.needed[0] > 0.0, 0 if settings.needed[0] > 0.0 else level - 1
    is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
    i = 0
    while i < Psi.shape[0]:
        # 1. If there is one level and no forgetting, several rows share one pass over R. The scores are the same as one by one.
        if not follows and settings.forgetting == 1.0 and weight[i] > 0.0:
            size = _pass_size(learnt[0], level, weight[i:], settings)
            now = slice(i, i + size)
            _pass(fit, taken, level, Psi[now], Y[now], weight[now], settings, scores[now])
            for k in range(i, i + size):
                _keep(fit, X[k], Y[k], weight[k], learnt[0] + k - i, settings.forgetting)
            i, learnt[0] = i + size, learnt[0] + size
            if level < levels and settings.needed[level] <= learnt[0]:
                return i
            continue
        # 2. The forgetting factor is applied before a row is scored. A row of weight 0 is scored as if it came next, by a copy of R
        #    to which the factor has been applied. The copy is used for all such rows until a row is learnt.
        if weight[i] > 0.0:
            _begin_round(fit, taken, learnt[0], settings, z, work, Psi.shape[1] > taken)
            is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
        elif not is_ahead and settings.forgetting < 1.0:
            R, c, scale = ahead(fit, taken, learnt[0], settings)
            is_ahead = True
        # 3. One solve, z = R⁻ᵀψ, gives the score, the leverages ψᵀA⁻¹ψ of all levels, and the update.
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
        # 4. The losses are those of the predictions before the row is learnt. R is divided by the scale, so the row is too.
        if weight[i] > 0.0:
            _compare(fit, curves, leverages, first, level, Y[i], weight[i], learnt[0], settings)
            root = np.sqrt(weight[i]) / scale
            for j in range(taken):
                z[j] *= root
            for o in range(outputs):
                label[o] = root * Y[i, o]
            learn_solved(fit.matrix, fit.coef, z, label, work)
            _add_products(fit, taken, Psi[i], Y[i], weight[i])
            _keep(fit, X[i], Y[i], weight[i], learnt[0], settings.forgetting)
            learnt[0] += 1
            if not follows and level < levels and settings.needed[level] <= still(learnt[0], settings.forgetting):
                return i + 1
        i += 1
    return i


@hot
def _pass_size(rows: int, level: int, weight: Vector, settings: NestedSettings) -> int:
    """The number of rows that the next pass over R learns. The pass ends when the number of rows is a multiple of ROUNDS, when the
    next level begins, or before a row of weight 0."""
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
    """Score, then learn, several rows in one pass over R, for one level and no forgetting."""
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
        _add_products(fit, taken, Psi[k], Y[k], weight[k])


@hot
def _begin_round(fit: NestedFit, taken: int, rows: int, settings: NestedSettings, z: Vector, work: Matrix, in_full: bool) -> None:
    """Apply the forgetting factor, and restore the ridge of one function: A ← A + λ(1 − μʳ) e_j e_jᵀ with j = rows mod r.

    z is overwritten. If `in_full` is false, only the diagonal of the columns that are not factorised is kept up to date.
    """
    if settings.forgetting == 1.0:
        return
    r, back = fit.matrix.shape[0], rows % fit.matrix.shape[0]
    restored = settings.lam * (1.0 - settings.forgetting**r)
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
        fit.matrix[back, back] += restored
        return
    for j in range(taken):
        z[j] = 0.0
    z[back] = np.sqrt(restored) / fit.scale[0]
    solve_row(fit.matrix, z)
    learn_solved(fit.matrix, fit.coef, z, np.zeros(fit.coef.shape[0]), work)


@hot
def ahead(fit: NestedFit, taken: int, rows: int, settings: NestedSettings) -> tuple[Matrix, Matrix, float]:
    """R, c and the scale with which the next row will be scored."""
    kept = fit.kept_X, fit.kept_Y, fit.kept_weight
    after = NestedFit(fit.matrix.copy(), fit.coef.copy(), fit.scale.copy(), fit.shares, fit.squares, fit.largest, *kept)
    _begin_round(after, taken, rows, settings, np.empty(taken), workspace(taken), False)
    return after.matrix, after.coef, after.scale[0]


@hot
def _one_level(z: Vector, c: Matrix, scale: float, N: int, curves: Matrix, leverages: Vector) -> None:
    """Write the prediction and ψᵀA⁻¹ψ of level N, from 0, whose functions are the entries of z."""
    leverages[N] = dot(z, z) / (scale * scale)
    for o in range(c.shape[0]):
        curves[o, N] = dot(z, c[o, : z.size])


@hot_lean
def _every_level(z: Vector, c: Matrix, scale: float, level_of: Counts, curves: Matrix, leverages: Vector) -> None:
    """Write the prediction and ψᵀA⁻¹ψ of all levels. They are sums over the functions of a level, so each level continues the sum
    of the one before.

    Four outputs are done at a time, because the steps of one sum must wait for each other. A group of fewer than four is filled up
    with the last output.
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
    """Update the losses and weights of the levels from `first` to `last`, and the largest labels. The leverages are overwritten."""
    follows, back = settings.needed[0] > 0.0, 1.0 / (still(rows, settings.forgetting) + 2.0)
    gains = leverages[first:last]  # a slice, because a loop that starts at `first` is not vectorised
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
def _add_products(fit: NestedFit, taken: int, psi: Vector, y: Vector, weight: float) -> None:
    """Add the row to the columns that are not factorised yet, which hold entries of A and b."""
    for i in range(psi.size if psi.size > taken else 0):
        times = weight * psi[i]
        for j in range(max(i, taken), psi.size):
            fit.matrix[i, j] += times * psi[j]
    for o in range(y.size):
        times = weight * y[o]
        for j in range(taken, psi.size):
            fit.coef[o, j] += times * psi[j]


@hot
def _keep(fit: NestedFit, x: Vector, y: Vector, weight: float, rows: int, forgetting: float) -> None:
    """Put a row in the sample, or not. `rows` rows were learnt before it."""
    size = fit.kept_weight.size
    if rows < size:
        place = rows
    elif forgetting < 1.0:
        place = rows % size
    else:
        place = below(SEED, rows, 0, rows + 1)
    if place < size:
        for j in range(x.size):
            fit.kept_X[place, j] = x[j]
        for o in range(y.size):
            fit.kept_Y[place, o] = y[o]
        fit.kept_weight[place] = weight


@hot_inline
def still(rows: int, forgetting: float) -> float:
    """The effective number of rows, 1 + μ + … + μ^(rows − 1)."""
    return float(rows) if forgetting == 1.0 else (1.0 - forgetting**rows) / (1.0 - forgetting)
