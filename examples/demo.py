"""`make demo`: three learners on one stream whose rule is replaced twice.

The target is a smooth function of five inputs, plus noise. After a third of the stream, and again after two thirds, another
function takes its place. A linear model cannot bend; a kernel learner bends but remembers; with forgetting it also lets go.
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.progress import track

import onkel
from onkel import Constant, Fourier, Identity, Standardize
from onkel.measure import square
from onkel.report.plots import draw_curves
from onkel.report.tables import results

ROWS, CHANGES, NOISE = 60_000, 2, 0.1
LEARNERS = {
    "linear": onkel.PKAWV(features=(Standardize(), Identity() + Constant())),
    "kernel": onkel.PKAWV(features=(Standardize(), Fourier(count=150) + Identity() + Constant())),
    "kernel, forgetting 0.999": onkel.PKAWV(
        features=(Standardize(), Fourier(count=150) + Identity() + Constant()), forgetting=0.999
    ),
}


def main() -> None:
    began = time.perf_counter()
    console = Console(highlight=False, soft_wrap=True)
    stream = onkel.data.abrupt(ROWS, dim=5, noise=NOISE, changes=CHANGES, seed=4)
    traces = {
        name: onkel.prequential(learner, stream, metrics={"square loss": square})
        for name, learner in track(LEARNERS.items(), description="learning", console=console, transient=True)
    }
    console.print(f"{ROWS:,} rows, one pass; every row is scored before it is learnt (noise alone: {NOISE**2:g})\n")
    console.print(results(traces))
    marks = [(ROWS * k // (CHANGES + 1), "the rule changes") for k in range(1, CHANGES + 1)]
    picture = draw_curves(Path("demo.png"), traces, "square loss", 1000, "A stream whose rule changes twice", marks)
    console.print(f"\ndrew {picture} in {time.perf_counter() - began:.0f} s, compilation included")


if __name__ == "__main__":
    main()
