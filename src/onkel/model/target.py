"""The column to predict: how its cells become labels for a learner, and a learner's scores become answers.

Value     a number, or several at once; the answer is the score
Signs     one of two labels, low and high, which the learner sees as -1 and 1
Classes   one of any number of labels, new ones at any time: the learner sees one column for each, in the order in which they came

A label's *code* is the number that stands for it: the number itself, or the place of a class among the labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import LARGEST_NUMBER
from onkel._types import Matrix, Vector
from onkel._validate import whole
from onkel.combine.assembly import LEAST_CLASSES
from onkel.data.table import Dates, Kind, Labels, Strings, Table
from onkel.errors import InputError
from onkel.protocol import tasks_of

__all__ = ["Classes", "Signs", "Value"]

Label = str | float
Mask = NDArray[np.bool_]

MOST_CLASSES = 500
MOST_NUMBERED = 50  # a learner that knows only classes takes at most this many different whole numbers as classes
MOST_MEANS = 8  # the means of at most this many columns of labels are inputs


@runtime_checkable
class Target(Protocol):
    """A frozen config. `labels` are the classes seen so far."""

    @property
    def name(self) -> str: ...

    task: ClassVar[str]
    one_hot: ClassVar[bool]  # the learner gets one column of labels for each class

    @property
    def outputs(self) -> int:
        """The number of columns of labels before the first row."""

    @property
    def kind(self) -> Kind:
        """The kind of the column's cells."""

    def missing(self, table: Table) -> Mask:
        """Which rows have no label."""

    def codes(self, table: Table, labels: list[Label]) -> Vector:
        """The code of each row's label, NaN where it is missing. New labels are appended to `labels`."""

    def classes(self, labels: Sequence[Label]) -> list[Label]:
        """The classes as the user wrote them, in the order of their scores; empty for numbers."""

    def code(self, label: Any, labels: list[Label]) -> float | None:
        """The code of one label: a number, or a class that came before; None for any other label."""

    def coded(self, codes: Vector, outputs: int, absent: float) -> Matrix:
        """The labels for the learner; `absent` is the label of the classes that a row does not belong to."""

    def scores(self, scores: Vector, labels: Sequence[Label]) -> Vector:
        """The learner's scores with one column for each class; for numbers unchanged."""

    def predicted_codes(self, scores: Vector, met: Mask | None = None) -> Vector:
        """The code of each prediction. `met` says which classes were seen before each row; the code is -1 if there was none."""


def too_large(place: str, name: str, value: float) -> InputError:
    """The error for a number that is infinite or so large that arithmetic would overflow."""
    if math.isinf(value):
        return InputError(f"{place}, column {name!r}: {value} is not finite; correct it or drop the row")
    limit = f"numbers beyond {LARGEST_NUMBER:g} would overflow; correct it, or rescale the column"
    return InputError(f"{place}, column {name!r}: {value:g} is too large; {limit}")


