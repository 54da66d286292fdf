"""The Newton family: the forms agree, the coins are fair, the steps are the paper's, the limits are met."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import KONS, NewtonFeatures, ProsNKONS, SketchedKONS
from onkel.losses import Loss
from onkel.measure.newton_regret import play

Array = NDArray[np.float64]

LOSSES: tuple[Loss, ...] = (
    onkel.Square(),
    onkel.SquaredHinge(),
    onkel.Logistic(),
    onkel.Hinge(),
    onkel.EpsilonInsensitive(0.1),
    onkel.SquaredEpsilonInsensitive(0.1),
)
KERNEL = onkel.Polynomial(degree=2, offset=1.0)


def stream(loss: Loss, rows: int = 150, dim: int = 3, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim)) / math.sqrt(dim)
    X[rows // 2 :: 7] = X[: len(X[rows // 2 :: 7])]  # some rows come again
    y = np.clip(X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=rows), -1.0, 1.0)
    return X, y if "regression" in loss.tasks else np.where(y >= 0.0, 1.0, -1.0)


def quadratic(X: Array) -> Array:
    """The features of (x·z + 1)²."""
    n, d = X.shape
    pairs = [X[:, i] * X[:, j] * (1.0 if i == j else math.sqrt(2.0)) for i in range(d) for j in range(i, d)]
    return np.column_stack([np.ones(n), math.sqrt(2.0) * X, *pairs])


def explicit(Z: Array, y: Array, loss: Loss, alpha: float, clip: float, eta: Any, coins: Array | None = None) -> tuple[Array, int]:
    """The online Newton step of the paper's eq. 1, in explicit features: the scores, and how often it projected."""
    A, u = alpha * np.eye(Z.shape[1]), np.zeros(Z.shape[1])
    scores, projected = np.empty(len(y)), 0
    for t, z in enumerate(Z):
        score = z @ u
        h = math.copysign(max(abs(score) - clip, 0.0), score)
        projected += h != 0.0
        w = u - h / (z @ np.linalg.solve(A, z)) * np.linalg.solve(A, z)
        scores[t] = score - h
        g = float(loss.derivative(scores[t], y[t])[0])
        A = A + (1.0 if coins is None else coins[t]) * eta(t + 1) * g * g * np.outer(z, z)
        u = w - np.linalg.solve(A, g * z)
    return scores, projected


def run(learner: Any, X: Array, y: Array) -> tuple[Any, Array]:
    state = learner.init(X.shape[1])
    return state, learner.learn(state, X, y)


