"""Past rows, which are kept because a new point adds a coordinate to the span, and this coordinate is computed for past rows too.

    g(x_s) = (k(x, x_s) − l·z_s)/pivot        for row s, and a new point x with its l and pivot (see `onkel.dictionary.span`)

Here z_s = L⁻¹k_s are the coordinates of row s so far, and k_s its kernel values with the spanning points. With a = L⁻ᵀl the
numerator is k(x, x_s) − a·k_s, so z_s need not be computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.dictionary.span import Span
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.linalg.cholesky import solve, solve_transposed
from onkel.linalg.loops import dot
from onkel.linalg.rotations import rotate
from onkel.state import fitted, growing, grown, memory

ROWS_AT_ONCE = 1024  # rows for which kernel values are computed at a time

PastRows = tuple[Matrix, Matrix, Matrix, Vector]  # kernel values with the spanning points, inputs, labels, weights
Sums = tuple[Vector, float, Vector]  # Σ w z g, Σ w g² and Σ w y g


@memory
class History:
    inputs: Matrix = growing(0)  # (capacity, dim)
    labels: Matrix = growing(0)  # (capacity, outputs)
    weights: Vector = growing(0)  # (capacity,)


def empty(dim: int, outputs: int) -> History:
    return History(np.empty((0, dim)), np.empty((0, outputs)), np.empty(0))


def with_room(history: History, rows: int) -> History:
    """The history with room for `rows` rows."""
    return History(*(grown(array, rows) for array in _arrays(history)))


def write(history: History, rows: int, X: Matrix, Y: Matrix, weight: Vector) -> None:
    """Write those of these rows that have a positive weight, after the first `rows` rows of the history, which must have room. They
    count as part of the history only when the caller, having learnt them, raises its number of rows."""
    learnt = np.flatnonzero(weight)
    now = slice(rows, rows + len(learnt))
    history.inputs[now], history.labels[now], history.weights[now] = X[learnt], Y[learnt], weight[learnt]


def cut(history: History, rows: int) -> History:
    """The history of the first `rows` rows: its arrays are as long as `grown` makes them for these, with zeros after them."""
    arrays = [fitted(array, rows) for array in _arrays(history)]
    for array in arrays:
        array[rows:] = 0.0
    return History(*arrays)


def with_outputs(history: History, outputs: int) -> History:
    """The history with `outputs` outputs in total; the labels of the new ones are 0."""
    return replace(history, labels=np.pad(history.labels, ((0, 0), (0, outputs - history.labels.shape[1]))))


def new_coordinates(
    history: History, rows: int, kernel: Kernel, span: Span, X: Matrix, found: list[tuple[Vector, float]]
) -> list[Sums]:
    """The sums over past rows that involve the new coordinate g, for each new point in X. `found` has the l and the pivot of each
    point; if the pivot is 0, the point adds no coordinate, and its sums are zeros.

    All points share one pass over the past rows. Σ w z g is computed as L⁻¹ Σ w k_s g.
    """
    r, A, pivots = len(span.spanning), np.array([l for l, _ in found]), np.array([pivot for _, pivot in found])
    columns, totals = np.zeros(A.shape), np.zeros((len(A), 1 + history.labels.shape[1]))
    for a in A:
        solve_transposed(span.whitening, r, a)
    for K, inputs, labels, weights in _blocks(history, rows, kernel, span):
        _add(K, kernel.values(X, inputs), A, pivots, labels, weights, columns, totals)
    for column in columns:
        solve(span.whitening, r, column)
    return [(column, float(total[0]), total[1:]) for column, total in zip(columns, totals, strict=True)]


def relearnt(history: History, rows: int, kernel: Kernel, span: Span, lam: float) -> tuple[Matrix, Matrix]:
    """R with RᵀR = λI + Σ w z zᵀ, and R⁻ᵀ Σ w y z, computed from all past rows by rotations."""
    r = len(span.spanning)
    R, c = np.sqrt(lam) * np.eye(r), np.zeros((history.labels.shape[1], r))
    for K, _, labels, weights in _blocks(history, rows, kernel, span):
        _relearn(K, span.whitening, R, c, labels, weights)
    return R, c


def check(history: History, rows: int, kept: bool) -> None:
    """Refuse a history that does not have `rows` rows; or one that is not empty, if the learner keeps none."""
    lengths = {len(array) for array in _arrays(history)}
    enough = min(lengths) >= rows if kept else max(lengths) == 0
    if len(lengths) > 1 or not enough:
        raise InputError("its history does not have one entry per row learnt")
    if any(np.abs(array).max(initial=0.0) > LARGEST_NUMBER for array in _arrays(history)):
        raise InputError("its history has numbers larger than any row may have")
    if np.any(history.weights[: rows if kept else 0] <= 0.0):
        raise InputError("its history has a row without weight")


def _arrays(history: History) -> tuple[Matrix, Matrix, Vector]:
    return history.inputs, history.labels, history.weights


def _blocks(history: History, rows: int, kernel: Kernel, span: Span) -> Iterator[PastRows]:
    """The past rows in blocks, so that the kernel values need little memory."""
    for start in range(0, rows, ROWS_AT_ONCE):
        now = slice(start, min(start + ROWS_AT_ONCE, rows))
        inputs = history.inputs[now]
        yield kernel.values(inputs, span.points[span.spanning]), inputs, history.labels[now], history.weights[now]


@hot
def _add(K: Matrix, new: Matrix, A: Matrix, pivots: Vector, Y: Matrix, weight: Vector, columns: Matrix, totals: Matrix) -> None:
    """For each new point add Σ w g k to `columns` and Σ w g (g, y) to `totals`, with g = (k_new − a·k)/pivot."""
    for p in range(A.shape[0]):
        if pivots[p] == 0.0:
            continue
        a, column = A[p], columns[p]
        for t in range(K.shape[0]):
            k = K[t]
            g = (new[p, t] - dot(a, k)) / pivots[p]
            step = weight[t] * g
            for j in range(k.size):
                column[j] += step * k[j]
            totals[p, 0] += step * g
            for o in range(Y.shape[1]):
                totals[p, 1 + o] += step * Y[t, o]


@hot
def _relearn(K: Matrix, whitening: Vector, R: Matrix, c: Matrix, Y: Matrix, weight: Vector) -> None:
    """Rotate the rows into R and c; K has their kernel values with the spanning points."""
    r, outputs = K.shape[1], Y.shape[1]
    z, label = np.empty((1, r)), np.empty((1, outputs))
    start, m, s = np.zeros(1, np.int64), np.empty((1, outputs)), np.empty(1)
    for t in range(K.shape[0]):
        z[0] = K[t]
        solve(whitening, r, z[0])
        root = np.sqrt(weight[t])
        z *= root
        label[0] = root * Y[t]
        rotate(R, c, z, label, start, m, s)
