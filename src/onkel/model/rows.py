"""Rows as the user passes them: labels that are given separately, dicts, and arrays become tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from onkel.combine.wrapper import takes_sparse
from onkel.data.labels import classes_of, labels_of
from onkel.data.records import of_rows, of_rows_from
from onkel.data.table import Labels, Origin, Strings, Table, rows_at_once
from onkel.errors import InputError
from onkel.model.learning import State
from onkel.model.stream import Stream


def separate_labels(task: str | None, rows: Any) -> tuple[Any, Labels] | None:
    """Rows and their labels, if they are given separately: (X, y) of many rows, or (row, label) with a dict."""
    if not (isinstance(rows, tuple) and len(rows) == 2) or isinstance(rows[1], Mapping):
        return None
    X, y = rows
    one = isinstance(X, Mapping)
    if not (one or are_dicts(X) or hasattr(X, "shape")):
        return None
    if task == "classification":
        return X, y if isinstance(y, Strings) else classes_of([y] if one else y)
    return X, y if isinstance(y, Strings) or hasattr(y, "name") else labels_of([y] if one else y)


def are_dicts(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows)


def tables_of_dicts(
    state: State, rows: Sequence[Any], y: Labels | None, labelled: bool, without: Sequence[str], first: int = 0
) -> Iterator[Table]:  # fmt: skip
    """Makes tables of dicts. The columns and their kinds are known; an absent key is a missing value. `first`: the number by which
    messages call the first row."""
    target, ignored = state.target, tuple(without) if y is not None else (*without, state.target.name)
    if y is None and labelled and target.one_hot and not all(isinstance(label, str) for label in state.labels):
        y = classes_of([row.get(target.name) for row in rows])  # the classes so far are numbers or other objects, not strings
    y = y if isinstance(y, Strings | None) else labels_of(y)
    if y is not None and len(y) != len(rows):
        raise InputError(f"y must hold one label for each of the {len(rows):,} rows, got {len(y):,}")
    records = state.encoder.records({target.name: target.kind} if labelled and y is None else {}, ignored)
    step = rows_at_once(state.encoder.width + 1)
    for start in range(0, len(rows), step):
        for table in records.tables(rows[start : start + step], of_rows_from(first + start)):
            yield table if y is None else dataclasses.replace(table, labels=y[start : start + len(table)])


def is_vector(row: Any) -> bool:
    """Whether `rows` is a single row, given as an array of its numbers."""
    return type(row) is np.ndarray and row.ndim == 1


def table_of_vector(state: State, task: str | None, row: Any) -> Table:
    """A table of a single row, given as an array of its numbers, or as (array, label)."""
    x, y = row if isinstance(row, tuple) else (row, None)
    names, late = state.encoder.names_of_numbers, state.encoded.late
    if len(names) < len(state.encoder.columns):
        raise InputError("some columns of this model are strings or dates; give the row as a dict")
    if len(x) != len(names) + len(late):
        raise InputError(f"the row has {len(x)} values, the rows before it had {len(names) + len(late)}")
    labels = None if y is None else classes_of([y]) if task == "classification" else labels_of([y])
    numbers = np.array(x, dtype=float).reshape(1, -1)
    took = {name: numbers[:, len(names) + k] for k, name in enumerate(late)}
    return Table(names, numbers[:, : len(names)], {}, {}, (Origin(1, state.rows, of_rows),), took, labels)


class Opens(Protocol):
    """The part of a model that is needed to make tables of rows."""

    @property
    def task(self) -> str | None: ...

    @property
    def without(self) -> tuple[str, ...]: ...

    def open_again(self, state: State, rows: Any, *, labelled: bool = True) -> Stream: ...


def tables_of(model: Opens, state: State, rows: Any, labelled: bool = True) -> Iterator[Table]:
    """Rows of any form as tables with the columns of the state."""
    if isinstance(rows, Table):
        if isinstance(rows.numbers, np.ndarray) or takes_sparse(state.learner):
            return iter([rows])
        step = rows_at_once(state.encoder.width + 1)  # sparse rows are made dense a few at a time
        return (rows[start : start + step] for start in range(0, len(rows), step))
    if is_vector(rows[0] if type(rows) is tuple and len(rows) == 2 else rows):
        return iter([table_of_vector(state, model.task, rows)])
    given, y = separate_labels(model.task, rows) or (rows, None)
    one = isinstance(given, Mapping)
    if one or are_dicts(given):
        first = state.rows if one else 0  # a single row has the number that it would have in the stream
        return tables_of_dicts(state, [given] if one else given, y, labelled, model.without, first)
    return model.open_again(state, rows, labelled=labelled).tables()
