"""How a column of a table is encoded. Every column has its place in X for good, since the width of a learner is fixed at `init`:

number   itself                                                                                         1 column
text     OneHot: 1 in the place of its value, which it gets when it first appears; late ones share the last    room
         Hashed: ±1 in a place chosen by a hash of its value; nothing is kept                                  width
date     Cyclic: sine and cosine of the time of day, of the week, of the year                              2 each
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import flag, whole
from onkel.data.table import Dates, Kind, Strings
from onkel.state import memory

LARGEST_ROOM = 1 << 16
_DAY = np.timedelta64(1, "D")
_MONDAY = np.datetime64("1970-01-05", "us")


@memory
class State:
    """What the rows so far have taught; plain numbers and strings, ready for JSON."""

    values: dict[str, list[str]]  # of each OneHot, in the order of their columns
    shared: dict[str, int]  # rows whose value had to share the last column
    filled: dict[str, int] = field(default_factory=dict)  # missing values, by column
    dropped: int = 0  # rows
    late: list[str] = field(default_factory=list)  # the columns that came later, in the order of the spare ones that they took
    crowded: int = 0  # numbers that found no spare column

    @functools.cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """The place of each value of each OneHot. A state whose values may still change is a copy (see `learning.py`)."""
        return {name: {value: k for k, value in enumerate(values)} for name, values in self.values.items()}

    def copy(self) -> State:
        values = {name: list(seen) for name, seen in self.values.items()}
        shared, filled = dict(self.shared), dict(self.filled)
        return State(values, shared, filled, self.dropped, list(self.late), self.crowded)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> State:
        return State(**tree)


@dataclass(frozen=True)
class Number:
    name: str
    indicator: bool = False  # one more column: 1 where the value was missing
    late: bool = False  # it came after other rows: where it is absent, no row is refused or dropped

    kind: ClassVar[Kind] = Kind.NUMBER

    def __post_init__(self) -> None:
        flag(self, "indicator")
        flag(self, "late")

    @property
    def width(self) -> int:
        return 1

    def names(self, state: State) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class OneHot:
    name: str
    room: int = 8  # values that get a column of their own, the last of which is shared by all that come later
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.TEXT

    def __post_init__(self) -> None:
        whole(self, "room", least=1, most=LARGEST_ROOM)
        flag(self, "indicator")

    @property
    def width(self) -> int:
        return self.room

    def names(self, state: State) -> list[str]:
        seen = state.values[self.name]
        return [f"{self.name}={seen[k]}" if k < len(seen) else f"{self.name}#{k}" for k in range(self.room)]

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
    width: int = 64
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.TEXT

    def __post_init__(self) -> None:
        whole(self, "width", least=1, most=LARGEST_ROOM)
        flag(self, "indicator")

    def names(self, state: State) -> list[str]:
        return [f"{self.name}#{k}" for k in range(self.width)]

    def write(self, column: Strings, state: State, X: Matrix, learning: bool) -> None:
        there = np.flatnonzero(column.codes >= 0)
        found = [_hash(self.name, value) for value in column.values]
        place = np.array([value % self.width for value in found], dtype=np.int64)
        sign = np.array([1.0 if value >> 63 else -1.0 for value in found])
        codes = column.codes[there]
        X[there, place[codes]] = sign[codes]


@dataclass(frozen=True)
class Cyclic:
    name: str
    day: bool = True
    week: bool = True
    year: bool = True
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.DATE

    def __post_init__(self) -> None:
        for part in ("day", "week", "year", "indicator"):
            flag(self, part)

    @property
    def width(self) -> int:
        return 2 * len(self._parts())

    def _parts(self) -> list[str]:
        return [part for part in ("day", "week", "year") if getattr(self, part)]

    def names(self, state: State) -> list[str]:
        return [f"{self.name}: {wave} of the {part}" for part in self._parts() for wave in ("sine", "cosine")]

    def write(self, column: Dates, state: State, X: Matrix, learning: bool) -> None:
        there = np.flatnonzero(~np.isnat(column))
        moments = column[there]
        for k, part in enumerate(self._parts()):
            angle = 2.0 * np.pi * _PHASES[part](moments)
            X[there, 2 * k], X[there, 2 * k + 1] = np.sin(angle), np.cos(angle)


Column = Number | OneHot | Hashed | Cyclic


def _hash(name: str, value: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{name}\0{value}".encode(), digest_size=8).digest(), "big")


def _of_day(moments: Dates) -> Vector:
    return np.asarray((moments - moments.astype("datetime64[D]")) / _DAY)


def _of_week(moments: Dates) -> Vector:
    return np.asarray(((moments - _MONDAY) / _DAY / 7.0) % 1.0)


def _of_year(moments: Dates) -> Vector:
    years = moments.astype("datetime64[Y]")
    return np.asarray((moments - years) / ((years + 1).astype("datetime64[us]") - years))


_PHASES = {"day": _of_day, "week": _of_week, "year": _of_year}
