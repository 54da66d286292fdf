"""Table 2 for FORKS with appendix H's grid of widths and its λ = 0.01, and with the one width of the authors' script.

    ONKEL_DATA=folder python -m papers.forks.widths

Appendix H states the widths 2^−5, 2^−4.5, …, 2^7 and λ = 0.01 for FORKS; it does not say how a width was chosen. Here a quarter of
the rows of each set, drawn once, is for the choice alone: the width with the fewest mistakes on it, the mean of three permutations.
The other three quarters are counted, in 20 permutations. All other settings are those of table2.py, for as many rows as are played.

Writes widths.json and widths.md; takes a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from papers.forks.contenders import Array, Played, forks, play
from papers.forks.table2 import SETS, permuted, publications, setting
from papers.forks.tables import SEEDS, UNCOUNTED, percent
from papers.results import main

POWERS = np.arange(-5.0, 7.01, 0.5)  # of 2
LAM = 0.01
SCRIPT = 50.0  # the width of the authors' script
SHARE = 0.25  # of the rows, for the choice
CHOICES = 3  # permutations for the choice


def learner(rows: int, width: float, seed: int) -> onkel.FORKS:
    made: onkel.FORKS = forks(replace(setting(rows), sketched_width=width), seed)
    return replace(made, lam=LAM)


def played(X: Array, y: Array, width: float, seed: int) -> Played:
    order = np.random.default_rng(seed).permutation(len(y))
    return play(learner(len(y), width, seed), X[order], y[order])


def of_set(name: str) -> dict[str, Any]:
    X, y = permuted(name)(UNCOUNTED)
    first = int(SHARE * len(y))
    widths = [float(2.0**power) for power in POWERS]
    tried = [float(np.mean([played(X[:first], y[:first], width, seed).rate for seed in range(CHOICES)])) for width in widths]
    chosen = widths[int(np.argmin(tried))]
    counted = {
        which: [played(X[first:], y[first:], width, seed) for seed in range(SEEDS)]
        for which, width in (("grid", chosen), ("script", SCRIPT))
    }
    return {
        "rows for the choice": first,
        "rows counted": len(y) - first,
        "tried": tried,
        "power": float(np.log2(chosen)),
        **{which: {"all": [one.rate for one in runs], "late": [one.late_rate for one in runs]} for which, runs in counted.items()},
    }


def measured() -> dict[str, Any]:
    return {name: of_set(name) for name in track(SETS, "widths", console=Console(stderr=True))}


def table(found: dict[str, Any]) -> Iterator[str]:
    yield "# FORKS in Table 2, with appendix H's grid of widths"
    yield ""
    yield "Written by `ONKEL_DATA=folder python -m papers.forks.widths`. Mistakes in percent, 20 permutations: mean ± deviation."
    yield "λ = 0.01. The width was chosen on a quarter of the rows, which is not counted."
    yield ""
    yield "| | published | after stage 1 | all rounds | width | after stage 1, width 50 | all rounds, width 50 |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, of in found.items():
        cells = [percent(of[which][part]) for which in ("grid", "script") for part in ("late", "all")]
        cells.insert(2, f"2^{of['power']:g}")
        yield f"| {name} | {publications(name)['FORKS']} | " + " | ".join(cells) + " |"
    yield ""


if __name__ == "__main__":
    main(__file__, measured, table)
