"""Labels that are given separately from the rows: numbers, strings, or any objects that name classes."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onkel.data.table import Labels, Source, Strings, Table, strings
from onkel.errors import InputError

LABEL = "y"


@dataclass(frozen=True, kw_only=True)
class LabelledSource(Source):
    """The rows of a source, together with labels that were given separately."""

    source: Source
    labels: Labels

    def tables(self, sample: bool = False) -> Generator[Table]:
        start = 0
        for table in self.source.tables(sample):
            yield replace(table, labels=self.labels[start : start + len(table)])
            start += len(table)

    def notes(self) -> list[str]:
        return self.source.notes()

    def lacking(self) -> list[str]:
        return self.source.lacking()

    @property
    def grows(self) -> bool:
        return self.source.grows

    def with_room(self, known: Collection[str]) -> LabelledSource:
        return replace(self, source=self.source.with_room(known))


def labelled(source: Source, y: Any) -> LabelledSource:
    """The rows of a source with these labels."""
    labels = y if isinstance(y, Strings) else labels_of(y)
    if (name := getattr(y, "name", None)) in source.known:
        remedy = f"say target={name!r}, or rename one"
        raise InputError(f"{source.name} has a column {name!r}, and labels of that name were given too; {remedy}")
    if source.rows is not None and len(labels) != source.rows:
        shape = f"({len(labels)},)" if isinstance(labels, Strings) else labels.shape
        raise InputError(f"y must hold one label for each of the {source.rows:,} rows, got shape {shape}")
    return LabelledSource(name=source.name, kinds=source.kinds, known=source.known, rows=len(labels), source=source, labels=labels)


def name_of(y: Any) -> str:
    """The name of these labels: that of a Series, else `y`."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name.strip() else LABEL


def labels_of(y: Any) -> Labels:
    """The labels as numbers (with one column for each of several targets) or as strings."""
    values = np.asarray(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.dtype.kind not in "biuf"):
        raise InputError(f"y must hold one label for each row, or a column of numbers for each target, got shape {values.shape}")
    if values.dtype.kind in "biuf":
        return values.astype(float)
    cells = [None if is_missing(value) else value for value in values.tolist()]
    there = [value for value in cells if value is not None]
    if there and all(isinstance(value, str) for value in there):
        return strings(cells)
    if all(isinstance(value, int | float) for value in there):
        return np.array([math.nan if value is None else value for value in cells], dtype=float)
    kinds = sorted({type(value).__name__ for value in there})
    raise InputError(f"y must hold numbers or strings, got {' and '.join(kinds)}; convert it, as in [str(label) for label in y]")


def classes_of(y: Any) -> Strings:
    """The labels as classes. They may be any hashable objects; None and NaN are missing."""
    known: dict[Any, int] = {}
    codes = []
    cells = y.to_pylist() if hasattr(y, "to_pylist") else y.tolist() if hasattr(y, "tolist") else y
    for row, given in enumerate(cells):
        label = given.item() if isinstance(given, np.generic) else given
        if not isinstance(label, Hashable) or (isinstance(label, float) and math.isinf(label)):
            of = f" of row {row} (counted from 0)" if len(cells) > 1 else ""
            raise InputError(f"the label{of} is {label!r:.60}, which names no class; give a string or a finite number")
        codes.append(-1 if is_missing(label) else known.setdefault(label, len(known)))
    return Strings(np.array(codes, dtype=np.int64), tuple(known))


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")
