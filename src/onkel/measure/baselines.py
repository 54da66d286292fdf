"""What simple baselines predict for each row. They do not use X: they know only the labels before the row."""

from __future__ import annotations

import numpy as np

from onkel._types import Counts, Vector


def running_mean(y: Vector, rows: int = 0, total: float = 0.0) -> Vector:
    """The mean of the labels before each row; 0 before the first. There are `rows` earlier labels, with the sum `total`.

    >>> onkel.measure.running_mean(np.array([2.0, 4.0, 6.0])), onkel.measure.last_label(np.array([2.0, 4.0, 6.0]))
    (array([0., 2., 3.]), array([0., 2., 4.]))
    """
    before = np.cumsum(np.concatenate([np.full((1, *y.shape[1:]), total), y]), axis=0)[:-1]
    count = np.maximum(rows + np.arange(len(y)), 1).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(before / count)


def last_label(y: Vector, last: float = 0.0) -> Vector:
    """The label of the previous row; for the first row, `last`."""
    return np.concatenate([np.full((1, *y.shape[1:]), last), y[:-1]])


def frequent_class(before: Counts) -> Counts:
    """The most frequent class so far, from the number of rows of each class before each row; −1 before the first row."""
    return np.where(before.any(axis=1), before.argmax(axis=1), -1)
