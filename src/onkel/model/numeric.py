"""How a column of numbers, times of day or durations is encoded; in a table all three are numbers.

number   Number: the number itself                                                                      1 column
         Cycle: the number, and sine and cosine of its place in a period, such as an hour in the day    3
         HourMinute: 1430 is 14:30; like a Time                                                         3
time     Time: the seconds since midnight, and sine and cosine of its place in the day                  3
duration Duration: its seconds                                                                          1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import flag, real
from onkel.data.clock import DAY
from onkel.data.table import Kind


@dataclass(frozen=True)
class Number:
    name: str
    indicator: bool = False  # one more column: 1 where the value was missing
    late: bool = False  # whether the column first appeared after other rows; then a row without it is neither refused nor dropped

    kind: ClassVar[Kind] = Kind.NUMBER
    width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        flag(self, "indicator", "late")

    def names(self, state: Any) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class Cycle:
    name: str
    period: float = 24.0
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.NUMBER
    late: ClassVar[bool] = False
    width: ClassVar[int] = 3

    def __post_init__(self) -> None:
        real(self, "period", least=1e-9)
        flag(self, "indicator")

    def names(self, state: Any) -> list[str]:
        return [self.name, *(f"{self.name}: {wave} of {self.period:g}" for wave in ("sine", "cosine"))]

    def assumed(self, target: str) -> str:
        return "a number, and its place in a cycle of this length; cycles={} (--cycles none) makes it a number alone"

    def write(self, X: Matrix) -> None:
        """Add the waves to the numbers in the first column; they are 0 where the number is missing."""
        _add_waves(X, self.period)


@dataclass(frozen=True)
class Time:
    """A time of day."""

    name: str
    indicator: bool = False
    late: bool = False  # see `Number`

    kind: ClassVar[Kind] = Kind.TIME
    width: ClassVar[int] = 3

    def __post_init__(self) -> None:
        flag(self, "indicator", "late")

    def names(self, state: Any) -> list[str]:
        return [f"{self.name}: seconds since midnight", *(f"{self.name}: {wave} of the day" for wave in ("sine", "cosine"))]

    def assumed(self, target: str) -> str:
        return "a time of day: the seconds since midnight, and its place in the day"

    def write(self, X: Matrix) -> None:
        """Add the waves to the seconds in the first column; they are 0 where the time is missing."""
        _add_waves(X, DAY)


@dataclass(frozen=True)
class HourMinute:
    """A number whose last two digits are minutes, and those before them hours."""

    name: str
    indicator: bool = False

    kind: ClassVar[Kind] = Kind.NUMBER
    late: ClassVar[bool] = False
    width: ClassVar[int] = 3

    def __post_init__(self) -> None:
        flag(self, "indicator")

    def names(self, state: Any) -> list[str]:
        return [f"{self.name}: seconds since midnight", *(f"{self.name}: {wave} of the day" for wave in ("sine", "cosine"))]

    def assumed(self, target: str) -> str:
        return "a clock, 1430 for 14:30: the seconds since midnight, and its place in the day; --cycles none makes it a number"

    def write(self, X: Matrix) -> None:
        """Turn the number into seconds and add the waves."""
        hours, minutes = np.divmod(X[:, 0], 100.0)
        X[:, 0] = 3600.0 * hours + 60.0 * minutes
        _add_waves(X, DAY)


@dataclass(frozen=True)
class Duration:
    name: str
    indicator: bool = False
    late: bool = False  # see `Number`

    kind: ClassVar[Kind] = Kind.DURATION
    width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        flag(self, "indicator", "late")

    def names(self, state: Any) -> list[str]:
        return [f"{self.name}: seconds"]

    def assumed(self, target: str) -> str:
        return "a duration, in seconds"


Waves = Cycle | Time | HourMinute
Numeric = Number | Duration | Waves


def _add_waves(X: Matrix, period: float) -> None:
    there = np.flatnonzero(~np.isnan(X[:, 0]))
    X[there, 1], X[there, 2] = waves(X[there, 0] / period % 1.0)


def waves(turns: Vector) -> tuple[Vector, Vector]:
    angle = 2.0 * np.pi * turns
    return np.sin(angle), np.cos(angle)
