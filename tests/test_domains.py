"""Domains: left open, they are taken from the first hundred rows; given, they clamp or wrap. For every learner with a kernel."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.kernels import Additive, Brownian, Delta, Exponential, Gaussian, Linear, PeriodicSpline, Polynomial, Spline
from onkel.protocol import tasks_of
from onkel.state import copied, nbytes
from onkel.updates.domains import FIRST_ROWS
from tests.laws.cases import CLASSES, bits
from tests.oracle.additive import resolved

Array = NDArray[np.float64]

ROWS = 135 if compiler_off else 300
OPEN = Additive(Spline())
WITH_KERNEL = [kind for kind in CLASSES if "kernel" in {field.name for field in dataclasses.fields(kind)}]
MARGIN: Any = onkel.MarginProjection(OPEN)
RIDGE: Any = onkel.KernelRidge(OPEN)


def stream(learner: Any, rows: int = ROWS) -> tuple[Array, Array, Array]:
    """Rows, labels after the task, and weights, of which every seventh is 0. After the first hundred, X spreads out."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(rows, 2)) * np.where(np.arange(rows) < 120, 1.0, 3.0)[:, None]
    y = np.sin(X[:, 0]) + 0.2 * X[:, 1]
    weight = np.where(np.arange(rows) % 7 == 3, 0.0, 1.0)
    return X, y if "regression" in tasks_of(learner) else np.where(y >= 0.0, 1.0, -1.0), weight


def last_waiting(weight: Array) -> int:
    """The row with which the domains are known."""
    return int(np.flatnonzero(weight)[FIRST_ROWS - 1])


def written_out(learner: Any, X: Array, weight: Array) -> Any:
    """The learner with the domains that it will find."""
    first = X[np.flatnonzero(weight)[:FIRST_ROWS]]
    return dataclasses.replace(learner, kernel=resolved(learner.kernel, first))


def waiting(learner: Any, rows: int = 60) -> tuple[Any, Array, Array]:
    """A state that waits, and the stream that has brought it there."""
    X, y, _ = stream(learner)
    state = learner.init(2)
    learner.learn(state, X[:rows], y[:rows])
    return state, X, y


# every learner


@pytest.mark.once
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_open_equals_written_out(kind: Any) -> None:
    """From the row after the hundredth on, the same scores and the same state, bit for bit, in blocks that are cut anywhere."""
    learner = kind(kernel=OPEN)
    X, y, weight = stream(learner)
    state, known = learner.init(2), written_out(learner, X, weight)
    pieces = [slice(0, 40), slice(40, 41), slice(41, 90), slice(90, 130), slice(130, None)]
    scores = np.concatenate([learner.learn(state, X[piece], y[piece], weight[piece]) for piece in pieces])
    expected_state = known.init(2)
    expected = known.learn(expected_state, X, y, weight)
    opened = last_waiting(weight) + 1
    assert 90 < opened < 130
    assert not scores[:opened].any()
    if kind.cut_tolerance == 0.0:
        assert scores[opened:].tobytes() == expected[opened:].tobytes()
        assert bits(state.inner) == bits(expected_state.inner)
    else:
        assert np.abs(scores - expected)[opened:].max() <= kind.cut_tolerance
    assert expected[opened:].any()
    assert (state.rows, state.outside) == (np.count_nonzero(weight), expected_state.outside)
    assert state.outside > 0
    assert np.array_equal(learner.predict(state, X), known.predict(expected_state, X))
    learner.check(state)


