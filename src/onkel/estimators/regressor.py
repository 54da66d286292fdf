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
from onkel._types import Vector
from onkel._validate import flag
from onkel.combine import Scaled
from onkel.combine.scaled import FIRST_ROWS
from onkel.errors import InputError
from onkel.estimators.online import Online, Row, given


class Regressor(RegressorMixin, Online):
    """Online regression.

    learner       what learns; None: PKAWV() on 100 Fourier features, the inputs themselves and an intercept
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
        """The prediction of each row, as if it came next."""
        check_is_fitted(self)
        scores = self._scores(self._checked(X))
        return scores[:, 0] if self._flat else scores

    def learn_one(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Learn one row, a dict of numbers or an array. New keys become new columns; missing ones are taken as their mean."""
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
        for each in weights:
            self.model_.learn(self.state_, rows, target, each, there)

    def predict_one(self, x: Row, id: Hashable = None) -> Any:
        """The prediction of one row (0 before the first was learnt); with an `id` the row waits for `learn_late(id, y)`."""
        prediction: Any = 0.0
        row = given(x)
        if hasattr(self, "state_"):
            scores = self.model_.predict(self.state_, *self._row(row))
            prediction = float(scores[0]) if self._flat else scores.reshape(-1)
        self._wait(id, row)
        return prediction

    def _check_settings(self) -> None:
        super()._check_settings()
        flag(self, "scale_target")

    def _model(self, named: bool) -> Scaled:
        return Scaled(self._own_learner, self.standardize, self.scale_target, FIRST_ROWS if self.scale_target or named else 0)

    def _about(self) -> dict[str, Any]:
        return {"flat": self._flat}

    def _recall(self, about: dict[str, Any]) -> None:
        self._flat = about["flat"] is True
