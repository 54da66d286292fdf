"""Restarts: after a lasting change of the stream, a family that remembers everything starts again from the rows since the change.

Families that forget adapt by themselves, and serve as the reference. Every 256 rows (fewer in a small plan) each other family is
compared with them over these rows: its best expert with the best expert that forgets. The family's deficit is

    (own errors − the reference's)/(own errors + the reference's)

It is negative if the family is better, and 1/9 if it has a quarter more errors.

1.  Suspicion. A family whose usual deficit is small is suspected if its deficit now exceeds the usual one by more than noise, which
    is four standard deviations of the mean. This is tested over the last 256 rows, and then over the last 512.
2.  The row of the change is the one since which its errors exceed the other's by most.
3.  Trial. A copy of the family learns the rows since the change, among the last 512, and replaces it if its error over the second
    half of them is lower by a twentieth. So a family is not replaced just because others lead for a while (a season, a holiday).

A family whose usual deficit is large is never suspected: if a stream changes all the time, the families that forget are better
anyway. If the remembering family restarts, the rule restarts with the same rows; otherwise the losses during the change would keep
the weights of its experts low.

A change of the inputs needs a check of its own, because views are scaled by all rows so far. When the inputs move, all families get
badly scaled inputs, so perhaps none has a deficit. The check is:

1.  A column has moved if its mean square over the last 256 rows, standardised by all rows so far, exceeds 4 (normally it is 1).
2.  The row of the change is found from the squares as above. It must be among the last 512 rows, and at least 128 rows ago.
3.  Trial. A copy of the remembering family learns the rows since the change, on views that have seen only these rows. It must beat
    the family itself if that is suspected too or has just restarted, and otherwise the best of all experts.

If the copy wins, the views restart, and with them the rule and all families except the trees, which see the inputs unscaled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.state import Counted, counter, memory
from onkel.turns import Steps

Mask = NDArray[np.bool_]

KEPT = 2  # rows stored, as a multiple of the rows between two checks
MEMORY = 8  # the usual deficit is the mean over this many checks
NEARLY = 0.1  # a family with a larger usual deficit is never suspected
NOISE = 4.0  # standard deviations of the mean that count as noise
ROUNDING = 1e-9  # relative to the labels: smaller errors are ignored
SPARED = 20  # the first 1/20 of the rows since the change is not used: these rows may still be from before the change
MOVED = 4.0  # the inputs have moved if the mean square of a standardised column, normally 1, is above this
BETTER = 0.95  # a copy must have less than this part of the errors


@memory
class Recent(Counted):
    """The last rows in a ring buffer, row t at place t mod kept, and the deficit of each family."""

    X: Matrix  # (kept, dim)
    Y: Matrix  # (kept, outputs)
    weight: Vector  # (kept,)  0 if the label was clipped
    lagged: Matrix  # (kept, lag columns)  earlier labels known at the row
    scores: Cube  # (kept, outputs, experts)
    lag: Vector  # (families,)  the usual deficit since the family (re)started; 0 for those that forget
    checks: Counts  # (families,)  the number of checks of which `lag` is the mean, at most MEMORY
    began: Counts  # (families,)  the row at which the family (re)started
    again: Counts  # (families,)  how often the family has restarted
    learnt: Counts = counter()
    checked: int = 0  # rows at the last check

    def in_order(self) -> Counts:
        """The places of all rows in the buffer, the oldest first."""
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
    recent: Recent, X: Matrix, given: Matrix, Y: Matrix, weight: Vector, lagged: Matrix, P: Cube, steps: Steps
) -> None:  # fmt: skip
    """Add to `steps` the steps that store the rows learnt, at most as many as the buffer holds. Y are the labels learnt, and
    `given` the labels before clipping."""
    rings = recent.X, recent.Y, recent.weight, recent.lagged, recent.scores
    steps.add(_keep, *rings, recent.learnt, X, given, Y, weight, lagged, P)


@hot
def _keep(
    kept_X: Matrix, kept_Y: Matrix, kept_weight: Vector, kept_lagged: Matrix, kept_scores: Cube, learnt: Counts,
    X: Matrix, given: Matrix, Y: Matrix, weight: Vector, lagged: Matrix, P: Cube,
) -> None:  # fmt: skip
    rows = learnt[0]
    for t in range(weight.size):
        if weight[t] == 0.0:
            continue
        place, trusted = rows % kept_weight.size, weight[t]
        kept_X[place], kept_lagged[place], kept_scores[place] = X[t], lagged[t], P[t]
        for o in range(Y.shape[1]):
            kept_Y[place, o] = Y[t, o]
            if Y[t, o] != given[t, o]:
                trusted = 0.0  # no family restarts with a clipped label
        kept_weight[place] = trusted
        rows += 1
    learnt[0] = rows


def widen(recent: Recent, outputs: int) -> None:
    """Add outputs whose label, and every score, was 0 until now."""
    more = outputs - recent.Y.shape[1]
    recent.Y, recent.scores = np.pad(recent.Y, ((0, 0), (0, more))), np.pad(recent.scores, ((0, 0), (0, more), (0, 0)))


def suspected(recent: Recent, family_of: Counts, forgets: Mask, awake: Mask) -> list[tuple[int, Counts]]:
    """The families that seem outdated, each with the places of the rows since the change. Updates the usual deficits.

    `family_of` is each expert's family; `forgets` and `awake` say whether a family has a forgetting factor, and whether it is
    active.
    """
    check, order = len(recent.weight) // KEPT, recent.in_order()
    errors = np.sum(np.abs(recent.scores[order] - recent.Y[order][:, :, None]), axis=1)  # not squares, to limit outliers
    tiny = ROUNDING * float(np.abs(recent.Y[order]).sum(axis=1).mean())
    rivals = np.flatnonzero((forgets & awake)[family_of])
    found = []
    for family in (k for k in np.flatnonzero(~forgets & awake).tolist() if not is_new(recent, k)):
        own, usual = np.flatnonzero(family_of == family), recent.lag[family]
        latest = _compare(errors[-check:], own, rivals, tiny)
        if recent.checks[family] > 0 and usual < NEARLY:
            for seen in (latest, _compare(errors, own, rivals, tiny)):
                if seen.deficit > max(0.0, usual + seen.noise):
                    # the expert with the smallest errors in the older rows, probably before the change
                    before = int(own[np.argmin(errors[:check, own].mean(axis=0))])
                    halfway = 0.5 * (max(0.0, usual) + seen.deficit) * seen.both
                    found.append((family, _since(order, _place(errors[:, before] - errors[:, seen.rival] - halfway))))
                    break
        recent.checks[family] = min(recent.checks[family] + 1, MEMORY)
        recent.lag[family] += (latest.deficit - usual) / recent.checks[family]
    return found


class _Comparison(NamedTuple):
    """The comparison of a family's best expert over some rows with the best expert that forgets, the rival."""

    rival: int
    deficit: float
    noise: float  # NOISE standard deviations of the deficit
    both: float  # the sum of their mean errors


