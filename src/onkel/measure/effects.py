"""The curve of each column: the mean of what a model answers for some rows, if one column of all of them had this value and the
others were as they are (Friedman's partial dependence). Answers use no earlier labels. Nothing is learnt.

A date is taken as a stretch of time: its dates are given to the rows in turn, so that what follows the week or the hour cancels
out, and the trend remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.data.table import Dates, Kind, Strings, Table, joined
from onkel.measure.importance import with_column
from onkel.model import Model, State

ROWS = 200  # rows over which a mean is taken
POINTS = 24  # the largest number of values of a column of numbers: quantiles if it has more
VALUES = 12  # the largest number of strings: the most frequent
_Found = tuple[tuple[Any, ...], Any, Any]  # values, rows of the table with a missing one, rows with each value
CLASSES = 5  # the largest number of classes with a curve: the most frequent


@dataclass(frozen=True, repr=False)
class Effect:
    """The curve of one column."""

    name: str
    values: tuple[Any, ...]  # numbers or dates (datetime64), increasing, or strings, the most frequent first
    outputs: tuple[str, ...]  # the classes whose probability is averaged; one empty string for a regression
    means: Matrix  # (values, outputs)
    rows: int  # rows over which the means were taken
    blank: Vector | None = None  # the means if the value is missing, (outputs,); None if none is, or such rows have no answer

    @property
    def is_date(self) -> bool:
        return isinstance(self.values[0], np.datetime64)

    def __repr__(self) -> str:
        return f"<Effect of {self.name} at {len(self.values)} values>"


def effects(model: Model, state: State, rows: Sequence[Table], columns: Sequence[str]) -> tuple[Effect, ...]:
    """The curves of these columns: numbers, strings and dates; columns with a single value have none.

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
    found = (
        _effect(model, state, table, sample, name) for name in columns if kinds.get(name) in (Kind.NUMBER, Kind.TEXT, Kind.DATE)
    )
    return tuple(one for one in found if one is not None)


def _effect(model: Model, state: State, table: Table, sample: Table, name: str) -> Effect | None:
    """Values, and for each the rows of the table whose values the rows of the sample are given."""
    values, missing, places = (
        _strings(table.strings[name]) if name in table.strings else
        _dates(table.dates[name], len(sample)) if name in table.dates else
        _numbers(table.numbers[:, table.places[name]])
    )  # fmt: skip
    if len(values) < 2:
        return None

    def answered(at: Any) -> tuple[Matrix, tuple[str, ...]]:
        rows: Counts = np.broadcast_to(np.asarray(at, dtype=np.int64), len(sample))
        return _answers(model, state, with_column(sample, table, name, rows))

    answers, outputs = zip(*map(answered, places), strict=True)
    if any(len(one) == 0 for one in answers):
        return None
    means = np.array([one.mean(axis=0) for one in answers])
    without = answered(missing[0])[0] if len(missing) else np.empty(0)
    return Effect(name, values, outputs[0], means, len(sample), without.mean(axis=0) if len(without) else None)


def _numbers(column: Vector) -> _Found:
    """Values of a column, increasing, and a row of the table with each."""
    missing = np.flatnonzero(np.isnan(column))
    order = np.argsort(column, kind="stable")[: len(column) - len(missing)]
    if not len(order):
        return (), missing, order
    first = order[np.concatenate([[True], np.diff(column[order]) > 0.0])]
    if len(first) > POINTS:
        of_all = order[np.linspace(0.01 * (len(order) - 1), 0.99 * (len(order) - 1), POINTS).astype(int)]
        first = of_all[np.concatenate([[True], np.diff(column[of_all]) > 0.0])]
    return tuple(column[first].tolist()), missing, first


def _dates(column: Dates, rows: int) -> _Found:
    """The middle of each of some stretches of time, and rows of the table whose dates are spread evenly over it."""
    missing = np.flatnonzero(np.isnat(column))
    order = np.argsort(column, kind="stable")[: len(column) - len(missing)]
    stretches = [part for part in np.array_split(order, min(POINTS, len(order))) if len(part)] if len(order) else []
    middles = [column[part[len(part) // 2]] for part in stretches]
    new = [k for k, middle in enumerate(middles) if k == 0 or middle > middles[k - 1]]
    spread = [stretches[k][np.linspace(0, len(stretches[k]) - 1, rows).astype(np.int64)] for k in new]
    return tuple(middles[k] for k in new), missing, spread


def _strings(column: Strings) -> _Found:
    """The most frequent strings of a column, and a row of the table with each."""
    codes, first, counts = np.unique(column.codes, return_index=True, return_counts=True)
    there = np.flatnonzero(codes >= 0)
    most = there[np.argsort(-counts[there], kind="stable")][:VALUES]
    return tuple(str(column.values[code]) for code in codes[most]), np.flatnonzero(column.codes < 0), first[most]


def _answers(model: Model, state: State, table: Table) -> tuple[Matrix, tuple[str, ...]]:
    """Numbers, or the probabilities of the most frequent classes; and the names of the classes."""
    scores, _ = model.scores_any(state, table)
    if state.target.task == "regression":
        return scores.reshape(-1, 1), ("",)
    labels = [str(label) for label in model.classes(state)]
    shown = [1] if len(labels) == 2 else list(range(min(CLASSES, len(labels))))
    return model.probabilities(state, scores)[:, shown], tuple(labels[k] for k in shown)
