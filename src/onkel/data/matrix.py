"""Tables from arrays in memory, NumPy or scipy.sparse. Sparse rows stay sparse."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onkel.data.columns import choose, numbers_only
from onkel.data.table import Kind, Origin, Source, Table, rows_at_once
from onkel.errors import FileError, InputError


@dataclass(frozen=True, kw_only=True)
class MatrixSource(Source):
    X: Any

    def hints(self) -> list[str]:
        return ["labels of an array are given separately: read(X, y)"]

    def tables(self, sample: bool = False) -> Generator[Table]:
        names, columns = tuple(self.kinds), [int(name[1:]) for name in self.kinds]
        whole = columns == list(range(self.X.shape[1]))
        at_once = rows_at_once(self.X.shape[1] + 1)
        for start in range(0, self.X.shape[0], at_once):
            part = self.X[start : start + at_once]
            numbers = (part if whole else part[:, columns]).astype(float, copy=False)
            yield Table(names, numbers, {}, {}, (Origin(part.shape[0], start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.name}, row {row} (counted from 0)"


def open_matrix(X: Any, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], name: str = "X") -> MatrixSource:
    """Open an array; its columns are called x0, x1, x2 …"""
    numbers_only(name, kinds)
    if X.ndim != 2 or (X.dtype.kind not in "biuf"):
        raise InputError(f"{name} must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if X.shape[0] == 0:
        raise FileError(f"{name} has no rows")
    known = [f"x{j}" for j in range(X.shape[1])]
    source = MatrixSource(
        name=name,
        kinds=dict.fromkeys(known, Kind.NUMBER),
        known=known,
        rows=int(X.shape[0]),
        X=X.tocsr() if hasattr(X, "tocsr") else X,
    )
    return replace(source, kinds=dict.fromkeys(choose(name, known, wanted, *source.hints()), Kind.NUMBER))
