"""Turns dicts, such as rows in a program or lines of JSON, into tables. Each dict is a row, its keys are the columns.

    records = Records(detect(rows))          # or kinds that are known, such as {"size": Kind.NUMBER, "town": Kind.TEXT}
    table = records.table(rows)              # a key that is absent, None or NaN is missing

Numbers and booleans, of Python or NumPy, are numbers. A key holds dates if one of its values is a datetime, a date or a string such
as 2026-11-16; times of day or durations if all of its values are (see `clock`); other strings are text. The kinds are fixed: a
string under a key of numbers is an error that names row and key. Values under unknown keys become the `late` columns of a table.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.data import clock
from onkel.data import dates as written
from onkel.data.columns import check_declared, choose, leave_out, remedy, sample_rows, shown, strongest
from onkel.data.labels import is_missing
from onkel.data.table import ROWS_AT_ONCE, Dates, Kind, Origin, Place, Source, Strings, Table, strings
from onkel.errors import FileError, InputError

Row = Mapping[str, Any]

_PLAIN = {float, int, bool, type(None), *(np.dtype(code).type for code in "?bBhHiIlLqQefd")}  # types that NumPy makes floats of
_WORDS = (str, date, time, timedelta, np.datetime64, np.timedelta64)  # types of values that are not numbers
VALUES = 4  # spare columns that a note recommends for a key of strings, whose values take one each
MOST_NOTED = 100  # at most this many unused keys are noted


class BadCell(InputError):
    """A value is not of the kind of its column."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def of_rows(row: int) -> str:
    return f"row {row} (counted from 0)"


class Records:
    """Turns dicts into tables whose columns have known kinds. `ignored` keys are known too, but not read.

    Values under other keys become `late` columns if there is `room` for them. Nested values, and those without room, are not used;
    notes say so.
    """

    def __init__(self, kinds: Mapping[str, Kind], ignored: Collection[str] = (), room: bool = True) -> None:
        self.kinds, self.room = dict(kinds), room
        self.known = frozenset((*kinds, *ignored))
        self.unused: dict[str, tuple[str, int]] = {}  # by key: where it first appeared, and the columns that would hold it
        self._numbers = tuple(key for key, kind in kinds.items() if kind.is_numeric)
        self._clocks = {key: kind for key, kind in kinds.items() if kind in (Kind.TIME, Kind.DURATION)}
        self._strings = tuple(key for key, kind in kinds.items() if kind is Kind.TEXT)
        self._dates = tuple(key for key, kind in kinds.items() if kind is Kind.DATE)
        self._at_once = operator.itemgetter(*self._numbers) if len(self._numbers) > 1 else None

    def with_room(self, known: Collection[str]) -> Records:
        """The same, with the values of keys that are not `known` as late columns."""
        return Records({key: kind for key, kind in self.kinds.items() if key in known}, known)

    def table(self, rows: Sequence[Row], place: Place = of_rows) -> Table:
        """The table of these rows. `place(k)` says where row k came from."""
        try:
            return Table(
                self._numbers,
                self._matrix(rows),
                {key: _strings(row.get(key) for row in rows) for key in self._strings} if self._strings else {},
                {key: _moments(row.get(key) for row in rows) for key in self._dates} if self._dates else {},
                (Origin(len(rows), 0, place),),
                self._late(rows, place),
            )
        except (ValueError, TypeError, OverflowError):
            self.check(rows, place)
            raise

    def tables(self, rows: Sequence[Row], place: Place = of_rows) -> Iterator[Table]:
        """Yield the table of the rows before the first bad one, then raise an error that says where the bad row is."""
        good, wrong = len(rows), None
        table: Table | None = None
        while table is None:
            try:
                table = self.table(rows[:good], place)
            except BadCell as error:
                good, wrong = error.row, error
        if len(table):
            yield table
        if wrong:
            raise wrong

    def check(self, rows: Sequence[Row], place: Place = of_rows) -> None:
        """Raise an error about the first row with a bad cell, if there is one."""
        for k, row in enumerate(rows):
            for key, kind in self.kinds.items():
                _check(k, place, key, kind, row.get(key))
            self._new(k, row, place)

    def notes(self) -> list[str]:
        """Which keys of the rows so far were not used, and why, one sentence each."""
        spare = sum(columns for _, columns in self.unused.values())
        more = f"; keep columns free for such keys: spare={spare} (--spare {spare})"
        flat = ": its value is nested or of an unknown type; write it flat"
        return [
            f"the key {key!r}, which first appears in {where}, is not used{more if columns else flat}"
            for key, (where, columns) in self.unused.items()
        ]

    def _matrix(self, rows: Sequence[Row]) -> Matrix:
        """The numbers of the rows as a matrix. Infinite values are allowed here: the encoder refuses them, as for every source."""
        cells = [self._numbers_of({**row, **self._seconds(row)} if self._clocks else row) for row in rows]
        if not set(map(type, itertools.chain.from_iterable(cells))) <= _PLAIN:
            cells = [tuple(map(_number, row)) for row in cells]
        return np.array(cells, dtype=float) if cells else np.empty((0, len(self._numbers)))

    def _seconds(self, row: Row) -> dict[str, float]:
        """The times and durations of a row, in seconds."""
        return {key: _CONVERT[kind](row.get(key)) for key, kind in self._clocks.items()}

    def _numbers_of(self, row: Row) -> tuple[Any, ...]:
        """The values under the keys of numbers, None for a key that is absent."""
        try:
            return self._at_once(row) if self._at_once is not None else tuple([row[key] for key in self._numbers])
        except KeyError:
            return tuple([row.get(key) for key in self._numbers])

    def _late(self, rows: Sequence[Row], place: Place) -> dict[str, NDArray[Any]]:
        late: dict[str, NDArray[Any]] = {}
        for k, row in enumerate(rows):
            if not row.keys() <= self.known:
                for key, value in self._new(k, row, place).items():
                    late.setdefault(key, np.full(len(rows), None, dtype=object))[k] = value
        return late

    def _new(self, k: int, row: Row, place: Place) -> dict[str, Any]:
        """The values of row k under unknown keys, if there is room for them; other values under unknown keys are noted."""
        found = {}
        for key in row.keys() - self.known:
            if not isinstance(key, str):
                raise BadCell(k, f"{place(k)}: the key {key!r} is not a string; write it as {str(key)!r}")
            value = row[key]
            if is_absent(value):
                continue
            could = is_number(value) or isinstance(value, _WORDS)
            if self.room and could:
                _check(k, place, key, kind_of([value]), value, finite=True)
                found[key] = value
            elif key not in self.unused and len(self.unused) < MOST_NOTED:
                self.unused[key] = place(k), VALUES if isinstance(value, str) else int(could)
        return found


