"""A table is some rows as they were read: numbers, strings and dates in named columns, not yet encoded. A source yields tables.

A missing value is NaN among numbers, code -1 among strings, and NaT among dates. There is one module for each format of source. All
tables of a source have the same columns. A table without rows means that a growing file has nothing new at the moment.
"""

from __future__ import annotations

import enum
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector

ROWS_AT_ONCE = 4096
BYTES_AT_ONCE = 1 << 24  # for the numbers of a table

Dates = NDArray[np.datetime64]  # in microseconds
Place = Callable[[int], str]  # says where a row of a table came from, such as "prices.csv, line 17"


class Kind(enum.Enum):
    NUMBER = "a number"
    TEXT = "text"
    DATE = "a date"
    TIME = "a time of day"
    DURATION = "a duration"

    @property
    def is_numeric(self) -> bool:
        """Whether its values are among the numbers of a table; those of a time or a duration are seconds."""
        return self in (Kind.NUMBER, Kind.TIME, Kind.DURATION)


@dataclass(frozen=True)
class Strings:
    codes: NDArray[np.int64]  # for each row the index of its value, -1 if it is missing
    values: tuple[Any, ...]  # the different values: strings, or for labels that were given separately any objects

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Strings:
        return Strings(self.codes[rows], self.values)


Labels = Vector | Matrix | Strings  # one column for each target if there are several


class Origin(NamedTuple):
    """Where some successive rows of a table came from: `place(first + k)` says it for the k-th of these `rows`."""

    rows: int
    first: int
    place: Place


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]  # the columns of `numbers`
    numbers: Any  # (rows, names)  a Matrix, or scipy.sparse if the rows were given so
    strings: Mapping[str, Strings]
    dates: Mapping[str, Dates]
    origins: tuple[Origin, ...]
    # values of columns that the source did not know at first, as they were given; None or NaN if missing
    late: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    labels: Labels | None = None  # the labels of the rows, if they were given separately

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """The index of each column of numbers, by its name, for loops over many columns."""
        return {name: place for place, name in enumerate(self.names)}

    def cells(self, name: str) -> Labels | Dates:
        """The values of the target: the labels that were given separately, or else the column of this name."""
        if self.labels is not None:
            return self.labels
        if name in self.strings:
            return self.strings[name]
        return self.dates[name] if name in self.dates else self.numbers[:, self.names.index(name)]

    def is_empty(self, name: str) -> bool:
        """Whether all values of a column are missing."""
        if name in self.strings:
            return bool((self.strings[name].codes < 0).all())
        if name in self.dates:
            return bool(np.isnat(self.dates[name]).all())
        return bool(np.isnan(self.numbers[:, self.names.index(name)]).all())

    def place(self, row: int) -> str:
        """Where a row came from, such as "prices.csv, line 17"."""
        for origin in self.origins:
            if row < origin.rows:
                return origin.place(origin.first + row)
            row -= origin.rows
        raise IndexError(row)

    def __getitem__(self, rows: slice) -> Table:
        start, stop, _ = rows.indices(len(self))
        origins = []
        for origin in self.origins:
            skipped = min(max(start, 0), origin.rows)
            kept = min(max(stop, 0), origin.rows) - skipped
            if kept > 0:
                origins.append(Origin(kept, origin.first + skipped, origin.place))
            start, stop = start - origin.rows, stop - origin.rows
        return Table(
            self.names,
            self.numbers[rows],
            {name: column[rows] for name, column in self.strings.items()},
            {name: column[rows] for name, column in self.dates.items()},
            tuple(origins),
            {name: column[rows] for name, column in self.late.items()},
            None if self.labels is None else self.labels[rows],
        )

    def take(self, rows: NDArray[np.int64]) -> Table:
        """These rows, in this order."""
        return Table(
            self.names,
            self.numbers[rows],
            {name: column[rows] for name, column in self.strings.items()},
            {name: column[rows] for name, column in self.dates.items()},
            (Origin(len(rows), 0, lambda row: self.place(int(rows[row]))),),
            {name: column[rows] for name, column in self.late.items()},
            None if self.labels is None else self.labels[rows],
        )

    def where(self, mask: NDArray[np.bool_]) -> Table:
        """The rows for which the mask is True."""
        return self.take(np.flatnonzero(mask))


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """Where tables come from."""

    name: str  # what messages call it
    kinds: Mapping[str, Kind]  # the kind of every column of its tables, in the order of the file
    known: Collection[str]  # every column that it has, read or not
    rows: int | None = None  # the number of rows; None if it is not known before reading
    about: int | None = None  # an estimate of the number of rows, from the size of the file

    @abstractmethod
    def tables(self, sample: bool = False) -> Generator[Table]:
        """Yield its tables, from the start. What is read as a `sample` can be read again, even from a pipe."""

    def notes(self) -> list[str]:
        """What the user should know about the rows that were read, one sentence each."""
        return []

    def hints(self) -> list[str]:
        """What may help the user who asks for a column that is not there."""
        return self.notes()

    def lacking(self) -> list[str]:
        """Which files lack which columns that other files have, one sentence for each."""
        return []

    def with_room(self, known: Collection[str]) -> Source:
        """This source, with columns that are not `known` as `late` columns; unchanged if it cannot get new columns."""
        return self

    @property
    def grows(self) -> bool:
        """Whether its rows are dicts, which may have new keys at any time."""
        return False