@dataclass(frozen=True)
class Value:
    name: str
    columns: int | None = None  # how many numbers are predicted for each row, as an array; None: a single number

    task: ClassVar[str] = "regression"
    one_hot: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind.NUMBER

    def __post_init__(self) -> None:
        whole(self, "columns", least=1, most=2**20, optional=True)

    @property
    def outputs(self) -> int:
        return self.columns or 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a prediction for one row."""
        return () if self.columns is None else (self.columns,)

    def missing(self, table: Table) -> Mask:
        missing = np.isnan(_numbers(table.cells(self.name), self.name))
        return missing if missing.ndim == 1 else np.asarray(missing.any(axis=1))

    def codes(self, table: Table, labels: list[Label]) -> Vector:
        y = np.array(_numbers(table.cells(self.name), self.name))
        if y.shape[1:] != self.shape:
            wanted = "one number for each row" if self.columns is None else f"{self.columns} numbers for each row"
            raise InputError(f"y must hold {wanted}, as in the first rows, got shape {y.shape}")
        if len(wrong := np.argwhere(np.isinf(y))):
            row, *column = map(int, wrong[0])
            raise too_large(table.place(row), self.name, y[row, *column])
        return y

    def code(self, label: Any, labels: list[Label]) -> float | None:
        is_number = self.columns is None and isinstance(label, float | int)
        return float(label) if is_number and abs(label) <= LARGEST_NUMBER else None

    def classes(self, labels: Sequence[Label]) -> list[Label]:
        return []

    def coded(self, codes: Vector, outputs: int, absent: float) -> Matrix:
        return codes

    def scores(self, scores: Vector, labels: Sequence[Label]) -> Vector:
        return scores.reshape(len(scores), *self.shape)

    def predicted_codes(self, scores: Vector, met: Mask | None = None) -> Vector:
        return scores


@dataclass(frozen=True)
class Signs:
    name: str
    low: Label
    high: Label

    task: ClassVar[str] = "classification"
    one_hot: ClassVar[bool] = False
    outputs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.low == self.high:
            raise InputError(f"the labels of two classes must differ, got {self.low!r} twice")

    @property
    def kind(self) -> Kind:
        return Kind.TEXT if isinstance(self.low, str) else Kind.NUMBER

    def missing(self, table: Table) -> Mask:
        return _missing(table, self.name)

    def codes(self, table: Table, labels: list[Label]) -> Vector:
        found = table.cells(self.name)
        if isinstance(found, Strings):
            codes = np.array([*(self._code(value) for value in found.values), np.nan])[found.codes]
        else:
            found = _numbers(found, self.name)
            codes = np.select([found == self.high, found == self.low, np.isnan(found)], [1.0, 0.0, np.nan], default=-1.0)
        if (codes == -1.0).any():
            row = int(np.flatnonzero(codes == -1.0)[0])
            label = found.values[found.codes[row]] if isinstance(found, Strings) else found[row]
            raise InputError(
                f"{table.place(row)}, column {self.name!r}: the label {shown(label)} is neither {shown(self.low)} nor "
                f"{shown(self.high)}; say --task classification for any number of classes, or --task regression to predict a number"
            )
        return codes

    def _code(self, label: Any) -> float:
        return 1.0 if label == self.high else 0.0 if label == self.low else -1.0

    def code(self, label: Any, labels: list[Label]) -> float | None:
        code = self._code(label)
        return code if code >= 0.0 else None

    def classes(self, labels: Sequence[Label]) -> list[Label]:
        return [cell(self.low), cell(self.high)]

    def coded(self, codes: Vector, outputs: int, absent: float) -> Matrix:
        return 2.0 * codes - 1.0

    def scores(self, scores: Vector, labels: Sequence[Label]) -> Vector:
        return np.column_stack([-scores, scores])

    def predicted_codes(self, scores: Vector, met: Mask | None = None) -> Vector:
        """The code of each prediction; a score of 0 is the high label."""
        return np.asarray(scores[:, 1] >= 0.0, dtype=float)


@dataclass(frozen=True)
class Classes:
    name: str
    text: bool = True  # whether the labels are strings or other objects, not numbers

    task: ClassVar[str] = "classification"
    one_hot: ClassVar[bool] = True
    outputs: ClassVar[int] = LEAST_CLASSES

    @property
    def kind(self) -> Kind:
        return Kind.TEXT if self.text else Kind.NUMBER

    def missing(self, table: Table) -> Mask:
        return _missing(table, self.name)

    def codes(self, table: Table, labels: list[Label]) -> Vector:
        found: Sequence[Label]
        cells = table.cells(self.name)
        if isinstance(cells, Strings):
            places, found = cells.codes, cells.values if self.text else [self.label(value) for value in cells.values]
        else:
            numbers = Value(self.name).codes(table, labels)
            there = ~np.isnan(numbers)
            distinct, of_these = np.unique(numbers[there], return_inverse=True)
            places, found = np.full(len(numbers), -1), distinct.tolist()
            places[there] = of_these
        known = {label: float(k) for k, label in enumerate(labels)}
        for place in dict.fromkeys(places[places >= 0].tolist()):
            if found[place] not in known:
                known[found[place]] = float(len(known))
                labels.append(found[place])
            if len(labels) > MOST_CLASSES:
                row = table.place(int(np.flatnonzero(places == place)[0]))
                remedy = (
                    "choose another column" if self.text else "say --task regression to predict a number, or choose another column"
                )
                raise InputError(f"{row}, column {self.name!r}: these are more than {MOST_CLASSES} different labels; {remedy}")
        return np.array([*(known.get(label, np.nan) for label in found), np.nan])[places]

    def code(self, label: Any, labels: list[Label]) -> float | None:
        return float(labels.index(label)) if label in labels else None

    def label(self, given: Any) -> Any:
        """The label in the form in which the classes before it are stored."""
        if given is None or given != given:
            raise InputError(f"{given!r} is no class; leave it out")
        if self.text:
            return given
        if not isinstance(given, int | float):
            raise InputError(f"the label {given!r:.60} of {self.name!r} is not a number, as those before it are; convert it")
        return float(given)

    def classes(self, labels: Sequence[Label]) -> list[Label]:
        return list(labels) if self.text else [cell(label) for label in labels]

    def coded(self, codes: Vector, outputs: int, absent: float) -> Matrix:
        return np.where(codes[:, None] == np.arange(outputs), 1.0, absent)

    def scores(self, scores: Vector, labels: Sequence[Label]) -> Vector:
        return scores[:, : len(labels)]

    def predicted_codes(self, scores: Vector, met: Mask | None = None) -> Vector:
        if not scores.shape[1]:
            return np.full(len(scores), -1.0)
        if met is None:
            return np.asarray(scores.argmax(axis=1), dtype=float)
        best = np.where(met, scores, -np.inf).argmax(axis=1)
        return np.where(met.any(axis=1), best, -1.0)


@dataclass(frozen=True)
class Unlabelled(Value):
    """The target of rows without labels: every code is 0."""

    name: str = ""

    def missing(self, table: Table) -> Mask:
        return np.zeros(len(table), dtype=bool)

    def codes(self, table: Table, labels: list[Label]) -> Vector:
        return np.zeros(len(table))


def met_before(codes: Vector, known: int, classes: int) -> Mask:
    """A mask, (n, classes), of the classes that had come before each row. The first `known` classes had come before all rows."""
    came = [-1 if k < known else min(np.flatnonzero(codes == k), default=len(codes)) for k in range(classes)]
    return np.asarray(np.array(came) < np.arange(len(codes))[:, None])


def recognised(
    found: Target, sample: Table, source: str, task: str | None, labels: tuple[Label, Label] | None, learner: Any
) -> Target:  # fmt: skip
    """Whether numbers, two classes, or any number of classes are predicted, where the first rows alone suggest the target `found`.

    `task` and `labels` are the user's settings, None if the user has given none.
    """
    name, is_text = found.name, isinstance(sample.cells(found.name), Strings)
    if task == "regression" and (is_text or labels is not None):
        raise InputError(f"{source}: the target {name!r} has labels, not numbers; predict another column")
    if labels is not None:
        return found
    if is_text or task == "classification":
        return Classes(name, is_text)
    if task == "regression" or found.outputs > 1:
        return found
    if (two := two_labels(sample, name)) is not None:
        return Signs(name, *two)
    only_classes = tasks_of(learner) == {"classification"}
    return Classes(name, text=False) if only_classes and numbered(sample, name, MOST_NUMBERED) else found


def two_labels(sample: Table, name: str) -> tuple[Label, Label] | None:
    """The labels of two classes, if the first rows have exactly two strings, or only -1 and 1, or only 0 and 1; otherwise None."""
    seen = labels_in(sample, name)
    if seen in ([0.0, 1.0], [-1.0, 1.0]) and not isinstance(sample.cells(name), Strings):
        return seen[0], 1.0
    return (seen[0], seen[1]) if len(seen) == 2 and isinstance(sample.cells(name), Strings) else None


def columns_with_means(target: Target, sample: Table) -> int:
    """How many means of the target each value of a column is encoded by: one for two classes, else one for each class or number to
    predict, but at most MOST_MEANS."""
    if not isinstance(target, Classes):
        return min(target.outputs, MOST_MEANS)
    classes = len(labels_in(sample, target.name))
    return 1 if classes <= 2 else min(classes, MOST_MEANS)


def two_given(labels: Any) -> tuple[Label, Label]:
    """The user's two labels, checked: both must be strings or both numbers, since only these can be saved."""
    given = labels if isinstance(labels, list | tuple) else ()
    plain = [label.item() if isinstance(label, np.generic) else label for label in given]
    of_one_kind = any(all(isinstance(label, kind) for label in plain) for kind in (str, int | float))
    if len(plain) != 2 or not of_one_kind or plain[0] == plain[1]:
        raise InputError(f"labels must be two, low and high, both strings or both numbers, got {labels!r:.60}")
    low, high = (label if isinstance(label, str) else float(label) for label in plain)
    return low, high