class TestForms:
    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_by_coefficients_equals_explicit(self, loss: Loss) -> None:
        """KONS = the online Newton step on the kernel's features, the projection at work, rounds without slope among them."""
        X, y = stream(loss)
        clip = 0.5 if "regression" in loss.tasks else 0.8
        learner = KONS(KERNEL, loss, alpha=0.3, clip=clip, curvature=0.7)
        _, scores = run(learner, X, y)
        expected, projected = explicit(quadratic(X), y, loss, 0.3, clip, lambda t: 0.7)
        assert projected > 5
        assert np.abs(scores - expected).max() <= 1e-10
        slopes = play(learner, X, y).slopes
        assert np.any(slopes == 0.0) == (type(loss) in (onkel.EpsilonInsensitive, onkel.SquaredEpsilonInsensitive))

    @pytest.mark.parametrize("loss", [onkel.Hinge(), onkel.SquaredHinge()], ids=repr)
    def test_margins_without_slope(self, loss: Loss) -> None:
        """With a clip beyond 1 the hinge has rounds without slope, which must not be divided by."""
        X, y = stream(loss)
        learner = KONS(KERNEL, loss, alpha=0.1, clip=1.5, curvature=0.05)
        state, scores = run(learner, X, y)
        expected, projected = explicit(quadratic(X), y, loss, 0.1, 1.5, lambda t: 0.05)
        assert np.abs(scores - expected).max() <= 1e-10
        assert projected > 5
        assert state.taken < len(y)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_features_equal_coefficients(self, loss: Loss) -> None:
        X, y = stream(loss)
        _, primal = run(NewtonFeatures(onkel.Identity(), loss, alpha=0.4, clip=0.5), X, y)
        _, dual = run(KONS(onkel.Linear(), loss, alpha=0.4, clip=0.5), X, y)
        assert np.abs(primal - dual).max() <= 1e-10

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_same_coins_equal_explicit(self, loss: Loss, weighted: bool) -> None:
        X, y = stream(loss)
        learner = SketchedKONS(KERNEL, loss, 0.3, 0.5, curvature=0.7, floor=0.2, oversampling=0.5, weighted=weighted, seed=5)
        played = play(learner, X, y)
        slope2 = np.where(played.slopes != 0.0, played.slopes**2, 1.0)
        coins = played.added / (0.7 * slope2)
        taken = coins[played.slopes != 0.0]
        assert np.any(taken == 0.0)
        assert np.any(taken >= 1.0)
        assert np.any(taken > 1.01) == weighted
        expected, projected = explicit(quadratic(X), y, loss, 0.3, 0.5, lambda t: 0.7, coins)
        assert projected > 0
        assert np.abs(played.scores - expected).max() <= 1e-10

    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_floor_of_1_is_kons(self, weighted: bool) -> None:
        X, y = stream(onkel.Logistic())
        _, exact = run(KONS(loss=onkel.Logistic()), X, y)
        _, sketched = run(SketchedKONS(loss=onkel.Logistic(), floor=1.0, weighted=weighted), X, y)
        assert np.array_equal(exact, sketched)

    def test_no_coin_is_gradient_descent(self) -> None:
        """z ≡ 0: A stays αI, and the step is 1/α."""
        X, y = stream(onkel.Logistic())
        learner = SketchedKONS(KERNEL, onkel.Logistic(), alpha=4.0, clip=100.0, floor=1e-12, oversampling=0.0)
        state, scores = run(learner, X, y)
        u, expected = np.zeros(10), np.empty(len(y))
        for t, z in enumerate(quadratic(X)):
            expected[t] = z @ u
            u -= float(onkel.Logistic().derivative(expected[t], y[t])[0]) * z / 4.0
        assert state.taken == 0
        assert np.abs(scores - expected).max() <= 1e-10

    def test_without_a_clip_nothing_is_projected(self) -> None:
        X, y = stream(onkel.Square())
        _, scores = run(KONS(KERNEL, alpha=0.1, clip=1e6, curvature=0.1), X, y)
        expected, projected = explicit(quadratic(X), y, onkel.Square(), 0.1, 1e6, lambda t: 0.1)
        assert projected == 0
        assert np.abs(scores).max() > 1.0
        assert np.abs(scores - expected).max() <= 1e-10

    def test_nothing_lost_nothing_learnt(self) -> None:
        X, _ = stream(onkel.Square())
        state, scores = run(KONS(loss=onkel.EpsilonInsensitive(0.5)), X, np.full(len(X), 0.4))
        assert np.all(scores == 0.0)
        assert (state.size, state.taken, state.rows) == (0, 0, len(X))


