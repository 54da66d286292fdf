"""What is special to PKAWVNystroem: complete and given dictionaries, points that are alike, and the printed scheme it replaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import Gaussian, KernelAWV, KernelRidge, Kors, Nystroem, PKAWVNystroem, Polynomial, Uniform
from onkel._jit import compiler_off
from onkel.measure.regret import embed
from onkel.state import owned
from tests.laws.cases import bits
from tests.oracle import pkawv_nystroem as oracle

Array = NDArray[np.float64]

EVERY = Kors(oversampling=1e30)  # takes every point


def plane(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, np.sin(3.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def run(learner: Any, X: Array, y: Array) -> tuple[Array, Any]:
    state = learner.init(X.shape[1])
    return learner.learn(state, X, y), state


@pytest.mark.once
@pytest.mark.parametrize("keep_history", [True, False])
@pytest.mark.parametrize(("awv", "exact"), [(True, KernelAWV), (False, KernelRidge)])
@pytest.mark.parametrize("dictionary", [EVERY, Uniform(1.0)])
def test_a_complete_dictionary_is_the_exact_learner(keep_history: bool, awv: bool, exact: Any, dictionary: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    kernel = Gaussian(width=1.0)
    scores, state = run(PKAWVNystroem(kernel, 0.5, dictionary, awv, keep_history), X, y)
    assert len(state.span.spanning) == 80
    assert np.abs(scores - run(exact(kernel, 0.5), X, y)[0]).max() <= 1e-10


@pytest.mark.parametrize("awv", [True, False])
@pytest.mark.parametrize("dictionary", [Uniform(0.15), Kors(mu=1.0)])
def test_any_dictionary_solves_the_normal_equations(awv: bool, dictionary: Any) -> None:
    """(K_tmᵀK_tm + λK_mm)α = K_tmᵀ(Y, 0), the scheme of the paper before any update of factors."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 5))
    y = np.cos(X[:, 1]) * X[:, 0]
    kernel, lam = Gaussian(width=1.5), 0.7
    scores, state = run(PKAWVNystroem(kernel, lam, dictionary, awv), X, y)
    assert 5 < len(state.span.points) < 90
    for t in range(120):
        points = X[state.span.joined[state.span.joined <= t]]
        now = t + 1 if awv else t
        if not len(points):
            assert scores[t] == 0.0
            continue
        K, targets = kernel(X[:now], points) if now else np.empty((0, len(points))), np.append(y[:t], 0.0)[:now]
        alpha = np.linalg.solve(K.T @ K + lam * kernel(points, points), K.T @ targets)
        assert scores[t] == pytest.approx(float(kernel(X[t : t + 1], points)[0] @ alpha), abs=1e-8)


def test_a_dictionary_that_is_there_from_the_start_is_a_fixed_embedding() -> None:
    """The first m rows are taken, and no more: it is PKAWV on their features."""
    X, y = plane(300, 2)
    kernel = Gaussian(width=0.7)
    scores, state = run(PKAWVNystroem(kernel, dictionary=EVERY, budget=15), X, y)
    assert np.array_equal(state.span.points, X[:15])
    fixed, _ = run(onkel.PKAWV(Nystroem(kernel, X[:15])), X, y)
    assert np.abs(scores - fixed).max() <= 1e-9


def test_frozen_past_is_not_the_definition_and_costs_little() -> None:
    """algorithms differ as soon as a point joins late; both learn."""
    X, y = plane(600, 3)
    whole, _ = run(PKAWVNystroem(Gaussian(width=0.5), dictionary=Uniform(0.05)), X, y)
    frozen, _ = run(PKAWVNystroem(Gaussian(width=0.5), dictionary=Uniform(0.05), keep_history=False), X, y)
    assert np.abs(whole - frozen).max() > 1e-3
    exact, late = float(np.sum((whole - y) ** 2)), float(np.sum((frozen - y) ** 2))
    assert exact < late < 1.5 * exact


