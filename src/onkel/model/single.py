"""A quick way for one row: if the encoder has nothing new to learn from it, X is made without a table.

A row is usual if all its keys are known and every string and date is there and has its place in X. Numbers may be missing if they
are filled in. Anything else (a new key, a value that comes for the first time, a hashed column) goes through a table, which also
finds the errors.
"""

from __future__ import annotations

import math
import operator
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix
from onkel.model.encodings import Column, Date, LeftOut, OneHot, State
from onkel.model.numeric import Cycle, HourMinute, Number


class UsualRow:
    """The quick way for the rows of one encoder: everything that does not depend on the row is prepared once."""

    def __init__(
        self, columns: Sequence[Column], starts: Sequence[int], width: int, ignored: Iterable[str], fills: bool
    ) -> None:  # fmt: skip
        placed = list(zip(columns, starts, strict=True))
        self.numbers = [(column, start) for column, start in placed if isinstance(column, Number | Cycle | HourMinute)]
        self.cycles = [(column, start) for column, start in placed if isinstance(column, Cycle | HourMinute)]
        self.strings = [(column.name, start, column.late) for column, start in placed if isinstance(column, OneHot)]
        self.dates = [(column, start) for column, start in placed if isinstance(column, Date)]
        self.left_out = [column.name for column in columns if isinstance(column, LeftOut)]
        self.exists = len(columns) == len(self.numbers) + len(self.strings) + len(self.dates) + len(self.left_out)
        self.columns, self.width, self.fills = len(columns), width, fills
        self.known = frozenset((*ignored, *(column.name for column in columns)))
        self.places = [start for _, start in self.numbers]
        self.is_plain = len(columns) == width and self.places == list(range(width))
        self._numbers = _getter([column.name for column, _ in self.numbers])
        self._doubles = f"{len(self.numbers)}d"

    def write(self, row: Mapping[str, Any], state: State, target: str | None, X: Matrix) -> bool | None:
        """Write a usual row to X, (1, width). Returns whether numbers are missing in it (NaN); None if the row is not usual.

        Its label may be under the key `target`.
        """
        more = len(row) - self.columns
        if more and not (more == 1 and target in row) and not row.keys() <= self.known | {target}:
            return None
        try:
            cells = self._numbers(row)
            total = sum(cells)
        except (KeyError, TypeError):
            if not self.fills or not row.keys() <= self.known | {target}:
                return None
            cells, total = [_or_gap(row.get(column.name)) for column, _ in self.numbers], math.nan
        if abs(total) > LARGEST_NUMBER:
            return None
        has_gaps = not math.isfinite(total)
        try:
            if self.is_plain:
                struct.pack_into(self._doubles, X.data, 0, *cells)
            elif not self._place(cells, row, state, has_gaps, X):
                return None
        except (KeyError, TypeError, ValueError, OverflowError, struct.error):
            return None
        return has_gaps if not has_gaps or (self.fills and not np.isinf(X).any()) else None

    def filled(self, X: Matrix) -> list[str]:
        """The columns whose number is missing in this row and is counted as filled in."""
        return [column.name for column, start in self.numbers if X[0, start] != X[0, start] and not column.late]

    def _place(self, cells: Sequence[Any], row: Mapping[str, Any], state: State, has_gaps: bool, X: Matrix) -> bool:
        """Write numbers, strings and dates to their places in X; False if a string or date is not usual."""
        X.fill(0.0)
        X[0, self.places] = np.frombuffer(array("d", cells)) if cells else ()
        for column, start in self.numbers if has_gaps else ():
            if column.indicator and np.isnan(X[0, start]):
                X[0, start + column.width] = 1.0
        for name, start, late in self.strings:
            if not late or row.get(name) is not None:
                X[0, start + state.places[name][row[name]]] = 1.0
        for cycle, start in self.cycles:
            cycle.write(X[:, start : start + cycle.width])
        for name in self.left_out:
            if type(row[name]) is not str or not row[name].strip():
                return False
        for date, start in self.dates:
            moment = row[date.name]
            if type(moment) is not datetime or moment.tzinfo is not None:
                return False
            date.write(np.array([moment], dtype="datetime64[us]"), state, X[:, start : start + date.width], False)
        return True

    def write_numbers(self, row: NDArray[Any], X: Matrix) -> bool | None:
        """`write` for a row that is given as an array. It is usual if its numbers are all of X and none is missing."""
        if self.is_plain and row.shape == (self.width,) and row.dtype == np.float64 and abs(sum(row.tolist())) <= LARGEST_NUMBER:
            np.copyto(X[0], row)
            return False
        return None


def _or_gap(value: Any) -> Any:
    return math.nan if value is None else value


def _getter(names: list[str]) -> Any:
    """A function of a row that returns the values under these names."""
    return operator.itemgetter(*names) if len(names) > 1 else partial(_values_of, names)


def _values_of(names: list[str], row: Mapping[str, Any]) -> list[Any]:
    return [row[name] for name in names]
