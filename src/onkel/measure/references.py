"""What anybody could have said without looking at X: the references that every result stands beside."""

from __future__ import annotations

import numpy as np

from onkel._types import Vector


def running_mean(y: Vector) -> Vector:
    """The mean of the labels so far; 0 before the first."""
    before = np.concatenate([np.zeros((1, *y.shape[1:])), np.cumsum(y, axis=0)[:-1]])
    count = np.maximum(np.arange(len(y)), 1).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(before / count)


def last_label(y: Vector) -> Vector:
    """The label of the row before; 0 at first."""
    return np.concatenate([np.zeros((1, *y.shape[1:])), y[:-1]])
