"""Rows that wait for their labels, and how a file holds them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError

Row = dict[str, Any] | NDArray[np.float64]
DATE = "date"  # marks one in a file
PLAIN = (str, int, float, bool, type(None))  # what a file can hold


class Waiting(NamedTuple):
    row: Row
    lagged: tuple[float, ...]  # the earlier labels that were known when the row was predicted


def packed(rows: Mapping[Hashable, Waiting]) -> list[Any]:
    """The waiting rows as lists and dicts of plain values, ready for JSON."""
    return [[*plain("id", [id]), _packed(waiting.row), list(waiting.lagged)] for id, waiting in rows.items()]


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


def unpacked(rows: list[Any], lags: int) -> dict[Hashable, Waiting]:
    found: dict[Hashable, Waiting] = {}
    for id, row, lagged in rows:
        if len(lagged) not in (0, lags):
            raise InputError("its waiting rows do not have the number of earlier labels that its learner uses")
        given = _row(row) if isinstance(row, dict) else np.array(row, dtype=np.float64)
        found[plain("id", [id])[0]] = Waiting(given, tuple(map(float, lagged)))
    return found


def _row(row: dict[str, Any]) -> Row:
    return {name: datetime.fromisoformat(value[DATE]) if isinstance(value, dict) else value for name, value in row.items()}


def plain(what: str, values: list[Any]) -> list[Any]:
    """The values, unchanged; an error if a file cannot hold one of them."""
    for value in values:
        if type(value) not in PLAIN:
            raise InputError(
                f"the {what} {value!r:.60} is {type(value).__name__}; a file holds strings, numbers, True, False and None alone"
            )
    return values
