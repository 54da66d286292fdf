"""From the column to predict to y: its numbers as they are, or -1 and 1 for two labels. NaN where the cell is missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._types import Vector
from onkel.data.columns import SAMPLE_ROWS, listed
from onkel.data.table import Table
from onkel.errors import InputError

__all__ = ["Signs", "Value"]

Label = str | float


@dataclass(frozen=True)
class Value:
    name: str

    def encode(self, table: Table) -> Vector:
        y = np.array(_numbers(table, self.name))
        if np.isinf(y).any():
            row = int(np.flatnonzero(np.isinf(y))[0])
            raise InputError(f"{table.place(row)}, column {self.name!r}: {y[row]} is not finite; correct it or drop the row")
        return y


@dataclass(frozen=True)
class Signs:
    """Two classes: y is -1 for the label `low` and 1 for `high`."""

    name: str
    low: Label
    high: Label

    def __post_init__(self) -> None:
        if self.low == self.high:
            raise InputError(f"the labels of two classes must differ, got {self.low!r} twice")

    def encode(self, table: Table) -> Vector:
        if self.name in table.texts:
            column = table.texts[self.name]
            y = np.array([*(self._sign(value) for value in column.values), np.nan])[column.codes]
        else:
            found = _numbers(table, self.name)
            y = np.select([found == self.high, found == self.low, np.isnan(found)], [1.0, -1.0, np.nan], default=0.0)
        if (y == 0.0).any():
            row = int(np.flatnonzero(y == 0.0)[0])
            label = column.values[column.codes[row]] if self.name in table.texts else found[row]
            raise InputError(
                f"{table.place(row)}, column {self.name!r}: the label {plain(label)} is neither {plain(self.low)} nor "
                f"{plain(self.high)}; two classes are known, or say --task regression to predict the number"
            )
        return y

    def _sign(self, label: str) -> float:
        return 1.0 if label == self.high else -1.0 if label == self.low else 0.0


@dataclass(frozen=True)
class Unlabelled:
    """There is none: y is 0 everywhere."""

    name: str = ""

    def encode(self, table: Table) -> Vector:
        return np.zeros(len(table))


Target = Value | Signs | Unlabelled


def two_labels(sample: Table, name: str) -> tuple[Label, Label] | None:
    """The labels of two classes, where the first rows have two texts, or only -1 and 1 or 0 and 1; None for other numbers."""
    if name not in sample.texts:
        found = _numbers(sample, name)
        numbers = set(found[~np.isnan(found)].tolist())
        low = 0.0 if 0.0 in numbers else -1.0
        return (low, 1.0) if numbers <= {low, 1.0} else None
    column = sample.texts[name]
    seen = sorted({column.values[code] for code in column.codes if code >= 0})
    if len(seen) == 2:
        return seen[0], seen[1]
    if len(seen) > 2:
        raise InputError(f"the target {name!r} has more than two labels: {listed(seen)}; two classes are known so far")
    raise InputError(
        f"the first {SAMPLE_ROWS} rows have one label in {name!r}, {listed(seen)}; shuffle the rows, or name both: "
        "labels=(low, high) (--labels low,high)"
    )


def plain(label: Label) -> str:
    """A label as messages show it."""
    return repr(label) if isinstance(label, str) else f"{label:g}"


def _numbers(table: Table, name: str) -> Vector:
    if name in table.dates:
        raise InputError(f"the target {name!r} is a date; choose a column of numbers or of two labels, or declare it as text")
    return table.numbers[:, table.names.index(name)]
