"""Projections, ROMMA and the Adatron: one learner on all representations, what an update promises, and the proven bounds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.functions.block_layout import COEF, KEY
from onkel.functions.row_table import slot
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.functions.support import Support
from onkel.kernels import (
    Additive,
    Brownian,
    CustomKernel,
    Delta,
    Exponential,
    Gaussian,
    Kernel,
    Linear,
    PeriodicSpline,
    Polynomial,
    Spline,
)
from onkel.protocol import tasks_of
from tests.laws.cases import CLASSES
from tests.oracle.additive import gram
from tests.test_support import LOSSES

Array = NDArray[np.float64]

ROWS = 80 if compiler_off else 500
WIDE, UNIT = (-3.0, 3.0), (0.0, 1.0)
MIXED = Additive((Spline(2, WIDE), Exponential(0.5), PeriodicSpline(WIDE, 2), Brownian((-9.0, 9.0))), products=((0, 1),))
KERNELS = [Additive(Spline(1, WIDE)), Additive(Exponential()), MIXED, Additive(Spline(0, WIDE)) + Delta(0.1), Linear()]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:40])


def stream(learner: Any, rows: int = ROWS, dim: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """A function of the kernel's own space, without noise: its values, or which side of its median it is on and clearly so."""
    rng = np.random.default_rng(seed)
    X, points = rng.normal(size=(3 * rows, dim)), rng.normal(size=(6, dim))
    u = gram(learner.kernel, X, points) @ np.array([2.0, -2.0, 1.5, -1.5, 1.0, -1.0])
    if "regression" in tasks_of(learner):
        return X[:rows], u[:rows] / np.sqrt(np.mean(u**2))
    u -= np.median(u)
    clear = np.sort(np.argsort(-np.abs(u))[:rows])
    return X[clear], np.where(u[clear] >= 0.0, 1.0, -1.0)


def in_unit(learner: Any, rows: int = ROWS) -> tuple[Array, Array]:
    """The same on one column within [0, 1], where a key of the blocks is the value itself."""
    X, y = stream(dataclasses.replace(learner, kernel=Additive(Exponential())), rows, dim=1)
    return X / 10.0 + 0.5, y


def slow(kernel: Kernel) -> Kernel:
    """The same kernel, but not one whose halves are known to fall apart."""
    return Polynomial(degree=1, offset=0.0) if isinstance(kernel, Linear) else kernel + Delta(0.0) * Linear()


def learnt(learner: Any, X: Array, y: Array) -> tuple[Any, Array]:
    state = learner.init(X.shape[1])
    return state, learner.learn(state, X, y)


def inner(state: Any) -> Any:
    return getattr(state, "inner", state)


def terms(state: Any) -> tuple[Array, Array]:
    """The points of f and their coefficients; for blocks, on one column within [0, 1]."""
    f = inner(state).support
    if isinstance(f, Support):
        return f.known, f.scale[0] * f.coef[: f.size[0]]
    assert isinstance(f, SortedBlocks)
    used = [(b, i) for b in range(f.used[0]) for i in range(f.length[b])]
    blocks, places = np.array(used, np.int64).reshape(-1, 2).T
    return f.blocks[blocks, KEY, places][:, None], f.scale[0] * f.blocks[blocks, COEF, places]


def norm(kernel: Kernel, points: Array, a: Array) -> float:
    """√(αᵀKα)"""
    return math.sqrt(max(float(a @ gram(kernel, points, points) @ a), 0.0))


# one learner, several representations


@pytest.mark.parametrize("kernel", [*KERNELS, Gaussian(), slow(MIXED)], ids=lambda kernel: repr(kernel)[:60])
def test_margin_projection_is_passive_aggressive_without_a_cap(kernel: Kernel) -> None:
    first, second = onkel.MarginProjection(kernel), onkel.PassiveAggressive(kernel, aggressiveness=1e30)
    X, y = stream(first)
    assert learnt(first, X, y)[1].tobytes() == learnt(second, X, y)[1].tobytes()


