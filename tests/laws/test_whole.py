"""Whole or not at all: interrupts, threads, and states of other learners."""

from __future__ import annotations

import sys
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import turns
from onkel._inputs import place
from onkel.errors import InputError
from onkel.state import TURN, copied
from tests.laws.cases import CLASSES, Array, Case, bits, fresh

PACKAGE = str(Path(onkel.__file__).parent)
WINDOWS = 3  # parts of a stream, each learnt in one call that is interrupted


class Interrupt(BaseException):
    """Interrupts like a KeyboardInterrupt, but is raised only by these tests."""


class Tracer:
    """Counts the bytecodes that run in onkel's own code, and raises at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self.at:
                raise Interrupt
        return self

    def run(self, work: Any) -> bool:
        """Whether the work was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            work()
        except Interrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def assert_same(case: Case, state: Any, other: Any, X: Array) -> None:
    """Assert that two states are equal bit for bit; or, if cuts of the stream change rounding, predict nearly the same."""
    if case.learner.cut_tolerance == 0.0:
        assert bits(state) == bits(other)
    else:
        expected = case.learner.predict(other, X)
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        assert np.abs(case.learner.predict(state, X) - expected).max(initial=0.0) <= 1e-8 * scale


def check_interrupts(case: Case, count: int, seed: int) -> int:
    """Interrupt calls at random instants. After each, the state must be sound, that after some of the rows, and able to go on.

    Returns how many calls were interrupted.
    """
    X, y, weight = case.stream()
    learner, rng, interrupted = case.learner, np.random.default_rng(seed), 0
    edges = np.linspace(0, len(X), WINDOWS + 1).astype(int)
    state = fresh(learner, X, y)
    for start, stop in pairwise(edges):
        now = slice(start, stop)
        block, after = (X[now], y[now], weight[now]), copied(state)
        learner.learn(copied(state), *block)  # fills the caches, so that this happens in none of the calls below
        whole = Tracer()
        whole.run(partial(learner.learn, after, *block))
        for at in rng.integers(1, whole.count + 1, count):
            trial = copied(state)
            if not Tracer(int(at)).run(partial(learner.learn, trial, *block)):
                continue
            interrupted += 1
            learner.check(trial)
            done = place(weight[now], learner._hooks._learnt(trial) - learner._hooks._learnt(state))
            prefix = copied(state)
            learner.learn(prefix, *(part[:done] for part in block))
            assert_same(case, trial, prefix, X[:10])
            learner.learn(trial, *(part[done:] for part in block))
            assert_same(case, trial, after, X[:10])
        state = after
    return interrupted


@pytest.mark.once
def test_15_an_interrupt_leaves_the_state_after_some_of_the_rows(case: Case) -> None:
    assert check_interrupts(case, count=4, seed=0) > 0


@pytest.mark.long
def test_15_interrupts_at_many_instants(case: Case) -> None:
    assert check_interrupts(case, count=40, seed=1) > 100


@pytest.mark.once
def test_16_two_threads_take_turns(case: Case) -> None:
    """All blocks are equal, so the final state does not depend on which thread is first; predictions in between are finite."""
    X, y, weight = (part[:40] for part in case.stream())
    learner, rounds = case.learner, 6
    expected, state, predicted = fresh(learner, X, y), fresh(learner, X, y), []
    for _ in range(2 * rounds):
        learner.learn(expected, X, y, weight)

    def learn() -> None:
        for _ in range(rounds):
            learner.learn(state, X, y, weight)

    def predict() -> None:
        for _ in range(rounds):
            predicted.append(learner.predict(state, X))
            learner.check(state)

    threads = [threading.Thread(target=target) for target in (learn, predict, learn)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(predicted) == rounds
    assert np.isfinite(predicted).all()
    assert bits(state) == bits(expected)


@pytest.mark.once
def test_16_no_call_of_many_threads_is_lost() -> None:
    """Many short calls begin and end all the time, and each of them is learnt exactly once."""
    learner = onkel.Neighbours(budget=50)
    X, y = np.ones((4, 3)), np.ones(4)
    state, calls, interval = learner.init(3), 3000, sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [
            threading.Thread(target=lambda verb=verb: [verb() for _ in range(calls)])
            for verb in (partial(learner.learn, state, X, y), partial(learner.predict, state, X)) * 2
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert learner._hooks._learnt(state) == 2 * calls * len(X)


@pytest.mark.once
def test_16_a_turn_that_has_just_ended_is_nobodys_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one call looks whether another is still running, that one ends, and a third begins."""
    learner = onkel.Neighbours()
    state = learner.init(3)
    first, later, is_running, here = turns.turn(learner, state), list[turns.turn](), turns._is_running, sys._getframe()

    def look(frame: Any) -> bool:
        if later:
            return is_running(frame)
        first.end()
        later.append(turns.turn(learner, state))
        later[0].frame = here
        return False

    monkeypatch.setattr(turns, "_is_running", look)
    with pytest.raises(InputError, match="in the middle of a call"), turns.turn(learner, state, True):
        pass
    assert vars(state)[TURN] is later[0]


@pytest.mark.once
def test_16_a_call_is_running_until_it_returns_whatever_its_thread_does() -> None:
    """The call counts as running although its stack, seen from another thread, is cut whenever a generator on it yields."""
    frames, go_on, seen = list[FrameType](), threading.Event(), set[bool]()

    def call() -> None:
        frames.append(sys._getframe())
        while not go_on.is_set():
            any(number < 0 for number in range(20))

    thread, interval = threading.Thread(target=call), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while not frames:
            pass
        for _ in range(20_000):
            seen.add(turns._is_running(frames[0]))
    finally:
        go_on.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert seen == {True}
    assert not turns._is_running(frames[0])


@pytest.mark.once
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_17_states_of_other_learners_are_refused(kind: Any) -> None:
    X, y = np.ones((2, 3)), np.ones(2)
    learner = kind()
    for other in CLASSES:
        if other is kind:
            continue
        state = other().init(dim=3)
        before = bits(state)
        calls = [partial(learner.learn, state, X, y), partial(learner.predict, state, X), partial(learner.widen, state, 2)]
        for call in (*calls, partial(learner.check, state), partial(learner.notes, state)):
            with pytest.raises(InputError, match="belongs to"):
                call()
        assert bits(state) == before


@pytest.mark.once
def test_17_the_same_settings_are_the_same_learner() -> None:
    X, y = np.ones((2, 3)), np.array([1.0, -1.0])
    state = onkel.PKAWV().init(dim=3)
    onkel.PKAWV().learn(state, X, y)
    with pytest.raises(InputError, match=r"PKAWV\(.*lam=1.0.*\).*PKAWV\(.*lam=2.0"):
        onkel.PKAWV(lam=2.0).learn(state, X, y)
    for thing in (None, 3, {"dim": 3}, onkel.PKAWV()):
        with pytest.raises(InputError, match="instead of a state"):
            onkel.PKAWV().predict(thing, X)
