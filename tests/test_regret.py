"""Regret, effective dimension, the bounds on 200 streams, their conditions, and the adversary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import Gaussian, KernelAWV, Kors, Linear, Nystroem, PKAWVNystroem, Polynomial, Taylor
from onkel.measure import adversaries, best_in_hindsight, bounds, log_det, projection_error, spectrum
from papers.jezequel2019.bounds import checks, stream, streams
from tests.repetition import others_are_long

Array = NDArray[np.float64]

ALL = streams()
SOME = [(kind, seed) for kind, seed in ALL if seed < 9]  # of each kind every width with every ridge


@pytest.mark.once
@pytest.mark.parametrize(("kind", "seed"), others_are_long(ALL, SOME))
def test_every_bound_holds(kind: str, seed: int) -> None:
    found = list(checks(stream(kind, seed)))
    assert len(found) == 17
    for check in found:
        assert check.measured <= check.allowed * (1.0 + 1e-9), check


def test_there_are_200_streams_and_some_bounds_are_nearly_met() -> None:
    assert len(set(ALL)) == 200
    first = next(iter(checks(stream("alternating", 6))))
    assert 0.95 * first.allowed < first.measured  # two points that contradict themselves, λ = 10: the proof loses little


class TestRegret:
    X, y = onkel.data.smooth(120, seed=0)

    def scores(self) -> Array:
        learner = KernelAWV(Gaussian(width=1.0), 0.5)
        scores: Array = learner.learn(learner.init(self.X.shape[1]), self.X, self.y)
        return scores

    def test_every_prefix_is_the_regret_of_that_prefix(self) -> None:
        kernel, scores = Gaussian(width=1.0), self.scores()
        curve = onkel.regret(scores, self.X, self.y, kernel, 0.5).curve
        for t in (1, 2, 50, 120):
            K, y = kernel(self.X[:t], self.X[:t]), self.y[:t]
            f = K @ np.linalg.solve(K + 0.5 * np.eye(t), y)
            alpha = np.linalg.solve(K + 0.5 * np.eye(t), y)
            best = np.sum((y - f) ** 2) + 0.5 * alpha @ K @ alpha
            assert curve[t - 1] == pytest.approx(np.sum((scores[:t] - y) ** 2) - best, abs=1e-9)

    def test_no_function_does_better_in_hindsight(self) -> None:
        """The minimum is one: random functions and small steps away from it cost more."""
        kernel, lam, rng = Gaussian(width=1.0), 0.5, np.random.default_rng(0)
        K = kernel(self.X, self.X)
        best = best_in_hindsight(self.X, self.y, kernel, lam)
        alpha = np.linalg.solve(K + lam * np.eye(120), self.y)
        for size in (1e-3, 0.1, 1.0):
            other = alpha + size * rng.normal(size=120)
            assert np.sum((self.y - K @ other) ** 2) + lam * other @ K @ other > best

    def test_kernel_and_features_agree_where_they_are_one_space(self) -> None:
        scores = self.scores()
        dual = onkel.regret(scores, self.X, self.y, Linear(), 0.3)
        primal = onkel.regret(scores, self.X, self.y, onkel.Identity(), 0.3)
        assert np.abs(dual.best - primal.best).max() <= 1e-9
        assert np.array_equal(dual.loss, primal.loss)
        assert log_det(Linear(), self.X, 0.3) == pytest.approx(log_det(onkel.Identity(), self.X, 0.3), rel=1e-9)

    def test_several_outputs_add_up(self) -> None:
        Y = np.column_stack([self.y, self.X[:, 0]])
        both = onkel.regret(np.zeros_like(Y), self.X, Y, Linear(), 1.0).best
        parts = [onkel.regret(np.zeros(120), self.X, Y[:, o], Linear(), 1.0).best for o in range(2)]
        assert np.abs(both - parts[0] - parts[1]).max() <= 1e-9

    def test_refusals(self) -> None:
        with pytest.raises(onkel.InputError, match=r"scores must be finite and have y's shape \(120,\), got shape \(3,\)"):
            onkel.regret(np.zeros(3), self.X, self.y, Linear(), 1.0)
        with pytest.raises(onkel.InputError, match="lam must be a positive number, got 0"):
            onkel.regret(self.scores(), self.X, self.y, Linear(), 0.0)
        with pytest.raises(onkel.InputError, match=r"20,000 rows are too many.*give features"):
            onkel.effective_dimension(Linear(), np.zeros((20_000, 1)), 1.0)
        with pytest.raises(onkel.InputError, match="give features, such as Taylor"):
            onkel.effective_dimension("Gaussian", self.X, 1.0)  # type: ignore[arg-type]
        assert onkel.regret([], np.empty((0, 2)), [], Linear(), 1.0).total == 0.0


class TestDimension:
    def test_one_repeated_point(self) -> None:
        """K = 11ᵀ: one eigenvalue n, so d_eff = n/(n + λ) and ln det = ln(1 + n/λ)."""
        X = np.ones((50, 3))
        assert spectrum(Gaussian(), X)[0] == pytest.approx(50.0)
        assert onkel.effective_dimension(Gaussian(), X, 2.0) == pytest.approx(50.0 / 52.0)
        assert log_det(Gaussian(), X, 2.0) == pytest.approx(math.log(26.0))

    def test_it_is_the_trace_it_is_defined_as(self) -> None:
        X = np.random.default_rng(0).normal(size=(60, 2))
        K = Gaussian(width=1.0)(X, X)
        assert onkel.effective_dimension(Gaussian(width=1.0), X, 0.3) == pytest.approx(
            np.trace(K @ np.linalg.inv(K + 0.3 * np.eye(60)))
        )
        assert log_det(Gaussian(width=1.0), X, 0.3) == pytest.approx(np.linalg.slogdet(np.eye(60) + K / 0.3)[1])

    def test_what_features_leave_out(self) -> None:
        X = np.random.default_rng(1).uniform(-1.0, 1.0, (80, 2))
        kernel = Gaussian(width=1.0)
        left = [projection_error(kernel, X, Taylor(degree, 1.0)) for degree in (0, 2, 4, 8)]
        assert left == sorted(left, reverse=True)
        assert left[-1] < 1e-3 < left[0]
        assert projection_error(kernel, X, Nystroem(kernel, X)) <= 1e-7
        K, k = kernel(X, X), kernel(X, X[:5])
        rest = K - k @ np.linalg.solve(kernel(X[:5], X[:5]), k.T)
        assert projection_error(kernel, X, Nystroem(kernel, X[:5])) == pytest.approx(np.linalg.eigvalsh(rest)[-1], rel=1e-9)
        with pytest.raises(onkel.InputError, match="not orthonormal"):
            projection_error(kernel, X, Taylor(2, 0.5))


class TestConditions:
    X, y = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2)), np.full(40, 0.5)
    kernel = Gaussian(width=1.0)
    theory = Kors(mu=0.1, oversampling=bounds.oversampling(40, 0.05))

    def test_a_larger_label_than_said(self) -> None:
        ask: list[Any] = [
            lambda B: bounds.kernel_awv(self.kernel, self.X, self.y, 1.0, B),
            lambda B: bounds.kernel_awv_by_dimension(self.kernel, self.X, self.y, 1.0, B),
            lambda B: bounds.clipped_ridge(self.kernel, self.X, self.y, 1.0, B),
            lambda B: bounds.fixed_span(self.kernel, Taylor(2, 1.0), self.X, self.y, 1.0, B),
            lambda B: bounds.taylor(Taylor(20, 1.0), self.X, self.y, 1.0, 1.0, B),
            lambda B: bounds.growing_span(self.kernel, self.X, self.y, 1.0, [0, 3], B),
            lambda B: bounds.nystroem(self.kernel, self.X, self.y, 1.0, self.theory, 10, 0.05, B),
            lambda B: bounds.known_inputs(self.kernel, self.X, self.y, 1.0, self.theory, 0.05, B),
        ]
        for bound in ask:
            if bound is not ask[5]:  # which has y² itself in its first term
                assert bound(1.0) == pytest.approx(4.0 * bound(0.5), rel=1e-9)
            with pytest.raises(onkel.InputError, match=r"\|y\| ≤ 0.4, but a label is 0.5"):
                bound(0.4)

    def test_inputs_outside_the_ball(self) -> None:
        with pytest.raises(onkel.InputError, match=r"‖x‖ ≤ 0.1, but a row has 0\.\d+"):
            bounds.taylor(Taylor(20, 1.0), self.X, self.y, 1.0, 0.1)

    def test_a_degree_below_the_theorems(self) -> None:
        assert bounds.taylor_degree(1000, 1.0, 1.0, 1.0) == math.ceil(2 * math.log(1000))
        assert bounds.taylor_degree(10, 1.0, 3.0, 1.0) == 72
        assert bounds.taylor_degree(1000, 0.1, 1.0, 1.0) == math.ceil(2 * math.log(10_000))
        with pytest.raises(onkel.InputError, match="requires degree 8 or more, got 7"):
            bounds.taylor(Taylor(7, 1.0), self.X, self.y, 1.0, 1.0)

    def test_a_dictionary_that_is_not_the_theorems(self) -> None:
        for wrong in (Kors(mu=0.1), Kors(mu=0.1, accuracy=0.4, oversampling=1e3)):
            for bound in (
                lambda kors: bounds.kors(self.kernel, self.X, kors, 0.05),
                lambda kors: bounds.nystroem(self.kernel, self.X, self.y, 1.0, kors, 10, 0.05),
                lambda kors: bounds.known_inputs(self.kernel, self.X, self.y, 1.0, kors, 0.05),
            ):
                with pytest.raises(
                    onkel.InputError, match=r"accuracy (0\.5, got|ε below 1 and an oversampling of at least .* = 141\.1)"
                ):
                    bound(wrong)
        with pytest.raises(onkel.InputError, match="delta must lie between 0 and 1"):
            bounds.kors(self.kernel, self.X, self.theory, 1.0)

    def test_what_is_mixed(self) -> None:
        exact, other = KernelAWV(self.kernel, 0.5), onkel.PKAWV(Taylor(2, 1.0), 2.0)
        alone = 0.5 * 3.0 + bounds.kernel_awv(self.kernel, self.X, self.y, 0.5)
        cost = bounds.mixing(onkel.Experts((exact,)), self.X, self.y)
        assert bounds.grid(onkel.Experts((exact,)), self.X, self.y, 3.0) == pytest.approx(alone + cost)
        both = onkel.Experts((exact, other), onkel.ExponentialWeights())
        assert bounds.grid(both, self.X, self.y, 0.0, self.kernel) - bounds.mixing(both, self.X, self.y) == pytest.approx(
            min(alone - 1.5, bounds.fixed_span(self.kernel, Taylor(2, 1.0), self.X, self.y, 2.0))
        )
        for part in (onkel.PKAWV(awv=False), onkel.PKAWV(forgetting=0.9), onkel.KernelRidge()):
            with pytest.raises(onkel.InputError, match="for KernelAWV, and for PKAWV with awv=True and forgetting=1"):
                bounds.grid(onkel.Experts((exact, part)), self.X, self.y, 1.0)
        with pytest.raises(onkel.InputError, match="no bound against the best learner"):
            bounds.mixing(onkel.Experts((exact, other), onkel.Ridge()), self.X, self.y)

    def test_a_ridge_below_mu(self) -> None:
        ask: list[Any] = [
            lambda lam: bounds.nystroem(self.kernel, self.X, self.y, lam, self.theory, 10, 0.05),
            lambda lam: bounds.known_inputs(self.kernel, self.X, self.y, lam, self.theory, 0.05),
        ]
        for bound in ask:
            assert bound(0.1) > 0.0
            with pytest.raises(onkel.InputError, match=r"lam ≥ mu, got lam=0\.05 and mu=0\.1"):
                bound(0.05)

    def test_rows_that_did_not_join(self) -> None:
        for wrong in ([3, 1], [-1], [40], [2, 2]):
            with pytest.raises(onkel.InputError, match="increasing row numbers of X, from 0 to 39"):
                bounds.growing_span(self.kernel, self.X, self.y, 1.0, wrong)
        copies = np.repeat(self.X[:2], 20, axis=0)
        with pytest.raises(onkel.InputError, match="in the span of earlier ones"):
            bounds.growing_span(self.kernel, copies, self.y, 1.0, [0, 1])

    def test_a_ridge_beyond_n(self) -> None:
        with pytest.raises(onkel.InputError, match="at most n = 40, got 50"):
            bounds.gaussian_dimension(40, 2, 50.0, 1.0, 1.0)

    def test_rates(self) -> None:
        for rate in (bounds.growing_span_rate, bounds.known_inputs_rate):
            for wrong in ((100, 10, 0.0), (100, 10, 1.0), (100, 200, 0.5), (100, 0.5, 0.5)):
                with pytest.raises(onkel.InputError, match=r"capacity in \(0, 1\) and 1 ≤ points ≤ n"):
                    rate(*wrong)
            few, many = rate(1e6, 10.0, 0.25), rate(1e6, 1e6, 0.25)
            assert few > many == pytest.approx(1e6**0.2)
        assert bounds.growing_span_rate(1e6, 1e2, 0.25) == pytest.approx(1e6 * 1e2**-1.5)
        assert bounds.known_inputs_rate(1e6, 1e2, 0.25) == pytest.approx(1e6 * 1e2**-2.0)
        # Corollary 8 needs fewer points than Corollary 7, which for γ > √2 − 1 never gets there
        assert bounds.known_inputs_rate(1e6, 1e6**0.4, 0.25) == pytest.approx(1e6**0.2)
        assert bounds.growing_span_rate(1e6, 1e6**0.4, 0.25) > 1.1 * 1e6**0.2
        assert bounds.growing_span_rate(1e6, 1e6, 0.75) > 1.1 * 1e6 ** (0.75 / 1.75)


def test_the_other_bounds_by_hand() -> None:
    """n copies of one point, k = 1: K = 11ᵀ has one eigenvalue n, so ln det = ln(1 + n/λ) and d_eff = n/(n + λ)."""
    n, lam, B = 50, 2.0, 3.0
    X, y, kernel = np.full((n, 1), 0.5), np.full(n, B), Gaussian(width=1.0)
    det, dimension = math.log(1.0 + n / lam), n / (n + lam)
    logarithm = math.log(math.e + math.e * n / lam)
    assert bounds.kernel_awv(kernel, X, y, lam) == pytest.approx(B**2 * det)
    assert bounds.kernel_awv_by_dimension(kernel, X, y, lam) == pytest.approx(B**2 * dimension * logarithm)
    assert bounds.clipped_ridge(kernel, X, y, lam, B) == pytest.approx(4.0 * B**2 * det)
    mass = math.exp(-0.25)  # what Taylor features of degree 0 carry of k(x, x): Poisson(0; x²/σ²)
    mu = n * (1.0 - mass)
    expected = B**2 * (det + (mu + lam) * n * mu / lam**2)
    assert bounds.fixed_span(kernel, Taylor(0, 1.0), X, y, lam) == pytest.approx(expected)
    assert bounds.taylor(Taylor(9, 1.0), X, y, lam, 0.5) == pytest.approx(1.5 * B**2 * det)
    assert bounds.gaussian_dimension(n, 2, lam, 1.5, 0.5) == pytest.approx(
        3.0 * (6.0 + 41.0 / 2.0 * 2.25 / 0.5 + 1.5 * math.log(n / lam)) ** 2
    )
    theory = Kors(mu=1.0, oversampling=bounds.oversampling(n, 0.1))
    online = sum(1.0 / (t + 1.0) for t in range(1, n + 1))
    assert bounds.kors(kernel, X, theory, 0.1) == pytest.approx((1.0, 9.0 * theory.oversampling * online))
    first = dimension * logarithm
    assert bounds.nystroem(kernel, X, y, lam, theory, 4, 0.1) == pytest.approx(B**2 * (first + 2.0 * 5 * n * 1.0 / lam))
    assert bounds.known_inputs(kernel, X, y, lam, theory, 0.1) == pytest.approx(B**2 * (first + 2.0 * n * 1.0 / lam))


def test_bounds_refuse_what_is_no_stream() -> None:
    X, y, kernel = np.ones((4, 1)), np.ones(4), Gaussian(width=1.0)
    ask: list[Any] = [
        bounds.kernel_awv,
        bounds.kernel_awv_by_dimension,
        lambda k, X, y, lam: bounds.growing_span(k, X, y, lam, [0]),
    ]
    for bound in ask:
        for wrong, message in (
            ((kernel, X, [1.0, np.nan, 1.0, 1.0], 1.0), "y holds nan at row 1"),
            ((kernel, X, y[:3], 1.0), r"y must have shape \(4,\)"),
            ((kernel, X, np.ones((4, 2)), 1.0), r"y must have shape \(4,\)"),
            ((kernel, X, ["a"] * 4, 1.0), "y must hold numbers only"),
            ((kernel, X, y, 0.0), "lam must be a positive number"),
            ((kernel, X, y, -1.0), "lam must be a positive number"),
        ):
            with pytest.raises(onkel.InputError, match=message):
                bound(*wrong)
    with pytest.raises(onkel.InputError, match="between 0 and the 4 rows, got -5"):
        bounds.nystroem(kernel, X, y, 1.0, Kors(oversampling=1e3), -5, 0.1)
    with pytest.raises(onkel.InputError, match="increasing row numbers"):
        bounds.growing_span(kernel, X, y, 1.0, np.array([0.7, 3.2]))
    with pytest.raises(onkel.InputError, match="n must be at least 1"):
        bounds.taylor(Taylor(9, 1.0), X[:0], y[:0], 1.0, 1.0)
    with pytest.raises(onkel.InputError, match="no rows"):
        bounds.kors(kernel, X[:0], Kors(oversampling=1e3), 0.1)
    with pytest.raises(onkel.InputError, match="width must be a positive number"):
        bounds.gaussian_dimension(10, 2, 1.0, 1.0, 0.0)
    with pytest.raises(onkel.InputError, match="scores must be finite"):
        onkel.regret([np.nan] * 4, X, y, kernel, 1.0)
    with pytest.raises(onkel.InputError, match="too small relative to the kernel's values"):
        onkel.regret(y, X, y, kernel, 1e-20)
    assert bounds.growing_span(kernel, X[:0], y[:0], 1.0, []) == 0.0


@pytest.mark.long
def test_theorem_6_where_the_theorys_kors_leaves_points_out() -> None:
    """4,000 rows around three places: p < 1 for most, and the bounds that speak of KORS hold there too."""
    rng = np.random.default_rng(0)
    n, lam, delta = 4000, 1.0, 0.05
    X = np.array([[-1.0], [0.0], [1.0]])[rng.integers(0, 3, n)] + 0.01 * rng.normal(size=(n, 1))
    y = np.clip(np.sin(3.0 * X[:, 0]) + 0.5 * rng.normal(size=n), -1.0, 1.0)
    kernel, kors = Gaussian(width=0.5), Kors(mu=1.0, oversampling=bounds.oversampling(n, delta))
    learner = PKAWVNystroem(kernel, lam, kors)
    state = learner.init(1)
    found = onkel.regret(learner.learn(state, X, y), X, y, kernel, lam).total
    points = len(state.span.points)
    left_out, most = bounds.kors(kernel, X, kors, delta)
    missed = projection_error(kernel, X, Nystroem(kernel, state.span.points[state.span.spanning]))
    known = onkel.PKAWV(Nystroem(kernel, kors.choose(kernel, X)), lam)
    beforehand = onkel.regret(known.learn(known.init(1), X, y), X, y, kernel, lam).total
    allowed = bounds.nystroem(kernel, X, y, lam, kors, points, delta), bounds.known_inputs(kernel, X, y, lam, kors, delta)
    print(f"\n{points} of {n} points; regret {found:.1f} of {allowed[0]:.0f}, {beforehand:.1f} of {allowed[1]:.0f} beforehand")
    assert points < 0.75 * n
    assert points <= most
    assert missed <= left_out
    assert found <= allowed[0]
    assert beforehand <= allowed[1]


def test_theorem_9_by_hand() -> None:
    """Two rounds, a linear kernel in two dimensions, each row joining: P₁ = e₁e₁ᵀ, P₂ = I, μ₁ = 0; what is left is Σ y² s/(λ+s)."""
    X, y, lam = np.eye(2), np.array([1.0, -2.0]), 0.5
    assert bounds.growing_span(Linear(), X, y, lam, [0, 1]) == pytest.approx((1.0 + 4.0) / 1.5)
    # only the first row joins: P₂ = P₁, and ‖(I − P)C^½‖² = 1 is paid in the end
    assert bounds.growing_span(Linear(), X, y, lam, [0]) == pytest.approx(1.0 / 1.5 + (1.0 + lam) * 2 * 1.0 * 4.0 / lam**2)
    # nobody joins
    assert bounds.growing_span(Linear(), X, y, lam, []) == pytest.approx((1.0 + lam) * 2 * 1.0 * 4.0 / lam**2)
    # the second joins late, with a past: μ₁ is the first row's share in the new direction
    X = np.array([[0.6, 0.8], [1.0, 0.0]])
    late = bounds.growing_span(Linear(), X, y, lam, [1])
    left = 0.64
    assert late == pytest.approx(
        4.0 / (1.0 + 0.36 + lam) + (0.36 + lam) * 1 * 0.36 * 4.0 / lam**2 + (left + lam) * 2 * left * 4.0 / lam**2
    )


@pytest.mark.once
class TestAdversary:
    kernel = Gaussian(width=1.0)

    @pytest.mark.parametrize(
        "learner", [KernelAWV(kernel), PKAWVNystroem(kernel), onkel.PKAWV(Taylor(2, 1.0))], ids=lambda l: type(l).__name__
    )
    def test_it_plays_within_its_box_and_the_scores_are_the_learners(self, learner: Any) -> None:
        X, y, scores = adversaries.greedy(learner, 25, 2, self.kernel, 1.0, largest=0.5, side=0.3, seed=1)
        assert np.abs(X).max() <= 0.3
        assert np.all(np.abs(y) == 0.5)
        assert np.array_equal(scores, np.concatenate([learner.learn(s, X[t : t + 1], y[t : t + 1])
                                                      for s in [learner.init(2)] for t in range(25)]))  # fmt: skip

    def test_it_hurts_more_than_chance(self) -> None:
        learner = onkel.PKAWV(Taylor(2, 1.0))
        X, y, scores = adversaries.greedy(learner, 40, 2, self.kernel, 1.0, seed=2)
        against = onkel.regret(scores, X, y, self.kernel, 1.0).total
        rng = np.random.default_rng(3)
        for _ in range(10):
            X, y = rng.uniform(-1.0, 1.0, (40, 2)), rng.choice([-1.0, 1.0], 40)
            by_chance = onkel.regret(learner.learn(learner.init(2), X, y), X, y, self.kernel, 1.0).total
            assert against > by_chance

    def test_each_round_is_the_best_of_many(self) -> None:
        """No random (x, y) of 500 adds more to the regret than the one it played, but for a thousandth."""
        learner, rng = KernelAWV(self.kernel), np.random.default_rng(4)
        X, y, _ = adversaries.greedy(learner, 12, 1, self.kernel, 1.0, seed=5)
        for t in (1, 5, 11):
            state = learner.init(1)
            past = learner.learn(state, X[:t], y[:t])

            def total(x: float, label: float, t: int = t, state: Any = state, past: Array = past) -> float:
                rows, labels = np.vstack([X[:t], [[x]]]), np.append(y[:t], label)
                scores = np.append(past, learner.predict(state, rows[-1:]))
                return onkel.regret(scores, rows, labels, self.kernel, 1.0).total

            played = total(X[t, 0], y[t])
            assert all(total(x, label) <= played + 1e-3 for x, label in rng.uniform(-1.0, 1.0, (500, 2)))

    def test_nothing_asked_nothing_played(self) -> None:
        X, y, scores = adversaries.greedy(KernelAWV(), 0, 3, Polynomial(), 1.0)
        assert X.shape == (0, 3)
        assert len(y) == len(scores) == 0
        with pytest.raises(onkel.InputError, match="rounds must be at least 0"):
            adversaries.greedy(KernelAWV(), -1, 3, Polynomial(), 1.0)


class TestBlocks:
    def data(self, n: int = 50, share: float = 0.3) -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        return rng.normal(size=(n, 3)), np.where(np.arange(n) < share * n, 1.0, -1.0)

    def test_each_block_is_one_row_again_and_again_and_every_second_is_flipped(self) -> None:
        X, y = self.data()
        stream, labels = adversaries.blocks(X, y, blocks=41, repeats=7, seed=3)
        assert stream.shape == (41 * 7, 3)
        assert labels.shape == (41 * 7,)
        for b in range(41):
            part = slice(7 * b, 7 * b + 7)
            (row,) = np.flatnonzero(np.all(stream[part][0] == X, axis=1))
            assert np.all(stream[part] == X[row])
            assert np.all(labels[part] == (y[row] if b % 2 == 0 else -y[row]))

    def test_rows_are_drawn_evenly_and_by_the_seed(self) -> None:
        X, y = np.arange(10.0).reshape(10, 1), np.ones(10)
        stream, _ = adversaries.blocks(X, y, blocks=10_000, repeats=1)
        share = np.bincount(stream[:, 0].astype(int), minlength=10) / 10_000
        assert np.abs(share - 0.1).max() < 5.0 * np.sqrt(0.1 * 0.9 / 10_000)
        again, other = (adversaries.blocks(X, y, blocks=10_000, repeats=1, seed=seed)[0] for seed in (0, 1))
        assert np.array_equal(stream, again)
        assert not np.array_equal(stream, other)

    def test_the_last_label_errs_where_a_block_begins(self) -> None:
        """Where neighbouring blocks differ, which they do with chance p² + (1 − p)²; and at first, as 0 counts as +1, on −1."""
        X, y = self.data()
        number, repeats, p = 500, 10, 0.3
        rates = []
        for seed in range(40):
            _, labels = adversaries.blocks(X, y, number, repeats, seed)
            wrong = onkel.measure.mistakes(onkel.measure.last_label(labels), labels)
            assert np.all(wrong.reshape(number, repeats)[:, 1:] == 0.0)
            assert wrong.sum() == (labels[0] < 0) + np.sum(labels[::repeats][1:] != labels[::repeats][:-1])
            rates.append(wrong.mean())
        differ = p**2 + (1.0 - p) ** 2
        expected = ((1.0 - p) + (number - 1) * differ) / (number * repeats)
        spread = np.sqrt(differ * (1.0 - differ) / number) / repeats  # of one stream, but for the correlation of neighbours
        assert abs(np.mean(rates) - expected) < 5.0 * spread / np.sqrt(len(rates))

    def test_a_running_majority_is_the_sign_of_the_running_mean(self) -> None:
        """On this stream it is no better than a coin, since every second block turns the majority around."""
        X, y = self.data()
        _, labels = adversaries.blocks(X, y)
        wrong = onkel.measure.mistakes(onkel.measure.running_mean(labels), labels)
        votes = [1.0 if labels[:t].sum() >= 0.0 else -1.0 for t in range(len(labels))]
        assert np.array_equal(wrong, (np.array(votes) != labels).astype(float))
        assert abs(wrong.mean() - 0.5) < 0.06

    def test_a_column_of_labels_stays_a_column_and_no_blocks_are_no_rows(self) -> None:
        X, y = self.data()
        assert adversaries.blocks(X, y[:, None], blocks=2, repeats=3)[1].shape == (6, 1)
        stream, labels = adversaries.blocks(X, y, blocks=0)
        assert stream.shape == (0, 3)
        assert labels.shape == (0,)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"blocks": -1}, "blocks must be at least 0 and repeats at least 1, got -1 and 10"),
            ({"repeats": 0}, "blocks must be at least 0 and repeats at least 1, got 500 and 0"),
            ({"X": np.empty((0, 3)), "y": np.empty(0)}, "X has no rows to draw from; give it at least one"),
            ({"y": np.ones(3)}, r"y must have shape \(50,\), one label for each row of X, got \(3,\)"),
            ({"X": np.full((50, 1), np.nan)}, "X holds nan at row 0, column 0; fill or drop missing values first"),
        ],
    )
    def test_it_says_what_it_cannot_use(self, change: dict[str, Any], says: str) -> None:
        X, y = self.data()
        with pytest.raises(onkel.InputError, match=says):
            adversaries.blocks(**{"X": X, "y": y, **change})