class TestSteps:
    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_the_weight_of_a_gradient(self, loss: Loss) -> None:
        """η = σ, or √d/(LC√t) for a loss without curvature."""
        X, y = stream(loss, rows=60)
        learner = KONS(KERNEL, loss, clip=0.9, dimension=4.0)
        played = play(learner, X, y)
        sigma, L = loss.curvature(0.9, 0.9), loss.lipschitz(0.9, 0.9)
        assert np.abs(played.slopes).max() <= L * (1.0 + 1e-12)
        eta = np.full(60, sigma) if sigma > 0.0 else 2.0 / (L * 0.9 * np.sqrt(np.arange(1, 61)))
        expected, _ = explicit(quadratic(X), y, loss, 1.0, 0.9, lambda t: eta[t - 1])
        assert np.abs(played.scores - expected).max() <= 1e-10
        assert np.allclose(played.added, eta * played.slopes**2, rtol=1e-12)

    def test_half_the_curvature_in_a_chosen_span(self) -> None:
        """ProsNKONS has η = σ/2 where it is not told."""
        X, y = stream(onkel.Logistic())
        sigma = onkel.Logistic().curvature(1.0)
        _, own = run(ProsNKONS(loss=onkel.Logistic(), seed=3), X, y)
        _, told = run(ProsNKONS(loss=onkel.Logistic(), curvature=0.5 * sigma, seed=3), X, y)
        assert np.array_equal(own, told)

    @pytest.mark.once
    @pytest.mark.parametrize("kind", [KONS, SketchedKONS, ProsNKONS, NewtonFeatures])
    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_scores_stay_within_the_clip(self, kind: Any, loss: Loss) -> None:
        X, y = stream(loss)
        learner = kind(loss=loss, alpha=1e-3, clip=0.3)
        state, scores = run(learner, X, y)
        ahead = learner.predict(state, 3.0 * X)
        assert np.abs(scores).max() <= 0.3
        assert np.abs(ahead).max() <= 0.3
        assert np.abs(scores).max() > 0.299


class TestCoins:
    @pytest.mark.once
    def test_weighted_is_unbiased(self) -> None:
        """E[z/p] = 1 in a round whose p is far from 0 and 1, over 3,000 seeds, to four standard deviations."""
        X, y = np.ones((6, 1)), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
        learner = SketchedKONS(onkel.Linear(), alpha=4.0, floor=0.25, oversampling=0.1, weighted=True)
        coins = []
        for seed in range(3000):
            played = play(replace(learner, seed=seed), X, y)
            coins.append(played.added[-1] / (onkel.Square().curvature(1.0) * played.slopes[-1] ** 2))
        assert set(np.unique(np.round(coins, 6))) == {0.0, 4.0}
        assert abs(np.mean(coins) - 1.0) <= 4.0 * np.std(coins) / math.sqrt(len(coins))

    @pytest.mark.once
    def test_a_smaller_floor_takes_fewer(self) -> None:
        X, y = onkel.data.rings(600, seed=0)
        taken = [run(SketchedKONS(loss=onkel.Logistic(), floor=floor), X, y)[0].taken for floor in (0.8, 0.4, 0.1, 1e-3)]
        assert taken == sorted(taken, reverse=True)
        assert 0.7 * 600 < taken[0] < 0.9 * 600
        assert taken[-1] < 0.2 * 600


