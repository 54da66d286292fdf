"""The arithmetic of aggregation: one prediction of many.

Vovk's aggregating algorithm for the square loss: predictions q_N and labels in [−B, B], L_N the loss of N so far, π_N its prior.

    v_N ∝ π_N e^(−L_N/2B²),    g(y) = −2B² ln Σ v_N e^(−(y − q_N)²/2B²),    prediction (g(−B) − g(B))/4B

has a loss of at most min_N [L_N + 2B² ln 1/π_N] on every sequence. With B the largest |y| so far the same holds but for 2Y², Y the
largest in the end: a falling rate 1/2B² can only lower the mix of all rounds, and a label beyond B costs at most 2(y² − B²) more.

Vovk (2001), Competitive on-line statistics, International Statistical Review.
"""

from __future__ import annotations

import math

from onkel._jit import hot
from onkel._types import Vector


@hot
def aggregate(predictions: Vector, losses: Vector, prior: Vector, bound: float) -> float:
    """One prediction in [−B, B], for predictions that are cut to it here; 0 where B is 0."""
    if bound == 0.0:
        return 0.0
    least = losses[0]
    for k in range(losses.size):
        least = min(least, losses[k])
    high, low, rate = 0.0, 0.0, 0.5 / (bound * bound)
    for k in range(losses.size):
        q, worse = cut(predictions[k], bound), losses[k] - least
        high += prior[k] * math.exp(-rate * (worse + (bound - q) ** 2))
        low += prior[k] * math.exp(-rate * (worse + (bound + q) ** 2))
    return cut(0.5 * bound * (math.log(high) - math.log(low)), bound)


@hot
def shares(losses: Vector, prior: Vector, bound: float, out: Vector) -> None:
    """v_N."""
    least, total = losses.min(), 0.0
    for k in range(losses.size):
        out[k] = prior[k] * (math.exp(-0.5 * (losses[k] - least) / (bound * bound)) if bound > 0.0 else 1.0)
        total += out[k]
    for k in range(losses.size):
        out[k] /= total


@hot
def cut(value: float, bound: float) -> float:
    """Within [−bound, bound]."""
    return min(max(value, -bound), bound)
