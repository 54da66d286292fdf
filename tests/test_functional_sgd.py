"""Functional SGD: the mean of all iterates, explicit features, one learner on all representations, moments, steps too long."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.functions import representations
from onkel.functions.block_layout import BLOCK, COEF, FAN, SUMS
from onkel.functions.function import Function
from onkel.functions.support import Support
from onkel.kernels import Additive, Brownian, CustomKernel, Delta, Exponential, Gaussian, Kernel, Linear, Polynomial, Spline
from onkel.state import copied, owned
from onkel.updates import kernel_expansion
from tests.laws.cases import bits
from tests.oracle.additive import gram
from tests.test_projection import KERNELS, slow, spline_from_outside
from tests.test_sorted_blocks import KERNELS as TREES
from tests.test_sorted_blocks import LEAST_EXPONENTIAL, MATERN, MIXED, THREE_LEVELS, TWO_LEVELS, arranged, levels

Array = NDArray[np.float64]

ROWS = 60 if compiler_off else 300
MANY = TWO_LEVELS if compiler_off else THREE_LEVELS
UNIT, WIDE = (0.0, 1.0), (-3.0, 3.0)
TREE = Additive(Spline(1, WIDE))
GIVEN = Additive((MATERN, Exponential(0.5), MATERN))
IN_PYTHON: list[Kernel] = [GIVEN, CustomKernel(spline_from_outside)]  # a user's functions are called for each row, or pair of rows
ALL: list[Kernel] = [*KERNELS, Gaussian(width=1.5), Polynomial(degree=2), *IN_PYTHON]
every_kernel = pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: repr(kernel)[:60])


def stream(rows: int = ROWS, dim: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """A smooth function and noise; every seventh row was met before, with another label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim))
    X[rows // 2 :: 7] = X[: len(X[rows // 2 :: 7])]
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=rows)


def safe(kernel: Kernel, X: Array, share: float = 0.9) -> float:
    """A step so short that γ k(x, x) ≤ share."""
    return share / float(gram(kernel, X, X).diagonal().max())


def learnt(learner: Any, X: Array, y: Array) -> tuple[Any, Array]:
    state = learner.init(X.shape[1])
    return state, learner.learn(state, X, y)


def inner(state: Any) -> Any:
    return getattr(state, "inner", state)


def steps(scores_of_last: Array, y: Array, step: float, decay: float) -> Array:
    """a_i = γ_i (y_i − f̃(x_i))"""
    return np.asarray(step * np.arange(1.0, len(y) + 1.0) ** -decay * (y - scores_of_last))


# what it is


@pytest.mark.once
@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
@every_kernel
def test_the_mean_of_all_iterates(kernel: Kernel, decay: float) -> None:
    """f̄_n = (f̃_0 + … + f̃_n) / (n + 1): every f̃ is asked for its values, and they are added up."""
    X, y = stream(40 if compiler_off or kernel in IN_PYTHON else 120)
    Z = np.vstack([X[::9], X[::9] + 0.1])
    settings = (kernel, safe(kernel, X), decay)
    mean, last = onkel.FunctionalSGD(*settings), onkel.FunctionalSGD(*settings, averaging=False)
    one, other, total = mean.init(3), last.init(3), np.zeros(len(Z))
    for n in range(1, len(X) + 1):
        mean.learn(one, X[n - 1 : n], y[n - 1 : n])
        last.learn(other, X[n - 1 : n], y[n - 1 : n])
        total += last.predict(other, Z)
        expected = total / (n + 1)
        assert np.abs(mean.predict(one, Z) - expected).max() <= 1e-12 * max(1.0, float(np.abs(expected).max()))
    assert np.abs(last.predict(other, Z) - expected).max() > 1e-3


