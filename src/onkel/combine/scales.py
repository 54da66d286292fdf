"""The arithmetic of `Scaled`."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import LARGEST_NUMBER, no_weight
from onkel._jit import hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.features.scale import standardize_present
from onkel.one_row import Row, RowSteps

There = NDArray[np.bool_]
_ALL = np.ones((1, 1024), dtype=bool)  # the mask of a row without gaps; never written to


class GappyRows(NamedTuple):
    """Rows of which values may be missing."""

    X: Matrix
    y: Matrix
    weight: Vector
    there: There
    lagged: Matrix | None = None  # earlier labels for the learner; None: those just before each row

    def part(self, start: int, stop: int) -> GappyRows:
        now = slice(start, stop)
        lagged = None if self.lagged is None else self.lagged[now]
        return GappyRows(self.X[now], self.y[now], self.weight[now], self.there[now], lagged)


class Scales(Protocol):
    """The running statistics of inputs and targets: the fields of the same names in `scaled.State`."""

    known: Matrix
    centre: Vector
    scale: Vector
    learnt: Counts
    far: Counts


def present(there: ArrayLike | None, X: Matrix) -> There:
    """The mask of the values of X that are present: `there`, checked, or all of them."""
    if there is None:
        return _ALL[:, : X.shape[1]] if len(X) == 1 and X.shape[1] <= _ALL.shape[1] else np.ones(X.shape, dtype=bool)
    mask = np.ascontiguousarray(there)
    if mask.shape != X.shape or mask.dtype != bool:
        raise InputError(f"the mask `there` must be True or False for each value of X, {X.shape}, got {mask.dtype} {mask.shape}")
    return mask


def standardise(inputs: bool, known: Matrix, X: Matrix, there: There, weight: Vector) -> tuple[Matrix, Matrix]:
    """The standardised row z of each row, and the statistics of the columns after the last row."""
    Z, after = np.empty(X.shape), np.empty(known.shape)
    standardize_present(inputs, known, X, there, weight, Z, after)
    return Z, after


def row_steps(inputs: bool, far_away: float, state: Scales, inner: RowSteps) -> RowSteps:
    """The calls for one row, in order: those that scale the row, those of the learner inside on the scaled row, and those that
    unscale the score and, if the row is learnt, store the new statistics."""
    scaled = inner.row
    row = Row(np.empty_like(scaled.X), np.empty_like(scaled.Y), scaled.weight, np.empty_like(scaled.scores))
    there, after = np.ones(row.X.shape, dtype=bool), np.empty(state.known.shape)
    Z, targets = scaled.X, (state.centre, state.scale)
    before = partial(standardize_present, inputs, state.known, row.X, there, no_weight(1), Z, after)
    prepared = partial(prepare_one, inputs, state.known, *targets, row.X, there, row.Y, row.weight, Z, after, scaled.Y)
    scores = scaled.scores, row.scores
    followed = partial(
        follow, *targets, far_away, row.Y, row.weight, *scores, state.known, after, state.learnt, state.far
    )  # fmt: skip
    unscaled = partial(unscale, *targets, scaled.scores, row.scores)
    return inner.around(row, before=[before], score=[unscaled], learn=[prepared], after=[followed])


@hot_lean
def prepare(
    inputs: bool, known: Matrix, centre: Vector, scale: Vector, X: Matrix, there: There, Y: Matrix, weight: Vector,
    Z: Matrix, after: Matrix, U: Matrix,
) -> float:  # fmt: skip
    """Write z and u of each row (see `scaled.py`), and the statistics of the columns after the last row. Returns the largest |u|.

    A scale of 0 counts as 1.
    """
    standardize_present(inputs, known, X, there, weight, Z, after)
    largest = 0.0
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            U[t, o] = (Y[t, o] - centre[o]) / (scale[o] if scale[o] != 0.0 else 1.0)
            largest = max(largest, abs(U[t, o]))
    return largest


@hot_lean
def prepare_one(
    inputs: bool, known: Matrix, centre: Vector, scale: Vector, X: Matrix, there: There, Y: Matrix, weight: Vector,
    Z: Matrix, after: Matrix, U: Matrix,
) -> None:  # fmt: skip
    """`prepare` for one row; its weight becomes 0 if u is too large for a learner."""
    if not prepare(inputs, known, centre, scale, X, there, Y, weight, Z, after, U) <= LARGEST_NUMBER:
        weight[0] = 0.0


@hot_lean
def follow(
    centre: Vector, scale: Vector, far_away: float, Y: Matrix, weight: Vector, inner: Matrix, scores: Matrix,
    known: Matrix, after: Matrix, learnt: Counts, far: Counts,
) -> None:  # fmt: skip
    """Called when the learner inside has learnt these rows: write their scores, count the rows and the labels far from the centre,
    and replace the statistics of the columns by `after`. A scale of 0 means that the target is not scaled, or constant so far."""
    unscale(centre, scale, inner, scores)
    rows = 0
    for t in range(Y.shape[0]):
        if weight[t] > 0.0:
            rows += 1
            for o in range(Y.shape[1]):
                far[0] += 1 if scale[o] > 0.0 and abs(Y[t, o] - centre[o]) > far_away * scale[o] else 0
    for i in range(known.shape[0] if rows > 0 else 0):
        for j in range(known.shape[1]):
            known[i, j] = after[i, j]
    learnt[0] += rows


@hot_lean
def unscale(centre: Vector, scale: Vector, inner: Matrix, scores: Matrix) -> None:
    """Write the scores of rows whose scaled scores are `inner`, which may be the same array."""
    for t in range(scores.shape[0]):
        for o in range(scores.shape[1]):
            scores[t, o] = centre[o] + (scale[o] if scale[o] != 0.0 else 1.0) * inner[t, o]
