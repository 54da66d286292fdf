"""Results as text: a heading, and a table of errors and cost with the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from onkel.measure import Result, Trace
from onkel.report.page import lines, plain

LABELS_SHOWN = 6
SHARES = ("mistakes", "explained")  # metrics that are shown in per cent
LEVEL = "0.9"  # the level of the intervals whose coverage is in the table
# the square error is shown as its root, in the units of the target
HEADINGS = {
    "rmse": "rms error", "absolute": "absolute error", "explained": "explained", "mistakes": "mistakes", "log_loss": "log loss",
}  # fmt: skip


def heading(result: Result) -> str:
    """One line: the source, its rows and inputs, the task and the target."""
    wide = "" if result.columns == result.inputs else f" in {result.columns} columns"
    inputs = f"{result.inputs} input" + "s" * (result.inputs != 1)
    made = f"{result.rows:,} rows, {inputs}{wide}, {result.task} of {result.target}"
    if result.classes:
        some = ", ".join(map(str, result.classes[:LABELS_SHOWN]))
        made += f", {len(result.classes)} classes: {some}{', …' if len(result.classes) > LABELS_SHOWN else ''}"
    if result.lags:
        made += f"; the last {result.lags} labels are inputs too" if result.lags > 1 else "; the last label is an input too"
    earlier = f", after {result.earlier_rows:,} rows of earlier files" if result.earlier_rows else ""
    return f"{short(result.source)}{earlier}: {made}"


def short(name: str) -> str:
    """The name of a file without its folder; other names as they are."""
    return Path(name).name or name


def table(results: Mapping[str, Sequence[Result]], bold: str | None = None, compared: bool = False) -> Table:
    """One line per learner, with the mean and standard deviation over its results; then the baselines, in grey."""
    rows = {name: _cells(those, compared) for name, those in results.items()}
    first = next(iter(results.values()))[0]
    return lines(rows, {f"the {name}": errors_shown(means) for name, means in first.baselines.items()}, bold=bold)


def errors_shown(means: Mapping[str, float]) -> dict[str, str]:
    """Errors as text, by the headings of their columns."""
    return {title: number(name, means[name]) for name, title in HEADINGS.items() if name in means}


def _cells(results: Sequence[Result], compared: bool) -> dict[str, str]:
    errors = {
        title: _spread(name, [result.errors[name] for result in results])
        for name, title in HEADINGS.items() if name in results[0].errors
    }  # fmt: skip
    shares = [result.coverage[LEVEL] for result in results if result.coverage]
    within = {f"in {float(LEVEL):.0%} interval": f"{np.mean(shares):.1%}"} if shares else {}
    settings = {"lags": str(results[0].lags), "runs": str(len(results))} if compared else {}
    cost = {"µs a row": f"{microseconds_per_row(results):.1f}", "memory": memory(max(one.bytes for one in results))}
    return {**errors, **within, **settings, **cost}


def microseconds_per_row(results: Sequence[Result]) -> float:
    """The mean over all rows of all results."""
    return sum(result.microseconds_per_row * result.rows for result in results) / sum(result.rows for result in results)


def _spread(name: str, values: Sequence[float]) -> str:
    mean = number(name, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(name, float(np.std(values, ddof=1)))}"


def results(traces: Mapping[str, Trace], references: Mapping[str, Mapping[str, float]] | None = None) -> Table:
    """One line per learner: its error in each metric, its time and its memory; then the references, without time and memory."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    metrics = list(dict.fromkeys(metric for trace in traces.values() for metric in trace.losses))
    table.add_column("learner")
    for heading in [*metrics, "µs a row", "memory"]:
        table.add_column(plain(heading), justify="right")
    for name, trace in traces.items():
        summary = trace.summary()
        errors = [number(metric, trace.mean(metric)) for metric in metrics]
        table.add_row(plain(name), *errors, f"{summary['microseconds_per_row']:.1f}", memory(trace.nbytes))
    for name, means in (references or {}).items():
        table.add_row(plain(name), *[number(metric, means[metric]) for metric in metrics], "", "", style="dim")
    return table


def number(metric: str, value: float) -> str:
    return f"{value:.2%}" if metric in SHARES else f"{value:.4g}"


def memory(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MB" if nbytes >= 2**20 else f"{nbytes / 2**10:.1f} kB"
