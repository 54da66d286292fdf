"""Rows that wait for their labels, and how a file holds them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError

Row = dict[str, Any] | NDArray[np.float64]
PLAIN = (str, int, float, bool, type(None))  # what a file can hold


class Waiting(NamedTuple):
    row: Row
    lagged: tuple[float, ...]  # what the learner knew of earlier labels when the row was predicted


def packed(rows: Mapping[Hashable, Waiting]) -> list[Any]:
    """As lists and dicts of plain values, ready for JSON."""
    return [[*plain("id", [id]), _packed(waiting.row), list(waiting.lagged)] for id, waiting in rows.items()]


def _packed(row: Row) -> Any:
    if not isinstance(row, dict):
        return row.tolist()
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
    return dict(zip(values, plain("value", list(values.values())), strict=True))


def unpacked(rows: list[Any], lags: int) -> dict[Hashable, Waiting]:
    found: dict[Hashable, Waiting] = {}
    for id, row, lagged in rows:
        if len(lagged) not in (0, lags):
            raise InputError("its waiting rows know of other labels than its learner asks for")
        given = row if isinstance(row, dict) else np.array(row, dtype=np.float64)
        found[plain("id", [id])[0]] = Waiting(given, tuple(map(float, lagged)))
    return found


def plain(what: str, values: list[Any]) -> list[Any]:
    """The values, where a file can hold them."""
    for value in values:
        if type(value) not in PLAIN:
            raise InputError(
                f"the {what} {value!r:.60} is {type(value).__name__}; a file holds strings, numbers, True, False and None alone"
            )
    return values
