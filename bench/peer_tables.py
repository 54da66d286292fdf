"""The tables of bench/peers.py, for a terminal and for README."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from peer_capymoa import PRINTED_VERSION, printed
from peer_models import FOREST
from peer_store import EARLY, Figures
from rich.console import Console
from rich.table import Table

from onkel.report.results import memory, number

MARK = "†"
EXPLAINED = (
    f"{MARK} {PRINTED_VERSION} of the same order, measured once, not in this run: to be compared with the others' first {EARLY:,}"
)


@dataclass(frozen=True)
class Sheet:
    """All figures of one set."""

    name: str
    rows: int
    dim: int
    classify: bool
    ordered: bool
    judged: str  # the learner whose promises are checked
    judged_with_lags: str
    lines: dict[str, Figures]
    references: dict[str, Figures]
    forest_start: float  # µs a row of the forest on its first rows, in this run
    ridge: float  # µs a row of a ridge regression on 100 features, in this run

    @property
    def metric(self) -> str:
        return "mistakes" if self.classify else "square"

    @property
    def forest(self) -> Figures:
        return self.lines[FOREST.name]

    @property
    def forest_now(self) -> float:
        """The µs of a row of the forest: the stored time, multiplied by how much longer its first rows take now."""
        assert self.forest.microseconds is not None
        assert self.forest.start is not None
        return self.forest.microseconds * self.forest_start / self.forest.start

    @property
    def own(self) -> Figures:
        return self.lines[self.judged]

    @property
    def without_lags(self) -> dict[str, Figures]:
        return {name: line for name, line in self.lines.items() if not name.endswith(" lags")}


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(ratio) if ratio > 0.0 else ratio for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def show(console: Console, sheet: Sheet) -> None:
    """Print one set, the best system first, and onkel's learner in bold."""
    order = "in the order of the file" if sheet.ordered else "permuted"
    title = f"{sheet.name}: {sheet.rows:,} rows {order}, {sheet.dim} inputs, {sheet.metric}"
    table = Table(title=title, box=None, header_style="bold", title_justify="left", pad_edge=False)
    table.add_column("")
    for heading in ("error", f"first {EARLY:,}", "log loss", "µs a row", "bytes"):
        table.add_column(heading, justify="right")
    for name, line in sorted(sheet.lines.items(), key=lambda item: item[1].error):
        table.add_row(name, *_cells(sheet, line), style="bold" if name in (sheet.judged, sheet.judged_with_lags) else "")
    for name, line in sheet.references.items():
        table.add_row(name, *_cells(sheet, line), style="dim")
    for name, one in printed(sheet.name).items():
        table.add_row(f"{name} {MARK}", "", error(sheet.metric, one.error), "", f"{one.microseconds:,.0f}", "", style="dim")
    console.print(table)
    took, speed = sheet.forest.microseconds or 0.0, sheet.forest_now / (sheet.own.microseconds or math.nan)
    console.print(
        f"the forest's row: {took:,.0f} µs when kept, {sheet.forest_now:,.0f} now, {speed:,.0f} times {sheet.judged}'s", style="dim"
    )
    if printed(sheet.name):
        console.print(EXPLAINED, style="dim")
    console.print()


def error(metric: str, value: float) -> str:
    return f"{value:,.0f}" if metric == "square" and 1e3 <= value < 1e7 else number(metric, value)


def _cells(sheet: Sheet, line: Figures) -> list[str]:
    return [
        error(sheet.metric, line.error),
        error(sheet.metric, line.early) if sheet.rows > EARLY else "",
        "" if line.log_loss is None else f"{line.log_loss:.4f}",
        _microseconds(line.microseconds),
        "" if line.nbytes is None else memory(line.nbytes),
    ]


def systems(sheets: Sequence[Sheet]) -> list[str]:
    """The names of all systems, those with lags last."""
    found = dict.fromkeys(name for sheet in sheets for name in sheet.lines)
    return sorted(found, key=lambda name: name.endswith(" lags"))


