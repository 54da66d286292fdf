"""Errors under noise with heavy tails, compared with the rate of Theorem 4.1.

With noise that has m moments the theorem promises ‖f̂ − f‖² = O(n^(−2α/(2α+1)) ∨ n^(−1+1/m)), times log n, where ∨ is the larger of
the two, if |f̂| stays below some bound. Student's t with ν degrees of freedom has every m < ν. The script learns Examples 2 (α = 1)
and A.2 (α = 2) with noise t_ν of scale 2, where ν is 1.5 (no variance), 2.1, 3 or 5, or with Gaussian noise. N grows with the
paper's constant, or follows the data. Scores are not clipped, or clipped to ±10 (`clip`; the curves lie within ±6); where N follows
the data, its losses are then clipped too. The slope is that of the median of 15 errors, because the theorem holds in probability,
not for the mean. Writes heavy_tails.png, heavy_tails.json and heavy_tails.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from papers.plots import BLUE, GREEN, ORANGE, RED, SKY, key, panels, save
from papers.results import main
from papers.zhang_simon2021 import rates
from papers.zhang_simon2021.examples import FOURTH, SECOND, Draw, normal
from papers.zhang_simon2021.rates import CHECKPOINTS, FOLLOWING, GROWING, REPETITIONS

SCALE, CLIP = 2.0, 10.0
EXAMPLES = {"Example 2, α = 1": SECOND, "Example A.2, α = 2": FOURTH}
TAILS: dict[str, float] = {"t, ν = 1.5": 1.5, "t, ν = 2.1": 2.1, "t, ν = 3": 3.0, "t, ν = 5": 5.0, "Gaussian": np.inf}
COLOURS = dict(zip(TAILS, (RED, ORANGE, GREEN, SKY, BLUE), strict=True))
LEFT, HELD = "left alone", f"within ±{CLIP:g}"


def tailed(freedom: float) -> Draw:
    return normal(SCALE) if np.isinf(freedom) else lambda rng, rows: SCALE * rng.standard_t(freedom, rows)


def promised(smoothness: float, freedom: float) -> float:
    """The slope that the theorem promises, without the factor log n."""
    return max(-2.0 * smoothness / (2.0 * smoothness + 1.0), -1.0 + 1.0 / freedom)


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, tail in track([(name, tail) for name in EXAMPLES for tail in TAILS], console=Console(stderr=True)):
        example = replace(EXAMPLES[name], noise=tailed(TAILS[tail]))
        for way, learner in ((GROWING, example.growing), (FOLLOWING, example.following)):
            for held, clip in ((LEFT, None), (HELD, CLIP)):
                play = rates.learnt(replace(learner, clip=clip))
                paths = [play(example, seed) for seed in range(REPETITIONS)]
                found.setdefault(name, {}).setdefault(tail, {})[f"{way}, {held}"] = paths
    return found


def middle(paths: list[rates.Path]) -> Any:
    return np.median([path["error"] for path in paths], axis=0)


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, of in found.items():
        ways = list(next(iter(of.values())))
        yield f"| {name}: slope of the median error | promised | " + " | ".join(ways) + " |"
        yield "|---|--:" + "|--:" * len(ways) + "|"
        for tail, paths in of.items():
            cells = [f"{rates.slope(middle(paths[way])):.2f}" for way in ways]
            yield f"| {tail} | {promised(EXAMPLES[name].smoothness, TAILS[tail]):.2f} | " + " | ".join(cells) + " |"
        yield ""
        yield f"| {name}: error at {CHECKPOINTS[-1]:,}, median (mean) | " + " | ".join(ways) + " |"
        yield "|---" + "|--:" * len(ways) + "|"
        for tail, paths in of.items():
            cells = [f"{middle(paths[way])[-1]:.2g} ({rates.mean(paths[way])[-1]:.2g})" for way in ways]
            yield f"| {tail} | " + " | ".join(cells) + " |"
        yield ""


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.6, 8.0)
    for line, (name, of) in zip(axes, found.items(), strict=True):
        for one, way in zip(line, (GROWING, FOLLOWING), strict=True):
            for tail, colour in COLOURS.items():
                for held, dashes in ((LEFT, "-"), (HELD, "--")):
                    one.plot(CHECKPOINTS, middle(of[tail][f"{way}, {held}"]), dashes, color=colour, linewidth=1.6)
            one.set(
                xscale="log",
                yscale="log",
                xlabel="rows n",
                ylabel=f"median of {rates.ERROR}",
                xlim=(CHECKPOINTS[0], CHECKPOINTS[-1]),
            )
            one.set_title(f"{name}; {way}", loc="left", fontsize=10)
        low, high = np.array([one.get_ylim() for one in line]).T
        for one in line:
            one.set_ylim(low.min(), high.max())
    handles = [key(tail, colour) for tail, colour in COLOURS.items()]
    save(figure, path, [*handles, key("scores left alone", "0.3"), key(f"scores {HELD}", "0.3", "--")], 4)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
