"""The online projection estimator: least squares from scratch, bounds against hostile labels, bands against chance."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel import AdditiveSystem, Beam, Cosine, Hermite, Legendre, MercerProjection, Numerical, ProductSystem, Sine
from onkel._jit import compiler_off
from onkel.mixing import aggregate
from onkel.state import copied
from tests.oracle import mercer_projection
from tests.test_mercer import LINES, SEVERAL, rows

Array = NDArray[np.float64]

UNIT = (0.0, 1.0)
COUNT = 6
EVERY = 1e-30  # a rate at which level N speaks as soon as there are as many rows as functions


def labelled(system: Any, n: int, dim: int) -> tuple[Array, Array, Array]:
    """Rows, some of them outside every domain; two outputs; weights, some of them 0."""
    rng = np.random.default_rng(5)
    X = rows(dim, n)
    Y = np.column_stack([np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n), 5.0 + X.sum(axis=1)])
    return X, Y, rng.choice([0.0, 0.3, 1.0, 4.0], p=[0.1, 0.2, 0.5, 0.2], size=n)


def near(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() <= 1e-9 * max(1.0, np.abs(b).max()))


# least squares


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("rate", [0.7, None], ids=["growing", "following"])
@pytest.mark.parametrize(("system", "dim"), [*[(s, 1) for s in LINES], *[(s, 3) for s in SEVERAL]], ids=repr)
def test_every_score_is_that_of_a_fit_from_scratch(system: Any, dim: int, rate: float | None, forgetting: float) -> None:
    """Of two outputs, in blocks, with weights; the scores of rows to come too."""
    X, Y, weight = labelled(system, 50, dim)
    learner = MercerProjection(system, COUNT, rate, lam=1e-3, forgetting=forgetting)
    state = learner.init(dim, 2)
    blocks = zip(*(np.array_split(part, [1, 2, 9, 30]) for part in (X, Y, weight)), strict=True)
    scores = np.vstack([learner.learn(state, *block) for block in blocks])
    assert near(scores, mercer_projection.scores(learner, X, Y, weight))
    assert near(learner.predict(state, X[:9] + 0.1), mercer_projection.predict(learner, X, Y, weight, X[:9] + 0.1))
    assert rate is None or learner.level(state) > 1


@pytest.mark.parametrize("system", [Cosine(UNIT), Beam(UNIT), Legendre(1.0, UNIT), AdditiveSystem((Cosine(UNIT),))], ids=repr)
def test_every_level_of_every_length(system: Any) -> None:
    """θ = argmin Σ w(y − θ·ψ)² + λ‖θ‖² on the first N functions, for every n ≥ N."""
    X, Y, weight = labelled(system, 40, 1)
    weight, lam = np.maximum(weight, 0.1), 1e-4
    for N in range(1, COUNT + 1):
        fixed, k = MercerProjection(system, N, EVERY, lam=lam), system.size(N, 1)
        Psi = system.functions(X, k)
        state = fixed.init(1, 2)
        for n in range(k, len(X)):
            done = state.rows
            fixed.learn(state, X[done:n], Y[done:n], weight[done:n])
            roots = np.sqrt(weight[:n])[:, None]
            ridged = np.vstack([roots * Psi[:n], math.sqrt(lam) * np.eye(k)])
            theta = np.linalg.lstsq(ridged, np.vstack([roots * Y[:n], np.zeros((k, 2))]), rcond=0.0)[0]
            assert near(fixed.predict(state, X), Psi @ theta)
            assert fixed.level(state) == N


def test_the_ceiling_does_not_matter_below_it() -> None:
    """The leading block of a larger factor is the factor of the first functions: one that may grow to 30 is one that stops at 5,
    until it leaves it behind."""
    X, Y, weight = labelled(None, 80, 3)
    system = ProductSystem(Cosine((-1.0, 2.0)))
    low, high = (MercerProjection(system, count, 0.9, smoothness=1.5, lam=1e-3) for count in (5, 30))
    few, many = low.init(3, 2), high.init(3, 2)
    ours, theirs = low.learn(few, X, Y, weight), high.learn(many, X, Y, weight)
    levels = [high.level(at) for at in states(high, X, Y, weight)]
    below = np.array(levels) <= 5
    assert 20 < below.sum() < 80
    assert near(ours[below], theirs[below])
    assert not near(ours[~below], theirs[~below])


def states(learner: Any, X: Array, Y: Array, weight: Array) -> Any:
    """Its state before each row."""
    state = learner.init(X.shape[1], Y.shape[1])
    for i in range(len(X)):
        yield state
        learner.learn(state, X[i : i + 1], Y[i : i + 1], weight[i : i + 1])


@pytest.mark.parametrize("forgetting", [1.0, 0.93])
def test_the_recursion_of_the_matrix(forgetting: float) -> None:
    """A ← μA + w ψψᵀ + λ(1 − μʳ) e_j e_jᵀ with j = t mod r, b ← μb + w y ψ; a level scores with the leading block."""
    system, lam = AdditiveSystem(Cosine((-1.0, 2.0))), 0.1
    X, Y, weight = labelled(system, 90, 2)
    learner = MercerProjection(system, 4, 0.3, lam=lam, forgetting=forgetting)
    Psi, A, b, t = system.functions(X, 9), lam * np.eye(9), np.zeros((9, 2)), 0
    scores, levels = learner.learn(learner.init(2, 2), X, Y, weight), set[int]()
    for i, state in enumerate(states(learner, X, Y, weight)):
        ahead, k = forgetting * A, system.size(learner.level(state), 2)
        ahead[t % 9, t % 9] += lam * (1.0 - forgetting**9)
        assert near(scores[i], Psi[i, :k] @ np.linalg.solve(ahead[:k, :k], forgetting * b[:k]))
        levels.add(k)
        if weight[i] > 0.0:
            A, b, t = ahead + weight[i] * np.outer(Psi[i], Psi[i]), forgetting * b + weight[i] * np.outer(Psi[i], Y[i]), t + 1
    assert levels >= {3, 5, 7}


settings_of = st.fixed_dictionaries({
    "count": st.integers(1, 8), "rate": st.none() | st.floats(0.01, 3.0), "smoothness": st.floats(0.3, 3.0),
    "lam": st.floats(1e-6, 10.0), "forgetting": st.just(1.0) | st.floats(0.5, 0.999), "clip": st.none() | st.floats(0.1, 10.0),
})  # fmt: skip
domains = st.sampled_from([(0.0, 1.0), (-1.0, 2.0), (0.5, 3.0)])
spaces = st.one_of(
    st.builds(Sine, domains), st.builds(Cosine, domains), st.builds(Beam, domains), st.builds(Hermite, st.floats(0.3, 3.0))
)


@settings(deadline=None, max_examples=15 if compiler_off else 60, database=None, derandomize=True)
@given(st.lists(spaces, min_size=1, max_size=3), st.booleans(), settings_of, st.integers(0, 2**32 - 1))
def test_any_settings_on_any_spaces(chosen: list[Any], is_product: bool, fields: dict[str, Any], seed: int) -> None:
    """Another space for each column; labels of any size."""
    system = (ProductSystem if is_product else AdditiveSystem)(tuple(chosen))
    learner, rng, dim = MercerProjection(system, **fields), np.random.default_rng(seed), len(chosen)
    X, weight = rng.uniform(-1.0, 2.0, (25, dim)), rng.choice([0.0, 0.5, 1.0, 2.0], size=25)
    Y = rng.normal(size=(25, 2)) * 10.0 ** rng.integers(-3, 4, (25, 2))
    scores = learner.learn(learner.init(dim, 2), X, Y, weight)
    expected = mercer_projection.scores(learner, X, Y, weight)
    assert np.abs(scores - expected).max() <= 1e-8 * max(1.0, np.abs(Y).max())
    assert learner.clip is None or np.abs(scores).max() <= learner.clip


# what follows of it


@pytest.mark.parametrize("rate", [0.5, None], ids=["growing", "following"])
def test_scores_scale_with_the_labels(rate: float | None) -> None:
    """By any power of 2, down to where squares vanish: no size of the labels is special."""
    X, Y, weight = labelled(None, 60, 1)
    learner = MercerProjection(Cosine(UNIT), 8, rate, forgetting=0.99)
    scores = learner.learn(learner.init(1), X, Y[:, 0], weight)
    for power in (-1000, -560, -300, 100, 160):
        scaled = learner.learn(learner.init(1), X, math.ldexp(1.0, power) * Y[:, 0], weight)
        assert np.isfinite(scaled).all()
        if power > -500:
            assert np.abs(scaled * math.ldexp(1.0, -power) - scores).max() < 1e-12


@pytest.mark.parametrize("system", [AdditiveSystem((Sine(UNIT), Beam(UNIT), Hermite(0.4))), ProductSystem(Cosine(UNIT))], ids=repr)
def test_it_finds_a_function_of_its_space(system: Any) -> None:
    """Without noise, to the last digits that the ridge leaves."""
    rng = np.random.default_rng(6)
    X, count = rng.uniform(size=(400, 3)), 5
    functions = system.size(count, 3)
    theta = rng.normal(size=functions)
    learner = MercerProjection(system, count, EVERY, lam=1e-10)
    state = learner.init(3)
    learner.learn(state, X, system.functions(X, functions) @ theta)
    new = rng.uniform(size=(50, 3))
    assert near(learner.predict(state, new), system.functions(new, functions) @ theta)


def test_following_finds_a_level_that_growing_does_not_believe_in() -> None:
    """A wave that needs 14 functions, where rate and smoothness say 4."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = np.sin(40.0 * X[:, 0]) + 0.1 * rng.normal(size=400)
    errors = []
    for rate in (0.2, None):
        learner = MercerProjection(Beam(UNIT), 20, rate, smoothness=2.0)
        errors.append(np.mean((learner.learn(learner.init(1), X, y) - y)[200:] ** 2))
    assert errors[0] > 0.4
    assert errors[1] < 0.05


