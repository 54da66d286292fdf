"""What is special to PKAWV: exact identities, the regret bound, the paper's own formulation, and its numbers after many rounds."""

from __future__ import annotations

import functools
from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import PKAWV, Constant, Fourier, Identity, Standardize, Taylor
from onkel.features.compose import as_features
from tests.oracle import pkawv as oracle

Array = NDArray[np.float64]
Wide = NDArray[np.floating]


def embedded(learner: PKAWV, X: Array) -> Array:
    z = as_features(learner.features)
    Z = np.empty((len(X), z.size(X.shape[1])))
    z.write(z.init(X.shape[1]), X, np.ones(len(X)), Z, 0)
    return Z


def leverages(Z: Array, lam: float) -> Array:
    """z_tᵀ A_{t-1}⁻¹ z_t, from scratch."""
    A, out = lam * np.eye(Z.shape[1]), []
    for z in Z:
        out.append(z @ np.linalg.solve(A, z))
        A += np.outer(z, z)
    return np.array(out)


def best_in_hindsight(Z: Array, y: Array, lam: float) -> float:
    """min over w of Σ (y − wᵀz)² + λ‖w‖²."""
    w = np.linalg.solve(lam * np.eye(Z.shape[1]) + Z.T @ Z, Z.T @ y)
    return float(np.sum((y - Z @ w) ** 2) + lam * w @ w)


def streams() -> list[tuple[str, Array, Array]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(250, 3))
    same = np.ones((250, 3)) * X[0]
    few = X[rng.integers(0, 4, size=250)]
    alternating = np.where(np.arange(250) % 2 == 0, 1.0, -1.0)
    return [
        ("random", X, rng.uniform(-1.0, 1.0, size=250)),
        ("smooth", X, np.sin(3.0 * X[:, 0]) * X[:, 1]),
        ("one point, alternating labels", same, alternating),
        ("few points, alternating labels", few, alternating),
        ("constant labels", X, np.ones(250)),
    ]


STREAMS = streams()
CONFIGS = [(Taylor(degree=3, width=1.0), 1.0), (Taylor(degree=2, width=0.5) + Constant(), 0.1), (Fourier(count=30, width=1.0), 5.0)]


@pytest.mark.once
@pytest.mark.parametrize(("name", "X", "y"), STREAMS, ids=[s[0] for s in STREAMS])
@pytest.mark.parametrize(("features", "lam"), CONFIGS)
class TestIdentities:
    def test_ridge(self, name: str, X: Array, y: Array, features: onkel.features.Features, lam: float) -> None:
        """Σ (y − m)² λ/(λ + s) = min_f Σ (y − f)² + λ‖f‖², with s = λ zᵀA⁻¹z."""
        learner = PKAWV(features, lam=lam, awv=False)
        Z = embedded(learner, X)
        m, s = learner.learn(learner.init(3), X, y), lam * leverages(Z, lam)
        best = best_in_hindsight(Z, y, lam)
        assert np.sum((y - m) ** 2 * lam / (lam + s)) == pytest.approx(best, rel=1e-10)

    def test_awv(self, name: str, X: Array, y: Array, features: onkel.features.Features, lam: float) -> None:
        """Σ (y − ŷ)² − min = Σ [y² s/(λ + s) − ŷ² s/λ]."""
        learner = PKAWV(features, lam=lam)
        Z = embedded(learner, X)
        scores, s = learner.learn(learner.init(3), X, y), lam * leverages(Z, lam)
        regret = np.sum((y - scores) ** 2) - best_in_hindsight(Z, y, lam)
        assert regret == pytest.approx(np.sum(y**2 * s / (lam + s) - scores**2 * s / lam), rel=1e-9, abs=1e-9)

    def test_regret_is_within_its_bound(self, name: str, X: Array, y: Array, features: onkel.features.Features, lam: float) -> None:
        """Σ (y − ŷ)² − min ≤ B² ln det(I + ZᵀZ/λ), for any |y| ≤ B."""
        learner = PKAWV(features, lam=lam)
        Z = embedded(learner, X)
        scores = learner.learn(learner.init(3), X, y)
        regret = np.sum((y - scores) ** 2) - best_in_hindsight(Z, y, lam)
        assert regret <= np.max(y**2) * np.linalg.slogdet(np.eye(Z.shape[1]) + Z.T @ Z / lam)[1]

    def test_the_dual_gives_the_same_scores(
        self, name: str, X: Array, y: Array, features: onkel.features.Features, lam: float
    ) -> None:
        """Kernel-AWV by its definition on the kernel zᵀz': minimise over the first t points and predict with (y_1 … y_{t-1}, 0)."""
        learner = PKAWV(features, lam=lam)
        Z = embedded(learner, X)[:60]
        K = Z @ Z.T
        dual = [
            K[t, : t + 1] @ np.linalg.solve(K[: t + 1, : t + 1] + lam * np.eye(t + 1), np.append(y[:t], 0.0)) for t in range(60)
        ]
        assert np.abs(learner.learn(learner.init(3), X[:60], y[:60]) - dual).max() <= 1e-12


