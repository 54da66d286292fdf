"""The arithmetic of `Scaled`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.features.scale import standardize_present

There = NDArray[np.bool_]


def standardise(inputs: bool, known: Matrix, X: Matrix, there: There, weight: Vector) -> tuple[Matrix, Matrix]:
    """z of each row, and what is known of the columns after the last row."""
    Z, after = np.empty(X.shape), np.empty(known.shape)
    standardize_present(inputs, known, X, there, weight, Z, after)
    return Z, after


@hot
def prepare(
    inputs: bool, known: Matrix, centre: Vector, scale: Vector, X: Matrix, there: There, Y: Matrix, weight: Vector,
    Z: Matrix, after: Matrix, U: Matrix,
) -> float:  # fmt: skip
    """Write z and u of each row, and what is known of the columns after the last row; returns the largest |u|.

    A scale of 0 counts as 1.
    """
    standardize_present(inputs, known, X, there, weight, Z, after)
    largest = 0.0
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            U[t, o] = (Y[t, o] - centre[o]) / (scale[o] if scale[o] != 0.0 else 1.0)
            largest = max(largest, abs(U[t, o]))
    return largest


@hot
def unscale(centre: Vector, scale: Vector, inner: Matrix, scores: Matrix) -> None:
    """Write the scores of rows whose scaled scores are `inner`, which may be the same array."""
    for t in range(scores.shape[0]):
        for o in range(scores.shape[1]):
            scores[t, o] = centre[o] + (scale[o] if scale[o] != 0.0 else 1.0) * inner[t, o]
