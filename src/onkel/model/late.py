"""New keys and values of dicts during the first rows, while the learner still stores all rows: the encoder gets more columns.

A new key gets a column of the kind of its first value. It begins as if it had been there from the start, with missing values until
then. A string whose column has no place for another value gets twice as many. A table is cut before each row that needs more room,
so it does not matter how rows are divided into calls. `spare.py` says what becomes of keys that come after the first rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.data.records import column_of, is_absent, kind_of
from onkel.data.table import Kind, Table
from onkel.model.encoder import Encoder
from onkel.model.encodings import Column, Date, OneHot, State
from onkel.model.numeric import Duration, Number, Time
from onkel.model.plan import MOST_VALUES, room_for

MOST_ROOM = 2 * MOST_VALUES  # columns for the values of a string; further values share the last one

Mask = NDArray[np.bool_]


def with_room(encoder: Encoder, state: State, table: Table, labelled: Mask) -> tuple[Encoder, int]:
    """The encoder with room for the first row of the table, and the number of rows before the next one that needs more room."""
    wanted = list(_wanted(encoder, state, table, labelled))
    if now := [column for row, column in wanted if row == 0]:
        encoder = extended(encoder, now)
        wanted = list(_wanted(encoder, state, taking_late(encoder, table), labelled))
    return encoder, min((row for row, _ in wanted), default=len(table))


def extended(encoder: Encoder, columns: Sequence[Column]) -> Encoder:
    """The encoder with these columns, each new or wider than before. All are in the order of their names, so it does not matter
    which key came first."""
    of_names = {column.name: column for column in (*encoder.columns, *columns)}
    return dataclasses.replace(encoder, columns=tuple(of_names[name] for name in sorted(of_names)))


def places(encoder: Encoder, before: Encoder) -> list[int]:
    """The columns of X to which the columns of an earlier encoder moved when it was `extended`."""
    now = {column.name: (start, column) for column, start in zip(encoder.columns, encoder.starts, strict=True)}
    found = []
    for column in before.columns:
        start, wider = now[column.name]
        found += [*range(start, start + column.width), *([start + wider.width] if column.indicator else [])]
    return [*found, *range(encoder.width - encoder.spare, encoder.width)]


def admit(encoder: Encoder, state: State) -> None:
    """Let the state of an earlier encoder be one of the `extended` encoder."""
    for column in encoder.columns:
        if isinstance(column, OneHot):
            state.values.setdefault(column.name, [])
            state.shared.setdefault(column.name, 0)


def taking_late(encoder: Encoder, table: Table) -> Table:
    """A table that was read before the encoder was `extended`: its late columns become columns like the others."""
    if not encoder.late or not (lacking := [column for column in encoder.columns if not _has(table, column)]):
        return table
    names, numbers, late = list(table.names), [table.numbers], dict(table.late)
    strings, dates = dict(table.strings), dict(table.dates)
    for column in lacking:
        cells = late.pop(column.name, np.full(len(table), None)).tolist()
        found: Any = column_of(column.kind, column.name, cells, table.place)
        if column.kind.is_numeric:
            names.append(column.name)
            numbers.append(found[:, None])
        else:
            target: dict[str, Any] = strings if column.kind is Kind.TEXT else dates
            target[column.name] = found
    return dataclasses.replace(
        table,
        names=tuple(names),
        numbers=np.hstack(numbers),
        strings=strings,
        dates=dates,
        late=late,
    )


def _has(table: Table, column: Column) -> bool:
    return column.name in (table.names if column.kind.is_numeric else table.strings if column.kind is Kind.TEXT else table.dates)


def _wanted(encoder: Encoder, state: State, table: Table, labelled: Mask) -> Iterator[tuple[int, Column]]:
    """The columns that are new or must be wider, each with the first labelled row that needs it."""
    known = {column.name for column in encoder.columns}
    for name, cells in table.late.items():
        there = labelled & np.array([not is_absent(cell) for cell in cells.tolist()], dtype=bool)
        if name not in known and there.any():
            row = int(np.argmax(there))
            yield row, _late_column(name, cells[row], table.place)
    for column in encoder.columns:
        if isinstance(column, OneHot) and column.room < MOST_ROOM and column.name in table.strings:
            yield from _outgrown(column, state.values.get(column.name, []), table, labelled)


def _outgrown(column: OneHot, seen: Sequence[str], table: Table, labelled: Mask) -> Iterator[tuple[int, OneHot]]:
    """The column with more room, and the first row whose value has no place in it; nothing if there is no such row."""
    strings = table.strings[column.name]
    known, free = set(seen), column.room - len(seen)
    if len(known.union(strings.values)) <= column.room:
        return
    codes, first = np.unique(np.where(labelled, strings.codes, -1), return_index=True)
    fresh = sorted(
        (int(row), str(strings.values[code]))
        for code, row in zip(codes, first, strict=True)
        if code >= 0 and strings.values[code] not in known
    )
    if len(fresh) > free:
        values = [*seen, *(value for _, value in fresh[: free + 1])]
        yield fresh[free][0], dataclasses.replace(column, room=min(room_for(values), MOST_ROOM))


def _late_column(name: str, cell: Any, place: Any) -> Column:
    kind = kind_of([cell])
    if kind is Kind.TEXT:
        return OneHot(name, room_for([str(cell).strip()]), late=True)
    if kind is Kind.DATE:
        found: Any = column_of(kind, name, [cell], place)
        day = found.astype("datetime64[D]")
        return Date(name, str(day[0]), bool(found[0] != day[0]), late=True)
    if kind is Kind.TIME:
        return Time(name, late=True)
    return Duration(name, late=True) if kind is Kind.DURATION else Number(name, late=True)
