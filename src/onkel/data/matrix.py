"""Tables from arrays in memory, dense or of scipy.sparse; sparse rows are made dense some at a time."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.columns import choose, numbers_only
from onkel.data.labels import labels_of, name_of
from onkel.data.table import Kind, Origin, Source, Strings, Table, rows_at_once
from onkel.errors import FileError, InputError


@dataclass(frozen=True, kw_only=True)
class MatrixSource(Source):
    X: Any
    y: Vector | Strings | None
    label: str

    def notes(self) -> list[str]:
        return ["labels of an array are given separately: read(X, y)"] if self.y is None else []

    def tables(self, sample: bool = False) -> Generator[Table]:
        columns = {f"x{j}": j for j in range(self.X.shape[1])} | {self.label: self.X.shape[1]}
        numbers = tuple(name for name, kind in self.kinds.items() if kind is Kind.NUMBER)
        keep = [columns[name] for name in numbers]
        at_once = rows_at_once(self.X.shape[1] + 1)
        for start in range(0, self.X.shape[0], at_once):
            part = self.X[start : start + at_once]
            dense = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=float)
            labels = None if self.y is None else self.y[start : start + at_once]
            words = {self.label: labels} if isinstance(labels, Strings) and self.label in self.kinds else {}
            last = np.full(len(dense), np.nan) if isinstance(labels, Strings | None) else labels
            yield Table(numbers, np.column_stack([dense, last])[:, keep], words, {}, (Origin(len(dense), start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.name}, row {row} (counted from 0)"


def open_matrix(X: Any, y: Any, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], name: str = "X") -> MatrixSource:
    numbers_only(name, {column: kind for column, kind in kinds.items() if column != name_of(y)})
    if X.ndim != 2 or (X.dtype.kind not in "biuf"):
        raise InputError(f"{name} must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if X.shape[0] == 0:
        raise FileError(f"{name} has no rows")
    labels = None if y is None else labels_of(y, X.shape[0])
    known = [*(f"x{j}" for j in range(X.shape[1])), *([] if labels is None else [name_of(y)])]
    label = {name_of(y): Kind.TEXT if isinstance(labels, Strings) else Kind.NUMBER}
    return MatrixSource(
        name=name,
        kinds={column: label.get(column, Kind.NUMBER) for column in choose(name, known, wanted)},
        known=known,
        rows=int(X.shape[0]),
        X=X.tocsr() if hasattr(X, "tocsr") else X,
        y=labels,
        label=name_of(y),
    )
