"""The arithmetic of aggregation: one prediction of many.

Vovk's aggregating algorithm for the square loss, with the fixed-share update. Expert N predicts q_N; predictions and labels are in
[−B, B]; the weights v_N start as the prior π_N. In round t

    g(y) = −2B² ln Σ v_N e^(−(y − q_N)²/2B²),    prediction (g(−B) − g(B))/4B
    v_N ∝ v_N e^(−(y − q_N)²/2B²),    then v_N ← (1 − 1/(t+1)) v_N + π_N/(t+1)

The mixture is compared with any sequence of experts that consists of a few pieces, with one expert N in each. In T rounds, the loss
of the mixture is at most the loss of this sequence plus 2B² Σ_pieces ln((T+1)/π_N), because

1.  an expert keeps at least the product of the factors 1 − 1/(t+1), which is 1/(T+1), of its weight during a piece, and
2.  each new piece starts with a weight of at least π_N/(T+1).

So one expert may be best at first and another one later. Without the second step of the update, the later one would hardly ever
make up for its early losses.

If B is not given but is the largest |y| so far, the mixture loses at most 2Y²(1 + Σ_pieces ln((T+1)/π_N)) more than the sequence,
where Y is the largest |y| at the end. When B grows by a factor, v ← π(v/π)^γ, where γ is the inverse square of the factor. By
Jensen's inequality this step can only lower the mix loss of all rounds, and it preserves the lower bound on each sequence's weight.
A label beyond B costs at most 2(y² − B²) more.

Vovk (2001), Competitive on-line statistics, International Statistical Review. Herbster & Warmuth (1998), Tracking the best expert.

If the range of the labels is not symmetric or not known, a `span` is kept instead of B: the smallest and the largest label so far.
Predictions are clipped to it. In its own round, a label is clipped to a range three times as wide as the span, with the same
centre, so that one absurd label changes little.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot_inline
from onkel._types import Matrix, Vector
from onkel.errors import InputError

_TERMS = 36  # terms of a power series on [−1, 1]; all later terms are below 1e-20


def _series(x: float) -> Vector:
    """The coefficients of the power series of e^(xq − q²/2) in q: Hermite polynomials of x, divided by factorials."""
    terms = [1.0, x]
    for n in range(1, _TERMS - 1):
        terms.append((x * terms[n] - terms[n - 1]) / (n + 1))
    return np.array(terms)


def _shortened(series: Vector, degree: int) -> tuple[float, ...]:
    """A polynomial of this degree that differs from the power series on [0, 1] by at most 4e-16. It is found by economisation: each
    power above the degree, from the highest on, is replaced by its best approximation of lower degree, by Chebyshev polynomials."""
    waves = [np.array([1.0]), np.array([-1.0, 2.0])]  # Chebyshev polynomials on [0, 1]: cos nt as a polynomial of (1 + cos t)/2
    for n in range(1, len(series) - 1):
        waves.append(np.convolve(waves[n], (-2.0, 4.0)))
        waves[-1][:n] -= waves[n - 1]
    for n in range(len(series) - 1, degree, -1):
        series = (series - series[n] / waves[n][n] * waves[n])[:n]
    return tuple(series.tolist())


# polynomials of q², for |q| ≤ 1: unlike exp, they let a loop vectorise
_BELL = _shortened(_series(0.0)[::2], 10)  # e^(−q²/2)
_EVEN = _shortened(_series(1.0)[::2], 9)  # e^(−q²/2) cosh q
_ODD = _shortened(_series(1.0)[1::2], 9)  # e^(−q²/2) sinh(q)/q


@hot_inline
def aggregate(predictions: Vector, shares: Vector, bound: float) -> float:
    """The aggregated prediction. It is in [−B, B], the predictions are first clipped to that range, and B is `bound`.

    With q = q_N/B the prediction (g(−B) − g(B))/4B of the header is B artanh(Σ v e^(−q²/2) sinh q / Σ v e^(−q²/2) cosh q). This
    form loses no digits if B is far larger than all predictions.
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
    """Update the weights by the label y; then the share `back` of all weight is redistributed by the prior."""
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
    """v ← π(v/π)^power, normalised: the weights that would result if all losses so far were multiplied by `power`."""
    total = 0.0
    for k in range(shares.size):
        shares[k] = prior[k] * (shares[k] / prior[k]) ** power
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total


@hot_inline
def cut(value: float, bound: float) -> float:
    """The value clipped to [−bound, bound]."""
    return min(max(value, -bound), bound)


@hot_inline
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    total = coefficients[len(coefficients) - 1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[k]
    return total


def unknown_span(outputs: int) -> Matrix:
    """An empty span for each output, (outputs, 3): smallest label, largest label, and 1 if there was any label, else 0."""
    return np.zeros((outputs, 3))


def fixed_span(outputs: int, most: float) -> Matrix:
    """The span [−most, most] for each output."""
    return np.tile([-most, most, 1.0], (outputs, 1))


def check_span(span: Matrix) -> None:
    """Refuse a span that no labels can lead to."""
    if np.any(span[:, 0] > span[:, 1]) or not np.isin(span[:, 2], (0.0, 1.0)).all():
        raise InputError(
            "its range of labels is impossible: the smallest is above the largest, or its flag that a label was seen is "
            "neither 0 nor 1"
        )


@hot_inline
def ends(span: Vector) -> tuple[float, float]:
    """The two ends of the range that predictions are clipped to; infinite before the first label."""
    if span[2] == 0.0:
        return -np.inf, np.inf
    return span[0], span[1]


@hot_inline
def counted(span: Vector, y: float) -> float:
    """The label, clipped to the span widened on each side by its own width; unchanged until two labels have differed."""
    width = span[1] - span[0]
    return min(max(y, span[0] - width), span[1] + width) if width > 0.0 else y


@hot_inline
def extend(span: Vector, y: float) -> None:
    """Extend the span by this label."""
    if span[2] == 0.0:
        span[0], span[1], span[2] = y, y, 1.0
    span[0], span[1] = min(span[0], y), max(span[1], y)


@hot_inline
def cut_mean(weights: Vector, predictions: Vector, awake: NDArray[np.bool_], span: Vector, kept: Vector) -> float:
    """The weighted mean of the predictions, after they are clipped to the span and stored in `kept`. The experts that are not
    `awake` have weight 0. If all experts that are awake predict the same, the mean is exactly this value."""
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
    """The log-odds of the weighted mean of probabilities, which are given as log-odds."""
    yes, no = 0.0, 0.0
    for k in range(weights.size):
        small = math.exp(-abs(log_odds[k]))  # never above 1, so nothing overflows
        large, rest = 1.0 / (1.0 + small), small / (1.0 + small)
        yes += weights[k] * (large if log_odds[k] > 0.0 else rest)
        no += weights[k] * (rest if log_odds[k] > 0.0 else large)
    return math.log(yes / no)