class TestChosenSpan:
    def filled(self, X: Array, y: Array, **settings: Any) -> tuple[ProsNKONS, Any]:
        """A learner whose dictionary holds all rows of X, which it has otherwise forgotten: the last one to join restarted it."""
        learner = ProsNKONS(dictionary=onkel.Uniform(rate=1.0), budget=len(X), restart=True, **settings)
        state = learner.init(X.shape[1])
        learner.learn(state, X, y)
        assert len(state.span.points) == len(X)
        return learner, state

    @pytest.mark.parametrize("loss", [onkel.Square(), onkel.SquaredHinge(), onkel.Logistic()], ids=repr)
    def test_a_complete_dictionary_is_kons(self, loss: Loss) -> None:
        X, y = stream(loss, seed=1)
        kernel, curvature = onkel.Laplacian(width=1.0), loss.curvature(0.4, 0.4)
        settings: dict[str, Any] = {"kernel": kernel, "loss": loss, "alpha": 0.05, "clip": 0.4}
        learner, state = self.filled(X[:60], y[:60], curvature=curvature, **settings)
        rows = np.random.default_rng(0).integers(0, 60, 200)  # the same rows again, in another order, some often
        scores = learner.learn(state, X[rows], y[rows])
        _, exact = run(KONS(**settings), X[rows], y[rows])
        assert np.sum(np.abs(exact) == 0.4) > 5
        assert np.abs(scores - exact).max() <= 1e-10

    def test_another_embedding_gives_the_same(self) -> None:
        """Σ⁻¹Uᵀk_I of the eigenvectors of K_II, in place of L⁻¹k_I: A starts at αI, which no rotation changes."""
        X, y = stream(onkel.Logistic(), seed=2)
        kernel = onkel.Laplacian(width=1.5)
        learner, state = self.filled(X[:20], y[:20], kernel=kernel, loss=onkel.Logistic(), alpha=0.2, clip=0.8, curvature=0.3)
        scores = learner.learn(state, X, y)
        values, U = np.linalg.eigh(kernel(X[:20], X[:20]))
        Z = kernel(X, X[:20]) @ U / np.sqrt(values)
        expected, projected = explicit(Z, y, onkel.Logistic(), 0.2, 0.8, lambda t: 0.3)
        assert projected > 0
        assert np.abs(scores - expected).max() <= 1e-10

    @pytest.mark.once
    def test_kept_through_a_switch(self) -> None:
        """Without a restart, the function is the same before and after a point joins; with one it is 0."""
        X, y = onkel.data.rings(400, seed=0)
        grid = np.random.default_rng(0).uniform(-3.0, 3.0, (200, 2))
        switches = 0
        for restart in (False, True):
            learner = ProsNKONS(loss=onkel.Logistic(), clip=50.0, dictionary=onkel.Kors(mu=0.5), restart=restart)
            state = learner.init(2)
            for t in range(400):
                points = len(state.span.points)
                closed = replace(learner, budget=max(points, 1))  # the same round, but no point may join
                before, after = closed.init(2), state
                if points:
                    before = onkel.state.filled(state, {name: np.copy(v) for name, v, _ in onkel.state.leaves(state)})
                    closed.learn(onkel.state.owned(closed, before), X[t : t + 1], y[t : t + 1])
                learner.learn(after, X[t : t + 1], y[t : t + 1])
                if points and len(after.span.spanning) > len(before.span.spanning):
                    switches += 1
                    f, g = closed.predict(before, grid), learner.predict(after, grid)
                    assert np.abs(f).max() > 0.0
                    assert np.abs(f - g).max() <= 1e-10 if not restart else np.all(g == 0.0)
        assert switches > 40

    def test_curvature_is_kept_too(self) -> None:
        """Without a restart the matrix holds every gradient since the first point joined, with one those since the last."""
        X, y = onkel.data.rings(300, seed=1)
        learner = ProsNKONS(loss=onkel.Logistic(), dictionary=onkel.Kors(mu=0.5), restart=False)
        (kept, _), (restarted, _) = (run(replace(learner, restart=restart), X, y) for restart in (False, True))
        assert restarted.restarts == kept.restarts > 10
        gained = [float(np.trace(state.matrix.T @ state.matrix)) - len(state.matrix) for state in (kept, restarted)]
        assert gained[0] > 3.0 * gained[1] > 0.0


