"""to_river: an estimator for River's pipelines, metrics and evaluation. River itself is an extra: pip install onkel[river]."""

from __future__ import annotations

from typing import Any

from onkel._extras import extra


def to_river(estimator: Any) -> Any:
    """A River model around this estimator. Both share one state: what one of them learns, the other has learnt too.

    A bare learner is accepted too, if it learns only numbers or only classes. `learn_many`, `predict_many` and `predict_proba_many`
    take data frames of pandas and lists of dicts.

    estimator   A Regressor or Classifier, with all of its settings.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | onkel.to_river(onkel.Regressor())
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get() < 0.5
    True
    """
    with extra("river", "to_river"):
        from onkel.estimators.river_models import model_of
    return model_of(estimator)
