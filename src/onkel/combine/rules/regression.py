"""Azoury-Warmuth-Vovk regression on the experts' scores: what `Ridge` and `Stacking` do with a row.

    v_k = p_k − q  (0 where k sleeps),   ŷ = q + vᵀ(A + v vᵀ)⁻¹b,   A ← A + w v vᵀ,   b ← b + w(y − q)v        A₀ = λs²I, b₀ = 0

q is another rule's mixture, or 0. Kept as the triangle R with RᵀR = A and c = R⁻ᵀb, which scoring and learning share. After each
row, with forgetting μ < 1,  A ← μA + λs²(1 − μᴷ) e_j e_jᵀ  with j = t mod K, and b ← μb: no direction loses its ridge.

s², the unit of the ridge, is the variance of the labels, or 1 (`Ridge`). It begins when the second different label is there,
until when nothing is learnt (all scores are cut to the one label that there was), and follows the variance upwards: where that is
beyond 2s², A ← A + λ(variance − s²)I. So a larger ridge is only ever added, as the regret bound wants it.

That bound is kept as it grows (`paid`, `beyond`; `onkel.measure.bounds`). With u = vᵀA⁻¹b and x = vᵀA⁻¹v, a row of weight w raises
the loss by w(y − q − u/(1 + x))² and the least of Σ w(y − q − θᵀv)² + λs²‖θ‖² by w(y − q − u)²/(1 + wx). Whatever u is, the first
is at most w(y − q)²x/(2 − w + x) above the second, for w ≤ 1; a larger weight has no such bound, and what its row cost is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Matrix, Vector
from onkel._validate import real
from onkel.combine.rules.rule import LEAST_LOSS, Awake
from onkel.errors import InputError
from onkel.linalg.factor import LARGEST_ENTRY, learn_solved, solve_row, solve_upper, workspace
from onkel.mixing import check_span, counted, ends, extend, unknown_span
from onkel.turns import Steps

SMALLEST_SCALE = 1e-4  # below it the scale is folded into R and c
GROWTH = 2.0  # of the labels' variance, beyond which the ridge follows it
SCALE, UNIT, ROWS, MEAN, SPREAD, PAID, LEFT = range(7)  # columns of `about`


@dataclass
class Fit:
    matrix: Matrix  # (outputs, experts, experts)  R; 0 until there is a unit
    coef: Matrix  # (outputs, experts)  c
    about: Matrix  # (outputs, 7)  A = scale² RᵀR; s²; rows learnt; their labels' mean and sum of squared deviations; the regret
    #                that the rows allow; the squares of how far labels lay beyond the span
    beyond: Matrix  # (outputs, experts)  of rows whose label counts as less, how much more they cost beside each expert
    span: Matrix  # (outputs, 3)  of the labels


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
    """Add the step that scores, then learns, each row. Where `raw`, scores and labels are taken as they are and the unit stays."""
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
    """Refuse numbers that no rows can have made: A is at least what forgetting leaves of the ridge."""
    experts = fit.coef.shape[1]
    scale, unit = fit.about[:, SCALE], fit.about[:, UNIT]
    if np.any(scale <= 0.0) or np.any(unit < 0.0) or np.any(fit.about[:, [ROWS, SPREAD, PAID, LEFT]] < 0.0):
        raise InputError("its scale or its unit is not positive")
    least = np.sqrt(lam * unit * forgetting ** (2 * experts)) * (1.0 - 1e-6)
    diagonal = np.diagonal(fit.matrix, axis1=1, axis2=2)
    if np.any(scale[:, None] * diagonal < least[:, None]) or np.any(np.tril(fit.matrix, -1)):
        raise InputError("its matrix is not a triangle that its ridge and rows can have made")
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
        heard = _heard(R, c[0])
        for t in range(n):
            q, x, those = prior[t, o], 0.0, heard
            mixture[t, o] = q
            if facts[UNIT] > 0.0:
                _centre(P[t, o], awake[t], q, span[o], z)
                those = _last(z, heard)
                solve_row(R, z[:those])
                x = np.dot(z[:those], z[:those]) / (facts[SCALE] * facts[SCALE])
                mixture[t, o] += np.dot(z[:those], c[0, :those]) / (1.0 + x)
            if weight[t] == 0.0:
                continue
            y = Y[t, o] if raw else counted(span[o], Y[t, o])
            facts[PAID] += _allowed(weight[t], x, y - q, mixture[t, o] - q)
            if y != Y[t, o]:
                _centre(P[t, o], awake[t], q, span[o], row)
                for k in range(experts):
                    beyond[o, k] += 2.0 * weight[t] * (y - Y[t, o]) * (mixture[t, o] - q - row[k])
            if facts[UNIT] > 0.0:
                heard, root = those, math.sqrt(weight[t]) / facts[SCALE]
                for k in range(heard):
                    z[k] *= root
                label[0] = root * (y - q)
                learn_solved(R, c, z[:heard], label, work)
                if forgetting < 1.0:
                    _forget(R, c[0], facts, lam, forgetting, heard, z)
            facts[ROWS] += 1.0
            if not raw:
                _leave(facts, span[o], Y[t, o], q, weight[t])
                extend(span[o], Y[t, o])
                away = y - facts[MEAN]
                facts[MEAN] += away / facts[ROWS]
                facts[SPREAD] += away * (y - facts[MEAN])
                _follow(R, c[0], facts, lam, heard, z)


@hot_inline
def _heard(R: Matrix, c: Vector) -> int:
    """The number of the last expert, and one, of whom R or c knows: those after it have slept so far, and cost nothing."""
    for k in range(c.size - 1, -1, -1):
        known = c[k] != 0.0
        for i in range(k):
            known |= R[i, k] != 0.0
        if known:
            return k + 1
    return 0


@hot_inline
def _last(v: Vector, heard: int) -> int:
    """The same, with those who speak now."""
    for k in range(v.size - 1, heard - 1, -1):
        if v[k] != 0.0:
            return k + 1
    return heard


@hot_inline
def _centre(P: Vector, awake: Awake, q: float, span: Vector, v: Vector) -> None:
    low, high = ends(span)
    for k in range(v.size):
        v[k] = min(max(P[k], low), high) - q if awake[k] else 0.0


@hot_inline
def _allowed(w: float, x: float, target: float, away: float) -> float:
    """How much more a row may cost than it adds to the least loss of all θ; of one whose weight is above 1, what it did cost."""
    if w <= 1.0:
        return w * target * target * x / (2.0 - w + x)
    after = target - away * (1.0 + x)
    return max(w * ((target - away) * (target - away) - after * after / (1.0 + w * x)), 0.0)


@hot_inline
def _leave(facts: Vector, span: Vector, y: float, q: float, w: float) -> None:
    """What a row costs that lies beyond the labels before it: where the mixture is cut to them, and where nothing can be learnt
    yet: there all experts say the one label that there was, or, in the first row, who knows what."""
    over = max(y - span[1], span[0] - y, 0.0) if span[2] > 0.0 else 0.0
    facts[LEFT] += w * over * over
    if facts[UNIT] == 0.0:
        facts[PAID] += w * max((y - q) * (y - q) - over * over, 0.0)


@hot_inline
def _forget(R: Matrix, c: Vector, facts: Vector, lam: float, forgetting: float, heard: int, row: Vector) -> None:
    """What came before fades, and one coordinate's ridge returns."""
    facts[SCALE] *= math.sqrt(forgetting)
    if facts[SCALE] < SMALLEST_SCALE:
        for i in range(c.size):
            c[i] *= facts[SCALE]
            for j in range(c.size):
                R[i, j] *= facts[SCALE]
        facts[SCALE] = 1.0
    at = int(facts[ROWS]) % c.size
    _add_ridge(R, c, at, lam * facts[UNIT] * (1.0 - forgetting**c.size), facts[SCALE], row[: max(heard, at + 1)])


@hot_inline
def _follow(R: Matrix, c: Vector, facts: Vector, lam: float, heard: int, row: Vector) -> None:
    """Where the labels' variance has outgrown its unit, the ridge becomes larger."""
    variance = facts[SPREAD] / facts[ROWS]
    if variance > max(GROWTH * facts[UNIT], LEAST_LOSS):
        for j in range(c.size):
            if facts[UNIT] == 0.0:
                R[j, j] = math.sqrt(lam * variance)
            else:
                _add_ridge(R, c, j, lam * (variance - facts[UNIT]), facts[SCALE], row[: max(heard, j + 1)])
        facts[UNIT] = variance


@hot_lean
def _add_ridge(R: Matrix, c: Vector, at: int, ridge: float, scale: float, row: Vector) -> None:
    """A ← A + ridge e_j e_jᵀ, b as it is: the row √ridge e_j is rotated into R from column j on. `row` is used up."""
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
