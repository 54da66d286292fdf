"""Tables from arrays in memory, dense or of scipy.sparse; sparse rows are made dense some at a time."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.columns import choose, numbers_only
from onkel.data.table import Kind, Origin, Table, rows_at_once
from onkel.errors import FileError, InputError

LABEL = "y"


@dataclass(frozen=True)
class Matrix:
    X: Any
    y: Vector | None
    wanted: tuple[str, ...]
    name: str = "X"

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.wanted, Kind.NUMBER)

    def notes(self) -> list[str]:
        return []

    def tables(self, sample: bool = False) -> Generator[Table]:
        columns = {f"x{j}": j for j in range(self.X.shape[1])} | {LABEL: self.X.shape[1]}
        keep = [columns[name] for name in self.wanted]
        at_once = rows_at_once(self.X.shape[1] + 1)
        for start in range(0, self.rows, at_once):
            part = self.X[start : start + at_once]
            dense = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=float)
            labels = np.full(len(dense), np.nan) if self.y is None else self.y[start : start + at_once]
            yield Table(self.wanted, np.column_stack([dense, labels])[:, keep], {}, {}, (Origin(len(dense), start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.name}, row {row} (counted from 0)"


def open_matrix(X: Any, y: Any, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> Matrix:
    numbers_only("X", kinds)
    if X.ndim != 2 or (X.dtype.kind not in "biuf"):
        raise InputError(f"X must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if X.shape[0] == 0:
        raise FileError("X has no rows")
    labels = None if y is None else np.asarray(y, dtype=float)
    if labels is not None and labels.shape != (X.shape[0],):
        raise InputError(f"y must hold one number for each of the {X.shape[0]} rows of X, got shape {labels.shape}")
    known = [*(f"x{j}" for j in range(X.shape[1])), *([] if labels is None else [LABEL])]
    return Matrix(X.tocsr() if hasattr(X, "tocsr") else X, labels, choose("X", known, wanted))
