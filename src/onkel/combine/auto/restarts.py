"""When a stream changes for good, a family that remembers everything begins again, from the rows after the change.

Families that forget (Fast) adapt by themselves, and show that something has changed: every 256 rows (fewer where a plan is small),
the mean error of a family's best expert over these rows is compared with that of the best expert that forgets. A family that has
led by a twentieth at some check, and now errs by a quarter more, knows too much of the past. It begins again, with those of the
last 512 rows that came since the change: from the row on from which the expert that had been its best has lost most to the one that
forgets.

A family that never led is left alone: it may be slow, but nothing says that the stream has changed. When the family that remembers
most begins again (Slow), the rule does so too, from the same rows: what experts lost on the way would be held against them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Cube, Matrix, Vector

KEPT = 2  # so many times the rows between two checks are kept
LED, LOST = 0.95, 1.25  # times the error of the best expert that forgets


@dataclass
class Recent:
    """The last rows, number t at place t mod kept, and who has led."""

    X: Matrix  # (kept, dim)
    Y: Matrix  # (kept, outputs)
    weight: Vector  # (kept,)  0 where the label was cut
    lagged: Matrix  # (kept, lag columns)  earlier labels as they were known
    scores: Cube  # (kept, outputs, experts)
    led: Counts  # (families,)  1 where a family has led since it began
    began: Counts  # (families,)  rows before it began (again)
    again: Counts  # (families,)  how often it began again
    rows: int = 0


def init(check: int, dim: int, outputs: int, lag_columns: int, experts: int, families: int) -> Recent:
    n = KEPT * check
    blocks = np.zeros((n, dim)), np.zeros((n, outputs)), np.zeros(n), np.zeros((n, lag_columns)), np.zeros((n, outputs, experts))
    return Recent(*blocks, np.zeros(families, np.int64), np.zeros(families, np.int64), np.zeros(families, np.int64))


def footprint(check: int, dim: int, outputs: int, lag_columns: int, experts: int, families: int) -> int:
    return 8 * (KEPT * check * (dim + outputs + 1 + lag_columns + outputs * experts) + 3 * families + 1)


def keep(recent: Recent, learnt: NDArray[np.bool_], X: Matrix, Y: Matrix, weight: Vector, lagged: Matrix, P: Cube) -> None:
    """Put the rows that were learnt, no more than are kept, among the last ones; they count by `weight` for whom begins again."""
    places = (recent.rows + np.arange(np.count_nonzero(learnt))) % len(recent.weight)
    for ring, block in ((recent.X, X), (recent.Y, Y), (recent.weight, weight), (recent.lagged, lagged), (recent.scores, P)):
        ring[places] = block[learnt]
    recent.rows += len(places)


def widen(recent: Recent, outputs: int) -> None:
    """Add outputs whose label, and every score, was 0 until now."""
    more = outputs - recent.Y.shape[1]
    recent.Y, recent.scores = np.pad(recent.Y, ((0, 0), (0, more))), np.pad(recent.scores, ((0, 0), (0, more), (0, 0)))


def outdated(recent: Recent, family_of: Counts, forgets: NDArray[np.bool_]) -> list[tuple[int, Counts]]:
    """The families that must begin again, each with the places of the rows since the change. Takes note of who leads.

    `family_of` is each expert's family, `forgets` says of each family whether it forgets by itself.
    """
    kept = len(recent.weight)
    order = np.arange(max(0, recent.rows - kept), recent.rows) % kept
    losses = np.sum(np.abs(recent.scores[order] - recent.Y[order][:, :, None]), axis=1)  # no squares: an outlier counts for less
    means = losses[-kept // KEPT :].mean(axis=0)
    of_forgetting = forgets[family_of]
    rival = int(np.flatnonzero(of_forgetting)[np.argmin(means[of_forgetting])])
    found = []
    for family in np.flatnonzero(~forgets):
        own = np.flatnonzero(family_of == family)
        best = int(own[np.argmin(means[own])])
        if recent.rows - recent.began[family] < kept:
            continue
        if means[best] < LED * means[rival]:
            recent.led[family] = 1
        elif recent.led[family] and means[best] > LOST * means[rival]:
            led = int(own[np.argmin(losses[: kept // KEPT, own].mean(axis=0))])  # the best before the change, if anyone was
            lost = np.cumsum((losses[:, led] - losses[:, rival])[::-1])[::-1]
            since = order[int(np.argmax(lost)) :]
            recent.led[family], recent.began[family] = 0, recent.rows - len(since)
            recent.again[family] += 1
            found.append((int(family), since))
    return found
