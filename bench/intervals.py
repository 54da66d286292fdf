"""Coverage and widths of prediction intervals on streams that change: python bench/intervals.py [--check]

Prints three figures for each stream and level. The first two are the largest distance of the coverage from the level, in percentage
points, over consecutive and over sliding windows of 2,000 rows. The third is the mean width, divided by that of the best fixed
window. A fixed window takes the quantile of the last W residuals. The best W has the narrowest intervals of those whose coverage
stays within two points in every sliding window; if there is none, it is the W that comes nearest to that, and the figure is marked
with ~.
"""

from __future__ import annotations

import argparse
import bisect
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from timing import Verdicts, in_turns

import onkel
from onkel.combine import Intervals, Scaled, conformal

Array = NDArray[np.float64]

ROWS, DIM, WINDOW, POINTS = 20_000, 3, 2000, 0.02
START = 100  # the first rows, whose widths are not compared
FIXED = 50, 100, 200, 500, 1000, 2000, 5000
LEARNER = Scaled(onkel.PKAWV(onkel.Fourier(count=20) + onkel.Identity() + onkel.Constant(), forgetting=0.98))
INTERVALS = Intervals(LEARNER)


def streams() -> dict[str, tuple[Array, Array]]:
    """Inputs and labels: the same smooth function plus noise, which is different in each stream."""
    rng = np.random.default_rng(0)
    X, z, t = rng.normal(size=(ROWS, DIM)), rng.normal(size=ROWS), np.arange(ROWS)
    signal, turn, often = 2.0 * np.sin(X[:, 0]) + X[:, 1], t // 3000 % 2, t // 700 % 2
    noises = {
        "steady": z,
        "noise x10 and back every 3,000": z * 10.0**turn,
        "noise x10 and back every 700": z * 10.0**often,
        "noise grows x100": z * 100.0 ** (t / ROWS),
        "noise by an input": z * (0.1 + X[:, 0] ** 2),
        "noise by a slow cycle": z * np.exp(1.5 * np.sin(t / 150.0)),
        "t, 3 degrees": rng.standard_t(3, ROWS),
        "t, 2 degrees": rng.standard_t(2, ROWS),
        "exponential": rng.exponential(size=ROWS) - 1.0,
        "mean jumps by 5 every 2,500": z + 5.0 * (t // 2500 % 2),
        "mean jumps by 20 every 2,500": z + 20.0 * (t // 2500 % 2),
        "slope turns round every 2,500": z - 2.0 * signal * (t // 2500 % 2),
    }
    return {name: (X, signal + noise) for name, noise in noises.items()}


def fixed_window(r: Array, window: int, level: float) -> Array:
    """Half-widths: the conformal quantile of the last `window` residuals, infinite while there are too few residuals for it."""
    values, half = [math.inf] * window, np.empty(len(r))
    rank = math.ceil((window + 1) * level) - 1
    for t in range(len(r)):
        if t > window:
            half[t] = values[rank] if rank < window else math.inf
        else:
            enough = math.ceil((t + 1) * level)
            half[t] = values[enough - 1] if enough <= t else math.inf
        bisect.insort(values, float(r[t]))
        del values[bisect.bisect_left(values, float(r[t - window]) if t >= window else math.inf)]
    return half


def worst(within: Any, level: float) -> tuple[float, float]:
    """The largest distance of the coverage from the level, over consecutive windows and over sliding windows."""
    total = np.concatenate([[0.0], np.cumsum(within)])
    away = np.abs((total[WINDOW:] - total[:-WINDOW]) / WINDOW - level)
    return float(away[::WINDOW].max()), float(away.max())


def measured(X: Array, y: Array) -> tuple[Array, Array]:
    """The residuals, and the half-width of each row before its residual was known."""
    r = y - LEARNER.learn(LEARNER.init(DIM), X, y)
    bands = conformal.init(INTERVALS.levels, 1)
    return np.abs(r), conformal.learn(bands, r[:, None], np.ones(len(r)))[:, 0]


def best_window(r: Array, level: float) -> tuple[Array, bool]:
    """The half-widths of the narrowest fixed window whose coverage is close enough to the level; if there is none, of the window
    that comes closest. Also whether it is close enough."""
    halves = [fixed_window(r, window, level) for window in FIXED]
    away = [worst(r <= half, level)[1] for half in halves]
    kept = [half for half, points in zip(halves, away, strict=True) if points <= POINTS]
    return (min(kept, key=lambda half: float(half[START:].mean())), True) if kept else (halves[int(np.argmin(away))], False)


def show(table: Table, verdicts: Verdicts) -> None:
    for name, (X, y) in streams().items():
        r, half = measured(X, y)
        cells = []
        for k, level in enumerate(INTERVALS.levels):
            consecutive, sliding = worst(r <= half[:, k], level)
            best, kept = best_window(r, level)
            ratio = float(half[START:, k].mean() / best[START:].mean())
            cells.append(f"{100 * consecutive:.1f} {100 * sliding:.1f} {'' if kept else '~'}{ratio:.2f}")
            verdicts.at_most(f"points off {level}, {name}", 100 * sliding, 100 * POINTS)
            verdicts.at_most(f"width at {level}, {name}", ratio, 1.1)
        table.add_row(name, *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    console, verdicts = Console(width=120), Verdicts()
    title = "points off in consecutive and in sliding windows, width over the best fixed window's"
    table = Table("stream", *map(str, INTERVALS.levels), title=title)
    show(table, verdicts)
    console.print(table)
    X, y = streams()["steady"]
    residuals, ones = y[:, None].copy(), np.ones(ROWS)
    took = in_turns(
        5,
        learner=lambda: LEARNER.learn(LEARNER.init(DIM), X, y),
        bands=lambda: conformal.learn(conformal.init(INTERVALS.levels, 1), residuals, ones),
    )
    console.print(
        f"a row of the learner {1e6 * took['learner'] / ROWS:.2f} µs, of its intervals {1e6 * took['bands'] / ROWS:.2f} µs"
    )
    verdicts.at_most("time of intervals over a learner of 44 features", took["bands"] / took["learner"], 0.2)
    verdicts.show(check)


if __name__ == "__main__":
    main()
