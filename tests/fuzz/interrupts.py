"""An exception at any line of onkel's during `learn`: the state is that after some of the rows, can be saved, and goes on."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import onkel
from onkel.state import copied
from tests.fuzz.isolated import isolated
from tests.fuzz.subjects import Block, block, same, subject, warmed_up
from tests.laws.cases import Case, bits

ROWS = 40  # at most
INTERRUPTIONS = (KeyboardInterrupt, MemoryError, RuntimeError)


class Interrupter:
    """Counts the lines that run in onkel's frames; raises at one of them."""

    def __init__(self, at: int = 0, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.lines, self.at, self.error, self.place = 0, at, error, ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith("onkel."):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{frame.f_globals['__name__']}:{frame.f_lineno}"
                raise self.error("injected")
        return self


def traced(interrupter: Interrupter, work: Callable[[], object]) -> bool:
    """Whether the work came to its end."""
    sys.settrace(interrupter)
    try:
        work()
    except INTERRUPTIONS as error:
        if not interrupter.place:
            raise AssertionError("it failed by itself") from error
        return False
    finally:
        sys.settrace(None)
    return True


def trial(rng: random.Random) -> None:
    case = subject(rng)
    before = warmed_up(case, rng)
    rows = block(case, rng, ROWS, least=1)
    rehearsal = Interrupter()
    traced(rehearsal, lambda: case.learner.learn(copied(before), *rows))
    interrupter = Interrupter(rng.randint(1, rehearsal.lines), rng.choice(INTERRUPTIONS))
    state = copied(before)

    def play() -> None:
        whole = traced(interrupter, lambda: case.learner.learn(state, *rows))
        _check(case, before, state, rows, whole)

    try:
        isolated(play)
    except AssertionError as error:
        at = f"{interrupter.error.__name__} at line {interrupter.at} of {rehearsal.lines} of learn's, {len(rows.X)} rows"
        raise AssertionError(f"{case.name}, {at}: {error}") from error


def _check(case: Case, before: Any, state: Any, rows: Block, whole: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        onkel.save(Path(folder, "m.onkel"), case.learner, state)
        assert bits(onkel.load(Path(folder, "m.onkel"))[1]) == bits(state)
    n = len(rows.X)
    learnt = [k for k in ([n] if whole else range(n + 1)) if same(case, state, _after(case, before, rows.part(0, k)), rows.X)]
    assert learnt, "the state is not that after the first k rows, for any k"
    case.learner.learn(state, *rows.part(learnt[-1], n))
    assert same(case, state, _after(case, before, rows), rows.X), f"it learnt {learnt[-1]} rows, and does not go on as it should"


def _after(case: Case, before: Any, rows: Block) -> Any:
    state = copied(before)
    case.learner.learn(state, *rows)
    return state