LEARNERS = [
    onkel.Perceptron(),
    onkel.PassiveAggressive(),
    *[onkel.NORMA(loss=loss, step=0.05, lam=0.2) for loss in LOSSES],
    onkel.MarginProjection(),
    onkel.MarginProjection(radius=1.0),
    onkel.TubeProjection(),
    onkel.TubeProjection(radius=1.0, start=onkel.Start([[0.1, 0.2, 0.3], [-1.0, 2.0, 5.0]], [0.2, -0.1])),
    onkel.ROMMA(),
    onkel.ROMMA(aggressive=True),
    onkel.KernelAdatron(aggressiveness=0.3),
]


@every_kernel
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:30])
def test_all_representations_are_one_function(learner: Any, kernel: Kernel) -> None:
    fast, plain = (dataclasses.replace(learner, kernel=k) for k in (kernel, slow(kernel)))
    X, y = stream(fast)
    X[ROWS // 2 :: 7] = X[: len(X[ROWS // 2 :: 7])]  # equal keys and rows met before; they have their labels too
    y[ROWS // 2 :: 7] = y[: len(y[ROWS // 2 :: 7])]
    (state, scores), (other, expected) = learnt(fast, X, y), learnt(plain, X, y)
    assert isinstance(inner(other).support, Support)
    assert not isinstance(inner(state).support, Support)
    assert np.abs(scores - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())
    assert np.ptp(scores[ROWS // 2 :]) > 0.0


ANY = [kind for kind in CLASSES if "kernel" in {field.name for field in dataclasses.fields(kind)}]


@pytest.mark.once
@pytest.mark.parametrize("kernel", [Additive(Exponential()), MIXED], ids=lambda kernel: repr(kernel)[:40])
@pytest.mark.parametrize(
    "learner", [*[kind() for kind in ANY], onkel.NORMA(budget=30), onkel.RBP(budget=5)], ids=lambda l: repr(l)[:40]
)
def test_an_additive_kernel_is_itself_in_every_learner(learner: Any, kernel: Kernel) -> None:
    """With a budget, too, where points are known one by one."""
    given, plain = (dataclasses.replace(learner, kernel=k) for k in (kernel, slow(kernel)))
    X, y = stream(given, 200)
    scores, expected = learnt(given, X, y)[1], learnt(plain, X, y)[1]
    assert np.abs(scores - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


def spline_from_outside(X: Array, Z: Array) -> Array:
    return gram(Additive(Spline(1, WIDE)), X, Z)


@pytest.mark.parametrize("learner", LEARNERS[-7:], ids=lambda learner: repr(learner)[:30])
def test_a_users_own_kernel_gives_the_same(learner: Any) -> None:
    fast, own = (dataclasses.replace(learner, kernel=k) for k in (KERNELS[0], CustomKernel(spline_from_outside)))
    X, y = stream(fast, 80)
    assert np.abs(learnt(fast, X, y)[1] - learnt(own, X, y)[1]).max() <= 1e-9


# what an update promises

ONE_COLUMN = [Spline(1, UNIT), Spline(3, UNIT), Brownian(UNIT), PeriodicSpline(UNIT, 1), Exponential(4.0), Gaussian(width=0.2)]
SEVERAL = [*KERNELS, slow(MIXED), Gaussian()]


@pytest.mark.parametrize("kernel", SEVERAL, ids=lambda kernel: repr(kernel)[:60])
def test_an_update_ends_on_the_edge(kernel: Kernel) -> None:
    for learner in (onkel.MarginProjection(kernel), onkel.TubeProjection(kernel, epsilon=0.05)):
        X, y = stream(learner, 60 if compiler_off else 300)
        state, updates = learner.init(3), 0
        for t in range(len(X)):
            x, label = X[t : t + 1], float(y[t])
            before = float(learner.learn(state, x, y[t : t + 1])[0])
            after = float(learner.predict(state, x)[0])
            if isinstance(learner, onkel.MarginProjection):
                agreed, edge = label * before >= 1.0, label * after - 1.0
            else:
                agreed, edge = abs(before - label) <= 0.05, abs(after - label) - 0.05
            assert after == before if agreed else abs(edge) <= 1e-10
            updates += not agreed
        assert 2 <= updates < len(X)


@pytest.mark.parametrize("radius", [None, 1.5])
@pytest.mark.parametrize("kernel", ONE_COLUMN, ids=repr)
@pytest.mark.parametrize("kind", [onkel.MarginProjection, onkel.TubeProjection])
def test_the_norm_is_kept_track_of(kind: Any, kernel: Kernel, radius: float | None) -> None:
    learner = kind(kernel, radius=radius)
    X, y = in_unit(learner, 200 if compiler_off else 3000)
    if radius is not None:
        y[::9] *= -1.0  # noise: it shrinks again and again
    state, _ = learnt(learner, X, y)
    points, a = terms(state)
    assert math.sqrt(inner(state).norm2[0]) == pytest.approx(norm(kernel, points, a), rel=1e-10)
    assert len(a) > 5


@pytest.mark.parametrize("kernel", SEVERAL, ids=lambda kernel: repr(kernel)[:60])
def test_the_norm_is_kept_track_of_on_several_columns(kernel: Kernel) -> None:
    """Without a radius the steps can be read from the scores."""
    learner = onkel.MarginProjection(kernel)
    X, y = stream(learner, 150 if compiler_off else 2000)
    state, scores = learnt(learner, X, y)
    K = gram(kernel, X, X)
    a = np.where(y * scores < 1.0, (y - scores) / np.diag(K), 0.0)
    assert math.sqrt(inner(state).norm2[0]) == pytest.approx(math.sqrt(a @ K @ a), rel=1e-10)


@pytest.mark.parametrize("kernel", ONE_COLUMN, ids=repr)
@pytest.mark.parametrize("kind", [onkel.MarginProjection, onkel.TubeProjection])
def test_with_a_radius_it_stays_in_the_ball(kind: Any, kernel: Kernel) -> None:
    learner = kind(kernel, radius=0.7)
    X, y = in_unit(learner, 60 if compiler_off else 200)
    y[::9] *= -1.0  # noise: it would leave the ball again and again
    state, at_the_edge = learner.init(1), 0
    for t in range(len(X)):
        learner.learn(state, X[t : t + 1], y[t : t + 1])
        size = norm(kernel, *terms(state))
        assert size <= 0.7 * (1.0 + 1e-12)
        at_the_edge += size >= 0.7 * (1.0 - 1e-12)
    assert at_the_edge > 5


@pytest.mark.parametrize("aggressive", [False, True])
@pytest.mark.parametrize("kernel", ONE_COLUMN, ids=repr)
def test_what_romma_promises(kernel: Kernel, aggressive: bool) -> None:
    """g(x) = y and ⟨g, f⟩ = ‖f‖², where f = Σ a_i k(x_i, ·) gives ⟨g, f⟩ = Σ a_i g(x_i); after a restart ⟨g, f⟩ ≥ ‖f‖²."""
    learner, rng = onkel.ROMMA(kernel, aggressive), np.random.default_rng(9)
    X = rng.uniform(0.1, 0.4, (60 if compiler_off else 200, 1))
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    X += 0.25 * (y + 1.0)[:, None]  # well apart: where a turn is almost one about f itself, digits are lost
    state, turns = learner.init(1), 0
    for t in range(len(X)):
        x, label, N = X[t : t + 1], float(y[t]), float(inner(state).norm2[0])
        points, a = terms(state)
        score = float(learner.learn(state, x, y[t : t + 1])[0])
        if inner(state).norm2[0] == N:
            assert label * score >= (1.0 - 1e-6 if aggressive else 0.0)  # else it was parallel to f
            continue
        assert learner.predict(state, x)[0] == pytest.approx(label, abs=1e-9)
        if N > 0.0:
            own = float(gram(kernel, x, x)[0, 0])
            product = float(a @ learner.predict(state, points))
            restarted = label * score >= own * N
            assert product >= N if restarted else product == pytest.approx(N, rel=1e-9)
            turns += not restarted
    assert turns >= 1
    assert inner(state).norm2[0] == pytest.approx(norm(kernel, *terms(state)) ** 2, rel=1e-9)


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_keeps_its_norm_where_no_f_fits_all_rows(aggressive: bool) -> None:
    learner, rng = onkel.ROMMA(Linear(), aggressive), np.random.default_rng(4)
    X = rng.normal(size=(400 if compiler_off else 2000, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + 0.5 * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    state, scores = learnt(learner, X, y)
    w = state.support.scale[0] * state.support.weights
    assert state.norm2[0] == pytest.approx(w @ w, rel=1e-8)
    assert np.max(np.abs(scores)) <= 1e5
    assert state.skipped[0] > 10
    assert learner.notes(state)[0].startswith(f"{state.skipped[0]} rows were skipped")


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_learns_after_a_short_row(aggressive: bool) -> None:
    """One row of length 1e-3 makes f a thousand times as long, for ever, which costs no digits."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] >= 0.0, 1.0, -1.0)
    X += 0.3 * y[:, None] * [1.0, -2.0, 0.5]
    X[0] *= 1e-3 / np.linalg.norm(X[0])
    state, scores = learnt(onkel.ROMMA(Linear(), aggressive), X, y)
    assert np.sum(onkel.measure.mistakes(scores, y)) <= 20
    assert state.skipped[0] == 0


# the Adatron


def coefficients(state: Any, X: Array, y: Array) -> Array:
    known = inner(state).known.table
    return np.array([known.values[slot(known, x, label)] for x, label in zip(X, y, strict=True)])


@pytest.mark.parametrize("step", [0.3, 1.0, 1.9])
@pytest.mark.parametrize("kernel", ONE_COLUMN, ids=repr)
def test_the_dual_objective_never_falls(kernel: Kernel, step: float) -> None:
    learner = onkel.KernelAdatron(kernel, step=step, aggressiveness=0.4)
    X, y = in_unit(learner, 40)
    y[::7] *= -1.0
    state, dual = learner.init(1), 0.0
    for t in np.tile(np.arange(40), 2 if compiler_off else 5):
        learner.learn(state, X[t : t + 1], y[t : t + 1])
        now = float(np.sum(inner(state).known.values)) - 0.5 * norm(kernel, *terms(state)) ** 2
        assert now >= dual - 1e-12
        dual = now
    assert dual > 0.0


@every_kernel
def test_passes_are_coordinate_ascent(kernel: Kernel) -> None:
    learner = onkel.KernelAdatron(kernel, step=0.7, aggressiveness=0.5)
    X, y = stream(learner, 40 if compiler_off else 150)
    K, a, state = gram(kernel, X, X), np.zeros(len(X)), learner.init(3)
    for _ in range(3):
        expected = np.empty(len(X))
        for i in range(len(X)):
            expected[i] = K[i] @ (a * y)
            a[i] = np.clip(a[i] + 0.7 / K[i, i] * (1.0 - y[i] * expected[i]), 0.0, 0.5)
        assert np.abs(learner.learn(state, X, y) - expected).max() <= 1e-9
        assert np.abs(coefficients(state, X, y) - a).max() <= 1e-9


@pytest.mark.once
@pytest.mark.parametrize(
    "kernel", [Additive(Exponential(3.0)), Additive(Spline(0, WIDE)) + Delta(0.5), Gaussian(width=1.0)], ids=repr
)
def test_many_passes_end_at_the_support_vector_machine(kernel: Kernel) -> None:
    """The conditions of Karush, Kuhn and Tucker, which nothing but the optimum meets."""
    learner = onkel.KernelAdatron(kernel, step=1.0, aggressiveness=1.0)
    X, y = stream(learner, 30)
    y[::6] *= -1.0  # so that some end at C
    state, _ = learnt(learner, np.tile(X, (5000, 1)), np.tile(y, 5000))
    a, margin = coefficients(state, X, y), y * learner.predict(state, X)
    at_0, at_C = a == 0.0, a == 1.0
    between = ~at_0 & ~at_C
    assert np.all(margin[at_0] >= 1.0 - 1e-9)
    assert np.all(np.abs(margin[between] - 1.0) <= 1e-9)
    assert np.all(margin[at_C] <= 1.0 + 1e-9)
    assert between.any()
    assert at_C.any()


# bounds

STREAMS, STREAM_ROWS, EPSILON = 200, 60, 0.1
BOUNDED = [*KERNELS, Gaussian(), Additive(PeriodicSpline(WIDE, 1))]
both = pytest.mark.parametrize("kind", [onkel.MarginProjection, onkel.TubeProjection])


@dataclasses.dataclass(frozen=True)
class Realisable:
    """A stream, and the u = Σ c_j k(z_j, ·) that agrees with all of it: y u(x) ≥ 1, or |u(x) − y| ≤ ε."""

    X: Array
    y: Array
    z: Array
    c: Array


def realisable(kind: Any, kernel: Kernel, seed: int) -> Realisable:
    rng = np.random.default_rng(seed)
    X, z, c = rng.normal(size=(2 * STREAM_ROWS, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
    u = gram(kernel, X, z) @ c
    rows = np.sort(np.argsort(-np.abs(u))[:STREAM_ROWS])  # a wide margin: then u is short, and the bound means something
    X, u = X[rows], u[rows]
    if kind is onkel.TubeProjection:
        return Realisable(X, u + rng.uniform(-EPSILON, EPSILON, STREAM_ROWS), z, c)
    return Realisable(X, np.sign(u), z, c / np.abs(u).min() * (1.0 + 1e-12))


def losses(kind: Any, scores: Array, y: Array) -> tuple[Array, Array]:
    """What the theorems bound, and by how much f(x) missed: the one is at most the square of the other (Lemmas 2 and 3)."""
    if kind is onkel.MarginProjection:
        return onkel.measure.mistakes(scores, y).astype(float), np.maximum(1.0 - y * scores, 0.0)
    missed = np.maximum(np.abs(scores - y) - EPSILON, 0.0)
    return missed**2, missed


def functions(K: Array, start: Array, steps: Array, radius: float = math.inf) -> Array:
    """The coefficients of f before each row, and in the end: those of the start, then one for each step; shrunk one by one."""
    A = np.zeros((len(steps) + 1, len(K)))
    A[0, : len(start)] = start
    for t, step in enumerate(steps):
        A[t + 1] = A[t]
        A[t + 1, len(start) + t] = step
        size = math.sqrt(max(A[t + 1] @ K @ A[t + 1], 0.0))
        A[t + 1] *= min(1.0, radius / size) if size > 0.0 else 1.0
    return A


def distances(G: Array, c: Array, A: Array) -> Array:
    """‖u − f_s‖² for every s, of G among the points of u and then those of f."""
    apart = np.hstack([np.tile(c, (len(A), 1)), -A])
    return np.asarray(np.sum((apart @ G) * apart, axis=1))


def holds_from_every_round(loss: Array, moved: Array, own: Array, squared: Array) -> bool:
    """Equation 18: Σ_{t=s}^{s'} loss ≤ max k(x, x) ‖u − f_s‖²; and what it follows from, Σ ‖f_{t+1} − f_t‖² ≤ ‖u − f_s‖²."""
    rounds = range(len(loss))
    local = all(np.all(np.cumsum(loss[s:]) <= np.maximum.accumulate(own[s:]) * squared[s] * (1.0 + 1e-9)) for s in rounds)
    return local and all(np.sum(moved[s:]) <= squared[s] * (1.0 + 1e-9) for s in rounds)


@pytest.mark.once
@both
@pytest.mark.parametrize("started", [False, True])
def test_bounds_of_realisable_streams(kind: Any, started: bool) -> None:
    """Theorems 2, 3 and 6, where f_1 is known beforehand: 0 or a start; and equation 18 from every s on."""
    nearest = math.inf
    for seed in range(STREAMS):
        kernel = BOUNDED[seed % len(BOUNDED)]
        case, rng = realisable(kind, kernel, seed), np.random.default_rng(seed + 1000)
        points, coef = rng.normal(size=(3, 3)), 0.3 * rng.normal(size=3) * started
        _, scores = learnt(kind(kernel, start=onkel.Start(points, coef) if started else None), case.X, case.y)
        every = np.vstack([case.z, points, case.X])
        G, (loss, missed) = gram(kernel, every, every), losses(kind, scores, case.y)
        own = np.diag(G)[8:]
        A = functions(G[5:, 5:], coef, np.copysign(missed, case.y - scores) / own)
        squared = distances(G, case.c, A)
        assert np.sum(loss) <= own.max() * squared[0]
        assert holds_from_every_round(loss, missed**2 / own, own, squared)
        nearest = min(nearest, own.max() * squared[0] / max(float(np.sum(loss)), 1e-300))
    assert nearest < 10.0  # some of the bounds are near


@pytest.mark.once
@both
def test_bounds_of_every_segment_in_a_ball(kind: Any) -> None:
    """Theorems 4 and 5, on streams made of three that have nothing in common: Σ over any segment of one ≤ κ² (γ + ‖u‖)²."""
    shrunk = 0
    for seed in range(STREAMS):
        kernel = BOUNDED[seed % len(BOUNDED)]
        parts = [realisable(kind, kernel, 7 * seed + k) for k in range(3)]
        X, y = np.vstack([part.X for part in parts]), np.concatenate([part.y for part in parts])
        K = gram(kernel, X, X)
        sizes = [norm(kernel, part.z, part.c) for part in parts]
        radius, own = max(sizes), np.diag(K)
        state, scores = learnt(kind(kernel, radius=radius), X, y)
        loss, missed = losses(kind, scores, y)
        A = functions(K, np.empty(0), np.copysign(missed, y - scores) / own, radius)
        for k, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            now = slice(k * STREAM_ROWS, (k + 1) * STREAM_ROWS)
            for s in range(STREAM_ROWS):
                assert np.all(np.cumsum(loss[now][s:]) <= np.maximum.accumulate(own[now][s:]) * (radius + size) ** 2)
            Z = gram(kernel, part.z, X)
            G = np.block([[gram(kernel, part.z, part.z), Z], [Z.T, K]])
            assert holds_from_every_round(loss[now], missed[now] ** 2 / own[now], own[now], distances(G, part.c, A[now]))
        assert inner(state).norm2[0] == pytest.approx(A[-1] @ K @ A[-1], rel=1e-9)
        shrunk += inner(state).support.scale[0] < 1.0
    assert shrunk > STREAMS / 4


@pytest.mark.once
@pytest.mark.parametrize("aggressive", [False, True])
def test_mistakes_of_romma_are_bounded(aggressive: bool) -> None:
    """M ≤ κ² ‖u‖²; and f is never longer than u."""
    for seed in range(STREAMS):
        kernel = BOUNDED[seed % len(BOUNDED)]
        case = realisable(onkel.MarginProjection, kernel, seed)
        state, scores = learnt(onkel.ROMMA(kernel, aggressive), case.X, case.y)
        size = norm(kernel, case.z, case.c)
        assert np.sum(onkel.measure.mistakes(scores, case.y)) <= kernel.diagonal(case.X).max() * size**2
        assert math.sqrt(inner(state).norm2[0]) <= size * (1.0 + 1e-9)


def test_labels_that_never_leave_the_tube_are_noted() -> None:
    learner, X = onkel.TubeProjection(), np.random.default_rng(2).normal(size=(30, 2))
    state = learner.init(2)
    assert not learner.notes(state)
    learner.learn(state, X, np.full(30, 1e-49))
    assert "epsilon=0.1" in learner.notes(state)[0]
    learner.learn(state, X, np.ones(30))
    assert not learner.notes(state)
