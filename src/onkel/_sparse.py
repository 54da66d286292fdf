"""Sparse rows for compiled code, and the check of a caller's sparse matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import LARGEST_NUMBER, bad_value, check_block, check_inputs, check_labels, is_sparse, refuse_width
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError


class Rows(NamedTuple):
    """Row t has value[i] in column[i] for start[t] ≤ i < start[t + 1], with increasing columns, and 0 everywhere else."""

    start: Counts
    column: Counts
    value: Vector


def check_rows(X: Any, dim: int) -> Matrix | Rows:
    """X as a checked block of `dim` columns; a sparse X stays sparse."""
    if not is_sparse(X):
        return check_inputs(X, dim)
    refuse_other_than_matrix(X)
    refuse_width(X.shape[1], dim)
    csr = X.tocsr()
    if csr.dtype.kind not in "biuf":
        raise InputError(
            f"X must hold numbers only (its type is {csr.dtype}); onkel.read and onkel.Model encode text, dates and categories"
        )
    try:
        csr.check_format(full_check=True)  # SciPy does not check by default, and compiled code does not check indices
    except ValueError as error:
        raise InputError(f"X is not a valid sparse matrix ({error}); build it again, as scipy.sparse.coo_array does") from None
    if not csr.has_canonical_format:  # duplicate entries count as their sum, as everywhere in SciPy
        csr = csr.copy()
        csr.sum_duplicates()
    rows = Rows(*(np.array(part, kind) for part, kind in ((csr.indptr, np.int64), (csr.indices, np.int64), (csr.data, float))))
    if not np.all(np.abs(rows.value) <= LARGEST_NUMBER):
        wrong = int(np.argmax(~(np.abs(rows.value) <= LARGEST_NUMBER)))
        place = f"row {np.searchsorted(rows.start, wrong, side='right') - 1}, column {rows.column[wrong]}"
        raise InputError(bad_value("X", float(rows.value[wrong]), place))
    return rows


def refuse_other_than_matrix(X: Any) -> None:
    """Refuse a sparse array of one dimension."""
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows, columns), got shape {X.shape}")


def check_labelled_rows(X: Any, y: ArrayLike, dim: int, outputs: int) -> tuple[Matrix | Rows, Matrix, tuple[int, ...]]:
    """X as from `check_rows`, y as a block of `outputs` columns, and the original shape of y."""
    rows = check_rows(X, dim)
    labels, shape = check_labels(y, count(rows), outputs)
    check_block("y", labels)
    return rows, labels, shape


def count(rows: Matrix | Rows) -> int:
    """The number of rows."""
    return len(rows.start) - 1 if isinstance(rows, Rows) else len(rows)


def part(rows: Matrix | Rows, now: slice) -> Matrix | Rows:
    """A slice of the rows."""
    return Rows(rows.start[now.start : now.stop + 1], rows.column, rows.value) if isinstance(rows, Rows) else rows[now]


def to_dense(rows: Matrix | Rows, dim: int) -> Matrix:
    """The rows as a dense matrix."""
    if not isinstance(rows, Rows):
        return rows
    first, last = rows.start[0], rows.start[-1]
    dense = np.zeros((count(rows), dim))
    dense[np.repeat(np.arange(len(dense)), np.diff(rows.start)), rows.column[first:last]] = rows.value[first:last]
    return dense


def to_sparse(rows: Matrix | Rows) -> Rows:
    """The rows with their nonzero values only."""
    if isinstance(rows, Rows):
        return rows
    row, column = np.nonzero(rows)
    return Rows(np.searchsorted(row, np.arange(len(rows) + 1)), column, rows[row, column])