class TestLimits:
    @pytest.mark.parametrize("kind", [KONS, SketchedKONS])
    def test_copies_without_end(self, kind: Any) -> None:
        """α keeps the factor whole where every row is the same."""
        X, y = np.ones((300, 2)), np.where(np.arange(300) % 2 == 0, 1.0, -1.0)
        state, scores = run(kind(), X, y)
        assert np.all(np.isfinite(scores))
        assert np.abs(scores[-50:]).max() < 0.2
        kind().check(state)

    @pytest.mark.once
    def test_memory_is_that_of_the_points_taken(self) -> None:
        """However the stream is cut: 3,000 rows in one call reserve nothing for those that are not taken."""
        X, y = onkel.data.rings(3000, seed=0)
        learner, sizes = SketchedKONS(loss=onkel.Logistic(), floor=1e-12), set()
        for cut in (1, 100, 3000):
            state = learner.init(2)
            for t in range(0, 3000, cut):
                learner.learn(state, X[t : t + cut], y[t : t + cut])
            sizes.add(onkel.nbytes(state))
        points, triangle = 8 * 2 * 3 * 3000, 8 * 2 * 2 * state.taken * (state.taken + 1) // 2
        assert len(sizes) == 1
        assert state.taken < 200
        assert sizes.pop() <= points + triangle + 2000

    def test_alpha_lost_beside_the_kernel_is_raised_and_told(self) -> None:
        X, y = stream(onkel.Square(), rows=40)
        learner = KONS(onkel.Polynomial(degree=6), alpha=1e-9, clip=1.0)
        state, scores = run(learner, 1e3 * X, y)
        assert np.all(np.isfinite(scores))
        assert state.raised > 0
        assert any("rescale X, or raise alpha" in note for note in learner.notes(state))

    def test_the_dictionary_is_full_and_says_so(self) -> None:
        X, y = onkel.data.rings(500, seed=0)
        learner = ProsNKONS(budget=10)
        state, _ = run(learner, X, y)
        assert len(state.span.points) == 10
        assert learner.notes(state) == ["the dictionary is full: 10 points; it keeps learning with them (raise budget, or mu)"]


# labels that do not suit the clip

EVERY_CLIP = [
    onkel.KONS(),
    onkel.SketchedKONS(),
    onkel.ProsNKONS(),
    onkel.NewtonFeatures(),
    onkel.FORKS(loss=onkel.Square(), budget=10, clip=1.0),
]


@pytest.mark.parametrize("learner", EVERY_CLIP, ids=lambda learner: type(learner).__name__)
def test_labels_beyond_the_clip_are_counted(learner: Any) -> None:
    rng = np.random.default_rng(4)
    X, y, weight = rng.normal(size=(120, 2)), rng.uniform(-0.9, 0.9, 120), np.ones(120)
    y[[50, 60, 70, 80]], weight[80] = [3.0, -2.0, 1.5, 9.0], 0.0
    state = learner.init(2)
    learner.learn(state, X[:40], y[:40])
    assert not learner.notes(state)
    for t in range(40, 120, 16):
        learner.learn(state, X[t : t + 16], y[t : t + 16], weight[t : t + 16])
        learner.predict(state, X)
    assert [note for note in learner.notes(state) if note.startswith("3 labels were beyond clip=1, the largest at 3:")]
    learner.check(state)
    state.met[0] = 121.0
    with pytest.raises(onkel.InputError, match="its statistics of the labels"):
        learner.check(state)


@pytest.mark.parametrize("learner", EVERY_CLIP, ids=lambda learner: type(learner).__name__)
def test_labels_far_below_the_clip_are_noted(learner: Any) -> None:
    rng = np.random.default_rng(5)
    state = learner.init(2)
    learner.learn(state, rng.normal(size=(60, 2)), 1e-49 * rng.uniform(0.5, 1.0, 60))
    assert [note for note in learner.notes(state) if "far below clip=1" in note]


@pytest.mark.once
@pytest.mark.parametrize("power", [-166, 160])  # of two, so that labels keep their bits
@pytest.mark.parametrize("learner", EVERY_CLIP[:4], ids=lambda learner: type(learner).__name__)
def test_scores_scale_with_labels_and_clip(learner: Any, power: int) -> None:
    rng, unit = np.random.default_rng(8), 2.0**power
    X, y = rng.normal(size=(100, 2)), rng.uniform(-1.0, 1.0, 100)
    scaled = dataclasses.replace(learner, clip=unit)
    scores = scaled.learn(scaled.init(2), X, unit * y) / unit
    assert scores == pytest.approx(learner.learn(learner.init(2), X, y), rel=1e-9, abs=1e-9)
