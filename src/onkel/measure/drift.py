"""Changes of a stream, found as rises of the losses of a model's answers.

Losses are taken in batches of 64. Each batch has one value: the share of mistakes, or the logarithm of the mean error, where an
error counts as at most CAP times the median of its batch. So neither the unit of the errors nor a few huge ones matter.

The values enter a window that adapts its length (ADWIN). The window is kept as buckets of 1, 2, 4, … batches, at most five of each
size, so memory for n rows is O(log n). After each batch the window may be cut at any boundary between two buckets. Let n₀ be the
number of rows before the boundary, n₁ the number after it, and m = n₀n₁/(n₀ + n₁). The window is cut if the mean values before and
after the boundary differ by more than

    √(2 c σ² L / m) + ⅔ c b L / m,        L = ln(2 ln(batches) / DELTA)

where `batches` is the number of batches in the window. This is Bernstein's inequality: σ² is the variance of the value of a single
row, b its largest deviation from the mean, and DELTA limits the probability of a false alarm. Losses of neighbouring rows may be
correlated, so c rows count as one independent observation. c is estimated from the losses, as 64 v/σ² · (1 + r)/(1 − r), and at
least as 1. There v is the variance of the batches' values about the mean of their side of the boundary, and r the correlation of
successive batches.

The rows before the cut are forgotten. A rise of the losses is reported as a change of the stream; a fall is not, because learning
makes losses fall.

>>> errors = np.abs(np.random.default_rng(0).standard_cauchy(10_000))
>>> errors[6000:] *= 3.0
>>> drift = onkel.measure.drift.of_errors()
>>> drift.add(errors)
>>> [change.row for change in drift.changes()]
[6017]

A. Bifet and R. Gavaldà (2007), Learning from time-changing data with adaptive windowing, SDM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector

BATCH = 64  # rows
ALIKE = 5  # buckets of one size
MOST_BUCKETS = 200  # enough for 2⁴⁰ batches
MOST_CHANGES = 100  # changes that are stored; later ones are only counted
DELTA = 0.0005
CAP = 5.0  # an error counts as at most this many times the median of its batch
LEAST = 1e-9  # the mean error of a batch counts as at least this part of the largest one so far
# b in the formula above: the largest deviation of a row from the mean of its batch, in units of the batch's value
DEVIATION_OF_MISTAKES, DEVIATION_OF_ERRORS = 1.0, 3.0

BATCHES, MEAN, BETWEEN, JUMP, STEPS, WITHIN, LOSS = range(7)  # columns of a bucket, see `Drift`
COLUMNS = 7
MOST_ALIKE = 0.8  # r is at most this
USED, CHANGES = range(2)


def whole_numbers(*shape: int) -> Any:
    """A field that is an array of zeros at first."""
    return field(default_factory=partial(np.zeros, shape, np.int64))


class Change(NamedTuple):
    """A change of the stream, found as a rise of the loss.

    >>> onkel.measure.drift.Change(row=6017, before=0.7, after=2.1)
    Change(row=6017, before=0.7, after=2.1)
    """

    row: int  # about the first row after the change, counted from 1
    before: float  # the mean loss in the window before the change
    after: float  # the mean loss from the change to the row where it was found


@dataclass
class Drift:
    """The window, and the changes found so far."""

    of_mistakes: bool  # losses are 0 or 1; else they are errors of any size
    rows: int = 0
    largest: float = 0.0  # the largest mean error of a batch so far
    start: Counts = whole_numbers(1)  # batches before the window
    count: Counts = whole_numbers(2)  # the number of buckets, and of changes
    # One row for each bucket, oldest first: the number of its batches; the mean of their values; the sum of squares about that
    # mean; the squared difference between the values of its first batch and of the batch before (JUMP); the sum of these squared
    # differences for its other batches (STEPS); the mean variance of a row within its batch; the mean loss.
    buckets: Matrix = field(default_factory=partial(np.zeros, (MOST_BUCKETS, COLUMNS)))
    found: Matrix = field(default_factory=partial(np.zeros, (MOST_CHANGES, 3)))  # batches before a change, loss before, loss after
    waiting: Vector = field(default_factory=partial(np.zeros, BATCH))  # losses of the incomplete batch

    def add(self, losses: Vector) -> None:
        """Add the losses of more rows. How they are cut into calls makes no difference."""
        held = self.rows % BATCH
        losses = np.concatenate([self.waiting[:held], losses])
        whole = len(losses) - len(losses) % BATCH
        self.waiting[:] = 0.0
        self.waiting[: len(losses) - whole] = losses[whole:]
        self.rows += len(losses) - held
        if whole:
            batches = losses[:whole].reshape(-1, BATCH)
            values = self._shares(batches) if self.of_mistakes else self._logarithms(batches)
            deviation = DEVIATION_OF_MISTAKES if self.of_mistakes else DEVIATION_OF_ERRORS
            watch(self.buckets, self.count, self.start, self.found, values, deviation)

    @staticmethod
    def _shares(batches: Matrix) -> Matrix:
        mean = batches.mean(axis=1)
        return np.column_stack([mean, batches.var(axis=1, ddof=1), mean])

    def _logarithms(self, batches: Matrix) -> Matrix:
        median = np.median(batches, axis=1, keepdims=True)
        capped = np.minimum(batches, np.where(median > 0.0, CAP * median, np.inf))
        means = capped.mean(axis=1)
        largest = np.maximum.accumulate(np.append(self.largest, means))[1:]
        self.largest = float(largest[-1])
        sizes = np.maximum(means, np.maximum(LEAST * largest, np.finfo(float).tiny))
        variance = (capped / sizes[:, None]).var(axis=1, ddof=1)
        return np.column_stack([np.log(sizes), variance, batches.mean(axis=1)])

    @property
    def is_possible(self) -> bool:
        used, found = self.count.tolist()
        return 0 <= used < MOST_BUCKETS and found >= 0 and self.rows >= 0 and bool(np.all(self.waiting >= 0.0))

    @property
    def found_in_all(self) -> int:
        """The number of changes, including those after the first MOST_CHANGES, which are not stored."""
        return int(self.count[CHANGES])

    def changes(self) -> list[Change]:
        """The first MOST_CHANGES changes."""
        kept = self.found[: min(self.found_in_all, MOST_CHANGES)].tolist()
        return [Change(int(batches) * BATCH + 1, before, after) for batches, before, after in kept]


def of_errors() -> Drift:
    """A `Drift` for errors: losses of any size, at least 0."""
    return Drift(of_mistakes=False)


def of_mistakes() -> Drift:
    """A `Drift` for mistakes: losses of 0 or 1.

    >>> wrong = np.random.default_rng(0).random(10_000) < np.repeat([0.1, 0.3], 5000)  # 10 % of mistakes, then 30 %
    >>> drift = onkel.measure.drift.of_mistakes()
    >>> drift.add(wrong.astype(float))
    >>> [(change.row, round(change.before, 2), round(change.after, 2)) for change in drift.changes()]
    [(4993, 0.11, 0.27)]
    """
    return Drift(of_mistakes=True)


@hot
def watch(buckets: Matrix, count: Counts, start: Counts, found: Matrix, values: Matrix, deviation: float) -> None:
    """Add batches, each as value, variance of a row and mean loss; record rises and forget what is before a cut."""
    for t in range(values.shape[0]):
        used = min(count[USED], MOST_BUCKETS - 1)
        buckets[used, BATCHES] = 1.0
        buckets[used, MEAN] = values[t, 0]
        buckets[used, BETWEEN] = 0.0
        # the bucket before is a single batch, so its mean is the value of that batch
        buckets[used, JUMP] = (values[t, 0] - buckets[used - 1, MEAN]) ** 2 if used > 0 else 0.0
        buckets[used, STEPS] = 0.0
        buckets[used, WITHIN] = values[t, 1]
        buckets[used, LOSS] = values[t, 2]
        count[USED] = _compressed(buckets, used + 1)
        cut = _cut(buckets, count[USED], deviation)
        if cut > 0:
            _report(buckets, count, start, found, cut)
            _forget(buckets, count, start, cut)


@hot
def _merge(one: Vector, other: Vector) -> None:
    """Merge two buckets; the result replaces the first."""
    batches = one[BATCHES] + other[BATCHES]
    share, apart = other[BATCHES] / batches, other[MEAN] - one[MEAN]
    one[BETWEEN] += other[BETWEEN] + apart * apart * share * one[BATCHES]
    one[MEAN] += share * apart
    one[STEPS] += other[JUMP] + other[STEPS]
    one[WITHIN] += share * (other[WITHIN] - one[WITHIN])
    one[LOSS] += share * (other[LOSS] - one[LOSS])
    one[BATCHES] = batches


@hot
def _compressed(buckets: Matrix, used: int) -> int:
    """If there are more than ALIKE buckets of one size, merge the two oldest of them; the smallest size comes first. Returns the
    number of buckets."""
    last = used
    while last > ALIKE and buckets[last - ALIKE - 1, BATCHES] == buckets[last - 1, BATCHES]:
        first = last - ALIKE - 1
        _merge(buckets[first], buckets[first + 1])
        for k in range(first + 1, used - 1):
            buckets[k] = buckets[k + 1]
        used -= 1
        last = first + 1
    return used


@hot
def _cut(buckets: Matrix, used: int, deviation: float) -> int:
    """The boundary where the two means differ most, relative to what chance allows; 0 if chance explains all differences."""
    whole = buckets[0].copy()
    for k in range(1, used):
        _merge(whole, buckets[k])
    batches = whole[BATCHES]
    if batches < 3.0:
        return 0
    confidence = math.log(2.0 * math.log(batches) / DELTA)
    before = np.zeros(COLUMNS)
    best, place = 1.0, 0
    for k in range(1, used):
        _merge(before, buckets[k - 1])
        left, right = before[BATCHES], batches - before[BATCHES]
        apart = (whole[MEAN] - before[MEAN]) * batches / right
        weight = left * right / batches
        alike = _alike(whole[BETWEEN] - apart * apart * weight, whole[STEPS], whole[WITHIN], batches)
        exponent = alike * confidence / (BATCH * weight)
        chance = math.sqrt(2.0 * whole[WITHIN] * exponent) + 2.0 / 3.0 * deviation * exponent
        if abs(apart) > best * chance:
            best, place = abs(apart) / chance, k
    return place


@hot
def _alike(squares: float, steps: float, variance: float, batches: float) -> float:
    """c in the formula above: how many rows count as one independent observation. `squares` is the sum of squares of the batches'
    values about the mean of their side of the boundary."""
    if squares <= 0.0 or variance <= 0.0:
        return 1.0
    r = min(max(0.0, 1.0 - 0.5 * steps / squares), MOST_ALIKE)
    return max(1.0, BATCH * squares / (batches - 2.0) / variance * (1.0 + r) / (1.0 - r))


@hot
def _report(buckets: Matrix, count: Counts, start: Counts, found: Matrix, cut: int) -> None:
    """Record the change if the values have risen."""
    before, after = np.zeros(COLUMNS), np.zeros(COLUMNS)
    for k in range(count[USED]):
        _merge(before if k < cut else after, buckets[k])
    if after[MEAN] <= before[MEAN]:
        return
    if count[CHANGES] < MOST_CHANGES:
        found[count[CHANGES], 0] = start[0] + before[BATCHES]
        found[count[CHANGES], 1] = before[LOSS]
        found[count[CHANGES], 2] = after[LOSS]
    count[CHANGES] += 1


@hot
def _forget(buckets: Matrix, count: Counts, start: Counts, cut: int) -> None:
    """Drop the oldest buckets."""
    for k in range(cut):
        start[0] += int(buckets[k, BATCHES])
    for k in range(cut, count[USED]):
        buckets[k - cut] = buckets[k]
    count[USED] -= cut