class Paper:
    """Appendix H.2: redundant Taylor features, the full inverse, one row at a time."""

    def __init__(self, sigma: float, lam: float, degree: int) -> None:
        self.sigma, self.lam, self.degree = sigma, lam, degree
        self.inverse = self.b = np.empty(0)

    def features(self, x: Array) -> Array:
        parts, power = [np.ones(1)], np.ones(1)
        for k in range(1, self.degree + 1):
            power = np.outer(power, x).ravel()
            parts.append(power / (self.sigma**k * np.sqrt(factorial(k))))
        return np.concatenate(parts) * np.exp(-(x @ x) / (2.0 * self.sigma**2))

    def predict_then_learn(self, x: Array, y: float) -> float:
        z = self.features(x)
        if self.b.size == 0:
            self.inverse, self.b = np.eye(z.size) / self.lam, np.zeros(z.size)
        v = self.inverse @ z
        self.inverse -= np.outer(v, v) / (1.0 + z @ v)
        score = float(z @ self.inverse @ self.b)
        self.b += y * z
        return score


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_taylor_unique_features_predict_like_the_papers_redundant_ones(degree: int) -> None:
    rng = np.random.default_rng(degree)
    X, y = rng.uniform(-1.0, 1.0, size=(150, 3)), rng.uniform(-1.0, 1.0, size=150)
    paper = Paper(sigma=0.8, lam=0.7, degree=degree)
    expected = np.array([paper.predict_then_learn(x, label) for x, label in zip(X, y, strict=True)])
    learner = PKAWV(Taylor(degree, width=0.8), lam=0.7)
    assert np.abs(learner.learn(learner.init(3), X, y) - expected).max() <= 1e-12


@functools.cache
def sequential(awv: bool) -> tuple[PKAWV, Array, Array, Array]:
    """A learner, a stream, and the oracle's scores, which serve every size of block."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=(300, 2))
    learner = PKAWV(Taylor(degree=3, width=2.0), lam=0.5, awv=awv)
    return learner, X, y, oracle.scores(learner, X, y)


@pytest.mark.parametrize("awv", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5, 6, 31, 32, 33, 64, 77, 300])
def test_blocked_equals_sequential(awv: bool, size: int) -> None:
    learner, X, y, expected = sequential(awv)
    state = learner.init(4, 2)
    scores = np.concatenate([learner.learn(state, X[a : a + size], y[a : a + size]) for a in range(0, 300, size)])
    assert np.abs(scores - expected).max() <= 1e-11


def test_internal_blocks_end_at_absolute_multiples() -> None:
    """A call cut at a multiple of the block, counted from the first row ever learnt, has the same bits as one that is not cut."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(2500, 3)), rng.normal(size=2500)
    learner = PKAWV(Taylor(2))
    one, two = learner.init(3), learner.init(3)
    for state, cuts in ((one, (0, 10, 2500)), (two, (0, 10, 1024, 2048, 2500))):
        for start, stop in pairwise(cuts):
            learner.learn(state, X[start:stop], y[start:stop])
    assert one.ridge.matrix.tobytes() == two.ridge.matrix.tobytes()
    assert one.ridge.coef.tobytes() == two.ridge.coef.tobytes()


def test_outputs_share_a_matrix_and_do_not_mix() -> None:
    rng = np.random.default_rng(4)
    X, Y, weight = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)), rng.uniform(0.1, 2.0, size=200)
    learner = PKAWV(Fourier(20), forgetting=0.99)
    together = learner.learn(learner.init(3, 3), X, Y, weight)
    for k in range(3):
        alone = learner.learn(learner.init(3), X, Y[:, k], weight)
        assert np.abs(together[:, k] - alone).max() <= 1e-12


def test_a_score_does_not_depend_on_its_own_weight() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    for learner in (PKAWV((Standardize(), Fourier(20))), PKAWV((Standardize(), Fourier(20)), forgetting=0.9)):
        states = [learner.init(3) for _ in range(3)]
        last = []
        for state, w in zip(states, (1e-12, 1.0, 1e4), strict=True):
            weight = np.append(np.ones(59), w)
            last.append(learner.learn(state, X, y, weight)[-1])
        assert max(last) - min(last) <= 1e-12


