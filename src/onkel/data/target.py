"""From the column to predict to y: its numbers as they are, -1 and 1 for two labels, or 0, 1, 2 … for classes as they come.

NaN where the cell is missing. `encode` is given the labels that came before, and adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.table import Table
from onkel.errors import InputError

__all__ = ["Classes", "Signs", "Value"]

Label = str | float

MOST_CLASSES = 500


@dataclass(frozen=True)
class Value:
    name: str

    def encode(self, table: Table, labels: list[Label]) -> Vector:
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

    def encode(self, table: Table, labels: list[Label]) -> Vector:
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
                f"{plain(self.high)}; say --task classification for any number of classes, or --task regression to predict a number"
            )
        return y

    def _sign(self, label: str) -> float:
        return 1.0 if label == self.high else -1.0 if label == self.low else 0.0


@dataclass(frozen=True)
class Classes:
    """Any number of classes, new ones at any time: y is the place of the row's label among those that came, 0 for the first."""

    name: str
    text: bool = True  # the labels are texts, not numbers

    def encode(self, table: Table, labels: list[Label]) -> Vector:
        found: Sequence[Label]
        if self.text:
            codes, found = table.texts[self.name].codes, table.texts[self.name].values
        else:
            numbers = Value(self.name).encode(table, labels)
            there = ~np.isnan(numbers)
            distinct, places = np.unique(numbers[there], return_inverse=True)
            codes, found = np.full(len(numbers), -1), distinct.tolist()
            codes[there] = places
        known = {label: float(k) for k, label in enumerate(labels)}
        for code in dict.fromkeys(codes[codes >= 0].tolist()):
            if found[code] not in known:
                known[found[code]] = float(len(known))
                labels.append(found[code])
            if len(labels) > MOST_CLASSES:
                place = table.place(int(np.flatnonzero(codes == code)[0]))
                remedy = (
                    "choose another column" if self.text else "say --task regression to predict a number, or choose another column"
                )
                raise InputError(f"{place}, column {self.name!r}: these are more than {MOST_CLASSES} different labels; {remedy}")
        return np.array([*(known.get(label, np.nan) for label in found), np.nan])[codes]


@dataclass(frozen=True)
class Unlabelled:
    """There is none: y is 0 everywhere."""

    name: str = ""

    def encode(self, table: Table, labels: list[Label]) -> Vector:
        return np.zeros(len(table))


Target = Value | Signs | Classes | Unlabelled


def is_text(target: Target) -> bool:
    """Whether the column it comes from is one of texts."""
    return target.text if isinstance(target, Classes) else isinstance(target, Signs) and isinstance(target.low, str)


def two_labels(sample: Table, name: str) -> tuple[Label, Label] | None:
    """The labels of two classes, where the first rows have two texts, or only -1 and 1 or 0 and 1; None for anything else."""
    seen = labels_in(sample, name)
    if name not in sample.texts:
        low = 0.0 if 0.0 in seen else -1.0
        return (low, 1.0) if set(seen) <= {low, 1.0} else None
    return (seen[0], seen[1]) if len(seen) == 2 else None


def labels_in(sample: Table, name: str) -> list[Any]:
    """What stands in a column, each once, in order."""
    if name in sample.texts:
        column = sample.texts[name]
        return sorted({column.values[code] for code in column.codes if code >= 0})
    found = _numbers(sample, name)
    return sorted(set(found[~np.isnan(found)].tolist()))


def plain(label: Label) -> str:
    """A label as messages show it."""
    return repr(label) if isinstance(label, str) else str(cell(label))


def cell(label: Label) -> str | float | int:
    """A label as a file would have it: 1, not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _numbers(table: Table, name: str) -> Vector:
    if name in table.dates:
        raise InputError(f"the target {name!r} is a date; choose a column of numbers or of labels, or declare it as text")
    return table.numbers[:, table.names.index(name)]
