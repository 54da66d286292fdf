"""Play all fuzzers in turn until the time is over: python -m tests.fuzz --seconds 3600 --seed 1."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from tests.fuzz import data_files, interrupts, kills, onkel_files, protocol, threads

TARGETS: dict[str, Callable[[random.Random], None]] = {
    module.__name__.rsplit(".", 1)[-1]: module.trial for module in (data_files, onkel_files, protocol, threads, interrupts, kills)
}
SECONDS_BETWEEN_LINES = 60  # of a log; a terminal's counter is always there
LINES_OF_A_FINDING = 12


def play(target: str, seed: int, trial: int) -> None:
    TARGETS[target](random.Random(f"{seed}/{target}/{trial}"))


class Tally:
    """How many trials there were, and what they found."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.seed, self.end, self.said = seed, time.monotonic() + seconds, -float("inf")
        self.trials: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()

    def left(self) -> float:
        return self.end - time.monotonic()

    def play(self, target: str) -> None:
        trial = self.trials[target]
        try:
            play(target, self.seed, trial)
        except Exception as error:
            self.findings[target] += 1
            said = "\n".join(f"{type(error).__name__}: {error}".splitlines()[-LINES_OF_A_FINDING:])
            print(f"\n{said}\n  make fuzz SEED={self.seed} TARGET={target} TRIAL={trial}", flush=True)
        self.trials[target] += 1

    def show(self) -> None:
        counts = "  ".join(f"{name} {count}" for name, count in self.trials.items())
        line = f"{counts}  findings {self.findings.total()}  {max(0.0, self.left()):.0f} s left"
        if sys.stdout.isatty():
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            print(line, flush=True)

    def table(self) -> str:
        rows = [f"{name:<12}{self.trials[name]:>8}{self.findings[name]:>10}" for name in self.trials]
        return "\n".join(["", f"{'target':<12}{'trials':>8}{'findings':>10}", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=TARGETS, help="this one alone")
    parser.add_argument("--trial", type=int, help="this one alone, of --target: it repeats a finding")
    given = parser.parse_args()
    if given.trial is not None:
        if given.target is None:
            parser.error("--trial is one of a --target: name it too")
        play(given.target, given.seed, given.trial)
        print(f"{given.target}, trial {given.trial} of seed {given.seed}: nothing found")
        return 0
    tally = Tally(given.seed, given.seconds)
    for target in itertools.cycle([given.target] if given.target else TARGETS):
        if tally.left() <= 0.0:
            break
        tally.show()
        tally.play(target)
    print(tally.table())
    return int(tally.findings.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
