"""Eigen-systems: equal to their definitions, orthonormal, and worth their kernels; the estimator on them: bounds, bands, growth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import (
    AdditiveSystem,
    Beam,
    Cosine,
    Gaussian,
    Haar,
    Hermite,
    Legendre,
    Mercer,
    MercerProjection,
    Numerical,
    Periodic,
    ProductSystem,
    Sine,
    Sphere,
)
from onkel._jit import compiler_off
from onkel.learners.mercer_projection import grown
from onkel.state import leaves
from tests.oracle import mercer, mercer_projection
from tests.oracle.systems import settled

Array = NDArray[np.float64]

DOMAIN = (-1.0, 2.0)
LINES: list[Any] = [
    Sine(DOMAIN), Cosine(DOMAIN), Periodic(DOMAIN), Periodic(DOMAIN, 1.3, constant=False), Beam(DOMAIN), Legendre(1.0, DOMAIN),
    Haar(1.0, DOMAIN), Hermite(0.5), Numerical(Gaussian(width=0.7), 100, DOMAIN),
]  # fmt: skip
SEVERAL: list[Any] = [
    Sphere(), ProductSystem(), ProductSystem(Cosine(DOMAIN)), ProductSystem((Hermite(1.0), Beam(DOMAIN), Haar(1.0, DOMAIN))),
    AdditiveSystem(Beam(DOMAIN)), AdditiveSystem((Sine(DOMAIN), Cosine(DOMAIN), Hermite(1.0))),
]  # fmt: skip
SYSTEMS = [*[(system, 1) for system in LINES], *[(system, 3) for system in SEVERAL]]
every_system = pytest.mark.parametrize(("system", "dim"), SYSTEMS, ids=repr)


def rows(dim: int, n: int = 100) -> Array:
    """Some on the edges, some outside, one of zeros."""
    X = np.random.default_rng(0).normal(size=(n, dim))
    X[:3], X[3:6], X[6] = -1.0, 2.0, 0.0
    return X


# the systems


@every_system
def test_functions_and_values_are_those_of_the_definition(system: Any, dim: int) -> None:
    numerical = isinstance(system, Numerical)
    X, count = rows(dim), 10 if numerical else min(60, system.limit(dim))
    known = settled(system, X)
    tolerance = 1e-9 if numerical else 1e-12  # rounding, divided by λ_10
    expected = mercer.functions(known, X, count)
    assert np.abs(system.functions(X, count) - expected).max() <= tolerance * np.abs(expected).max()
    assert system.values(count, dim) == pytest.approx(mercer.values(known, count, dim), rel=1e-9)
    for fewer in (1, 2, 7):
        assert np.allclose(system.functions(X, fewer), system.functions(X, count)[:, :fewer], rtol=0.0, atol=1e-12)
        assert np.array_equal(system.values(fewer, dim), system.values(count, dim)[:fewer])


@pytest.mark.parametrize("system", LINES, ids=repr)
def test_functions_are_orthonormal_in_their_measure(system: Any) -> None:
    nodes, weights = mercer.measure(system)
    Psi = system.functions(nodes, 10 if isinstance(system, Numerical) else 30)
    assert np.abs(Psi.T @ (weights[:, None] * Psi) - np.eye(Psi.shape[1])).max() < 1e-8


@pytest.mark.parametrize("system", [Sine(DOMAIN), Cosine(DOMAIN), Periodic(DOMAIN), Beam(DOMAIN), Hermite(0.5)], ids=repr)
def test_mercer_sums_come_to_the_kernel_from_below(system: Any) -> None:
    X = np.random.default_rng(1).uniform(-1.0, 2.0, (20, 1))
    K, gaps = mercer.kernel(system, X, X), []
    for count in (5, 20, 60):
        feature = Mercer(system, count)
        Z = np.empty((20, count))
        feature.write(None, X, np.ones(20), Z, 0)
        gaps.append(np.abs(K - Z @ Z.T).max())
        assert np.all(np.sum(Z * Z, axis=1) <= np.diag(K) * (1.0 + 1e-12))
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 0.02


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_products_come_by_falling_value_and_equals_in_order(dim: int) -> None:
    system = ProductSystem(Periodic(DOMAIN, 1.0))
    values = system.values(200, dim)
    assert np.all(np.diff(values) <= 1e-9 * values[:-1])
    assert len(np.unique(np.round(system.functions(rows(dim), 200), 9), axis=1).T) == 200  # no function comes twice


def test_a_beam_of_many_functions_keeps_its_digits() -> None:
    """Far beyond the twelfth, where the usual form has lost them all."""
    u = np.linspace(0.0, 1.0, 1001)[:, None]
    Psi = Beam((0.0, 1.0)).functions(u, 300)
    assert np.abs(Psi).max() <= 2.0 + 1e-9
    assert np.abs(np.abs(Psi[0, 2:]) - 2.0).max() < 1e-9


REFUSED = [
    (lambda: Periodic(None), "one period"),
    (lambda: Periodic(DOMAIN, 0.5), "order"),
    (lambda: Sphere(1.0), "order"),
    (lambda: Cosine((1.0, 1.0)), "low < high"),
    (lambda: ProductSystem(AdditiveSystem(Cosine())), "system of one column"),
    (lambda: AdditiveSystem(()), "system of one column"),
    (lambda: Mercer(Cosine(), 10), "open domain"),
    (lambda: Mercer(Cosine(DOMAIN), 10).init(2), "one column, got 2"),
    (lambda: Mercer(Numerical(Gaussian(width=5.0), 50, DOMAIN), 40).init(1), "more than rounding, got count=40"),
    (lambda: MercerProjection(Sphere()).init(2), "3 columns"),
    (lambda: MercerProjection(ProductSystem((Cosine(), Cosine()))).init(3), "3 columns, got 2 bases"),
    (lambda: MercerProjection(rate=0.0), "rate"),
    (lambda: MercerProjection(clip=-1.0), "clip"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_settings_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        make()


# the estimator


def noisy(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Rows, a smooth curve, and the curve with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 1))
    f = np.sin(9.0 * X[:, 0] ** 2)
    return X, f, f + rng.normal(size=n)


def test_levels_come_when_the_paper_says() -> None:
    """c = 0.2, α = 2: at 6, 48, 204, 625 and 1555 rows; c = 0.5, α = 1: 125 functions at a million."""
    learner = MercerProjection(Cosine((0.0, 1.0)), count=200, rate=0.2, smoothness=2.0)
    needed = learner._rule(1).needed
    assert needed[:6].tolist() == [0.0, 6.0, 48.0, 204.0, 625.0, 1555.0]
    assert grown(needed, 10.0**6) == 21
    assert grown(MercerProjection(Cosine((0.0, 1.0)), 200, rate=0.5)._rule(1).needed, 10.0**6) == 125


@pytest.mark.parametrize("rate", [0.3, None])
def test_every_score_is_that_of_a_fit_from_scratch(rate: float | None) -> None:
    X, _, y = noisy(60 if compiler_off else 300)
    learner = MercerProjection(Beam((0.0, 1.0)), count=12, rate=rate, lam=1e-6)
    scores = learner.learn(learner.init(1), X, y)
    assert np.abs(scores - mercer_projection.scores(learner, X, y)).max() < 1e-9 * max(1.0, np.abs(scores).max())


@pytest.mark.parametrize("seed", range(3))
def test_following_is_hardly_worse_than_any_level(seed: int) -> None:
    X, _, y = noisy(200 if compiler_off else 1000, seed)
    count = 15
    learner = MercerProjection(Cosine((0.0, 1.0)), count)
    loss = np.sum((learner.learn(learner.init(1), X, y) - y) ** 2)
    harmonic, largest = sum(1.0 / N for N in range(1, count + 1)), np.abs(y).max()
    for N in range(1, count + 1):
        alone = MercerProjection(Cosine((0.0, 1.0)), N, rate=1e-30)
        level = np.sum((alone.learn(alone.init(1), X, y) - y) ** 2)
        assert loss <= level + 2.0 * largest**2 * (1.0 + math.log(N * harmonic))


@pytest.mark.once
@pytest.mark.parametrize("everywhere", [False, True])
def test_bands_hold_the_curve_as_often_as_they_say(everywhere: bool) -> None:
    """A curve that the functions can represent, 200 times."""
    places, held = np.linspace(0.05, 0.95, 7)[:, None], []
    system, coefficients = Cosine((0.0, 1.0)), np.array([0.5, 1.0, -1.0, 0.3])
    curve = system.functions(places, 4) @ coefficients
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.0, 1.0, (200, 1))
        learner = MercerProjection(system, 4, rate=1e-30, lam=1e-6)
        state = learner.init(1)
        learner.learn(state, X, system.functions(X, 4) @ coefficients + rng.normal(size=200))
        low, high = learner.band(state, places, everywhere=everywhere)
        inside = (low <= curve) & (curve <= high)
        held.append(inside.all() if everywhere else inside.mean())
    assert 0.92 <= np.mean(held) <= (1.0 if everywhere else 0.98)


def test_the_error_is_unknown_before_there_are_more_rows_than_functions() -> None:
    X, _, y = noisy(20)
    learner = MercerProjection(Cosine((0.0, 1.0)), 10, rate=1e-30)
    state = learner.init(1)
    for n, known in ((5, False), (5, False), (1, True)):
        at = state.rows
        learner.learn(state, X[at : at + n], y[at : at + n])
        assert np.isfinite(learner.standard_error(state, X)).all() == known


def test_an_output_added_later_is_as_if_its_label_had_been_0() -> None:
    X, _, y = noisy(120)
    for learner in (MercerProjection(Cosine((0.0, 1.0)), 8), MercerProjection(Cosine((0.0, 1.0)), 8, rate=0.5, clip=2.0)):
        wide, later = learner.init(1, 2), learner.init(1)
        learner.learn(wide, X, np.column_stack([y, 0.0 * y]))
        learner.learn(later, X, y)
        learner.widen(later, 2)
        for (_, mine, _), (_, theirs, _) in zip(leaves(wide), leaves(later), strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_bytes_do_not_depend_on_the_rows() -> None:
    learner = MercerProjection()
    state = learner.init(3)
    before = onkel.nbytes(state)
    learner.learn(state, np.random.default_rng(0).normal(size=(500, 3)), np.zeros(500))
    assert onkel.nbytes(state) == before == learner.footprint(3)
