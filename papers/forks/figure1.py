"""Figure 1: how much time TISVD saves, and how much accuracy it costs, on cod-rna, for periods ⌊θN⌋ between updates, θ = 0.5 to
0.0005.

The sketch can be decomposed in three ways: by TISVD (truncated incremental SVD) at every update, as in the paper; by TISVD, but
with the exact decomposition at every 50th update, as in `onkel.FORKS`; or by the exact decomposition at every update. Sizes are
first those of Table 2 with B = 100 (a sketch of s_p = 100 columns, s_m = 20 landmarks, k = 10), then four times as large, so that
the decomposition takes more of the time. As in Table 2 rows are permuted, inputs are unscaled and the width is 50. Points are means
over the permutations, bars reach from the smallest to the largest.

"Updates" is the time spent where a point joins the sketch: kernel values to all sketched points, both sketches, the decomposition,
and the pseudo-inverse of Φ_pm, which no way of decomposing Φ_pp saves. Time is processor time of one thread. All mistakes count.
The script takes eight minutes. Writes figure1.png, figure1.json and figure1.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track

from onkel.features import sketch
from onkel.linalg.eigen import leading, updated
from papers.data import raw
from papers.forks.contenders import Array, Setting, forks, last_label, majority, play
from papers.plots import BLUE, GREEN, RED, key, panels, save, ticks
from papers.results import main, spread

THETAS = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005]
TICKS = [0.5, 0.1, 0.02, 0.005, 0.001]
PERMUTATIONS = {100: 10, 400: 3}  # for each B
BUDGETS = list(PERMUTATIONS)
WARM_UP = 5000  # rows, so that nothing is compiled later
NEVER = 10**9
WAYS = {  # name -> updates from one exact decomposition to the next, colour, dashes
    "TISVD, as in the paper": (NEVER, BLUE, "-"),
    "TISVD, exact every 50th time (onkel.FORKS)": (sketch.UPDATES_TO_REBUILD, GREEN, "--"),
    "exact at every update": (1, RED, "-."),
}
REFERENCES = {"the more frequent label": (majority, "0.45", ":"), "the last label": (last_label, "0.7", ":")}


class Stopwatch:
    """The processor time spent in the functions that it watches."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watched(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            before = time.thread_time()
            result = work(*given)
            self.seconds += time.thread_time() - before
            return result

        return timed


@contextmanager
def decomposing(updates_to_rebuild: int) -> Iterator[tuple[Stopwatch, Stopwatch]]:
    """FORKS with another rule for its decompositions; the time of its updates, and of decompositions alone."""
    updates, decompositions = Stopwatch(), Stopwatch()
    with ExitStack() as changed:
        changed.enter_context(patch.object(sketch, "UPDATES_TO_REBUILD", updates_to_rebuild))
        changed.enter_context(patch.object(sketch, "leading", decompositions.watched(leading)))
        changed.enter_context(patch.object(sketch, "updated", decompositions.watched(updated)))
        changed.enter_context(patch.object(sketch.Sketching, "join", updates.watched(sketch.Sketching.join)))
        yield updates, decompositions


def setting(rows: int, budget: int, theta: float) -> Setting:
    return Setting(rows=rows, budget=budget, period=int(theta * rows))


def run(X: Array, y: Array, budget: int, theta: float, updates_to_rebuild: int, seed: int) -> dict[str, Any]:
    with decomposing(updates_to_rebuild) as (updates, decompositions):
        played = play(forks(setting(len(y), budget, theta), seed), X, y)
    return {
        "error": played.rate,
        "seconds": played.seconds or 0.0,
        "updates": updates.seconds,
        "decompositions": decompositions.seconds,
    }


