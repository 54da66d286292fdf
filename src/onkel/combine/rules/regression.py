"""Azoury-Warmuth-Vovk regression on the experts' scores: the arithmetic of `Ridge` and `Stacking`.

    v_k = p_k − q  (0 where k sleeps),   ŷ = q + vᵀ(A + v vᵀ)⁻¹b,   A ← A + w v vᵀ,   b ← b + w(y − q)v        A₀ = λs²I, b₀ = 0

p_k is the score of expert k of K, y the label and w the weight of the row, ŷ the mixture, and q the mixture of another rule
(`Stacking`) or 0 (`Ridge`). The experts have the weights θ = A⁻¹b. The state is the triangle R with RᵀR = A, and c = R⁻ᵀb. If the
forgetting factor μ is below 1, after each row t

    A ← μA + λs²(1 − μᴷ) e_j e_jᵀ  with j = t mod K,   b ← μb

Each row restores the ridge of one coordinate, so the ridge fades away in no direction.

λ is in units of s². For `Ridge` s² is 1. For `Stacking` s² follows the variance of the labels. It is not known before a second,
different label is seen; until then nothing is learnt (all scores are clipped to the only label so far). Then s² is the variance at
that moment. Whenever the variance exceeds 2s², the ridge grows, A ← A + λ(variance − s²)I, and the variance becomes the new s². The
ridge never shrinks, as the regret bound requires.

The terms of the regret bound are summed (`paid`, `beyond`; `onkel.measure.bounds`):

1.  Let u = vᵀA⁻¹b and x = vᵀA⁻¹v. A row of weight w raises the loss of the mixture by w(y − q − u/(1 + x))².
2.  The row raises the minimum over θ of Σ w(y − q − θᵀv)² + λs²‖θ‖² by w(y − q − u)²/(1 + wx).
3.  For w ≤ 1 and any u, the first amount exceeds the second by at most w(y − q)²x/(2 − w + x). For a larger weight there is no such
    bound, and the actual difference is used.
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Matrix, Vector
from onkel._validate import real
from onkel.combine.rules.rule import LEAST_LOSS, Awake
from onkel.errors import InputError
from onkel.linalg.factor import LARGEST_ENTRY
from onkel.linalg.loops import dot
from onkel.linalg.rank_one import learn_solved, workspace
from onkel.linalg.triangular import solve_row, solve_upper
from onkel.mixing import check_span, counted, ends, extend, unknown_span
from onkel.state import memory
from onkel.turns import Steps

SMALLEST_SCALE = 1e-4  # a smaller scale is multiplied into R and c
GROWTH = 2.0  # the ridge grows when the variance of the labels has grown by more than this factor
SCALE, UNIT, ROWS, MEAN, SPREAD, PAID, LEFT = range(7)  # columns of `about`


@memory
class Fit:
    matrix: Matrix  # (outputs, experts, experts)  R; 0 as long as s² is not known
    coef: Matrix  # (outputs, experts)  c
    about: Matrix  # (outputs, 7)  scale, with A = scale² RᵀR; s²; rows learnt; their labels' mean and sum of squared deviations;
    #                the regret bound of the rows; squared distances of labels outside the span
    beyond: Matrix  # (outputs, experts)  additional regret to each expert in rows whose label was clipped
    span: Matrix  # (outputs, 3)  the span of the labels (`onkel.mixing`)


def check_settings(rule: object) -> None:
    real(rule, "lam", least=1e-12, most=1e12)
    real(rule, "forgetting", least=0.5, most=1.0)


def start(experts: int, outputs: int, unit: float, lam: float) -> Fit:
    matrix, about = np.zeros((outputs, experts, experts)), np.zeros((outputs, 7))
    matrix[:, range(experts), range(experts)] = math.sqrt(lam * unit)
    about[:, SCALE], about[:, UNIT] = 1.0, unit
    return Fit(matrix, np.zeros((outputs, experts)), about, np.zeros((outputs, experts)), unknown_span(outputs))


def step(
    steps: Steps,
    fit: Fit,
    P: Matrix,
    Y: Matrix,
    weight: Vector,
    awake: Awake,
    prior: Matrix,
    lam: float,
    forgetting: float,
    raw: bool,
) -> Matrix:
    """Add to `steps` the step that scores, then learns, each row. If `raw` is true, scores and labels are not clipped, and s² does
    not change."""
    mixture, kept = np.empty(Y.shape), (fit.matrix, fit.coef, fit.about, fit.beyond, fit.span)
    steps.add(_learn, *kept, P, Y, weight, awake, prior, lam, forgetting, raw, mixture)
    return mixture


def coefficients(fit: Fit) -> Matrix:
    """θ = A⁻¹b, (outputs, experts)."""
    theta = fit.coef.copy()
    for o, unit in enumerate(fit.about[:, UNIT]):
        if unit > 0.0:
            solve_upper(fit.matrix[o], theta[o])
    return theta


def check(fit: Fit, lam: float, forgetting: float) -> None:
    """Refuse a state that no rows can lead to. After any rows, A is at least what forgetting leaves of the ridge."""
    experts = fit.coef.shape[1]
    scale, unit = fit.about[:, SCALE], fit.about[:, UNIT]
    if np.any(scale <= 0.0) or np.any(unit < 0.0) or np.any(fit.about[:, [ROWS, SPREAD, PAID, LEFT]] < 0.0):
        raise InputError("its scale or its unit is not positive")
    least = np.sqrt(lam * unit * forgetting ** (2 * experts)) * (1.0 - 1e-6)
    diagonal = np.diagonal(fit.matrix, axis1=1, axis2=2)
    if np.any(scale[:, None] * diagonal < least[:, None]) or np.any(np.tril(fit.matrix, -1)):
        raise InputError("its matrix is not triangular, or smaller than its ridge")
    if max(np.abs(fit.matrix).max(initial=0.0), np.abs(fit.coef).max(initial=0.0)) > LARGEST_ENTRY:
        raise InputError("its matrix is too large")
    check_span(fit.span)


@hot
def _learn(
    matrix: Matrix, coef: Matrix, about: Matrix, beyond: Matrix, span: Matrix, P: Matrix, Y: Matrix, weight: Vector, awake: Awake,
    prior: Matrix, lam: float, forgetting: float, raw: bool, mixture: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    z, row, label, work = np.empty(experts), np.empty(experts), np.empty(1), workspace(experts)
    for o in range(outputs):
        R, c, facts = matrix[o], coef[o : o + 1], about[o]
        used = _leading(R, c[0])  # the size of the leading block that is used: experts after it have always slept
        for t in range(n):
            q, x, size = prior[t, o], 0.0, used
            mixture[t, o] = q
            if facts[UNIT] > 0.0:
                _centre(P[t, o], awake[t], q, span[o], z)
                size = _extended(z, used)
                solve_row(R, z[:size])
                x = dot(z[:size], z[:size]) / (facts[SCALE] * facts[SCALE])
                mixture[t, o] += dot(z[:size], c[0, :size]) / (1.0 + x)
            if weight[t] == 0.0:
                continue
            y = Y[t, o] if raw else counted(span[o], Y[t, o])
            facts[PAID] += _row_bound(weight[t], x, y - q, mixture[t, o] - q)
            if y != Y[t, o]:  # the label was clipped: add what this costs against each expert
                _centre(P[t, o], awake[t], q, span[o], row)
                for k in range(experts):
                    beyond[o, k] += 2.0 * weight[t] * (y - Y[t, o]) * (mixture[t, o] - q - row[k])
            if facts[UNIT] > 0.0:
                used, root = size, math.sqrt(weight[t]) / facts[SCALE]
                for k in range(used):
                    z[k] *= root
                label[0] = root * (y - q)
                learn_solved(R, c, z[:used], label, work)
                if forgetting < 1.0:
                    _forget(R, c[0], facts, lam, forgetting, used, z)
            facts[ROWS] += 1.0
            if not raw:
                _add_outside(facts, span[o], Y[t, o], q, weight[t])
                extend(span[o], Y[t, o])
                away = y - facts[MEAN]
                facts[MEAN] += away / facts[ROWS]
                facts[SPREAD] += away * (y - facts[MEAN])
                _follow(R, c[0], facts, lam, used, z)


@hot_inline
def _leading(R: Matrix, c: Vector) -> int:
    """The size of the leading block of R and c outside of which R is diagonal and c is 0. Experts after it cost no time."""
    for k in range(c.size - 1, -1, -1):
        known = c[k] != 0.0
        for i in range(k):
            known |= R[i, k] != 0.0
        if known:
            return k + 1
    return 0


@hot_inline
def _extended(v: Vector, used: int) -> int:
    """The size of the leading block extended to the last nonzero entry of v."""
    for k in range(v.size - 1, used - 1, -1):
        if v[k] != 0.0:
            return k + 1
    return used


@hot_inline
def _centre(P: Vector, awake: Awake, q: float, span: Vector, v: Vector) -> None:
    """v ← the scores, clipped to the span, minus q; 0 for sleeping experts."""
    low, high = ends(span)
    for k in range(v.size):
        v[k] = min(max(P[k], low), high) - q if awake[k] else 0.0


@hot_inline
def _row_bound(w: float, x: float, target: float, away: float) -> float:
    """By how much a row's loss may exceed the amount by which the row raises the least loss over all θ (step 3 of the header); for
    a weight above 1, by how much it does exceed it."""
    if w <= 1.0:
        return w * target * target * x / (2.0 - w + x)
    after = target - away * (1.0 + x)
    return max(w * ((target - away) * (target - away) - after * after / (1.0 + w * x)), 0.0)


@hot_inline
def _add_outside(facts: Vector, span: Vector, y: float, q: float, w: float) -> None:
    """Add the squared distance of the label from the span: whoever clips the mixture to the span loses at most this much more. As
    long as s² is not known, also add the rest of the row's loss, since nothing is learnt from the row."""
    over = max(y - span[1], span[0] - y, 0.0) if span[2] > 0.0 else 0.0
    facts[LEFT] += w * over * over
    if facts[UNIT] == 0.0:
        facts[PAID] += w * max((y - q) * (y - q) - over * over, 0.0)