HEADINGS = (
    "sets",
    "error over the forest's",
    "below the forest",
    "best of all",
    "log loss minus the forest's",
    "µs a row",
    "bytes",
)


def summary(console: Console, sheets: Sequence[Sheet]) -> None:
    title = f"{len(sheets)} sets (geometric means of errors, times and bytes; lags of most on sets with an order of time only)"
    table = Table(title=title, box=None, header_style="bold", title_justify="left", pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for name in systems(sheets):
        table.add_row(name, *totals(sheets, name), style="bold" if name == sheets[0].judged else "")
    console.print(table, "")


def totals(sheets: Sequence[Sheet], name: str) -> list[str]:
    """The totals of one system over the sets on which it was run. Only systems without lags can be the best of a set."""
    pairs = [(sheet.lines[name], sheet) for sheet in sheets if name in sheet.lines]
    ratios = [line.error / sheet.forest.error for line, sheet in pairs]
    best = sum(line.error == min(other.error for other in sheet.without_lags.values()) for line, sheet in pairs)
    losses = [(line.log_loss or 0.0) - (sheet.forest.log_loss or 0.0) for line, sheet in pairs if sheet.classify]
    nbytes = [line.nbytes for line, _ in pairs if line.nbytes]
    return [
        f"{len(pairs)}",
        f"{mean(ratios):.3g}",
        f"{sum(ratio < 1.0 for ratio in ratios)}",
        "" if name.endswith(" lags") else f"{best}",
        f"{sum(losses) / len(losses):+.3f}" if losses else "",
        _microseconds(mean(line.microseconds for line, _ in pairs if line.microseconds)),
        memory(int(mean(nbytes))) if nbytes else "",
    ]


def _microseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.{0 if value >= 100.0 else 1}f}"


Cells = dict[str, float]  # system -> figure


def markdown(sheets: Sequence[Sheet]) -> str:
    """Errors, log losses, CapyMOA's figures and totals; the lowest of those without lags in bold."""
    judged, with_lags = sheets[0].judged, sheets[0].judged_with_lags
    names = [name for name in systems(sheets) if not name.endswith(" lags") or name == with_lags]
    errors = {sheet.name: {name: sheet.lines[name].error for name in names if name in sheet.lines} for sheet in sheets}
    losses = {
        sheet.name: {name: sheet.lines[name].log_loss or 0.0 for name in errors[sheet.name]} for sheet in sheets if sheet.classify
    }
    early = {sheet.name: {judged: sheet.own.early, **_marked(sheet)} for sheet in sheets if printed(sheet.name)}
    metrics = {sheet.name: sheet.metric for sheet in sheets}
    parts = [
        _grid("error: mistakes, or mean square", errors, lambda name, value: error(metrics[name], value)),
        _grid("log loss", losses, lambda name, value: f"{value:.3f}"),
        _grid(f"error, first {EARLY:,} rows", early, lambda name, value: error(metrics[name], value)),
        EXPLAINED if early else "",
        _lines(["", *HEADINGS], [[name, *totals(sheets, name)] for name in systems(sheets)]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _marked(sheet: Sheet) -> Cells:
    return {f"{name} {MARK}": one.error for name, one in printed(sheet.name).items()}


def _grid(what: str, figures: dict[str, Cells], text: Callable[[str, float], str]) -> str:
    """A table with one line for each set and one column for each system."""
    names = sorted(dict.fromkeys(name for cells in figures.values() for name in cells), key=lambda name: name.endswith(" lags"))
    body = []
    for row, cells in figures.items():
        best = min((name for name in cells if not name.endswith(" lags")), key=cells.__getitem__)
        shown = {name: f"**{text(row, value)}**" if name == best else text(row, value) for name, value in cells.items()}
        body.append([row, *(shown.get(name, "–") for name in names)])
    return _lines([what, *names], body) if body else ""


def _lines(headings: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["--:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *body))
