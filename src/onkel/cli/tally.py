"""What a run has cost so far: the learner, and two guesses that know only the labels before each row.

numbers    square and absolute error, and the share of the running mean's square error that is gone; from the second row on,
           for the size of the first number nobody can know
classes    mistakes, from the first row on
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.measure import absolute, square

MEASURES = {"square": square, "absolute": absolute}

Means = dict[str, float]


def _nothing() -> Means:
    return dict.fromkeys(MEASURES, 0.0)


@dataclass
class OfNumbers:
    rows: int = 0
    sums: Means = field(default_factory=_nothing)
    running_mean: Means = field(default_factory=_nothing)
    last_label: Means = field(default_factory=_nothing)
    labels: float = 0.0  # their sum
    last: float = 0.0

    def add(self, scores: Vector, y: Vector) -> Vector:
        """The first measure, row by row."""
        sums = np.cumsum(np.concatenate([[self.labels], y]))
        mean = sums[:-1] / np.maximum(self.rows + np.arange(len(y)), 1)
        last = np.concatenate([[self.last], y[:-1]])
        counted = slice(1 if self.rows == 0 else 0, None)
        for name, measure in MEASURES.items():
            for total, guess in ((self.sums, scores), (self.running_mean, mean), (self.last_label, last)):
                total[name] += float(np.sum(measure(guess, y)[counted]))
        self.labels, self.last, self.rows = float(sums[-1]), float(y[-1]), self.rows + len(y)
        return square(scores, y)

    def means(self) -> Means:
        return self._means(self.sums)

    def references(self) -> dict[str, Means]:
        return {"running mean": self._means(self.running_mean), "last label": self._means(self.last_label)}

    def _means(self, sums: Means) -> Means:
        gone = 1.0 - sums["square"] / self.running_mean["square"] if self.running_mean["square"] > 0.0 else 0.0
        return {name: total / max(1, self.rows - 1) for name, total in sums.items()} | {"explained": gone}

    @staticmethod
    def columns(means: Means) -> Means:
        """Under headings, the square error as its root: in the units of the target."""
        return {"rms error": math.sqrt(means["square"]), "absolute error": means["absolute"], "explained": means["explained"]}


@dataclass
class OfClasses:
    rows: int = 0
    wrong: int = 0
    most_frequent: int = 0  # mistakes of that guess, and of the next
    last_label: int = 0
    counts: list[int] = field(default_factory=list)  # rows of each class
    last: int = -1

    def best(self, scores: Matrix, y: Counts) -> Counts:
        """The class of the largest score among those that came before; -1 where none has."""
        before = self._before(y, scores.shape[1])
        return np.where(before.any(axis=1), np.where(before > 0, scores, -np.inf).argmax(axis=1), -1)

    def add(self, guesses: Counts, y: Counts) -> Vector:
        """Mistakes, row by row."""
        before = self._before(y, max(len(self.counts), int(y.max()) + 1))
        frequent = np.where(before.any(axis=1), before.argmax(axis=1), -1)
        last = np.concatenate([[self.last], y[:-1]])
        wrong = guesses != y
        self.wrong += int(np.count_nonzero(wrong))
        self.most_frequent += int(np.count_nonzero(frequent != y))
        self.last_label += int(np.count_nonzero(last != y))
        self.rows, self.last = self.rows + len(y), int(y[-1])
        self.counts = (before[-1] + (np.arange(before.shape[1]) == y[-1])).tolist()
        return np.asarray(wrong, dtype=float)

    def _before(self, y: Counts, classes: int) -> Counts:
        """How many rows each class had before each row."""
        own = np.zeros((len(y) + 1, classes), dtype=np.int64)
        own[0, : len(self.counts)] = self.counts
        own[np.arange(1, len(y) + 1), y] = 1
        return np.asarray(np.cumsum(own, axis=0)[:-1])

    def means(self) -> Means:
        return self._means(self.wrong)

    def references(self) -> dict[str, Means]:
        return {"most frequent label": self._means(self.most_frequent), "last label": self._means(self.last_label)}

    def _means(self, wrong: int) -> Means:
        return {"mistakes": wrong / max(1, self.rows)}

    @staticmethod
    def columns(means: Means) -> Means:
        return means


Tally = OfNumbers | OfClasses
