"""Results as a table for a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.table import Table

from onkel.measure import Trace
from onkel.report.page import plain


def results(traces: Mapping[str, Trace], references: Mapping[str, Mapping[str, float]] | None = None) -> Table:
    """One line a learner: its error by each metric, its time and its memory; then the references, which cost nothing."""
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


Cells = Mapping[str, Mapping[str, str]]  # name -> heading -> what stands there
SHARES = ("mistakes", "explained")  # metrics in per cent
FIGURE = r"(-?[\d.,]+(e[+-]?\d+)?%?( ± \S+)?( [kM]B)?|nan|-?inf)?"


def lines(rows: Cells, dim: Cells | None = None, heading: str = "learner", bold: str | None = None) -> Table:
    """One line a name, that of `bold` in bold, the cells under their headings; the `dim` ones last, greyed."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    headings = list(dict.fromkeys(key for cells in rows.values() for key in cells))
    table.add_column(plain(heading), overflow="fold")
    for key in headings:
        digits = all(re.fullmatch(FIGURE, cells.get(key, "")) for cells in rows.values())
        table.add_column(plain(key), justify="right" if digits else "left", overflow="fold")
    for style, part in (("", rows), ("dim", dim or {})):
        for name, cells in part.items():
            first = plain(name, "bold" if name == bold else "")
            table.add_row(first, *(plain(cells.get(key, "")) for key in headings), style=style)
    return table


def number(metric: str, value: float) -> str:
    return f"{value:.2%}" if metric in SHARES else f"{value:.4g}"


def memory(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MB" if nbytes >= 2**20 else f"{nbytes / 2**10:.1f} kB"
