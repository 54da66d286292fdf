"""Two threads on one state: nothing crashes, every score is finite, and some order of the calls explains all that was seen."""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from onkel.state import copied
from tests.fuzz.isolated import isolated
from tests.fuzz.subjects import Block, block, subject, warmed_up
from tests.laws.cases import Case, bits

CALLS = 8  # of learn, in one thread
ROWS = 120  # in one call, at most
LOOKS = 3000  # at a state that is being learnt, at most


def trial(rng: random.Random) -> None:
    case = subject(rng)
    game = rng.choice([_predict_beside_learn, _save_beside_learn, _learn_beside_learn])
    state = warmed_up(case, rng)
    reference = copied(state)
    try:
        game(case, state, reference, rng)
    except AssertionError as error:
        raise AssertionError(f"{game.__name__[1:]}, {case.name}: {error}") from error


def _predict_beside_learn(case: Case, state: Any, reference: Any, rng: random.Random) -> None:
    blocks = [block(case, rng, ROWS) for _ in range(CALLS)]
    probe = block(case, rng, 20, least=1).X
    possible = {case.learner.predict(reference, probe).tobytes()}
    for each in blocks:
        case.learner.learn(reference, *each)
        possible.add(case.learner.predict(reference, probe).tobytes())

    def predict() -> None:
        scores = case.learner.predict(state, probe)
        assert np.isfinite(scores).all(), "a score is not finite"
        assert scores.tobytes() in possible, "predictions of no state between two calls of learn"

    _beside_learn(case, state, reference, blocks, predict)


def _save_beside_learn(case: Case, state: Any, reference: Any, rng: random.Random) -> None:
    blocks = [block(case, rng, ROWS) for _ in range(CALLS)]
    possible = [bits(reference)]
    for each in blocks:
        case.learner.learn(reference, *each)
        possible.append(bits(reference))
    with tempfile.TemporaryDirectory() as folder:

        def save() -> None:
            onkel.save(Path(folder, "m.onkel"), case.learner, state)
            assert bits(onkel.load(Path(folder, "m.onkel"))[1]) in possible, "the file holds no state between two calls of learn"

        _beside_learn(case, state, reference, blocks, save)


def _beside_learn(case: Case, state: Any, reference: Any, blocks: list[Block], look: Callable[[], None]) -> None:
    """Learn the blocks; until that is done, look again and again."""
    done = threading.Event()

    def learn() -> None:
        try:
            for each in blocks:
                case.learner.learn(state, *each)
        finally:
            done.set()

    def watch() -> None:
        for _ in range(LOOKS):
            look()
            if done.is_set():
                return

    def play() -> None:
        _at_once(learn, watch)
        assert bits(state) == bits(reference), "the end is not that of learning alone"

    isolated(play)


def _learn_beside_learn(case: Case, state: Any, reference: Any, rng: random.Random) -> None:
    """All calls learn the same rows, so that the order makes no difference."""
    rows = block(case, rng, ROWS, least=1)
    expected = sorted(case.learner.learn(reference, *rows).tobytes() for _ in range(2 * CALLS))
    found: list[bytes] = []

    def learn() -> None:
        found.extend(case.learner.learn(state, *rows).tobytes() for _ in range(CALLS))

    def play() -> None:
        _at_once(learn, learn)
        assert bits(state) == bits(reference), "the end is not that of one call after the other"
        assert sorted(found) == expected, "scores that one call after the other does not give"

    isolated(play)


def _at_once(*works: Callable[[], None]) -> None:
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)  # of a child that ends soon
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
