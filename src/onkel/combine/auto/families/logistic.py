"""Logistic regression for labels with two values, by the extended Kalman filter: a second-order step in every row.

    p = 1/(1 + e^(−θ·v)),   h = p(1 − p),   s = vᵀPv
    θ ← θ + (t − p) Pv/(1 + hs),   P ← P − h Pv (Pv)ᵀ/(1 + hs)          P₀ = I/λ; t = 1 for the second value, otherwise 0

The score is first + (second − first) p. As long as a label has had only one value, the family only counts rows, so an output added
later starts as if it had been there from the first row. For a label with three or more values the score is the first label.

Fahrmeir (1992), Posterior mode estimation by extended Kalman filtering for multivariate dynamic generalized linear models, JASA 87.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto.binary_labels import TWO, append_outputs, check_values, count_value
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.parts import Parts
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.views import View
from onkel.errors import InputError
from onkel.linalg.blas import symv, syr
from onkel.linalg.loops import dot
from onkel.state import memory
from onkel.turns import Steps


@memory
class LogisticState:
    maps: tuple[Any, ...]
    inverse: Cube
    theta: Matrix
    first: Vector
    second: Vector
    values: Counts
    rows: Counts


@dataclass(frozen=True)
class Logistic:
    parts: Parts
    lam: float

    @cached_property
    def experts(self) -> tuple[Expert, ...]:
        return (Expert(self.parts[-1].name, 1.0, self.lam),)

    def init(self, outputs: int) -> LogisticState:
        r = self.parts.size
        maps = self.parts.init_maps()
        inverse = np.tile(np.eye(r) / self.lam, (outputs, 1, 1))
        nothing = np.zeros((outputs, r)), np.zeros(outputs), np.zeros(outputs)
        return LogisticState(maps, inverse, *nothing, np.zeros(outputs, np.int64), np.zeros(1, np.int64))

    def footprint(self, outputs: int) -> int:
        r = self.parts.size
        return self.parts.footprint() + 8 * (outputs * (r * r + r + 3) + 1)

    def features(self, state: LogisticState, view: View, steps: Steps) -> Matrix:
        return self.parts.transform(state.maps, view, steps)

    def learn(self, state: LogisticState, V: Matrix, Y: Matrix, weight: Vector, steps: Steps) -> Cube:
        scores = np.empty(Y.shape)
        steps.add(learn_block, _filter(state), V, Y, weight, scores)
        return scores[:, :, None]

    def predict(self, state: LogisticState, V: Matrix, steps: Steps) -> Scored:
        nothing = np.zeros((len(V), len(state.theta)))
        return Scored(self.learn(state, V, nothing, np.zeros(len(V)), steps), V)  # weights of 0

    def learn_scored(self, state: LogisticState, row: Scored, Y: Matrix, weight: Vector, steps: Steps) -> None:
        self.learn(state, row.features, Y, weight, steps)  # scoring the row again costs little

    def widen(self, state: LogisticState, outputs: int) -> None:
        append_outputs(state, self.init(outputs - len(state.theta)))

    def check(self, state: LogisticState) -> None:
        check_values(state)
        if np.any(np.diagonal(state.inverse, axis1=1, axis2=2) < 0.0):
            raise InputError("its covariance has a negative diagonal")


def _filter(state: LogisticState) -> Filter:
    return Filter(state.inverse, state.theta, state.first, state.second, state.values, state.rows)


class Filter(NamedTuple):
    """The state, without its feature maps, for compiled code."""

    inverse: Cube  # (outputs, r, r)  upper triangle of P
    theta: Matrix  # (outputs, r)
    first: Vector  # (outputs,)
    second: Vector  # (outputs,)
    values: Counts  # (outputs,)  how many values each label has had: 1, TWO or MORE
    rows: Counts  # (1,)


@hot
def learn_block(filter: Filter, V: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
    """Score each row, then learn it; rows of weight 0 are only scored. The first feature is the intercept."""
    Pv = np.empty(V.shape[1])
    for t in range(V.shape[0]):
        for o in range(Y.shape[1]):
            theta = filter.theta[o]
            p = _probability(theta, V[t]) if filter.values[o] == TWO else 0.0
            scores[t, o] = filter.first[o] + (filter.second[o] - filter.first[o]) * p
            if weight[t] > 0.0:
                rows = filter.rows[0]
                if count_value(filter.first, filter.second, filter.values, rows, o, Y[t, o]) and filter.values[o] == TWO:
                    theta[0] = -np.log(
                        rows + 1.0
                    )  # the log-odds of one row with the second value and `rows` with the first, smoothed
                if filter.values[o] == TWO:
                    p = _probability(theta, V[t])
                    symv(filter.inverse[o], V[t], Pv)
                    h = weight[t] * p * (1.0 - p)
                    shrink = 1.0 / (1.0 + h * max(dot(V[t], Pv), 0.0))
                    step = weight[t] * shrink * ((1.0 if Y[t, o] == filter.second[o] else 0.0) - p)
                    for i in range(theta.size):
                        theta[i] += step * Pv[i]
                    if h > 0.0:
                        syr(filter.inverse[o], -h * shrink, Pv)
        if weight[t] > 0.0:
            filter.rows[0] += 1


@hot_inline
def _probability(theta: Vector, v: Vector) -> float:
    return float(1.0 / (1.0 + np.exp(-min(max(dot(theta, v), -30.0), 30.0))))
