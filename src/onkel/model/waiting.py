"""Rows that were predicted and wait for their labels, and how a file holds them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import date, datetime
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError

Row = dict[str, Any] | NDArray[np.float64]
DATE = "date"  # marks one in a file
PLAIN = (str, int, float, bool, type(None))  # what a file can hold


class Waiting(NamedTuple):
    row: Row
    lagged: tuple[float, ...]  # the earlier labels that were known when the row was predicted


class WaitingRows(dict[Hashable, Waiting]):
    """Rows by their ids, the oldest first. `too_late` counts the labels that came for rows that were no longer here."""

    too_late = 0

    def keep(self, id: Hashable, row: Waiting, most: int) -> None:
        """Keep a row as the newest one, and at most `most` of all."""
        self.pop(id, None)
        self[id] = row
        while len(self) > most:
            del self[next(iter(self))]

    def packed(self) -> list[Any]:
        """The waiting rows as lists and dicts of plain values, ready for JSON."""
        return [[*plain("id", [id]), _packed(one.row), list(one.lagged)] for id, one in self.items()]

    @classmethod
    def unpacked(cls, rows: list[Any], lags: int, too_late: int) -> Self:
        found = cls()
        found.too_late = too_late
        for id, row, lagged in rows:
            if len(lagged) not in (0, lags):
                raise InputError("its waiting rows do not have the number of earlier labels that its learner uses")
            given = _row(row) if isinstance(row, dict) else np.array(row, dtype=np.float64)
            found[plain("id", [id])[0]] = Waiting(given, tuple(map(float, lagged)))
        return found


def plain(what: str, values: list[Any]) -> list[Any]:
    """The values, unchanged; an error if a file cannot hold one of them."""
    for value in values:
        if type(value) not in PLAIN:
            raise InputError(
                f"the {what} {value!r:.60} is {type(value).__name__}; a file holds strings, numbers, True, False and None alone"
            )
    return values


def _packed(row: Row) -> Any:
    if not isinstance(row, dict):
        return [_cell(value) for value in row.tolist()]
    values = {name: _cell(value.item() if isinstance(value, np.generic) else value) for name, value in row.items()}
    plain("value", [value for value in values.values() if not isinstance(value, dict)])
    return values


def _cell(value: Any) -> Any:
    """A value ready for JSON: NaN becomes None, and a date is marked as a date."""
    if isinstance(value, date):
        return {DATE: datetime(value.year, value.month, value.day).isoformat() if type(value) is date else value.isoformat()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _row(row: dict[str, Any]) -> Row:
    return {name: datetime.fromisoformat(value[DATE]) if isinstance(value, dict) else value for name, value in row.items()}
