"""What the columns of a stream hold: gaps, ranges and means along the stream, and whether they have drifted. In bounded memory.

A column of numbers has drifted if its mean in the last quarter of the rows differs from that in the first quarter by more than
SHIFT standard deviations; a column of strings, if more than MOVED of its values have moved from some strings to others (the total
variation distance of the two quarters). Dates always move on, and are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Matrix, Vector
from onkel.data.table import Strings, Table
from onkel.measure.sums import MOST, Pieces, halves, with_room

MOST_COLUMNS = 200  # further columns are only counted
MOST_VALUES = 20  # strings that are counted one by one, the first that come; all others together
SHIFT = 0.5
MOVED = 0.2
LEAST_ROWS = 100  # of a quarter, for a comparison
COUNT, SUM, SQUARE, LEAST, LARGEST = range(5)


@dataclass(frozen=True, repr=False)
class ColumnSummary:
    """What a column holds, over all rows that were seen."""

    name: str
    missing: int
    least: float | str | None  # None for strings, and if every value is missing
    largest: float | str | None
    values: int | None  # how many different strings there are; None for other columns, and for more than MOST_VALUES
    common: tuple[tuple[str, int], ...]  # the most frequent strings and their rows
    means: Vector  # in bins along the stream; empty for strings and dates
    lows: Vector  # the smallest value in each bin
    highs: Vector  # the largest value in each bin
    first: float | None  # the mean in the first quarter of the rows; None for strings and dates, and for too few rows
    last: float | None  # the mean in the last quarter
    drift: float | None  # standard deviations, or the share of strings that moved; None if it is not defined
    drifted: bool
    counts_rows: bool = False  # whether it consists of whole numbers, each 1 more than that of the row before

    def __repr__(self) -> str:
        return f"<ColumnSummary of {self.name}: {self.missing:,} missing{', drifted' * self.drifted}>"


class ColumnSums:
    """The sums behind `ColumnSummary`, for the columns of the tables that are added."""

    def __init__(self) -> None:
        self.pieces = Pieces()
        self.names: tuple[str, ...] = ()
        self.left_out = 0  # columns beyond MOST_COLUMNS
        self.start = np.empty(0)  # a value of each column of numbers, from which its sums are taken
        self.numbers = np.empty((MOST, 0, 5))
        self.last = np.empty((0, 0))  # the numbers of the last row
        self.counts_rows = np.empty(0, dtype=bool)  # so far
        self.strings: dict[str, _Values] = {}
        self.dates: dict[str, list[Any]] = {}

    def add(self, table: Table) -> None:
        if not len(table):
            return
        if not self.pieces.rows:
            self._begin(table)
        X = _dense(table.numbers[:, : len(self.names)])
        self._start(X)
        self._follow(X)
        places = [(values, values.places(table.strings[name])) for name, values in self.strings.items()]
        for piece, part in self.pieces.cuts(len(table), self._halve):
            self._count(self.numbers[piece], X[part])
            for values, place in places:
                values.counts[piece] += np.bincount(place[part], minlength=MOST_VALUES + 2)
        for name, ends in self.dates.items():
            there = table.dates[name][~np.isnat(table.dates[name])]
            ends[0] += len(table) - len(there)
            ends[1:] = _ends(there, [end for end in ends[1:] if end is not None])

    def _begin(self, table: Table) -> None:
        every = [*table.names, *table.strings, *table.dates]
        self.left_out = max(0, len(every) - MOST_COLUMNS)
        self.names = table.names[:MOST_COLUMNS]
        room = MOST_COLUMNS - len(self.names)
        self.strings = {name: _Values() for name in list(table.strings)[:room]}
        self.dates = {name: [0, None, None] for name in list(table.dates)[: room - len(self.strings)]}
        self.start = np.full(len(self.names), np.nan)
        self.numbers = _empty(MOST, len(self.names))
        self.last = np.empty((0, len(self.names)))
        self.counts_rows = np.mod(_dense(table.numbers[:1, : len(self.names)]), 1.0)[0] == 0.0

    def _start(self, X: Matrix) -> None:
        for j in np.flatnonzero(np.isnan(self.start)):
            there = X[~np.isnan(X[:, j]), j]
            if len(there):
                self.start[j] = there[0]

    def _follow(self, X: Matrix) -> None:
        """Which columns still count the rows."""
        few = np.flatnonzero(self.counts_rows)
        self.counts_rows[few] = (np.diff(np.concatenate([self.last, X])[:, few], axis=0) == 1.0).all(axis=0)
        self.last = X[-1:].copy()

    def _count(self, sums: Matrix, X: Matrix) -> None:
        there = ~np.isnan(X)
        centred = np.where(there, X - self.start, 0.0)
        sums[:, COUNT] += there.sum(axis=0)
        sums[:, SUM] += centred.sum(axis=0)
        sums[:, SQUARE] += (centred**2).sum(axis=0)
        sums[:, LEAST] = np.fmin(sums[:, LEAST], np.where(there, X, np.inf).min(axis=0))
        sums[:, LARGEST] = np.fmax(sums[:, LARGEST], np.where(there, X, -np.inf).max(axis=0))

    def _halve(self) -> None:
        self.numbers = np.concatenate([_merged(halves(self.numbers)), _empty(MOST // 2, len(self.names))])
        for values in self.strings.values():
            values.halve()

    def summary(self) -> tuple[ColumnSummary, ...]:
        of_numbers = [self._of_numbers(j, name) for j, name in enumerate(self.names)]
        of_strings = [values.summary(name, self._quarters()) for name, values in self.strings.items()]
        of_dates = [_of_dates(name, *ends) for name, ends in self.dates.items()]
        return (*of_numbers, *of_strings, *of_dates)

    def _quarters(self) -> tuple[slice, slice] | None:
        """The pieces of the first and of the last quarter of the rows; None if there are too few rows."""
        used = self.pieces.used
        quarter = used // 4
        if quarter * self.pieces.length < LEAST_ROWS:
            return None
        return slice(0, quarter), slice(used - quarter, used)

    def _of_numbers(self, j: int, name: str) -> ColumnSummary:
        sums = self.numbers[: self.pieces.used, j]
        there = sums[:, COUNT] > 0.0
        whole = _merged(sums[None])[0]
        known = whole[COUNT] > 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.start[j] + sums[:, SUM] / sums[:, COUNT]
        first, last, drift = self._shift(j)
        return ColumnSummary(
            name,
            missing=int(self.pieces.rows - whole[COUNT]),
            least=float(whole[LEAST]) if known else None,
            largest=float(whole[LARGEST]) if known else None,
            values=None,
            common=(),
            means=means,
            lows=np.where(there, sums[:, LEAST], np.nan),
            highs=np.where(there, sums[:, LARGEST], np.nan),
            first=first,
            last=last,
            drift=drift,
            drifted=drift is not None and drift > SHIFT,
            counts_rows=self.pieces.rows >= LEAST_ROWS and bool(self.counts_rows[j]),
        )

    def _shift(self, j: int) -> tuple[float | None, float | None, float | None]:
        """The means of the first and the last quarter, and their distance in standard deviations within the quarters."""
        if (quarters := self._quarters()) is None:
            return None, None, None
        both = [_merged(self.numbers[None, part, j])[0] for part in quarters]
        if min(sums[COUNT] for sums in both) < LEAST_ROWS:
            return None, None, None
        means = [float(sums[SUM] / sums[COUNT]) for sums in both]
        variance = sum(max(0.0, float(sums[SQUARE] / sums[COUNT]) - mean**2) for sums, mean in zip(both, means, strict=True)) / 2.0
        apart = abs(means[1] - means[0])
        drift = 0.0 if apart == 0.0 else apart / np.sqrt(variance) if variance > 0.0 else float("inf")
        return float(self.start[j] + means[0]), float(self.start[j] + means[1]), float(drift)


@dataclass
class _Values:
    """The rows of each of the first strings, in pieces; the last two columns are all other strings, and gaps."""

    known: list[str] = field(default_factory=list)
    counts: Counts = field(default_factory=lambda: np.zeros((MOST, MOST_VALUES + 2), np.int64))

    def places(self, column: Strings) -> Counts:
        """The column of `counts` for each row. The first strings that come get columns of their own."""
        for code in dict.fromkeys(column.codes[column.codes >= 0].tolist()) if len(self.known) < MOST_VALUES else ():
            if len(self.known) < MOST_VALUES and column.values[code] not in self.known:
                self.known.append(column.values[code])
        known = {value: k for k, value in enumerate(self.known)}
        places = np.array([*(known.get(value, MOST_VALUES) for value in column.values), MOST_VALUES + 1], dtype=np.int64)
        return np.asarray(places[column.codes])  # code -1, a missing value, selects the last entry

    def halve(self) -> None:
        self.counts = with_room(halves(self.counts).sum(axis=1))

    def summary(self, name: str, quarters: tuple[slice, slice] | None) -> ColumnSummary:
        whole, others = self.counts.sum(axis=0), self.counts[:, MOST_VALUES].sum()
        order = np.argsort(-whole[: len(self.known)], kind="stable")
        drift = None if quarters is None else _moved(*(self.counts[part, :-1].sum(axis=0) for part in quarters))
        none = np.empty(0)
        return ColumnSummary(
            name,
            missing=int(whole[-1]),
            least=None,
            largest=None,
            values=None if others else len(self.known),
            common=tuple((self.known[k], int(whole[k])) for k in order),
            means=none,
            lows=none,
            highs=none,
            first=None,
            last=None,
            drift=drift,
            drifted=drift is not None and drift > MOVED,
        )


def _moved(first: NDArray[Any], last: NDArray[Any]) -> float | None:
    if min(first.sum(), last.sum()) < LEAST_ROWS:
        return None
    return float(np.abs(first / first.sum() - last / last.sum()).sum() / 2.0)


def _of_dates(name: str, missing: int, least: Any, largest: Any) -> ColumnSummary:
    none = np.empty(0)
    ends = [None if end is None else str(np.datetime64(end, "s")) for end in (least, largest)]
    return ColumnSummary(name, missing, ends[0], ends[1], None, (), none, none, none, None, None, None, False)


def _ends(column: Any, known: list[Any]) -> list[Any]:
    """The first and the last of some dates and of the ends that are known; None if there are none."""
    every = np.append(column, np.array(known, dtype=column.dtype))
    return [every.min(), every.max()] if len(every) else [None, None]


def _empty(pieces: int, columns: int) -> NDArray[np.float64]:
    made = np.zeros((pieces, columns, 5))
    made[:, :, LEAST], made[:, :, LARGEST] = np.inf, -np.inf
    return made


def _merged(groups: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of each group of pieces, (groups, pieces, …, 5)."""
    whole: NDArray[np.float64] = groups.sum(axis=1)
    whole[..., LEAST], whole[..., LARGEST] = groups[..., LEAST].min(axis=1), groups[..., LARGEST].max(axis=1)
    return whole


def _dense(numbers: Any) -> Matrix:
    return numbers if isinstance(numbers, np.ndarray) else np.asarray(numbers.toarray())
