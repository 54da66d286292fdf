"""The curve of each column: the mean of what a model answers for some rows, if one column of all of them had this value and the
others were as they are (Friedman's partial dependence). Answers use no earlier labels. Nothing is learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Counts, Matrix
from onkel.data.table import Kind, Strings, Table, joined
from onkel.measure.importance import with_column
from onkel.model import Model, State

ROWS = 200  # rows over which a mean is taken
POINTS = 24  # the largest number of values of a column of numbers: quantiles if it has more
VALUES = 12  # the largest number of strings: the most frequent
CLASSES = 5  # the largest number of classes with a curve: the most frequent


@dataclass(frozen=True, repr=False)
class Effect:
    """The curve of one column."""

    name: str
    values: tuple[Any, ...]  # numbers, increasing, or strings, the most frequent first
    outputs: tuple[str, ...]  # the classes whose probability is averaged; one empty string for a regression
    means: Matrix  # (values, outputs)
    rows: int  # rows over which the means were taken

    def __repr__(self) -> str:
        return f"<Effect of {self.name} at {len(self.values)} values>"


def effects(model: Model, state: State, rows: Sequence[Table], columns: Sequence[str]) -> tuple[Effect, ...]:
    """The curves of these columns, numbers and strings; dates and columns with a single value have none.

    model    The model.
    state    Its state, which does not change.
    rows     Rows, of which some are taken, evenly spaced.
    columns  The names of columns.
    """
    table = joined(list(rows))
    if not isinstance(table.numbers, np.ndarray) or (state.target.task == "classification" and not model.has_probabilities(state)):
        return ()
    few = np.unique(np.linspace(0, len(table) - 1, ROWS).astype(np.int64))
    sample = table.take(few)
    kinds = {column.name: column.kind for column in state.encoder.columns}
    found = (_effect(model, state, table, sample, name) for name in columns if kinds.get(name) in (Kind.NUMBER, Kind.TEXT))
    return tuple(one for one in found if one is not None)


def _effect(model: Model, state: State, table: Table, sample: Table, name: str) -> Effect | None:
    values, places = _strings(table.strings[name]) if name in table.strings else _numbers(table, name)
    if len(values) < 2:
        return None
    answers, outputs = zip(
        *(_answers(model, state, with_column(sample, table, name, np.full(len(sample), at))) for at in places), strict=True
    )
    if any(len(one) == 0 for one in answers):
        return None
    means = np.array([one.mean(axis=0) for one in answers])
    return Effect(name, values, outputs[0], means, len(sample))


def _numbers(table: Table, name: str) -> tuple[tuple[float, ...], Counts]:
    """Values of a column, increasing, and a row of the table with each."""
    column = table.numbers[:, table.names.index(name)]
    order = np.argsort(column, kind="stable")[: int(np.count_nonzero(~np.isnan(column)))]
    if not len(order):
        return (), order
    first = order[np.concatenate([[True], np.diff(column[order]) > 0.0])]
    if len(first) > POINTS:
        of_all = order[np.linspace(0.01 * (len(order) - 1), 0.99 * (len(order) - 1), POINTS).astype(int)]
        first = of_all[np.concatenate([[True], np.diff(column[of_all]) > 0.0])]
    return tuple(column[first].tolist()), first


def _strings(column: Strings) -> tuple[tuple[str, ...], Counts]:
    """The most frequent strings of a column, and a row of the table with each."""
    codes, first, counts = np.unique(column.codes, return_index=True, return_counts=True)
    there = np.flatnonzero(codes >= 0)
    most = there[np.argsort(-counts[there], kind="stable")][:VALUES]
    return tuple(str(column.values[code]) for code in codes[most]), first[most]


def _answers(model: Model, state: State, table: Table) -> tuple[Matrix, tuple[str, ...]]:
    """Numbers, or the probabilities of the most frequent classes; and the names of the classes."""
    scores, _ = model.scores_any(state, table)
    if state.target.task == "regression":
        return scores.reshape(-1, 1), ("",)
    labels = [str(label) for label in model.classes(state)]
    shown = [1] if len(labels) == 2 else list(range(min(CLASSES, len(labels))))
    return model.probabilities(state, scores)[:, shown], tuple(labels[k] for k in shown)
