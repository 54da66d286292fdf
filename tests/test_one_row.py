"""One row at a time: what is prepared for a state gives the bits of a block of one, and is forgotten when it no longer holds."""

from __future__ import annotations

import copy
import itertools
import pickle
import sys
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import InputError
from onkel._jit import compiler_off
from onkel.combine import Calibrated, Intervals, Scaled
from onkel.one_row import SingleRow
from onkel.state import ROW, copied
from tests.laws.cases import bits
from tests.laws.test_whole import Tracer

LINEAR = onkel.PKAWV(features=onkel.Identity() + onkel.Constant())
AUTO = onkel.Auto(cost_limit=6.0)  # a small one, which is checked every 64 rows
MAPS = onkel.Fourier(count=3) + onkel.Hats(count=3) + onkel.Products(count=2) + onkel.Project(count=2)
LEARNERS = [
    LINEAR,
    onkel.PKAWV(features=MAPS, awv=False),
    Scaled(LINEAR),
    Scaled(LINEAR, inputs=False),
    Scaled(LINEAR, targets=False, first_rows=0),
    Intervals(Scaled(LINEAR)),
    AUTO,
    Intervals(Scaled(onkel.Auto(cost_limit=6.0, lags=2), inputs=False, targets=False, first_rows=0)),
]
FIRST = 256  # rows until scales are settled
DIM = 3

every = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:60])
rng = np.random.default_rng(0)
X = rng.normal(size=(FIRST + 60, DIM))
Y = np.column_stack([X @ [1.0, -2.0, 0.5], X[:, 0] ** 2]) + 0.1 * rng.normal(size=(FIRST + 60, 2))
Y[FIRST + 20] = 1e3  # far away


def settled(learner: Any, outputs: int) -> Any:
    state = learner.init(DIM, outputs)
    learner.learn(state, X[:FIRST], labels(outputs)[:FIRST])
    return state


def labels(outputs: int) -> Any:
    return Y if outputs == 2 else Y[:, 0]


def in_a_block(learner: Any, state: Any, x: Any, y: Any) -> Any:
    """Learn a row in the way of all blocks: a weight is given."""
    return learner.learn(state, x, y, [1.0])


@every
@pytest.mark.parametrize("outputs", [1, 2])
def test_it_gives_the_bits_of_a_block(learner: Any, outputs: int) -> None:
    single, y = settled(learner, outputs), labels(outputs)
    block = copied(single)
    for t in range(FIRST, len(X)):
        now = slice(t, t + 1)
        expected = in_a_block(learner, block, X[now], y[now])
        assert learner.predict(single, X[now]).tobytes() == expected.tobytes()
        scores = learner.learn(single, X[now], y[now])
        assert (scores.tobytes(), scores.shape) == (expected.tobytes(), expected.shape)
        assert isinstance(vars(single)[ROW], SingleRow)
        assert bits(single) == bits(block)


@every
def test_blocks_and_single_rows_may_alternate(learner: Any) -> None:
    """What a block or a new output replaces, single rows must not go on using."""
    single = settled(learner, 1)
    block = copied(single)
    for t in range(FIRST, FIRST + 4):
        now, outputs = slice(t, t + 1), t - FIRST + 1
        y = np.repeat(Y[now, :1], outputs, axis=1)
        for state, learn in (single, learner.learn), (block, partial(in_a_block, learner)):
            learner.widen(state, outputs)
            learn(state, X[now], y)
            learner.learn(state, X[:2], np.repeat(y, 2, axis=0))
            learn(state, X[now], y)
        assert bits(single) == bits(block)


def test_a_row_that_the_inverse_form_cannot_take_moves_the_ridge() -> None:
    single = settled(LINEAR, 1)
    block, large = copied(single), np.array([[1e9, 1.0, 1.0]])
    LINEAR.learn(single, X[:1], Y[:1, 0])
    in_a_block(LINEAR, block, X[:1], Y[:1, 0])
    for x in large, X[1:2]:
        assert LINEAR.learn(single, x, Y[1:2, 0]) == in_a_block(LINEAR, block, x, Y[1:2, 0])
        assert bits(single) == bits(block)
    assert single.ridge.factored


@every
@pytest.mark.parametrize(("x", "y"), [(np.nan, 1.0), (1e60, 1.0), (1.0, np.inf), (1.0, 1e60)])
def test_a_bad_row_is_refused_as_in_a_block_and_changes_nothing(learner: Any, x: float, y: float) -> None:
    state = settled(learner, 1)
    learner.learn(state, X[:1], Y[:1, 0])
    check_refused(learner, state, np.full((1, DIM), x), np.array([y]))


def test_a_label_too_large_for_the_scale_is_refused_as_in_a_block() -> None:
    for learner in Scaled(LINEAR), Intervals(Scaled(LINEAR)):
        state = learner.init(DIM)
        learner.learn(state, X[:FIRST], 1e-3 * Y[:FIRST, 0])
        learner.learn(state, X[:1], 1e-3 * Y[:1, 0])
        check_refused(learner, state, X[:1], np.array([1e50]))


def check_refused(learner: Any, state: Any, x: Any, y: Any) -> None:
    before, said = bits(state), []
    for learn in learner.learn, partial(in_a_block, learner):
        with pytest.raises(InputError) as refusal:
            learn(state, x, y)
        said.append(str(refusal.value))
        assert bits(state) == before
    assert said[0] == said[1]