def labels_in(sample: Table, name: str) -> list[Any]:
    """The values of a column, each once, in order."""
    column = sample.cells(name)
    if isinstance(column, Strings):
        return in_order(column.values[code] for code in dict.fromkeys(column.codes.tolist()) if code >= 0)
    found = _numbers(column, name)
    return sorted(set(found[~np.isnan(found)].tolist()))


def in_order(labels: Iterable[Any]) -> list[Any]:
    """The labels, sorted; if they cannot be compared, in the order in which they came."""
    found = list(labels)
    try:
        return sorted(found)
    except TypeError:
        return found


def numbered(sample: Table, name: str, most: int) -> list[float]:
    """The different numbers in a column of the first rows, if they are whole and few, as class numbers are; otherwise none."""
    found: list[float] = labels_in(sample, name)
    return found if len(found) <= min(most, len(sample) // 5) and all(value.is_integer() for value in found) else []


def shown(label: Label) -> str:
    """The label as error messages show it."""
    return repr(label) if isinstance(label, str) else str(cell(label))


def cell(label: Label) -> str | float | int:
    """The label as a file would have it: 1, not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _missing(table: Table, name: str) -> Mask:
    found = table.cells(name)
    return found.codes < 0 if isinstance(found, Strings) else np.isnan(_numbers(found, name))


def _numbers(found: Labels | Dates, name: str) -> Vector:
    """The cells of the target `name` as numbers."""
    if isinstance(found, Strings):
        raise InputError(
            f"the target {name!r} holds labels, where the rows before had numbers; convert them, or make a new state with init"
        )
    if found.dtype.kind == "M":
        raise InputError(f"the target {name!r} is a date; choose a column of numbers or of labels, or declare it as text")
    return np.asarray(found, dtype=float)
