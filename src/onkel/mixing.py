"""The arithmetic of aggregation: one prediction of many.

Vovk's aggregating algorithm for the square loss with fixed shares: predictions q_N and labels in [−B, B], shares v_N that begin as
the prior π_N, and in round t

    g(y) = −2B² ln Σ v_N e^(−(y − q_N)²/2B²),    prediction (g(−B) − g(B))/4B
    v_N ∝ v_N e^(−(y − q_N)²/2B²),    then v_N ← (1 − 1/(t+1)) v_N + π_N/(t+1)

On every sequence of T rounds its loss is at most that of any sequence of N made of K pieces, plus 2B² Σ_pieces ln((T+1)/π_N): a
product of T factors 1 − 1/(t+1) is 1/(T+1), and each new piece begins with at least π_N/(T+1). So it may be one N at the beginning
and a larger one later, where losses summed up from the beginning would hold against the larger one what it lost when it was young.

With B the largest |y| so far the same holds with 2Y²(1 + Σ …), Y the largest in the end. When B grows by a factor, v ← π(v/π)^γ
with γ the inverse of its square: by Jensen's inequality that can only lower the mix of all rounds, and it keeps what each sequence
has at least. A label beyond B costs at most 2(y² − B²) more.

Vovk (2001), Competitive on-line statistics, International Statistical Review. Herbster & Warmuth (1998), Tracking the best expert.
"""

from __future__ import annotations

import math

from onkel._jit import hot
from onkel._types import Vector


@hot
def aggregate(predictions: Vector, shares: Vector, bound: float) -> float:
    """One prediction in [−B, B], for predictions that are cut to it here; 0 where B is 0."""
    if bound == 0.0:
        return 0.0
    low, more = 0.0, 0.0
    for k in range(shares.size):
        q = cut(predictions[k], bound) / bound
        at_low = shares[k] * math.exp(-0.5 * (1.0 + q) ** 2)
        low += at_low
        more += at_low * math.expm1(2.0 * q)  # e^(−(1−q)²/2) less e^(−(1+q)²/2): B may be far larger than all predictions
    return cut(0.5 * bound * math.log1p(more / low), bound)


@hot
def reward(shares: Vector, prior: Vector, predictions: Vector, y: float, bound: float, back: float) -> None:
    """What each prediction counts for after its label, of which a part goes `back` to the prior."""
    if bound == 0.0:
        return
    total, label = 0.0, cut(y, bound)
    for k in range(shares.size):
        shares[k] *= math.exp(-0.5 * ((label - cut(predictions[k], bound)) / bound) ** 2)
        total += shares[k]
    for k in range(shares.size):
        shares[k] = (1.0 - back) * shares[k] / total + back * prior[k]


@hot
def temper(shares: Vector, prior: Vector, power: float) -> None:
    """v ← π(v/π)^power, of sum 1: as if all losses so far had been multiplied by the power."""
    total = 0.0
    for k in range(shares.size):
        shares[k] = prior[k] * (shares[k] / prior[k]) ** power
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total


@hot
def cut(value: float, bound: float) -> float:
    """Within [−bound, bound]."""
    return min(max(value, -bound), bound)
