"""The confidence bands of `MercerProjection`: their definition, from scratch, and how often they hold the curve."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats

import onkel
from onkel import AdditiveSystem, Beam, Cosine, MercerProjection, Sine
from onkel._student import quantile
from onkel.linalg.factor import faded_ridge
from onkel.updates.undersmoothed import Undersmoothed
from tests.oracle import mercer_projection
from tests.test_mercer import rows
from tests.test_mercer_projection import EVERY, labelled, near

UNIT, WIDER = (0.0, 1.0), (-1.0, 2.0)


@pytest.mark.parametrize("rate", [0.2, None], ids=["growing", "following"])
@pytest.mark.parametrize(("system", "dim"), [(Beam(WIDER), 1), (Cosine(WIDER), 1), (AdditiveSystem(Cosine(WIDER)), 2)], ids=repr)
def test_bands_are_those_of_their_definition(system: Any, dim: int, rate: float | None) -> None:
    """Every fit from scratch, with weights, for each of two outputs; the same for every way to use the levels."""
    X, Y, weight = labelled(system, 150, dim)
    learner = MercerProjection(system, 20, rate, lam=0.2)
    state = learner.init(dim, 2)
    learner.learn(state, X, Y, weight)
    learnt, new = weight > 0.0, rows(dim, 30)
    sizes = [system.size(N, dim) for N in range(1, 21)]
    Psi, Psi_new = (system.functions(part, sizes[-1]) for part in (X[learnt], new))
    error, (low, high), (lowest, highest) = (
        learner.standard_error(state, new), learner.band(state, new, 0.9), learner.band(state, new, 0.9, everywhere=True)
    )  # fmt: skip
    for o in range(2):
        expected = mercer_projection.bands(Psi, Y[learnt, o], weight[learnt], 0.2, sizes, Psi_new)
        assert error[:, o] == pytest.approx(expected.error, rel=1e-6)
        assert (low + high)[:, o] / 2.0 == pytest.approx(expected.curve, rel=1e-6, abs=1e-6)
        assert (high - low)[:, o] / 2.0 == pytest.approx(scipy.stats.t.ppf(0.95, expected.freedom) * expected.error, rel=1e-6)
        many = (highest - lowest)[:, o] / 2.0 / expected.error_everywhere
        assert np.ptp(many) < 1e-6 * many[0]
        assert scipy.stats.t.ppf(0.95, expected.freedom) < many[0] < math.sqrt(sizes[-1] * scipy.stats.f.ppf(0.9, sizes[-1], 30))


def test_the_quantile_of_a_band_that_holds_everywhere() -> None:
    """Of two functions that are never correlated: the larger of two normal variables, P(max |Z| ≤ q) = (2Φ(q) − 1)²."""
    fit = Undersmoothed(np.eye(2), np.zeros(2), np.eye(2), 2, 1e9)
    expected = scipy.stats.norm.ppf(0.5 + 0.5 * math.sqrt(0.95))
    assert fit.quantile_everywhere(0.95, np.eye(2)) == pytest.approx(expected, rel=0.03)
    assert fit.quantile_everywhere(0.95, np.eye(2)[:1]) == pytest.approx(fit.quantile(0.95), rel=0.03)
    assert fit.quantile_everywhere(0.95, np.zeros((1, 2))) == fit.quantile(0.95)


def test_the_sample_is_of_all_rows_or_of_the_last() -> None:
    """Reservoir sampling: of 4,000 rows, each quarter has about 50 of 200. With forgetting the sample is the last rows."""
    X = np.arange(4000.0)[:, None] / 4000.0
    whole = MercerProjection(Cosine(UNIT), 3, 0.1, sample=200)
    state = whole.init(1)
    for block in np.array_split(X, [1, 7, 150, 1000]):
        whole.learn(state, block, np.ones(len(block)))
    kept = state.inner.kept.X[:, 0]
    assert len(np.unique(kept)) == 200
    fewest, most = scipy.stats.binom.interval(0.9999, 200, 0.25)
    assert all(fewest <= count <= most for count in np.histogram(kept, 4, (0.0, 1.0))[0])
    fading = replace(whole, forgetting=0.99)
    state = fading.init(1)
    fading.learn(state, X, np.ones(4000))
    assert np.array_equal(np.sort(state.inner.kept.X[:, 0]), X[-200:, 0])


def test_with_forgetting_a_band_is_that_of_weighted_rows() -> None:
    """The last rows tell the noise: after it has become ten times larger the band is as wide as if it had always been."""
    rng = np.random.default_rng(3)
    X, noise, places = rng.uniform(size=(4000, 1)), rng.normal(size=4000), np.linspace(0.1, 0.9, 9)[:, None]
    learner, widths = MercerProjection(Cosine(UNIT), 10, forgetting=0.99), []
    for size in (np.where(np.arange(4000) < 2000, 0.1, 1.0), np.ones(4000)):
        state = learner.init(1)
        learner.learn(state, X, np.sin(3.0 * X[:, 0]) + size * noise)
        low, high = learner.band(state, places)
        widths.append(np.mean(high - low))
    assert widths[0] == pytest.approx(widths[1], rel=1e-3)


def test_the_ridge_that_is_left_is_what_the_rows_do_not_explain() -> None:
    """A = Σ w μ^age ψψᵀ + the faded ridge."""
    system, X = Beam(WIDER), rows(1, 37)
    for mu, n in ((0.9, 37), (0.9, 4), (1.0, 20)):
        learner = MercerProjection(system, 6, lam=0.3, forgetting=mu)
        state = learner.init(1)
        learner.learn(state, X[:n], X[:n, 0])
        Psi, R = system.functions(X[:n], 6), state.inner.scale[0] * state.inner.matrix
        ridge = R.T @ R - Psi.T @ (mu ** np.arange(n - 1.0, -1.0, -1.0)[:, None] * Psi)
        assert near(np.diag(faded_ridge(0.3, mu, 6, n)), ridge)


def test_an_error_is_unknown_before_there_are_enough_rows() -> None:
    """At 0 every sine is: unknown at first, and not 0 · ∞; later 0."""
    learner = MercerProjection(Sine(UNIT), 10)
    state, zero = learner.init(1), np.zeros((1, 1))
    for n, expected in ((0, math.inf), (1, math.inf), (30, 0.0)):
        learner.learn(state, np.linspace(0.1, 1.0, n)[:, None], np.ones(n))
        assert learner.standard_error(state, zero)[0] == expected
        low, high = learner.band(state, zero, everywhere=True)
        assert high[0] - low[0] == 2.0 * expected


@pytest.mark.once
@pytest.mark.parametrize("system", [Cosine(UNIT), AdditiveSystem(Beam(UNIT))], ids=repr)
def test_bands_hold_the_curve_as_often_as_they_say(system: Any) -> None:
    """A curve of the space, noise that grows with x, 200 streams: at each of seven places the hits lie within limits that a
    binomial count with 95 in 100 leaves once in 10,000; all places at once are held at least as often."""
    rng = np.random.default_rng(20210405)
    dim, least = (2, 2) if isinstance(system, AdditiveSystem) else (1, 4)
    functions = system.size(least, dim)
    places, theta = np.linspace(0.03, 0.97, 7)[:, None] * np.ones(dim), rng.normal(size=functions)
    curve, hits, together = system.functions(places, functions) @ theta, np.zeros(7), 0
    learner = MercerProjection(system, least, EVERY, lam=1e-6)
    for _ in range(200):
        X = rng.beta(1.3, 0.8, (200, dim))
        state = learner.init(dim)
        noise = (0.2 + 0.5 * X[:, 0]) * rng.normal(size=200)
        learner.learn(state, X, system.functions(X, functions) @ theta + noise)
        low, high = learner.band(state, places)
        hits += (low <= curve) & (curve <= high)
        low, high = learner.band(state, places, everywhere=True)
        together += int(np.all((low <= curve) & (curve <= high)))
    fewest, most = scipy.stats.binom.interval(0.9999, 200, 0.95)
    assert fewest <= hits.min() <= hits.max() <= most
    assert together >= fewest


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan, "0.9", None])
def test_a_confidence_that_cannot_be_is_refused(confidence: Any) -> None:
    learner = MercerProjection(Cosine(UNIT), 3)
    with pytest.raises(onkel.InputError, match="confidence must lie between 0 and 1"):
        learner.band(learner.init(1), np.zeros((1, 1)), confidence)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 97, 199, 200, 1000, 123456])
def test_quantiles_of_t(freedom: int) -> None:
    for share in (0.01, 0.5, 0.95, 0.9999):
        z = scipy.stats.norm.ppf(0.5 + 0.5 * share)
        assert quantile(z, freedom) == pytest.approx(scipy.stats.t.ppf(0.5 + 0.5 * share, freedom), rel=1e-8)
        assert quantile(z, freedom + 0.5) <= quantile(z, freedom)


@pytest.mark.once
def test_curves_of_a_sum_and_their_bands() -> None:
    """60 streams of a sum of two curves: each curve has mean 0 over the rows, and lies in its bands as often as they say."""
    parts, places, inside, whole = (lambda x: 2.0 * np.sin(4.0 * x), lambda x: 3.0 * x**2), 50, [0.0, 0.0], [0, 0]
    learner = MercerProjection(AdditiveSystem(Cosine()), 20)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(500, 2))
        state = learner.init(2)
        learner.learn(state, X, 7.0 + parts[0](X[:, 0]) + parts[1](X[:, 1]) + 0.5 * rng.normal(size=500))
        found = onkel.components(learner, state, points=places)
        fit = learner.band(state, X)
        assert found.intercept == pytest.approx(np.mean(fit[0] + fit[1]) / 2.0, abs=1e-9)
        for c, curve in enumerate(found.curves):
            truth = parts[c](curve.x) - parts[c](X[:, c]).mean()
            low, high, lowest, highest = (np.array(end) for end in (curve.low, curve.high, curve.lowest, curve.highest))
            assert np.all((lowest <= low) & (low <= curve.y) & (curve.y <= high) & (high <= highest))
            inside[c] += float(np.mean((low <= truth) & (truth <= high))) / 60.0
            whole[c] += int(np.all((lowest <= truth) & (truth <= highest)))
    assert 0.92 < min(inside) <= max(inside) < 0.99
    assert min(whole) >= scipy.stats.binom.ppf(1e-4, 60, 0.95)


def test_curves_need_an_additive_system_and_rows() -> None:
    plain, additive = MercerProjection(), MercerProjection(AdditiveSystem(Cosine(UNIT)))
    with pytest.raises(onkel.InputError, match="no curve for each input"):
        onkel.components(plain, plain.init(2))
    with pytest.raises(onkel.InputError, match="learn more rows"):
        onkel.components(additive, additive.init(2))


def test_an_estimator_tells_errors_and_curves_in_the_units_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 2)) * [1000.0, 1.0]
    y = 5000.0 + 300.0 * np.sin(X[:, 0] / 200.0) + 100.0 * X[:, 1] + 20.0 * rng.normal(size=800)
    additive = MercerProjection(AdditiveSystem(Cosine()), 20)
    estimator = onkel.Regressor(additive).fit(X, y)
    mean, error = estimator.predict(X, return_std=True)
    assert np.array_equal(mean, estimator.predict(X))
    truth = 5000.0 + 300.0 * np.sin(X[:, 0] / 200.0) + 100.0 * X[:, 1]
    assert 0.9 < np.mean(np.abs(mean - truth) < 1.96 * error) <= 1.0
    assert np.all(error < 20.0)
    found = estimator.components()
    first, second = found.curves
    assert (first.name, second.name) == ("x0", "x1")
    assert 980.0 < np.ptp(first.x) <= 1000.0
    assert np.ptp(second.y) == pytest.approx(100.0, rel=0.3)
    assert found.intercept == pytest.approx(y.mean(), abs=5.0)
    assert first.low is not None
    assert first.high is not None
    curve = 300.0 * (np.sin(first.x / 200.0) - np.sin(X[:, 0] / 200.0).mean())
    assert np.mean((first.low <= curve) & (curve <= first.high)) > 0.8
    bare = onkel.Regressor(additive, standardize=False, scale_target=False).fit(X, y)
    expected = additive.standard_error(bare.state_.inner.inner.inner, X[:9])
    assert bare.predict(X[:9], return_std=True)[1] == pytest.approx(expected, rel=1e-12)


def test_an_estimator_without_errors_says_so() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
    with pytest.raises(onkel.InputError, match="no standard errors"):
        onkel.Regressor(onkel.PKAWV()).fit(X, y).predict(X, return_std=True)
    with pytest.raises(onkel.InputError, match="no curves"):
        onkel.Regressor(onkel.PKAWV()).fit(X, y).components()
    product = onkel.NORMA(onkel.kernels.Additive(onkel.Spline(), ((0, 1),)), loss=onkel.Square())
    with pytest.raises(onkel.InputError, match="products"):
        onkel.Regressor(product).fit(np.tile(X, (5, 1)), np.tile(y, 5)).components()
    both = MercerProjection(AdditiveSystem(Cosine()))
    two = onkel.Regressor(both).fit(np.tile(X, (5, 1)), np.tile(y, (2, 5)).T)
    assert two.predict(X, return_std=True)[1].shape == (60, 2)
