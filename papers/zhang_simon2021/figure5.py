"""Figure 5: errors after n rows, in the paper's two additional examples, whose curves need not begin at 0 or be periodic.

As in Figure 1 there are N functions with the paper's constant, an N that follows the data, and the best N in hindsight. Errors are
means over 15 streams, each on 1,000 fresh rows. Writes figure5.png, figure5.json and figure5.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from papers.plots import BLACK, key, panels, save
from papers.results import main
from papers.zhang_simon2021 import rates
from papers.zhang_simon2021.examples import FOURTH, THIRD, Example
from papers.zhang_simon2021.rates import BEST, FOLLOWING, GROWING, REPETITIONS

EXAMPLES: dict[str, tuple[Example, str, float]] = {
    "Example A.1": (THIRD, "−2/3", -2.0 / 3.0),
    "Example A.2": (FOURTH, "−4/5", -4.0 / 5.0),
}


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (example, _, _) in EXAMPLES.items():
        learners = {GROWING: rates.learnt(example.growing), FOLLOWING: rates.learnt(example.following)}
        ways = learners | {BEST: rates.best_level(example.following.count)}
        for way in track(ways, description=name, console=Console(stderr=True)):
            found.setdefault(name, {})[way] = [ways[way](example, seed) for seed in range(REPETITIONS)]
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, of in found.items():
        yield from rates.table(name, of)
    for name, (_, _, rate) in EXAMPLES.items():
        yield from rates.claims(name, found[name], rate)


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, 2, 9.6, 5.0)
    for one, (name, (_, said, rate)) in zip(axes[0], EXAMPLES.items(), strict=True):
        rates.plot(one, found[name], rate)
        one.set_title(f"{name}: slope {said}", loc="left")
    save(figure, path, [*rates.keys(found["Example A.1"]), key("the theory's slope", BLACK, "-", 1.2)], 2)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