class Printed:
    """Algorithm 2 as printed (its indentation and weights put right): R of K_tmᵀK_tm + λK_mm by update and downdate."""

    def __init__(self, kernel: Any, lam: float) -> None:
        self.kernel, self.lam = kernel, lam
        self.R = np.empty((0, 0))

    def add_row(self, k: Array) -> None:
        cholup(self.R, k, 1.0)

    def add_point(self, K: Array, a: Array, b: Array, own: float) -> None:
        """K: past values of the old points; a: of the new one; b: the old points' values at the new one."""
        d, c = a @ a + self.lam * own, K.T @ a + self.lam * b
        g = np.sqrt(1.0 + d)
        self.R = np.block([[self.R, np.zeros((len(b), 1))], [np.zeros((1, len(b) + 1))]])
        cholup(self.R, np.append(c / (1.0 + g), g), 1.0)
        cholup(self.R, np.append(c / (1.0 + g), -1.0), -1.0)


def cholup(R: Array, x: Array, sign: float) -> None:
    """RᵀR ± xxᵀ, in place; a square that is not positive ends it."""
    x = x.copy()
    for i in range(len(x)):
        square = R[i, i] ** 2 + sign * x[i] ** 2
        if square <= 0.0:
            raise np.linalg.LinAlgError("downdate failed")
        r = np.sqrt(square)
        c, s = (r / R[i, i], x[i] / R[i, i]) if R[i, i] else (1.0, 1.0)
        if R[i, i]:
            R[i, i + 1 :] = (R[i, i + 1 :] + sign * s * x[i + 1 :]) / c
            x[i + 1 :] = c * x[i + 1 :] - s * R[i, i + 1 :]
        else:
            R[i, i + 1 :] = x[i + 1 :] * x[i] / r
            x[i + 1 :] = 0.0
        R[i, i] = r


def printed_reaches(learner: PKAWVNystroem, X: Array, state: Any) -> int:
    """After how many points the printed scheme breaks, on the dictionary that KORS took; their number where it never does."""
    scheme, taken = Printed(learner.kernel, learner.lam), list[int]()
    for t in range(len(X)):
        k = learner.kernel(X[t : t + 1], X[taken])[0] if taken else np.empty(0)
        scheme.add_row(k)
        if t in state.span.joined:
            past = learner.kernel(X[: t + 1], X[taken]) if taken else np.empty((t + 1, 0))
            try:
                scheme.add_point(past, learner.kernel(X[: t + 1], X[t : t + 1])[:, 0], k, 1.0)
            except np.linalg.LinAlgError:
                return len(taken)
            taken.append(t)
    return len(taken)


@pytest.mark.once
@pytest.mark.parametrize("seed", range(1 if compiler_off else 3))
def test_it_goes_on_where_the_printed_downdate_fails(seed: int) -> None:
    """2-D data, μ = 1e-3: the printed scheme breaks; ours stays within 1e-6 of the definition in extended precision."""
    X, y = plane(400, 10 + seed)
    learner = PKAWVNystroem(Gaussian(width=1.0), dictionary=Kors(mu=1e-3), seed=seed)
    scores, state = run(learner, X, y)
    assert len(state.span.points) > len(state.span.spanning) > 40
    assert printed_reaches(learner, X, state) < len(state.span.points)
    reference, dictionary = oracle.run(learner, X, y)
    error = float(np.abs(scores - reference).max())
    print(f"\nμ = 1e-3: {len(state.span.points)} points taken, {len(state.span.spanning)} in the span, error {error:.1e}")
    assert len(dictionary.points) == len(state.span.points)
    assert error <= 1e-6


def test_the_printed_scheme_is_right_while_it_lasts() -> None:
    """So that its failure above is its own, not our transcription's: R is the factor of K_tmᵀK_tm + λK_mm."""
    X, _ = plane(40, 5)
    kernel, lam = Gaussian(width=0.3), 1.0
    scheme, taken = Printed(kernel, lam), list[int]()
    for t in range(40):
        k = kernel(X[t : t + 1], X[taken])[0] if taken else np.empty(0)
        scheme.add_row(k)
        if t % 7 == 0:
            past = kernel(X[: t + 1], X[taken]) if taken else np.empty((t + 1, 0))
            scheme.add_point(past, kernel(X[: t + 1], X[t : t + 1])[:, 0], k, 1.0)
            taken.append(t)
    K = kernel(X, X[taken])
    assert np.abs(scheme.R.T @ scheme.R - K.T @ K - lam * kernel(X[taken], X[taken])).max() <= 1e-9


