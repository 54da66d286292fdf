"""The errors of a model and of two baselines, summed along a stream. Every row counts.

`NumberErrors` and `ClassErrors` are states: how rows are cut into tables changes no bit of them, and they are saved with a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.measure.drift import Drift, of_errors, of_mistakes, whole_numbers
from onkel.measure.metrics import AUC, ErrorCurve, Metric, every, headline, task_of, values
from onkel.measure.reliability import BINS, FLOOR, Reliability, add_to_bins, from_bins
from onkel.measure.roc_auc import BINS as ROC_BINS
from onkel.measure.roc_auc import MOST_RANKED, RocCounts
from onkel.measure.sums import (
    CLASS_COLUMNS,
    LABELS,
    MOST,
    NUMBER_COLUMNS,
    ROWS,
    SPREAD,
    WINDOW,
    ClassSums,
    NumberSums,
    Pieces,
    added,
    halves,
    merged,
    with_room,
)  # fmt: skip
from onkel.model import Answers
from onkel.state import filled, leaves

LARGEST = 1e290  # a loss counts as at most this, so that sums are finite and can be saved
LONG_RUNS = 0.01  # labels that change in a smaller share of the rows may be sorted
AS_IF_SORTED = 0.1  # sorted labels: the last label costs less than this part of its cost in random order, or of the mean's
MOST_CONFUSED = 50  # classes of a confusion matrix

Means = dict[str, float]


@dataclass
class HalfWidths:
    """Half the widths of the intervals of rows, as given before each row was learnt."""

    levels: Vector
    half: Matrix  # (rows, levels)  half their widths

    def pinball(self, errors: Vector) -> Vector:
        """The mean pinball loss over all ends of the intervals; infinite if an interval is infinite."""
        outside = np.maximum(np.abs(errors)[:, None] - self.half, 0.0)
        return np.asarray(np.mean((1.0 - self.levels) * self.half + np.nan_to_num(outside), axis=1) / 2.0)


@dataclass
class NumberErrors:
    pieces: Pieces = field(default_factory=Pieces)
    sums: Matrix = field(default_factory=partial(np.zeros, (MOST, len(NUMBER_COLUMNS))))  # see `NumberSums`
    drift: Drift = field(default_factory=of_errors)
    first: float = 0.0  # label
    last: float = 0.0  # label
    labels: float = 0.0  # their sum
    rises: int = 0  # rows whose label is larger than the previous one
    falls: int = 0

    @property
    def rows(self) -> int:
        return self.pieces.rows

    def add(self, answers: Answers, intervals: HalfWidths | None = None) -> Vector:
        """Add a block of answers, and return the square error of each."""
        y = answers.actual
        if not len(y):
            return np.empty(0)
        if not self.rows:
            self.first = float(y[0])
        values = self._values(answers.predicted, y, intervals)
        columns = np.column_stack([getattr(values, name) for name in NUMBER_COLUMNS])
        np.clip(columns, -LARGEST, LARGEST, out=columns)
        later, before = slice(0 if self.rows else 1, None), last_label(y, self.last)
        self.rises += int(np.count_nonzero((y > before)[later]))
        self.falls += int(np.count_nonzero((y < before)[later]))
        self.labels, self.last = float(np.cumsum(np.append(self.labels, y))[-1]), float(y[-1])
        for piece, part in self.pieces.cuts(len(y), self._halve):
            self._spread(self.sums[piece], columns[part])
            self.sums[piece] = added(self.sums[piece], columns[part])
        self.drift.add(values.absolute.clip(0.0, LARGEST))
        return values.first_square + values.later_square

    def _values(self, scores: Vector, y: Vector, intervals: HalfWidths | None) -> NumberSums:
        """What each row adds to each sum, except to `spread` (see `_spread`)."""
        mean, last = running_mean(y, self.rows, self.labels), last_label(y, self.last)
        errors, is_zero, nothing = scores - y, y == 0.0, np.zeros(len(y))
        is_first = np.arange(self.rows, self.rows + len(y)) == 0
        pinball = nothing if intervals is None else intervals.pinball(errors)
        is_banded = np.isfinite(pinball) & (intervals is not None)
        return NumberSums(
            rows=np.ones(len(y)),
            labels=y - self.first,
            spread=nothing,
            first_square=np.where(is_first, errors**2, 0.0),
            first_guess=np.where(is_first, y**2, 0.0),
            later_square=np.where(is_first, 0.0, errors**2),
            mean_square=np.where(is_first, 0.0, (mean - y) ** 2),
            last_square=np.where(is_first, 0.0, (last - y) ** 2),
            absolute=np.abs(errors),
            mean_absolute=np.abs(mean - y),
            last_absolute=np.abs(last - y),
            relative=np.divide(np.abs(errors), np.abs(y), out=np.zeros(len(y)), where=~is_zero),
            zeros=is_zero.astype(float),
            pinball=np.where(is_banded, pinball, 0.0),
            banded=is_banded.astype(float),
        )

    def _spread(self, total: Vector, values: Matrix) -> None:
        """Set each row's part of the sum of squares of the labels about their mean: n/(n + 1) · (label − mean of the n before)²."""
        labels = values[:, LABELS]
        before = np.cumsum(np.append(total[LABELS], labels))[:-1]
        rows = total[ROWS] + np.arange(len(labels))
        values[:, SPREAD] = np.minimum(rows / (rows + 1.0) * (labels - before / np.maximum(rows, 1.0)) ** 2, LARGEST)

    def _halve(self) -> None:
        self.sums = with_room(merged(halves(self.sums)))

    def whole(self) -> NumberSums:
        """The sums over the whole stream."""
        return NumberSums(*merged(self.pieces.together(self.sums))[0])

    def windows(self) -> NumberSums:
        """The sums over each window along it."""
        return NumberSums(*merged(self.pieces.windows(self.sums)).T)

    def so_far(self) -> NumberSums:
        """The sums over all rows up to the end of each piece."""
        pieces = self.sums[None, : self.pieces.used]
        return NumberSums(*np.concatenate([merged(pieces[:, : k + 1]) for k in range(self.pieces.used)]).T)

    def means(self) -> Means:
        """Every metric over all rows, and the number of rows that the relative error leaves out."""
        whole = self.whole()
        return means_of(whole) | {"mape_left_out": float(whole.zeros)}

    @property
    def is_possible(self) -> bool:
        return min(self.rises, self.falls) >= 0

    @property
    def is_sorted(self) -> bool:
        """Whether the labels are sorted: they rise (or fall) in almost no row, and the last label predicts far better than the
        running mean."""
        few, whole = min(self.rises, self.falls) <= LONG_RUNS * self.rows, self.whole()
        return bool(few and whole.last_square < AS_IF_SORTED * whole.mean_square)


