"""How the benchmarks measure time: contenders take turns in one run, so that a busy machine slows all of them. Only ratios are
checked."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = "ONKEL_BENCH_RESULTS"  # the environment variable that names a file for the ratios, see compare.py


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turns(turns: int, **contenders: Callable[[], object]) -> dict[str, float]:
    """The median seconds of each contender over this many turns, after one turn that is not measured."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(turns + 1):
        for name, work in contenders.items():
            took = seconds(work)
            if turn:
                taken[name].append(took)
    return {name: statistics.median(times) for name, times in taken.items()}


@dataclass
class Verdicts:
    """Stated ratios, and whether this run met them."""

    rows: list[tuple[str, float, str, float, bool]] = field(default_factory=list)

    def at_least(self, what: str, value: float, bound: float) -> None:
        self.rows.append((what, value, "≥", bound, value >= bound))

    def at_most(self, what: str, value: float, bound: float) -> None:
        self.rows.append((what, value, "≤", bound, value <= bound))

    def show(self, check: bool) -> None:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading, justify in (("stated", "left"), ("this run", "right"), ("bound", "right"), ("", "left")):
            table.add_column(heading, justify=justify)  # type: ignore[arg-type]
        for what, value, sign, bound, met in self.rows:
            table.add_row(what, f"{value:,.3g}", f"{sign} {bound:,g}", "[green]met[/]" if met else "[red]missed[/]")
        Console(highlight=False, soft_wrap=True).print(table)
        if named := os.environ.get(RESULTS):
            found = {what: [float(f"{value:.4g}"), f"{sign} {bound:,g}"] for what, value, sign, bound, _ in self.rows}
            Path(named).write_text(json.dumps(found), encoding="utf-8")
        if check and not all(row[-1] for row in self.rows):
            sys.exit("a stated ratio was missed")