def detect(rows: Iterable[Row]) -> dict[str, Kind]:
    """The kind of each key, in the order of appearance: number if any value is one, else date if any is one, else text."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return {key: kind_of(values) for key, values in found.items()}


def kind_of(values: Sequence[Any]) -> Kind:
    there = [value for value in values if not is_absent(value)]
    if any(map(is_number, there)):
        return Kind.NUMBER
    if not there and any(isinstance(value, str) for value in values):  # blank strings
        return Kind.TEXT
    if any(isinstance(value, date | np.datetime64) or (isinstance(value, str) and written.is_date(value)) for value in there):
        return Kind.DATE
    if there and all(isinstance(value, str) and written.is_month(value) for value in there):
        return Kind.DATE
    return strongest({clock.kind_of_value(value) or Kind.TEXT for value in there})


def is_absent(value: Any) -> bool:
    """Whether a value is missing or a blank string, so that it does not say what its key holds."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def column_of(kind: Kind, key: str, cells: Sequence[Any], place: Place) -> Vector | Strings | Dates:
    """Values of any kind as a column of this kind."""
    for k, cell in enumerate(cells):
        _check(k, place, key, kind, cell, finite=True)
    if kind is Kind.TEXT:
        return _strings(cells)
    return _moments(cells) if kind is Kind.DATE else np.array([_CONVERT[kind](cell) for cell in cells], dtype=float)


def is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_ | Decimal) and not isinstance(value, np.timedelta64)  # NumPy calls it an integer


@dataclass(frozen=True, kw_only=True)
class RecordsSource(Source):
    data: Sequence[Row]
    records: Records

    def tables(self, sample: bool = False) -> Generator[Table]:
        for start in range(0, len(self.data), ROWS_AT_ONCE):
            yield from self.records.tables(self.data[start : start + ROWS_AT_ONCE], of_rows_from(start))

    def notes(self) -> list[str]:
        return self.records.notes()

    @property
    def grows(self) -> bool:
        return True

    def with_room(self, known: Collection[str]) -> RecordsSource:
        return dataclasses.replace(self, known=known, records=self.records.with_room(known))


