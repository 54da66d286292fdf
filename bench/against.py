"""Compares this code with another checkout, one row in each call: python bench/against.py OTHER/src [--learners PKAWV]

Two processes, one for each source tree, learn the same rows in turns, one row in each call. The script prints, for each learner,
the median time of a row in each tree and the ratio of the two. Learners are given as text; a bare name means default settings.
`Scaled`, the wrapper that every estimator uses, is timed around PKAWV.

    git worktree add /tmp/before HEAD~20 && python bench/against.py /tmp/before/src
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table
from timing import Verdicts

HERE = Path(__file__).parent.parent / "src"
SPLINES = "TubeProjection(Additive(Spline()))"
NAMES = [
    "PKAWV",
    "Scaled",
    "Perceptron",
    "RBP",
    "FORKS",
    SPLINES,
    "NewtonFeatures",
    "MercerProjection",
    "Neighbours",
    "RandomTrees",
    "Auto",
]
MOST = 1.05  # the time may be at most this many times the other tree's
SECONDS = 0.1  # a turn takes about as long
WORKER = """
import json, sys, time
import numpy as np
import onkel
from onkel.combine import Scaled
rng = np.random.default_rng(0)
X = rng.uniform(size=(4000, 3))
y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.75, 1.0, -1.0)
blocks = [(X[t : t + 1], y[t : t + 1]) for t in range(len(X))]
known = {}
for line in sys.stdin:
    name, rows = json.loads(line)
    if name not in known:
        learner = Scaled(onkel.PKAWV()) if name == "Scaled" else onkel.parse(name)
        known[name] = [learner, learner.init(3), 0]
        learner.learn(known[name][1], X[:1000], y[:1000])  # beyond the first stages
    learner, state, done = known[name]
    now = [blocks[(done + k) % len(blocks)] for k in range(rows)]
    known[name][2] += rows
    began = time.perf_counter()
    for row, label in now:
        learner.learn(state, row, label)
    print((time.perf_counter() - began) / rows, flush=True)
"""


class Tree:
    """A process that imports onkel from one folder."""

    def __init__(self, folder: Path) -> None:
        settings = {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER], env=settings, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def seconds(self, name: str, rows: int) -> float:
        """The seconds of one row, if each call has one row."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, rows]), file=self.process.stdin, flush=True)
        said = self.process.stdout.readline()
        if not said:
            sys.exit(f"the process that was to run {name} has ended; its error stands above")
        return float(said)


def compared(name: str, trees: list[Tree], turns: int, console: Console) -> list[float]:
    """The median of each tree's turns."""
    rows = max(10, int(SECONDS / trees[0].seconds(name, 20)))
    rows = max(10, int(SECONDS / trees[0].seconds(name, rows)))
    trees[1].seconds(name, rows)
    taken: list[list[float]] = [[], []]
    for turn in track(range(turns), description=name, console=console, transient=True):
        for k in (0, 1) if turn % 2 else (1, 0):
            taken[k].append(trees[k].seconds(name, rows))
    return [statistics.median(times) for times in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--learners", nargs="+", default=NAMES, metavar="NAME")
    parser.add_argument("--turns", type=int, default=41)
    parser.add_argument("--check", action="store_true", help=f"exit with 1 when a learner takes more than {MOST} times the time")
    chosen: Any = parser.parse_args()
    if not (chosen.against / "onkel" / "__init__.py").is_file():
        sys.exit(f"{chosen.against} holds no onkel; give the src folder of a checkout")
    console, verdicts, table = Console(), Verdicts(), Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("learner", "µs a row there", "here", "ratio"):
        table.add_column(heading, justify="left" if heading == "learner" else "right")
    trees = [Tree(chosen.against), Tree(HERE)]
    for name in chosen.learners:
        there, here = compared(name, trees, chosen.turns, console)
        table.add_row(name, f"{1e6 * there:.2f}", f"{1e6 * here:.2f}", f"{here / there:.3f}")
        verdicts.at_most(f"{name}: one row a call, times the other's", here / there, MOST)
    console.print(table)
    verdicts.show(chosen.check)


if __name__ == "__main__":
    main()
