"""What is special to KernelAWV and KernelRidge: the definition, the identities, finite-dimensional kernels, a user's own kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import Gaussian, KernelAWV, KernelRidge, Linear, Polynomial
from onkel._jit import compiler_off
from onkel.linalg.cholesky import SMALLEST_RIDGE, packed
from onkel.state import leaves
from tests.laws.cases import bits
from tests.test_pkawv import STREAMS

Array = NDArray[np.float64]

KERNELS = [Gaussian(width=1.0), Polynomial(degree=3) + Gaussian(width=0.5), Linear() * Gaussian(width=2.0)]
LEARNERS = (KernelAWV, KernelRidge)


def variances(K: Array, lam: float) -> Array:
    """s_t = k_tt − k_tᵀ(K_{t−1} + λI)⁻¹k_t, from scratch."""
    return np.array([K[t, t] - K[t, :t] @ np.linalg.solve(K[:t, :t] + lam * np.eye(t), K[t, :t]) for t in range(len(K))])


def run(learner: Any, X: Array, y: Array) -> Array:
    scores: Array = learner.learn(learner.init(X.shape[1]), X, y)
    return scores


@pytest.mark.once
@pytest.mark.parametrize(("name", "X", "y"), STREAMS, ids=[s[0] for s in STREAMS])
@pytest.mark.parametrize(("kernel", "lam"), list(zip(KERNELS, (1.0, 0.3, 5.0), strict=True)), ids=repr)
class TestIdentities:
    def test_ridge(self, name: str, X: Array, y: Array, kernel: Any, lam: float) -> None:
        """Σ (y − m)² λ/(λ + s) = min_f Σ (y − f)² + λ‖f‖² = λ yᵀ(K + λI)⁻¹y."""
        K = kernel(X, X)
        m, s = run(KernelRidge(kernel, lam), X, y), variances(K, lam)
        best = lam * y @ np.linalg.solve(K + lam * np.eye(len(X)), y)
        assert np.sum((y - m) ** 2 * lam / (lam + s)) == pytest.approx(best, rel=1e-9)
        assert onkel.measure.best_in_hindsight(X, y, kernel, lam) == pytest.approx(best, rel=1e-9)

    def test_awv(self, name: str, X: Array, y: Array, kernel: Any, lam: float) -> None:
        """Σ (y − ŷ)² − min = Σ [y² s/(λ + s) − ŷ² s/λ]."""
        scores, s = run(KernelAWV(kernel, lam), X, y), variances(kernel(X, X), lam)
        found = onkel.regret(scores, X, y, kernel, lam).total
        assert found == pytest.approx(np.sum(y**2 * s / (lam + s) - scores**2 * s / lam), rel=1e-8, abs=1e-8)

    def test_definition_equals_shrinkage_form(self, name: str, X: Array, y: Array, kernel: Any, lam: float) -> None:
        """argmin over the first t points with labels (y_1 … y_{t−1}, 0) = λm/(λ + s) = the learner."""
        n = 60
        K = kernel(X[:n], X[:n])
        definition = [
            K[t, : t + 1] @ np.linalg.solve(K[: t + 1, : t + 1] + lam * np.eye(t + 1), np.append(y[:t], 0.0)) for t in range(n)
        ]
        s, m = variances(K, lam), run(KernelRidge(kernel, lam), X[:n], y[:n])
        scores = run(KernelAWV(kernel, lam), X[:n], y[:n])
        assert np.abs(scores - definition).max() <= 1e-12
        assert np.abs(scores - lam * m / (lam + s)).max() <= 1e-12


def test_dual_equals_primal_on_a_kernel_of_finite_dimension() -> None:
    """(x·z + 1)² has the features x_i x_j, √2 x_i, 1: PKAWV on them is KernelAWV, and so is its ridge."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (200, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200)

    def squares(rows: Array) -> Array:
        products = [rows[:, i] * rows[:, j] * (1.0 if i == j else 2**0.5) for i in range(3) for j in range(i + 1)]
        return np.column_stack([*products, 2**0.5 * rows, np.ones(len(rows))])

    features = onkel.Basis(squares, np.eye(10))
    for lam in (0.1, 1.0, 10.0):
        for awv, kind in ((True, KernelAWV), (False, KernelRidge)):
            primal = run(onkel.PKAWV(features, lam=lam, awv=awv), X, y)
            assert np.abs(run(kind(Polynomial(degree=2), lam), X, y) - primal).max() <= 1e-12


def test_the_first_score_is_0_and_a_huge_ridge_learns_nothing() -> None:
    X, y = onkel.data.smooth(50, seed=1)
    for kind in LEARNERS:
        assert run(kind(), X, y)[0] == 0.0
        assert np.abs(run(kind(lam=1e20), X, y)).max() <= 1e-15


