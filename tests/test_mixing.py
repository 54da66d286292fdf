"""Aggregation to the last digits: against the definition in more digits than a float has."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from onkel._jit import hot
from onkel.mixing import aggregate, reward, temper

Array = NDArray[np.float64]
Long = NDArray[np.longdouble]

FEW_DIGITS = 2e-15  # nine units in the last place

# a longdouble that is a float has no digits to spare
pytestmark = pytest.mark.skipif(bool(np.finfo(np.longdouble).eps > 1e-18), reason="no numbers here have more digits than a float")


@hot
def rewarded(shares: Array, prior: Array, predictions: Array, y: float, bound: float, back: float) -> None:
    """As in a learner: `reward` becomes part of compiled code."""
    reward(shares, prior, predictions, y, bound, back)


def levels(count: int, seed: int, size: float) -> tuple[Array, Array]:
    """Predictions, some beyond ±1 where the size is 1, and shares over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    shares = np.exp(rng.uniform(-30.0, 0.0, count))
    return size * rng.uniform(-1.3, 1.3, count), shares / shares.sum()


def weights(q: Array, v: Array, y: float, B: float) -> Long:
    """v e^(−(y − q)²/2B²), but for a factor that all have."""
    r, label = (np.clip(np.asarray(part, np.longdouble) / np.longdouble(B), -1.0, 1.0) for part in (q, y))
    return np.asarray(v * np.exp(r * label - r * r / 2), np.longdouble)


def definition(q: Array, v: Array, B: float) -> np.longdouble:
    """(g(−B) − g(B))/4B, written as B/2 ln(1 + (high − low)/low)."""
    r = np.clip(np.asarray(q, np.longdouble) / np.longdouble(B), -1.0, 1.0)
    bell = v * np.exp(-r * r / 2)
    low = bell * np.exp(-r)
    return np.longdouble(np.longdouble(B) / 2 * np.log1p(np.sum(low * np.expm1(2 * r)) / np.sum(low)))


@pytest.mark.parametrize("count", [1, 3, 7, 8, 33, 100])
@pytest.mark.parametrize("size", [1.0, 0.3, 1e-3, 1e-8, 1e-12, 1e-17, 1e-200])
@pytest.mark.parametrize("B", [1.0, 1e-100, 7.0, 1e50])
def test_the_aggregate_has_all_its_digits(count: int, size: float, B: float) -> None:
    """Relative to the mean |q|, which is what rounding of the sum leaves."""
    for seed in range(5):
        q, v = levels(count, seed, size * B)
        error = aggregate(q, v, B) - definition(q, v, B)
        assert abs(error) <= FEW_DIGITS * (v @ np.minimum(np.abs(q), B))


@pytest.mark.parametrize("q", [1.0, 0.999, 0.7, 0.1, 1e-5, 1e-12, 1e-30, 1e-300])
def test_of_one_prediction_it_is_that_one(q: float) -> None:
    """Also in the middle of a long row, where it is one of eight that are computed at once, and with its sign turned round."""
    for count in (1, 40):
        same = np.full(count, q)
        v = np.full(count, 1.0 / count)
        assert aggregate(same, v, 1.0) == pytest.approx(q, rel=FEW_DIGITS, abs=0.0)
        assert aggregate(-same, v, 1.0) == -aggregate(same, v, 1.0)


def test_predictions_are_cut_to_the_bound() -> None:
    q, v = np.array([-1e300, -5.0, 0.5, 3.0, 1e300]), np.full(5, 0.2)
    for B in (1e-310, 1e-3, 1.0):  # the first is too small to have an inverse
        assert aggregate(q, v, B) == pytest.approx(aggregate(np.clip(q, -B, B), v, B), rel=1e-14)
        assert abs(aggregate(np.abs(q), v, B)) <= B
    assert aggregate(q, v, 0.0) == 0.0


@pytest.mark.parametrize("count", [1, 3, 8, 33, 100])
@pytest.mark.parametrize("y", [0.0, 1.0, -1.0, 0.4, 1e-9, 17.0])
def test_shares_after_a_label(count: int, y: float) -> None:
    """Every share, however small, has its digits; labels beyond B are cut to it."""
    for seed, (size, B, back) in enumerate([(1.0, 1.0, 0.0), (1e-6, 1.0, 0.01), (1e50, 1e50, 0.5), (1e-310, 1e-310, 0.1)]):
        q, v = levels(count, seed, size)
        prior = np.full(count, 1.0 / count)
        w = weights(q, v, y * B, B)
        expected = (1 - np.longdouble(back)) * w / w.sum() + np.longdouble(back) * prior
        rewarded(v, prior, q, y * B, B, back)
        np.testing.assert_allclose(v, expected.astype(float), rtol=2.0 * FEW_DIGITS, atol=0.0)
        assert math.fsum(v) == pytest.approx(1.0, rel=1e-14)


def test_without_a_bound_nobody_is_rewarded() -> None:
    q, v = levels(5, 0, 1.0)
    before = v.copy()
    rewarded(v, np.full(5, 0.2), q, 3.0, 0.0, 0.5)
    assert np.array_equal(v, before)


@pytest.mark.parametrize("power", [1.0, 0.5, 1e-3, 0.0])
def test_tempered_shares(power: float) -> None:
    _, v = levels(9, 1, 1.0)
    prior = np.full(9, 1.0 / 9.0)
    expected = prior * (v / prior) ** power
    temper(v, prior, power)
    np.testing.assert_allclose(v, expected / expected.sum(), rtol=1e-12)