def of_rows_from(start: int) -> Place:
    """The place of each row of a part of a list that begins at `start`."""
    return lambda row: of_rows(start + row)


def open_records(
    rows: Sequence[Row], wanted: Sequence[str] | None, kinds: Mapping[str, Kind], name: str = "the list of dicts"
) -> RecordsSource:
    """Open a list of dicts. The first rows decide the columns and their kinds, except for the declared `kinds`.

    Columns are sorted by name, since keys may come in any order.
    """
    if not rows:
        raise FileError(f"{name} is empty; give at least one dict")
    found = detect(rows[: sample_rows(len(rows[0]))])
    if odd := [key for key in found if not isinstance(key, str)]:
        raise InputError(f"{name}: the key {odd[0]!r} is not a string; write it as {str(odd[0])!r}")
    found = dict(sorted(found.items()))
    chosen = chosen_kinds(name, found, wanted, kinds)
    records = Records(chosen, found, room=False)
    return RecordsSource(name=name, kinds=chosen, known=found, rows=len(rows), data=rows, records=records)


def chosen_kinds(name: str, found: Mapping[str, Kind], wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """The kind of each wanted key: as declared, otherwise as detected."""
    names = choose(name, list(found), wanted)
    check_declared(name, kinds, list(found))
    return {key: kinds.get(key) or found[key] for key in names}


def _number(value: Any) -> float:
    if is_absent(value):
        return np.nan
    if not is_number(value):
        raise ValueError("not a number")
    return float(value)


def _string(value: Any) -> str | None:
    if isinstance(value, str):
        value.encode()  # raises an error for a lone surrogate such as \ud800, which JSON can write but UTF-8 cannot
        return value
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return _string(value.item())
    if isinstance(value, int | float):
        return json.dumps(value)
    if isinstance(value, Decimal | date | time | timedelta):
        return str(value)
    raise ValueError("not a string")


def _strings(values: Iterable[Any]) -> Strings:
    return strings(map(_string, values))


def _moment(value: Any) -> np.datetime64:
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return written.NO_DATE
    if isinstance(value, datetime):
        return np.datetime64(value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value, "us")
    if isinstance(value, np.datetime64):
        return np.datetime64(value.astype("datetime64[us]"))
    if isinstance(value, date):
        return np.datetime64(value, "us")
    found = written.date(value) if isinstance(value, str) else written.NO_DATE
    if np.isnat(found):
        raise ValueError("not a date")
    return found


def _moments(values: Iterable[Any]) -> Dates:
    return np.array([_moment(value) for value in values], dtype="datetime64[us]")


def _clock(value: Any) -> float:
    if (
        is_missing(value)
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, np.timedelta64) and np.isnat(value))
    ):
        return np.nan
    found = clock.seconds_of(value)
    if np.isnan(found):
        raise ValueError("neither a time of day nor a duration")
    return found


_CONVERT: dict[Kind, Callable[[Any], Any]] = {
    Kind.NUMBER: _number, Kind.TEXT: _string, Kind.DATE: _moment, Kind.TIME: _clock, Kind.DURATION: _clock,
}  # fmt: skip


def _check(row: int, place: Place, key: str, kind: Kind, value: Any, finite: bool = False) -> None:
    try:
        found = _CONVERT[kind](value)
        if finite and kind is Kind.NUMBER and np.isinf(found):
            raise ValueError("not finite")
    except (ValueError, TypeError, OverflowError):  # a UnicodeError is a ValueError
        where = f"{place(row)}, key {key!r}: {shown(str(value))}"
        if isinstance(value, dict | list | tuple):
            raise BadCell(row, f"{where} is nested; leave the column out ({leave_out(key)}), or write it flat") from None
        wanted = "text in Unicode" if kind is Kind.TEXT else "finite" if is_number(value) and kind is Kind.NUMBER else kind.value
        first = "; the first values of a key decide what it holds"
        hint = first if kind is Kind.NUMBER and isinstance(value, str) else ""
        raise BadCell(row, f"{where} is not {wanted}; {remedy(key, kind, str(value))}{hint}") from None
