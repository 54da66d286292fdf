"""kill -9 during saves: the file is a whole model, the old one or a new one; the next save leaves it alone in its folder."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import onkel
from onkel.state import copied
from tests.fuzz.subjects import Block, block, subject, warmed_up
from tests.laws.cases import Case, bits

LONGEST_LIFE = 0.3  # seconds, after the first save
ROWS = 200  # most do not live to learn them all


def trial(rng: random.Random) -> None:
    case = subject(rng)
    before, rows = warmed_up(case, rng, most=100), block(case, rng, ROWS, least=ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onkel")
        try:
            saved_until_killed(path, case, copied(before), rows, LONGEST_LIFE * rng.random())
            learnt_before_the_kill(path, case, before, rows)
            onkel.save(path, case.learner, before)
            assert sorted(file.name for file in path.parent.iterdir()) == [path.name], "a killed save left a file for ever"
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {error}") from error


def saved_until_killed(path: Path, case: Case, state: Any, rows: Block, seconds: float) -> None:
    """A child learns row by row and saves after each; it is killed so many seconds after its first save."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def live() -> None:
        onkel.save(path, case.learner, state)
        sender.send("saved")
        for t in range(len(rows.X)):
            case.learner.learn(state, *rows.part(t, t + 1))
            onkel.save(path, case.learner, state)
        time.sleep(seconds)

    child = context.Process(target=live)
    child.start()
    sender.close()
    try:
        receiver.recv()
        time.sleep(seconds)
    except EOFError:
        raise AssertionError("the first save failed") from None
    finally:
        child.kill()
        child.join()
        receiver.close()


def learnt_before_the_kill(path: Path, case: Case, before: Any, rows: Block) -> int:
    """How many of the rows the file's state has learnt; it must be that of some."""
    found, state = bits(onkel.load(path)[1]), copied(before)
    for t in range(len(rows.X) + 1):
        if bits(state) == found:
            return t
        case.learner.learn(state, *rows.part(t, t + 1))
    raise AssertionError("the file holds a state that never was")
