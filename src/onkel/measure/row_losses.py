"""The loss of each row, and its mean over the last rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onkel._types import Vector
from onkel.errors import InputError

Loss = Callable[[Vector, Vector], Vector]


def square(scores: Vector, y: Vector) -> Vector:
    """(score − y)², summed over the outputs.

    >>> scores, y = np.array([1.0, 3.0]), np.array([1.0, 1.0])
    >>> onkel.measure.square(scores, y), onkel.measure.absolute(scores, y)
    (array([0., 4.]), array([0., 2.]))
    """
    return _summed((scores - y) ** 2)


def absolute(scores: Vector, y: Vector) -> Vector:
    """|score − y|, summed over the outputs."""
    return _summed(np.abs(scores - y))


def mistakes(scores: Vector, y: Vector) -> Vector:
    """1 for each row whose predicted label is wrong, else 0.

    The predicted label is the sign of the score (+1 for a score of 0) if labels are ±1, else the class with the largest output.
    """
    if y.ndim == 2 and y.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1) != y.argmax(axis=1), dtype=float)
    return np.asarray(np.where(scores >= 0.0, 1.0, -1.0) != y, dtype=float).reshape(len(y))


def windowed(losses: Vector, window: int) -> Vector:
    """The average over the last `window` rows (over all rows so far if there are fewer), for every row.

    The rows are divided into pieces as long as the window. A window then consists of the end of one piece and the start of the
    next, and its sum is the sum of two cumulative sums. Since nothing is subtracted, a huge loss leaves no rounding error after it.
    """
    if window < 1:
        raise InputError(f"window must be at least 1, got {window}")
    n, length = len(losses), max(1, min(window, len(losses)))
    pieces = np.append(losses, np.zeros(-n % length)).reshape(-1, length)
    starts = np.cumsum(pieces, axis=1)
    ends = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    ends[:, 0] = 0.0  # such a window is exactly the next piece, whose sum is in `starts`
    sums = starts.ravel()[:n]
    sums[length:] += ends.ravel()[1 : n - length + 1]
    return np.asarray(sums / np.minimum(np.arange(1, n + 1), length))


def default_metrics(y: Vector) -> dict[str, Loss]:
    if y.ndim == 1 and np.isin(y, (-1.0, 1.0)).all():
        return {"mistakes": mistakes, "square": square}
    return {"square": square, "absolute": absolute}


def _summed(values: Vector) -> Vector:
    return np.asarray(values.sum(axis=1) if values.ndim == 2 else values)
