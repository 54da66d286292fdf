"""When a stream changes for good, a family that remembers everything begins again, from the rows after the change.

Families that forget (Fast) adapt by themselves, and show that something has changed. Every 256 rows (fewer where a plan is small) a
family's best expert over these rows is compared with the best expert that forgets. Its lag is

    (own errors − the other's)/(own errors + the other's)                           below 0: it leads; 1/9: a quarter more errors

A family that used to lead, or nearly so, is suspected when it lags now, by more beyond its usual lag than noise explains: four
times the deviation of a mean of so many rows; over these 256 rows, or over the last 512, where a small lag shows that noise hides
in fewer. The change is placed at the row from which on it has lost most. Then the family is
tried: a copy of it learns the rows since the change, of the last 512, and takes its place if it errs less over the second half of
them, by a twentieth. So no family is replaced on account of others alone, which may be ahead for a while (a season, a holiday).

A family that is always far behind is left alone: where a stream changes all the time, those that forget are better anyhow. When
the family that remembers most begins again (Slow), the rule does so too, from the same rows: what experts lost on the way would be
held against them.

Where the inputs have moved, views that remember the rows before (`views`) scale them badly, for everybody alike, so that no family
need lag. They have moved when the mean square of some column over these 256 rows, standardised by all rows so far, is above 4,
instead of 1; the change is placed by the squares in the same way. If it lies within the 512 rows, and 128 or more have come since,
the slow family is tried on views that know the rows since alone. If it does better than as it is, where it is suspected anyway or
has just begun again, or else than anybody, the views begin again, and with them the rule and all families but the trees, which see
inputs as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Cube, Matrix, Vector
from onkel.turns import Steps

Mask = NDArray[np.bool_]

KEPT = 2  # so many times the rows between two checks are kept
MEMORY = 8  # checks of which the usual lag is the mean
NEARLY = 0.1  # the usual lag of a family that nearly leads
NOISE = 4.0  # deviations of a mean that are taken for noise
ROUNDING = 1e-9  # of the labels: errors that are smaller say nothing
SPARED = 20  # of the rows since the change one in so many, the first ones, may have come before it
MOVED = 4.0  # the mean square of a standardised input, 1 at rest, from which on the inputs have moved
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
    checked: int = 0  # rows at the last check

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
    return 8 * (KEPT * check * (dim + outputs + 1 + lag_columns + outputs * experts) + 4 * families + 2)


def keep(
    recent: Recent, learnt: Mask, X: Matrix, Y: Matrix, weight: Vector, lagged: Matrix, P: Cube, steps: Steps
) -> None:  # fmt: skip
    """Put the rows that were learnt, no more than are kept, among the last ones; they count by `weight` for whom begins again."""
    places = (recent.rows + np.arange(np.count_nonzero(learnt))) % len(recent.weight)

    def write() -> None:
        for ring, block in ((recent.X, X), (recent.Y, Y), (recent.weight, weight), (recent.lagged, lagged), (recent.scores, P)):
            ring[places] = block[learnt]

    steps.add(write)
    steps.add(setattr, recent, "rows", recent.rows + len(places))


def widen(recent: Recent, outputs: int) -> None:
    """Add outputs whose label, and every score, was 0 until now."""
    more = outputs - recent.Y.shape[1]
    recent.Y, recent.scores = np.pad(recent.Y, ((0, 0), (0, more))), np.pad(recent.scores, ((0, 0), (0, more), (0, 0)))


def suspected(recent: Recent, family_of: Counts, forgets: Mask, awake: Mask) -> list[tuple[int, Counts]]:
    """The families that seem to know too much of the past, each with the places of the rows since the change. Takes note of lags.

    `family_of` is each expert's family; `forgets` says of each family whether it forgets by itself, `awake` whether it is.
    """
    check, order = len(recent.weight) // KEPT, recent.in_order()
    errors = np.sum(np.abs(recent.scores[order] - recent.Y[order][:, :, None]), axis=1)  # no squares: an outlier counts for less
    tiny = ROUNDING * float(np.abs(recent.Y[order]).sum(axis=1).mean())
    rivals = np.flatnonzero((forgets & awake)[family_of])
    found = []
    for family in (k for k in np.flatnonzero(~forgets & awake).tolist() if not is_new(recent, k)):
        own, usual = np.flatnonzero(family_of == family), recent.lag[family]
        latest = _compare(errors[-check:], own, rivals, tiny)
        if recent.checks[family] > 0 and usual < NEARLY:
            for seen in (latest, _compare(errors, own, rivals, tiny)):
                if seen.lag > max(0.0, usual + seen.noise):
                    before = int(own[np.argmin(errors[:check, own].mean(axis=0))])  # the best before the change, if anyone was
                    halfway = 0.5 * (max(0.0, usual) + seen.lag) * seen.both
                    found.append((family, _since(order, _place(errors[:, before] - errors[:, seen.rival] - halfway))))
                    break
        recent.checks[family] = min(recent.checks[family] + 1, MEMORY)
        recent.lag[family] += (latest.lag - usual) / recent.checks[family]
    return found


class _Comparison(NamedTuple):
    """A family's best expert over some rows beside the best one that forgets."""

    rival: int
    lag: float
    noise: float  # of the lag
    both: float  # the sum of their mean errors


def _compare(errors: Matrix, own: Counts, rivals: Counts, tiny: float) -> _Comparison:
    means = errors.mean(axis=0)
    best, rival = int(own[np.argmin(means[own])]), int(rivals[np.argmin(means[rivals])])
    both = float(means[best] + means[rival] + tiny) or 1.0
    behind = errors[:, best] - errors[:, rival]
    return _Comparison(rival, float(behind.mean()) / both, NOISE * float(np.std(behind)) / (both * math.sqrt(len(errors))), both)


def moved_since(recent: Recent, Z: Matrix) -> Counts | None:
    """The places of the rows since the inputs moved; None unless that was among the last rows, and half a check ago or more.

    `Z` are the last rows in order, standardised by all rows so far.
    """
    check, order, squares = len(recent.weight) // KEPT, recent.in_order(), Z**2
    means = squares[-check:].mean(axis=0)
    farthest = int(np.argmax(means))
    place = _place(squares[:, farthest] - 0.5 * (1.0 + means[farthest]))
    return _since(order, place) if means[farthest] > MOVED and 0 < place <= len(order) - check // 2 else None


def _place(excess: Vector) -> int:
    """The row from which on the sum is largest."""
    return int(np.argmax(np.cumsum(excess[::-1])[::-1]))


def _since(order: Counts, place: int) -> Counts:
    """The rows from there on, less the first ones."""
    since = order[place:]
    return since[len(since) // SPARED :]


def better(recent: Recent, since: Counts, own: Counts, again: Cube) -> bool:
    """Whether a family that has begun again errs less than these experts as they are, over the second half of the rows since the
    change.

    `own` are the experts, mostly the family's; `again` is what the copies of the family's said of these rows.
    """
    half = len(since) // 2
    late = since[half:]
    as_is, anew = (
        np.abs(scores - recent.Y[late][:, :, None]).sum(axis=1).mean(axis=0).min()
        for scores in (recent.scores[late][:, :, own], again[half:])
    )
    return bool(anew < BETTER * as_is)


def is_new(recent: Recent, family: int) -> bool:
    """Whether a family has begun among the last rows."""
    return bool(recent.rows - recent.began[family] < len(recent.weight))


def begun(recent: Recent, family: int, rows: int) -> None:
    """Take note that a family has begun, with so many of the last rows."""
    recent.lag[family], recent.checks[family], recent.began[family] = 0.0, 0, recent.rows - rows