@every_kernel
def test_the_coefficients_of_the_mean(kernel: Kernel) -> None:
    """f̄_n = Σ a_i (1 − i/(n+1)) k(x_i, ·), with a_i from the scores of f̃."""
    X, y = stream()
    settings = (kernel, safe(kernel, X), 0.4)
    state, scores = learnt(onkel.FunctionalSGD(*settings), X, y)
    a = steps(learnt(onkel.FunctionalSGD(*settings, averaging=False), X, y)[1], y, *settings[1:])
    K, i = gram(kernel, X, X), np.arange(1.0, ROWS + 1.0)
    expected = np.array([K[n, :n] @ (a[:n] * (1.0 - i[:n] / (n + 1.0))) for n in range(ROWS)])
    assert np.abs(scores - expected).max() <= 1e-11
    after = K @ (a * (1.0 - i / (ROWS + 1.0)))
    assert np.abs(onkel.FunctionalSGD(*settings).predict(state, X) - after).max() <= 1e-11


@every_kernel
def test_a_block_is_a_triangular_system(kernel: Kernel) -> None:
    """(I + Λ) f̃ = Λ y with Λ_ij = γ_j k(x_i, x_j) for j < i, all scores at once."""
    X, y = stream()
    step = safe(kernel, X)
    gamma = step * np.arange(1.0, ROWS + 1.0) ** -0.5
    Lower = np.tril(gram(kernel, X, X) * gamma, -1)
    expected = np.linalg.solve(np.eye(ROWS) + Lower, Lower @ y)
    scores = learnt(onkel.FunctionalSGD(kernel, step, averaging=False), X, y)[1]
    assert np.abs(scores - expected).max() <= 1e-11


def affine(X: Array) -> Array:
    """(x·z)² + 2 x·z + 1 = ψ(x)·ψ(z)"""
    pairs = [math.sqrt(2.0 if i < j else 1.0) * X[:, i] * X[:, j] for i in range(3) for j in range(i, 3)]
    return np.column_stack([np.ones(len(X)), math.sqrt(2.0) * X, *pairs])


FEATURES: list[tuple[Kernel, Callable[[Array], Array]]] = [(Linear(), lambda X: X), (Polynomial(degree=2, offset=1.0), affine)]


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize(("kernel", "psi"), FEATURES, ids=["linear", "polynomial"])
def test_in_explicit_features(kernel: Kernel, psi: Callable[[Array], Array], averaging: bool) -> None:
    """Equation 76 of Zhang & Simon (2021): θ ← θ + γ_n (y_n − θ·ψ(x_n)) ψ(x_n), and the mean of all θ."""
    X, y = stream()
    step, V = safe(kernel, X), psi(X)
    theta = mean = np.zeros(V.shape[1])
    expected = np.empty(ROWS)
    for n in range(1, ROWS + 1):
        v = V[n - 1]
        expected[n - 1] = v @ (mean if averaging else theta)
        theta = theta + step * n**-0.5 * (y[n - 1] - v @ theta) * v
        mean = (n * mean + theta) / (n + 1)
    learner = onkel.FunctionalSGD(kernel, step, averaging=averaging)
    state, scores = learnt(learner, X, y)
    assert np.abs(scores - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())
    assert learner.predict(state, X) == pytest.approx(V @ (mean if averaging else theta), rel=1e-10, abs=1e-12)


@every_kernel
def test_a_constant_step_without_a_mean_is_kogd(kernel: Kernel) -> None:
    """NORMA with λ = 0 and the square loss, whose slope is 2 (f − y)."""
    X, y = stream(80)
    step = safe(kernel, X, 0.5)
    one = onkel.FunctionalSGD(kernel, step, decay=0.0, averaging=False)
    other = onkel.NORMA(kernel, onkel.Square(), step / 2.0, lam=0.0)
    assert learnt(one, X, y)[1].tobytes() == learnt(other, X, y)[1].tobytes()


