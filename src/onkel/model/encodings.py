"""How a column of a table is encoded. It gets a fixed number of columns of X at `init`, because the learner's width is fixed then.

number   see `numeric`                                                                                  1 or 3 columns
string   OneHot: 1 in the column of the value, which it gets when it first appears; late ones share     room
         Hashed: ±1 in a column chosen by a hash of the value; and the mean of the target for each      buckets + labels
         Text: the words of the value, each ±1 in a column chosen by its hash; and their means          buckets + labels
         LeftOut: nothing                                                                               0
date     Date: days since the first rows; sine and cosine of the time of day, of the week, of the year  1, and 2 each"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import flag, whole
from onkel.data.dates import date
from onkel.data.table import Dates, Kind, Strings
from onkel.errors import InputError
from onkel.model.numeric import Numeric, waves
from onkel.model.target_means import SLOTS, TargetMeans, Terms
from onkel.model.words import hashed, terms, words
from onkel.state import memory

LARGEST_ROOM = 1 << 16
BUCKETS = 16  # columns that the words of a text are hashed into
_DAY = np.timedelta64(1, "D")
_MONDAY = np.datetime64("1970-01-05", "us")


@memory
class State:
    """What was learnt from the rows so far."""

    values: dict[str, list[str]]  # the values of each OneHot, in the order of their columns
    shared: dict[str, int]  # rows whose value had to share the last column
    filled: dict[str, int] = field(default_factory=dict)  # missing values, by column
    dropped: int = 0  # rows
    unlabelled: int = 0  # the dropped rows that had no label
    # the keys that came later, in the order of the spare columns that they took
    late: list[str] = field(default_factory=list)
    crowded: int = 0  # the number of late values for which no spare column was left
    means: dict[str, TargetMeans] = field(default_factory=dict)  # for each Hashed or Text that uses labels
    # for each spare column that was taken the string whose rows it marks; None if it holds a number
    marked: list[str | None] = field(default_factory=list)
    passed: dict[str, int] = field(default_factory=dict)  # how many of the `crowded` values the first keys among them had

    @functools.cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """For each OneHot, the index of each value. This may be cached, because rows with new values are learnt by a copy of the
        state (see `learning.py`)."""
        return {name: {value: k for k, value in enumerate(values)} for name, values in self.values.items()}

    def copy(self) -> State:
        values = {name: list(seen) for name, seen in self.values.items()}
        shared, filled = dict(self.shared), dict(self.filled)
        means = {name: found.copy() for name, found in self.means.items()}
        counts = self.dropped, self.unlabelled, list(self.late), self.crowded
        return State(values, shared, filled, *counts, means, list(self.marked), dict(self.passed))

    def to_json(self) -> dict[str, Any]:
        plain = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}
        return {**plain, "means": {name: found.to_json() for name, found in self.means.items()}}

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> State:
        means = {name: TargetMeans.from_json(found) for name, found in tree["means"].items()}
        return State(**{"marked": [None] * len(tree["late"]), **tree, "means": means})


@dataclass(frozen=True)
class OneHot:
    name: str
    room: int = 8  # the number of columns; values that come when all are taken share the last one
    indicator: bool = False
    late: bool = False  # see `Number`

    kind: ClassVar[Kind] = Kind.TEXT

    def __post_init__(self) -> None:
        whole(self, "room", least=1, most=LARGEST_ROOM)
        flag(self, "indicator", "late")

    @property
    def width(self) -> int:
        return self.room

    def names(self, state: State) -> list[str]:
        seen = state.values[self.name]
        return [f"{self.name}={seen[k]}" if k < len(seen) else f"{self.name}#{k}" for k in range(self.room)]

    def assumed(self, target: str) -> str:
        return ""

    def write(self, column: Strings, state: State, X: Matrix, learning: bool) -> None:
        seen = state.values[self.name]
        known = {value: k for k, value in enumerate(seen)}
        places = np.array([*(known.get(value, -1) for value in column.values), -1], dtype=np.int64)
        place = places[column.codes]
        there = column.codes >= 0
        fresh = there & (place < 0)
        if fresh.any():
            codes, first = np.unique(column.codes[fresh], return_index=True)
            for code in codes[np.argsort(first)]:
                if learning and len(seen) < self.room:
                    seen.append(column.values[code])
                    places[code] = len(seen) - 1
                else:
                    places[code] = min(len(seen), self.room - 1)
                    state.shared[self.name] += learning * int(np.count_nonzero(column.codes == code))
            place = places[column.codes]
        X[np.flatnonzero(there), place[there]] = 1.0


@dataclass(frozen=True)
class Hashed:
    name: str
    buckets: int = 8  # columns that values are hashed into
    labels: int = 0  # columns of labels whose mean for each value is an input
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.TEXT
    late: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_hashed(self)

    @property
    def width(self) -> int:
        return self.buckets + self.labels

    def names(self, state: State) -> list[str]:
        return _hashed_names(self)

    def assumed(self, target: str) -> str:
        means = f", and the mean of {target} for each value so far" if self.labels else ""
        return f"many different strings, hashed into {self.buckets} columns{means}"

    def write(self, column: Strings, state: State, X: Matrix, learning: bool) -> None:
        there = np.flatnonzero(column.codes >= 0)
        found = [self._hash(value) for value in column.values]
        place = np.array([value % self.buckets for value in found], dtype=np.int64)
        sign = np.array([1.0 if value >> 63 else -1.0 for value in found])
        codes = column.codes[there]
        X[there, place[codes]] = sign[codes]

    def terms(self, column: Strings) -> Terms:
        """The hashed value of each row, for `TargetMeans`."""
        there = column.codes >= 0
        slots = np.array([self._hash(value) // self.buckets % SLOTS for value in column.values], dtype=np.int64)
        return Terms(np.concatenate([[0], np.cumsum(there)]), slots[column.codes[there]])

    def _hash(self, value: str) -> int:
        return hashed(f"{self.name}\0{value}")


@dataclass(frozen=True)
class Text:
    name: str
    buckets: int = BUCKETS  # columns that words are hashed into
    labels: int = 0  # columns of labels whose mean for the words is an input
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.TEXT
    late: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_hashed(self)

    @property
    def width(self) -> int:
        return self.buckets + self.labels

    def names(self, state: State) -> list[str]:
        return _hashed_names(self)

    def assumed(self, target: str) -> str:
        means = f", and the mean of {target} for its words so far" if self.labels else ""
        return f"text, the words hashed into {self.buckets} columns{means}"

    def write(self, column: Strings, state: State, X: Matrix, learning: bool) -> None:
        """Write the words of each text as a row of length 1, so that long texts count no more than short ones."""
        described = np.array([*(self._described(value) for value in column.values), np.zeros(self.buckets)])
        X[:, : self.buckets] = described[column.codes]

    def terms(self, column: Strings) -> Terms:
        """The hashed words of each row, for `TargetMeans`."""
        of_values = [np.array([hashed(word) % SLOTS for word in words(value)], dtype=np.int64) for value in column.values]
        rows = [of_values[code] if code >= 0 else np.empty(0, dtype=np.int64) for code in column.codes]
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return Terms(start, np.concatenate([np.empty(0, dtype=np.int64), *rows]))

    def _described(self, text: str) -> Vector:
        found = [(hashed(term), count) for term, count in terms(text)]
        places = np.array([term % self.buckets for term, _ in found], dtype=np.int64)
        sums = np.bincount(places, [count if term >> 63 else -count for term, count in found], self.buckets)
        return np.asarray(sums / max(1.0, float(np.sqrt(sums @ sums))))


@dataclass(frozen=True)
class LeftOut:
    name: str

    kind: ClassVar[Kind] = Kind.TEXT
    late: ClassVar[bool] = False
    width: ClassVar[int] = 0
    indicator: ClassVar[bool] = False

    def names(self, state: State) -> list[str]:
        return []

    def assumed(self, target: str) -> str:
        return "nearly every row has a different value, so it was left out; hashed=… (--hash) uses it nevertheless"


@dataclass(frozen=True)
class Date:
    name: str
    since: str = "1970-01-01"  # the trend is the number of days since this date
    day: bool = True
    week: bool = True
    year: bool = True
    indicator: bool = False
    late: bool = False  # see `Number`

    kind: ClassVar[Kind] = Kind.DATE

    def __post_init__(self) -> None:
        flag(self, "day", "week", "year", "indicator", "late")
        if not isinstance(self.since, str) or np.isnat(date(self.since)):
            raise InputError(f"Date: since must be a date such as '2026-11-16', got {self.since!r:.60}")

    @property
    def width(self) -> int:
        return 1 + 2 * len(self.parts)

    @property
    def parts(self) -> list[str]:
        """The cycles."""
        return [part for part in ("day", "week", "year") if getattr(self, part)]

    def names(self, state: State) -> list[str]:
        waves = [f"{self.name}: {wave} of the {part}" for part in self.parts for wave in ("sine", "cosine")]
        return [f"{self.name}: days since {self.since}", *waves]

    def assumed(self, target: str) -> str:
        *others, last = self.parts or [""]
        both = f"{', '.join(others)} and {last}" if others else last
        return f"a date: the trend in days since {self.since}" + (f", and its place in the {both}" if last else "")

    def write(self, column: Dates, state: State, X: Matrix, learning: bool) -> None:
        """Write trend and waves of each date. If a date is missing, the trend is a gap and the waves are 0."""
        there = np.flatnonzero(~np.isnat(column))
        moments = column[there]
        X[:, 0] = np.nan
        X[there, 0] = (moments - date(self.since)) / _DAY
        for k, part in enumerate(self.parts):
            X[there, 1 + 2 * k], X[there, 2 + 2 * k] = waves(_PHASES[part](moments))


Column = Numeric | OneHot | Hashed | Text | LeftOut | Date


def _check_hashed(column: Hashed | Text) -> None:
    whole(column, "buckets", least=1, most=LARGEST_ROOM)
    whole(column, "labels", least=0, most=LARGEST_ROOM)
    flag(column, "indicator")


def _hashed_names(column: Hashed | Text) -> list[str]:
    means = [f"{column.name}: mean of the target{f' {k}' * (column.labels > 1)}" for k in range(column.labels)]
    return [*(f"{column.name}#{k}" for k in range(column.buckets)), *means]


def _of_day(moments: Dates) -> Vector:
    return np.asarray((moments - moments.astype("datetime64[D]")) / _DAY)


def _of_week(moments: Dates) -> Vector:
    return np.asarray(((moments - _MONDAY) / _DAY / 7.0) % 1.0)


def _of_year(moments: Dates) -> Vector:
    years = moments.astype("datetime64[Y]")
    return np.asarray((moments - years) / ((years + 1).astype("datetime64[us]") - years))


_PHASES = {"day": _of_day, "week": _of_week, "year": _of_year}
