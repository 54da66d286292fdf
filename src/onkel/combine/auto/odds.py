"""Logistic regression for labels that have two values, by the extended Kalman filter: a second-order step in every row.

    p = 1/(1 + e^(−θ·v)),   h = p(1 − p),   s = vᵀPv
    θ ← θ + (t − p) Pv/(1 + hs),   P ← P − h Pv (Pv)ᵀ/(1 + hs)          P₀ = I/λ; t = 1 for the second value, else 0

The score is first + (second − first) p. As long as a label has had one value nothing is learnt but how many rows there were, so an
output that comes later begins as if it had been there; a label with three values is none of this family's business, and its score
is the first label.

Fahrmeir (1992), Posterior mode estimation by extended Kalman filtering for multivariate dynamic generalized linear models, JASA 87.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto.values import TWO, meet
from onkel.linalg.blas import symv, syr


class Filter(NamedTuple):
    """All of the memory, as compiled code sees it."""

    inverse: Cube  # (outputs, r, r)  upper triangle of P
    theta: Matrix  # (outputs, r)
    first: Vector  # (outputs,)
    second: Vector  # (outputs,)
    values: Counts  # (outputs,)  how many a label has had: 1, TWO or MORE
    rows: Counts  # (1,)


@hot
def learn(filter: Filter, V: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
    """Score, then learn, each row; those of weight 0 are only scored. The first feature is the intercept."""
    Pv = np.empty(V.shape[1])
    for t in range(V.shape[0]):
        for o in range(Y.shape[1]):
            theta = filter.theta[o]
            p = _probability(theta, V[t]) if filter.values[o] == TWO else 0.0
            scores[t, o] = filter.first[o] + (filter.second[o] - filter.first[o]) * p
            if weight[t] > 0.0:
                rows = filter.rows[0]
                if meet(filter.first, filter.second, filter.values, rows, o, Y[t, o]) and filter.values[o] == TWO:
                    theta[0] = -np.log(rows + 1.0)  # from the odds of the rows so far
                if filter.values[o] == TWO:
                    p = _probability(theta, V[t])
                    symv(filter.inverse[o], V[t], Pv)
                    h = weight[t] * p * (1.0 - p)
                    shrink = 1.0 / (1.0 + h * max(np.dot(V[t], Pv), 0.0))
                    step = weight[t] * shrink * ((1.0 if Y[t, o] == filter.second[o] else 0.0) - p)
                    for i in range(theta.size):
                        theta[i] += step * Pv[i]
                    if h > 0.0:
                        syr(filter.inverse[o], -h * shrink, Pv)
        if weight[t] > 0.0:
            filter.rows[0] += 1


@hot_inline
def _probability(theta: Vector, v: Vector) -> float:
    return float(1.0 / (1.0 + np.exp(-min(max(np.dot(theta, v), -30.0), 30.0))))
