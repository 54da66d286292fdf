"""When a stream changes for good, a family that remembers everything begins again, from the rows after the change.

Families that forget (Fast) adapt by themselves, and show that something has changed. Every 256 rows (fewer where a plan is small) a
family's best expert over these rows is compared with the best expert that forgets. Its lag is

    (own errors − the other's)/(own errors + the other's)                           below 0: it leads; 1/9: a quarter more errors

A family that used to lead, or nearly so, is suspected when it lags now, by more beyond its usual lag than noise explains: four
times the deviation of a mean of so many rows. The change is placed at the row from which on it has lost most. Then the family is
tried: a copy of it learns the rows since the change, of the last 512, and takes its place if it errs less over the second half of
them, by a twentieth. So no family is replaced on account of others alone, which may be ahead for a while (a season, a holiday).

A family that is always far behind is left alone: where a stream changes all the time, those that forget are better anyhow. When
the family that remembers most begins again (Slow), the rule does so too, from the same rows: what experts lost on the way would be
held against them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Cube, Matrix, Vector

Mask = NDArray[np.bool_]

KEPT = 2  # so many times the rows between two checks are kept
MEMORY = 8  # checks of which the usual lag is the mean
NEARLY = 0.1  # the usual lag of a family that nearly leads
NOISE = 4.0  # deviations of a mean that are taken for noise
ROUNDING = 1e-9  # of the labels: errors that are smaller say nothing
SPARED = 20  # of the rows since the change one in so many, the first ones, may have come before it
BETTER = 0.95  # times the errors of the family as it is


@dataclass
class Recent:
    """The last rows, number t at place t mod kept, and how far behind each family has been."""

    X: Matrix  # (kept, dim)
    Y: Matrix  # (kept, outputs)
    weight: Vector  # (kept,)  0 where the label was cut
    lagged: Matrix  # (kept, lag columns)  earlier labels as they were known
    scores: Cube  # (kept, outputs, experts)
    lag: Vector  # (families,)  the usual lag since it began; 0 for those that forget
    checks: Counts  # (families,)  of so many checks, at most MEMORY
    began: Counts  # (families,)  rows before it began (again)
    again: Counts  # (families,)  how often it began again
    rows: int = 0

    def in_order(self) -> Counts:
        """The places of all rows that are kept, the oldest first."""
        kept = len(self.weight)
        return np.arange(max(0, self.rows - kept), self.rows) % kept


def init(check: int, dim: int, outputs: int, lag_columns: int, experts: int, families: int) -> Recent:
    n = KEPT * check
    blocks = np.zeros((n, dim)), np.zeros((n, outputs)), np.zeros(n), np.zeros((n, lag_columns)), np.zeros((n, outputs, experts))
    checks, began, again = np.zeros((3, families), np.int64)
    return Recent(*blocks, np.zeros(families), checks.copy(), began.copy(), again.copy())


def footprint(check: int, dim: int, outputs: int, lag_columns: int, experts: int, families: int) -> int:
    return 8 * (KEPT * check * (dim + outputs + 1 + lag_columns + outputs * experts) + 4 * families + 1)


def keep(recent: Recent, learnt: Mask, X: Matrix, Y: Matrix, weight: Vector, lagged: Matrix, P: Cube) -> None:
    """Put the rows that were learnt, no more than are kept, among the last ones; they count by `weight` for whom begins again."""
    places = (recent.rows + np.arange(np.count_nonzero(learnt))) % len(recent.weight)
    for ring, block in ((recent.X, X), (recent.Y, Y), (recent.weight, weight), (recent.lagged, lagged), (recent.scores, P)):
        ring[places] = block[learnt]
    recent.rows += len(places)


def widen(recent: Recent, outputs: int) -> None:
    """Add outputs whose label, and every score, was 0 until now."""
    more = outputs - recent.Y.shape[1]
    recent.Y, recent.scores = np.pad(recent.Y, ((0, 0), (0, more))), np.pad(recent.scores, ((0, 0), (0, more), (0, 0)))


def suspected(recent: Recent, family_of: Counts, forgets: Mask, awake: Mask) -> list[tuple[int, Counts]]:
    """The families that seem to know too much of the past, each with the places of the rows since the change. Takes note of lags.

    `family_of` is each expert's family; `forgets` says of each family whether it forgets by itself, `awake` whether it is.
    """
    kept = len(recent.weight)
    check, order = kept // KEPT, recent.in_order()
    errors = np.sum(np.abs(recent.scores[order] - recent.Y[order][:, :, None]), axis=1)  # no squares: an outlier counts for less
    means = errors[-check:].mean(axis=0)
    tiny = ROUNDING * float(np.abs(recent.Y[order]).sum(axis=1).mean())
    of_forgetting = (forgets & awake)[family_of]
    rival = int(np.flatnonzero(of_forgetting)[np.argmin(means[of_forgetting])])
    found = []
    for family in np.flatnonzero(~forgets & awake & (recent.rows - recent.began >= kept)):
        own = np.flatnonzero(family_of == family)
        best = int(own[np.argmin(means[own])])
        both, usual = means[best] + means[rival] + tiny or 1.0, recent.lag[family]
        lag = (means[best] - means[rival]) / both
        noise = NOISE * np.std(errors[-check:, best] - errors[-check:, rival]) / (both * math.sqrt(check))
        if recent.checks[family] > 0 and usual < NEARLY and lag > max(0.0, usual + noise):
            before = int(own[np.argmin(errors[:check, own].mean(axis=0))])  # the best before the change, if anyone was
            halfway = 0.5 * (max(0.0, usual) + lag) * both
            lost = np.cumsum((errors[:, before] - errors[:, rival] - halfway)[::-1])[::-1]
            since = order[int(np.argmax(lost)) :]
            found.append((int(family), since[len(since) // SPARED :]))
        recent.checks[family] = min(recent.checks[family] + 1, MEMORY)
        recent.lag[family] += (lag - usual) / recent.checks[family]
    return found


def better(recent: Recent, since: Counts, own: Counts, again: Cube) -> bool:
    """Whether a family that has begun again errs less than as it is, over the second half of the rows since the change.

    `own` are the family's experts, `again` what their copies said of these rows.
    """
    half = len(since) // 2
    late = since[half:]
    as_is, anew = (
        np.abs(scores - recent.Y[late][:, :, None]).sum(axis=1).mean(axis=0).min()
        for scores in (recent.scores[late][:, :, own], again[half:])
    )
    return bool(anew < BETTER * as_is)


def begun(recent: Recent, family: int, rows: int) -> None:
    """Take note that a family has begun, with so many of the last rows."""
    recent.lag[family], recent.checks[family], recent.began[family] = 0.0, 0, recent.rows - rows