def test_clipping_touches_the_scores_only() -> None:
    X, y = onkel.data.smooth(200, seed=2)
    plain, clipped = KernelRidge(lam=0.01), KernelRidge(lam=0.01, clip=0.3)
    one, other = plain.init(X.shape[1]), clipped.init(X.shape[1])
    free, bound = plain.learn(one, X, y), clipped.learn(other, X, y)
    assert np.abs(free).max() > 0.3
    assert np.array_equal(bound, np.clip(free, -0.3, 0.3))
    assert bits(one) == bits(other)
    assert np.array_equal(clipped.predict(other, X), np.clip(plain.predict(one, X), -0.3, 0.3))


def test_whole_weights_are_repeated_rows_and_a_score_ignores_its_own() -> None:
    X, y = onkel.data.smooth(60, seed=3)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    for kind in LEARNERS:
        learner = kind(lam=0.5)
        weighted, repeated = learner.init(X.shape[1]), learner.init(X.shape[1])
        learner.learn(weighted, X, y, weight)
        learner.learn(repeated, np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert np.abs(learner.predict(weighted, X) - learner.predict(repeated, X)).max() <= 1e-11
        before = learner.predict(weighted, X[:1])
        assert learner.learn(weighted, X[:1], y[:1], [1e-3]) == before


@pytest.mark.once
def test_memory_is_half_a_square_and_rounds_up_by_powers_of_two() -> None:
    learner = KernelAWV()
    X, y = onkel.data.smooth(1000, seed=0)
    state = learner.init(X.shape[1])
    sizes = []
    for t in range(0, 1000, 100):
        learner.learn(state, X[t : t + 100], y[t : t + 100])
        sizes.append(onkel.nbytes(state))
        assert packed(t + 100) <= len(state.factor) <= 2 * packed(t + 100)
    assert sizes == sorted(sizes)
    assert state.rows == 1000


def test_a_ridge_below_rounding_is_raised_counted_and_said() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 20, axis=0)
    y = np.where(np.arange(100) % 2 == 0, 1.0, -1.0)
    learner = KernelRidge(Polynomial(degree=2), lam=1e-25)
    state = learner.init(2)
    scores = learner.learn(state, X, y)
    assert np.isfinite(scores).all()
    assert state.raised == 100
    assert "raise lam" in learner.notes(state)[0]
    assert KernelRidge().notes(KernelRidge().init(2)) == []


def test_a_users_own_kernel_is_learnt_as_the_compiled_one() -> None:
    def bell(X: Array, Z: Array) -> Array:
        return np.asarray(np.exp(-np.sum((X[:, None, :] - Z[None]) ** 2, axis=2) / 2.0))

    X, y = onkel.data.smooth(150, seed=4)
    for kind in LEARNERS:
        assert np.abs(run(kind(onkel.CustomKernel(bell)), X, y) - run(kind(Gaussian(width=1.0)), X, y)).max() <= 1e-12


@pytest.mark.parametrize("learner", [KernelAWV, KernelRidge, onkel.PKAWVNystroem, onkel.KONS, onkel.SketchedKONS, onkel.ProsNKONS])
def test_a_failing_kernel_leaves_the_state_whole(learner: Any) -> None:
    def brittle(X: Array, Z: Array) -> Array:
        if np.any(np.abs(X) > 100.0) and len(Z) > 1:  # k(x, x) itself is fine: it fails in the middle of the block
            raise RuntimeError("far away")
        return np.asarray(X @ Z.T + 1.0)

    X, y = onkel.data.smooth(100, seed=5)
    config = learner(onkel.CustomKernel(brittle))
    state = config.init(X.shape[1])
    config.learn(state, X[:40], y[:40])
    config.learn(state, X[:0], y[:0])
    X[50] = 1000.0
    with pytest.raises(RuntimeError, match="far away"):
        config.learn(state, X[40:60], y[40:60])
    twin = config.init(X.shape[1])
    config.learn(twin, X[:40], y[:40])
    for (name, value, _), (_, other, _) in zip(leaves(state), leaves(twin), strict=True):
        used = np.atleast_1d(other)  # spare room may have been added behind it
        found = np.atleast_1d(value)
        assert np.array_equal(found[: len(used)], used), name
        assert not np.any(found[len(used) :]), name
    X[50] = 1.0
    assert np.array_equal(config.learn(state, X, y), config.learn(twin, X, y))


@pytest.mark.once
@pytest.mark.parametrize("scale", [100.0, 1e3, 1e8])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2), Polynomial(degree=3)], ids=repr)
def test_a_thousand_unscaled_rows_of_a_small_space_stay_finite(kernel: Any, scale: float) -> None:
    """Far more rows than the kernel has dimensions, and a ridge that is nothing beside k(x, x)."""
    X = scale * np.random.default_rng(0).normal(size=(200 if compiler_off else 1000, 3))
    y = np.sin(X[:, 0] / scale)
    for kind in LEARNERS:
        learner = kind(kernel)
        state = learner.init(3)
        scores = learner.learn(state, X, y)
        assert np.abs(scores).max() < 1e3
        lost = int(np.sum(SMALLEST_RIDGE * kernel.diagonal(X) > learner.lam))
        assert state.raised == lost
        assert any("rescale X" in note for note in learner.notes(state)) == (lost > 0)
        learner.check(state)


