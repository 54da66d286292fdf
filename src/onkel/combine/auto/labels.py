"""Labels as `Auto` learns them: outliers are clipped, but if the target moves for good, the limits follow it.

A label whose distance from the running mean exceeds the limit is clipped to the limit:

    limit = max(R, 20 · running mean of |y − mean|)
    R ← max(R, |y − mean|)  after a label within the limit,    R ← 2 · limit  after a label beyond it

So one label of 1e6 among labels of size 1 counts as 20, and a target that has moved by 1e6 is accepted after some twenty rows.
Nothing is clipped in the first START rows, nor while all labels are equal. Labels with two values are never clipped: both values
were accepted when first seen.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel.one_row import Step
from onkel.state import Counted, copied, counter, memory

START = 20  # rows in which nothing is clipped
LIMIT = 20.0  # in units of the running mean of |y − mean|
MEMORY = 0.999  # forgetting factor of mean and distance


@memory
class Labels(Counted):
    reference: Vector  # (outputs,)  the first label, which is subtracted from the labels that families learn, to keep digits
    mean: Vector  # (outputs,)
    distance: Vector  # (outputs,)  running mean of |y − mean|
    largest: Vector  # (outputs,)  R
    mass: Vector  # (1,)  1 − MEMORY^rows: mean and distance are sums to be divided by it
    learnt: Counts = counter()
    cut: Counts = counter()  # number of labels that were clipped


def init(outputs: int) -> Labels:
    return Labels(np.zeros(outputs), np.zeros(outputs), np.zeros(outputs), np.zeros(outputs), np.zeros(1))


def footprint(outputs: int) -> int:
    return 8 * (4 * outputs + 3)


def accepted(labels: Labels, Y: Matrix, weight: Vector) -> tuple[Matrix, Labels]:
    """The labels to learn, and the state after them."""
    out, after = np.empty(Y.shape), copied(labels)
    in_place(after, Y, weight, out)()
    return out, after


def in_place(labels: Labels, Y: Matrix, weight: Vector, out: Matrix) -> Step:
    """The call of compiled code that does what `accepted` does, but changes the given state; the labels to learn are `out`."""
    known = labels.reference, labels.mean, labels.distance, labels.largest, labels.mass, labels.learnt, labels.cut
    return partial(_accept, *known, Y, weight, out)


@hot_lean
def centre(Y: Matrix, reference: Vector, centred: Matrix) -> None:
    """The labels that families learn: the reference is subtracted. They are again within the limits of a label."""
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            centred[t, o] = min(max(Y[t, o] - reference[o], -LARGEST_NUMBER), LARGEST_NUMBER)


def widened(labels: Labels, outputs: int) -> Labels:
    """The state with more outputs, whose label was 0 until now."""
    more = (0, outputs - len(labels.mean))
    known = (labels.reference, labels.mean, labels.distance, labels.largest)
    reference, mean, distance, largest = (np.pad(vector, more) for vector in known)
    return Labels(reference, mean, distance, largest, labels.mass, labels.learnt, labels.cut)


@hot_lean
def _accept(
    reference: Vector, mean: Vector, distance: Vector, largest: Vector, total: Vector, learnt: Counts, cut: Counts,
    given: Matrix, weight: Vector, Y: Matrix,
) -> None:  # fmt: skip
    rows, mass = learnt[0], total[0]
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            Y[t, o] = given[t, o]
        if weight[t] == 0.0:
            continue
        for o in range(Y.shape[1]):
            if rows == 0:
                reference[o] = Y[t, o]
            centre = mean[o] / mass if rows > 0 else Y[t, o]
            away = Y[t, o] - centre
            limit = max(largest[o], LIMIT * distance[o] / mass) if rows >= START and distance[o] > 0.0 else np.inf
            if abs(away) > limit:
                cut[0] += 1
                largest[o] = 2.0 * limit
                away = np.copysign(limit, away)
                Y[t, o] = centre + away
            largest[o] = max(largest[o], abs(away))
            mean[o] = MEMORY * mean[o] + (1.0 - MEMORY) * Y[t, o]
            distance[o] = MEMORY * distance[o] + (1.0 - MEMORY) * abs(away)
        mass = MEMORY * mass + (1.0 - MEMORY)
        rows += 1
    learnt[0], total[0] = rows, mass