def _compare(errors: Matrix, own: Counts, rivals: Counts, tiny: float) -> _Comparison:
    means = errors.mean(axis=0)
    best, rival = int(own[np.argmin(means[own])]), int(rivals[np.argmin(means[rivals])])
    both = float(means[best] + means[rival] + tiny) or 1.0
    excess = errors[:, best] - errors[:, rival]
    return _Comparison(rival, float(excess.mean()) / both, NOISE * float(np.std(excess)) / (both * math.sqrt(len(errors))), both)


def moved_since(recent: Recent, Z: Matrix) -> Counts | None:
    """The places of the rows since the inputs moved. None if they have not moved, or moved before the rows in the buffer, or less
    than half a check ago. Z are the rows of the buffer in order, standardised by all rows so far.
    """
    check, order, squares = len(recent.weight) // KEPT, recent.in_order(), Z**2
    means = squares[-check:].mean(axis=0)
    farthest = int(np.argmax(means))
    place = _place(squares[:, farthest] - 0.5 * (1.0 + means[farthest]))
    return _since(order, place) if means[farthest] > MOVED and 0 < place <= len(order) - check // 2 else None


def _place(excess: Vector) -> int:
    """The index from which on the sum of the excess is largest."""
    return int(np.argmax(np.cumsum(excess[::-1])[::-1]))


def _since(order: Counts, place: int) -> Counts:
    """The entries of `order` from `place` on, without the first 1/SPARED of them."""
    since = order[place:]
    return since[len(since) // SPARED :]


def better(recent: Recent, since: Counts, own: Counts, again: Cube) -> bool:
    """Whether a restarted copy of a family has lower errors than the experts `own`, over the second half of the rows since the
    change.

    `again` are the scores of the copy's experts for these rows.
    """
    half = len(since) // 2
    late = since[half:]
    old, fresh = (
        np.abs(scores - recent.Y[late][:, :, None]).sum(axis=1).mean(axis=0).min()
        for scores in (recent.scores[late][:, :, own], again[half:])
    )
    return bool(fresh < BETTER * old)


def is_new(recent: Recent, family: int) -> bool:
    """Whether a family (re)started within the buffer."""
    return bool(recent.rows - recent.began[family] < len(recent.weight))


def begun(recent: Recent, family: int, rows: int) -> None:
    """Record that a family has (re)started with the last `rows` rows."""
    recent.lag[family], recent.checks[family], recent.began[family] = 0.0, 0, recent.rows - rows