@dataclass(frozen=True, kw_only=True)
class TableSource(Source):
    """A source of a single table."""

    table: Table

    def tables(self, sample: bool = False) -> Generator[Table]:
        yield self.table


def table_source(table: Table, name: str = "X") -> TableSource:
    columns = dict.fromkeys(table.names, Kind.NUMBER)
    columns |= dict.fromkeys(table.strings, Kind.TEXT) | dict.fromkeys(table.dates, Kind.DATE)
    return TableSource(name=name, kinds=columns, known=columns, rows=len(table), table=table)


def rows_at_once(columns: int) -> int:
    """The largest number of rows of a table with so many columns of numbers."""
    return max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (8 * max(1, columns))))


def strings(values: Iterable[str | None]) -> Strings:
    """A column of strings, without the blanks around them. None and blank strings are missing."""
    known: dict[str, int] = {}
    stripped = ("" if value is None else value.strip() for value in values)
    codes = [known.setdefault(value, len(known)) if value else -1 for value in stripped]
    return Strings(np.array(codes, dtype=np.int64), tuple(known))


def coded(codes: NDArray[np.int64], values: Iterable[str | None]) -> Strings:
    """A column of strings, given as indices of `values`, -1 for a missing one."""
    found = strings(values)
    return Strings(np.append(found.codes, -1)[codes], found.values)


def joined(tables: Sequence[Table]) -> Table:
    """Several tables of one source as one table: their rows one after the other."""
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    return Table(
        first.names,
        stacked([table.numbers for table in tables]),
        {name: _joined_strings([table.strings[name] for table in tables]) for name in first.strings},
        {name: np.concatenate([table.dates[name] for table in tables]) for name in first.dates},
        tuple(origin for table in tables for origin in table.origins),
        _joined_late(tables),
        _joined_labels([table.labels for table in tables if table.labels is not None]),
    )


def stacked(blocks: Sequence[Any]) -> Any:
    """The blocks stacked vertically; sparse if the blocks are sparse."""
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    import scipy.sparse

    return scipy.sparse.vstack(blocks, format="csr")


def _joined_labels(labels: Sequence[Labels]) -> Labels | None:
    if not labels:
        return None
    words = [part for part in labels if isinstance(part, Strings)]
    return _joined_strings(words) if words else np.concatenate([part for part in labels if not isinstance(part, Strings)])


def _joined_late(tables: Sequence[Table]) -> dict[str, NDArray[Any]]:
    names = dict.fromkeys(name for table in tables for name in table.late)
    return {name: np.concatenate([table.late.get(name, np.full(len(table), np.nan)) for table in tables]) for name in names}


def _joined_strings(columns: Sequence[Strings]) -> Strings:
    known: dict[str, int] = {}
    codes = []
    for column in columns:
        new = np.array([*(known.setdefault(value, len(known)) for value in column.values), -1], dtype=np.int64)
        codes.append(new[column.codes])  # a missing value, code -1, selects the last entry, which is -1
    return Strings(np.concatenate(codes), tuple(known))


def recut(tables: Iterable[Table], block: int) -> Iterator[Table]:
    """The same rows in tables of `block` rows; a shorter one only at the end, and when a growing file has nothing new."""
    kept: list[Table] = []
    rows = 0
    for table in tables:
        kept.append(table)
        rows += len(table)
        if rows >= block or not len(table):
            whole = joined([part for part in kept if len(part)] or [table])
            end = rows if not len(table) else rows - rows % block
            for start in range(0, end, block):
                yield whole[start : min(start + block, end)]
            if not len(table):
                yield table
            kept, rows = ([whole[end:]], rows - end) if end < rows else ([], 0)
    if rows:
        yield joined(kept)