@hot_inline
def _forget(R: Matrix, c: Vector, facts: Vector, lam: float, forgetting: float, used: int, row: Vector) -> None:
    """Multiply past rows by the forgetting factor, and restore the ridge of one coordinate."""
    facts[SCALE] *= math.sqrt(forgetting)
    if facts[SCALE] < SMALLEST_SCALE:
        for i in range(c.size):
            c[i] *= facts[SCALE]
            for j in range(c.size):
                R[i, j] *= facts[SCALE]
        facts[SCALE] = 1.0
    at = int(facts[ROWS]) % c.size
    _add_ridge(R, c, at, lam * facts[UNIT] * (1.0 - forgetting**c.size), facts[SCALE], row[: max(used, at + 1)])


@hot_inline
def _follow(R: Matrix, c: Vector, facts: Vector, lam: float, used: int, row: Vector) -> None:
    """Increase the ridge if the variance of the labels has grown enough."""
    variance = facts[SPREAD] / facts[ROWS]
    if variance > max(GROWTH * facts[UNIT], LEAST_LOSS):
        for j in range(c.size):
            if facts[UNIT] == 0.0:
                R[j, j] = math.sqrt(lam * variance)
            else:
                _add_ridge(R, c, j, lam * (variance - facts[UNIT]), facts[SCALE], row[: max(used, j + 1)])
        facts[UNIT] = variance


@hot_lean
def _add_ridge(R: Matrix, c: Vector, at: int, ridge: float, scale: float, row: Vector) -> None:
    """A ← A + ridge e_j e_jᵀ with b unchanged: the row √ridge e_j is rotated into R, from column j = `at` on. `row` is
    overwritten."""
    left = 0.0
    for j in range(at, row.size):
        row[j] = 0.0
    row[at] = math.sqrt(ridge) / scale
    for i in range(at, row.size):
        h = math.sqrt(R[i, i] * R[i, i] + row[i] * row[i])
        cos, sin = R[i, i] / h, row[i] / h
        R[i, i] = h
        R_i, rest = R[i, i + 1 :], row[i + 1 :]
        for j in range(rest.size):
            x, y = R_i[j], rest[j]
            R_i[j] = cos * x + sin * y
            rest[j] = cos * y - sin * x
        x = c[i]
        c[i] = cos * x + sin * left
        left = cos * left - sin * x
