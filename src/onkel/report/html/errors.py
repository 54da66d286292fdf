"""Error over time, and all metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onkel._types import Vector
from onkel.measure import Result
from onkel.measure.metrics import R2, Explained, curve_of_losses, metrics_for
from onkel.report.html.chart import Chart, Line, figure
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, element, joined, table, text
from onkel.report.html.ticks import shown
from onkel.report.results import SHARES, counted, memory, microseconds_per_row, written

BASELINES = ("mean", "last")  # the roles of the two baselines


def over_time(contents: Contents) -> Section | None:
    result = contents.main
    if result.rows == 1:
        return None
    curve, metric = result.curve, contents.metric
    windows, so_far = _lines(contents)
    marks = [(float(change.row), "" if k else "changed") for k, change in enumerate(result.changes)]
    unit = "" if metric.name in SHARES else f" (units of {result.target})"
    size = counted(int(curve.rows.max()), "row")
    share = metric.name in SHARES
    first = Chart(
        "error-windows", "In windows along the stream", _said(windows, share, result), curve.ends, "rows of the stream",
        f"{metric.title}{unit}", windows, share=share, marks=marks, height=340,
    )  # fmt: skip
    second = Chart(
        "error-so-far", "Over all rows so far", _said(so_far, share, result), curve.ends, "rows of the stream",
        f"{metric.title}{unit}", so_far, share=share, marks=marks, height=260,
    )  # fmt: skip
    intro = f"Each point of the first chart is taken over a window of {size}, each of the second over all rows up to there."
    if len(contents.runs) > 1 and max(map(len, contents.runs.values())) > 1:
        intro += " Curves are those of the first run of each learner."
    if contents.peers:
        intro += f" {' and '.join(contents.peers)} met the same rows in the same order."
    body = joined(
        [
            element("p", intro), figure(first), figure(second), _changes(result), element("h3", "All metrics"),
            all_metrics(contents), *_on_metrics(result),
        ]
    )  # fmt: skip
    return Section("error", "Error over time", body)


def _lines(contents: Contents) -> tuple[list[Line], list[Line]]:
    """The lines in windows, and those over all rows so far: learners, those of other libraries, baselines."""
    metric, roles = contents.metric, contents.roles
    windows: list[Line] = []
    so_far: list[Line] = []

    def add(name: str, role: str, value: float, both: tuple[Vector, Vector], leads: bool = True) -> None:
        for lines, y in zip((windows, so_far), both, strict=True):
            lines.append(Line(name, y, role, shown(metric.name, value), leads))

    for name, result in contents.results.items():
        curve = result.curve
        add(name, roles[name], result.errors[metric.name], (curve.values[metric.name], curve.cumulative[metric.name]))
    main = contents.main
    for name, peer in contents.peers.items():
        both = curve_of_losses(peer.losses, main.curve)
        add(name, roles[name], float(both[1][-1]), both)
    for role, (name, means) in zip(BASELINES, main.baselines.items(), strict=False):
        add(f"the {name}", role, means[metric.name], (main.curve.baselines[name], main.curve.cumulative[name]), leads=False)
    return windows, so_far


def _said(lines: Sequence[Line], share: bool, result: Result) -> str:
    """The range of each line in words."""
    parts, leading = [], [line for line in lines if line.leads and np.isfinite(line.y).any()]
    for line in leading:
        there = line.y[np.isfinite(line.y)]
        first, last, largest = (written(float(value), share) for value in (there[0], there[-1], there.max()))
        several = len(leading) > 2
        parts.append(
            f"{line.name} ends at {last}" if several else f"{line.name} begins at {first}, ends at {last}, at most {largest}"
        )
    changed = f" The stream changed at {counted(len(result.changes), 'place')} (dotted)." if result.changes else ""
    return "; ".join(parts) + "." + changed if parts else "There are no values."


def _changes(result: Result) -> Html:
    if not result.changes:
        return text("")
    metric = "absolute error" if result.task == "regression" else "mistakes"
    name = "mae" if result.task == "regression" else "mistakes"
    rows = [(f"{one.row:,}", shown(name, one.before), shown(name, one.after)) for one in result.changes]
    made = table("Where the stream changed", ["about row", f"{metric} before", f"{metric} after"], rows, (1, 2))
    return joined([element("h3", "Where the stream changed"), made])


def all_metrics(contents: Contents) -> Html:
    """One row for each metric, one column for each learner and baseline, then time and memory."""
    main = contents.main
    known = [metric for metric in metrics_for(main.task) if any(_is_known(one, metric.name) for one in contents.results.values())]
    headings = ["", *contents.runs, *contents.peers, *(f"the {name}" for name in main.baselines)]
    rows: list[list[str]] = []
    for metric in known:
        own = [_spread(metric.name, [one.errors.get(metric.name, math.nan) for one in those]) for those in contents.runs.values()]
        of_peers = [_of_peer(contents, name, metric.name) for name in contents.peers]
        guesses = [_spread(metric.name, [means.get(metric.name, math.nan)]) for means in main.baselines.values()]
        rows.append([metric.title, *own, *of_peers, *guesses])
    none = ["–"] * len(main.baselines)
    times = [_time(microseconds_per_row(those)) for those in contents.runs.values()]
    sizes = [memory(max(one.bytes for one in those)) for those in contents.runs.values()]
    peers = contents.peers.values()
    rows.append(["µs a row", *times, *(_time(peer.microseconds_per_row) for peer in peers), *none])
    rows.append(["memory", *sizes, *("–" if peer.bytes is None else memory(peer.bytes) for peer in peers), *none])
    if len(contents.runs) + len(contents.peers) > 2:  # many learners and their long names fit better below each other
        headings, *rows = (list(column) for column in zip(headings, *rows, strict=True))
    runs = max(map(len, contents.runs.values()))
    caption = "All metrics over all rows" + (f", mean ± standard deviation of {runs} runs" if runs > 1 else "")
    return table(caption, headings, rows, numeric=range(1, len(headings)), shown=runs > 1)


def _on_metrics(result: Result) -> list[Html]:
    """Why two metrics that look alike differ."""
    if not (_is_known(result, Explained.name) and _is_known(result, R2.name)):
        return []
    said = (
        "Explained and R² both say which share of the square error of a mean is gone: explained of the mean of the labels so far, "
        "R² of the mean of all labels, which is only known afterwards."
    )
    return [element("p", said, cls="small")]


def _is_known(result: Result, metric: str) -> bool:
    return math.isfinite(result.errors.get(metric, math.nan))


def _spread(metric: str, values: Sequence[float]) -> str:
    there = [value for value in values if math.isfinite(value)]
    if not there:
        return "–"
    mean = shown(metric, float(np.mean(there)))
    return mean if len(there) == 1 else f"{mean} ± {shown(metric, float(np.std(there, ddof=1)))}"


def _of_peer(contents: Contents, name: str, metric: str) -> str:
    """Of other learners only the losses are known, and so the metric that is made of them."""
    if metric != contents.metric.name:
        return "–"
    return shown(metric, contents.error_of(name))


def _time(each: float | None) -> str:
    return "–" if each is None else f"{each:,.1f}"