def test_copies_join_once() -> None:
    """Forty copies of five points: KORS may take a copy, but the span has five directions, and all scores stay finite."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.normal(size=(5, 2)), 40, axis=0)[rng.permutation(200)]
    y = rng.choice([-1.0, 1.0], 200)
    for dictionary, points in ((EVERY, 200), (Uniform(1.0), 5)):
        scores, state = run(PKAWVNystroem(dictionary=dictionary), X, y)
        assert np.isfinite(scores).all()
        assert (len(state.span.points), len(state.span.spanning)) == (points, 5)
        assert np.abs(scores - run(KernelAWV(), X, y)[0]).max() <= 1e-9


@pytest.mark.once
def test_a_long_history_is_all_used() -> None:
    """3,000 rows, past any internal block: the last point joins late, and the scores are those of a fixed span with its past."""
    X, y = plane(3000, 16)
    learner = PKAWVNystroem(Gaussian(width=0.5), dictionary=Uniform(0.004), seed=3)
    scores, state = run(learner, X, y)
    last = int(state.span.joined[-1])
    assert last > 1500
    fixed, _ = run(onkel.PKAWV(Nystroem(Gaussian(width=0.5), state.span.points)), X, y)
    assert np.abs(scores - fixed)[last:].max() <= 1e-9


@pytest.mark.parametrize("heavy", [1e10, 1e16, 1e20])
def test_digits_survive_a_heavy_row_before_points_join(heavy: float) -> None:
    """Bordering would lose them: R is then made anew from the history, which is counted and said."""
    X, y = plane(150, 17)
    weight = np.ones(150)
    weight[3] = heavy
    learner = PKAWVNystroem(Gaussian(width=0.7), dictionary=Uniform(0.1), budget=11, seed=1)
    state = learner.init(2)
    scores = learner.learn(state, X, y, weight)
    fixed = onkel.PKAWV(Nystroem(Gaussian(width=0.7), state.span.points))
    exact = fixed.learn(fixed.init(2), X, y, weight)
    last = int(state.span.joined[-1])
    assert 3 < last < 140
    assert np.abs(scores - exact)[last:].max() <= 1e-7
    assert state.rebuilt > 0
    assert any("rebuilt" in note for note in learner.notes(state))


def test_predict_of_many_rows_that_would_join_is_that_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A low coin: nearly every row would join. One call asks for the past's kernel values once, and gives the same bits."""
    X, y = plane(200, 18)
    learner = PKAWVNystroem(Gaussian(width=0.2), dictionary=Kors(mu=0.01))
    state = learner.init(2)
    learner.learn(state, X[:150], y[:150])
    one_by_one = np.concatenate([learner.predict(state, X[t : t + 1]) for t in range(150, 200)])
    asked: list[int] = []
    values = Gaussian.values

    def counted(kernel: Gaussian, A: Array, B: Array) -> Array:
        asked.append(len(A))
        return values(kernel, A, B)

    monkeypatch.setattr(Gaussian, "values", counted)
    together = learner.predict(state, X[150:])
    assert np.array_equal(together, one_by_one)
    assert asked.count(150) <= 2


def test_with_a_budget_and_no_history_memory_stops_growing() -> None:
    X, y = plane(2000, 6)
    learner = PKAWVNystroem(Gaussian(width=0.3), dictionary=Kors(mu=0.1), keep_history=False, budget=20)
    state = learner.init(2)
    learner.learn(state, X[:500], y[:500])
    size = onkel.nbytes(state)
    learner.learn(state, X[500:], y[500:])
    assert onkel.nbytes(state) == size
    assert len(state.span.points) == 20
    assert learner.notes(state)[0].startswith("the dictionary is full: 20 points")
    assert learner.notes(learner.init(2)) == []