@dataclass
class ClassErrors:
    pieces: Pieces = field(default_factory=Pieces)
    sums: Matrix = field(default_factory=partial(np.zeros, (MOST, len(CLASS_COLUMNS))))  # see `ClassSums`
    # (pieces, 3, classes)  rows of each class, rows predicted as it, rows of it that were predicted as it
    of_classes: Counts = whole_numbers(MOST, 3, 0)
    confused: Counts = whole_numbers(0, 0)  # rows by class and predicted class
    ranks: RocCounts = field(default_factory=RocCounts)
    of_first: Matrix = field(default_factory=partial(np.zeros, (BINS, 3)))  # `add_to_bins` of the first class
    of_others: Matrix = field(default_factory=partial(np.zeros, (BINS, 3)))  # of all other classes
    drift: Drift = field(default_factory=of_mistakes)
    last: int = -1  # label

    @property
    def rows(self) -> int:
        return self.pieces.rows

    @property
    def counts(self) -> Counts:
        """The rows of each class."""
        return np.asarray(self.of_classes[:, 0].sum(axis=0))

    def add(self, answers: Answers) -> Vector:
        """Add a block of answers, and return 1 for each mistake, else 0."""
        y, p = answers.actual.astype(np.int64), answers.probabilities
        assert p is not None
        if not len(y):
            return np.empty(0)
        classes = max(self.of_classes.shape[2], p.shape[1], int(y.max()) + 1)
        self._widen(classes)
        p = np.pad(p, ((0, 0), (0, classes - p.shape[1])))
        own, before = np.asarray(y[:, None] == np.arange(classes), dtype=np.float64), self._before(y)
        predicted = answers.predicted.astype(np.int64)
        self._add_to_bins(p, own, before)
        self.ranks.add(p, y)
        values = self._values(y, predicted, p, own, before)
        columns = np.column_stack([getattr(values, name) for name in CLASS_COLUMNS])
        for piece, part in self.pieces.cuts(len(y), self._halve):
            self.sums[piece] = added(self.sums[piece], columns[part])
            self._count(self.of_classes[piece], y[part], predicted[part])
        self.drift.add(values.wrong)
        self.last = int(y[-1])
        return values.wrong

    def _values(self, y: Counts, predicted: Counts, p: Matrix, own: Matrix, before: Counts) -> ClassSums:
        """What each row adds to each sum; classes are counted elsewhere."""
        brier = (p - own) ** 2
        return ClassSums(
            rows=np.ones(len(y)),
            wrong=np.asarray(predicted != y, dtype=np.float64),
            log_loss=-np.log(np.clip(p[own > 0.0], FLOOR, 1.0)),
            first_brier=brier[:, 0],
            other_brier=brier[:, 1:].sum(axis=1),
            frequent_wrong=np.asarray(frequent_class(before) != y, dtype=np.float64),
            last_wrong=np.asarray(last_label(y.astype(np.float64), self.last) != y, dtype=np.float64),
            true=own,
            predicted=own,
            correct=own,
        )

    def _widen(self, classes: int) -> None:
        if more := classes - self.of_classes.shape[2]:
            if self.of_classes.shape[2] == 1:
                self.of_others[0, 0] += self.rows  # its probability was 0 in all of them
            self.of_classes = np.pad(self.of_classes, ((0, 0), (0, 0), (0, more)))
            self.ranks.widen(classes, self.rows)
            room = min(classes, MOST_CONFUSED) - len(self.confused)
            self.confused = np.pad(self.confused, ((0, room), (0, room)))

    def _count(self, of_classes: Counts, y: Counts, predicted: Counts) -> None:
        for k, those in enumerate((y, predicted[predicted >= 0], y[y == predicted])):
            of_classes[k] += np.bincount(those, minlength=of_classes.shape[1])
        there = (predicted >= 0) & (predicted < len(self.confused)) & (y < len(self.confused))
        np.add.at(self.confused, (y[there], predicted[there]), 1)

    def _add_to_bins(self, p: Matrix, own: Matrix, before: Counts) -> None:
        """Add the probabilities to their bins: for the first two classes in every row, for each other class from its first row on,
        since the number of classes is not known before."""
        place = np.arange(p.shape[1])
        there = (place < 2) | (before > 0) | (own > 0.0)
        for bins, those in ((self.of_first, there & (place == 0)), (self.of_others, there & (place > 0))):
            add_to_bins(bins, p[those], own[those])

    def _before(self, y: Counts) -> Counts:
        """The number of rows of each class before each row."""
        own = np.concatenate([self.counts[None], y[:, None] == np.arange(self.of_classes.shape[2])])
        return np.asarray(np.cumsum(own, axis=0)[:-1])

    def _halve(self) -> None:
        self.sums = with_room(halves(self.sums).sum(axis=1))
        self.of_classes = with_room(halves(self.of_classes).sum(axis=1))

    def whole(self) -> ClassSums:
        """The sums over the whole stream."""
        parts: list[Any] = [*self.sums.sum(axis=0), *self.of_classes.sum(axis=0).astype(float), self.ranks]
        return ClassSums(*parts)

    def windows(self) -> ClassSums:
        """The sums over each window along it."""
        of_classes = self.pieces.windows(self.of_classes).sum(axis=1).astype(float)
        return ClassSums(*self.pieces.windows(self.sums).sum(axis=1).T, *np.moveaxis(of_classes, 1, 0))

    def so_far(self) -> ClassSums:
        """The sums over all rows up to the end of each piece."""
        used = self.pieces.used
        of_classes = np.cumsum(self.of_classes[:used], axis=0).astype(float)
        return ClassSums(*np.cumsum(self.sums[:used], axis=0).T, *np.moveaxis(of_classes, 1, 0))

    def means(self) -> Means:
        """Every metric of all rows."""
        return means_of(self.whole()) | {"auc_within": self.ranks.area(self.of_classes.shape[2])[1]}

    @property
    def is_possible(self) -> bool:
        classes = self.of_classes.shape[2]
        confused, ranked = min(classes, MOST_CONFUSED), min(classes, MOST_RANKED)
        shapes = self.confused.shape, self.ranks.own.shape, self.ranks.others.shape
        fit = shapes == ((confused, confused), (ranked, ROC_BINS), (ranked, ROC_BINS))
        return fit and -1 <= self.last < max(1, classes)

    def reliability(self) -> Reliability:
        """The reliability of the probabilities of the second class if there are two classes, else of all classes; then each row
        counts once for each class."""
        means, several = self.means(), self.of_classes.shape[2] > 2
        return from_bins(self.of_others + (self.of_first if several else 0.0), means["brier"], means["log_loss"])

    @property
    def confusion(self) -> list[list[int]] | None:
        """The number of rows by class and predicted class; None for more than MOST_CONFUSED classes. Rows before any class was
        known are left out."""
        return self.confused.tolist() if len(self.confused) == self.of_classes.shape[2] else None

    @property
    def is_sorted(self) -> bool:
        """Whether the labels are sorted: equal labels form a few long runs."""
        changes, shares = (self.whole().last_wrong - 1.0) / max(1, self.rows), self.counts / max(1, self.rows)
        in_random_order = 1.0 - float(np.sum(shares**2))
        return bool(changes < LONG_RUNS and changes < AS_IF_SORTED * in_random_order)


