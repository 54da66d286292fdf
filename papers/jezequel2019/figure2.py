"""Figures 2 and 4: average loss and time on cod-rna, SUSY, casp and ijcnn1, as the stream goes by.

    ONKEL_DATA=folder python -m papers.jezequel2019.figure2

All have λ = 1 and the width σ = 1 (4 for SUSY); KORS has μ = 1, β = 1, ε = 0.5. Solid lines are plain ridge regression
(Projected-KRR), which the paper ran on real data. Dashed lines are the AWV forecaster with the same features or points. ProsNKONS
has the square loss, α = 1, C = 1, η half of the curvature, and no limit on its points; FOGD has the square loss, 1,000 features and
the step 1/√n for a set of n rows. A learner stops when its time is used up (a cross ends its curve). A learner whose state would
take more than MOST_BYTES at the start is left out. SUSY is a sample of 30,000 rows. ijcnn1 is shown twice, scaled in two ways,
because the way of scaling matters.

Lines are one run each, in one order of the rows. Then the learners run again on ORDERS orders, of which the first is that of the
lines: all of them on the first FIRST rows, those of small state on all rows. Bands reach from the smallest to the largest loss. The
sign of a score is the same for AWV and ridge, so on sets of two classes only ridge runs in several orders. Writes figure2.png,
figure4.png, figure2.json and figure2.md.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scipy.stats import poisson

import onkel
from onkel.measure import mistakes, square
from papers.data import SEED, by_largest, by_range, load
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, key, panels, save
from papers.results import publish, spread

Array = NDArray[np.float64]
Result = dict[str, Any]

LAM = 1.0
KORS = onkel.Kors(mu=1.0, accuracy=0.5, oversampling=1.0)
FREQUENCIES = 500  # of FOGD: two features each
SECONDS = 60.0
ORDERS, FIRST = 5, 2048  # orders of the rows, and the rows that all learners learn in each order
SMALL = 2**20  # bytes: a bounded learner whose state is smaller learns all rows in each order
ROWS = 256  # between two looks at the clock
POINTS = 60  # of a curve
LOSS_TICKS = [0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5]
MOST_BYTES = 2**28
HERE = Path(__file__)


@dataclass(frozen=True)
class Task:
    name: str
    title: str
    figure: str
    data: str
    width: float = 1.0
    loss: str = "classification error"
    scale: Callable[[Array], Array] = by_range


@dataclass(frozen=True)
class Contender:
    name: str
    colour: str
    dashes: str
    make: Callable[[Task, int], Any]  # the task and its number of rows


TASKS = [
    Task("cod-rna", "cod-rna", "figure2", "cod-rna"),
    Task("susy30k", "SUSY", "figure2", "susy30k", width=4.0),
    Task("casp", "casp", "figure4", "casp", loss="square loss"),
    Task("ijcnn1", "ijcnn1", "figure4", "ijcnn1"),
    Task("ijcnn1-by-largest", "ijcnn1, scaled without a shift", "figure4", "ijcnn1", scale=by_largest),
]


def ridge(task: Task, rows: int) -> Any:
    return onkel.KernelRidge(onkel.Gaussian(task.width), LAM)


def taylor(degree: int, awv: bool) -> Callable[[Task, int], Any]:
    return lambda task, rows: onkel.PKAWV(onkel.Taylor(degree, task.width), LAM, awv)


def nystroem(awv: bool) -> Callable[[Task, int], Any]:
    return lambda task, rows: onkel.PKAWVNystroem(onkel.Gaussian(task.width), LAM, KORS, awv)


def pros_n_kons(task: Task, rows: int) -> Any:
    return onkel.ProsNKONS(
        onkel.Gaussian(task.width), onkel.Square(), alpha=LAM, clip=1.0, dictionary=KORS, restart=True, budget=None
    )


def fogd(task: Task, rows: int) -> Any:
    return onkel.FOGD(onkel.Fourier(FREQUENCIES, task.width), onkel.Square(), step=1.0 / math.sqrt(rows))


CONTENDERS = [
    Contender("exact kernel ridge", BLACK, "-", ridge),
    Contender("Taylor M = 2, ridge", RED, "-", taylor(2, False)),
    Contender("Taylor M = 2, AWV", RED, "--", taylor(2, True)),
    Contender("Taylor M = 3, ridge", ORANGE, "-", taylor(3, False)),
    Contender("Taylor M = 3, AWV", ORANGE, "--", taylor(3, True)),
    Contender("Taylor M = 4, ridge", GREEN, "-", taylor(4, False)),
    Contender("Taylor M = 4, AWV", GREEN, "--", taylor(4, True)),
    Contender("Nyström (KORS), ridge", BLUE, "-", nystroem(False)),
    Contender("Nyström (KORS), AWV", BLUE, "--", nystroem(True)),
    Contender("ProsNKONS", PINK, "-", pros_n_kons),
    Contender("FOGD", SKY, "-", fogd),
]


def run(task: Task, learner: Any, X: Array, y: Array, seconds: float, progress: Callable[[int], None]) -> Result:
    """One learner on one stream, until its end or the end of the seconds."""
    used = 0.0

    def blocks() -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(y), ROWS):
            if used < seconds:
                yield X[start : start + ROWS], y[start : start + ROWS]

    def note(rows: int, trace: onkel.Trace) -> None:
        nonlocal used
        used = trace.seconds
        progress(rows)

    metric = square if task.loss == "square loss" else mistakes
    trace = onkel.prequential(learner, blocks(), metrics={task.loss: metric}, progress=note)
    average, ends = trace.cumulative(task.loss), np.array(trace.rows_at)
    shown = np.unique(np.geomspace(1, len(ends), POINTS).round().astype(int)) - 1
    return {
        "learner": repr(learner),
        "rows": trace.rows,
        "finished": trace.rows == len(y),
        "loss": trace.mean(task.loss),
        "seconds": trace.seconds,
        "microseconds_a_row": 1e6 * trace.seconds / trace.rows,
        "size": size(learner, trace.state),
        "curve": {
            "rows": ends[shown].tolist(),
            "loss": average[ends[shown] - 1].round(5).tolist(),
            "seconds": np.array(trace.seconds_at)[shown].round(5).tolist(),
        },
        "average": average,
    }


def size(learner: Any, state: Any) -> int:
    """The number of features, or of points kept."""
    if isinstance(learner, onkel.PKAWV | onkel.FOGD):
        return int(learner.features.size(state.dim))  # type: ignore[union-attr]
    return len(state.span.points) if hasattr(state, "span") else int(state.rows)


def measure(task: Task, seconds: float, progress: Progress) -> Result:
    X, y = load(task.data, task.scale)
    results: dict[str, Result] = {}
    left_out: dict[str, int] = {}
    for contender in CONTENDERS:
        learner = contender.make(task, len(y))
        if learner.footprint(X.shape[1]) > MOST_BYTES:
            left_out[contender.name] = int(learner.features.size(X.shape[1]))
            continue
        bar = progress.add_task(f"{task.title}: {contender.name}", total=len(y))
        results[contender.name] = run(task, learner, X, y, seconds, lambda rows, bar=bar: progress.update(bar, completed=rows))  # type: ignore[misc]
        progress.remove_task(bar)
    common = min(result["rows"] for result in results.values())
    for result in results.values():
        result["loss_over_common_rows"] = float(result.pop("average")[common - 1])
    return {
        "rows": len(y), "columns": X.shape[1], "seconds": seconds, "common_rows": common, **background(task, X, y),
        "left_out": left_out, "learners": results,
    }  # fmt: skip


def in_orders(task: Task, orders: int, progress: Progress) -> Result:
    """The average loss of each learner after some numbers of rows, in several orders."""
    averages: dict[str, list[Array]] = {}
    for order in range(orders):
        X, y = load(task.data, task.scale, SEED + order)
        for contender in CONTENDERS:
            learner = contender.make(task, len(y))
            same = task.loss == "classification error" and getattr(learner, "awv", False)
            if same or learner.footprint(X.shape[1]) > MOST_BYTES:
                continue
            most = len(y) if learner.bounded and learner.footprint(X.shape[1]) <= SMALL else FIRST
            bar = progress.add_task(f"{task.title}, order {order + 1}: {contender.name}", total=most)
            moved = lambda rows, bar=bar: progress.update(bar, completed=rows)  # noqa: E731
            result = run(task, learner, X[:most], y[:most], math.inf, moved)
            progress.remove_task(bar)
            averages.setdefault(contender.name, []).append(result["average"])
    learners = {}
    for name, each in averages.items():
        last = len(each[0])
        shown = np.unique(np.append(np.geomspace(ROWS, last, POINTS).astype(int), [FIRST, last]))
        learners[name] = {"rows": shown.tolist(), "loss": [one[shown - 1].round(5).tolist() for one in each]}
    return {"orders": orders, "learners": learners}


def background(task: Task, X: Array, y: Array) -> Result:
    """The loss of the best constant, and the mean share of k(x, x) that the Taylor features carry: Σ z(x)² is the probability that
    a Poisson variable with the mean ‖x‖²/σ² is at most M."""
    constant = y.var() if task.loss == "square loss" else min(np.mean(y > 0.0), np.mean(y < 0.0))
    lengths = np.sum(X**2, axis=1) / task.width**2
    return {"best_constant": float(constant), "captured": {f"M = {M}": float(poisson.cdf(M, lengths).mean()) for M in (2, 3, 4)}}


def table(task: Task, found: Result) -> str:
    form = ".4f" if task.loss == "square loss" else ".2%"
    several = found["in_orders"]
    heads = f"{several['orders']} orders: the first {FIRST:,} rows | all rows"
    lines = [
        f"| {task.title}: {found['rows']:,} rows, d = {found['columns']} | features or points | rows | {task.loss} "
        f"| over the first {found['common_rows']:,} | {heads} | seconds | µs a row |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, of in found["learners"].items():
        rows = f"{of['rows']:,}" + ("" if of["finished"] else " (stopped)")
        cells = [f"{of['size']:,}", rows, f"{of['loss']:{form}}", f"{of['loss_over_common_rows']:{form}}"]
        cells += [losses(several, name, at, form) for at in (FIRST, found["rows"])]
        cells += [f"{of['seconds']:.2f}", f"{of['microseconds_a_row']:,.0f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [f"| {name} | {count:,} | left out | | | | | | |" for name, count in found["left_out"].items()]
    lines.append(f"| *the best constant in hindsight* | | {found['rows']:,} | {found['best_constant']:{form}} | | | | | |")
    return "\n".join(lines) + "\n"


def losses(several: Result, name: str, rows: int, form: str) -> str:
    """The mean, smallest and largest loss over the first rows; nothing if the learner did not come so far in all orders."""
    of = several["learners"].get(name)
    if of is None or rows not in of["rows"]:
        return ""
    at = of["rows"].index(rows)
    return spread([one[at] for one in of["loss"]], form)


def shares(found: dict[str, Result]) -> str:
    """How much of k(x, x) the Taylor features carry, mean over the rows."""
    tasks = [task for task in TASKS if task.name in found]
    lines = ["| share of k(x, x) | " + " | ".join(task.title for task in tasks) + " |", "|---" + "|--:" * len(tasks) + "|"]
    for M in ("M = 2", "M = 3", "M = 4"):
        each = " | ".join(f"{found[task.name]['captured'][M]:.1%}" for task in tasks)
        lines.append(f"| Taylor {M} | {each} |")
    return "\n".join(lines)


def draw(name: str, found: dict[str, Result]) -> None:
    tasks = [task for task in TASKS if task.figure == name and task.name in found]
    if not tasks:
        return
    figure, axes = panels(len(tasks), 2, 11.0, 0.8 + 3.6 * len(tasks))
    for (average, times), task in zip(axes, tasks, strict=True):
        of = found[task.name]
        for contender in CONTENDERS:
            if (one := of["learners"].get(contender.name)) is None:
                continue
            if (band := of["in_orders"]["learners"].get(contender.name)) is not None:
                ends = (f(band["loss"], axis=0) for f in (np.min, np.max))
                average.fill_between(band["rows"], *ends, color=contender.colour, alpha=0.15, linewidth=0)
            rows = one["curve"]["rows"]
            for panel, values in ((average, one["curve"]["loss"]), (times, one["curve"]["seconds"])):
                panel.plot(rows, values, color=contender.colour, linestyle=contender.dashes, linewidth=1.5)
                if not one["finished"]:
                    panel.plot(rows[-1], values[-1], color=contender.colour, marker="x", markersize=7, markeredgewidth=2)
        for panel in (average, times):
            panel.set(xscale="log", yscale="log", xlim=(ROWS, 1.1 * of["rows"]), xlabel="rows")
        average.yaxis.set_major_locator(FixedLocator(LOSS_TICKS))
        average.yaxis.set_minor_locator(NullLocator())
        if task.loss == "classification error":
            average.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        else:
            average.yaxis.set_major_formatter(ScalarFormatter())
        average.set_ylabel(f"average {task.loss} so far")
        average.set_title(f"{task.title}: loss", loc="left")
        times.set_ylabel("seconds")
        times.set_title(f"{task.title}: time", loc="left")
        if of["left_out"]:
            said = {f"{name.split(',')[0]} left out:\n{n:,} features" for name, n in of["left_out"].items()}
            times.text(0.02, 0.98, "\n".join(sorted(said)), transform=times.transAxes, va="top", fontsize=9, color="0.3")
    keys = [key(c.name, c.colour, c.dashes, 1.5) for c in CONTENDERS]
    keys.insert(1, Line2D([], [], color=BLACK, linestyle="", marker="x", markersize=7, markeredgewidth=2, label="out of time"))
    save(figure, HERE.with_name(f"{name}.png"), keys, 5)


def lines(found: dict[str, Result]) -> Iterator[str]:
    for task in TASKS:
        if task.name in found:
            yield table(task, found[task.name])
    yield shares(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for each learner and set (default: %(default)s; the paper: 300)"
    )
    parser.add_argument("--orders", type=int, default=ORDERS, help="orders of the rows (default: %(default)s)")
    parser.add_argument(
        "--only", nargs="+", choices=[task.name for task in TASKS], help="measure these sets, keep the others' results"
    )
    parser.add_argument("--only-orders", action="store_true", help="keep the long runs, measure the several orders again")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw figure2.json again")
    parser.add_argument(
        "--quick", action="store_true", help="one second for each learner, two orders; print the tables, write nothing"
    )
    options = parser.parse_args()
    file = HERE.with_suffix(".json")
    stored = not options.quick and (options.draw or options.only or options.only_orders) and file.is_file()
    found = json.loads(file.read_text(encoding="utf-8")) if stored else {}
    seconds, orders = (1.0, 2) if options.quick else (options.seconds, options.orders)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for task in TASKS:
            if not options.draw and (options.only is None or task.name in options.only):
                long = found[task.name] if options.only_orders else measure(task, seconds, progress)
                found[task.name] = long | {"in_orders": in_orders(task, orders, progress)}
                if not options.quick:
                    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.quick:
        print("\n".join(lines(found)))
        return
    for name in ("figure2", "figure4"):
        draw(name, found)
    publish(HERE, lines(found))


if __name__ == "__main__":
    main()
