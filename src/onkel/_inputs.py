"""Checks of a caller's arrays: converted to the format of compiled code, or refused with an error that names place and remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._jit import hot_strict
from onkel._types import Matrix, Vector
from onkel.errors import InputError

LARGEST_NUMBER = 1e50  # in X, y and weight; products of three such numbers stay far from overflow

SMALLEST_WEIGHT = 1e-100  # the smallest weight other than 0; roots and quotients of smaller ones would lose digits
_ONES = np.ones(1024)  # never written to
_ONE = _ONES[:1]  # the weights of a call with one row
_ZERO = np.zeros(1)  # the weights of a row that is only scored; never written to
_FLOAT64 = np.dtype(np.float64)


def check_block(name: str, values: ArrayLike) -> Matrix:
    """The values as a block of rows, checked: two dimensions, at least one column, all finite and at most LARGEST_NUMBER in
    absolute value."""
    block = _rows(name, values)
    _refuse_bad(name, block)
    return block


def check_inputs(X: ArrayLike, dim: int) -> Matrix:
    """X as a checked block of `dim` columns."""
    if type(X) is np.ndarray and X.dtype is _FLOAT64 and X.flags.carray and X.ndim == 2 and X.shape[1] == dim and is_sound(X, X):
        return X  # the fast path
    rows = check_block("X", X)
    refuse_width(rows.shape[1], dim)
    return rows


def check_labelled(X: ArrayLike, y: ArrayLike, dim: int, outputs: int) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    """X as a checked block of `dim` columns, y as a checked block of `outputs` columns, and the original shape of y."""
    if type(X) is np.ndarray and type(y) is np.ndarray and X.dtype is _FLOAT64 is y.dtype and X.flags.carray and y.flags.carray:
        shape, n = y.shape, len(X)
        if X.shape == (n, dim) and (shape == (n,) if outputs == 1 else shape == (n, outputs)):
            labels = y.reshape(n, outputs)
            if is_sound(X, labels):
                return X, labels, shape  # the fast path
    rows = _rows("X", X)
    refuse_width(rows.shape[1], dim)
    labels, shape = check_labels(y, len(rows), outputs)
    if not is_sound(rows, labels):
        _refuse_bad("X", rows)
        _refuse_bad("y", labels)
    return rows, labels, shape


def check_labels(y: ArrayLike, rows: int, outputs: int) -> tuple[Matrix, tuple[int, ...]]:
    """y as a (rows, outputs) block, and its original shape. Only the shape is checked, not the values."""
    labels = _floats("y", y)
    if labels.shape != (rows, outputs) and (outputs > 1 or labels.shape != (rows,)):
        wanted = f"({rows}, {outputs})" if outputs > 1 else f"({rows},)"
        raise InputError(f"y must have shape {wanted}, one label for each row of X, got {labels.shape}")
    return labels.reshape(rows, outputs), labels.shape


def check_weight(weight: ArrayLike | None, rows: int) -> Vector:
    """One checked weight for each row, at least 0; None means 1 for all rows."""
    if weight is None:
        if rows == 1:
            return _ONE
        return _ONES[:rows] if rows <= len(_ONES) else np.ones(rows)
    weights = _floats("weight", weight)
    if weights.shape != (rows,):
        raise InputError(f"weight must have shape ({rows},), one weight for each row of X, got {weights.shape}")
    if not _are_weights(weights):
        _refuse_bad("weight", weights.reshape(rows, 1))
        wrong = np.flatnonzero((weights < SMALLEST_WEIGHT) & (weights != 0.0))
        least = f"at least {SMALLEST_WEIGHT:g}, or 0 to leave the row unlearnt"
        raise InputError(f"weight[{wrong[0]}] is {weights[wrong[0]]:g}; weights must be {least}")
    return weights


def no_weight(rows: int) -> Vector:
    """The weights of rows that are only scored."""
    return _ZERO if rows == 1 else np.zeros(rows)


def refuse_weights(learner: object, weights: Vector) -> None:
    """Refuse weights other than 0 and 1, for a learner whose mathematics has no weights."""
    if weights.base is _ONES:
        return
    wrong = np.flatnonzero((weights != 0.0) & (weights != 1.0))
    if wrong.size:
        raise InputError(
            f"{type(learner).__name__} has no row weights, but weight[{wrong[0]}] is {weights[wrong[0]]:g}; "
            "give 1, or 0 to leave the row unlearnt"
        )


def place(weights: Vector, learnt: int) -> int:
    """The index just after the row that is number `learnt` among the rows of positive weight."""
    if learnt in (0, len(weights)):  # a fast path
        return learnt
    return int(np.flatnonzero(weights)[learnt - 1]) + 1


def leading(weights: Vector, most: int) -> int:
    """The number of rows from the first to the `most`-th one of positive weight; the number of all rows if fewer have a positive
    weight."""
    if len(weights) < most:  # a fast path
        return len(weights)
    learnt = np.flatnonzero(weights)
    return int(learnt[most - 1]) + 1 if len(learnt) >= most else len(weights)


def check_signs(labels: Matrix) -> None:
    """Refuse labels of two classes other than -1 and +1."""
    wrong = np.flatnonzero(np.abs(labels[:, 0]) != 1.0)
    if wrong.size:
        raise InputError(f"the label of row {wrong[0]} is {labels[wrong[0], 0]:g}; for this loss, labels must be -1 or +1")


def is_sparse(values: Any) -> bool:
    """Whether `values` is a matrix or array of scipy.sparse."""
    return type(values) is not np.ndarray and hasattr(values, "tocsr")  # hasattr alone is slow where it is False


def _floats(name: str, values: ArrayLike) -> Matrix:
    """The values as a C-ordered, writeable float64 array. (For a read-only array, numba would compile all code again.)"""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.carray:  # the fast path
        return values
    if is_sparse(values):
        raise InputError(f"{name} is sparse; convert it: {name}.toarray()")
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill or drop the masked values first")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} must hold numbers only ({error}); onkel.read and onkel.Model encode text, dates and categories"
        ) from None
    return array if array.flags.writeable else array.copy()


def _rows(name: str, values: ArrayLike) -> Matrix:
    block = _floats(name, values)
    if block.ndim != 2:
        hint = f"; a single row is a block of one: {name}.reshape(1, -1)" if block.ndim == 1 and block.size else ""
        raise InputError(f"{name} must have two dimensions (rows, columns), got shape {block.shape}{hint}")
    if block.shape[1] == 0:
        raise InputError(f"{name} has no columns; give it at least one")
    return block


def refuse_width(columns: int, dim: int) -> None:
    """Refuse rows whose width is not that given to `init`."""
    if columns != dim:
        raise InputError(f"X must have {dim} columns, as given to init, got {columns}")


def _refuse_bad(name: str, block: Matrix) -> None:
    """Raise an error that names the first value that is NaN, infinite or too large."""
    if is_sound(block, block):
        return
    row, column = np.argwhere(~(np.abs(block) <= LARGEST_NUMBER))[0]
    value = block[row, column]
    place = f"row {row}" if name in ("y", "weight") else f"row {row}, column {column}"
    raise InputError(bad_value(name, float(value), place))


def bad_value(name: str, value: float, place: str) -> str:
    """The message for a number that is NaN, infinite or too large."""
    if math.isnan(value):
        remedy = "fill or drop missing values first"
    elif math.isinf(value):
        remedy = "drop the row, or replace infinity by a number"
    else:
        remedy = f"rescale: values beyond {LARGEST_NUMBER:g} would overflow"
    return f"{name} holds {value} at {place}; {remedy}"


@hot_strict
def is_sound(one: Matrix, other: Matrix) -> bool:
    """Whether all values of both blocks are finite and within LARGEST_NUMBER. No early exit, so that the loops vectorise."""
    sound = True
    for i in range(one.shape[0]):
        for j in range(one.shape[1]):
            sound &= bool(abs(one[i, j]) <= LARGEST_NUMBER)
    for i in range(other.shape[0]):
        for j in range(other.shape[1]):
            sound &= bool(abs(other[i, j]) <= LARGEST_NUMBER)
    return sound


@hot_strict
def _are_weights(weights: Vector) -> bool:
    sound = True
    for value in weights:
        sound &= bool(value == 0.0) | (bool(value >= SMALLEST_WEIGHT) & bool(value <= LARGEST_NUMBER))
    return sound
