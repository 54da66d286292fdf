"""A quick way for one row: the X of a row that teaches the encoder nothing new, made without a table.

A row is usual if it has all columns and no others, no value is missing, and every string has its place in X. Anything else (a
missing value, a new key, a value that comes for the first time, a hashed column) goes through a table, which also finds the errors.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.data.table import Kind
from onkel.model.encodings import Column, Cycle, Date, LeftOut, OneHot, State


class UsualRow:
    """What can be prepared once for all rows of an encoder."""

    def __init__(self, columns: Sequence[Column], starts: Sequence[int], width: int, ignored: Iterable[str]) -> None:
        placed = list(zip(columns, starts, strict=True))
        numbers = [(column.name, start) for column, start in placed if column.kind is Kind.NUMBER]
        self.cycles = [(column, start) for column, start in placed if isinstance(column, Cycle)]
        self.strings = [(column.name, start) for column, start in placed if isinstance(column, OneHot)]
        self.dates = [(column, start) for column, start in placed if isinstance(column, Date)]
        self.left_out = [column.name for column in columns if isinstance(column, LeftOut)]
        self.exists = len(columns) == len(numbers) + len(self.strings) + len(self.dates) + len(self.left_out)
        self.columns, self.width = len(columns), width
        self.known = frozenset((*ignored, *(column.name for column in columns)))
        self.places = [start for _, start in numbers]
        self.is_plain = len(columns) == width and self.places == list(range(width))
        self._numbers = _getter([name for name, _ in numbers])

    def encoded(self, row: Mapping[str, Any], state: State, target: str | None) -> Matrix | None:
        """The row as X, or None if it is not usual. Its label may be under the key `target`."""
        more = len(row) - self.columns
        if more and not (more == 1 and target in row) and not row.keys() <= self.known | {target}:
            return None
        try:
            cells = self._numbers(row)
            if not math.isfinite(sum(cells)):
                return None
            X: Matrix = np.frombuffer(array("d", cells)).reshape(1, -1)
            return X if self.is_plain else self._placed(X, row, state)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def _placed(self, numbers: Matrix, row: Mapping[str, Any], state: State) -> Matrix | None:
        """X with the numbers in their places, and with strings and dates; None if one of these is not usual."""
        X = np.zeros((1, self.width))
        X[0, self.places] = numbers
        for name, start in self.strings:
            X[0, start + state.places[name][row[name]]] = 1.0
        for cycle, start in self.cycles:
            cycle.write(X[:, start : start + cycle.width])
        for name in self.left_out:
            if type(row[name]) is not str or not row[name].strip():
                return None
        for column, start in self.dates:
            moment = row[column.name]
            if type(moment) is not datetime or moment.tzinfo is not None:
                return None
            column.write(np.array([moment], dtype="datetime64[us]"), state, X[:, start : start + column.width], False)
        return X

    def of_numbers(self, row: NDArray[Any]) -> Matrix | None:
        """A row that is given as an array of its numbers, if these are all of X."""
        if self.is_plain and row.shape == (self.width,) and row.dtype == np.float64 and math.isfinite(sum(row.tolist())):
            return np.array(row).reshape(1, -1)
        return None


def _getter(names: list[str]) -> Any:
    """A function of a row that returns the values under these names."""
    if len(names) > 1:
        return operator.itemgetter(*names)
    return lambda row: [row[name] for name in names]
