"""The sketch, and the two learners on it: what stays true however many points join."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.features.sketch import Sketch, Sketching
from onkel.random import below, uniform
from tests.laws.cases import default_stream
from tests.oracle import forks, skegd

Array = NDArray[np.float64]

KERNEL = onkel.Gaussian(width=1.5)
UPDATES = 60 if compiler_off else 1000


def points(rows: int, dim: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(rows, dim))


def sketched(sketching: Sketching, X: Array, first: int, truncated: bool = True) -> Sketch:
    """The sketch of X, its first points at once and the others one by one."""
    state = sketching.init(X.shape[1])
    sketching.build(state, KERNEL, X[:first])
    for i in range(first, len(X)):
        sketching.join(state, KERNEL, X[:i], X[i], 1.0, truncated)
    return state


def matrix(sketching: Sketching, rows: int) -> Array:
    """S itself."""
    width, S = sketching.size // sketching.blocks, np.zeros((rows, sketching.size))
    for i in range(rows):
        for b in range(sketching.blocks):
            sign = 1.0 if uniform(sketching.seed, i, 2 + 2 * b) < 0.5 else -1.0
            S[i, b * width + below(sketching.seed, i, 1 + 2 * b, width)] = sign / np.sqrt(sketching.blocks)
    return S


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("blocks", [1, 4])
def test_after_many_updates_the_sketch_is_that_of_all_points(blocks: int, growing: bool) -> None:
    sketching = Sketching(40, landmarks=8, rank=8, blocks=blocks, growing=growing, room=UPDATES, seed=blocks)
    X = points(60 + UPDATES)
    state = sketched(sketching, X, 60)
    S, K = matrix(sketching, len(X)), KERNEL(X, X)
    m = state.width
    scale = np.abs(S.T @ K @ S).max()
    assert np.abs(state.pp - S.T @ K @ S).max() <= 1e-10 * scale
    assert np.abs(state.pm[:, :m] - S.T @ K[:, state.numbers[:m]]).max() <= 1e-10 * scale
    assert np.abs(state.vectors.T @ state.vectors - np.eye(8)).max() <= 1e-9
    assert np.linalg.eigvalsh(state.pp)[0] >= -1e-9 * scale
    assert np.array_equal(state.landmarks[:, :m].T, X[state.numbers[:m]])
    assert 8 < m <= 20 if growing else m == 8  # half of the columns, and no more
    assert m == 20 or not growing or UPDATES < 1000
    sketching.check(state, KERNEL, X)


def test_the_exact_rebuild_finds_what_truncation_lost() -> None:
    """After 50 updates V and Σ are the leading eigenpairs of Φ_pp; after 49 they are not quite."""
    sketching = Sketching(40, landmarks=8, rank=5, blocks=1, growing=False, room=60, seed=2)
    X = points(90)
    for updates, exact in ((49, False), (50, True)):
        state = sketched(sketching, X[: 40 + updates], 40)
        values = np.linalg.eigvalsh(state.pp)[::-1][:5]
        assert np.allclose(values, state.values, rtol=1e-10) == exact
        assert np.all(state.values <= values * (1.0 + 1e-10))


def test_a_map_of_everything_is_the_kernel() -> None:
    """Every point a landmark, no two of them in one column of S, all eigenpairs: φ(x)·φ(x') = k(x, x') on the points."""
    X = points(6)
    for seed in range(50):
        sketching = Sketching(60, landmarks=6, rank=6, blocks=1, growing=False, room=0, seed=seed)
        if np.all(np.abs(matrix(sketching, 6)).sum(axis=0) <= 1.0):
            state = sketched(sketching, X, 6)
            Phi = KERNEL(X, X[state.numbers]) @ state.map[:, : state.width].T
            assert np.allclose(Phi @ Phi.T, KERNEL(X, X), rtol=0.0, atol=1e-10)
            return
    raise AssertionError("no seed without a collision")


@pytest.mark.parametrize("kind", [onkel.FORKS, onkel.SkeGD])
def test_the_default_settings_agree_with_the_oracle_beyond_the_first_stage(kind: Any) -> None:
    rows = 700 if compiler_off else 1500
    learner = kind(period=200, budget=60)
    X, y, weight = default_stream(learner, rows=rows)
    state = learner.init(3)
    scores = learner.learn(state, X, y, weight)
    assert state.sketch.updates >= 1
    oracle = forks if kind is onkel.FORKS else skegd
    assert np.allclose(scores, oracle.scores(learner, X, y, weight), rtol=0.0, atol=1e-9)


def _stage_two(learner: Any, X: Array, y: Array) -> tuple[Any, int]:
    """The state at the start of stage 2, and the rows that took."""
    state, t = learner.init(X.shape[1]), 0
    while state.sketch.width == 0:
        learner.learn(state, X[t : t + 1], y[t : t + 1])
        t += 1
    return state, t


def _labelled(rows: int, seed: int = 1) -> tuple[Array, Array]:
    X = points(rows, seed=seed)
    return X, np.where(X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) >= 0.0, 1.0, -1.0)


def _basis(state: Any) -> onkel.Basis:
    """The features of a sketch, by themselves."""
    width = state.sketch.width
    landmarks, Z = state.sketch.landmarks[:, :width].T.copy(), state.sketch.map[:, :width].T.copy()
    return onkel.Basis(lambda X: KERNEL(X, landmarks) @ Z, gram=np.eye(Z.shape[1]))


def test_forks_is_the_newton_step_on_its_features() -> None:
    X, y = _labelled(400)
    sizes: dict[str, Any] = {"buffer": 40, "sketch": 30, "landmarks": 10, "rank": 8, "period": 10_000, "max_updates": 0}
    learner = onkel.FORKS(KERNEL, onkel.SquaredHinge(), **sizes, alpha=0.1, clip=1.0)
    state, t = _stage_two(learner, X, y)
    newton = onkel.NewtonFeatures(_basis(state), onkel.SquaredHinge(), alpha=0.1, clip=1.0, curvature=0.5)
    other = newton.init(3)
    other.coef[:] = state.coef
    assert np.allclose(learner.learn(state, X[t:], y[t:]), newton.learn(other, X[t:], y[t:]), rtol=0.0, atol=1e-9)


def test_skegd_without_updates_is_gradient_descent_on_fixed_features() -> None:
    X, y = _labelled(400)
    learner = onkel.SkeGD(KERNEL, buffer=40, sketch=30, landmarks=10, rank=8, max_updates=0, lam=0.0)
    state, t = _stage_two(learner, X, y)
    descent = onkel.FOGD(_basis(state), step=0.2)
    other = descent.init(3)
    other.weights[:] = state.weights
    assert np.allclose(learner.learn(state, X[t:], y[t:]), descent.learn(other, X[t:], y[t:]), rtol=0.0, atol=1e-9)


def test_a_reset_forgets_and_a_refit_does_not() -> None:
    """Right after an update FORKS that restarts knows the row of the update alone; FORKS that does not, and SkeGD, know what they
    knew, as far as the new map can say it."""
    X, y = _labelled(600)
    sizes: dict[str, Any] = {"buffer": 40, "sketch": 80, "landmarks": 16, "rank": 12, "period": 500}
    cases: list[tuple[Any, bool]] = [
        (onkel.FORKS(KERNEL, **sizes, clip=1e6, restart=True), True),
        (onkel.FORKS(KERNEL, **sizes, alpha=10.0), False),
        (onkel.SkeGD(KERNEL, **sizes), False),
    ]
    for learner, forgets in cases:
        state = learner.init(3)
        learner.learn(state, X[:500], y[:500])
        before = learner.predict(state, X)
        learner.learn(state, X[500:501], y[500:501])
        assert state.sketch.updates == 1
        after = learner.predict(state, X)
        if forgets:
            Phi = KERNEL(X, state.sketch.landmarks.T) @ state.sketch.map.T
            direction = Phi @ Phi[500]  # w is along φ of the row
            assert abs(np.corrcoef(after, direction)[0, 1]) > 1.0 - 1e-9
        else:
            assert np.linalg.norm(after - before) < 0.2 * np.linalg.norm(before)


def test_the_map_freezes_after_its_last_update() -> None:
    X, y = _labelled(800)
    learner = onkel.FORKS(KERNEL, buffer=40, sketch=30, landmarks=10, rank=8, period=50, max_updates=3)
    state = learner.init(3)
    learner.learn(state, X[:400], y[:400])
    assert state.sketch.updates == 3
    Z = state.sketch.map.copy()
    assert "no longer changes" in learner.notes(state)[0]
    learner.learn(state, X[400:], y[400:])
    assert np.array_equal(Z, state.sketch.map)


@pytest.mark.parametrize("restart", [True, False])
def test_resets_go_on_when_the_map_is_frozen(restart: bool) -> None:
    X, y = _labelled(1001)
    learner = onkel.FORKS(KERNEL, buffer=40, sketch=30, landmarks=10, rank=8, period=500, max_updates=1, restart=restart)
    state = learner.init(3)
    learner.learn(state, X[:1000], y[:1000])
    before, entropy = learner.predict(state, X), np.linalg.slogdet(state.matrix)[1]
    learner.learn(state, X[1000:], y[1000:])
    after, fresh = learner.predict(state, X), learner.alpha * np.eye(8)
    assert state.sketch.updates == 1
    assert np.linalg.matrix_rank(state.matrix.T @ state.matrix - fresh, tol=1e-9) <= 1  # A has seen one row at most
    assert np.linalg.slogdet(state.matrix)[1] < entropy
    assert (np.linalg.norm(after - before) < 0.5 * np.linalg.norm(before)) == (not restart)


_SMALL = onkel.FORKS(buffer=30, sketch=40, landmarks=10, rank=8, period=150)
SURVIVORS = [
    _SMALL,
    replace(_SMALL, loss=onkel.SquaredHinge(), growing_landmarks=True),
    replace(_SMALL, project_on_current=True, step_uses_old_matrix=True),
    replace(_SMALL, loss=onkel.Logistic(), lam=0.01, curvature=None),
    onkel.SkeGD(buffer=30, sketch=40, landmarks=10, rank=8, period=150),
]


def _spoiled(kind: str) -> tuple[Array, Array]:
    """A stream whose first half is not what a sketch would wish for."""
    X = points(1600, seed=1)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] >= 0.0, 1.0, -1.0)
    spoiled = X[:800]
    if kind == "near-duplicates":
        spoiled[:] = spoiled[0] + 1e-9 * spoiled
    elif kind == "constant":
        spoiled[:] = 1.0
    elif kind == "two points":
        spoiled[:] = np.where(np.random.default_rng(0).random((800, 1)) < 0.5, X[800], X[801])
    elif kind == "one class":
        y[:800] = 1.0
    elif kind == "constant columns":
        X[:, 1:] = 3.0
        y = np.where(X[:, 0] >= 0.0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("learner", SURVIVORS, ids=lambda learner: f"{type(learner).__name__}-{learner.loss}")
@pytest.mark.parametrize("kind", ["near-duplicates", "constant", "two points", "one class", "constant columns"])
def test_streams_that_break_a_sketch(learner: Any, kind: str) -> None:
    """It survives, with scores in bounds and a sound sketch; and it learns, where it has landmarks elsewhere than on a spot."""
    X, y = _spoiled(kind)
    state = learner.init(3)
    scores = learner.learn(state, X, y)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() < 20.0
    assert np.isfinite(state.sketch.map).all()
    learner.check(state)
    if kind in ("one class", "constant columns") or (learner.growing_landmarks and kind != "two points"):
        assert onkel.measure.mistakes(scores, y)[-400:].mean() < 0.3


def test_a_larger_sketch_sees_more_of_the_kernel() -> None:
    X = points(300)
    K = KERNEL(X, X)
    gaps = []
    for size in (20, 80, 320):
        sketching = Sketching(size, landmarks=size // 5, rank=size // 10, blocks=1, growing=False, room=0, seed=0)
        state = sketched(sketching, X, 300)
        Phi = K[:, state.numbers] @ state.map[:, : state.width].T
        gaps.append(np.linalg.norm(Phi @ Phi.T - K) / np.linalg.norm(K))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.1


def test_the_scale_of_the_sketch() -> None:
    """Rows of S have length 1 in any number of blocks."""
    X = points(30)
    for blocks in (1, 2, 5):
        sketching = Sketching(20, landmarks=30, rank=2, blocks=blocks, growing=False, room=0, seed=0)
        S = matrix(sketching, 30)
        assert np.allclose(np.sum(S * S, axis=1), 1.0)
        assert np.allclose(sketched(sketching, X, 30).pp, S.T @ KERNEL(X, X) @ S, rtol=0.0, atol=1e-12)


def test_the_sizes_that_the_theorem_asks_for() -> None:
    """Settings that FORKS accepts; γ falls like ln T/√T, and with it the error stays bounded by a power of ln T."""
    errors = []
    for rows in (10**3, 10**5, 10**7):
        sizes: dict[str, Any] = onkel.measure.bounds.forks_sizes(rows, rank=8, budget=100)
        learner = onkel.FORKS(**sizes)
        assert (learner.landmarks, learner.period) == (17, int(0.3 * (rows - 100)))
        ratio = sizes["landmarks"] / sizes["sketch"]
        assert ratio <= np.log(rows) / np.sqrt(rows)
        errors.append(onkel.measure.bounds.forks_error(ratio, rows) / np.log(rows) ** 2)
    assert max(errors) < 500.0
    assert onkel.measure.bounds.forks_sizes(10**4, rank=1, budget=50)["landmarks"] == 1
    large: dict[str, Any] = onkel.measure.bounds.forks_sizes(10**4, rank=50, budget=50)
    assert onkel.FORKS(**large).buffer == large["landmarks"] == 196
    with pytest.raises(onkel.InputError, match="coherence"):
        onkel.measure.bounds.forks_sizes(10**4, rank=5, budget=50, coherence=-1.0)
