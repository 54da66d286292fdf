"""Regressor: a scikit-learn and River regressor made of any learner that learns numbers.

>>> X, y = onkel.data.friedman(3000, seed=0)
>>> model = onkel.Regressor().fit(X[:2000], y[:2000])
>>> model.score(X[2000:], y[2000:]) > 0.8
True
>>> model = onkel.Regressor(onkel.TubeProjection())
>>> for x, target in zip(X[:1000], y[:1000]):
...     guess = model.predict_one(x)
...     model.learn_one(x, target)
>>> model.score(X[2000:], y[2000:]) > 0.8
True
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onkel._types import Matrix, Vector
from onkel._validate import spell_checked
from onkel.data.table import Labels
from onkel.errors import InputError
from onkel.estimators.curves import curves
from onkel.estimators.online import Online, Row
from onkel.measure import Components
from onkel.model import waiting as later


@spell_checked
class Regressor(RegressorMixin, Online):
    """Online regression.

    learner       The learner; None: Auto(), which needs no tuning and accepts numbers of any size even if the next two are False.
                  Default: None.
    standardize   Whether inputs are standardised by the rows so far. Default: True.
    scale_target  Whether targets are standardised, by the first 256 of them (see `onkel.combine.Scaled`). Default: True.
    columns       The inputs, by name; None: all columns. Default: None.
    without       Columns that are not inputs. Default: ().
    text          Columns of strings although they look like numbers, such as postcodes. Default: ().
    dates         Columns of dates; those that look like dates are found without this. Default: ().
    hashed        Columns of strings of which no value gets a column of its own: for values most of which come later. Default: ().
    cycles        Columns of numbers that begin again, and their periods, as in {"hour": 24}; None: by name and range.
                  Default: None.
    missing       What is done with a missing value: fill in the "mean" of its column so far, or "refuse" it. Default: 'mean'.
    lags          How many of the last labels are inputs of the next row; None: as the learner itself is set. Default: None.
    spare         The number of columns reserved for keys that first appear after 256 rows: one for a number, one for each value of
                  a string. Those that find none are not used, and `notes_` says so. Default: 0.
    waiting       The largest number of rows that wait for their labels (`predict_one(x, id=…)`, then `learn_late(id, y)`).
                  Default: 10_000.
    shuffle       Whether `fit` learns rows in a random order; a learner with lags always learns them in the given order.
                  Default: True.
    seed          The seed of that random order. Default: 0.
    epochs        How often `fit` learns each row; more than once helps simple learners such as `Perceptron`, but not `Auto`.
                  Default: 1.
    """

    task = "regression"

    def __init__(
        self,
        learner: Any = None,
        *,
        standardize: bool = True,
        scale_target: bool = True,
        columns: Sequence[str] | None = None,
        without: Sequence[str] = (),
        text: Sequence[str] = (),
        dates: Sequence[str] = (),
        hashed: Sequence[str] = (),
        cycles: Mapping[str, float] | None = None,
        missing: str = "mean",
        lags: int | None = None,
        spare: int = 0,
        waiting: int = 10_000,
        shuffle: bool = True,
        seed: int = 0,
        epochs: int = 1,
    ) -> None:
        self.learner = learner
        self.standardize = standardize
        self.scale_target = scale_target
        self.columns = columns
        self.without = without
        self.text = text
        self.dates = dates
        self.hashed = hashed
        self.cycles = cycles
        self.missing = missing
        self.lags = lags
        self.spare = spare
        self.waiting = waiting
        self.shuffle = shuffle
        self.seed = seed
        self.epochs = epochs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = getattr(self._learner, "multi_output", False)
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn these rows, in order, in addition to all rows before them."""
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The prediction of each row. Rows may come at any time, so a learner with lags does not use the last labels.

        With `return_std`, also the standard error of the fitted curve at each row, for a learner that has one, such as
        `MercerProjection`. (It is not the deviation of a new y: see `predict_interval`.)
        """
        scores = self._scores(X)
        return (scores, self.model_.standard_error(self.state_, self._as_rows(self._checked(X)))) if return_std else scores

    def components(self, points: int = 200, confidence: float = 0.95) -> Components:
        """The curve of each column, for a learner with an additive kernel or system, as `onkel.components` gives them.

        Curves are in the units of the rows, by the scales of the rows so far. A `MercerProjection` also gives bands, of this
        confidence.
        """
        check_is_fitted(self)
        return curves(self.state_, points, confidence)

    def predict_interval(self, X: Any, level: float = 0.9) -> Matrix:
        """Lower and upper end for each row as if it came next (n, 2), or for each of its targets (n, targets, 2).

        `level` is 0.5, 0.8, 0.9 or 0.95: this share of recent targets was inside the intervals. Before level/(1 − level) rows are
        learnt, intervals are infinite.
        """
        check_is_fitted(self)
        return self.model_.predict_interval(self.state_, self._as_rows(self._checked(X)), level)

    def predict_interval_one(self, x: Row, level: float = 0.9) -> Any:
        """Lower and upper end for one row, or for each of its targets; infinite before the first row was learnt."""
        row = self._given(x)
        if not hasattr(self, "state_"):
            return -np.inf, np.inf
        ends = self.model_.predict_interval(self.state_, self._rows(row), level)[0]
        return (float(ends[0]), float(ends[1])) if ends.ndim == 1 else ends

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The prediction of one row (0 before the first row was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        scores = self._scores_one(x)
        if scores is None or id is not None:
            row = self._given(x)
            if scores is None and hasattr(self, "state_"):
                scores = self.model_.scores(self.state_, self._rows(row))[0]
            self._wait(id, row)
        if scores is None:
            return 0.0
        return float(scores[0]) if scores.ndim == 1 else scores[0]

    def _rows(self, x: later.Row, y: Any = None) -> Any:
        if y is not None and not np.isfinite(target := _numbers(y)).all():
            raise InputError(f"y holds {target}; a row without a label can wait for it: predict_one(x, id=...)")
        return super()._rows(x, y)

    def _checked_labels(self, X: Any, y: Any) -> Any:
        try:
            return super()._checked_labels(X, y)
        except ValueError as error:
            raise _of_text(error) from None

    def _labels(self, y: Any) -> Labels:
        return _numbers(y)


def _numbers(y: Any) -> Vector:
    try:
        return np.asarray(y, dtype=np.float64)
    except ValueError as error:
        raise _of_text(error) from None


def _of_text(error: ValueError) -> ValueError:
    """The error for targets; it says what to do if they are strings."""
    if "could not convert string" not in str(error):
        return error
    return InputError(f"y holds strings ({error}), and Regressor learns numbers; Classifier learns labels")
