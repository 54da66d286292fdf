"""The growing Cholesky factor, KORS and uniform sampling, and the features of a dictionary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel import Gaussian, Kors, Linear, Nystroem, PKAWVNystroem, Polynomial, Uniform
from onkel.dictionary.dictionary import probability
from onkel.linalg.cholesky import append, dense, independent, is_factor, packed, solve, solve_transposed, with_row
from onkel.measure import bounds

Array = NDArray[np.float64]


class TestCholesky:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 40), st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1.0, 1e6]))
    def test_appended_equals_scratch(self, size: int, seed: int, ridge: float) -> None:
        B = np.random.default_rng(seed).normal(size=(size, 5))
        M = B @ B.T + ridge * np.eye(size)
        L = np.empty(packed(size))
        for i in range(size):
            l = M[i, :i].copy()
            solve(L, i, l)
            append(L, i, l, math.sqrt(M[i, i] - float(l @ l)))
        scale = np.sqrt(np.outer(np.diag(M), np.diag(M))) if size else np.empty((0, 0))
        assert np.all(np.abs(dense(L, size) @ dense(L, size).T - M) <= 1e-13 * scale)
        assert is_factor(L, size, np.diag(M), lambda a, b: M[a:b])

    @settings(max_examples=30, deadline=None)
    @given(st.integers(1, 30), st.integers(0, 2**32 - 1))
    def test_solves(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        square = np.tril(rng.normal(size=(size, size)), -1) / math.sqrt(size) + np.diag(rng.uniform(1.0, 2.0, size))
        L, v = square[np.tril_indices(size)], rng.normal(size=size)
        forward, backward = v.copy(), v.copy()
        solve(L, size, forward)
        solve_transposed(L, size, backward)
        assert np.abs(square @ forward - v).max() <= 1e-12
        assert np.abs(square.T @ backward - v).max() <= 1e-12

    def test_with_row_copies(self) -> None:
        first = with_row(np.empty(0), 0, np.empty(0), 2.0)
        second = with_row(first, 1, np.array([3.0]), 4.0)
        assert dense(second, 2).tolist() == [[2.0, 0.0], [3.0, 4.0]]
        assert first.tolist() == [2.0]

    def test_a_factor_of_something_else_is_noticed(self) -> None:
        def factors(L: Array, M: Array) -> bool:
            return is_factor(L, 2, np.diag(M), lambda a, b: M[a:b])

        K = np.array([[2.0, 1.0], [1.0, 2.0]])
        L = np.asarray(np.linalg.cholesky(K + 0.5 * np.eye(2))[np.tril_indices(2)], np.float64)
        assert factors(L, K)  # a ridge is allowed
        assert not factors(L, K + np.eye(2))
        assert not factors(L, K - 0.5 * np.array([[0.0, 1.0], [1.0, 0.0]]))
        assert not factors(-L, K)
        assert not factors(L[:2], K)

    def test_dependent_rows_are_left_out(self) -> None:
        X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
        kept, L = independent(X @ X.T)
        assert kept.tolist() == [0, 2]
        assert np.array_equal(dense(L, 2), np.eye(2))


def eq_4(K: Array, k: Array, own: float, weights: Array, mu: float, accuracy: float) -> float:
    """τ̃ as the paper has it: the dictionary bordered with x at weight 1, then (1 + ε)/μ (k(x, x) − k_Sᵀ(S K S + μI)⁻¹k_S)."""
    bordered = np.block([[K, k[:, None]], [k[None, :], np.array([[own]])]])
    s = np.append(weights, 1.0)
    kS = s * np.append(k, own)
    return float((1.0 + accuracy) / mu * (own - kS @ np.linalg.solve(s[:, None] * bordered * s + mu * np.eye(len(s)), kS)))


class TestKors:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 10.0]), st.floats(0.05, 0.95))
    def test_closed_form_equals_equation_4_and_the_factor_is_that_of_scratch(self, seed: int, mu: float, accuracy: float) -> None:
        rng = np.random.default_rng(seed)
        X, kernel = rng.normal(size=(25, 2)), Gaussian(width=1.0)
        kors = Kors(mu, accuracy, oversampling=1.0)
        state, points = kors.init(), X[:0]
        for x in X:
            k, own = kernel(points, x[None])[:, 0] if len(points) else np.empty(0), 1.0
            K = kernel(points, points) if len(points) else np.empty((0, 0))
            p = probability(kors.sampling(state, len(k)), k, own, np.empty(len(k)))
            assert p == pytest.approx(min(eq_4(K, k, own, state.weights, mu, accuracy), 1.0), rel=1e-12)
            if rng.random() < p:
                state, points = kors.joined(state, k, own), np.vstack([points, x])
                assert state.weights[-1] == pytest.approx(p**-0.5, rel=1e-15)
                SKS = state.weights[:, None] * kernel(points, points) * state.weights
                scratch = np.linalg.cholesky(SKS + mu * np.eye(len(points)))
                assert np.abs(dense(state.factor, len(points)) - scratch).max() <= 1e-12 * scratch.max()

    @pytest.mark.parametrize("copies", [0, 1, 3, 10])
    @pytest.mark.parametrize(("mu", "accuracy"), [(1.0, 0.5), (0.3, 0.1)])
    def test_copies_of_weight_1(self, copies: int, mu: float, accuracy: float) -> None:
        """With c stored copies of x and k(x, x) = 1, τ̃ = (1 + ε)/(1 + c + μ)."""
        kors = Kors(mu, accuracy)
        certain = Kors(mu, accuracy, oversampling=1e30)
        state = kors.init()
        for c in range(copies):
            state = certain.joined(state, np.ones(c), 1.0)
        assert np.all(state.weights == 1.0)
        p = probability(kors.sampling(state, copies), np.ones(copies), 1.0, np.empty(copies))
        assert p == pytest.approx(min((1.0 + accuracy) / (1.0 + copies + mu), 1.0), rel=1e-12)

    def test_a_huge_oversampling_takes_every_point_with_weight_1(self) -> None:
        X = np.random.default_rng(0).normal(size=(60, 3))
        learner = PKAWVNystroem(dictionary=Kors(oversampling=1e30))
        state = learner.init(3)
        learner.learn(state, X, X[:, 0])
        assert np.array_equal(state.span.points, X)
        assert np.array_equal(state.span.sampling.weights, np.ones(60))

    @pytest.mark.once
    def test_a_smaller_mu_keeps_more(self) -> None:
        X = np.random.default_rng(1).uniform(-1.0, 1.0, (2000, 2))
        sizes = [len(Kors(mu=mu).choose(Gaussian(width=0.5), X)) for mu in (10.0, 1.0, 0.1)]
        assert sizes == sorted(sizes)
        assert sizes[0] < 0.5 * sizes[-1]

    @pytest.mark.long
    def test_the_guarantee(self) -> None:
        """β = 3 ln(4T²/δ)/ε²: (1 − ε)A ⪯ A^I ⪯ (1 + ε)A at every checked round of at least 95 of 100 runs."""
        rounds, accuracy, delta, mu, dim = 5000, 0.5, 0.05, 1.0, 2
        kors = Kors(mu, accuracy, bounds.oversampling(rounds, delta, accuracy))
        kept, sizes, worst = 0, [], []
        for seed in range(100):
            X = np.random.default_rng(seed).normal(size=(rounds, dim)) * np.array([1.0, 0.3])
            assert onkel.measure.effective_dimension(onkel.Identity(), X, mu) <= 5.0
            taken, weights = replayed(kors, Linear(), X, seed)
            sizes.append(len(taken))
            off = deviation(X, taken, weights, mu, every=50)
            worst.append(off)
            kept += off <= accuracy
        print(
            f"\nKORS, β = {kors.oversampling:.0f}: {kept} of 100 runs within ε = {accuracy}; median {np.median(worst):.3f}, "
            f"largest {max(worst):.3f}; {np.mean(sizes):.0f} of {rounds} points kept, at most {max(sizes)}"
        )
        assert kept >= 95
        assert max(sizes) < rounds / 2

    @pytest.mark.once
    def test_the_guarantee_on_a_few_short_streams(self) -> None:
        """The same as the long test, where p < 1 soon; and a fortieth of what the theory asks for does not do."""
        rounds, mu = 1500, 1.0
        off = {}
        for oversampling in (3.0, bounds.oversampling(rounds, 0.05)):
            kors = Kors(mu, 0.5, oversampling)
            runs = []
            for seed in range(5):
                X = np.random.default_rng(seed).normal(size=(rounds, 1))
                taken, weights = replayed(kors, Linear(), X, seed)
                assert len(taken) < rounds / 2 + 250
                runs.append(deviation(X, taken, weights, mu, every=10))
            off[oversampling] = max(runs)
        assert off[bounds.oversampling(rounds, 0.05)] <= 0.5 < off[3.0]


def replayed(kors: Kors, kernel: onkel.kernels.Kernel, X: Array, seed: int) -> tuple[Array, Array]:
    """The rows that KORS takes and their weights 1/√p, as `PKAWVNystroem` would (its sampling does not see the labels)."""
    points = kors.choose(kernel, X, seed=seed)
    taken, at = [], 0
    for point in points:
        while not np.array_equal(X[at], point):
            at += 1
        taken.append(at)
        at += 1
    state = kors.init()
    K = kernel(points, points)
    for i in range(len(points)):
        state = kors.joined(state, K[i, :i], K[i, i])
    return np.array(taken), state.weights


def deviation(X: Array, taken: Array, weights: Array, mu: float, every: int) -> float:
    """The largest |eigenvalue of A^{-½}(A^I − A)A^{-½}| over the checked rounds, for the linear kernel."""
    dim, largest = X.shape[1], 0.0
    share = np.zeros(len(X))
    share[taken] = weights**2
    for t in range(every, len(X) + 1, every):
        A = X[:t].T @ X[:t] + mu * np.eye(dim)
        AI = (X[:t].T * share[:t]) @ X[:t] + mu * np.eye(dim)
        L = np.linalg.cholesky(A)
        gap = np.linalg.solve(L, np.linalg.solve(L, AI - A).T)
        largest = max(largest, float(np.abs(np.linalg.eigvalsh((gap + gap.T) / 2)).max()))
    return largest


class TestChoose:
    @pytest.mark.once
    @pytest.mark.parametrize("dictionary", [Kors(mu=0.5), Uniform(0.05), Kors(mu=0.1, oversampling=3.0)])
    def test_beforehand_equals_on_the_way(self, dictionary: onkel.dictionary.Dictionary) -> None:
        X = np.random.default_rng(2).normal(size=(500, 2))
        learner = PKAWVNystroem(Gaussian(width=1.0), dictionary=dictionary, seed=4)
        state = learner.init(2)
        learner.learn(state, X, X[:, 0])
        assert np.array_equal(dictionary.choose(Gaussian(width=1.0), X, seed=4), state.span.points)

    @pytest.mark.once
    def test_budget_seed_and_rate(self) -> None:
        X, kernel = np.random.default_rng(3).normal(size=(4000, 8)), Gaussian(width=1.0)
        assert len(Kors(mu=0.01).choose(kernel, X, budget=17)) == 17
        few = Uniform(0.1).choose(kernel, X, seed=1)
        assert 320 <= len(few) <= 480  # 400 ± 4 deviations
        assert not np.array_equal(few[:50], Uniform(0.1).choose(kernel, X, seed=2)[:50])
        assert len(Uniform(0.0).choose(kernel, X)) == 0

    def test_copies_are_chosen_once_where_the_rule_has_no_use_for_them(self) -> None:
        X = np.repeat(np.random.default_rng(4).normal(size=(3, 2)), 20, axis=0)
        learner = PKAWVNystroem(Gaussian(width=1.0), dictionary=Uniform(0.5))
        state = learner.init(2)
        learner.learn(state, X, X[:, 0])
        points = Uniform(0.5).choose(Gaussian(width=1.0), X)
        assert len(points) == 3
        assert np.array_equal(points, state.span.points)

    def test_bad_inputs(self) -> None:
        with pytest.raises(onkel.InputError, match="X holds nan at row 0"):
            Kors().choose(Gaussian(), [[np.nan]])
        bad: list[dict[str, Any]] = [{"seed": -1}, {"seed": 0.5}, {"budget": 0}, {"budget": -3}]
        for wrong in bad:
            with pytest.raises(onkel.InputError, match="seed must be a whole number, at least 0"):
                Kors().choose(Gaussian(), [[1.0]], **wrong)
        with pytest.raises(onkel.InputError, match="Kors: mu must be at least 1e-12, got 0"):
            Kors(mu=0.0)
        with pytest.raises(onkel.InputError, match="Uniform: rate must be at most 1, got 2"):
            Uniform(2.0)


class TestNystroemFeatures:
    def test_they_are_the_projected_kernel(self) -> None:
        """z(x)·z(x') = k_xᵀK⁻¹k_x', and on the points themselves the kernel."""
        rng = np.random.default_rng(5)
        points, X, kernel = rng.normal(size=(12, 2)), rng.normal(size=(40, 2)), Polynomial(degree=2) + Gaussian(width=0.7)
        z = Nystroem(kernel, points)
        Z = np.empty((40, z.size(2)))
        z.write(z.init(2), X, np.ones(40), Z, 0)
        Kx = kernel(X, points)
        assert np.abs(Z @ Z.T - Kx @ np.linalg.solve(kernel(points, points), Kx.T)).max() <= 1e-9
        own = np.empty((12, 12))
        z.write(z.init(2), points, np.ones(12), own, 0)
        assert np.abs(own @ own.T - kernel(points, points)).max() <= 1e-9

    def test_points_that_are_alike_are_left_out(self) -> None:
        points = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1e-9]])
        assert Nystroem(Gaussian(), points).size(2) == 2

    def test_refusals(self) -> None:
        with pytest.raises(onkel.InputError, match=r"its points have 2 columns, X has 3"):
            Nystroem(Gaussian(), [[0.0, 1.0]]).init(3)
        for points in ([[0.0, 0.0]], np.empty((0, 2))):
            with pytest.raises(onkel.InputError, match="at least one row"):
                Nystroem(Linear(), points)
        with pytest.raises(onkel.InputError, match="points holds nan"):
            Nystroem(Gaussian(), [[np.nan]])

    def test_inputs_known_beforehand(self) -> None:
        """Corollary 8: a dictionary from the inputs, then PKAWV on it: that of the whole stream is KernelAWV itself."""
        X, y = onkel.data.smooth(150, seed=9)
        kernel = Gaussian(width=1.0)
        points = Kors(mu=1e-3, oversampling=1e6).choose(kernel, X)
        learner, exact = onkel.PKAWV(Nystroem(kernel, points)), onkel.KernelAWV(kernel)
        scores = learner.learn(learner.init(X.shape[1]), X, y)
        assert np.abs(scores - exact.learn(exact.init(X.shape[1]), X, y)).max() <= 1e-7
