"""What is special to the learners of a support set: parents, budgets, projections, draws."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel import protocol
from onkel._jit import compiler_off
from onkel.functions import support
from onkel.learners.bogd import _evict, _evict_weighted
from tests.laws.cases import bits

Array = NDArray[np.float64]

ROWS = 120 if compiler_off else 300
KERNEL = onkel.Gaussian(width=1.5)
LOSSES = [
    onkel.Hinge(),
    onkel.SquaredHinge(),
    onkel.Logistic(),
    onkel.Square(),
    onkel.EpsilonInsensitive(0.1),
    onkel.SquaredEpsilonInsensitive(0.1),
]


def stream(rows: int = ROWS, seed: int = 0) -> tuple[Array, Array]:
    """Two classes that a smooth function tells apart, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows) >= 0.0, 1.0, -1.0)


def learnt(learner: Any, X: Array, y: Array) -> tuple[Any, Array]:
    state = learner.init(X.shape[1])
    return state, learner.learn(state, X, y)


PERCEPTRON = onkel.Perceptron(KERNEL)
KOGD = {loss: onkel.NORMA(KERNEL, loss, step=0.2, lam=0.0) for loss in LOSSES}
PARENTS: list[tuple[Any, Any]] = [
    (onkel.RBP(KERNEL, budget=ROWS), PERCEPTRON),
    (onkel.Forgetron(KERNEL, budget=ROWS), PERCEPTRON),
    (onkel.Projectron(KERNEL, budget=ROWS), PERCEPTRON),
    (onkel.BPAS(KERNEL, budget=ROWS, aggressiveness=0.7), onkel.PassiveAggressive(KERNEL, aggressiveness=0.7)),
    (onkel.BOGD(KERNEL, budget=ROWS, step=0.2, lam=0.02), onkel.NORMA(KERNEL, step=0.2, lam=0.02)),
    (onkel.NORMA(KERNEL, lam=0.02, budget=ROWS), onkel.NORMA(KERNEL, lam=0.02)),
    *[(onkel.NOGD(KERNEL, loss, budget=ROWS), KOGD[loss]) for loss in LOSSES],
    *[(onkel.SkeGD(KERNEL, loss, budget=ROWS), KOGD[loss]) for loss in LOSSES],
    *[(onkel.FORKS(KERNEL, loss, budget=ROWS), KOGD[loss]) for loss in LOSSES],
]


@pytest.mark.parametrize(("learner", "parent"), PARENTS, ids=lambda learner: repr(learner)[:60])
def test_with_a_budget_for_all_rows_it_is_its_parent_exactly(learner: Any, parent: Any) -> None:
    X, y = stream()
    assert learnt(learner, X, y)[1].tobytes() == learnt(parent, X, y)[1].tobytes()


BUDGETED = [
    onkel.RBP(KERNEL, budget=12),
    onkel.Forgetron(KERNEL, budget=12),
    onkel.Projectron(KERNEL, budget=12),
    onkel.ProjectronPP(KERNEL, budget=12),
    onkel.BPAS(KERNEL, budget=12),
    onkel.BOGD(KERNEL, budget=12),
    onkel.BOGD(KERNEL, budget=12, weighted=True),
    onkel.NOGD(KERNEL, budget=12, rank=6),
    onkel.NORMA(KERNEL, budget=12),
    onkel.SkeGD(KERNEL, buffer=12, sketch=10, landmarks=5, rank=4, period=50, max_updates=3),
    onkel.FORKS(KERNEL, buffer=12, sketch=10, landmarks=5, rank=4, period=50, max_updates=3),
]


def _kernel_of(X: Array, Z: Array) -> Array:
    return np.asarray(np.exp(-np.sum((X[:, None, :] - Z[None, :, :]) ** 2, axis=2) / 4.5))


