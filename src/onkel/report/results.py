"""Results as text: a heading, and a table of errors and cost with the baselines."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from onkel.measure import Result, Trace
from onkel.measure.metrics import AUC, F1, MAE, RMSE, Explained, LogLoss, Metric, Mistakes
from onkel.report.page import lines, plain

LABELS_SHOWN = 6
SHARES = ("mistakes", "explained", "accuracy", "balanced_accuracy", "mape")  # metrics that are shown in per cent
AT_MOST_1 = ("r2", "f1", "auc")  # metrics that are shown with four decimals
LEVEL = "0.9"  # the level of the intervals whose coverage is in the table
SMALLEST_WRITTEN, LARGEST_WRITTEN = 1e-4, 1e12  # numbers that are written without a power of ten
CHANGES_SHOWN = 4  # more are only counted
SHOWN: tuple[Metric, ...] = (
    RMSE(),
    MAE(),
    Explained(),
    Mistakes(),
    LogLoss(),
    F1(),
    AUC(),
)  # the columns of a table, unless others are asked for


def heading(result: Result) -> str:
    """One line: the source, its rows and inputs, the task and the target."""
    wide = "" if result.columns == result.inputs else f" in {result.columns} columns"
    made = f"{counted(result.rows, 'row')}, {counted(result.inputs, 'input')}{wide}, {result.task} of {result.target}"
    if result.classes:
        some, kinds = ", ".join(map(str, result.classes[:LABELS_SHOWN])), "class" if len(result.classes) == 1 else "classes"
        made += f", {len(result.classes)} {kinds}: {some}{', …' if len(result.classes) > LABELS_SHOWN else ''}"
    if result.lags:
        made += f"; the last {result.lags} labels are inputs too" if result.lags > 1 else "; the last label is an input too"
    earlier = f", after {counted(result.earlier_rows, 'row')} of earlier files" if result.earlier_rows else ""
    return f"{short(result.source)}{earlier}: {made}"


def short(name: str) -> str:
    """The name of a file without its folder; other names as they are."""
    return Path(name).name or name


def counted(number: int, thing: str) -> str:
    """1 row, 2,000 rows."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def table(
    results: Mapping[str, Sequence[Result]], bold: str | None = None, compared: bool = False, metrics: Sequence[Metric] = SHOWN
) -> Table:
    """One line per learner, with the mean and standard deviation over its results; then the baselines, in grey."""
    rows = {name: _cells(those, compared, metrics) for name, those in results.items()}
    first = next(iter(results.values()))[0]
    guesses = first.baselines if first.rows > 1 else {}  # a single row has no earlier labels, so there are no baselines
    return lines(rows, {f"the {name}": errors_shown(means, metrics) for name, means in guesses.items()}, bold=bold)


def errors_shown(means: Mapping[str, float], metrics: Sequence[Metric] = SHOWN) -> dict[str, str]:
    """Errors as text, by the headings of their columns; without those that are not defined."""
    known = [metric for metric in metrics if not math.isnan(means.get(metric.name, math.nan))]
    return {metric.title: number(metric.name, means[metric.name]) for metric in known}


def _cells(results: Sequence[Result], compared: bool, metrics: Sequence[Metric]) -> dict[str, str]:
    if results[0].rows == 1:  # nothing was known before it
        metrics = ()
    errors = {
        _title(metric, results[0]): _spread(metric.name, [result.errors[metric.name] for result in results])
        for metric in metrics if not all(math.isnan(result.errors.get(metric.name, math.nan)) for result in results)
    }  # fmt: skip
    shares = [result.coverage[LEVEL] for result in results if result.coverage and result.rows > 1]
    within = {f"in {float(LEVEL):.0%} interval": f"{np.mean(shares):.1%}"} if shares else {}
    settings = {"lags": str(results[0].lags), "runs": str(len(results))} if compared else {}
    each = microseconds_per_row(results)
    cost = {"µs a row": "" if each is None else f"{each:.1f}", "memory": memory(max(one.bytes for one in results))}
    return {**errors, **within, **settings, **cost}


