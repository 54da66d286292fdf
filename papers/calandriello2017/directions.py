"""Frequent directions on fixed features, the rival of section 6 (Luo et al. 2016): regret and time for several ranks m.

The streams are those of regret.py, rings with the logistic loss (C = 2) and the noisy regression with the square loss (C = 1), with
400 Fourier features of the Gaussian kernel of width 0.5. `SketchedNewton` keeps m directions of the Newton matrix, `NewtonFeatures`
all of it; α = 1 and η = σ. FOGD takes gradient steps of 1/√T on the same features. The regret compares with the best function of
the features' span, of least Σℓ + ½α‖f‖², with |f(x)| ≤ C. The time is processor time, in one thread, without compilation. Writes
directions.json and directions.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

import onkel
from onkel.losses import Loss
from onkel.measure import best_within
from papers.calandriello2017.contenders import ALPHA, classification, regression
from papers.results import keep, kept, publish, spread

ROWS, SEEDS = 2000, 5
FEATURES = onkel.Fourier(count=200, width=0.5)  # two features each
RANKS = (1, 5, 20, 80, 200)
TASKS: dict[str, tuple[Any, Loss, float]] = {
    "rings, logistic loss": (classification, onkel.Logistic(), 2.0),
    "regression, square loss": (regression, onkel.Square(), 1.0),
}


def learners(loss: Loss, clip: float, rows: int) -> dict[str, Any]:
    sketched = {f"SketchedNewton, m = {m}": onkel.SketchedNewton(FEATURES, loss, m, ALPHA, clip) for m in RANKS}
    step = 1.0 / math.sqrt(rows)
    exact = onkel.NewtonFeatures(FEATURES, loss, ALPHA, clip)
    return {"FOGD, step 1/√T": onkel.FOGD(FEATURES, loss, step=step), **sketched, "NewtonFeatures": exact}


def measured(quick: bool = False) -> dict[str, Any]:
    rows, seeds = (300, 1) if quick else (ROWS, SEEDS)
    found: dict[str, Any] = {}
    for title, (data, loss, clip) in TASKS.items():
        runs: dict[str, Any] = {}
        for seed in track(range(seeds), title, console=Console(stderr=True)):
            X, y = data(rows, seed)
            best = best_within(FEATURES, X, y, loss, 0.5 * ALPHA, clip).cost
            for name, learner in learners(loss, clip, rows).items():
                learner.learn(learner.init(2), X[:200], y[:200])  # compiles
                state, before = learner.init(2), time.thread_time()
                lost = float(loss(learner.learn(state, X, y), y).sum())
                of = runs.setdefault(name, {"regret": [], "microseconds": [], "bytes": onkel.nbytes(state)})
                of["microseconds"].append(1e6 * (time.thread_time() - before) / rows)
                of["regret"].append(lost - best)
        found[title] = runs
    return {"rows": rows, "tasks": found}


def table(found: dict[str, Any]) -> Iterator[str]:
    heads = " | ".join(f"{title}: regret | µs a row" for title in found["tasks"])
    yield f"| {found['rows']:,} rows, {FEATURES.size(2)} features | state, kB | {heads} |"
    yield "|---|--:" + "|--:|--:" * len(found["tasks"]) + "|"
    for name in next(iter(found["tasks"].values())):
        each = [of[name] for of in found["tasks"].values()]
        cells = " | ".join(f"{spread(of['regret'])} | {min(of['microseconds']):.0f}" for of in each)
        yield f"| {name} | {each[0]['bytes'] / 1e3:,.0f} | {cells} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tell", action="store_true", help="measure nothing: write directions.md again from directions.json")
    parser.add_argument("--quick", action="store_true", help="few rows; print the table, write nothing")
    options = parser.parse_args()
    here = Path(__file__)
    if options.quick:
        print("\n".join(table(measured(quick=True))))
        return
    if not options.tell:
        keep(here, measured())
    publish(here, table(kept(here)))


if __name__ == "__main__":
    main()
