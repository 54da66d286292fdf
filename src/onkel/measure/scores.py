"""The loss of scores, row by row; and the errors of a model and of two baselines, summed along a stream.

The baselines do not use X: they know only the labels before each row. Every row counts.

numbers    square and absolute error, and the share of the running mean's square error that is explained. That share leaves out the
           first row, where there is no mean yet: with a target far from 0 that row would dominate
classes    mistakes, the log loss of the probabilities, and how reliable they are
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.measure.reliability import BINS, FLOOR, Reliability, from_bins, in_bins
from onkel.model import Answers

LONG_RUNS = 0.01  # labels that change in a smaller share of the rows may be sorted
AS_IF_SORTED = 0.1  # they are sorted if the last label costs less than this part of its cost in random order

Metric = Callable[[Vector, Vector], Vector]
Means = dict[str, float]
Bins = list[list[float]]  # the sums of `in_bins`


def square(scores: Vector, y: Vector) -> Vector:
    """(score − y)², summed over the outputs."""
    return _summed((scores - y) ** 2)


def absolute(scores: Vector, y: Vector) -> Vector:
    """|score − y|, summed over the outputs."""
    return _summed(np.abs(scores - y))


def mistakes(scores: Vector, y: Vector) -> Vector:
    """1 for each row whose predicted label is wrong, else 0.

    The predicted label is the sign of the score (+1 for a score of 0) if labels are ±1, else the class with the largest output.
    """
    if y.ndim == 2 and y.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1) != y.argmax(axis=1), dtype=float)
    return np.asarray(np.where(scores >= 0.0, 1.0, -1.0) != y, dtype=float).reshape(len(y))


def windowed(losses: Vector, window: int) -> Vector:
    """The average over the last `window` rows (over all rows so far if there are fewer), for every row.

    The rows are divided into pieces as long as the window. A window is then the end of one piece and the start of the next, and its
    sum is that of two cumulative sums. Since nothing is subtracted, a huge loss leaves no rounding error after it.
    """
    if window < 1:
        raise InputError(f"window must be at least 1, got {window}")
    n, length = len(losses), max(1, min(window, len(losses)))
    pieces = np.append(losses, np.zeros(-n % length)).reshape(-1, length)
    starts = np.cumsum(pieces, axis=1)
    ends = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    ends[:, 0] = 0.0  # the window is exactly the next piece
    sums = starts.ravel()[:n]
    sums[length:] += ends.ravel()[1 : n - length + 1]
    return np.asarray(sums / np.minimum(np.arange(1, n + 1), length))


def default_metrics(y: Vector) -> dict[str, Metric]:
    if y.ndim == 1 and np.isin(y, (-1.0, 1.0)).all():
        return {"mistakes": mistakes, "square": square}
    return {"square": square, "absolute": absolute}


def _summed(values: Vector) -> Vector:
    return np.asarray(values.sum(axis=1) if values.ndim == 2 else values)


def running_mean(y: Vector, rows: int = 0, total: float = 0.0) -> Vector:
    """The mean of the labels before each row; 0 before the first. There are `rows` earlier labels, with the sum `total`."""
    before = np.cumsum(np.concatenate([np.full((1, *y.shape[1:]), total), y]), axis=0)[:-1]
    count = np.maximum(rows + np.arange(len(y)), 1).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(before / count)


def last_label(y: Vector, last: float = 0.0) -> Vector:
    """The label of the previous row; for the first row, `last`."""
    return np.concatenate([np.full((1, *y.shape[1:]), last), y[:-1]])


MEASURES = {"square": square, "absolute": absolute}


def _nothing() -> Means:
    return dict.fromkeys(MEASURES, 0.0)


def _no_bins() -> Bins:
    return [[0.0] * 4 for _ in range(BINS)]


@dataclass
class NumberErrors:
    rows: int = 0
    first: Means = field(default_factory=_nothing)  # the model's errors in the first row
    first_guess: Means = field(default_factory=_nothing)  # the errors of both baselines in the first row, where they predict 0
    sums: Means = field(default_factory=_nothing)  # the sums of the model's errors in all later rows
    running_mean: Means = field(default_factory=_nothing)
    last_label: Means = field(default_factory=_nothing)
    labels: float = 0.0  # the sum of the labels
    last: float = 0.0
    rises: int = 0  # rows whose label is larger than the previous one
    falls: int = 0

    def add(self, answers: Answers) -> Vector:
        """Add a block of answers. Returns the square error of each row."""
        scores, y = answers.predicted, answers.actual
        if not len(y):
            return np.empty(0)
        mean, last = running_mean(y, self.rows, self.labels), last_label(y, self.last)
        later = slice(1 if self.rows == 0 else 0, None)
        for name, measure in MEASURES.items():
            for total, guess in ((self.sums, scores), (self.running_mean, mean), (self.last_label, last)):
                total[name] += float(np.sum(measure(guess, y)[later]))
            if self.rows == 0:
                self.first[name] = float(measure(scores, y)[0])
                self.first_guess[name] = float(measure(mean, y)[0])
        self.rises += int(np.count_nonzero((y > last)[later]))
        self.falls += int(np.count_nonzero((y < last)[later]))
        self.labels = float(
            np.cumsum(np.concatenate([[self.labels], y]))[-1]
        )  # added one by one, so that the cut into blocks changes nothing
        self.last, self.rows = float(y[-1]), self.rows + len(y)
        return square(scores, y)

    def means(self) -> Means:
        return self._means(self.sums, self.first)

    def baselines(self) -> dict[str, Means]:
        guesses = {"running mean": self.running_mean, "last label": self.last_label}
        return {name: self._means(sums, self.first_guess) for name, sums in guesses.items()}

    def _means(self, sums: Means, first: Means) -> Means:
        gone = 1.0 - sums["square"] / self.running_mean["square"] if self.running_mean["square"] > 0.0 else 0.0
        means = {name: (first[name] + total) / max(1, self.rows) for name, total in sums.items()}
        return means | {"rmse": math.sqrt(means["square"]), "explained": gone}

    @property
    def is_sorted(self) -> bool:
        """Whether the label rises (or falls) in almost no row, and the last label is far better than the mean."""
        few = min(self.rises, self.falls) <= LONG_RUNS * self.rows
        return few and self.last_label["square"] < AS_IF_SORTED * self.running_mean["square"]


@dataclass
class ClassErrors:
    rows: int = 0
    wrong: int = 0
    log_losses: float = 0.0  # the sum of the log losses
    most_frequent: int = 0  # mistakes of this baseline
    last_label: int = 0  # mistakes of this baseline
    counts: list[int] = field(default_factory=list)  # the number of rows of each class
    last: int = -1
    of_first: Bins = field(default_factory=_no_bins)  # the probabilities of the first class
    of_others: Bins = field(default_factory=_no_bins)  # the probabilities of all other classes

    def add(self, answers: Answers) -> Vector:
        """Add a block of answers. Returns 1 for each row with a mistake, else 0."""
        y, probabilities = answers.actual.astype(np.int64), answers.probabilities
        assert probabilities is not None
        if not len(y):
            return np.empty(0)
        before = self._before(y, max(len(self.counts), int(y.max()) + 1))
        frequent = np.where(before.any(axis=1), before.argmax(axis=1), -1)
        last = last_label(answers.actual, self.last)
        wrong = answers.predicted != y
        own = np.asarray(y[:, None] == np.arange(probabilities.shape[1]), dtype=float)
        self.log_losses -= float(np.sum(np.log(np.clip(probabilities[own > 0.0], FLOOR, 1.0))))
        self._add_to_bins(probabilities, own, y)
        self.wrong += int(np.count_nonzero(wrong))
        self.most_frequent += int(np.count_nonzero(frequent != y))
        self.last_label += int(np.count_nonzero(last != y))
        self.rows, self.last = self.rows + len(y), int(y[-1])
        self.counts = (before[-1] + (np.arange(before.shape[1]) == y[-1])).tolist()
        return np.asarray(wrong, dtype=float)

    def _add_to_bins(self, probabilities: Matrix, own: Matrix, y: Counts) -> None:
        """Add the probabilities to their bins.

        Those of the first two classes are added in every row, those of any other class from the row on in which it first appears.
        """
        place = np.arange(probabilities.shape[1])
        there = (place < 2) | (self._before(y, len(place)) > 0) | (own > 0.0)
        for bins, those in ((self.of_first, there & (place == 0)), (self.of_others, there & (place > 0))):
            bins[:] = (np.array(bins) + in_bins(probabilities[those], own[those])).tolist()

    def reliability(self) -> Reliability:
        """With two classes, the reliability for the second. With more, for all of them: each row counts once for each class."""
        sums = np.array(self.of_others) + (np.array(self.of_first) if len(self.counts) > 2 else 0.0)
        rows = sums[:, 2].sum() if len(self.counts) > 2 else sums[:, 0].sum()  # each row belongs to one class
        return from_bins(sums, int(rows), self.log_losses / max(1, self.rows))

    def _before(self, y: Counts, classes: int) -> Counts:
        """The number of rows of each class before each row."""
        own = np.zeros((len(y) + 1, classes), dtype=np.int64)
        own[0, : len(self.counts)] = self.counts
        own[np.arange(1, len(y) + 1), y] = 1
        return np.asarray(np.cumsum(own, axis=0)[:-1])

    def means(self) -> Means:
        return self._means(self.wrong) | {"log_loss": self.log_losses / max(1, self.rows)}

    def baselines(self) -> dict[str, Means]:
        return {"most frequent label": self._means(self.most_frequent), "last label": self._means(self.last_label)}

    def _means(self, wrong: int) -> Means:
        return {"mistakes": wrong / max(1, self.rows)}

    @property
    def is_sorted(self) -> bool:
        """Whether equal labels form a few long runs."""
        changes, shares = (self.last_label - 1) / max(1, self.rows), np.array(self.counts) / max(1, self.rows)
        in_random_order = 1.0 - float(np.sum(shares**2))
        return changes < LONG_RUNS and changes < AS_IF_SORTED * in_random_order


Errors = NumberErrors | ClassErrors


def errors_for(task: str) -> Errors:
    return NumberErrors() if task == "regression" else ClassErrors()