@pytest.mark.once
def test_the_mean_lets_go_of_noise_at_the_rate_of_the_theorem() -> None:
    """For `Brownian`, λ_i ~ i⁻², E (f̄ − f)² ~ n^(−2/3) with decay ⅓; f̃ itself stays as noisy as its steps are long."""
    Z, sizes = np.linspace(0.0, 1.0, 400)[:, None], np.array([500, 2000, 8000, 32000])
    truth, errors = np.sin(2.0 * Z[:, 0]), np.zeros((2, len(sizes)))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.random((sizes[-1], 1))
        y = np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=len(X))
        for k, averaging in enumerate((True, False)):
            learner: Any = onkel.FunctionalSGD(Brownian(UNIT), step=1.0, decay=1.0 / 3.0, averaging=averaging)
            state, before = learner.init(1), 0
            for j, n in enumerate(sizes):
                learner.learn(state, X[before:n], y[before:n])
                errors[k, j] += np.mean((learner.predict(state, Z) - truth) ** 2) / 8.0
                before = n
    slopes = [np.polyfit(np.log(sizes), np.log(line), 1)[0] for line in errors]
    assert slopes[0] == pytest.approx(-2.0 / 3.0, abs=0.15)
    assert slopes[1] > slopes[0] + 0.2
    assert errors[0, -1] < errors[1, -1] / 5.0