@pytest.mark.parametrize(
    "learner", [PERCEPTRON, onkel.PassiveAggressive(KERNEL), *BUDGETED], ids=lambda learner: repr(learner)[:40]
)
def test_a_users_own_kernel_is_as_good(learner: Any) -> None:
    X, y = stream(100)
    own = dataclasses.replace(learner, kernel=onkel.CustomKernel(_kernel_of))
    assert np.allclose(learnt(own, X, y)[1], learnt(learner, X, y)[1], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("learner", [PERCEPTRON, *BUDGETED], ids=lambda learner: repr(learner)[:40])
def test_a_users_kernel_that_fails_leaves_the_state(learner: Any) -> None:
    X, y = stream(100)
    X[70] = 55.5

    def fails(A: Array, B: Array) -> Array:
        if np.any(A == 55.5) and len(B) > 1:
            raise RuntimeError("no")
        return _kernel_of(A, B)

    own = dataclasses.replace(learner, kernel=onkel.CustomKernel(fails))
    state = own.init(3)
    own.learn(state, X[:60], y[:60])
    before = bits(state)
    with pytest.raises(RuntimeError, match="no"):
        own.learn(state, X[60:], y[60:])
    assert bits(state) == before


def test_perceptron_keeps_its_mistakes_and_they_are_bounded() -> None:
    """M ≤ κ²‖u‖² where u separates with margin 1: u = K⁻¹y does, exactly."""
    X, y = stream(80)
    state, scores = learnt(PERCEPTRON, X, y)
    wrong = onkel.measure.mistakes(scores, y)
    assert np.array_equal(state.support.born[: state.support.size[0]], np.flatnonzero(wrong))
    K = KERNEL(X, X)
    assert np.sum(wrong) <= y @ np.linalg.solve(K, y)


def test_passive_aggressive_without_a_cap_is_the_projection_on_the_margin() -> None:
    X, y = stream(60)
    learner = onkel.PassiveAggressive(KERNEL, aggressiveness=1e30)
    state = learner.init(3)
    for t in range(len(X)):
        x, label = X[t : t + 1], y[t : t + 1]
        size = int(state.support.size[0])
        score = learner.learn(state, x, label)[0]
        if label[0] * score < 1.0:
            assert state.support.coef[size] == pytest.approx(label[0] * (1.0 - label[0] * score), rel=1e-14)  # along k(x, ·) alone
            assert learner.predict(state, x)[0] == pytest.approx(label[0], abs=1e-12)
        else:
            assert state.support.size[0] == size


def test_norma_with_the_square_loss_and_no_decay_is_least_mean_squares() -> None:
    X, y = stream(60)
    learner = onkel.NORMA(KERNEL, onkel.Square(), step=0.15, lam=0.0)
    K, a, expected = KERNEL(X, X), np.zeros(60), np.zeros(60)
    for t in range(60):
        expected[t] = K[t, :t] @ a[:t]
        a[t] = 2.0 * 0.15 * (y[t] - expected[t])
    assert np.allclose(learnt(learner, X, y)[1], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("budget", [5, 20, 60])
def test_what_norma_leaves_out_is_within_its_bound(budget: int) -> None:
    """‖f − f_τ‖ ≤ (1 − ηλ)^τ Lκ/λ, for a loss whose slope is taken at the truncated f in both."""
    X, y = stream()
    step, lam = 0.2, 0.3
    state, scores = learnt(onkel.NORMA(KERNEL, onkel.Hinge(), step, lam, budget), X, y)
    slopes = onkel.Hinge().derivative(scores, y)
    ages = np.arange(len(y))[::-1]
    whole = -step * slopes * (1.0 - step * lam) ** ages
    kept = np.zeros(len(y))
    size = int(state.support.size[0])
    kept[state.support.born[:size]] = state.support.scale[0] * state.support.coef[:size]
    assert np.allclose(kept[kept != 0.0], whole[kept != 0.0], rtol=1e-10)
    apart = whole - kept
    assert np.sqrt(apart @ KERNEL(X, X) @ apart) <= (1.0 - step * lam) ** budget / lam


def test_forgetron_never_spends_more_than_its_mistakes_allow() -> None:
    X, y = stream()
    learner = onkel.Forgetron(KERNEL, budget=10)
    state = learner.init(3)
    mistakes = 0
    for t in range(len(X)):
        score = learner.learn(state, X[t : t + 1], y[t : t + 1])
        mistakes += int(onkel.measure.mistakes(score, y[t : t + 1])[0])
        assert state.spent[0] == mistakes
        assert state.spent[1] <= 15.0 / 32.0 * mistakes
    assert mistakes > 20
    points = state.support.known
    assert np.allclose(state.gram, KERNEL(points, points), rtol=1e-14)


KERNELS = [KERNEL, onkel.Linear(), onkel.Polynomial(degree=2), onkel.Gaussian() + onkel.Linear(), onkel.Gaussian(width=100.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "learner", [PERCEPTRON, onkel.PassiveAggressive(KERNEL), *BUDGETED], ids=lambda learner: repr(learner)[:40]
)
def test_every_state_on_the_way_is_one_that_load_accepts(learner: Any, kernel: Any) -> None:
    X, y = stream(200)
    learner = dataclasses.replace(learner, kernel=kernel)
    state = learner.init(3)
    for t in range(0, len(X), 5):
        learner.learn(state, X[t : t + 5], y[t : t + 5])
        learner.check(state)


def test_a_stream_too_long_for_the_machine_is_refused_before_its_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_memory", lambda: 2.0 * support.bytes_of(3, 300))
    X, y = stream(600)
    state = PERCEPTRON.init(3)
    with pytest.raises(onkel.InputError, match="shorter blocks"):
        PERCEPTRON.learn(state, X, y)
    assert state.rows == 0
    PERCEPTRON.learn(state, X[:200], y[:200])


def test_forgetron_forgets_the_oldest() -> None:
    X, y = stream()
    state, scores = learnt(onkel.Forgetron(KERNEL, budget=10), X, y)
    assert np.array_equal(np.sort(state.support.born), np.flatnonzero(onkel.measure.mistakes(scores, y))[-10:])


def test_rbp_forgets_each_point_with_the_same_probability() -> None:
    """With B = 4 and a label against every score, each round after the fourth replaces one of 4 slots."""
    rows, learner = 2000, onkel.RBP(onkel.Gaussian(width=1e-3), budget=4, seed=3)
    X = np.arange(rows, dtype=float)[:, None]  # far apart: every score is 0, and −1 is always wrong
    state = learner.init(1)
    counts = np.zeros(4)
    for t in range(rows):
        before = state.support.born.copy()
        learner.learn(state, X[t : t + 1], -np.ones(1))
        counts += (state.support.born != before) & (t >= 4)
    assert counts.sum() == rows - 4
    expected = counts.sum() / 4
    assert np.sum((counts - expected) ** 2 / expected) < 16.3  # χ² with 3 degrees of freedom: 1 in 1000


@pytest.mark.once
@pytest.mark.parametrize("weighted", [False, True])
@settings(deadline=None)
@given(sizes=st.lists(st.floats(0.01, 5.0), min_size=3, max_size=8))
def test_bogd_leaves_its_expectation_as_it_was(weighted: bool, sizes: list[float]) -> None:
    """Over coins spread evenly, each point is left out, or made larger, such that on average its coefficient is what it was."""
    a = np.array(sizes) * np.where(np.arange(len(sizes)) % 2, 1.0, -1.0)
    total, coins = np.zeros(len(a)), (np.arange(2000) + 0.5) / 2000
    for coin in coins:
        f = support.with_room(1, len(a))
        f.coef[:], f.own[:], f.size[0] = a, 1.0, len(a)
        slot = _evict_weighted(f.compiled, np.ones(len(a)), coin, np.empty(len(a))) if weighted else _evict(f.compiled, coin)
        f.coef[slot] = 0.0
        total += f.scale[0] * f.coef
    assert np.allclose(total / len(coins), a, rtol=0.005)  # one coin in 2000, over a chance of survival of at least 1/2


def test_bogd_keeps_its_coefficients_under_the_cap() -> None:
    X, y = stream()
    learner = onkel.BOGD(KERNEL, budget=8, step=0.5, cap=2.0)
    state = learner.init(3)
    for t in range(len(X)):
        full = state.support.size[0] == 8
        score = learner.learn(state, X[t : t + 1], y[t : t + 1])
        if full and y[t] * score[0] < 1.0:
            assert state.support.scale[0] * np.abs(state.support.coef).max() <= 1.0 + 1e-12


def test_bpas_replaces_the_point_that_brute_force_would() -> None:
    """½‖f' − f‖² + C·hinge(f'(x)), over all r and all coefficients of x in the place of x_r."""
    X, y = stream(200)
    learner = onkel.BPAS(KERNEL, budget=6, aggressiveness=0.8)
    state = learner.init(3)
    replaced = 0
    for t in range(len(X)):
        points, coef = state.support.points.T.copy(), state.support.coef.copy()
        full = state.support.size[0] == 6
        score = learner.learn(state, X[t : t + 1], y[t : t + 1])[0]
        slot = int(np.argmax(state.support.born)) if state.support.size[0] else -1
        if not full or state.support.born[slot] != t:
            continue
        k, replaced = KERNEL(points, X[t : t + 1])[:, 0], replaced + 1
        candidates = np.linspace(-3.0, 3.0, 6001)
        costs = []
        for r in range(6):
            change = candidates**2 - 2.0 * candidates * coef[r] * k[r] + coef[r] ** 2  # ‖b k(x, ·) − a_r k(x_r, ·)‖²
            after = score - coef[r] * k[r] + candidates
            costs.append(np.min(0.5 * change + 0.8 * np.maximum(1.0 - y[t] * after, 0.0)))
        assert slot == int(np.argmin(costs))
    assert replaced > 20


@pytest.mark.parametrize("kind", [onkel.Projectron, onkel.ProjectronPP])
def test_what_is_projected_away_is_orthogonal_to_the_points(kind: Any) -> None:
    """f' − f − y k(x, ·) vanishes on every point: P k(x, ·) is what was added. And the factor stays that of the points."""
    X, y = stream()
    learner = kind(KERNEL, budget=15)
    state = learner.init(3)
    projected = 0
    for t in range(len(X)):
        points = state.support.known.copy()
        before = learner.predict(state, points) if len(points) else np.empty(0)
        score = learner.learn(state, X[t : t + 1], y[t : t + 1])
        if len(points) == 15 and onkel.measure.mistakes(score, y[t : t + 1])[0]:
            change = learner.predict(state, points) - before
            assert np.allclose(change, y[t] * KERNEL(points, X[t : t + 1])[:, 0], rtol=0.0, atol=1e-10)
            projected += 1
    assert projected > 10
    learner.check(state)


@pytest.mark.once
@pytest.mark.parametrize("kind", [onkel.Projectron, onkel.ProjectronPP])
def test_without_a_budget_a_larger_threshold_keeps_fewer_points(kind: Any) -> None:
    X, y = onkel.data.rings(3000, noise=0.3, seed=0)
    states = [learnt(kind(KERNEL, budget=None, threshold=threshold), X, y)[0] for threshold in (0.05, 0.2, 0.5)]
    sizes = [int(state.support.size[0]) for state in states]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    for state, threshold in zip(states, (0.05, 0.2, 0.5), strict=True):
        points = state.support.known
        for i in range(1, len(points)):  # each point was farther than η from the span of those before it
            K, k = KERNEL(points[:i], points[:i]), KERNEL(points[:i], points[i : i + 1])[:, 0]
            assert 1.0 - k @ np.linalg.lstsq(K, k, rcond=None)[0] > 0.99 * threshold**2


def test_nogd_starts_its_second_stage_from_the_function_of_the_first() -> None:
    X, y = stream()
    for rank in (7, 20):
        learner = onkel.NOGD(KERNEL, budget=20, rank=rank)
        state = learner.init(3)
        t = 0
        while state.support.size[0] < 20:
            learner.learn(state, X[t : t + 1], y[t : t + 1])
            t += 1
        points, a = state.support.known, state.support.coef
        eigenvalues, V = np.linalg.eigh(KERNEL(points, points))
        V = V[:, np.argsort(-eigenvalues)[:rank]]
        expected = KERNEL(X, points) @ V @ V.T @ a
        assert np.allclose(learner.predict(state, X), expected, rtol=0.0, atol=1e-10)
        if rank == 20:
            assert np.allclose(expected, KERNEL(X, points) @ a, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("loss", [onkel.Square(), onkel.SquaredHinge()], ids=repr)
@pytest.mark.parametrize("kind", [onkel.NORMA, onkel.NOGD, onkel.SkeGD, onkel.FORKS])
def test_a_descent_that_runs_away_is_refused_and_leaves_no_trace(kind: Any, loss: Any) -> None:
    X, y = stream(60)
    learner = kind(onkel.Polynomial(degree=3), loss, step=10.0)
    state = learner.init(3)
    before = bits(state)
    with pytest.raises(onkel.InputError, match=r"score of row \d+ is .* lower step"):
        learner.learn(state, 100.0 * X, y)
    assert bits(state) == before


def test_features_that_run_away_are_refused_too() -> None:
    X, y = stream(60)
    learner = onkel.FOGD(onkel.Identity(), onkel.Square(), step=10.0)
    state = learner.init(3)
    with pytest.raises(onkel.InputError, match="lower step"):
        learner.learn(state, 1e4 * X, y)
    assert state.rows == 0
    assert not state.weights.any()


def test_fogd_is_gradient_descent_on_its_features() -> None:
    X, y = stream()
    learner = onkel.FOGD(onkel.Fourier(count=20, width=1.5), onkel.Logistic(), step=0.5)
    kernel = onkel.NORMA(onkel.CustomKernel(_fourier_kernel), onkel.Logistic(), step=0.5, lam=0.0)
    assert np.allclose(learnt(learner, X[:80], y[:80])[1], learnt(kernel, X[:80], y[:80])[1], rtol=0.0, atol=1e-12)


def _fourier_kernel(A: Array, B: Array) -> Array:
    """The kernel of those features."""
    state = onkel.Fourier(count=20, width=1.5).init(3)
    a, b = A @ state.frequencies, B @ state.frequencies
    return np.asarray((np.cos(a) @ np.cos(b).T + np.sin(a) @ np.sin(b).T) / 20)


def test_memory_becomes_a_budget() -> None:
    for make in (
        lambda b: onkel.RBP(budget=b),
        lambda b: onkel.Forgetron(budget=b),
        lambda b: onkel.FORKS(budget=b),
        lambda b: onkel.BOGD(budget=b),
        lambda b: onkel.FOGD(onkel.Fourier(count=b)),
    ):
        budget = onkel.budget_for(make, nbytes=300_000, dim=5)
        assert onkel.nbytes(make(budget).init(5)) <= 300_000 < onkel.nbytes(make(budget + 1).init(5))
    with pytest.raises(onkel.InputError, match="raise nbytes"):
        onkel.budget_for(lambda b: onkel.RBP(budget=b), nbytes=10, dim=5)
    blocks = onkel.budget_for(lambda b: onkel.FORKS(budget=b, sketch=b, blocks=4), nbytes=300_000, dim=5)
    assert blocks % 4 == 0
    held, more = (onkel.FORKS(budget=b, sketch=b, blocks=4).footprint(5) for b in (blocks, blocks + 4))
    assert held <= 300_000 < more
    with pytest.raises(onkel.InputError, match="budget must be at least 2"):
        onkel.budget_for(lambda b: onkel.BOGD(budget=b), nbytes=20, dim=5)
    with pytest.raises(onkel.InputError, match="use its argument"):
        onkel.budget_for(lambda b: onkel.RBP(), nbytes=10**6, dim=5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: onkel.RBP(budget=0), "RBP: budget must be at least 1, got 0"),
        (lambda: onkel.BOGD(budget=1), "BOGD: budget must be at least 2, got 1"),
        (lambda: onkel.NORMA(step=2.0, lam=0.5), "NORMA: step times lam must be below 1, got 1"),
        (lambda: onkel.SkeGD(step=2.0, lam=0.5), "SkeGD: step times lam must be below 1"),
        (lambda: onkel.NOGD(budget=5, rank=6), "NOGD: rank must be at most budget, 5, got 6"),
        (lambda: onkel.FORKS(lam=2.0), "FORKS: lam must be at most alpha, 1, unless restart=True; got 2"),
        (lambda: onkel.FORKS(sketch=10, blocks=3), "FORKS: sketch must be a multiple of blocks, 3, got 10"),
        (lambda: onkel.FORKS(buffer=5, landmarks=6), "FORKS: landmarks must be at most buffer, 5, got 6"),
        (lambda: onkel.FORKS(sketch=5, landmarks=2, rank=6), "FORKS: rank must be at most sketch, 5, got 6"),
        (lambda: onkel.ProjectronPP(budget=None), "without a budget threshold must be positive, got 0; try threshold=0.1"),
        (lambda: onkel.Projectron(threshold=-1.0), "Projectron: threshold must be at least 0"),
    ],
)
def test_settings_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        make()