def test_a_raised_ridge_also_shrinks() -> None:
    """One repeated point and the label 1: AWV scores 0, 1/2, 2/3, … whatever the ridge, also where it is lost."""
    X, y = np.ones((6, 1)), np.ones(6)
    for lam in (1e-5, 1e-13, 1e-20):
        assert run(KernelAWV(lam=lam), X, y) == pytest.approx([0.0, 1 / 2, 2 / 3, 3 / 4, 4 / 5, 5 / 6], abs=1e-4)


def test_what_a_users_kernel_sees_does_not_depend_on_the_cut() -> None:
    def product(X: Array, Z: Array) -> Array:
        return np.asarray(X @ Z.T + 1.0)

    X = np.random.default_rng(1).normal(size=(120, 16))
    for kind in (KernelAWV, KernelRidge):
        learner = kind(onkel.CustomKernel(product))
        one, whole = learner.init(16), learner.init(16)
        parts = [learner.learn(one, X[t : t + 1], X[t : t + 1, 0]) for t in range(120)]
        assert np.array_equal(np.concatenate(parts), learner.learn(whole, X, X[:, 0]))


def test_a_users_kernel_cannot_change_the_callers_rows() -> None:
    def greedy(X: Array, Z: Array) -> Array:
        X -= 0.5
        return np.asarray(X @ Z.T)

    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="read-only"):
        run(KernelAWV(onkel.CustomKernel(greedy)), X, np.ones(3))
    assert np.array_equal(X, np.ones((3, 2)))


def test_a_kernel_that_is_not_positive_is_refused_and_leaves_no_trace() -> None:
    def distance(X: Array, Z: Array) -> Array:
        return np.asarray(np.sqrt(np.sum((X[:, None, :] - Z[None]) ** 2, axis=2)))

    X, y = onkel.data.smooth(60, seed=6)
    kinds: list[Any] = [KernelAWV, KernelRidge, onkel.PKAWVNystroem]
    for kind in kinds:
        learner = kind(onkel.CustomKernel(distance))
        state = learner.init(X.shape[1])
        before = bits(learner.init(X.shape[1]))
        if kind is onkel.PKAWVNystroem:  # a point of norm 0 never joins
            assert np.array_equal(learner.learn(state, X, y), np.zeros(60))
            continue
        with pytest.raises(onkel.InputError, match="not positive semi-definite"):
            learner.learn(state, X, y)
        assert [np.asarray(value).any() for _, value, _ in leaves(state)][:3] == [False] * 3
        assert state.rows == 0
        assert len(before) == len(bits(state))


def test_a_kernel_that_is_none_is_refused() -> None:
    def wrong(X: Array, Z: Array) -> Array:
        return -np.asarray(X @ Z.T)

    X, y = onkel.data.smooth(10, seed=6)
    kinds: list[Any] = [KernelAWV, onkel.PKAWVNystroem]
    for kind in kinds:
        learner = kind(onkel.CustomKernel(wrong))
        with pytest.raises(onkel.InputError, match=r"row 0 of X; a kernel has k\(x, x\) ≥ 0"):
            learner.learn(learner.init(X.shape[1]), X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": 0.0}, "KernelRidge: lam must be at least 1e-30, got 0"),
        ({"lam": np.nan}, "lam must be a finite number"),
        ({"kernel": "Gaussian"}, r"kernel must be a Kernel, such as Gaussian\(width=1.0\)"),
        ({"clip": -1.0}, "clip must be at least 0, got -1"),
    ],
)
def test_a_config_validates_itself(change: dict[str, Any], message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        KernelRidge(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 200}, "too short for its rows"),
        ({"factor": np.zeros(8192)}, "factor"),
        ({"points": np.zeros((128, 3))}, "factor"),
        ({"targets": np.full((128, 1), 1e200)}, "targets"),
    ],
)
def test_a_state_is_checked(change: dict[str, Any], message: str) -> None:
    X, y = onkel.data.smooth(100, seed=7)
    learner = KernelAWV()
    state = learner.init(X.shape[1])
    learner.learn(state, X, y)
    learner.check(state)
    for name, value in change.items():
        setattr(state, name, value if name != "points" else value[:, : X.shape[1]])
    with pytest.raises(onkel.InputError, match=message):
        learner.check(state)


def test_more_rows_than_the_machine_holds_are_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onkel.protocol._memory", lambda: 2e5)
    learner = KernelAWV()
    X, y = onkel.data.smooth(400, seed=8)
    state = learner.init(X.shape[1])
    learner.learn(state, X[:50], y[:50])
    before = bits(state)
    with pytest.raises(onkel.InputError, match=r"would hold .* GiB.*PKAWVNystroem\(\) keeps few rows"):
        learner.learn(state, X, y)
    assert bits(state) == before
