"""The area under the ROC curve along a stream, from counts of probabilities in bins.

The area is the share of pairs of rows, one of a class and one not of it, in which the first has the larger probability; a pair with
equal probabilities counts half. To compare all pairs, all probabilities would have to be stored. Instead they are counted in bins,
which are equally wide in ln(p/(1 − p)); 0 and 1 have bins of their own. A pair whose rows fall into one bin counts half, so the
area is wrong by at most half the share of such pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onkel._types import Counts, Matrix, Vector

BINS = 1026  # the first for 0, the last for 1
FURTHEST = 14.0  # largest |ln(p/(1 − p))| that is told apart: p = 8e-7. Odds in one bin differ by 2.8 %
MOST_RANKED = 20  # no area is computed for more classes than this


@dataclass
class RocCounts:
    """The number of rows in each bin, for each class."""

    others: Counts = field(default_factory=lambda: np.zeros((0, BINS), dtype=np.int64))  # (classes, BINS)  not of the class
    own: Counts = field(default_factory=lambda: np.zeros((0, BINS), dtype=np.int64))  # (classes, BINS)  of the class

    def widen(self, classes: int, rows: int) -> None:
        """Make room for more classes, whose probability was 0 in all `rows` rows so far."""
        more = max(0, min(classes, MOST_RANKED) - len(self.own))
        self.own = np.pad(self.own, ((0, more), (0, 0)))
        self.others = np.pad(self.others, ((0, more), (0, 0)))
        self.others[len(self.others) - more :, 0] = rows

    def add(self, probabilities: Matrix, y: Counts) -> None:
        """Add rows: the probabilities of all classes, and the index of each row's class."""
        places = _bins(probabilities[:, : len(self.own)])
        for k, place in enumerate(places.T):
            is_own = y == k
            self.own[k] += np.bincount(place[is_own], minlength=BINS)
            self.others[k] += np.bincount(place[~is_own], minlength=BINS)

    def area(self, classes: int) -> tuple[float, float]:
        """The area, and the largest error that it may have. With two classes it is the area for the second one, otherwise the mean
        of the areas for each class against all others.

        NaN if there are too many classes, or if no class has both rows that belong to it and rows that do not.
        """
        if classes > len(self.own):
            return np.nan, np.nan
        own, others = self.own.astype(float), self.others.astype(float)
        if classes == 2:
            own, others = own[1:], others[1:]
        pairs = own.sum(axis=1) * others.sum(axis=1)
        lower = np.cumsum(others, axis=1) - others
        alike = own * others / 2.0
        areas, within = (own * lower + alike).sum(axis=1), alike[:, 1:-1].sum(axis=1)
        return _mean(areas, pairs), _mean(within, pairs)


def _mean(sums: Vector, pairs: Vector) -> float:
    there = pairs > 0.0
    return float(np.mean(sums[there] / pairs[there])) if there.any() else np.nan


def _bins(p: Matrix) -> Counts:
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log1p(-p)
    inner = np.clip(odds, -FURTHEST, FURTHEST) * ((BINS - 3) / (2.0 * FURTHEST)) + 0.5 * (BINS - 1)
    return np.where(p <= 0.0, 0, np.where(p >= 1.0, BINS - 1, np.rint(inner).astype(np.int64)))