@every
def test_rows_of_another_shape_are_refused(learner: Any) -> None:
    state = settled(learner, 2)
    learner.learn(state, X[:1], Y[:1])
    for x, y in (X[:1, :2], Y[:1]), (X[:1], Y[0]), (X[:1], Y[:1, :1]), (X[0], Y[:1]):
        with pytest.raises(InputError):
            learner.learn(state, x, y)
    with pytest.raises(InputError):
        learner.predict(state, X[:1, :2])


@every
def test_a_copy_prepares_its_own(learner: Any) -> None:
    state = settled(learner, 1)
    learner.learn(state, X[:1], Y[:1, 0])
    before = bits(state)
    copies = [copied(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
    for other in copies:
        learner.learn(other, X[1:2], Y[1:2, 0])
        assert bits(state) == before
    learner.learn(state, X[1:2], Y[1:2, 0])
    assert all(bits(other) == bits(state) for other in copies)


@pytest.mark.once
@pytest.mark.skipif(compiler_off, reason="interrupts need compiled code, which runs as one step")
@pytest.mark.parametrize(("learner", "is_first"), [*itertools.product(LEARNERS[:-2], [True, False]), (AUTO, False)], ids=str)
def test_an_interrupt_leaves_the_state_before_the_row_or_after_it(learner: Any, is_first: bool) -> None:
    """At every fifth bytecode of the row that finds nothing prepared, which are many, or at every one of the next row."""
    start = settled(learner, 1)
    done = slice(FIRST + (not is_first), FIRST + 1 + (not is_first))
    row = X[done], Y[done, 0]

    def begun() -> Any:
        state = copied(start)
        if not is_first:
            learner.learn(state, X[FIRST : FIRST + 1], Y[FIRST : FIRST + 1, 0])
        return state

    after, whole = begun(), Tracer()
    before = bits(after)
    whole.run(partial(learner.learn, after, *row))
    for at in range(1, whole.count + 1, 5 if is_first else 1):
        state = begun()
        if Tracer(at).run(partial(learner.learn, state, *row)):
            assert bits(state) in (before, bits(after))
            learner.learn(state, *row)
            learner.check(state)


def test_a_prediction_in_the_middle_of_another_leaves_it_alone() -> None:
    """As a signal handler may make one: the buffers of the outer one are in use."""
    learner = Intervals(Scaled(LINEAR))
    state = settled(learner, 1)
    learner.predict(state, X[:1])
    expected, other = learner.predict(state, X[1:2]).tolist(), learner.predict(state, X[2:3]).tolist()
    seen: list[Any] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is SingleRow.score.__code__:
            sys.settrace(None)
            seen.append(learner.predict(state, X[2:3]).tolist())
        return trace

    sys.settrace(trace)
    try:
        found = learner.predict(state, X[1:2]).tolist()
    finally:
        sys.settrace(None)
    assert (found, seen) == (expected, [other])


@pytest.mark.parametrize("learner", [AUTO, onkel.Auto(cost_limit=6.0, lags=3)], ids=str)
def test_single_rows_of_auto_give_the_bits_of_blocks_of_one(learner: Any) -> None:
    """From the first row on, through checks, refreshed ranks, clipped labels, and whether a row was predicted before or not."""
    single = learner.init(DIM, 2)
    block = copied(single)
    prepared = 0
    for t in range(600):
        x, y = X[t % len(X)][None], Y[t % len(X)][None]
        expected = in_a_block(learner, block, x, y)
        if t % 3:
            assert learner.predict(single, x).tobytes() == expected.tobytes()
        if t % 7 == 1:
            learner.predict(single, X[:1])  # another row comes in between
        assert learner.learn(single, x, y).tobytes() == expected.tobytes()
        prepared += ROW in vars(single)
    assert bits(single) == bits(block)
    assert prepared > 500


def test_single_rows_of_classes_give_the_bits_of_blocks_of_one() -> None:
    learner = Scaled(Calibrated(AUTO), inputs=False, targets=False, first_rows=0)
    single = learner.init(DIM, 3)
    block = copied(single)
    classes = np.eye(3)[np.digitize(Y[:, 0], (-1.0, 1.0))]
    for t in range(len(X)):
        now = slice(t, t + 1)
        expected = in_a_block(learner, block, X[now], classes[now])
        assert learner.predict(single, X[now]).tobytes() == expected.tobytes()
        assert learner.learn(single, X[now], classes[now]).tobytes() == expected.tobytes()
    assert bits(single) == bits(block)
    assert ROW in vars(single)
    for wrong in [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.5, 0.0]:
        check_refused(learner, single, X[:1], np.array([wrong]))


def test_a_row_that_must_wait_is_learnt_as_a_block() -> None:
    """Before the scales are settled there is nothing to prepare."""
    learner = Scaled(LINEAR)
    state = learner.init(DIM)
    for t in range(FIRST):
        learner.learn(state, X[t : t + 1], Y[t : t + 1, 0])
        assert ROW not in vars(state)
    learner.learn(state, X[FIRST : FIRST + 1], Y[FIRST : FIRST + 1, 0])
    assert ROW in vars(state)
