"""Metrics: each is computed from the sums of a whole stream, or of each window along it, which gives a curve.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> trace = onkel.prequential(onkel.PKAWV(), X, y, metrics=(onkel.measure.F1(), onkel.measure.AUC()))
>>> {name: round(value, 3) for name, value in trace.values.items()}
{'f1': 0.997, 'auc': 1.0}

A metric that is not defined for the rows is NaN: R² of a single row, the area under the curve when all rows are of one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from onkel._types import Counts, Vector
from onkel.errors import InputError, did_you_mean
from onkel.measure.sums import WINDOW, ClassSums, NumberSums, Values

__all__ = [
    "AUC", "F1", "MAE", "MAPE", "R2", "RMSE", "Accuracy", "BalancedAccuracy", "Brier", "Explained", "LogLoss", "Mistakes",
    "Pinball", "Square",
]  # fmt: skip


class Metric(Protocol):
    @property
    def name(self) -> str:
        """Its key in JSON."""

    @property
    def title(self) -> str:
        """The heading of its column."""

    def of(self, sums: Any) -> Values:
        """The metric's value for each window; NaN where it is not defined."""


@dataclass(frozen=True)
class Square:
    """The mean of (prediction − label)²."""

    name = "square"
    title = "square error"

    def of(self, sums: NumberSums) -> Values:
        return _square(sums) / sums.rows


@dataclass(frozen=True)
class RMSE:
    """The root of the mean square error, in the units of the target.

    >>> X, y = onkel.data.friedman(2000, seed=0)
    >>> numbers = onkel.measure.RMSE(), onkel.measure.MAE(), onkel.measure.R2(), onkel.measure.MAPE(), onkel.measure.Explained()
    >>> trace = onkel.prequential(onkel.PKAWV(), X, y, metrics=numbers)
    >>> {name: round(value, 1) for name, value in trace.values.items()}
    {'rmse': 2.9, 'mae': 2.2, 'r2': 0.7, 'mape': 0.2, 'explained': 0.7}
    """

    name = "rmse"
    title = "rms error"

    def of(self, sums: NumberSums) -> Values:
        return np.sqrt(_square(sums) / sums.rows)


@dataclass(frozen=True)
class MAE:
    """The mean of |prediction − label|."""

    name = "mae"
    title = "absolute error"

    def of(self, sums: NumberSums) -> Values:
        return sums.absolute / sums.rows


@dataclass(frozen=True)
class Explained:
    """1 minus the square error divided by that of the running mean: like R², but with the mean of the rows before each row.

    It leaves out the first row of the stream, where there is no mean yet: with a target far from 0 that row would dominate.
    """

    name = "explained"
    title = "explained"

    def of(self, sums: NumberSums) -> Values:
        found = np.where(sums.mean_square > 0.0, 1.0 - sums.later_square / sums.mean_square, 0.0)
        return np.where(sums.rows > 1.0, found, np.nan)


@dataclass(frozen=True)
class R2:
    """1 − Σ(prediction − label)² / Σ(label − mean)², with the mean of all labels. If all labels are equal, it is 1 (no error) or
    0."""

    name = "r2"
    title = "R²"

    def of(self, sums: NumberSums) -> Values:
        square = _square(sums)
        found = np.where(sums.spread > 0.0, 1.0 - square / sums.spread, np.where(square > 0.0, 0.0, 1.0))
        return np.where(sums.rows > 1.0, found, np.nan)


@dataclass(frozen=True)
class MAPE:
    """The mean of |prediction − label| / |label| over the rows whose label is not 0."""

    name = "mape"
    title = "relative error"

    def of(self, sums: NumberSums) -> Values:
        return sums.relative / (sums.rows - sums.zeros)


@dataclass(frozen=True)
class Pinball:
    """The mean pinball loss of both ends of the intervals of all levels; the ends of level 0.9 are the quantiles 0.05 and 0.95.

    A row counts only if its intervals of all levels are finite.

    >>> model = onkel.Model(target="y", learner=onkel.PKAWV())
    >>> stream = model.open(onkel.data.friedman(1000, seed=0))
    >>> evaluation = onkel.measure.Evaluation.begin(model, stream)
    >>> for table in stream.tables():
    ...     losses = evaluation.learn(table)
    >>> round(evaluation.result(stream).errors[onkel.measure.Pinball().name], 1)
    0.4
    """

    name = "pinball"
    title = "pinball loss"

    def of(self, sums: NumberSums) -> Values:
        return sums.pinball / sums.banded