Errors = NumberErrors | ClassErrors


def errors_for(task: str) -> Errors:
    return NumberErrors() if task == "regression" else ClassErrors()


def headline_of(errors: Errors) -> Means:
    """The metric that is shown first, over the stream so far."""
    whole = errors.whole()
    return {name: float(value) for name, value in values([headline(task_of(whole))], whole).items()}


def baselines(errors: Errors) -> dict[str, Means]:
    """The metrics of the baselines, without those that a baseline does not have."""
    return {
        name: {metric: value for metric, value in means_of(guesses).items() if not math.isnan(value)}
        for name, guesses in errors.whole().baselines().items()
    }


def means_of(whole: NumberSums | ClassSums) -> Means:
    """Every metric of the whole stream."""
    found = {name: float(value) for name, value in every(whole).items()}
    return found | {"absolute": found["mae"]} if isinstance(whole, NumberSums) else found  # an older name


def curve_of(errors: Errors) -> ErrorCurve:
    """The error curve of a stream, which must have at least one row."""
    sums = errors.windows()
    shown = headline(task_of(sums))
    guessed = {name: values([shown], guesses)[shown.name] for name, guesses in sums.baselines().items()}
    known = {name: found for name, found in every(sums).items() if name != AUC.name}
    return ErrorCurve(errors.pieces.ends(), sums.rows, known, shown, guessed, _cumulative(errors, shown))


