"""What a score cost, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onkel._types import Vector

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


def default_metrics(y: Vector) -> dict[str, Metric]:
    if y.ndim == 1 and np.isin(y, (-1.0, 1.0)).all():
        return {"mistakes": mistakes, "square": square}
    return {"square": square, "absolute": absolute}


def _summed(values: Vector) -> Vector:
    return np.asarray(values.sum(axis=1) if values.ndim == 2 else values)
