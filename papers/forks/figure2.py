"""Figures 2 and 4: error and time on a long stream (covtype instead of KuaiRec), for budgets B from 100 to 500, hinge and squared
hinge.

The paper used KuaiRec, which we could not get (`papers.forks.kuairec` would read it). We use covtype instead: 581,012 rows of 54
columns, with two classes, lodgepole pine and everything else. The 10 columns of numbers are standardised by the mean and deviation
of the rows up to and including each row, so nothing looks ahead; the 44 columns of 0 and 1 stay as they are. All rows are learnt,
in the order of the file, where most labels equal the one before, and permuted.

All learners have the width 4, with which FORKS has the fewest mistakes on the first 60,000 permuted rows (last table). Sizes are
those of Table 2: s_p = B, s_m = 0.2B, k = 0.1B, a buffer of 2B, θ = 0.3. FORKS is also run with an update every 0.003N rounds. FOGD
has D = 4B frequencies. A step of 0.2 on features without the factor 1/√D is a step of 0.2D on onkel's features; with the hinge loss
the steps 0.2 and 0.2D are both shown. With the squared hinge a step of 0.2D diverges. ProsNKONS takes at most 100 points. BOGD is
for the hinge; RBP and BPAS have rules of their own.

Time is processor time of one thread. Every mistake counts. Points are means over the seeds, bars reach from the smallest to the
largest. The script takes 16 minutes. Writes figure2.png, figure4.png, figure2.json and figure2.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from rich.console import Console
from rich.progress import track

import onkel
from onkel.losses import Loss
from onkel.measure.regret import embed
from papers.data import raw
from papers.forks.contenders import FREQUENCIES, PAPER, STEP, Array, Setting, last_label, majority, play
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save, ticks
from papers.results import keep, kept, publish

BUDGETS = [100, 200, 300, 400, 500]
WIDTH, WIDTHS, ROWS_FOR_WIDTH = 4.0, [0.5, 1.0, 2.0, 4.0, 8.0], 60_000
NUMBERS = 10  # columns of numbers; all others are 0 or 1
SEEDS = 3
THETA, OFTEN = 0.3, 0.003
SECONDS_TICKS = [0.5, 1, 2, 5, 10, 20]
WARM_UP = 20_000  # rows, so that nothing is compiled later
HINGE = "hinge"
LOSSES: dict[str, Loss] = {HINGE: onkel.Hinge(), "squared hinge": onkel.SquaredHinge()}
REFERENCES = {"the more frequent label": (majority, "0.45"), "the last label": (last_label, "0.7")}
Learner = Callable[[Setting, int], Any]


def short_fogd(at: Setting, seed: int) -> Any:
    """The step of the others, for features of unit length."""
    return onkel.FOGD(onkel.Fourier(FREQUENCIES * at.budget, at.width, seed), at.loss, STEP)


@dataclass(frozen=True)
class Line:
    make: Learner
    colour: str
    marker: str
    dashes: str = "-"
    seeds: int = 1  # one seed is enough for learners without random draws, and for FOGD, which makes many
    theta: float = THETA
    hinge_only: bool = False
    budgets: tuple[int, ...] = tuple(BUDGETS)


FORKS, OFTEN_FORKS, PROS_N_KONS = "FORKS", f"FORKS, θ = {OFTEN:g}", "ProsNKONS"
LINES = {
    "RBP": Line(PAPER["RBP"], PINK, "v", "--", SEEDS, hinge_only=True),
    "BPAS": Line(PAPER["BPAS"], PINK, "^", hinge_only=True),
    "BOGD": Line(PAPER["BOGD"], ORANGE, "s", seeds=SEEDS, hinge_only=True),
    "NOGD": Line(PAPER["NOGD"], GREEN, "D"),
    "FOGD, step 0.2D": Line(PAPER["FOGD"], SKY, "<", "--", hinge_only=True),
    "FOGD, step 0.2": Line(short_fogd, SKY, ">"),
    "SkeGD": Line(PAPER["SkeGD"], BLUE, "P", seeds=SEEDS),
    PROS_N_KONS: Line(PAPER["ProsNKONS"], BLACK, "*", seeds=SEEDS, budgets=(100,)),
    FORKS: Line(PAPER["FORKS"], RED, "o", seeds=SEEDS),
    OFTEN_FORKS: Line(PAPER["FORKS"], RED, "o", "--", SEEDS, OFTEN),
}


def setting(line: Line, rows: int, budget: int, loss: Loss, width: float = WIDTH) -> Setting:
    return Setting(rows, budget, int(line.theta * rows), width=width, sketched_width=width, loss=loss)


def standardised(X: Array) -> Array:
    numbers = np.ascontiguousarray(X[:, :NUMBERS])
    return np.hstack([embed(onkel.Standardize(), numbers), X[:, NUMBERS:]])


def streams() -> dict[str, tuple[Array, Array]]:
    X, y = raw("covtype")
    order = np.random.default_rng(0).permutation(len(y))
    return {"order of the file": (standardised(X), y), "permuted": (standardised(X[order]), y[order])}


def measured() -> dict[str, Any]:
    given = streams()
    jobs = [
        (stream, loss, name, budget, seed)
        for stream in given
        for loss in LOSSES
        for name, line in LINES.items()
        if loss == HINGE or not line.hinge_only
        for seed in range(line.seeds)
        for budget in line.budgets
    ]
    found: dict[str, Any] = {"rows": len(given["permuted"][1]), "references": {}, "streams": {}, "widths": {}}
    for stream, (X, y) in given.items():
        found["references"][stream] = {name: reference(X, y).rate for name, (reference, _) in REFERENCES.items()}
        found["streams"][stream] = {loss: {} for loss in LOSSES}
    X, y = (part[:ROWS_FOR_WIDTH] for part in given["permuted"])
    for name, line in LINES.items():
        learners = [line.make(setting(line, len(y), BUDGETS[0], LOSSES[HINGE], width), 0) for width in WIDTHS]
        found["widths"][name] = [play(learner, X, y).rate for learner in learners]
    for stream, loss, name, budget, seed in track(jobs, console=Console(stderr=True)):
        X, y = given[stream]
        learner = LINES[name].make(setting(LINES[name], len(y), budget, LOSSES[loss]), seed)
        if seed == 0:
            play(learner, X[:WARM_UP], y[:WARM_UP])
        played = play(learner, X, y)
        of = found["streams"][stream][loss].setdefault(name, {}).setdefault(str(budget), [])
        of.append({"error": played.rate, "seconds": played.seconds})
    return found


def values(of: dict[str, list[dict[str, float]]], part: str) -> Array:
    """One row a budget, one column a seed."""
    return np.array([[one[part] for one in runs] for runs in of.values()])


def table(found: dict[str, Any]) -> Iterator[str]:
    for stream, of in found["streams"].items():
        for loss, lines in of.items():
            yield f"| {stream}, {loss}: mistakes (seconds), B = | " + " | ".join(f"{budget}" for budget in BUDGETS) + " |"
            yield "|---" + "|--:" * len(BUDGETS) + "|"
            for name, runs in lines.items():
                error, seconds = values(runs, "error").mean(axis=1), values(runs, "seconds").mean(axis=1)
                cells = [f"{e:.2%} ({s:.2f})" for e, s in zip(error, seconds, strict=True)]
                yield f"| {name} | " + " | ".join(cells + [""] * (len(BUDGETS) - len(cells))) + " |"
            for name, rate in found["references"][stream].items():
                yield f"| *{name}* | {rate:.2%}" + " |" * len(BUDGETS)
            yield ""
    yield from claims(found)
    yield ""
    head = f"mistakes, the first {ROWS_FOR_WIDTH:,} permuted rows, hinge, B = {BUDGETS[0]}, width ="
    yield f"| {head} | " + " | ".join(f"{width:g}" for width in WIDTHS) + " |"
    yield "|---" + "|--:" * len(WIDTHS) + "|"
    for name, rates in found["widths"].items():
        yield f"| {name} | " + " | ".join(f"{rate:.2%}" for rate in rates) + " |"


def claims(found: dict[str, Any]) -> Iterator[str]:
    for stream, of in found["streams"].items():
        for loss, lines in of.items():
            best = {name: float(values(runs, "error").mean(axis=1).min()) for name, runs in lines.items()}
            ranked = sorted(best, key=lambda name: best[name])
            told = f"FORKS has rank {ranked.index(FORKS) + 1} of {len(ranked)}"
            yield f"- {stream}, {loss}: the lowest error is that of {ranked[0]}, {best[ranked[0]]:.2%}; {told}."
            yield f"- {stream}, {loss}: {_beside_pros_n_kons(lines)}."


def _beside_pros_n_kons(lines: dict[str, Any]) -> str:
    """The smallest budget and the time with which FORKS reaches the error of ProsNKONS."""
    [[rival], [time]] = (values(lines[PROS_N_KONS], part).mean(axis=1) for part in ("error", "seconds"))
    errors, seconds = (values(lines[FORKS], part).mean(axis=1) for part in ("error", "seconds"))
    enough = np.flatnonzero(errors <= rival)
    i = int(enough[0]) if len(enough) else -1
    verb = "reaches" if len(enough) else "does not reach"
    ours = f"at B = {BUDGETS[i]} FORKS has {errors[i]:.2%} in {seconds[i]:.2f} seconds"
    theirs = f"ProsNKONS {rival:.2%} in {time:.2f}, {time / seconds[i]:.1f} times as long"
    return f"FORKS {verb} the error of ProsNKONS: {ours}, {theirs}"


def drawn(panel: Any, line: Line, x: Array, y: Array, spread: Array | None = None) -> None:
    """Draw the means of y against the means of x, with bars for the spread of y."""
    bars = None if spread is None else np.abs([spread.min(axis=1) - y, spread.max(axis=1) - y])
    panel.errorbar(x, y, bars, color=line.colour, linestyle=line.dashes, marker=line.marker, markersize=6, linewidth=1.5, capsize=2)


def referred(panel: Any, rates: dict[str, float]) -> None:
    for name, (_, colour) in REFERENCES.items():
        panel.axhline(100.0 * rates[name], color=colour, linestyle=":", linewidth=2.0)


def handles(lines: list[str]) -> list[Line2D]:
    keys = [key(name, LINES[name].colour, LINES[name].dashes) for name in lines]
    for name, one in zip(lines, keys, strict=True):
        one.set_marker(LINES[name].marker)
    return keys + [key(name, colour, ":", 2.0) for name, (_, colour) in REFERENCES.items()]


def draw_tradeoff(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(len(found["streams"]), len(LOSSES), 11.0, 9.4)
    for row, (stream, of) in zip(axes, found["streams"].items(), strict=True):
        for panel, (loss, lines) in zip(row, of.items(), strict=True):
            for name, runs in lines.items():
                errors = 100.0 * values(runs, "error")
                drawn(panel, LINES[name], values(runs, "seconds").mean(axis=1), errors.mean(axis=1), errors)
            referred(panel, found["references"][stream])
            panel.set(xscale="log", ylim=(0.0, 52.0), xlabel="seconds for the whole stream", ylabel="mistakes, % of all rounds")
            ticks(panel.xaxis, SECONDS_TICKS, "g")
            panel.set_title(f"{stream}, {loss}", loc="left")
    save(figure, path, handles(list(LINES)), 4)


def draw_by_budget(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(len(found["streams"]), 2, 11.0, 9.4)
    for (error, time), (stream, of) in zip(axes, found["streams"].items(), strict=True):
        for name, runs in of[HINGE].items():
            line, errors, seconds = LINES[name], 100.0 * values(runs, "error"), values(runs, "seconds").mean(axis=1)
            if name == PROS_N_KONS:  # it has a budget of its own
                for panel, level in ((error, errors.mean()), (time, seconds[0])):
                    panel.axhline(level, color=line.colour, linestyle="-.", linewidth=1.5)
                continue
            drawn(error, line, np.array(line.budgets), errors.mean(axis=1), errors)
            drawn(time, line, np.array(line.budgets), seconds)
        referred(error, found["references"][stream])
        error.set(ylim=(0.0, 52.0), xlabel="budget B", ylabel="mistakes, % of all rounds")
        time.set(yscale="log", xlabel="budget B", ylabel="seconds for the whole stream")
        ticks(time.yaxis, SECONDS_TICKS, "g")
        for panel in (error, time):
            panel.set_xticks(BUDGETS)
        error.set_title(f"{stream}, hinge: error", loc="left")
        time.set_title(f"{stream}, hinge: time", loc="left")
    lines = [name for name in LINES if name != PROS_N_KONS]
    save(figure, path, [*handles(lines), key(PROS_N_KONS, BLACK, "-.")], 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw figure2.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        keep(here, measured())
    found = kept(here)
    draw_tradeoff(found, here.with_suffix(".png"))
    draw_by_budget(found, here.with_name("figure4.png"))
    publish(here, table(found))


if __name__ == "__main__":
    main()