def _cumulative(errors: Errors, shown: Metric) -> dict[str, Vector]:
    sums = errors.so_far()
    lines = {shown.name: sums, **sums.baselines()}
    first = min(WINDOW, errors.pieces.used) - 1  # the piece at whose end the first window ends
    return {name: values([shown], found)[shown.name][first:] for name, found in lines.items()}


# What the baselines predict for each row. They know only the labels before it, not X.


def running_mean(y: Vector, rows: int = 0, total: float = 0.0) -> Vector:
    """The mean of the labels before each row; 0 before the first. There are `rows` earlier labels, with the sum `total`.

    >>> onkel.measure.running_mean(np.array([2.0, 4.0, 6.0])), onkel.measure.last_label(np.array([2.0, 4.0, 6.0]))
    (array([0., 2., 3.]), array([0., 2., 4.]))
    """
    before = np.cumsum(np.concatenate([np.full((1, *y.shape[1:]), total), y]), axis=0)[:-1]
    count = np.maximum(rows + np.arange(len(y)), 1).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(before / count)


def last_label(y: Vector, last: float = 0.0) -> Vector:
    """The label of the previous row; for the first row, `last`."""
    return np.concatenate([np.full((1, *y.shape[1:]), last), y[:-1]])


def frequent_class(before: Counts) -> Counts:
    """The most frequent class so far, from the number of rows of each class before each row; −1 before the first row."""
    return np.where(before.any(axis=1), before.argmax(axis=1), -1)


def saved(errors: Errors) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The numbers and the arrays of the errors, by name, for a file."""
    parts = {name: value for name, value, _ in leaves(errors)}
    arrays = {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in parts.items() if name not in arrays}, arrays


def restored(task: str, numbers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Errors:
    """The errors from what `saved` returned. Anything that it cannot have returned is refused."""
    fresh, given = errors_for(task), {**numbers, **arrays}
    parts = {name: value for name, value, _ in leaves(fresh)}
    if given.keys() != parts.keys() or not all(_alike(given[name], like) for name, like in parts.items()):
        raise InputError("its sums of errors are not those of a run")
    errors: Errors = filled(fresh, given)
    if not (errors.pieces.is_possible and errors.drift.is_possible and errors.is_possible):
        raise InputError("its sums of errors contradict each other")
    return errors


def _alike(value: Any, like: Any) -> bool:
    """Whether both have the same type and shape. Axes of classes have length 0 in a fresh state and may be longer in `value`."""
    if not isinstance(value, np.ndarray) or not isinstance(like, np.ndarray):
        return type(value) is type(like)
    if (value.dtype, value.ndim) != (like.dtype, like.ndim):
        return False
    return all(length == fresh or fresh == 0 for length, fresh in zip(value.shape, like.shape, strict=True))
