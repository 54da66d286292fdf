"""to_river: an estimator for River's pipelines, metrics and evaluation. River itself is an extra: pip install onkel[river]."""

from __future__ import annotations

from typing import Any

from onkel.errors import InputError


def to_river(estimator: Any) -> Any:
    """A River model that learns in this estimator: what one has learnt, so has the other.

    >>> from river import evaluate, linear_model, metrics, preprocessing, stream   # doctest: +SKIP
    >>> model = preprocessing.StandardScaler() | onkel.to_river(onkel.Regressor())   # doctest: +SKIP
    >>> evaluate.progressive_val_score(stream.iter_csv("prices.csv", target="price"), model, metrics.MAE())   # doctest: +SKIP
    """
    try:
        from onkel.estimators.river_models import model_of
    except ImportError:
        raise InputError("River is not installed; pip install 'onkel[river]'") from None
    return model_of(estimator)