def measured() -> dict[str, Any]:
    X, y = raw("cod-rna")
    jobs = [(budget, seed) for budget, permutations in PERMUTATIONS.items() for seed in range(permutations)]
    found: dict[str, Any] = {"rows": len(y), "references": {name: [] for name in REFERENCES}}
    found |= {str(budget): {way: {str(theta): [] for theta in THETAS} for way in WAYS} for budget in BUDGETS}
    for budget, seed in track(jobs, console=Console(stderr=True)):
        order = np.random.default_rng(seed).permutation(len(y))
        Xp, yp = X[order], y[order]
        if seed == 0:
            run(Xp[:WARM_UP], yp[:WARM_UP], budget, 0.01, 2, seed)
        if budget == BUDGETS[0]:
            for name, (reference, *_) in REFERENCES.items():
                found["references"][name].append(reference(Xp, yp).rate)
        for theta in THETAS:  # ways take turns, so that a busy machine slows them alike
            for way, (updates_to_rebuild, *_) in WAYS.items():
                found[str(budget)][way][str(theta)].append(run(Xp, yp, budget, theta, updates_to_rebuild, seed))
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    rows = found["rows"]
    for budget in BUDGETS:
        at = setting(rows, budget, THETAS[-1]).sketching
        sizes = f"s_p = {at['sketch']}, s_m = {at['landmarks']}, k = {at['rank']}, a buffer of {at['buffer']} points"
        yield f"B = {budget}: {sizes}; {PERMUTATIONS[budget]} permutations."
        yield ""
        for part, form in (("error", ".2%"), ("seconds", ".2f"), ("updates", ".2f")):
            title = {"error": "mistakes", "seconds": "seconds", "updates": "of them in updates"}[part]
            yield f"| {title}, θ = | " + " | ".join(f"{theta:g}" for theta in THETAS) + " |"
            yield "|---" + "|--:" * len(THETAS) + "|"
            for way, of in found[str(budget)].items():
                cells = [f"{np.mean([one[part] for one in of[str(theta)]]):{form}}" for theta in THETAS]
                yield f"| {way} | " + " | ".join(cells) + " |"
            yield ""
    yield f"Microseconds of one update, at θ = {THETAS[-1]:g}:"
    yield ""
    yield "| | " + " | ".join(f"B = {budget}: update | of it the decomposition" for budget in BUDGETS) + " |"
    yield "|---" + "|--:" * (2 * len(BUDGETS)) + "|"
    updates = (rows - 1) // setting(rows, BUDGETS[0], THETAS[-1]).period
    for way in WAYS:
        each = [[found[str(budget)][way][str(THETAS[-1])], part] for budget in BUDGETS for part in ("updates", "decompositions")]
        yield f"| {way} | " + " | ".join(f"{1e6 * np.mean([one[part] for one in of]) / updates:,.0f}" for of, part in each) + " |"
    yield ""
    for name, rates in found["references"].items():
        yield f"- {name}: {spread(rates, '.2%')}"
    yield from differences(found)


def differences(found: dict[str, Any]) -> Iterator[str]:
    """The error with each of the two forms of TISVD, minus that with the exact decomposition, on the same permutation."""
    *truncated, exact = WAYS
    for budget in BUDGETS:
        of = found[str(budget)]
        for way in truncated:
            pairs = [zip(of[way][theta], of[exact][theta], strict=True) for theta in of[way]]
            apart = 100.0 * np.array([[a["error"] - b["error"] for a, b in each] for each in pairs])
            means, single = apart.mean(axis=1), np.abs(apart).max()
            told = f"{means.min():+.2f} to {means.max():+.2f} points in the mean, and at most {single:.2f} in one permutation"
            yield f"- B = {budget}, {way}: its error minus that of the exact decomposition is {told}"


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(len(BUDGETS), 3, 12.0, 7.6)
    for row, budget in zip(axes, BUDGETS, strict=True):
        at = setting(found["rows"], budget, THETAS[-1]).sketching
        for way, (_, colour, dashes) in WAYS.items():
            of = [found[str(budget)][way][str(theta)] for theta in THETAS]
            for panel, part, scale in zip(row, ("error", "seconds", "updates"), (100.0, 1.0, 1.0), strict=True):
                values = scale * np.array([[one[part] for one in each] for each in of])
                mean = values.mean(axis=1)
                bars = np.abs([values.min(axis=1) - mean, values.max(axis=1) - mean])
                panel.errorbar(THETAS, mean, bars, linestyle=dashes, color=colour, linewidth=1.8, capsize=2, marker=".")
        for name, (_, colour, dashes) in REFERENCES.items():
            row[0].axhline(100.0 * np.mean(found["references"][name]), color=colour, linestyle=dashes, linewidth=1.8)
        for panel in row:
            panel.set(xscale="log", xlabel="θ (an update every θN rounds)")
            ticks(panel.xaxis, TICKS, "g")
        row[0].set(ylim=(0.0, 47.0), ylabel="mistakes, % of all rounds")
        row[1].set(yscale="log", ylabel="seconds, all in all")
        row[2].set(yscale="log", ylabel="seconds in updates")
        row[0].set_title(f"s_p = {at['sketch']}, s_m = {at['landmarks']}, k = {at['rank']}", loc="left")
    keys = [key(name, colour, dashes) for name, (_, colour, dashes) in (WAYS | REFERENCES).items()]
    save(figure, path, keys, 3)


if __name__ == "__main__":
    main(__file__, measured, table, draw)