@dataclass(frozen=True)
class Mistakes:
    """The share of rows whose label was not predicted.

    >>> X, y = onkel.data.rings(2000, noise=0.4, seed=0)
    >>> shares = onkel.measure.Mistakes(), onkel.measure.Accuracy(), onkel.measure.BalancedAccuracy()
    >>> chances = onkel.measure.LogLoss(), onkel.measure.Brier()
    >>> trace = onkel.prequential(onkel.PKAWV(), X, y, metrics=shares + chances)
    >>> {name: round(value, 2) for name, value in trace.values.items()}
    {'mistakes': 0.12, 'accuracy': 0.88, 'balanced_accuracy': 0.88, 'log_loss': 0.33, 'brier': 0.1}
    """

    name = "mistakes"
    title = "mistakes"

    def of(self, sums: ClassSums) -> Values:
        return sums.wrong / sums.rows


@dataclass(frozen=True)
class LogLoss:
    """The mean of −ln p, with p the probability of the row's class, at least 1e-6."""

    name = "log_loss"
    title = "log loss"

    def of(self, sums: ClassSums) -> Values:
        return sums.log_loss / sums.rows


@dataclass(frozen=True)
class Accuracy:
    """The share of rows whose label was predicted."""

    name = "accuracy"
    title = "accuracy"

    def of(self, sums: ClassSums) -> Values:
        return (sums.rows - sums.wrong) / sums.rows


@dataclass(frozen=True)
class BalancedAccuracy:
    """The mean, over the classes, of the accuracy on the rows of each class."""

    name = "balanced_accuracy"
    title = "balanced accuracy"

    def of(self, sums: ClassSums) -> Values:
        return _mean(sums.correct, sums.true, sums.true > 0.0)


@dataclass(frozen=True)
class F1:
    """2 · correct / (true + predicted), in numbers of rows. With two classes it is the F1 of the second one, otherwise the mean
    over the classes."""

    name = "f1"
    title = "F1"

    def of(self, sums: ClassSums) -> Values:
        correct, both = 2.0 * sums.correct, sums.true + sums.predicted
        if sums.classes == 2:
            return correct[..., 1] / both[..., 1]
        return _mean(correct, both, both > 0.0)


@dataclass(frozen=True)
class AUC:
    """The area under the ROC curve. With two classes it is the area for the second one, otherwise the mean over the classes, each
    against all others.

    It is defined only for the whole stream, and for at most `roc_auc.MOST_RANKED` classes. Its error is at most `auc_within` in
    `Result.errors`.
    """

    name = "auc"
    title = "AUC"

    def of(self, sums: ClassSums) -> Values:
        if sums.ranks is None:
            return np.full_like(sums.rows, np.nan)
        return np.asarray(sums.ranks.area(sums.classes)[0])


@dataclass(frozen=True)
class Brier:
    """The mean of Σ (p − y)² over the classes, with y = 1 for the row's class, else 0; with two classes, only for the second."""

    name = "brier"
    title = "Brier score"

    def of(self, sums: ClassSums) -> Values:
        return (sums.other_brier if sums.classes == 2 else sums.first_brier + sums.other_brier) / sums.rows


def _square(sums: NumberSums) -> Values:
    return sums.first_square + sums.later_square


def _mean(parts: Values, wholes: Values, there: Any) -> Values:
    """The mean of the shares over the classes that occur."""
    return np.asarray(np.where(there, parts / wholes, 0.0).sum(axis=-1) / there.sum(axis=-1))


# learners are compared by the first
OF_NUMBERS: tuple[Metric, ...] = Square(), RMSE(), MAE(), Explained(), R2(), MAPE(), Pinball()
OF_CLASSES: tuple[Metric, ...] = Mistakes(), LogLoss(), Accuracy(), BalancedAccuracy(), F1(), AUC(), Brier()


def metrics_for(task: str) -> tuple[Metric, ...]:
    return OF_NUMBERS if task == "regression" else OF_CLASSES


