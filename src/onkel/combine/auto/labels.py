"""Labels as `Auto` learns them: outliers are clipped, but if the target moves for good, the limits follow it.

A label whose distance from the running mean exceeds the limit is clipped to the limit:

    limit = max(R, 20 · running mean of |y − mean|)        R: the largest accepted distance so far
    R ← 2 · limit                                          after a label beyond the limit

So one label of 1e6 among labels of size 1 counts as 20, and a target that has moved by 1e6 is accepted after some twenty rows.
Nothing is clipped in the first START rows, nor while all labels are equal. Labels with two values are never clipped: both values
were accepted when first seen.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.state import memory

START = 20  # rows in which nothing is clipped
LIMIT = 20.0  # in units of the running mean of |y − mean|
MEMORY = 0.999  # forgetting factor of mean and distance


@memory
class Labels:
    reference: Vector  # (outputs,)  the first label, which is subtracted from the labels that families learn, to keep digits
    mean: Vector  # (outputs,)
    distance: Vector  # (outputs,)  running mean of |y − mean|
    largest: Vector  # (outputs,)  R
    mass: float = 0.0  # 1 − MEMORY^rows: mean and distance are sums to be divided by it
    rows: int = 0
    cut: int = 0  # number of labels that were clipped


def init(outputs: int) -> Labels:
    return Labels(np.zeros(outputs), np.zeros(outputs), np.zeros(outputs), np.zeros(outputs))


def footprint(outputs: int) -> int:
    return 8 * (4 * outputs + 3)


def accepted(labels: Labels, Y: Matrix, weight: Vector) -> tuple[Matrix, Labels]:
    """The labels to learn, and the state after them."""
    known = labels.reference.copy(), labels.mean.copy(), labels.distance.copy(), labels.largest.copy()
    out = Y.copy()
    rows, mass, cut = _accept(*known, labels.rows, labels.mass, weight, out)
    return out, Labels(*known, mass, rows, labels.cut + cut)


def widened(labels: Labels, outputs: int) -> Labels:
    """The state with more outputs, whose label was 0 until now."""
    more = (0, outputs - len(labels.mean))
    known = (labels.reference, labels.mean, labels.distance, labels.largest)
    reference, mean, distance, largest = (np.pad(vector, more) for vector in known)
    return Labels(reference, mean, distance, largest, labels.mass, labels.rows, labels.cut)


@hot
def _accept(
    reference: Vector, mean: Vector, distance: Vector, largest: Vector, rows: int, mass: float, weight: Vector, Y: Matrix
) -> tuple[int, float, int]:
    cut = 0
    for t in range(Y.shape[0]):
        if weight[t] == 0.0:
            continue
        for o in range(Y.shape[1]):
            if rows == 0:
                reference[o] = Y[t, o]
            centre = mean[o] / mass if rows > 0 else Y[t, o]
            away = Y[t, o] - centre
            limit = max(largest[o], LIMIT * distance[o] / mass) if rows >= START and distance[o] > 0.0 else np.inf
            if abs(away) > limit:
                cut += 1
                largest[o] = 2.0 * limit
                away = np.copysign(limit, away)
                Y[t, o] = centre + away
            largest[o] = max(largest[o], abs(away))
            mean[o] = MEMORY * mean[o] + (1.0 - MEMORY) * Y[t, o]
            distance[o] = MEMORY * distance[o] + (1.0 - MEMORY) * abs(away)
        mass = MEMORY * mass + (1.0 - MEMORY)
        rows += 1
    return rows, mass, cut
