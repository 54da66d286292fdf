"""Eigen-systems: equal to their definitions, orthonormal, and worth their kernels; the estimator on them: bounds, bands, growth."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
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
    mixing,
)
from onkel._jit import compiler_off
from onkel.features.mercer.system import Line
from onkel.learners.levels import grown
from onkel.learners.mercer_projection import _rule
from onkel.state import leaves
from tests.oracle import mercer, mercer_projection, moments
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
    needed = _rule(learner, 1).needed
    assert needed[:6].tolist() == [0.0, 6.0, 48.0, 204.0, 625.0, 1555.0]
    assert grown(needed, 10.0**6) == 21
    assert grown(_rule(MercerProjection(Cosine((0.0, 1.0)), 200, rate=0.5), 1).needed, 10.0**6) == 125


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
        assert loss <= level + 2.0 * largest**2 * (1.0 + math.log((len(y) + 1) * N * harmonic))


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


# functions that wait


@dataclass(frozen=True)
class Opaque(Line):
    """Waves that nobody knows for waves: what waits is held as sums of products."""

    base: Any
    domain: Any = (0.0, 1.0)

    def values(self, count: int, dim: int = 1) -> Array:
        return np.asarray(self.base.values(count))

    def on_unit(self, u: Array, count: int) -> Array:
        return np.asarray(self.base.on_unit(u, count))


WAVES: list[Any] = [Sine((0.0, 1.0)), Cosine((0.0, 1.0)), Periodic((0.0, 1.0)), Periodic((0.0, 1.0), 1.0, constant=False)]
every_wave = pytest.mark.parametrize("system", WAVES, ids=repr)
FORGETTING = pytest.mark.parametrize("forgetting", [1.0, 0.97])


def weighted(n: int, outputs: int = 2) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    X = rng.beta(2.0, 1.3, (n, 1))
    y = np.column_stack([np.sin(9.0 * X[:, 0] ** 2 + o) for o in range(outputs)]) + 0.1 * rng.normal(size=(n, outputs))
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n)


@every_wave
def test_moments_hold_all_products(system: Any) -> None:
    X, Y, weight = weighted(300)
    waves, N = system.waves(40), 40
    sums, targets = np.zeros((2, waves.moments)), np.zeros((2, N))
    waves.add(X[:, 0], weight, Y, sums, targets, 7)
    Psi = system.functions(X, N)
    G, b = Psi.T @ (weight[:, None] * Psi), Y.T @ (weight[:, None] * Psi)
    assert max(np.abs(waves.products(sums, j) - G[: j + 1, j]).max() for j in range(N)) < 1e-11
    assert np.abs(targets[:, 7:] - b[:, 7:]).max() < 1e-11
    assert not targets[:, :7].any()
    if not getattr(system, "constant", False):  # the oracle knows the others
        sums[:] = 0.0
        waves.add(X[:, 0], np.ones(300), Y, sums, targets, 0)
        expected = moments.gram_from_moments(system, X[:, 0], N)
        assert max(np.abs(waves.products(sums, j) - expected[: j + 1, j]).max() for j in range(N)) < 1e-10


@FORGETTING
@every_wave
def test_waves_grow_as_if_from_scratch_and_as_other_functions_do(system: Any, forgetting: float) -> None:
    X, y, weight = weighted(60 if compiler_off else 250)
    learner = MercerProjection(system, 12, rate=0.02, smoothness=1.0, lam=0.01, forgetting=forgetting)
    state = learner.init(1, 2)
    scores = learner.learn(state, X, y, weight)
    assert learner.level(state) > 5
    assert np.abs(scores - mercer_projection.scores(learner, X, y, weight)).max() < 1e-9
    opaque = replace(learner, system=Opaque(system))
    assert np.abs(scores - opaque.learn(opaque.init(1, 2), X, y, weight)).max() < 1e-10
    alone = np.concatenate(
        [
            learner.learn(other, X[i : i + 1], y[i : i + 1], weight[i : i + 1])
            for other in [learner.init(1, 2)]
            for i in range(len(X))
        ]
    )
    assert np.abs(scores - alone).max() < 1e-9


@FORGETTING
def test_waves_that_wait_are_saved(tmp_path: Path, forgetting: float) -> None:
    X, y, weight = weighted(120, 1)
    learner = MercerProjection(Cosine((0.0, 1.0)), 12, rate=0.1, lam=0.01, forgetting=forgetting)
    state = learner.init(1)
    learner.learn(state, X[:30], y[:30, 0], weight[:30])
    assert 1 < learner.level(state) < 12
    onkel.save(tmp_path / "half.onkel", learner, state)
    _, again = onkel.load(tmp_path / "half.onkel")
    before = learner.level(state)
    assert np.array_equal(
        learner.learn(state, X[30:], y[30:, 0], weight[30:]), learner.learn(again, X[30:], y[30:, 0], weight[30:])
    )
    assert before < learner.level(state) == learner.level(again)


@pytest.mark.parametrize("rate", [0.02, None])
@FORGETTING
@pytest.mark.parametrize("system", [Cosine((0.0, 1.0)), Beam((0.0, 1.0))], ids=repr)
def test_raised_functions_have_been_0_so_far(system: Any, forgetting: float, rate: float | None) -> None:
    """After the 80th row there are 12 levels in the place of 5: each score is the fit to rows in which those seven were 0."""
    X, y, weight = weighted(160, 1)
    learner = MercerProjection(system, 5, rate=rate, lam=0.5, forgetting=forgetting)
    state = learner.init(1)
    learner.learn(state, X[:80], y[:80, 0], weight[:80])
    higher, taller = learner.raised(state, 12)
    assert higher == replace(learner, count=12)
    higher.learn(taller, X[80:], y[80:, 0], weight[80:])
    Psi = system.functions(X, 12)
    Psi[:80, 5:] = 0.0
    there = np.flatnonzero(weight)
    fade = weight[there] * forgetting ** np.arange(len(there) - 1.0, -1.0, -1.0)
    A, b = Psi[there].T @ (fade[:, None] * Psi[there]), Psi[there].T @ (fade * y[there, 0])
    inner = taller.inner
    ridge = ridge_after(int(np.count_nonzero(weight[:80])), int(np.count_nonzero(weight[80:])), (5, 12), 0.5, forgetting)
    for N in range(1, 13):
        theta = np.linalg.solve(A[:N, :N] + np.diag(ridge[:N]), b[:N])
        if inner.taken >= N:
            mine = np.linalg.solve(inner.matrix[:N, :N], inner.coef[0, :N])
            assert np.abs(mine - theta).max() < 1e-9
    assert inner.taken > 8
    low, high = higher.band(taller, X)
    assert np.all(low < high)


def ridge_after(before: int, after: int, sizes: tuple[int, int], lam: float, forgetting: float) -> Array:
    """D_j: faded and returned coordinate by coordinate, first among 5, then among 12."""
    D, t = np.full(sizes[1], lam), 0
    for rounds, r in ((before, sizes[0]), (after, sizes[1])):
        for _ in range(rounds if forgetting < 1.0 else 0):
            D[:r] *= forgetting
            D[t % r] += lam * (1.0 - forgetting**r)
            t += 1
    return D


def test_a_raised_learner_that_has_seen_nothing_is_a_fresh_one() -> None:
    for learner in (MercerProjection(Cosine(None), 5, rate=0.1), MercerProjection(Sine((0.0, 1.0)), 5), MercerProjection(count=5)):
        higher, state = learner.raised(learner.init(1), 9)
        for (name, mine, _), (_, theirs, _) in zip(leaves(state), leaves(higher.init(1)), strict=True):
            assert np.array_equal(mine, theirs), name
    with pytest.raises(onkel.InputError, match="only be raised"):
        learner.raised(learner.init(1), 4)


# the mix


def test_the_mix_is_that_of_all_sequences_of_levels() -> None:
    """Shares with π_N/(t+1) given back are Bayes' rule over sequences, each as likely as a chain that moves to N so often."""
    rng, prior, T = np.random.default_rng(0), np.array([0.6, 0.3, 0.1]), 6
    predictions, y, shares = rng.uniform(-1.0, 1.0, (T, 3)), rng.uniform(-1.0, 1.0, T), prior.copy()
    for t in range(T):
        mixing.reward(shares, prior, predictions[t], y[t], 1.0, 1.0 / (t + 2.0))
    total = np.zeros(3)
    for sequence in product(range(3), repeat=T + 1):
        chance = prior[sequence[0]]
        for t in range(T):
            stay = (1.0 - 1.0 / (t + 2.0)) * (sequence[t] == sequence[t + 1])
            chance *= math.exp(-((y[t] - predictions[t, sequence[t]]) ** 2) / 2.0) * (stay + prior[sequence[t + 1]] / (t + 2.0))
        total[sequence[-1]] += chance
    assert shares == pytest.approx(total / total.sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_mix_keeps_its_bound_while_labels_grow_and_the_best_changes(seed: int) -> None:
    rng, K, T = np.random.default_rng(seed), 4, 400
    prior, shares, bound, loss = np.full(K, 1.0 / K), np.full(K, 1.0 / K), 0.0, 0.0
    size = 10.0 ** np.sort(rng.uniform(-2.0, 2.0, T))
    y, q = size * rng.uniform(-1.0, 1.0, T), size[:, None] * rng.uniform(-1.0, 1.0, (T, K))
    best = np.repeat(rng.integers(0, K, 4), T // 4)  # four pieces
    q[np.arange(T), best] = y
    for t in range(T):
        loss += (mixing.aggregate(q[t], shares, bound) - y[t]) ** 2
        mixing.reward(shares, prior, q[t], y[t], bound, 1.0 / (t + 2.0))
        if abs(y[t]) > bound:
            mixing.temper(shares, prior, (bound / y[t]) ** 2)
            bound = abs(y[t])
    pieces = 1 + np.count_nonzero(np.diff(best))
    assert loss <= 2.0 * bound**2 * (1.0 + pieces * math.log((T + 1) * K))
