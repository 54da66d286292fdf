"""What several threads gain, and what taking turns costs: python bench/threads.py [--check]

Two states learn blocks in two threads; the time is compared with that of the same work in one thread. Compiled code runs without
the interpreter's lock. The learners are some that take milliseconds for a block: a block of 0.3 ms, such as that of RBP, waits
longer for the lock than it runs, and gains nothing. The script also compares the time that a call needs to take its turn on a
state, as every verb does (`onkel.turns`), with the time of a call of one row.
"""

from __future__ import annotations

import argparse
import threading
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import Verdicts, in_turns

import onkel
from onkel.turns import turn

ROWS, DIM, BLOCK, CALLS = 20_000, 8, 1000, 2000
LEARNERS: dict[str, Any] = {
    "PKAWV, 200 features": onkel.PKAWV(onkel.Fourier(count=100)),
    "NewtonFeatures": onkel.NewtonFeatures(),
    "Auto": onkel.Auto(),
}


def stream() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, DIM))
    return X, np.where(X[:, 0] * X[:, 1] >= 0.0, 1.0, -1.0)


def learn(learner: Any, X: Any, y: Any) -> None:
    state = learner.init(DIM)
    for start in range(0, len(X), BLOCK):
        learner.learn(state, X[start : start + BLOCK], y[start : start + BLOCK])


def side_by_side(learner: Any, X: Any, y: Any) -> None:
    threads = [threading.Thread(target=learn, args=(learner, X, y)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_after_the_other(learner: Any, X: Any, y: Any) -> None:
    for _ in range(2):
        learn(learner, X, y)


def speed_up(verdicts: Verdicts, table: Table) -> None:
    X, y = stream()
    for name, learner in LEARNERS.items():
        took = in_turns(
            5, one=lambda: one_after_the_other(learner, X, y), two=lambda: side_by_side(learner, X, y)  # noqa: B023
        )  # fmt: skip
        table.add_row(f"{name}: two states, two threads", f"{took['one'] / took['two']:.2f} times as fast as one")
        verdicts.at_least(f"two threads against one, {name}", took["one"] / took["two"], 1.3)


def cost_of_a_turn(table: Table) -> None:
    X, y = stream()
    for name, learner in LEARNERS.items():
        state = learner.init(DIM)

        def rows(learner: Any = learner, state: Any = state) -> None:
            for t in range(CALLS):
                learner.learn(state, X[t : t + 1], y[t : t + 1])

        def turns(learner: Any = learner, state: Any = state) -> None:
            for _ in range(CALLS):
                with turn(learner, state, True):
                    pass

        took = in_turns(5, one_row=rows, a_turn=turns)
        turn_cost, row_cost = took["a_turn"] / CALLS, took["one_row"] / CALLS
        share = f"{1e6 * turn_cost:.2f} µs, {turn_cost / row_cost:.1%} of a call of one row"
        table.add_row(f"{name}: a turn", share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 where a stated ratio is missed")
    check = parser.parse_args().check
    verdicts, table = Verdicts(), Table(box=None, show_header=False, pad_edge=False)
    speed_up(verdicts, table)
    cost_of_a_turn(table)
    Console().print(table)
    verdicts.show(check)


if __name__ == "__main__":
    main()
