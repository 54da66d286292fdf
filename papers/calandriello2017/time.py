"""Time per row as t grows, for the learners of regret.py: processor time of one thread, in blocks of 32 rows.

The stream is the noisy regression in the plane, with the square loss. It is learnt three times, and the time of a block is the
median. A point of a line is the median over the blocks whose last row lies between t/1.3 and t. A learner stops after SECONDS of
processor time. Slopes are those of log(time) against log(t), by least squares from t = 512 to 2048, and over the last factor of 4
of a learner's own rounds. ProsNKONS is shown with a dictionary that only KORS limits, and with one of at most 50 points. Writes
time.png, time.json and time.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from papers.calandriello2017.contenders import CONTENDERS, Array, Contender, Setting, points, regression, spanned
from papers.plots import ORANGE, key, panels, save
from papers.results import keep, kept, publish

ROWS, SECONDS, BLOCK, REPEATS = 20_000, 20.0, 32, 3
BUDGET = 50
SHOWN = [128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 20_000]
LAST = 4.0  # the factor over which slopes are fitted
SETTING = Setting(onkel.Square(), 1.0, ROWS)
LEFT_OUT = ("SketchedKONS, γ = 1", "ProsNKONS, restarts")  # the first is exactly KONS; the second takes as long as without restarts
LINES = [
    *(c for c in CONTENDERS if c.colour and c.name not in LEFT_OUT),
    Contender(f"ProsNKONS, no restarts, {BUDGET} points", spanned(restart=False, budget=BUDGET), ORANGE, ":"),
]


def run(contender: Contender, seconds: float) -> dict[str, Any]:
    X, y = regression(ROWS, seed=0)
    learner = contender.make(SETTING, 0)
    learner.learn(learner.init(2), X[:200], y[:200])  # compiles
    plays = [play(learner, X, y, seconds) for _ in range(REPEATS)]
    blocks = min(len(each) for each, _ in plays)
    of, size = np.median([each[:blocks] for each, _ in plays], axis=0) / BLOCK, plays[0][1]
    t = BLOCK * np.arange(1, blocks + 1)
    shown = [one for one in SHOWN if one <= t[-1]]
    slopes = [float(np.polyfit(np.log(t[part]), np.log(of[part]), 1)[0]) for part in ((t >= 512) & (t <= 2048), t >= t[-1] / LAST)]
    return {
        "t": shown,
        "seconds": [float(np.median(of[(t > one / 1.3) & (t <= one)])) for one in shown],
        "points": [size[one // BLOCK - 1] for one in shown],
        "slopes": slopes,
        "rows": int(t[-1]),
    }


def play(learner: Any, X: Array, y: Array, seconds: float) -> tuple[list[float], list[int]]:
    """The time of each block, and the points in the matrix after it."""
    state, each, size = learner.init(2), list[float](), list[int]()
    for start in range(0, ROWS, BLOCK):
        before = time.thread_time()
        learner.learn(state, X[start : start + BLOCK], y[start : start + BLOCK])
        each.append(time.thread_time() - before)
        size.append(points(state))
        if sum(each) > seconds:
            break
    return each, size


def table(found: dict[str, Any]) -> Iterator[str]:
    at = (512, 2048, 3072, 20_000)
    yield (
        "| learner | slope, 512 to 2,048 | slope, the last factor of 4 | "
        + " | ".join(f"µs a row at {t:,} (points)" for t in at)
        + " |"
    )
    yield "|---|--:|--:" + "|--:" * len(at) + "|"
    for name, of in found.items():
        cells = []
        for t in at:
            i = of["t"].index(t) if t in of["t"] else -1
            cells.append("" if i < 0 else f"{1e6 * of['seconds'][i]:,.0f} ({of['points'][i]:,})")
        yield f"| {name} | {of['slopes'][0]:.2f} | {of['slopes'][1]:.2f} | " + " | ".join(cells) + " |"
    yield ""
    exact = found["KONS"]
    rates = [f"{1e9 * s / m**2:.2f} at {m:,}" for s, m in zip(exact["seconds"], exact["points"], strict=True) if m > 400]
    yield f"- KONS learnt {exact['rows']:,} rows."
    yield "- KONS: nanoseconds for each of the m² entries that it reads, " + ", ".join(rates) + " points."
    late = [t for t in exact["t"] if t > 1000]
    for name, of in found.items():
        if name.startswith("Sketched"):
            times = [exact["seconds"][exact["t"].index(t)] / of["seconds"][of["t"].index(t)] for t in late]
            each = ", ".join(f"{ratio:.0f} at t = {t:,}" for t, ratio in zip(late, times, strict=True))
            yield f"- {name}: KONS takes longer by a factor of {each}."


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, 1, 8.2, 5.6)
    one = axes[0, 0]
    for contender in LINES:
        of = found[contender.name]
        one.plot(of["t"], 1e6 * np.array(of["seconds"]), contender.dashes, color=contender.colour, linewidth=1.8, marker=".")
    exact = found["KONS"]
    t = np.array([SHOWN[0], exact["t"][-1]])
    one.plot(t, 2e6 * exact["seconds"][-1] * (t / t[-1]) ** 2, ":", color="0.35", linewidth=1.4)
    one.set(xscale="log", yscale="log", xlabel="rounds t", ylabel="µs a row", ylim=(1.0, None))
    ticks = [128, 256, 512, 1024, 2048, 4096, 8192, 16_384]
    one.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
    one.set_xticks([], minor=True)
    keys = [key(c.name, str(c.colour), c.dashes) for c in LINES]
    save(figure, path, [*keys, key("∝ t²", "0.35", ":", 1.4)], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each learner and repeat (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw time.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, {c.name: run(c, options.seconds) for c in track(LINES, console=Console(stderr=True))})
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, table(found))


if __name__ == "__main__":
    main()
