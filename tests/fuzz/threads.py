"""Two threads on one state: nothing crashes, every score is finite, and some order of the calls explains all that was seen.

One of `make fuzz`'s targets; or all learners and wrappers, each game in turn: python -m tests.fuzz.threads --runs 4 --seconds 10
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from onkel.state import copied
from tests.fuzz.isolated import isolated
from tests.fuzz.subjects import SUBJECTS, Block, block, subject, warm, warmed_up
from tests.laws.cases import Case, bits

CALLS = 8  # of learn, in one thread
ROWS = 120  # in one call, at most
LOOKS = 3000  # at a state that is being learnt, at most


def trial(rng: random.Random) -> None:
    play(subject(rng), rng.choice(GAMES), rng)


def play(case: Case, game: Game, rng: random.Random) -> None:
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


Game = Callable[[Case, Any, Any, random.Random], None]
GAMES: tuple[Game, ...] = (_predict_beside_learn, _save_beside_learn, _learn_beside_learn)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4, help="of each game, for each learner and wrapper")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"), help="part K, from 0, of N: for N processes"
    )
    chosen = parser.parse_args()
    part, parts = chosen.part
    kinds = sorted({type(case.learner) for case in SUBJECTS}, key=lambda kind: kind.__name__)[part::parts]
    found = total = 0
    for number, kind in enumerate(kinds, 1):
        cases, trials = [case for case in SUBJECTS if type(case.learner) is kind], 0
        for case in cases:
            warm(case)
        for game in GAMES:
            for run in range(chosen.runs):
                rng = random.Random(f"{chosen.seed}/{kind.__name__}/{game.__name__}/{run}")
                end = time.monotonic() + chosen.seconds
                while time.monotonic() < end:
                    try:
                        play(rng.choice(cases), game, rng)
                    except AssertionError as error:
                        found += 1
                        print(error, flush=True)
                    trials += 1
        total += trials
        print(f"{number} of {len(kinds)}: {kind.__name__}, {len(cases)} settings: {trials} trials; findings: {found}", flush=True)
    print(f"{total} trials, {found} findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
