"""River models around our estimators. Importing this module imports River, which needs pandas."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import river.base
import sklearn.base

from onkel.errors import InputError
from onkel.estimators.classifier import Classifier
from onkel.estimators.regressor import Regressor
from onkel.model.rows import are_dicts
from onkel.protocol import is_learner, tasks_of

Rows = Any  # a data frame of pandas, or a list of dicts
ESTIMATORS = {"regression": Regressor, "classification": Classifier}


class RiverRegressor(river.base.MiniBatchRegressor):
    """A River regressor around `estimator`, which does the learning: a blank copy of a `Regressor`, or in `to_river` your own."""

    def __init__(self, estimator: Regressor) -> None:
        self.estimator: Regressor = sklearn.base.clone(estimator)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.estimator.learn_one(x, y, w)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        return self.estimator.predict_one(x)

    def learn_many(self, X: Rows, y: pd.Series | Sequence[Any], w: pd.Series | Sequence[float] | None = None) -> None:
        self.estimator.partial_fit(_rows(X), y, sample_weight=w)

    def predict_many(self, X: Rows) -> pd.Series:
        """The prediction of each row, 0 before the first row was learnt. Rows may come at any time."""
        known = hasattr(self.estimator, "state_") and len(X)
        return pd.Series(self.estimator.predict(_rows(X)) if known else 0.0, index=_index(X), dtype="float64")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": Regressor()}


class RiverClassifier(river.base.MiniBatchClassifier):
    """A River classifier around `estimator`, which does the learning: a blank copy of a `Classifier`, or in `to_river` your own."""

    def __init__(self, estimator: Classifier) -> None:
        self.estimator: Classifier = sklearn.base.clone(estimator)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.estimator.learn_one(x, y, w)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self._check_probabilities()
        found: dict[Any, float] = self.estimator.predict_proba_one(x)
        return found

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        return self.estimator.predict_one(x)

    def learn_many(self, X: Rows, y: pd.Series | Sequence[Any], w: pd.Series | Sequence[float] | None = None) -> None:
        self.estimator.partial_fit(_rows(X), y, sample_weight=w)

    def predict_many(self, X: Rows) -> pd.Series:
        """The class of each row, None before the first row was learnt. Rows may come at any time."""
        known = hasattr(self.estimator, "state_") and len(X)
        return pd.Series(self.estimator.predict(_rows(X)) if known else None, index=_index(X))

    def predict_proba_many(self, X: Rows) -> pd.DataFrame:
        """The probability of each class, one column for each; no columns before the first row was learnt."""
        self._check_probabilities()
        if not hasattr(self.estimator, "state_") or not len(X):
            return pd.DataFrame(index=_index(X))
        return pd.DataFrame(self.estimator.predict_proba(_rows(X)), index=_index(X), columns=self.estimator.classes_)

    def _check_probabilities(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            raise NotImplementedError(
                f"the scores of {type(self.estimator.learner).__name__} are no probabilities; see predict_one"
            )

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": Classifier()}


def _rows(X: Rows) -> list[dict[str, Any]]:
    """The rows as dicts. Like the rows of `learn_one` they may have different keys."""
    if isinstance(X, pd.DataFrame):
        return list(X.rename(columns=str).to_dict("records"))
    if not are_dicts(X):
        raise InputError(f"many rows are a pandas DataFrame or a list of dicts, got {type(X).__name__}; one row is a dict")
    return [{str(key): value for key, value in row.items()} for row in X]


def _index(X: Rows) -> Any:
    """The index of the rows; that of a list is 0, 1, 2 …"""
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X))


@functools.cache
def register() -> None:
    """Let River's metrics and evaluation take our estimators as they are: they ask what a model is an instance of."""
    river.base.Regressor.register(Regressor)
    river.base.Classifier.register(Classifier)


def model_of(given: Any) -> RiverRegressor | RiverClassifier:
    """The River model whose `estimator` is this one itself or, for a bare learner, a new estimator around it."""
    estimator = _around(given) if is_learner(given) else given
    for kind, ours in ((RiverRegressor, Regressor), (RiverClassifier, Classifier)):
        if isinstance(estimator, ours):
            model = kind(sklearn.base.clone(estimator))
            model.estimator = estimator
            return model
    raise InputError(f"to_river takes an onkel.Regressor, an onkel.Classifier or a learner such as onkel.RBP(), got {given!r:.200}")


def _around(learner: Any) -> Any:
    tasks = tasks_of(learner)
    if len(tasks) > 1:
        name = type(learner).__name__
        ways = f"to_river(onkel.Regressor(learner)) or to_river(onkel.Classifier(learner)), where learner is your onkel.{name}(…)"
        raise InputError(f"{name} learns both numbers and classes; say which: {ways}")
    return ESTIMATORS[min(tasks)](learner)
