"""How reliable probabilities are: of the rows with a predicted probability of 0.8, did 80 % belong to the class?

>>> rng = np.random.default_rng(0)
>>> truth = rng.random(10_000)
>>> labels = rng.random(10_000) < truth
>>> for predicted in truth, np.where(truth > 0.5, 0.99, 0.01):
...     found = onkel.measure.reliability(predicted, labels)
...     print(f"error {found.calibration_error:.2f}, Brier score {found.brier:.2f}, log loss {found.log_loss:.2f}")
error 0.01, Brier score 0.17, log loss 0.51
error 0.24, Brier score 0.25, log loss 1.16
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError

FLOOR = 1e-6
BINS = 10


@dataclass(frozen=True, repr=False)
class Reliability:
    """How reliable probabilities are: rows are grouped by predicted probability, in bins of equal width; empty bins are left out.

    With several classes, each row counts once for each of them.
    """

    predicted: Vector  # the mean probability in each bin
    observed: Vector  # the share of its rows that belong to the class
    count: Counts
    brier: float  # mean over rows of Σ (probability − label)² over the classes; with two classes, of only one of them
    log_loss: float

    def __repr__(self) -> str:
        error = f"calibration error {self.calibration_error:.4g}"
        return f"<Reliability in {len(self.count)} bins: {error}, Brier {self.brier:.4g}, log loss {self.log_loss:.4g}>"

    @property
    def calibration_error(self) -> float:
        """The mean of |predicted − observed| over all rows (the expected calibration error)."""
        return float(np.abs(self.predicted - self.observed) @ self.count / max(1, self.count.sum()))


def reliability(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS, floor: float = FLOOR) -> Reliability:
    """Compare probabilities with labels.

    For one class: probabilities (n,), and labels True or False. For several: probabilities (n, classes), and the index of each
    row's class.
    """
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}")
    p, own = _checked(probabilities, labels)
    sums, brier = np.zeros((bins, 3)), float(((p - own) ** 2).sum()) / max(1, len(p))
    add_to_bins(sums, p, own)
    return from_bins(sums, brier, log_loss(probabilities, labels, floor))


def add_to_bins(sums: Matrix, p: NDArray[np.float64], own: NDArray[np.float64]) -> None:
    """Add rows to the sums of each bin, (bins, 3): the count, and the sums of p and own.

    Rows are added one after the other, so that it does not matter how they are divided into calls.

    p are probabilities of classes; own is 1 if the row belongs to the class, else 0.
    """
    place = np.minimum((p.ravel() * len(sums)).astype(int), len(sums) - 1)
    np.add.at(sums, place, np.column_stack([np.ones(p.size), p.ravel(), own.ravel()]))


def from_bins(sums: Matrix, brier: float, log_loss: float) -> Reliability:
    """The reliability from the sums of `add_to_bins`, the Brier score and the log loss."""
    there = sums[sums[:, 0] > 0.0]
    predicted, observed = (there[:, 1:3] / there[:, :1]).T
    return Reliability(predicted, observed, there[:, 0].astype(np.int64), brier, log_loss)


def log_loss(probabilities: ArrayLike, labels: ArrayLike, floor: float = FLOOR) -> float:
    """The mean of −ln p, with p the probability of each row's class, clipped to [floor, 1 − floor]; shapes as in `reliability`."""
    p, own = _checked(probabilities, labels)
    got = (p * own).sum(axis=1) if p.shape[1] > 1 else np.where(own > 0.0, p, 1.0 - p)[:, 0]
    return float(-np.log(np.clip(got, floor, 1.0 - floor)).mean()) if len(p) else 0.0


def _checked(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Matrix, Matrix]:
    """The probabilities (n, classes), clipped to [0, 1], and 0/1 labels of the same shape: 1 if the row belongs to the class.

    Both have only one column if the probabilities are those of one class.
    """
    p, y = np.asarray(probabilities, dtype=float), np.asarray(labels)
    if p.ndim not in (1, 2) or y.shape != p.shape[:1]:
        raise InputError(f"there must be one label for each row of probabilities, got shapes {y.shape} and {p.shape}")
    if np.isnan(p).any():
        raise InputError("probabilities contain nan")
    if p.ndim == 1:
        if not np.isin(y, (0, 1)).all():
            raise InputError("labels must be True or False for probabilities of one class; for ±1 give labels > 0")
        return np.clip(p, 0.0, 1.0)[:, None], y.astype(float)[:, None]
    if y.dtype.kind not in "iu" or np.any(y < 0) or np.any(y >= p.shape[1]):
        raise InputError(f"labels must be indices of classes, 0 to {p.shape[1] - 1}")
    return np.clip(p, 0.0, 1.0), np.asarray(y[:, None] == np.arange(p.shape[1]), dtype=float)
