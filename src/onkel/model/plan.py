"""Chooses the encoding of each column: by the user's wishes, otherwise by the first rows.

string   few values: `OneHot`, with twice as many columns of X as there are values, at least 4
         several words, and mostly different, or lists of items: `Text`
         different in nearly every row, but no text: `LeftOut`
         anything else, and columns that the user names as hashed: `Hashed`, with the means of the target
number   a `Cycle` if its name and its range say so, such as hour from 0 to 23; or if the user says so
         `HourMinute` if it is called a time and all values are like 1430
time     a `Time` of day, or a `Duration`
date     a trend, and the cycles of day, week and year, without those that are too short for the steps between the dates

A column with a missing value in the first rows gets an indicator, one more column of X that is 1 where the value is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.columns import leave_out, listed, sample_rows
from onkel.data.table import Dates, Kind, Source, Strings, Table, joined
from onkel.errors import FileError, InputError
from onkel.model.encoder import Encoder, Missing
from onkel.model.encodings import Column, Date, Hashed, LeftOut, OneHot, Text
from onkel.model.numeric import Cycle, Duration, HourMinute, Number, Time
from onkel.model.words import words

LEAST_ROOM, MOST_VALUES = 4, 32
SEVERAL_WORDS, MOSTLY = 3, 0.5  # text: the least median number of words in a value, and the least share of different values
MONTHS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
WEEKDAYS = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
SEPARATORS, IN_LISTS, FEWER_ITEMS = re.compile(r"\s*[,;|]\s*"), 0.25, 0.7  # lists: separators, least share, most items
IDENTIFIES = 0.95  # with at least this share of different values a column only identifies the rows
WEEKLY, YEARLY = np.timedelta64(6, "D"), np.timedelta64(300, "D")  # dates with steps this long get no cycle of the week, the year

PERIODS: dict[float, str] = {
    24.0: "hour|hr|hours|hourofday|hod",
    60.0: "minute|minuteofhour",
    1440.0: "minuteofday",
    7.0: "weekday|wday|dow|dayofweek|dayoftheweek",
    12.0: "month|mnth|monthofyear",
    4.0: "quarter|qtr",
    365.25: "dayofyear|doy|yday",
    360.0: "winddirection|winddir|bearing|heading|azimuth",
}
CLOCKS = {"time", "hhmm"}
# different values from 100 on that a column needs to count as times like 1430; the probability that the last two digits of this
# many random whole numbers are all below 60 is 2e-7
ENOUGH_TIMES = 30
ENOUGH_TO_RISE = 100  # rows that are needed to say that a column rises along the stream
IDENTIFIERS = {"id", "key", "index", "no", "nr", "number"}


@dataclass(frozen=True)
class Wishes:
    """What the user wants for single columns."""

    hashed: Collection[str] = ()  # columns of strings of which no value gets a column of X of its own
    # columns of numbers that begin again, and their periods; None: found by name and range
    cycles: Mapping[str, float] | None = None


def sampled(source: Source) -> Table:
    """The first rows."""
    tables: list[Table] = []
    rows, enough = 0, sample_rows(len(source.kinds))
    with closing(source.tables(sample=True)) as whole:
        try:
            for table in whole:
                tables.append(table)
                rows += len(table)
                if rows >= enough:
                    break
        except (InputError, FileError):  # the error is raised again later, when the rows before it have been read
            if not rows:
                raise
    if not rows:
        raise FileError(f"{source.name} has no rows; write the data again")
    return joined([table for table in tables if len(table)])[:enough]


def planned(
    sample: Table, kinds: Mapping[str, Kind], missing: Missing, wishes: Wishes = Wishes(), labels: int = 1, spare: int = 0,
    ignored: Sequence[str] = (), grows: bool = False,
) -> Encoder:  # fmt: skip
    """The encoder for columns of these kinds. `labels` is the number of columns of labels whose means are inputs."""
    columns = [_planned(sample, name, kind, wishes, labels, missing is Missing.MEAN) for name, kind in kinds.items()]
    if not any(column.width for column in columns):  # if all columns were left out, they are used nevertheless: hashed
        columns = [Hashed(name, labels=labels) for name in kinds]
    return Encoder(tuple(columns), missing, spare, tuple(ignored), grows)


def assumptions(columns: Sequence[Column], sample: Table, target: str) -> list[str]:
    """Sentences that say how unusual columns are encoded; columns that are encoded alike share a sentence."""
    found: dict[str, list[str]] = {}
    for column in columns:
        said = _on_row_numbers(column.name, sample) if isinstance(column, Number) else column.assumed(target)
        if said:
            period = f" ({column.period:g})" if isinstance(column, Cycle) else ""
            found.setdefault(said, []).append(column.name + period)
    return [f"{', '.join(names)}: {said}" for said, names in found.items()] + _on_rising(columns, sample)


def _on_rising(columns: Sequence[Column], sample: Table) -> list[str]:
    """A warning about columns that rise along the rows, such as dates and counters.

    Early and late rows never have the same value of such a column. A learner that follows the stream forgets what it learnt from
    early rows, so its later predictions for rows like those may be far off.
    """
    rising = [column.name for column in columns if _rises(column.name, sample)]
    if not rising:
        return []
    they = "rises" if len(rising) == 1 else "rise"
    off = "so predictions for rows earlier than the last ones learnt may be far off"
    remedy = f"to predict such rows, leave out what rises: {leave_out(*rising)}"
    return [f"{listed(rising)} {they} along the rows, {off}; {remedy}"]


def _rises(name: str, sample: Table) -> bool:
    """Whether the values never fall from row to row, and hardly any two are equal."""
    if name in sample.strings or not isinstance(sample.numbers, np.ndarray):
        return False
    values = sample.dates[name].astype(np.int64) if name in sample.dates else sample.numbers[:, sample.places[name]]
    if len(values) < ENOUGH_TO_RISE or (name in sample.dates and np.isnat(sample.dates[name]).any()):
        return False
    steps = np.diff(values)
    return bool((steps >= 0).all() and np.count_nonzero(steps) >= MOSTLY * len(steps))


def _on_row_numbers(name: str, sample: Table) -> str:
    """A remark on a column of different whole numbers that is called an id or an index."""
    if not IDENTIFIERS & set(_called(name)) or not isinstance(sample.numbers, np.ndarray):
        return ""
    numbers = sample.numbers[:, sample.places[name]]
    if len(numbers) <= MOST_VALUES or not (np.mod(numbers, 1.0) == 0.0).all() or len(np.unique(numbers)) < len(numbers):
        return ""
    return f"every row has a different number, which was taken as a trend; if it has no meaning: {leave_out(name)}"


def _planned(sample: Table, name: str, kind: Kind, wishes: Wishes, labels: int, indicate: bool) -> Column:
    if name in sample.strings:
        strings = sample.strings[name]
        return _of_strings(name, strings, name in wishes.hashed, labels, indicate and bool((strings.codes < 0).any()))
    if name in sample.dates:
        moments = sample.dates[name]
        return _of_dates(name, moments[~np.isnat(moments)], indicate and bool(np.isnat(moments).any()))
    if not isinstance(sample.numbers, np.ndarray):
        return Number(name)
    numbers = sample.numbers[:, sample.places[name]]
    indicator = indicate and bool(np.isnan(numbers).any())
    if kind in (Kind.TIME, Kind.DURATION):
        return Time(name, indicator) if kind is Kind.TIME else Duration(name, indicator)
    if wishes.cycles is None and is_clock(name, numbers):
        return HourMinute(name, indicator)
    periods = {name: period_of(name, numbers)} if wishes.cycles is None else wishes.cycles
    period = periods.get(name)
    return Cycle(name, period, indicator) if period else Number(name, indicator)


def _of_strings(name: str, strings: Strings, hashed: bool, labels: int, indicator: bool) -> Column:
    codes = strings.codes[strings.codes >= 0]
    values = [str(strings.values[code]) for code in np.unique(codes)]
    if not hashed and len(values) <= MOST_VALUES:
        return OneHot(name, room_for(values), indicator)
    if not hashed and len(values) >= MOSTLY * len(codes) and np.median([len(words(value)) for value in values]) >= SEVERAL_WORDS:
        return Text(name, labels=labels, indicator=indicator)
    if not hashed and are_lists(values):
        return Text(name, labels=labels, indicator=indicator)
    if not hashed and len(values) >= IDENTIFIES * len(codes):
        return LeftOut(name)
    return Hashed(name, labels=labels, indicator=indicator)


def room_for(values: Sequence[str]) -> int:
    """The columns for a string's values: twice as many as there are values so far, and at least one for each month or weekday if
    the values are their names."""
    called = {value[:3].lower() for value in values}
    known = max((len(names) for names in (MONTHS, WEEKDAYS) if called and called <= names), default=LEAST_ROOM)
    return max(known, 2 * len(values))


def are_lists(values: Sequence[str]) -> bool:
    """Whether the values are lists, such as "Comedy, Drama": many values have more than one item, and there are fewer different
    items than different values."""
    lists = [[item for item in SEPARATORS.split(value) if item] for value in values]
    several = sum(len(items) > 1 for items in lists)
    return several >= IN_LISTS * len(values) and len({item for items in lists for item in items}) <= FEWER_ITEMS * len(values)


def _of_dates(name: str, moments: Dates, indicator: bool) -> Date:
    steps = np.diff(np.unique(moments))
    step = np.median(steps) if steps.size else np.timedelta64(0, "us")
    clock = bool((moments != moments.astype("datetime64[D]")).any())
    since = str(moments.min().astype("datetime64[D]")) if moments.size else "1970-01-01"
    return Date(name, since, clock, bool(step < WEEKLY), bool(step < YEARLY), indicator)


def periods_given(cycles: Any) -> tuple[tuple[str, float], ...]:
    """The user's periods as pairs of column and period. They may be given as a dict, {"hour": 24}, or as pairs."""
    try:
        pairs = [(name, period) for name, period in (cycles.items() if isinstance(cycles, Mapping) else cycles)]
        return tuple((column.name, column.period) for column in (Cycle(*pair) for pair in pairs if isinstance(pair[0], str)))
    except (TypeError, ValueError):
        raise InputError(f"cycles must be columns and their periods, such as {{'hour': 24}}, got {cycles!r:.60}") from None


def period_of(name: str, numbers: Vector) -> float | None:
    """The period of numbers whose name and range are those of hours, months and the like; None for others."""
    there = numbers[~np.isnan(numbers)]
    if not there.size or there.min() < 0.0 or set(there.tolist()) == {0.0, 1.0}:
        return None
    called = set(_called(name))
    fitting = (period for period, known in PERIODS.items() if called & set(known.split("|")) and there.max() <= np.ceil(period))
    return next(fitting, None)


def is_clock(name: str, numbers: Vector) -> bool:
    """Whether the column is called a time and its numbers have hours and minutes as digits: 5 for 0:05, 1430 for 14:30."""
    there = np.unique(numbers[~np.isnan(numbers)])
    if not CLOCKS & set(_called(name)) or np.count_nonzero(there >= 100.0) < ENOUGH_TIMES:
        return False
    return bool((there >= 0.0).all() and (there <= 2400.0).all() and (there % 1.0 == 0.0).all() and (there % 100.0 < 60.0).all())


def _called(name: str) -> Iterable[str]:
    """The names by which a column is recognised, in lower case: pickup_hour is "pickuphour" and "hour"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return ("".join(parts[start:]).lower() for start in range(len(parts)))
