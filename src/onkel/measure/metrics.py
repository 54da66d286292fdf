"""What a score cost, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onkel._types import Vector
from onkel.errors import InputError

Metric = Callable[[Vector, Vector], Vector]


def square(scores: Vector, y: Vector) -> Vector:
    """(score − y)², summed over the outputs."""
    return _summed((scores - y) ** 2)


def absolute(scores: Vector, y: Vector) -> Vector:
    """|score − y|, summed over the outputs."""
    return _summed(np.abs(scores - y))


def mistakes(scores: Vector, y: Vector) -> Vector:
    """1 where the label is wrong: the score's sign (0 counts as +1) against ±1, or the largest output against the largest label."""
    if y.ndim == 2 and y.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1) != y.argmax(axis=1), dtype=float)
    return np.asarray(np.where(scores >= 0.0, 1.0, -1.0) != y, dtype=float).reshape(len(y))


def windowed(losses: Vector, window: int) -> Vector:
    """The average over the last `window` rows (over all rows so far where there are fewer), for every row.

    The rows are cut into pieces as long as the window, which then is the end of one piece and the start of the next: sums from
    either side, nothing is subtracted, and a huge loss leaves no trace once it is out of the window.
    """
    if window < 1:
        raise InputError(f"window must be at least 1, got {window}")
    n, length = len(losses), max(1, min(window, len(losses)))
    pieces = np.append(losses, np.zeros(-n % length)).reshape(-1, length)
    starts = np.cumsum(pieces, axis=1)
    ends = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    ends[:, 0] = 0.0  # the window is the next piece alone
    sums = starts.ravel()[:n]
    sums[length:] += ends.ravel()[1 : n - length + 1]
    return np.asarray(sums / np.minimum(np.arange(1, n + 1), length))


def default_metrics(y: Vector) -> dict[str, Metric]:
    if y.ndim == 1 and np.isin(y, (-1.0, 1.0)).all():
        return {"mistakes": mistakes, "square": square}
    return {"square": square, "absolute": absolute}


def _summed(values: Vector) -> Vector:
    return np.asarray(values.sum(axis=1) if values.ndim == 2 else values)
