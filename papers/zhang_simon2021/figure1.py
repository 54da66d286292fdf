"""Figure 1: errors after n rows, in the paper's first two examples.

The learners are least squares on N functions with the paper's constant c (N functions from ⌊cN^(2α+1)⌋ rows on), least squares with
an N that follows the data (no `rate`), functional SGD with the paper's steps, and kernel ridge regression with the paper's ridge up
to 3,162 rows. Errors are means over 15 streams, each on 1,000 fresh rows. The dotted line has the N that is best on the fresh rows,
which no learner knows. Example 2 is shown twice, because the 5 of Normal(0, 5) may be the variance or the deviation. Writes
figure1.png, figure1.json and figure1.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from papers.plots import BLACK, key, panels, save
from papers.results import main
from papers.zhang_simon2021 import rates
from papers.zhang_simon2021.examples import BROWNIAN, CIRCLE, FIRST, LARGER, LOUDER, SECOND, Example, descent
from papers.zhang_simon2021.rates import BEST, CHECKPOINTS, DESCENT, FOLLOWING, GROWING, REPETITIONS, RIDGE

MOST_RIDGE = 3_200  # rows of a kernel ridge regression
EXAMPLES: dict[str, tuple[Example, str, float]] = {
    "Example 1": (FIRST, "−4/5", -4.0 / 5.0),
    "Example 2, variance 5": (SECOND, "−2/3", -2.0 / 3.0),
    "Example 2, deviation 5": (LOUDER, "−2/3", -2.0 / 3.0),
}


def ways(example: Example) -> dict[str, rates.Way]:
    circle = CIRCLE, LARGER, 128.0, 1e-3, -4.0 / 5.0
    line = BROWNIAN, 1.0, 5.0, 0.1, -2.0 / 3.0
    kernel, larger, step, ridge, power = circle if example is FIRST else line
    return {
        GROWING: rates.learnt(example.growing),
        FOLLOWING: rates.learnt(example.following),
        BEST: rates.best_level(example.following.count),
        DESCENT: rates.learnt(descent(kernel, step / larger)),
        RIDGE: ridge_regression(kernel, larger, ridge, power),
    }


def ridge_regression(kernel: Any, larger: float, ridge: float, power: float) -> rates.Way:
    """λ = ridge · n^power, in units of the paper's kernel."""

    def path(example: Example, seed: int) -> rates.Path:
        (X, y), fresh, found = example.stream(CHECKPOINTS[-1], seed), example.fresh(seed), rates.Path(error=[])
        for n in CHECKPOINTS:
            if n <= MOST_RIDGE:
                K = kernel(X[:n], X[:n]) / larger
                coef = np.linalg.solve(K + ridge * n ** (1.0 + power) * np.eye(n), y[:n])
                found["error"].append(example.error(kernel(fresh, X[:n]) @ coef / larger, fresh))
        return found

    return path


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (example, _, _) in EXAMPLES.items():
        contenders = ways(example)
        for way in track(contenders, description=name, console=Console(stderr=True)):
            found.setdefault(name, {})[way] = [contenders[way](example, seed) for seed in range(REPETITIONS)]
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, of in found.items():
        yield from rates.table(name, of)
    for name, (_, _, rate) in EXAMPLES.items():
        yield from rates.claims(name, found[name], rate)


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, len(EXAMPLES), 10.6, 4.8)
    for one, (name, (_, said, rate)) in zip(axes[0], EXAMPLES.items(), strict=True):
        rates.plot(one, found[name], rate)
        one.set_title(f"{name}: slope {said}", loc="left", fontsize=10)
    save(figure, path, [*rates.keys(found["Example 1"]), key("the theory's slope", BLACK, "-", 1.2)], 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