def test_a_ridge_lost_beside_the_kernel_is_counted_and_said() -> None:
    X, y = plane(50, 15)
    learner = PKAWVNystroem(Polynomial(degree=2), lam=1e-10)
    scores, state = run(learner, 1e3 * X, y)
    assert np.isfinite(scores).all()
    assert state.strained > 0
    assert "rescale X, or raise lam" in learner.notes(state)[-1]
    assert run(PKAWVNystroem(Polynomial(degree=2)), X, y)[1].strained == 0


def test_with_history_memory_is_a_row_a_row() -> None:
    X, y = plane(4096, 7)
    learner = PKAWVNystroem(Gaussian(width=1.0), dictionary=Kors(mu=10.0), budget=10)
    _, state = run(learner, X, y)
    assert onkel.nbytes(state) - 8 * 4096 * (2 + 1 + 1) < 8 * 10 * 50


def test_an_empty_dictionary_scores_0() -> None:
    X, y = plane(50, 8)
    scores, state = run(PKAWVNystroem(dictionary=Uniform(0.0)), X, y)
    assert np.array_equal(scores, np.zeros(50))
    assert state.rows == 50


def test_the_seed_matters_and_labels_do_not_move_the_dictionary() -> None:
    X, y = plane(300, 9)
    dictionaries = [run(PKAWVNystroem(seed=seed), X, y)[1].span.joined.tolist() for seed in (0, 1)]
    assert dictionaries[0] != dictionaries[1]
    assert run(PKAWVNystroem(seed=0), X, -y)[1].span.joined.tolist() == dictionaries[0]


def test_outputs_share_a_span_and_do_not_mix() -> None:
    X, y = plane(200, 10)
    both = np.column_stack([y, X[:, 0] ** 2])
    learner = PKAWVNystroem(Gaussian(width=0.7))
    state = learner.init(2, 2)
    scores = learner.learn(state, X, both)
    for o in range(2):
        assert np.abs(scores[:, o] - run(learner, X, both[:, o])[0]).max() <= 1e-12


