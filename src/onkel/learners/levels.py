"""Least squares on the first functions of a list, for all numbers N of them at once or for an N that grows: what `MercerProjection`
does with a row.

The factor holds the functions that have been taken in. Columns behind it wait: they hold A and b themselves, to be taken in by
`onkel.linalg.factor.take_in`, and nothing where sums kept elsewhere will tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.factor import ROUNDS, learn_solved, rotate, solve_row, workspace
from onkel.mixing import aggregate, cut, reward, temper

SMALLEST_SCALE = 1e-4  # below it the scale is folded into R and c


class Rule(NamedTuple):
    """The settings, as compiled code sees them."""

    widths: Counts  # functions of each level
    needed: Vector  # rows that each level waits for; all infinite where every level speaks
    prior: Vector  # of each level
    lam: float
    forgetting: float
    clip: float  # infinite where there is none


class Fit(NamedTuple):
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
    fit: Fit, taken: int, rows: int, level: int, Psi: Matrix, Y: Matrix, weight: Vector, rule: Rule, scores: Matrix
) -> tuple[int, int]:
    """Score, then learn, each row, up to the one with which a level comes: how many that are, and how many have been learnt."""
    outputs, levels = Y.shape[1], rule.widths.size
    z, label, work = np.empty(taken), np.empty(outputs), workspace(taken)
    curves, leverages = np.empty((outputs, levels)), np.empty(levels)
    follows, first = rule.needed[0] > 0.0, 0 if rule.needed[0] > 0.0 else level - 1
    is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
    i = 0
    while i < Psi.shape[0]:
        if not follows and rule.forgetting == 1.0 and weight[i] > 0.0:
            size = _pass_size(rows, level, weight[i:], rule)
            now = slice(i, i + size)
            _pass(fit, taken, level, Psi[now], Y[now], weight[now], rule, scores[now])
            i, rows = i + size, rows + size
            if level < levels and rule.needed[level] <= rows:
                return i, rows
            continue
        if weight[i] > 0.0:
            _begin_round(fit, taken, rows, rule, z, work, Psi.shape[1] > taken)
            is_ahead, R, c, scale = False, fit.matrix, fit.coef, fit.scale[0]
        elif not is_ahead and rule.forgetting < 1.0:
            R, c, scale = ahead(fit, taken, rows, rule)
            is_ahead = True
        for j in range(taken):
            z[j] = Psi[i, j]
        solve_row(R, z)
        _levels(z, c, scale, rule.widths, first, level, curves, leverages)
        for o in range(outputs):
            score = aggregate(curves[o], fit.shares[o], fit.largest[o]) if follows else curves[o, level - 1]
            scores[i, o] = cut(score, rule.clip)
        if weight[i] > 0.0:
            for o in range(outputs):
                for N in range(first, level):
                    error = Y[i, o] - curves[o, N]
                    square = weight[i] * error * error / (1.0 + weight[i] * leverages[N])
                    fit.squares[o, N] = rule.forgetting * fit.squares[o, N] + square
                if follows:
                    _compare(fit, o, curves[o], Y[i, o], rows, rule)
            root = np.sqrt(weight[i]) / scale
            for j in range(taken):
                z[j] *= root
            for o in range(outputs):
                label[o] = root * Y[i, o]
            learn_solved(fit.matrix, fit.coef, z, label, work)
            _wait(fit, taken, Psi[i], Y[i], weight[i])
            rows += 1
            if not follows and level < levels and rule.needed[level] <= still(rows, rule.forgetting):
                return i + 1, rows
        i += 1
    return i, rows


@hot
def _pass_size(rows: int, level: int, weight: Vector, rule: Rule) -> int:
    """How many rows, the next one among them, are learnt in one pass over R: until a level comes, or a row without weight."""
    most = ROUNDS - rows % ROUNDS
    if level < rule.needed.size:
        most = int(min(most, max(1.0, np.ceil(rule.needed[level] - rows))))
    size = 1
    while size < min(most, weight.size) and weight[size] > 0.0:
        size += 1
    return size


@hot
def _pass(fit: Fit, taken: int, level: int, Psi: Matrix, Y: Matrix, weight: Vector, rule: Rule, scores: Matrix) -> None:
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
            scores[k, o] = cut(curve, rule.clip)
            fit.squares[o, level - 1] += weight[k] * (Y[k, o] - curve) ** 2 / (1.0 + s[k])
        _wait(fit, taken, Psi[k], Y[k], weight[k])


@hot
def _begin_round(fit: Fit, taken: int, rows: int, rule: Rule, z: Vector, work: Matrix, in_full: bool) -> None:
    """What came before fades, and one coordinate's ridge returns: λ(1 − μʳ) e_j e_jᵀ with j = rows mod r. z is used up."""
    if rule.forgetting == 1.0:
        return
    r, back = fit.matrix.shape[0], rows % fit.matrix.shape[0]
    returning = rule.lam * (1.0 - rule.forgetting**r)
    for j in range(taken, r):
        for i in range(0 if in_full else j, j + 1):
            fit.matrix[i, j] *= rule.forgetting
        for o in range(fit.coef.shape[0] if in_full else 0):
            fit.coef[o, j] *= rule.forgetting
    fit.scale[0] *= np.sqrt(rule.forgetting)
    if fit.scale[0] < SMALLEST_SCALE:
        for i in range(taken):
            for j in range(i, taken):
                fit.matrix[i, j] *= fit.scale[0]
            for o in range(fit.coef.shape[0]):
                fit.coef[o, i] *= fit.scale[0]
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
def ahead(fit: Fit, taken: int, rows: int, rule: Rule) -> tuple[Matrix, Matrix, float]:
    """R, c and the scale as they will be when the next row is scored."""
    after = Fit(fit.matrix.copy(), fit.coef.copy(), fit.scale.copy(), fit.shares, fit.squares, fit.largest)
    _begin_round(after, taken, rows, rule, np.empty(taken), workspace(taken), False)
    return after.matrix, after.coef, after.scale[0]


