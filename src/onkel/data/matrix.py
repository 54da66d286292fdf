"""Tables from arrays in memory, dense or of scipy.sparse; sparse rows are made dense some at a time."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.beside import labels_of, name_of
from onkel.data.columns import choose, numbers_only
from onkel.data.table import Kind, Origin, Table, Texts, rows_at_once
from onkel.errors import FileError, InputError


@dataclass(frozen=True)
class Matrix:
    X: Any
    y: Vector | Texts | None
    label: str
    wanted: tuple[str, ...]
    name: str = "X"

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def kinds(self) -> Mapping[str, Kind]:
        texts = isinstance(self.y, Texts)
        return {name: Kind.TEXT if texts and name == self.label else Kind.NUMBER for name in self.wanted}

    def notes(self) -> list[str]:
        return ["labels go beside an array: read(X, y)"] if self.y is None else []

    def tables(self, sample: bool = False) -> Generator[Table]:
        columns = {f"x{j}": j for j in range(self.X.shape[1])} | {self.label: self.X.shape[1]}
        numbers = tuple(name for name, kind in self.kinds.items() if kind is Kind.NUMBER)
        keep = [columns[name] for name in numbers]
        at_once = rows_at_once(self.X.shape[1] + 1)
        for start in range(0, self.rows, at_once):
            part = self.X[start : start + at_once]
            dense = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=float)
            labels = None if self.y is None else self.y[start : start + at_once]
            words = {self.label: labels} if isinstance(labels, Texts) and self.label in self.wanted else {}
            last = np.full(len(dense), np.nan) if isinstance(labels, Texts | None) else labels
            yield Table(numbers, np.column_stack([dense, last])[:, keep], words, {}, (Origin(len(dense), start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.name}, row {row} (counted from 0)"


def open_matrix(X: Any, y: Any, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> Matrix:
    numbers_only("X", {name: kind for name, kind in kinds.items() if name != name_of(y)})
    if X.ndim != 2 or (X.dtype.kind not in "biuf"):
        raise InputError(f"X must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if X.shape[0] == 0:
        raise FileError("X has no rows")
    labels = None if y is None else labels_of(y, X.shape[0])
    known = [*(f"x{j}" for j in range(X.shape[1])), *([] if labels is None else [name_of(y)])]
    return Matrix(X.tocsr() if hasattr(X, "tocsr") else X, labels, name_of(y), choose("X", known, wanted))