def test_whole_weights_are_repeated_rows() -> None:
    X, y = plane(60, 11)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    learner = PKAWVNystroem(Gaussian(width=0.7), dictionary=EVERY, budget=12)
    weighted, repeated = learner.init(2), learner.init(2)
    learner.learn(weighted, X, y, weight)
    learner.learn(repeated, np.vstack([X[:12], np.repeat(X, weight - (np.arange(60) < 12), axis=0)]),
                  np.concatenate([y[:12], np.repeat(y, weight - (np.arange(60) < 12))]))  # fmt: skip
    assert np.abs(learner.predict(weighted, X) - learner.predict(repeated, X)).max() <= 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dictionary": "Kors"}, r"dictionary must be a Dictionary, such as Kors\(mu=0.1\)"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"budget": 1.5}, "budget must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"keep_history": 1}, "keep_history must be True or False"),
        ({"lam": -1.0}, "lam must be at least"),
    ],
)
def test_a_config_validates_itself(change: dict[str, Any], message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        PKAWVNystroem(**change)


def shorter(name: str, part: str = "") -> Any:
    def change(state: Any) -> None:
        owner = getattr(state, part) if part else state
        setattr(owner, name, getattr(owner, name)[:-1])

    return change


CHANGES: dict[str, tuple[Any, str]] = {
    "a point less": (shorter("points", "span"), "have the wrong length for its points"),
    "a point moved": (lambda state: state.span.points.__setitem__((0, 0), 3.0), "match the kernel matrix of its points"),
    "a weight below 1": (lambda state: state.span.sampling.weights.__setitem__(0, 0.5), "or a weight is below 1"),
    "a factor of nothing": (
        lambda state: state.span.sampling.factor.__setitem__(slice(None), 1.0),
        "match the kernel matrix of its points",
    ),
    "a round less": (shorter("joined", "span"), "do not fit its rows"),
    "a round twice": (lambda state: state.span.joined.__setitem__(1, state.span.joined[0]), "do not fit its rows"),
    "a round to come": (lambda state: state.span.joined.__setitem__(-1, 10**6), "do not fit its rows"),
    "points out of range": (lambda state: state.span.spanning.__setitem__(-1, 10**6), "are not points of its dictionary"),
    "a negative index": (lambda state: state.span.spanning.__setitem__(0, -1), "are not points of its dictionary"),
    "a span point less": (shorter("spanning", "span"), "matrix of the stored points"),
    "a whitening of nothing": (
        lambda state: state.span.whitening.__setitem__(0, 2.0),
        "matrix of the stored points",
    ),
    "a matrix too small": (shorter("matrix"), "its matrix does not belong"),
    "a singular matrix": (lambda state: state.matrix.__setitem__((0, 0), 0.0), "its matrix does not belong"),
    "a matrix below the ridge": (lambda state: state.matrix.__setitem__((1, 1), 1e-3), "its matrix does not belong"),
    "junk below the diagonal": (lambda state: state.matrix.__setitem__((2, 0), 1.0), "not triangular"),
    "a matrix of huge numbers": (lambda state: state.matrix.__setitem__((0, 1), 1e200), "not triangular"),
    "a past of huge numbers": (lambda state: state.history.labels.__setitem__((0, 0), 1e300), "larger than any row"),
    "coefficients too few": (lambda state: setattr(state, "coef", state.coef[:, :-1]), "its matrix does not belong"),
    "history too short": (lambda state: state.learnt.__setitem__(0, 10**6), "one entry per row"),
    "fewer rows than points": (lambda state: state.learnt.__setitem__(0, 3), "do not fit its rows"),
    "histories of two lengths": (shorter("weights", "history"), "one entry per row"),
    "a past row without weight": (lambda state: state.history.weights.__setitem__(0, 0.0), "without weight"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_state_is_checked(name: str) -> None:
    X, y = plane(100, 12)
    learner = PKAWVNystroem()
    _, state = run(learner, X, y)
    learner.check(state)
    change, message = CHANGES[name]
    change(state)
    with pytest.raises(onkel.InputError, match=message):
        learner.check(state)


def test_a_state_of_other_settings_is_refused() -> None:
    X, y = plane(100, 13)
    _, state = run(PKAWVNystroem(), X, y)
    other = PKAWVNystroem(keep_history=False)
    with pytest.raises(onkel.InputError, match="one entry per row"):
        other.check(owned(other, state))
    other = PKAWVNystroem(budget=3)
    with pytest.raises(onkel.InputError, match="its budget is 3"):
        other.check(owned(other, state))
    other = PKAWVNystroem(dictionary=Uniform())
    with pytest.raises(onkel.InputError, match="have the wrong length"):
        other.check(owned(other, state))
    other = PKAWVNystroem(Polynomial())
    with pytest.raises(onkel.InputError, match="factor"):
        other.check(owned(other, state))


def test_more_history_than_the_machine_holds_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onkel.protocol._memory", lambda: 1e4)
    learner = PKAWVNystroem()
    X, y = plane(400, 14)
    state = learner.init(2)
    learner.learn(state, X[:50], y[:50])
    before = bits(state)
    with pytest.raises(onkel.InputError, match="keep_history=False keeps no rows"):
        learner.learn(state, X, y)
    assert bits(state) == before


@pytest.mark.parametrize("kind", [PKAWVNystroem, onkel.ProsNKONS])
@pytest.mark.parametrize("width", [0.2, 0.3])
def test_a_crowd_of_points_does_not_spoil_the_rows_far_from_it(kind: Any, width: float) -> None:
    """Points close together, then rows elsewhere: ‖z(x)‖² ≤ k(x, x) for all, where tiny pivots would have lost every digit."""
    for seed in range(1 if compiler_off else 10):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.uniform(-0.3, 0.3, (600, 1)), rng.uniform(-1.0, 1.0, (400, 1))])
        learner = kind(kernel=Gaussian(width), dictionary=Kors(mu=1.0), budget=None)
        state = learner.init(1)
        assert np.isfinite(learner.learn(state, X, np.sin(5.0 * X[:, 0]))).all()
        span = Nystroem(Gaussian(width), state.span.points[state.span.spanning])
        Z = embed(span, np.linspace(-1.0, 1.0, 300)[:, None])
        assert Z.shape[1] == len(state.span.spanning)
        assert np.max(np.sum(Z**2, axis=1)) <= 1.0 + 1e-6
