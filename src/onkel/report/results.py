"""Results as a person reads them: a heading, a table of errors and cost beside the baselines, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from onkel.measure import Result
from onkel.report.tables import lines, memory, number

LABELS_SHOWN = 6
LEVEL = "0.9"  # of the intervals in the table
# the square error as its root, in the units of the target
HEADINGS = {
    "rmse": "rms error", "absolute": "absolute error", "explained": "explained", "mistakes": "mistakes", "log_loss": "log loss",
}  # fmt: skip


def heading(result: Result) -> str:
    """What was learnt from what."""
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
    """Without the folder, where it is a file's."""
    return Path(name).name or name


def table(results: Mapping[str, Sequence[Result]], bold: str | None = None, compared: bool = False) -> Table:
    """One line a learner, with the mean and deviation over its results; the baselines last, greyed."""
    rows = {name: _cells(those, compared) for name, those in results.items()}
    first = next(iter(results.values()))[0]
    return lines(rows, {f"the {name}": errors_shown(means) for name, means in first.baselines.items()}, bold=bold)


def errors_shown(means: Mapping[str, float]) -> dict[str, str]:
    """Errors under their headings."""
    return {title: number(name, means[name]) for name, title in HEADINGS.items() if name in means}


def _cells(results: Sequence[Result], compared: bool) -> dict[str, str]:
    errors = {
        title: _spread(name, [result.errors[name] for result in results])
        for name, title in HEADINGS.items() if name in results[0].errors
    }  # fmt: skip
    shares = [result.coverage[LEVEL] for result in results if result.coverage]
    within = {f"in {float(LEVEL):.0%} interval": f"{np.mean(shares):.1%}"} if shares else {}
    settings = {"lags": str(results[0].lags), "runs": str(len(results))} if compared else {}
    seconds = sum(result.microseconds_per_row * result.rows for result in results) / sum(result.rows for result in results)
    return {**errors, **within, **settings, "µs a row": f"{seconds:.1f}", "memory": memory(max(one.bytes for one in results))}


def _spread(name: str, values: Sequence[float]) -> str:
    mean = number(name, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(name, float(np.std(values, ddof=1)))}"
