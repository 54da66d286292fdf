"""Transformer: a scikit-learn transformer made of any feature map.

>>> X, y = onkel.data.rings(400, seed=0)
>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.pipeline import make_pipeline
>>> model = make_pipeline(onkel.Transformer(onkel.Fourier(count=50)), LogisticRegression())
>>> model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95
True
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel._inputs import check_block
from onkel._types import Matrix
from onkel._validate import spell_checked
from onkel.combine.settings import changed, inside
from onkel.errors import InputError
from onkel.estimators.tables import in_order
from onkel.features import Features, Fourier
from onkel.features.compose import as_features


@spell_checked
class Transformer(TransformerMixin, BaseEstimator):
    """Computes features z of each row x by a feature map, or by a chain of maps (a tuple).

    features   the map; None: Fourier(count=100)
    """

    state_: Any

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings; with `deep` also those of the map, by long names such as features__count."""
        return {"features": self.features} | (inside(self._features, "features") if deep else {})

    def set_params(self, **params: Any) -> Self:
        """Change settings, including those of the map. They take effect at the next `fit`."""
        params = dict(params)
        self.features = params.pop("features", self.features)
        if wrong := [name for name in params if not name.startswith("features__")]:
            raise InputError(f"Transformer has no setting {wrong[0]!r}; those inside the map begin with features__")
        if params:
            self.features = changed(self._features, {name.removeprefix("features__"): value for name, value in params.items()})
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn these rows. Most maps learn nothing but the number of columns."""
        self.__dict__.pop("state_", None)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn these rows in addition to all rows before them."""
        first = not hasattr(self, "state_")
        rows = self._checked(X, first)
        map = self._map
        state = map.init(rows.shape[1]) if first else self.state_
        Z = np.empty((len(rows), map.size(rows.shape[1])))
        self.state_ = map.write(state, rows, np.ones(len(rows)), Z, 0)
        return self

    def transform(self, X: Any) -> Matrix:
        """The features of each row, as if it came next."""
        check_is_fitted(self)
        rows = self._checked(X, False)
        Z = np.empty((len(rows), self._map.size(rows.shape[1])))
        self._map.write(self.state_, rows, np.zeros(len(rows)), Z, 0)
        return Z

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names z0, z1, …, since features have no names of their own."""
        check_is_fitted(self)
        return np.array([f"z{k}" for k in range(self._map.size(self.n_features_in_))], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def _features(self) -> Any:
        return Fourier(count=100) if self.features is None else self.features

    @property
    def _map(self) -> Features:
        # a copy, since configs cache results and the user's object must not change
        map = as_features(copy.deepcopy(self._features))
        if not isinstance(map, Features):
            raise InputError(f"features must be a feature map, such as onkel.Fourier(), a tuple of them or None, got {map!r:.200}")
        return map

    def _checked(self, X: Any, first: bool) -> Matrix:
        return check_block("X", validate_data(self, X if first else in_order(self, X), reset=first, dtype=np.float64))
