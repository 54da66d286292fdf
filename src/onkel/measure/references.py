"""Baselines: what anybody could have said without looking at X. Every result stands beside them."""

from __future__ import annotations

import numpy as np

from onkel._types import Vector


def running_mean(y: Vector, rows: int = 0, total: float = 0.0) -> Vector:
    """The mean of the labels so far; 0 before the first. `rows` labels came before these, and their sum was `total`."""
    before = np.cumsum(np.concatenate([np.full((1, *y.shape[1:]), total), y]), axis=0)[:-1]
    count = np.maximum(rows + np.arange(len(y)), 1).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(before / count)


def last_label(y: Vector, last: float = 0.0) -> Vector:
    """The label of the row before; before the first of these it was `last`."""
    return np.concatenate([np.full((1, *y.shape[1:]), last), y[:-1]])
