"""Linear regressions with one variance or step size for each column: for rows with thousands of columns.

Five experts are computed in one pass over the nonzero values. With z the row, whose last entry is 1 for the intercept:

    e = y − θ·z                           for numbers
    e = t − p,  p = 1/(1 + e^(−θ·z))      for labels with two values, where t = 1 for the second value, otherwise 0

The score is the first label plus θ·z, or plus p times the difference of the two values.

Three experts are Kalman filters with a diagonal covariance: each coefficient has a variance v, 1/λ at first. One of them forgets:
before a column is learnt, v ← min(v/μ, 1/λ).

    θ_j ← θ_j + e v_j z_j/(1 + hs),   v_j ← v_j/(1 + h v_j z_j²)           s = Σ v_j z_j²;  h = 1, or p(1 − p) for two values

Two experts take AdaGrad steps of sizes η. The unit u makes the steps independent of the labels' scale: it is their standard
deviation so far, or 1 for two values.

    θ_j ← θ_j + η e z_j/√G_j,   G_j ← G_j + (e z_j/u)²                     G_j = 0.001 at first

As long as a label has had only one value, the family only counts rows, so an output added later starts as if it had been there from
the first row. Learning starts with the second value. At the third value each logistic model is replaced by a linear one, its
tangent at the share q of the second value: θ·z becomes q + q(1 − q)(θ·z − ln(q/(1 − q))), times the difference of the two values. A
row costs O(5 · nonzero values).

Duchi, Hazan & Singer (2011), Adaptive subgradient methods for online learning and stochastic optimization, JMLR 12. The filter is
Fahrmeir's (`logistic`) with a diagonal matrix; for labels with two values it is close to Graepel et al. (2010), Web-scale Bayesian
click-through rate prediction, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._sparse import Rows
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto.binary_labels import MORE, TWO, append_outputs, check_values, count_value
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.features.scale import moments
from onkel.linalg.loops import dot
from onkel.state import memory
from onkel.turns import Steps

FILTERS = ((1.0, 1.0), (10.0, 1.0), (3.0, 0.99))  # λ, μ
STEPS = (0.05, 0.3)  # η
EXPERTS = len(FILTERS) + len(STEPS)  # the filters come first
FIRST_SQUARES = 1e-3  # G at first

_FIRST_VARIANCE, _FASTER = np.array([1.0 / lam for lam, _ in FILTERS]), np.array([1.0 / mu for _, mu in FILTERS])
_FIRST_SPREAD, _STEPS = np.append(_FIRST_VARIANCE, [FIRST_SQUARES] * len(STEPS)), np.array(STEPS)


@memory
class LinearState:
    theta: Cube
    spread: Cube
    first: Vector
    second: Vector
    values: Counts
    mean: Vector
    squares: Vector
    rows: Counts


@dataclass(frozen=True)
class DiagonalLinear:
    dim: int

    @property
    def experts(self) -> tuple[Expert, ...]:
        filters = tuple(Expert("linear, by column", forgetting, lam) for lam, forgetting in FILTERS)
        return filters + tuple(Expert(f"linear, by column in steps of {step:g}") for step in STEPS)

    def init(self, outputs: int) -> LinearState:
        return LinearState(*start(self.dim + 1, outputs))

    def footprint(self, outputs: int) -> int:
        return 8 * (outputs * (2 * EXPERTS * (self.dim + 1) + 5) + 1)

    def features(self, state: LinearState, view: View, steps: Steps) -> Rows:
        return view.S

    def learn(self, state: LinearState, S: Rows, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty((*Y.shape, EXPERTS))
        steps.add(learn_block, _tables(state), S, Y, weight, scores)
        return scores

    def predict(self, state: LinearState, S: Rows, steps: Steps) -> Scored:
        rows = len(S.start) - 1
        return Scored(self.learn(state, S, np.zeros((rows, len(state.first))), np.zeros(rows), steps), S)  # weights of 0

    def learn_scored(self, state: LinearState, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        self.learn(state, row.features, Y, weight, steps)  # scoring the row again costs little

    def widen(self, state: LinearState, outputs: int) -> None:
        append_outputs(state, self.init(outputs - len(state.first)))

    def check(self, state: LinearState) -> None:
        check_values(state)
        if np.any(state.squares < 0.0):
            raise InputError("the variance of its labels is negative")
        if np.any(state.spread <= 0.0):
            raise InputError("the variances of its coefficients are not positive")


def _tables(state: LinearState) -> Tables:
    return Tables(*(getattr(state, field.name) for field in fields(state)))


class Tables(NamedTuple):
    """The state, for compiled code. Along the axis of experts the filters come first."""

    theta: Cube  # (outputs, columns, EXPERTS)
    spread: Cube  # (outputs, columns, EXPERTS)  v of the filters, G of the others
    first: Vector  # (outputs,)
    second: Vector  # (outputs,)
    values: Counts  # (outputs,)  how many values each label has had: 1, TWO or MORE
    mean: Vector  # (outputs,)  mean of the labels
    squares: Vector  # (outputs,)  sum of the squared deviations of the labels from their mean
    rows: Counts  # (1,)


def start(columns: int, outputs: int) -> Tables:
    """The state before the first row."""
    size = outputs, columns, EXPERTS
    about = (np.zeros(outputs), np.zeros(outputs), np.zeros(outputs, np.int64), np.zeros(outputs), np.zeros(outputs))
    return Tables(np.zeros(size), np.tile(_FIRST_SPREAD, (outputs, columns, 1)), *about, np.zeros(1, np.int64))


@hot
def learn_block(tables: Tables, rows: Rows, Y: Matrix, weight: Vector, scores: Cube) -> None:
    """Score each row by each expert, into `scores` (n, outputs, EXPERTS), then learn it. Rows of weight 0 are only scored.

    The coefficients and variances of a row's columns are first copied to `theta` and `spread`, which have one row for each expert,
    so that inner loops read contiguous memory.
    """
    longest = 0
    for t in range(Y.shape[0]):
        longest = max(longest, rows.start[t + 1] - rows.start[t])
    theta, spread, said = np.empty((EXPERTS, longest)), np.empty((EXPERTS, longest)), np.empty(EXPERTS)
    for t in range(Y.shape[0]):
        now = slice(rows.start[t], rows.start[t + 1])
        column, z = rows.column[now], rows.value[now]
        for o in range(Y.shape[1]):
            _gather(tables.theta[o], column, theta)
            for k in range(EXPERTS):
                said[k] = _mean(tables, o, dot(theta[k, : z.size], z))
                scores[t, o, k] = tables.first[o] + _size(tables, o) * said[k]
            if weight[t] == 0.0:
                continue
            size = _size(tables, o)
            if count_value(tables.first, tables.second, tables.values, tables.rows[0], o, Y[t, o]) and tables.values[o] > 1:
                if tables.values[o] == TWO:
                    _begin(tables, o)
                else:
                    _straighten(tables, o, size)
                _gather(tables.theta[o], column, theta)
                for k in range(EXPERTS):
                    said[k] = _mean(tables, o, dot(theta[k, : z.size], z))
            tables.mean[o], tables.squares[o] = moments(Y[t, o], tables.mean[o], tables.squares[o], tables.rows[0])
            if tables.values[o] > 1:
                _gather(tables.spread[o], column, spread)
                _step(tables, o, Y[t, o], weight[t], z, said, theta, spread)
                _scatter(theta, column, tables.theta[o])
                _scatter(spread, column, tables.spread[o])
        if weight[t] > 0.0:
            tables.rows[0] += 1


@hot_inline
def _gather(table: Matrix, column: Counts, copy: Matrix) -> None:
    for i in range(column.size):
        own = table[column[i]]
        for k in range(EXPERTS):
            copy[k, i] = own[k]


@hot_inline
def _scatter(copy: Matrix, column: Counts, table: Matrix) -> None:
    for i in range(column.size):
        own = table[column[i]]
        for k in range(EXPERTS):
            own[k] = copy[k, i]


@hot_inline
def _mean(tables: Tables, o: int, said: float) -> float:
    """The predicted label minus the first one, in units of `_size`: p for two values, θ·z for more, 0 for one."""
    if tables.values[o] == TWO:
        return float(1.0 / (1.0 + np.exp(-min(max(said, -30.0), 30.0))))
    return said if tables.values[o] == MORE else 0.0


@hot_inline
def _size(tables: Tables, o: int) -> float:
    return float(tables.second[o] - tables.first[o]) if tables.values[o] == TWO else 1.0


@hot_inline
def _begin(tables: Tables, o: int) -> None:
    """At the second value of a label, set the intercept to the log-odds of the rows so far."""
    intercept = tables.theta[o, tables.theta.shape[1] - 1]
    for k in range(EXPERTS):
        intercept[k] = -np.log(0.5 * (tables.rows[0] + 1.0))


@hot_inline
def _straighten(tables: Tables, o: int, size: float) -> None:
    """At the third value of a label, replace each logistic function by its tangent at the mean label."""
    p = min(max((tables.mean[o] - tables.first[o]) / size, 1e-3), 1.0 - 1e-3)
    slope, theta = size * p * (1.0 - p), tables.theta[o]
    for j in range(theta.shape[0]):
        for k in range(EXPERTS):
            theta[j, k] *= slope
    for k in range(EXPERTS):
        theta[theta.shape[0] - 1, k] += size * p - slope * np.log(p / (1.0 - p))


@hot_inline
def _step(tables: Tables, o: int, y: float, w: float, z: Vector, said: Vector, theta: Matrix, spread: Matrix) -> None:
    """Let every expert learn the row. `said` are the experts' predictions, in units of `_size`."""
    two = tables.values[o] == TWO
    unit = 1.0 if two else np.sqrt(tables.squares[o] / (tables.rows[0] + 1.0))
    target = (y - tables.first[o]) / _size(tables, o)
    for k in range(EXPERTS):
        p, own, about = said[k], theta[k, : z.size], spread[k, : z.size]
        if k < len(FILTERS):
            h = w * p * (1.0 - p) if two else w
            _filter(own, about, z, w * (target - p), h, _FASTER[k], _FIRST_VARIANCE[k])
        else:
            _descend(own, about, z, w * (target - p) / unit, _STEPS[k - len(FILTERS)] * unit)


@hot_inline
def _filter(theta: Vector, v: Vector, z: Vector, error: float, h: float, faster: float, most: float) -> None:
    total = 0.0
    for i in range(z.size):
        v[i] = min(faster * v[i], most)
        total += v[i] * z[i] * z[i]
    step = error / (1.0 + h * total)
    for i in range(z.size):
        vz = v[i] * z[i]
        theta[i] += step * vz
        v[i] /= 1.0 + h * vz * z[i]


@hot_inline
def _descend(theta: Vector, squares: Vector, z: Vector, error: float, step: float) -> None:
    for i in range(z.size):
        slope = error * z[i]
        squares[i] += slope * slope
        theta[i] += step * slope / np.sqrt(squares[i])
