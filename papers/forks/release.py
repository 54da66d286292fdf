"""Two learners as in the authors' published code, which differs from their algorithms in a way that the published figures show.

RBP        with a full budget a mistake removes a random point and adds none. The next one adds its point again.
Projectron the inverse of the kernel matrix is updated in single precision. Where points are alike its rounding makes a distance
           negative, and the root of it NaN. From then on every score is NaN, which the code reads as the label −1.

They are slow, and only for this comparison. `onkel.RBP` and `onkel.Projectron` follow their papers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.forks.contenders import Array, Played, Setting


def rbp(at: Setting, X: Array, y: Array, seed: int) -> Played:
    rng = np.random.default_rng(seed)
    points, coef, size = np.empty((at.budget, X.shape[1])), np.empty(at.budget), 0
    mistakes = np.zeros(len(y))
    for t, x in enumerate(X):
        score = coef[:size] @ _values(points[:size], x, at.width)
        mistakes[t] = (score >= 0.0) != (y[t] > 0.0)
        if mistakes[t] and size < at.budget:
            points[size], coef[size] = x, y[t]
            size += 1
        elif mistakes[t]:
            size -= 1
            gone = rng.integers(at.budget)
            points[gone], coef[gone] = points[size], coef[size]
    return Played(mistakes)


def projectron(at: Setting, X: Array, y: Array, seed: int) -> Played:
    points, coef = np.empty((at.budget, X.shape[1]), np.float32), np.zeros(at.budget, np.float32)
    inverse, size = np.zeros((at.budget, at.budget), np.float32), 0
    mistakes = np.zeros(len(y))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for t, x in enumerate(X.astype(np.float32)):
            k = _values(points[:size], x, at.width)
            mistakes[t] = (coef[:size] @ k >= 0.0) != (y[t] > 0.0)  # a NaN fails this comparison, so it counts as the label −1
            if not mistakes[t]:
                continue
            d = inverse[:size, :size] @ k
            if size == at.budget:
                coef += np.float32(y[t]) * d
                continue
            distance = np.sqrt(np.float32(1.0) - k @ d)
            border = np.append(d, np.float32(-1.0)).astype(np.float32)
            points[size], coef[size] = x, y[t]
            size += 1
            inverse[:size, :size] += np.outer(border, border) / distance**2
    return Played(mistakes)


def _values(points: NDArray[Any], x: NDArray[Any], width: float) -> NDArray[Any]:
    """k(x_i, x), in the precision of the points."""
    away = points - x
    return np.asarray(np.exp(-np.einsum("ij,ij->i", away, away) / points.dtype.type(2.0 * width**2)))