KERNELS = [
    Additive((Spline(), Exponential())),
    Additive((PeriodicSpline(domain=(-2.0, 2.0)), Spline())),
    Additive(Brownian(), products=((0, 1), (0, 0))),
    OPEN + Delta(0.1),
    OPEN * Additive(Spline(2)) + Gaussian(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "learner", [MARGIN, RIDGE, onkel.KernelAdatron()][: 1 if compiler_off else 3], ids=lambda l: type(l).__name__
)
def test_whatever_is_open(learner: Any, kernel: Any) -> None:
    learner = dataclasses.replace(learner, kernel=kernel)
    X, y, weight = stream(learner)
    known, state = written_out(learner, X, weight), learner.init(2)
    scores, expected = learner.learn(state, X, y, weight), known.learn(known.init(2), X, y, weight)
    opened = last_waiting(weight) + 1
    assert not scores[:opened].any()
    assert scores[opened:].tobytes() == expected[opened:].tobytes()
    assert expected[opened:].any()
    learner.check(state)


@pytest.mark.parametrize("kernel", [Spline(), Brownian(), Spline() + Delta()], ids=repr)
def test_one_column_by_itself(kernel: Any) -> None:
    learner: Any = onkel.TubeProjection(kernel)
    X, y, weight = stream(learner)
    known = written_out(learner, X[:, :1], weight)
    scores, expected = (each.learn(each.init(1), X[:, :1], y, weight) for each in (learner, known))
    opened = last_waiting(weight) + 1
    assert scores[opened:].tobytes() == expected[opened:].tobytes()


@pytest.mark.once
@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_the_bytes_are_told_beforehand(kind: Any) -> None:
    learner = kind(kernel=OPEN)
    assert learner.footprint(2) == nbytes(learner.init(2))


# the first hundred rows


def test_the_hundredth_row_alone() -> None:
    X, y, _ = stream(MARGIN)
    state = MARGIN.init(2)
    assert not MARGIN.learn(state, X[:99], y[:99]).any()
    assert not MARGIN.predict(state, X).any()
    assert (state.rows, state.inner.rows) == (99, 0)
    assert not MARGIN.learn(state, X[99:100], y[99:100]).any()
    assert (state.rows, state.inner.rows) == (100, 100)
    assert np.array_equal(state.domains, np.column_stack([X[:100].min(axis=0), X[:100].max(axis=0)]))
    assert not any(np.any(array) for array in (state.waiting.X, state.waiting.y, state.waiting.weight))
    assert MARGIN.predict(state, X).all()
    assert MARGIN.learn(state, X[100:101], y[100:101])[0] != 0.0


def test_rows_of_weight_0_do_not_count() -> None:
    X, y, _ = stream(MARGIN)
    plain, sprinkled = MARGIN.init(2), MARGIN.init(2)
    MARGIN.learn(plain, X[:150], y[:150])
    wide = np.full((1, 2), 1e6)
    for t in range(150):
        weight0 = MARGIN.learn(sprinkled, wide, np.ones(1), np.zeros(1))  # its values are in no domain, and are not counted
        assert weight0[0] == 0.0 if t < 100 else weight0[0] == MARGIN.predict(sprinkled, wide)[0] != 0.0
        MARGIN.learn(sprinkled, X[t : t + 1], y[t : t + 1])
    assert bits(sprinkled) == bits(plain)


def test_rows_of_weight_0_around_the_hundredth_in_one_block() -> None:
    """Those before it score 0, those behind it what they would by themselves."""
    X, y, _ = stream(MARGIN, 110)
    weight = np.ones(110)
    weight[[97, 100, 103]] = 0.0
    state, alone = MARGIN.init(2), MARGIN.init(2)
    scores = MARGIN.learn(state, X, y, weight)
    MARGIN.learn(alone, X[:102], y[:102], weight[:102])
    assert alone.rows == 100
    assert not scores[:102].any()
    assert scores[102] != 0.0
    assert scores[103] == MARGIN.predict(_after(X, y, weight, 103), X[103:104])[0]


def _after(X: Array, y: Array, weight: Array, rows: int) -> Any:
    state = MARGIN.init(2)
    MARGIN.learn(state, X[:rows], y[:rows], weight[:rows])
    return state


def test_weights_are_kept_with_their_rows() -> None:
    X, y, _ = stream(RIDGE)
    weight = np.linspace(0.1, 4.0, len(X))
    known = written_out(RIDGE, X, weight)
    scores, expected = (each.learn(each.init(2), X, y, weight) for each in (RIDGE, known))
    assert scores[100:].tobytes() == expected[100:].tobytes()


def test_a_constant_column_has_a_domain_of_length_1() -> None:
    X, y, _ = stream(MARGIN)
    X[:120, 1] = 7.0
    state = MARGIN.init(2)
    MARGIN.learn(state, X[:100], y[:100])
    assert state.domains[1].tolist() == [6.5, 7.5]
    X[:, 1] = -1e30  # beside which one half is lost
    state = MARGIN.init(2)
    assert np.isfinite(MARGIN.learn(state, X, y)).all()
    assert state.domains[1, 0] < -1e30 < state.domains[1, 1]
    MARGIN.check(state)


# what goes wrong in the middle

BAD: dict[str, tuple[Callable[[Array, Array, Array], None], str]] = {
    "a hole in X": (lambda X, y, w: X.__setitem__((120, 1), np.nan), "X holds nan at row 120, column 1"),
    "a hole in y": (lambda X, y, w: y.__setitem__(120, np.nan), "y holds nan at row 120"),
    "a label": (lambda X, y, w: y.__setitem__(120, 0.5), "the label of row 120 is 0.5"),
    "an early label": (lambda X, y, w: y.__setitem__(20, 0.5), "the label of row 20 is 0.5"),
    "a weight": (lambda X, y, w: w.__setitem__(120, -1.0), r"weight\[120\] is -1"),
    "a weight that it does not have": (lambda X, y, w: w.__setitem__(120, 0.5), r"weight\[120\] is 0.5"),
    "an early weight": (lambda X, y, w: w.__setitem__(5, 0.5), r"weight\[5\] is 0.5"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("before", [0, 60, 130])
def test_a_bad_row_is_named_and_leaves_no_trace(spoil: Callable[[Array, Array, Array], None], message: str, before: int) -> None:
    """Row 120 of a block of 150, of which, with 0 or 60 rows before it, the 100th or 40th opens the domains."""
    X, y, weight = stream(MARGIN, 150 + before)
    weight[:] = 1.0
    state = MARGIN.init(2)
    MARGIN.learn(state, X[:before], y[:before])
    known = bits(state)
    block = X[before:].copy(), y[before:].copy(), weight[before:].copy()
    spoil(*block)
    with pytest.raises(onkel.InputError, match=message):
        MARGIN.learn(state, *block)
    assert bits(state) == known
    MARGIN.learn(state, X[before:], y[before:])  # and it goes on
    assert state.rows == before + 150


@pytest.mark.parametrize("row", [20, 120])
def test_a_row_beyond_the_kernel_is_named(row: int) -> None:
    learner = onkel.KernelRidge(OPEN + Polynomial(degree=2))
    X, y, _ = stream(learner, 150)
    X[row] = 1e40
    state = learner.init(2)
    before = bits(state)
    with pytest.raises(onkel.InputError, match=f"for row {row} of X;"):
        learner.learn(state, X, y)
    assert bits(state) == before


def test_a_descent_that_runs_away_leaves_no_trace() -> None:
    """Noticed at the hundredth row, when all are learnt: then no row can be named that this call does not have."""
    learner = onkel.NORMA(OPEN + Linear(), onkel.Square(), step=2.0)
    X, y, _ = stream(learner, 100)
    state = learner.init(2)
    for t in range(0, 99, 9):
        learner.learn(state, 10.0 * X[t : t + 9], y[t : t + 9])
    before = bits(state)
    with pytest.raises(onkel.InputError, match="lower step") as refused:
        learner.learn(state, 10.0 * X[99:], y[99:])
    assert bits(state) == before
    named = re.findall(r"row (\d+)", str(refused.value))
    assert all(int(row) < 1 for row in named)


def test_other_shapes_are_refused_while_it_waits() -> None:
    state, X, y = waiting(MARGIN)
    before = bits(state)
    for block, message in [
        ((X[:, :1], y), "X must have 2 columns"),
        ((X, y[:-1]), "y must have shape"),
        ((X, y, np.ones(3)), "weight must have shape"),
        ((X[0], y), "X must have two dimensions"),
    ]:
        with pytest.raises(onkel.InputError, match=message):
            MARGIN.learn(state, *block)
    with pytest.raises(onkel.InputError, match="X must have 2 columns"):
        MARGIN.predict(state, X[:, :1])
    assert bits(state) == before
    assert MARGIN.learn(state, X[:0], y[:0]).shape == (0,)
    assert MARGIN.predict(state, X[:0]).shape == (0,)
    assert bits(state) == before


# notes, files, checks


def test_what_it_has_to_say() -> None:
    state, X, y = waiting(MARGIN)
    (note,) = MARGIN.notes(state)
    assert note.startswith("60 of the 100 rows seen")
    MARGIN.learn(state, X[60:100], y[60:100])
    assert MARGIN.notes(state) == []
    low, high = state.domains.T
    MARGIN.learn(state, [[low[0] - 1.0, 0.0], [high[0] + 1.0, high[1] + 1.0], low, high], [1.0, -1.0, 1.0, 1.0])
    MARGIN.learn(state, [high + 1.0], [1.0], [0.0])
    MARGIN.predict(state, [high + 1.0])
    assert state.outside == 3
    (note,) = MARGIN.notes(state)
    assert note.startswith("3 values were outside their domain")


@pytest.mark.once
@pytest.mark.parametrize("learner", [MARGIN, RIDGE, onkel.RBP(OPEN), onkel.PKAWVNystroem(OPEN)], ids=lambda l: type(l).__name__)
@pytest.mark.parametrize("saved", [0, 60, 100, 200])
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(learner: Any, saved: int, tmp_path: Path) -> None:
    X, y, weight = stream(learner)
    state = learner.init(2)
    learner.learn(state, X[:saved], y[:saved], weight[:saved])
    onkel.save(tmp_path / "model.onkel", learner, state)
    again, loaded = onkel.load(tmp_path / "model.onkel")
    assert again == learner
    assert bits(loaded) == bits(state)
    scores = [each.learn(s, X[saved:], y[saved:], weight[saved:]) for each, s in ((learner, state), (again, loaded))]
    assert scores[0].tobytes() == scores[1].tobytes()
    assert bits(loaded) == bits(state)


def changed(name: str, index: Any, value: float) -> Callable[[Any], None]:
    def change(state: Any) -> None:
        owner, _, field = name.rpartition(".")
        getattr(getattr(state, owner) if owner else state, field)[index] = value

    return change


def learnt_too_early(state: Any) -> None:
    state.inner.norm2[0] = 1.0


def fewer_rows(state: Any) -> None:
    state.rows -= 1


def more_rows(state: Any) -> None:
    state.rows += 1


def opened_early(state: Any) -> None:
    state.rows = 100


def other_width(state: Any) -> None:
    state.inner.dim = 3


WHILE_WAITING = [
    changed("domains", (0, 0), 0.5),
    changed("waiting.X", (70, 0), 1.0),
    changed("waiting.y", (70, 0), 1.0),
    changed("waiting.weight", 70, 1.0),
    changed("waiting.weight", 10, 0.0),
    learnt_too_early,
    fewer_rows,
    more_rows,
    opened_early,
    other_width,
    changed("waiting.X", (10, 0), np.nan),
    changed("waiting.X", (10, 0), 1e60),
    changed("waiting.y", (10, 0), 0.5),
]
AFTERWARDS = [
    changed("domains", (0, 0), 1e9),
    changed("domains", (0, 0), np.nan),
    changed("domains", (0, 1), np.inf),
    changed("waiting.X", (70, 0), 1.0),
    changed("waiting.weight", 70, 1.0),
    other_width,
    fewer_rows,
    more_rows,
]


@pytest.mark.parametrize(
    ("rows", "damage"), [*[(60, damage) for damage in WHILE_WAITING], *[(140, damage) for damage in AFTERWARDS]]
)  # fmt: skip
def test_states_that_cannot_be_are_refused(rows: int, damage: Callable[[Any], None]) -> None:
    state, _, _ = waiting(MARGIN, rows)
    MARGIN.check(state)
    damage(state)
    with pytest.raises(onkel.InputError):
        MARGIN.check(state)


def test_a_state_that_waits_is_its_own() -> None:
    """Neither the rows of the caller nor those of a copy."""
    state, X, y = waiting(MARGIN)
    other = copied(state)
    before = bits(state)
    X[:60], y[:60] = 0.0, 0.0
    MARGIN.learn(other, X[60:], y[60:])
    assert bits(state) == before


# several outputs


def test_outputs_come_while_it_waits() -> None:
    """As if their labels had been 0 from the first row on."""
    X, y, _ = stream(RIDGE)
    Y = np.column_stack([y, np.where(np.arange(len(X)) < 60, 0.0, np.cos(X[:, 1]))])
    state, wide = RIDGE.init(2), RIDGE.init(2, outputs=2)
    RIDGE.learn(state, X[:60], y[:60])
    RIDGE.widen(state, 2)
    RIDGE.check(state)
    assert RIDGE.predict(state, X).shape == (len(X), 2)
    expected = RIDGE.learn(wide, X, Y)
    scores = RIDGE.learn(state, X[60:], Y[60:])
    assert not scores[:40].any()
    assert np.array_equal(scores, expected[60:])
    assert scores[40:].all()
    assert bits(state) == bits(wide)
    RIDGE.widen(state, 3)  # and afterwards
    assert np.array_equal(RIDGE.predict(state, X)[:, :2], RIDGE.predict(wide, X))


def test_fewer_outputs_are_refused_while_it_waits() -> None:
    state, _, _ = waiting(RIDGE)
    RIDGE.widen(state, 2)
    before = bits(state)
    with pytest.raises(onkel.InputError, match="widen only adds outputs"):
        RIDGE.widen(state, 1)
    assert bits(state) == before


# given domains


@pytest.mark.parametrize("base", [Spline(2, (-1.0, 0.5)), Brownian((-1.0, 0.5))], ids=repr)
def test_beyond_a_given_domain_is_its_edge(base: Any) -> None:
    learner: Any = onkel.TubeProjection(Additive(base))
    X, y, weight = stream(learner)
    inside, state, other = X.clip(-1.0, 0.5), learner.init(2), learner.init(2)
    assert learner.learn(state, X, y, weight).tobytes() == learner.learn(other, inside, y, weight).tobytes()
    assert bits(state.inner.support) == bits(other.inner.support)
    assert (state.outside, other.outside) == (int(np.sum((inside != X)[weight > 0.0])), 0)
    assert learner.notes(other) == []
    assert state.waiting is None
    learner.check(state)


def test_products_have_domains_too() -> None:
    learner: Any = onkel.TubeProjection(Additive((Exponential(), Exponential(), Spline(domain=(-1.0, 1.0))), products=((0, 1),)))
    X, y, _ = stream(learner)
    state = learner.init(2)
    learner.learn(state, X, y)
    assert state.outside == np.sum(np.abs(X[:, 0] * X[:, 1]) > 1.0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_periodic_spline_begins_again(order: int) -> None:
    """Whole periods away, the same scores; and nothing is outside."""
    learner: Any = onkel.TubeProjection(Additive(PeriodicSpline((-1.0, 3.0), order)))
    X, y, _ = stream(learner)
    turns = 4.0 * np.random.default_rng(0).integers(-5, 6, X.shape)
    state, other = learner.init(2), learner.init(2)
    scores, turned = learner.learn(state, X, y), learner.learn(other, X + turns, y)
    assert np.abs(scores - turned).max() <= 1e-9 * np.abs(scores).max()
    assert state.outside == other.outside == 0
    assert np.allclose(learner.predict(state, [[-1.0, 0.0]]), learner.predict(state, [[3.0, 4.0]]), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_kernel_that_does_not_fit_the_columns_is_refused_at_once(kind: Any) -> None:
    pair = Additive((Exponential(), Exponential()))
    for kernel in (pair, pair + Gaussian(), Exponential(), Additive(Exponential(), products=((0, 3),))):
        with pytest.raises(onkel.InputError, match=r"3 columns and there are 0 products|one column, got 3|needs column 3"):
            kind(kernel=kernel).init(3)


def test_a_period_must_be_given() -> None:
    """Hours from 0 to 23 would make a period of 23."""
    with pytest.raises(onkel.InputError, match=r"domain must be one period, such as domain=\(0\.0, 24\.0\)"):
        PeriodicSpline(None)


@pytest.mark.once
@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_periodic_curve_is_learnt_in_one_pass(order: int) -> None:
    """What varies is no small part of the kernel, whatever the order."""
    hours = np.random.default_rng(0).uniform(0.0, 48.0, (2000, 1))
    y = np.sin(hours[:, 0] * np.pi / 12.0)
    learner: Any = onkel.TubeProjection(PeriodicSpline((0.0, 24.0), order), epsilon=0.05)
    scores = learner.learn(learner.init(1), hours, y)
    assert np.mean((scores - y)[1000:] ** 2) < 0.01


def test_a_start_wants_domains() -> None:
    with pytest.raises(onkel.InputError, match="with a start, give the kernel its domain"):
        onkel.MarginProjection(OPEN, start=onkel.Start([[0.0, 0.0]], [1.0]))
    onkel.MarginProjection(Additive(Spline(domain=(0.0, 1.0))), start=onkel.Start([[0.0, 0.0]], [1.0]))


def test_a_start_must_lie_in_the_ball() -> None:
    kernel = Additive(Spline(domain=(0.0, 1.0)))  # k(0, 0) = 2
    onkel.MarginProjection(kernel, radius=1.42, start=onkel.Start([[0.0, 0.0]], [1.0])).init(2)
    with pytest.raises(onkel.InputError, match=r"start has norm 1\.41421, above radius=1\.4; scale its coef"):
        onkel.MarginProjection(kernel, radius=1.4, start=onkel.Start([[0.0, 0.0]], [1.0])).init(2)


def test_several_columns_want_a_sum() -> None:
    with pytest.raises(onkel.InputError, match=r"is a kernel of one column, got 2; write Additive\(Spline"):
        onkel.MarginProjection(Spline()).init(2)
    with pytest.raises(onkel.InputError, match="has no domain; give it one"):
        OPEN([[0.0]], [[1.0]])