# the bound


def bound(y: Array, N: int, count: int) -> float:
    return float(2.0 * np.abs(y).max() ** 2 * (1.0 + math.log((len(y) + 1) * N * sum(1.0 / M for M in range(1, count + 1)))))


def losses_of_levels(learner: Any, X: Array, y: Array) -> list[Array]:
    """The square losses of each level alone: the oracle's, from scratch."""
    errors = mercer_projection.run(learner, X, y).errors[:, :, 0]
    return [errors[:, N] for N in range(learner.count)]


def jumps(rng: np.random.Generator, n: int) -> Array:
    """Labels that leave all that came before behind, again and again."""
    return np.asarray(rng.normal(size=n) * np.exp(np.linspace(0.0, 6.0, n).round()))


def swings(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(np.where(np.arange(n) // 20 % 2 == 0, 1.0, -1.0) + 0.1 * rng.normal(size=n))


def heavy(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_cauchy(n)


@pytest.mark.parametrize("labels", [jumps, swings, heavy], ids=lambda labels: labels.__name__)
@pytest.mark.parametrize("lam", [1e-6, 1.0])
def test_following_keeps_its_bound(labels: Any, lam: float) -> None:
    """Σ (y − score)² ≤ Σ (y − θ_N·ψ)² + 2Y²(1 + ln((T+1) N Σ 1/M)) for every N, at every time."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(size=(120, 1)), labels(rng, 120)
        learner = MercerProjection(Cosine(UNIT), 6, lam=lam)
        mine = (learner.learn(learner.init(1), X, y) - y) ** 2
        for N, theirs in enumerate(losses_of_levels(learner, X, y), start=1):
            for T in (1, 2, 10, 60, 120):
                assert mine[:T].sum() <= theirs[:T].sum() + bound(y[:T], N, 6)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_following_keeps_its_bound_where_labels_flee(clip: float | None) -> None:
    """Every label is the one of ±1 that is farther from the score."""
    rng = np.random.default_rng(7)
    X, y = rng.uniform(size=(150, 1)), np.zeros(150)
    learner = MercerProjection(Legendre(1.0, UNIT), 6, lam=0.1, clip=clip)
    state, mine = learner.init(1), np.zeros(150)
    for i in range(150):
        score = learner.predict(state, X[i : i + 1])[0]
        y[i] = -1.0 if score >= 0.0 else 1.0
        learner.learn(state, X[i : i + 1], y[i : i + 1])
        mine[i] = (y[i] - score) ** 2
    assert mine.sum() >= 150.0
    for N, theirs in enumerate(losses_of_levels(learner, X, y), start=1):
        assert mine.sum() <= theirs.sum() + bound(y, N, 6)


finite = st.floats(-1e6, 1e6, width=32)


@settings(deadline=None, max_examples=30 if compiler_off else 100, database=None, derandomize=True)
@given(st.lists(finite, min_size=1, max_size=25), st.integers(0, 2**32 - 1))
def test_following_keeps_its_bound_for_any_labels(labels: list[float], seed: int) -> None:
    X, y = np.random.default_rng(seed).uniform(size=(len(labels), 1)), np.array(labels)
    learner = MercerProjection(Cosine(UNIT), 4)
    loss = np.sum((learner.learn(learner.init(1), X, y) - y) ** 2)
    for N, theirs in enumerate(losses_of_levels(learner, X, y), start=1):
        assert loss <= theirs.sum() + bound(y, N, 4) * (1.0 + 1e-9)


levels = st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n) for _ in range(2)]))


@settings(deadline=None, max_examples=200, database=None, derandomize=True)
@given(levels, st.floats(-1.0, 1.0), st.sampled_from([1e-200, 1e-3, 1.0, 7.0, 1e50]))
def test_what_the_bound_stands_on(given_levels: Any, label: float, B: float) -> None:
    """(y − p)² ≤ −2B² ln Σ v e^(−(y − q)²/2B²) for all y, q in [−B, B], p the aggregate; p lies between the q and scales with B."""
    q, v = np.array(given_levels[0]), np.exp(-2.0 * np.abs(given_levels[1]))
    v /= v.sum()
    p = aggregate(B * q, v, B) / B
    assert p == pytest.approx(aggregate(q, v, 1.0), abs=1e-13)
    assert (label - p) ** 2 <= -2.0 * np.log(v @ np.exp(-((label - q) ** 2) / 2.0)) + 1e-12
    assert q.min() - 1e-12 <= p <= q.max() + 1e-12


def test_a_bound_far_beyond_all_labels_loses_no_digits() -> None:
    """With B → ∞ the aggregate is the mean of the levels by their shares."""
    q, v = np.array([0.3, -0.1, 0.7]), np.array([0.5, 0.3, 0.2])
    for B in (1e6, 1e20, 1e50):
        assert aggregate(q, v, B) == pytest.approx(v @ q, rel=3.0 / B + 1e-14)


# clip


def test_a_clip_cuts_the_score_and_nothing_else() -> None:
    X, Y, weight = labelled(None, 80, 1)
    free = MercerProjection(Cosine(UNIT), 6, 0.5)
    cut = replace(free, clip=0.7)
    one, other = free.init(1), cut.init(1)
    scores = free.learn(one, X, Y[:, 0], weight)
    assert np.abs(scores).max() > 0.7
    assert np.array_equal(cut.learn(other, X, Y[:, 0], weight), np.clip(scores, -0.7, 0.7))
    assert np.array_equal(cut.predict(other, X), np.clip(free.predict(one, X), -0.7, 0.7))
    assert np.array_equal(cut.standard_error(other, X), free.standard_error(one, X))


def test_following_within_a_clip() -> None:
    """B is the clip from the start: for labels within it the regret is 2 clip² ln(N h), without the price of finding B."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(150, 1))
        y = np.sign(np.sin(20.0 * X[:, 0]) + rng.normal(size=150))
        learner = MercerProjection(Cosine(UNIT), 6, clip=1.0)
        scores = learner.learn(learner.init(1), X, y)
        assert np.abs(scores).max() <= 1.0
        for N, theirs in enumerate(losses_of_levels(learner, X, y), start=1):
            assert np.sum((scores - y) ** 2) <= theirs.sum() + bound(y, N, 6) - 2.0


# files, blocks


@pytest.mark.parametrize("learner", [
    MercerProjection(Cosine(UNIT), 12, forgetting=0.3), MercerProjection(Cosine(UNIT), 12, 0.1, forgetting=1e-3),
    MercerProjection(Legendre(1.0, UNIT), 9, EVERY, lam=1e-30),
], ids=repr)  # fmt: skip
def test_a_state_that_came_about_is_taken_back(learner: Any, tmp_path: Path) -> None:
    """Where much is forgotten before the ridge returns, and where weights and labels are as large as they may be."""
    rng = np.random.default_rng(8)
    for size in (1.0, 1e50):
        state = learner.init(1)
        X, y = rng.uniform(size=(40, 1)), rng.uniform(-size, size, 40)
        learner.learn(state, X, y, np.full(40, size))
        onkel.save(tmp_path / "a.onkel", learner, state)
        _, again = onkel.load(tmp_path / "a.onkel")
        assert np.array_equal(learner.predict(again, X), learner.predict(state, X))


def test_states_that_cannot_be_are_refused() -> None:
    fading, waiting = MercerProjection(Hermite(1.0), 5, forgetting=0.5), MercerProjection(Cosine(), 5)
    small: Any = fading.init(1)
    early: Any = waiting.init(1)
    small.scale[0] = 1e-200  # it is folded long before
    early.inner.squares[0, 0] = 2.0  # before there is a row
    with pytest.raises(onkel.InputError, match="scale"):
        fading.check(small)
    with pytest.raises(onkel.InputError, match="learnt before its domains"):
        waiting.check(early)


def test_cuts_hardly_change_a_numerical_system() -> None:
    """Its last functions are sums of terms of size 1/λ."""
    X, Y, _ = labelled(None, 60, 1)
    system = Numerical(onkel.Gaussian(width=2.0), 40, (-1.0, 2.0))
    learner = MercerProjection(system, system.limit(1), EVERY, lam=1e-6)
    whole, rowwise = learner.init(1, 2), learner.init(1, 2)
    scores = learner.learn(whole, X, Y)
    assert near(np.vstack([learner.learn(rowwise, X[i : i + 1], Y[i : i + 1]) for i in range(60)]), scores)


def test_predictions_and_errors_change_nothing() -> None:
    X, Y, weight = labelled(None, 60, 1)
    for rate in (0.5, None):
        learner = MercerProjection(Cosine(UNIT), 6, rate, forgetting=0.9)
        state = learner.init(1, 2)
        learner.learn(state, X, Y, weight)
        before = copied(state)
        learner.standard_error(state, X)
        learner.band(state, X, everywhere=True)
        learner.shares(state)
        assert np.array_equal(learner.learn(before, X, Y), learner.learn(state, X, Y))
