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

Where B is not symmetric or not known, a `span` follows the labels: their smallest and largest so far. Predictions are cut to it. A
label that lies further beyond it than it is wide counts, in its own round, as one that does not: one absurd label changes little.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot_inline
from onkel._types import Matrix, Vector
from onkel.errors import InputError

_TERMS = 36  # of a power series on [−1, 1]: the next are below 1e-20


def _series(x: float) -> Vector:
    """Of e^(xq − q²/2) in q: Hermite's polynomials of x over factorials."""
    terms = [1.0, x]
    for n in range(1, _TERMS - 1):
        terms.append((x * terms[n] - terms[n - 1]) / (n + 1))
    return np.array(terms)


def _shortened(series: Vector, degree: int) -> tuple[float, ...]:
    """The coefficients of a polynomial that differs from the series on [0, 1] by 4e-16 at most: beyond the degree, the power
    in each term has become the polynomial of lower degree that is nearest to it there, which is Chebyshev's."""
    waves = [np.array([1.0]), np.array([-1.0, 2.0])]  # cos nt, of (1 + cos t)/2
    for n in range(1, len(series) - 1):
        waves.append(np.convolve(waves[n], (-2.0, 4.0)))
        waves[-1][:n] -= waves[n - 1]
    for n in range(len(series) - 1, degree, -1):
        series = (series - series[n] / waves[n][n] * waves[n])[:n]
    return tuple(series.tolist())


# of q², for |q| ≤ 1: polynomials, over which a loop uses vector registers
_BELL = _shortened(_series(0.0)[::2], 10)  # e^(−q²/2)
_EVEN = _shortened(_series(1.0)[::2], 9)  # e^(−q²/2) cosh q
_ODD = _shortened(_series(1.0)[1::2], 9)  # e^(−q²/2) sinh(q)/q


@hot_inline
def aggregate(predictions: Vector, shares: Vector, bound: float) -> float:
    """One prediction in [−B, B], for predictions that are cut to it here; 0 where B is 0.

    With q for q_N/B it is B artanh(Σ v e^(−q²/2) sinh q / Σ v e^(−q²/2) cosh q), which loses no digits where B is far
    larger than all predictions.
    """
    if bound == 0.0:
        return 0.0
    odd, even = 0.0, 0.0
    for k in range(shares.size):
        q = cut(predictions[k], bound) / bound
        odd += shares[k] * q * _polynomial(_ODD, q * q)
        even += shares[k] * _polynomial(_EVEN, q * q)
    return cut(bound * math.atanh(odd / even), bound)


@hot_inline
def reward(shares: Vector, prior: Vector, predictions: Vector, y: float, bound: float, back: float) -> None:
    """What each prediction counts for after its label, of which a part goes `back` to the prior."""
    if bound == 0.0:
        return
    total, label = 0.0, cut(y, bound) / bound
    for k in range(shares.size):
        half = 0.5 * (label - cut(predictions[k], bound) / bound)
        root = _polynomial(_BELL, half * half)
        shares[k] *= (root * root) * (root * root)
        total += shares[k]
    kept = (1.0 - back) / total
    for k in range(shares.size):
        shares[k] = kept * shares[k] + back * prior[k]


@hot_inline
def temper(shares: Vector, prior: Vector, power: float) -> None:
    """v ← π(v/π)^power, of sum 1: as if all losses so far had been multiplied by the power."""
    total = 0.0
    for k in range(shares.size):
        shares[k] = prior[k] * (shares[k] / prior[k]) ** power
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total


@hot_inline
def cut(value: float, bound: float) -> float:
    """Within [−bound, bound]."""
    return min(max(value, -bound), bound)


@hot_inline
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    total = coefficients[len(coefficients) - 1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[k]
    return total


def unknown_span(outputs: int) -> Matrix:
    """The smallest and the largest label of each output, and whether there was one: none yet."""
    return np.zeros((outputs, 3))


def fixed_span(outputs: int, most: float) -> Matrix:
    """[−most, most] for labels that lie within."""
    return np.tile([-most, most, 1.0], (outputs, 1))


def check_span(span: Matrix) -> None:
    """Refuse a span that no labels have."""
    if np.any(span[:, 0] > span[:, 1]) or not np.isin(span[:, 2], (0.0, 1.0)).all():
        raise InputError("its labels have a smallest one above the largest")


@hot_inline
def ends(span: Vector) -> tuple[float, float]:
    """What predictions are cut to: everything is within before the first label."""
    if span[2] == 0.0:
        return -np.inf, np.inf
    return span[0], span[1]


@hot_inline
def counted(span: Vector, y: float) -> float:
    """The label as it counts: no further from the span than this is wide, once two labels differ."""
    width = span[1] - span[0]
    return min(max(y, span[0] - width), span[1] + width) if width > 0.0 else y


@hot_inline
def extend(span: Vector, y: float) -> None:
    """The span after this label."""
    if span[2] == 0.0:
        span[0], span[1], span[2] = y, y, 1.0
    span[0], span[1] = min(span[0], y), max(span[1], y)


@hot_inline
def cut_mean(weights: Vector, predictions: Vector, awake: NDArray[np.bool_], span: Vector, kept: Vector) -> float:
    """The weighted mean of predictions that are cut to the span, and kept so; exactly that number where all awake are equal."""
    low, high = ends(span)
    mean, one = 0.0, 0.0
    for k in range(weights.size):
        kept[k] = min(max(predictions[k], low), high)
        if awake[k]:
            one = kept[k]
    for k in range(weights.size):
        mean += weights[k] * (kept[k] - one)
    return one + mean


@hot_inline
def mean_log_odds(weights: Vector, log_odds: Vector) -> float:
    """The log-odds of the mean probability."""
    yes, no = 0.0, 0.0
    for k in range(weights.size):
        small = math.exp(-abs(log_odds[k]))  # never above 1, so nothing overflows
        large, rest = 1.0 / (1.0 + small), small / (1.0 + small)
        yes += weights[k] * (large if log_odds[k] > 0.0 else rest)
        no += weights[k] * (rest if log_odds[k] > 0.0 else large)
    return math.log(yes / no)
