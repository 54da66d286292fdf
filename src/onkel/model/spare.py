"""Spare columns of X, for keys of dicts that appear when no column can be added any more.

A number takes one, which is a gap (NaN) until then, and later in rows without this key. Of a string each value takes one: 1 where
the key has this value, 0 elsewhere. Times and durations are numbers of seconds, dates numbers of days. Columns are taken in the
order of the rows, and within a row by name, so it does not matter how the stream is cut into blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.data.records import MOST_NOTED, column_of, is_absent, kind_of
from onkel.data.table import Kind, Strings
from onkel.model.encodings import State

_DAY = np.timedelta64(1, "D")
_EPOCH = np.datetime64(0, "us")
SPARE = 8  # columns that a note recommends to keep
NAMED = 8  # at most this many keys are named in a note


def write_spare(late: Mapping[str, NDArray[Any]], state: State, X: Matrix, learning: bool) -> None:
    """Write late values to the spare columns X; if `learning`, new ones take columns for good, otherwise as if they came next."""
    X[:] = np.nan
    X[:, [k for k, value in enumerate(state.marked) if value is not None]] = 0.0
    known = {key: k for k, key in enumerate(zip(state.late, state.marked, strict=True))}
    rows: dict[int, list[tuple[str, Any]]] = {}
    for name in sorted(late):
        for row in (k for k, cell in enumerate(late[name].tolist()) if not is_absent(cell)):
            rows.setdefault(row, []).append((name, late[name][row]))
    for row in sorted(rows):
        places = known if learning else dict(known)
        for name, cell in rows[row]:
            number, value = _read(cell)
            if (name, value) not in places and len(places) < X.shape[1]:
                places[name, value] = len(places)
                if learning:
                    state.late.append(name)
                    state.marked.append(value)
                    X[row:, places[name, value]] = np.nan if value is None else 0.0
            if (name, value) in places:
                X[row, places[name, value]] = number
            elif learning:
                _pass_over(state, name)


def spare_names(state: State, spare: int) -> list[str]:
    """The names of the spare columns."""
    taken = [name if value is None else f"{name}={value}" for name, value in zip(state.late, state.marked, strict=True)]
    return [*taken, *(f"spare#{k}" for k in range(len(taken), spare))]


def notes_on_spare(state: State, spare: int) -> list[str]:
    """Which columns were taken, and which values found none."""
    took = [f"{name!r} came late and took a spare column" for name in spare_names(state, len(state.late))]
    if not state.crowded:
        return took
    more, keys = 2 * spare or SPARE, list(state.passed)
    names = ", ".join(map(repr, keys[:NAMED])) + (" and others" if len(keys) > NAMED else "")
    count, were = ("1 value", "was") if state.crowded == 1 else (f"{state.crowded:,} values", "were")
    of = f" of {names}" if keys else ""
    return [
        *took,
        f"{count}{of} {were} not used: too late for a column of their own; keep columns free: spare={more} (--spare {more})",
    ]


def _pass_over(state: State, name: str) -> None:
    state.crowded += 1
    if name in state.passed or len(state.passed) < MOST_NOTED:
        state.passed[name] = state.passed.get(name, 0) + 1


def _read(cell: Any) -> tuple[float, str | None]:
    """The number that is written for a late value, and the string that it marks, if it is one."""
    column = column_of(kind := kind_of([cell]), "", [cell], str)
    if isinstance(column, Strings):
        return 1.0, str(column.values[0])
    return float((column[0] - _EPOCH) / _DAY if kind is Kind.DATE else column[0]), None
