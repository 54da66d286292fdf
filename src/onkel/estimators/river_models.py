"""River's base classes around our estimators. Importing this imports River."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import river.base
import sklearn.base

from onkel.errors import InputError
from onkel.estimators.classifier import Classifier
from onkel.estimators.regressor import Regressor


class RiverRegressor(river.base.Regressor):
    """A `Regressor` as River knows one: `estimator` has the settings, `learning` is the one that learns."""

    def __init__(self, estimator: Regressor) -> None:
        self.estimator = estimator
        self.learning = sklearn.base.clone(estimator)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.learning.learn_one(x, y, w)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        return self.learning.predict_one(x)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": Regressor()}


class RiverClassifier(river.base.Classifier):
    """A `Classifier` as River knows one: `estimator` has the settings, `learning` is the one that learns."""

    def __init__(self, estimator: Classifier) -> None:
        self.estimator = estimator
        self.learning: Classifier = sklearn.base.clone(estimator)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        self.learning.learn_one(x, y, w)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        return self.learning.predict_proba_one(x)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        return self.learning.predict_one(x)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": Classifier()}


def model_of(estimator: Any) -> RiverRegressor | RiverClassifier:
    """The River model whose `learning` is this very estimator."""
    for kind, ours in ((RiverRegressor, Regressor), (RiverClassifier, Classifier)):
        if isinstance(estimator, ours):
            model = kind(sklearn.base.clone(estimator))
            model.learning = estimator
            return model
    raise InputError(f"to_river takes an onkel.Regressor or an onkel.Classifier, got {estimator!r:.200}")