def microseconds_per_row(results: Sequence[Result]) -> float | None:
    """The mean over all rows of all results; None if none was learnt."""
    timed = [(result.microseconds_per_row, result.rows) for result in results if result.microseconds_per_row is not None]
    return sum(each * rows for each, rows in timed) / sum(rows for _, rows in timed) if timed else None


def changes(result: Result) -> list[str]:
    """One sentence that says where the stream changed; none if it did not."""
    if not result.changes:
        return []
    metric: Metric = MAE() if result.task == "regression" else Mistakes()
    said = [
        f"{one.row:,} ({metric.title + ' ' if k == 0 else ''}{number(metric.name, one.before)} → {number(metric.name, one.after)})"
        for k, one in enumerate(result.changes[:CHANGES_SHOWN])
    ]
    if (more := len(result.changes) - len(said)) > 0:
        said.append(f"{more} more")
    return [f"changed at row{'s' * (len(said) > 1)} {' and '.join(filter(None, (', '.join(said[:-1]), said[-1])))}"]


def confusion(result: Result) -> Table | None:
    """A table of rows by class and predicted class."""
    if result.confusion is None:
        return None
    labels = [str(label) for label in result.classes[: len(result.confusion)]]
    rows = {
        label: {f"as {other}": f"{count:,}" for other, count in zip(labels, counts, strict=True)}
        for label, counts in zip(labels, result.confusion, strict=True)
    }
    return lines(rows, heading="rows of")


def _title(metric: Metric, result: Result) -> str:
    """The heading of a metric's column. F1 of two classes is that of the second one."""
    of_second = metric.name == F1.name and len(result.classes) == 2
    return f"{metric.title} of {result.classes[1]}" if of_second else metric.title


def _spread(name: str, values: Sequence[float]) -> str:
    mean = number(name, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(name, float(np.std(values, ddof=1)))}"


def results(traces: Mapping[str, Trace], references: Mapping[str, Mapping[str, float]] | None = None) -> Table:
    """One line per learner: its error in each metric, its time and its memory; then the references, without time and memory."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    metrics = list(dict.fromkeys(metric for trace in traces.values() for metric in trace.means()))
    table.add_column("learner")
    for heading in [*metrics, "µs a row", "memory"]:
        table.add_column(plain(heading), justify="right")
    for name, trace in traces.items():
        summary = trace.summary()
        found = trace.means()
        errors = [number(metric, found[metric]) for metric in metrics]
        table.add_row(plain(name), *errors, f"{summary['microseconds_per_row']:.1f}", memory(trace.nbytes))
    for name, means in (references or {}).items():
        table.add_row(plain(name), *[number(metric, means[metric]) for metric in metrics], "", "", style="dim")
    return table


def number(metric: str, value: float) -> str:
    """The value of a metric."""
    return f"{value:.2%}" if metric in SHARES else f"{value:.4f}" if metric in AT_MOST_1 else written(value)


def written(value: float, share: bool = False) -> str:
    """A number for people: 65,718 or 0.25; a share in per cent; powers of ten only for the tiny and the huge, 3.2e-07.

    Below 1,000 it has four digits, from there on no decimals.
    """
    if share:
        return f"{float(f'{100.0 * value:.3g}'):g}%"
    if value == 0.0:
        return "0"
    if SMALLEST_WRITTEN <= abs(value) < LARGEST_WRITTEN:
        return f"{float(f'{value:.6g}'):,.0f}" if abs(value) >= 999.95 else f"{float(f'{value:.4g}'):g}"
    return f"{value:.3g}"


def without(names: Sequence[str]) -> str:
    """The option that leaves out these columns."""
    return f"--without {shlex.quote(','.join(names))}"


def memory(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MB" if nbytes >= 2**20 else f"{nbytes / 2**10:.1f} kB"


def duration(seconds: float) -> str:
    """A time as people say it."""
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 2.0 else "2 seconds or less"
