"""Regressor: any learner of numbers, as scikit-learn and River know one.

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

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onkel._inputs import check_labelled
from onkel._types import Matrix, Vector
from onkel._validate import flag
from onkel.combine.assembly import assembled
from onkel.errors import InputError
from onkel.estimators.online import Online, Row, given


class Regressor(RegressorMixin, Online):
    """Online regression.

    learner       what learns; None: Auto(), which needs no tuning and takes numbers of any size, whatever the next two say
    standardize   whether inputs are standardised as they come
    scale_target  whether targets are: by their first 256 (`onkel.combine.Scaled` says how)
    spare         columns kept free for keys that appear only after 256 rows; others that come so late are passed over
    waiting       the most rows that wait for their labels (`predict_one(x, id=…)`, then `learn_late(id, y)`)
    """

    task = "regression"

    def __init__(
        self,
        learner: Any = None,
        *,
        standardize: bool = True,
        scale_target: bool = True,
        spare: int = 0,
        waiting: int = 10_000,
    ) -> None:
        self.learner = learner
        self.standardize = standardize
        self.scale_target = scale_target
        self.spare = spare
        self.waiting = waiting

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = getattr(self._learner, "multi_output", False)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn these rows once, in order."""
        self._check_settings()
        self._forget()
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn these rows, in order, besides all rows before them."""
        self._check_settings()
        first = not hasattr(self, "state_")
        rows, targets = self._checked(X, y, first, multi_output=self._learner.multi_output, y_numeric=True)
        rows, targets, weight = self._weighed(rows, np.asarray(targets, dtype=np.float64), sample_weight)
        if first:
            if not len(weight):
                raise InputError("all weights are zero: there is nothing to learn")
            names = self.__dict__.get("feature_names_in_")
            outputs = targets.shape[1] if targets.ndim == 2 else 1
            self._begin(self._model(names is not None), None if names is None else list(names), rows.shape[1], outputs)
            self._flat = targets.ndim == 1
        self._learn_blocks(rows, targets.reshape(len(weight), -1), weight)
        return self

    def predict(self, X: Any) -> Vector:
        """The prediction of each row, which may come at any time: a learner with lags does without them."""
        check_is_fitted(self)
        scores = self._scores(self._checked(X))
        return scores[:, 0] if self._flat else scores

    def predict_interval(self, X: Any, level: float = 0.9) -> Matrix:
        """Lower and upper end for each row as if it came next (n, 2), or for each of its targets (n, targets, 2).

        `level` 0.5, 0.8, 0.9 or 0.95 of the targets of late lay within; before level/(1 − level) rows are known they are infinite.
        """
        check_is_fitted(self)
        rows = self._checked(X)
        parts = [self.model_.predict_interval(self.state_, block, level, there=there) for _, block, there in self._blocks(rows)]
        ends = np.concatenate(parts)
        return ends if self._flat else ends.reshape(len(ends), self.state_.outputs, 2)

    def predict_interval_one(self, x: Row, level: float = 0.9) -> Any:
        """Lower and upper end for one row, or for each of its targets; infinite before the first was learnt."""
        if not hasattr(self, "state_"):
            return -np.inf, np.inf
        rows, there = self._row(given(x))
        ends = self.model_.predict_interval(self.state_, rows, level, there=there).reshape(-1, 2)
        return (float(ends[0, 0]), float(ends[0, 1])) if self._flat else ends

    def _learn_one(self, x: Row, y: Any, weight: float, lagged: tuple[float, ...] | None = None) -> None:
        target = np.atleast_2d(np.asarray(y, dtype=np.float64))
        if not (weights := self._weights(weight)):
            return
        row = given(x)
        if not hasattr(self, "state_"):
            self._check_settings()
            names, dim = self._first_columns(row)
            check_labelled(np.zeros((1, dim)), target, dim, target.shape[1])
            self._begin(self._model(names is not None), names, dim, target.shape[1])
            self._flat = np.ndim(y) == 0
        self._admit(row)
        rows, there = self._row(row)
        more = {} if lagged is None else self._known_then(lagged)
        for each in weights:
            self.model_.learn(self.state_, rows, target, each, there=there, **more)

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The prediction of one row (0 before the first was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        prediction: Any = 0.0
        row = given(x)
        if hasattr(self, "state_"):
            rows, there = self._row(row)
            scores = self.model_.predict(self.state_, rows, there=there)
            prediction = float(scores[0]) if self._flat else scores.reshape(-1)
        self._wait(id, row)
        return prediction

    def _check_settings(self) -> None:
        super()._check_settings()
        flag(self, "scale_target")

    def _model(self, named: bool) -> Any:
        return assembled(self._own_learner, self.task, inputs=self.standardize, targets=self.scale_target, late=named)

    def _about(self) -> dict[str, Any]:
        return {"flat": self._flat}

    def _recall(self, about: dict[str, Any]) -> None:
        self._flat = about["flat"] is True
