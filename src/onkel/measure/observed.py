"""What a report shows of a run beyond its errors: residuals, columns, and the first rows themselves. All in bounded memory.

An `Evaluation` has an `Observed` only if it is asked for one, so that runs without a report do not pay for it. It is not saved with
a run: a resumed run has observed only the rows since then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from onkel._types import Matrix
from onkel.data.table import Table
from onkel.measure.column_sums import ColumnSummary, ColumnSums
from onkel.measure.residuals import Residuals, ResidualSummary
from onkel.model import Answers

MOST_ROWS = 20_000  # rows that are held
MOST_BYTES = 1 << 27  # of their numbers


@dataclass(frozen=True, repr=False)
class Observation:
    """What was observed of a run."""

    rows: int  # rows that were observed, with those that could not be learnt
    residuals: ResidualSummary | None  # None for classes
    columns: tuple[ColumnSummary, ...]
    columns_left_out: int  # further columns, which were not observed

    def __repr__(self) -> str:
        return f"<Observation of {self.rows:,} rows and {len(self.columns):,} columns>"


@dataclass
class Observed:
    levels: Sequence[float] = ()  # of the intervals
    is_from_start: bool = True  # whether no row was scored before
    residuals: Residuals = field(init=False)
    columns: ColumnSums = field(default_factory=ColumnSums)
    first: list[Table] = field(default_factory=list)  # the first rows
    error: float = float("nan")  # the model's error over these rows, in the metric by which learners are compared
    is_full: bool = False
    bytes: int = 0

    def __post_init__(self) -> None:
        self.residuals = Residuals(self.levels)

    def hold(self, table: Table) -> bool:
        """Hold the rows if there is room for all of them. After the first table without room no other is held."""
        size = 8 * len(table) * (table.numbers.shape[1] + len(table.strings) + len(table.dates))
        self.is_full = self.is_full or self.held + len(table) > MOST_ROWS or self.bytes + size > MOST_BYTES
        if not self.is_full:
            self.first.append(table)
            self.bytes += size
        return not self.is_full

    @property
    def held(self) -> int:
        return sum(map(len, self.first))

    def add(self, table: Table, answers: Answers, half: Matrix | None) -> None:
        self.columns.add(table)
        if answers.probabilities is None and answers.actual.ndim == 1:
            self.residuals.add(answers.predicted, answers.actual, half)

    def result(self) -> Observation:
        residuals: Any = self.residuals.summary() if self.residuals.pieces.rows else None
        return Observation(self.columns.pieces.rows, residuals, self.columns.summary(), self.columns.left_out)