def named(names: str, task: str) -> tuple[Metric, ...]:
    """The first metric of the task, followed by the metrics that `names` lists, such as "f1,auc"."""
    known = {metric.name: metric for metric in metrics_for(task)}
    first, given = headline(task), [name.strip() for name in names.split(",")]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, most=1)
            raise InputError(f"there is no metric {name!r} for {task}; {hint}there are {', '.join(known)}")
    return tuple(dict.fromkeys([first, *(known[name] for name in given)]))


def values(metrics: Iterable[Metric], sums: NumberSums | ClassSums) -> dict[str, Values]:
    """The value of each metric in each window, by its name."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return {metric.name: np.asarray(metric.of(sums)) for metric in metrics}


def task_of(sums: NumberSums | ClassSums) -> str:
    return "regression" if isinstance(sums, NumberSums) else "classification"


def every(sums: NumberSums | ClassSums) -> dict[str, Values]:
    """The value of every metric."""
    return values(metrics_for(task_of(sums)), sums)


def headline(task: str) -> Metric:
    """The metric that tables and pictures show first."""
    return RMSE() if task == "regression" else Mistakes()


class Later(NamedTuple):
    rows: int  # the last rows of the stream, about half of it
    error: float  # over them


@dataclass(frozen=True, repr=False)
class ErrorCurve:
    """The metrics of a run in overlapping windows along the stream. All windows have equally many rows, but the last ends with the
    stream."""

    ends: Counts  # the last row of each window, counted from 1
    rows: Vector  # of each window
    values: dict[str, Vector]  # the value of each metric in each window, NaN where it is not defined
    metric: Metric  # the one that pictures show
    baselines: dict[str, Vector]  # the same metric of each baseline
    cumulative: dict[str, Vector]  # it again, of the learner and of each baseline, for all rows up to the end of each window

    def __repr__(self) -> str:
        last = "".join(f", the last {values[-1]:.4g}" for values in (self.values[self.metric.name],) if len(values))
        return f"<ErrorCurve: {self.metric.name} in {len(self.ends):,} windows{last}>"

    def last(self) -> dict[str, Any]:
        """The last window: the number of its rows, and its metrics."""
        return {"rows": int(self.rows[-1]), **{name: float(values[-1]) for name, values in self.values.items()}}

    def later(self) -> Later | None:
        """The metric that pictures show over the last half of the stream, as nearly as windows allow, without the errors of the
        beginning; None if there is a single window."""
        apart = self.separate
        ends, rows, values = self.ends[apart], self.rows[apart], self.values[self.metric.name][apart]
        starts, half = ends - rows, ends[-1] / 2.0
        later = starts >= starts[np.argmin(np.abs(starts - half))]
        if later.all() or not np.isfinite(values[later]).all():
            return None
        of_squares = isinstance(self.metric, RMSE)
        mean = float(np.average(values[later] ** 2 if of_squares else values[later], weights=rows[later]))
        return Later(int(rows[later].sum()), math.sqrt(mean) if of_squares else mean)

    @property
    def separate(self) -> slice:
        """The windows that do not overlap."""
        return slice((len(self.ends) - 1) % WINDOW, None, WINDOW)

    def shown(self) -> dict[str, Any]:
        """The curves that pictures show, in windows that do not overlap."""
        return self._apart({self.metric.name: self.values[self.metric.name], **self.baselines})

    def so_far(self) -> dict[str, Any]:
        """The cumulative curves at the ends of the same windows."""
        return self._apart(self.cumulative)

    def _apart(self, lines: dict[str, Vector]) -> dict[str, Any]:
        apart = self.separate
        return {"rows": self.ends[apart].tolist(), **{name.replace(" ", "_"): line[apart].tolist() for name, line in lines.items()}}


def curve_of_losses(losses: Vector, like: ErrorCurve) -> tuple[Vector, Vector]:
    """The metric of another curve from the losses of each row of the same stream, mistakes or square errors: in the same windows,
    and for all rows up to their ends."""
    sums = np.cumsum(np.append(0.0, losses))
    windows, so_far = (sums[like.ends] - sums[like.ends - like.rows.astype(np.int64)]) / like.rows, sums[like.ends] / like.ends
    return (np.sqrt(windows), np.sqrt(so_far)) if isinstance(like.metric, RMSE) else (windows, so_far)
