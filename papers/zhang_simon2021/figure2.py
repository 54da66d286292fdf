"""Figure 2: fitted curves beside the truth, with the band that should contain the truth with 95 % probability at each x.

The picture shows Examples 1 and 2 after 1,000 and 10,000 rows, with an N that follows the data: one stream with its band, four
others as thin lines. The table tells how much of the truth lay within the band, over 100 places and 200 streams, also for the
paper's constant; and how often all of it lay within the wider band of `everywhere=True`. Writes figure2.png, figure2.json and
figure2.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from papers.plots import BLACK, BLUE, RED, key, panels, save
from papers.results import main, spread
from papers.zhang_simon2021.examples import FIRST, SECOND, Example
from papers.zhang_simon2021.rates import FOLLOWING, GROWING

EXAMPLES = {"Example 1": FIRST, "Example 2, variance 5": SECOND}
ROWS = (1_000, 10_000)
STREAMS, CURVES, DOTS, CONFIDENCE = 200, 5, 1_000, 0.95
PLACES = np.arange(0.005, 1.0, 0.01)


def fitted(example: Example, learner: Any, rows: int, seed: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    """How often the band contains the truth, and the curves to draw."""
    state, X = learner.init(1), PLACES[:, None]
    learner.learn(state, *example.stream(rows, seed))
    truth, (low, high) = example.truth(X), learner.band(state, X, CONFIDENCE)
    lowest, highest = learner.band(state, X, CONFIDENCE, everywhere=True)
    told = {
        "inside": float(np.mean((low <= truth) & (truth <= high))),
        "everywhere": float(np.all((lowest <= truth) & (truth <= highest))),
        "wide": float(np.mean(high - low)),
        "level": learner.level(state),
    }
    return told, {"curve": learner.predict(state, X).tolist(), "low": low.tolist(), "high": high.tolist()}


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    jobs = [(name, rows, way) for name in EXAMPLES for rows in ROWS for way in (FOLLOWING, GROWING)]
    for name, rows, way in track(jobs, console=Console(stderr=True)):
        example = EXAMPLES[name]
        learner = example.following if way == FOLLOWING else example.growing
        fits = [fitted(example, learner, rows, seed) for seed in range(STREAMS)]
        of = found.setdefault(name, {}).setdefault(str(rows), {"ways": {}})
        of["ways"][way] = {part: [told[part] for told, _ in fits] for part in fits[0][0]}
        if way == FOLLOWING:
            of["band"], of["others"] = fits[0][1], [lines["curve"] for _, lines in fits[1:CURVES]]
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    yield f"| {STREAMS} streams | rows | N | truth inside the band | all of it inside the wider one | mean width of the band |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, of in found.items():
        for rows, at in of.items():
            for way, told in at["ways"].items():
                inside, everywhere, wide = (float(np.mean(told[part])) for part in ("inside", "everywhere", "wide"))
                yield f"| {name}: {way} | {int(rows):,} | {spread(told['level'])} | {inside:.1%} | {everywhere:.1%} | {wide:.3g} |"


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.6, 7.4)
    for line, (name, example) in zip(axes, EXAMPLES.items(), strict=True):
        X, y = example.stream(ROWS[0], 0)
        truth = example.truth(PLACES[:, None])
        for one, rows in zip(line, ROWS, strict=True):
            of = found[name][str(rows)]
            one.plot(X[:DOTS, 0], y[:DOTS], ".", color="0.8", markersize=2.0, zorder=1)
            one.fill_between(PLACES, of["band"]["low"], of["band"]["high"], color=RED, alpha=0.25, linewidth=0, zorder=2)
            for curve in of["others"]:
                one.plot(PLACES, curve, color=BLUE, linewidth=0.7, zorder=3)
            one.plot(PLACES, of["band"]["curve"], color=RED, linewidth=1.8, zorder=4)
            one.plot(PLACES, truth, "--", color=BLACK, linewidth=1.4, zorder=5)
            reach = 0.8 * np.ptp(truth)
            one.set(xlim=(0.0, 1.0), ylim=(truth.min() - reach, truth.max() + reach), xlabel="x", ylabel="y")
            one.set_title(f"{name}: {rows:,} rows", loc="left")
    handles = [
        key("truth", BLACK, "--", 1.4),
        key("fit, with its 95 % band", RED),
        key("fits of four other streams", BLUE, "-", 0.7),
        key("the first 1,000 rows", "0.8", ":"),
    ]
    save(figure, path, handles, 4)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
