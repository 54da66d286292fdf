"""A quick way for one row: the X of a row that teaches the encoder nothing new, made without a table.

A row is usual if it has all columns and no others, every number is there, and every string has its place in X. Anything else
(a missing value, a new key, a value that comes for the first time, a column of dates) takes the way of a table, which also finds
the words for what is wrong.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.model.encodings import Column, Number, OneHot, State


class UsualRow:
    """What can be prepared once for all rows of an encoder."""

    def __init__(self, columns: Sequence[Column], starts: Sequence[int], width: int, ignored: Iterable[str]) -> None:
        placed = list(zip(columns, starts, strict=True))
        numbers = [(column.name, start) for column, start in placed if isinstance(column, Number)]
        self.strings = [(column.name, start) for column, start in placed if isinstance(column, OneHot)]
        self.exists = len(numbers) + len(self.strings) == len(columns)
        self.columns, self.width = len(columns), width
        self.known = frozenset((*ignored, *(column.name for column in columns)))
        self.places = [start for _, start in numbers]
        self.is_plain = self.places == list(range(width))
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
            if self.is_plain:
                return X
            wide = np.zeros((1, self.width))
            wide[0, self.places] = X
            for name, start in self.strings:
                wide[0, start + state.places[name][row[name]]] = 1.0
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return wide

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