@hot
def _levels(z: Vector, c: Matrix, scale: float, widths: Counts, first: int, last: int, curves: Matrix, leverages: Vector) -> None:
    """The prediction and ψᵀA⁻¹ψ of the levels from `first` on: sums over their functions, and those of the levels before."""
    leverage = np.dot(z[: widths[first]], z[: widths[first]])
    for o in range(c.shape[0]):
        curves[o, first] = np.dot(z[: widths[first]], c[o, : widths[first]])
    leverages[first] = leverage / (scale * scale)
    for N in range(first + 1, last):
        for o in range(c.shape[0]):
            curves[o, N] = curves[o, N - 1]
        for j in range(widths[N - 1], widths[N]):
            leverage += z[j] * z[j]
            for o in range(c.shape[0]):
                curves[o, N] += z[j] * c[o, j]
        leverages[N] = leverage / (scale * scale)


@hot
def _compare(fit: Fit, o: int, curves: Vector, y: float, rows: int, rule: Rule) -> None:
    """What each level counts for after this label, and the largest label."""
    bound = fit.largest[o]
    reward(fit.shares[o], rule.prior, curves, y, bound, 1.0 / (still(rows, rule.forgetting) + 2.0))
    if rule.clip == np.inf and abs(y) > bound:
        temper(fit.shares[o], rule.prior, (bound / y) ** 2)
        fit.largest[o] = abs(y)


@hot
def _wait(fit: Fit, taken: int, psi: Vector, y: Vector, weight: float) -> None:
    """The sums of products of functions that wait."""
    for i in range(psi.size if psi.size > taken else 0):
        times = weight * psi[i]
        for j in range(max(i, taken), psi.size):
            fit.matrix[i, j] += times * psi[j]
    for o in range(y.size):
        times = weight * y[o]
        for j in range(taken, psi.size):
            fit.coef[o, j] += times * psi[j]


@hot
def still(rows: int, forgetting: float) -> float:
    """The rows that still count: 1 + μ + … + μ^(rows − 1)."""
    return float(rows) if forgetting == 1.0 else (1.0 - forgetting**rows) / (1.0 - forgetting)