# one learner, several representations


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("kernel", [*KERNELS, GIVEN], ids=lambda kernel: repr(kernel)[:40])
def test_all_representations_are_one_function(kernel: Kernel, averaging: bool) -> None:
    X, y = stream(100 if compiler_off else 150 if kernel in IN_PYTHON else 2000)
    fast, plain = (onkel.FunctionalSGD(k, safe(kernel, X[:300], 0.7), averaging=averaging) for k in (kernel, slow(kernel)))
    (state, scores), (other, expected) = learnt(fast, X, y), learnt(plain, X, y)
    assert isinstance(inner(other).support, Support)
    assert not isinstance(inner(state).support, Support)
    assert np.abs(scores - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())
    assert np.abs(fast.predict(state, X) - plain.predict(other, X)).max() <= 1e-11 * max(1.0, np.abs(expected).max())
    assert np.ptp(scores[len(X) // 2 :]) > 0.0


@pytest.mark.parametrize(
    "arrangement", ["sorted"] if compiler_off else ["random", "sorted", "repeated"]
)  # sorted: the tallest tree
@pytest.mark.parametrize("kernel", [Spline(1, UNIT), Exponential(20.0)], ids=repr)
def test_a_stream_that_outgrows_its_arrays_again_and_again(kernel: Kernel, arrangement: str) -> None:
    """Up to three levels of nodes, in blocks of all sizes; the same as the list of points."""
    rows = MANY if arrangement == "sorted" else TWO_LEVELS
    X = arranged(arrangement, rows, 1)
    y = np.cos(9.0 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=rows)
    fast, plain = (onkel.FunctionalSGD(k, step=0.3, decay=0.3) for k in (kernel, slow(kernel)))
    state, other = fast.init(1), plain.init(1)
    sizes = []
    for piece in np.split(np.arange(rows), np.cumsum([1, 2, 400, 1, 300])):
        scores, expected = (learner.learn(s, X[piece], y[piece]) for learner, s in ((fast, state), (plain, other)))
        assert np.abs(scores - expected).max(initial=0.0) <= 1e-11 * max(1.0, np.abs(expected).max(initial=0.0))
        fast.check(state)
        sizes.append(onkel.nbytes(state))
    assert arrangement != "sorted" or levels(inner(state).support) == (2 if compiler_off else 3)
    assert arrangement == "repeated" or sizes[-1] > sizes[0]
    assert len(inner(other).support.coef) >= rows


# moments


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [*TREES, (Linear(), 2), (Gaussian(), 2), (Additive(MIXED, products=((0, 1), (1, 1), (0, 0))) + Delta(0.3), 2)],
)
def test_a_moment_is_the_sum_of_coefficients_times_rounds(kernel: Kernel, dim: int) -> None:
    """However the keys come, and while f is shrunk beyond all bounds of its scale: |fast − naive| ≤ 1e-11 Σ |i a_i k(x_i, z)|."""
    rng, rows = np.random.default_rng(3), 200 if compiler_off else 900
    X = np.vstack([arranged(name, rows // 3, dim, seed) for seed, name in enumerate(("random", "repeated", "sorted"))])
    f, plain, a = representations.empty(kernel, dim, moment=True), representations.empty(kernel, dim), np.zeros(0)
    for now in np.array_split(np.arange(len(X)), 3):
        new = rng.normal(size=len(now)) * 10.0 ** rng.integers(-3, 3, len(now))
        for each in (f, plain):
            _insert(each, kernel, X[now], new, now)
        a = np.append(a, new)
        for factor in (1e-60, 1e-60, 1e118):
            for each in (f, plain):
                representations.shrink(each.compiled, factor)
            a = factor * a
        Z = np.vstack([X[:: len(X) // 15], arranged("random", 9, dim, seed=7)])
        K, i = gram(kernel, Z, X[: len(a)]), np.arange(1.0, len(a) + 1.0)
        values, moments = _with_moment(f, kernel, Z)
        least = LEAST_EXPONENTIAL * np.sum(np.abs(i * a)) * 1e-118
        assert np.all(np.abs(values - K @ a) <= 1e-11 * np.abs(K) @ np.abs(a) + least)
        assert np.all(np.abs(moments - K @ (i * a)) <= 1e-11 * np.abs(K) @ np.abs(i * a) + least)
        assert np.array_equal(_with_moment(plain, kernel, Z)[0], values)
        f.check(kernel, len(a), None)


def _insert(f: Function, kernel: Kernel, X: Array, a: Array, rounds: NDArray[np.int64]) -> None:
    rows, own = f.rows(kernel, X), kernel.diagonal(X)
    for i in range(len(X)):
        f.make_room(kernel)
        source = f.source(kernel, rows[i : i + 1])
        representations.add(source, f.compiled, rows[i], float(own[i]), float(a[i]), int(rounds[i]))


def _with_moment(f: Function, kernel: Kernel, Z: Array) -> tuple[Array, Array]:
    rows = f.rows(kernel, Z)
    source = f.source(kernel, rows)
    work = representations.prepare(source, f.compiled, rows)
    values, moments = np.transpose([representations.with_moment(source, f.compiled, row, work) for row in rows])
    return values, moments


@pytest.mark.parametrize("delta", [False, True])
def test_points_whose_coefficients_cancel_still_have_a_moment(delta: bool) -> None:
    """Keys far apart, each met with a label and later with 0: f̃ is 0 again, exactly, but f̄ remembers; and no key may leave."""
    rows = 2 * BLOCK + 8
    kernel: Any = Additive(Exponential(1e5)) + Delta(1.0) if delta else Exponential(1e5)
    X = np.tile(np.linspace(0.0, 1.0, rows), 2)[:, None]
    y = np.repeat([1.0, 0.0], rows)
    learner = onkel.FunctionalSGD(kernel, step=0.5 if delta else 1.0, decay=0.0)
    state, _ = learnt(learner, X, y)
    f: Any = getattr(state.support, "curves", state.support)
    assert np.sum(f.length) == rows
    assert not f.blocks[:, COEF].any()
    assert np.count_nonzero(f.blocks[:, COEF + 1]) == rows
    learner.check(state)
    assert learner.predict(state, X[:rows]) == pytest.approx(rows / (2.0 * rows + 1.0), rel=1e-13)
    later = 2.0 + X[:rows] + 0.5 / rows
    learner.learn(state, later, np.ones(rows))  # needs room: nobody is dead
    assert np.sum(f.length) == 2 * rows
    assert learner.predict(state, X[:rows]) == pytest.approx(rows / (3.0 * rows + 1.0), rel=1e-13)


def test_what_is_dead_in_both_layers_leaves() -> None:
    kernel = Exponential(3.0)
    f, rng = representations.empty(kernel, 1, moment=True), np.random.default_rng(2)
    X, a, rounds = arranged("random", 2000 if compiler_off else 4000, 1), np.zeros(0), 0
    for part in np.array_split(X, 20):
        new = rng.normal(size=len(part))
        _insert(f, kernel, part, new, np.arange(rounds, rounds + len(part)))
        representations.shrink(f.compiled, 1e-60)
        a, rounds = 1e-60 * np.append(a, new), rounds + len(part)
    tree: Any = f
    assert np.sum(tree.length) < len(X) * 2 // 3
    Z = arranged("random", 20, 1, seed=5)
    K, i = gram(kernel, Z, X), np.arange(1.0, rounds + 1.0)
    values, moments = _with_moment(f, kernel, Z)
    assert np.all(np.abs(values - K @ a) <= 1e-11 * np.abs(K) @ np.abs(a))
    assert np.all(np.abs(moments - K @ (i * a)) <= 1e-11 * np.abs(K) @ np.abs(i * a))
    f.check(kernel, rounds, None)


def damaged(name: str, index: Any, change: float) -> Callable[[Any], None]:
    def damage(f: Any) -> None:
        getattr(f, name)[index] += change

    return damage


LATE = {
    "a coefficient": damaged("blocks", (3, COEF + 1, 4), 5.0),
    "a coefficient behind the points": damaged("blocks", (3, COEF + 1, BLOCK - 1), 1.0),
    "a left sum": damaged("nodes", (0, SUMS + 4, 1), 1.0),
    "a right sum": damaged("nodes", (0, -1, 1), -1.0),
    "a sum behind the children": damaged("nodes", (0, SUMS + 4, FAN - 1), 1.0),
    "a total": damaged("totals", (0, 1, 1), 1.0),
}


@pytest.mark.parametrize("damage", LATE.values(), ids=LATE)
def test_a_moment_that_cannot_be_is_refused(damage: Callable[[Any], None]) -> None:
    kernel, rows = Spline(1, UNIT), 10 * BLOCK
    f: Any = representations.empty(kernel, 1, moment=True)
    _insert(f, kernel, arranged("sorted", rows, 1), np.full(rows, 0.01), np.arange(rows))
    f.check(kernel, rows, None)
    damage(f)
    with pytest.raises(onkel.InputError):
        f.check(kernel, rows, None)


@pytest.mark.once
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:40])
def test_a_file_without_a_moment_is_none_with_a_mean(kernel: Kernel, tmp_path: Path) -> None:
    X, y = stream(50)
    mean: Any = onkel.FunctionalSGD(kernel, safe(kernel, X))
    last = dataclasses.replace(mean, averaging=False)
    state, _ = learnt(last, X, y)
    onkel.save(tmp_path / "last.onkel", mean, owned(mean, state))
    with pytest.raises(onkel.FileError):
        onkel.load(tmp_path / "last.onkel")
    scores = mean.predict(state, X)
    assert np.array_equal(scores, last.predict(owned(last, state), X))  # nor does it read what is not there


# steps that are too long

LONG: list[tuple[Kernel, float]] = [
    (Gaussian(width=30.0), 30.0),
    (Polynomial(degree=3), 10.0),
    (Linear(), 50.0),
    (TREE, 10.0),
    (TREE + Delta(0.1), 10.0),
    (Additive(Spline()), 10.0),
    (CustomKernel(spline_from_outside), 10.0),
]


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize(("kernel", "step"), LONG, ids=lambda each: repr(each)[:40])
def test_a_descent_that_runs_away_is_refused_and_leaves_no_trace(kernel: Kernel, step: float, averaging: bool) -> None:
    X, y = stream(400)
    learner = onkel.FunctionalSGD(kernel, step, decay=0.0, averaging=averaging)
    state = learner.init(3)
    learner.learn(state, X[:20], y[:20])
    before = bits(state)
    with pytest.raises(onkel.InputError, match=r"(row|number) \d+ .*is .*: steps of .* would overflow; lower step"):
        learner.learn(state, X[20:], y[20:])
    assert bits(state) == before
    learner.learn(state, X[20:24], y[20:24])  # and it goes on
    assert state.rows == 24


def test_a_transient_is_none_of_its_business() -> None:
    """γ_n k(x, x) > 2 in the first rows, as in example 2 of Zhang & Simon (2021), does no lasting harm."""
    X, y = stream(400)
    learner = onkel.FunctionalSGD(Gaussian(width=1.5), step=5.0)
    _, scores = learnt(learner, X, y)
    assert np.mean((scores - y)[200:] ** 2) < 0.6 * np.mean(y[200:] ** 2)


@every_kernel
def test_short_steps_need_no_copy(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """γ k(x, x) ≤ 1, at once or after the first rows; a user's kernel may fail in the middle whatever the steps are."""
    X, y = stream(30)
    copies: list[int] = []

    def counted(state: Any) -> Any:
        copies.append(state.rows)
        return copied(state)

    monkeypatch.setattr(kernel_expansion, "copied", counted)
    for share, transient in ((0.99, []), (3.99, [*range(15)])):  # 3.99 n^(−½) ≤ 1 from n = 16 on
        learner = onkel.FunctionalSGD(kernel, share / float(gram(kernel, X[:1], X[:1])[0, 0]))
        state = learner.init(3)
        copies.clear()
        for label in y:
            learner.learn(state, X[:1], [label])
        assert copies == ([*range(30)] if isinstance(kernel, CustomKernel) else transient)


@every_kernel
def test_short_steps_cannot_run_away(kernel: Kernel) -> None:
    """‖f̃_n‖² ≤ Σ γ_i y_i² where γ k(x, x) ≤ 1, whatever the labels are."""
    X, _ = stream(150)
    rng = np.random.default_rng(4)
    y = rng.choice([-1.0, 1.0], size=150) * 10.0 ** rng.uniform(-3.0, 3.0, 150)
    step = safe(kernel, X, 1.0)
    for decay in (0.0, 0.5):
        a = steps(learnt(onkel.FunctionalSGD(kernel, step, decay, averaging=False), X, y)[1], y, step, decay)
        gamma, K = step * np.arange(1.0, 151.0) ** -decay, gram(kernel, X, X)
        norms = np.array([a[:n] @ K[:n, :n] @ a[:n] for n in range(1, 151)])
        assert np.all(norms <= np.cumsum(gamma * y**2) * (1.0 + 1e-12))


# other words


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize(
    "kernel", [TREE, Additive(Spline(), products=((0, 1),)), GIVEN, TREE + Delta(0.1)], ids=lambda k: repr(k)[:40]
)
def test_its_curves_add_up_to_its_scores(kernel: Kernel, averaging: bool) -> None:
    """On other rows than those learnt, where there are no spikes."""
    X, y = stream(150)
    learner = onkel.FunctionalSGD(kernel, step=0.1, averaging=averaging)
    state, _ = learnt(learner, X, y)
    found = onkel.components(learner, state, points=1000)
    Z = 0.4 * X + 0.05
    inputs = np.column_stack([Z, Z[:, 0] * Z[:, 1]])[:, : len(found.curves)]
    total = found.intercept + sum(np.interp(inputs[:, c], curve.x, curve.y) for c, curve in enumerate(found.curves))
    assert np.abs(total - learner.predict(state, Z)).max() <= 1e-3


@pytest.mark.parametrize("kernel", [Gaussian(width=1.5), TREE], ids=repr)
def test_passes_over_the_same_rows_are_one_long_stream(kernel: Kernel) -> None:
    """Equal points that came in different rounds are not one where a mean is asked for."""
    X, y = stream(30)
    learner = onkel.FunctionalSGD(kernel, step=0.1)
    done = onkel.cycle(learner, X, y, passes=5)
    state, _ = learnt(learner, np.tile(X, (5, 1)), np.tile(y, 5))
    assert bits(done.state) == bits(state)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: onkel.FunctionalSGD(kernel="gaussian"), "FunctionalSGD: kernel must be a Kernel"),  # type: ignore[arg-type]
        (lambda: onkel.FunctionalSGD(step=0.0), "FunctionalSGD: step must be at least 1e-30, got 0"),
        (lambda: onkel.FunctionalSGD(step=math.nan), "FunctionalSGD: step must be a finite number"),
        (lambda: onkel.FunctionalSGD(decay=-0.1), "FunctionalSGD: decay must be at least 0, got -0.1"),
        (lambda: onkel.FunctionalSGD(decay=1.5), "FunctionalSGD: decay must be at most 1, got 1.5"),
        (lambda: onkel.FunctionalSGD(averaging=1), "FunctionalSGD: averaging must be True or False, got 1"),  # type: ignore[arg-type]
        (lambda: onkel.FunctionalSGD().init(3, 2), "FunctionalSGD learns 1 output, got 2"),
    ],
)
def test_settings_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        make()