def test_whole_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(6)
    X, y, times = rng.normal(size=(80, 2)), rng.normal(size=80), rng.integers(1, 4, size=80)
    learner = PKAWV(Taylor(3, 1.5), awv=False)
    weighted, repeated = learner.init(2), learner.init(2)
    learner.learn(weighted, X, y, times.astype(float))
    learner.learn(repeated, np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.abs(learner.predict(weighted, X) - learner.predict(repeated, X)).max() <= 1e-12


def test_a_failing_basis_leaves_the_state_whole() -> None:
    def fussy(X: Array) -> Array:
        if X[0, 0] > 3.0:
            raise RuntimeError("no")
        return np.hstack([X, X**2])

    learner = PKAWV((Standardize(), onkel.Basis(fussy, np.eye(4)) + Constant()))
    state = learner.init(2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    learner.learn(state, X[:500], X[:500, 0])
    before = [np.asarray(v).tobytes() for _, v, _ in onkel.state.leaves(state)]
    X[1900] = 1e6
    with pytest.raises(RuntimeError, match="no"):
        learner.learn(state, X, X[:, 0])
    assert [np.asarray(v).tobytes() for _, v, _ in onkel.state.leaves(state)] == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": 0.0}, "lam must be at least 1e-30, got 0"),
        ({"lam": float("nan")}, "lam must be a finite number"),
        ({"lam": "big"}, "lam must be a finite number, got 'big'"),
        ({"forgetting": 1.1}, "forgetting must be at most 1, got 1.1"),
        ({"forgetting": 0.0}, "forgetting must be at least 0.001"),
        ({"features": 3}, "features must be a Features"),
        ({"features": ()}, "a chain is a tuple of features"),
        ({"features": (Standardize(), "Fourier")}, "every stage of a chain"),
        ({"awv": "yes"}, "awv must be True or False"),
    ],
)
def test_a_config_validates_itself(change: dict[str, object], message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        PKAWV(**change)  # type: ignore[arg-type]


def test_numpy_numbers_become_plain_ones() -> None:
    learner = PKAWV(Taylor(np.int64(3)), lam=np.float32(0.5))  # type: ignore[arg-type]
    assert repr(learner) == "PKAWV(features=Taylor(degree=3, width=None), lam=0.5, awv=True, forgetting=1.0)"


def test_widen_only_adds() -> None:
    learner = PKAWV()
    state = learner.init(2, 3)
    with pytest.raises(onkel.InputError, match="3 outputs already"):
        learner.widen(state, 2)


@pytest.mark.once
def test_a_kernel_learner_beats_a_linear_one_where_it_should() -> None:
    X, y = onkel.data.rings(3000, seed=1)
    mistakes = [onkel.prequential(PKAWV(f), (X, y)).mean("mistakes") for f in (Taylor(4, 1.0), Identity() + Constant())]
    assert mistakes[0] < 0.05 < 0.4 < mistakes[1]


# --- numbers after many rounds, against a long-double reference of the defined A and b ---


def long_double_scores(X: Array, y: Array, lam: float, forgetting: float, last: int) -> Array:
    """AWV scores of the last rows from A and b kept in 80-bit arithmetic."""
    wide = np.longdouble
    X, y, n, r = X.astype(wide), y.astype(wide), len(X), X.shape[1]
    A, b = lam * np.eye(r, dtype=wide), np.zeros(r, dtype=wide)
    mu = wide(forgetting)
    back = lam * (1.0 - mu**r)
    out = []
    for t in range(n):
        if forgetting < 1.0:
            A *= mu
            b = b * mu
            A[t % r, t % r] += back
        A += np.outer(X[t], X[t])
        if t >= n - last:
            out.append(X[t] @ _solve(A, b))
        b = b + y[t] * X[t]
    return np.array(out)


def _solve(A: Wide, b: Wide) -> Wide:
    """Elimination in whatever precision A has; A is positive definite, so without pivots."""
    M = np.column_stack([A, b])
    for k in range(len(b)):
        M[k] /= M[k, k]
        others = np.arange(len(b)) != k
        M[others] -= M[others, k][:, None] * M[k]
    return M[:, -1]


def _points(kind: str, rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(rows, 32))
    if kind == "a repeated point":
        X = X[0] + 1e-8 * X
    return X, X @ rng.normal(size=32) + rng.normal(size=rows)


@pytest.mark.once
@pytest.mark.parametrize("kind", ["Gaussian", "a repeated point"])
@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9])
def test_numbers_hold_for_a_while(kind: str, forgetting: float) -> None:
    X, y = _points(kind, 2000)
    learner = PKAWV(Identity(), lam=1.0, forgetting=forgetting)
    scores = learner.learn(learner.init(32), X, y)[-200:]
    expected = long_double_scores(X, y, 1.0, forgetting, 200)
    assert np.abs(scores - expected).max() <= 1e-11 * np.abs(expected).max()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Gaussian", "a repeated point"])
@pytest.mark.parametrize(("forgetting", "rounds", "tolerance"), [(0.999, 200_000, 1e-10), (1.0, 1_000_000, 1e-9)])
@pytest.mark.parametrize("size", [1, 1024])
def test_numbers_hold_for_ever(kind: str, forgetting: float, rounds: int, tolerance: float, size: int) -> None:
    X, y = _points(kind, rounds)
    learner = PKAWV(Identity(), lam=1.0, forgetting=forgetting)
    state = learner.init(32)
    scores = np.concatenate([learner.learn(state, X[a : a + size], y[a : a + size]) for a in range(0, rounds, size)])[-1000:]
    expected = long_double_scores(X, y, 1.0, forgetting, 1000)
    worst = float(np.abs(scores - expected).max() / np.abs(expected).max())
    print(f"\n{kind}, forgetting {forgetting}, {rounds:,} rounds in blocks of {size}: {worst:.1e}")
    assert worst <= tolerance
