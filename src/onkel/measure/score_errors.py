"""Metrics of a bare learner's scores, from the same sums as those of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.combine.probabilities import probabilities
from onkel.errors import InputError
from onkel.measure.errors import Errors, errors_for
from onkel.measure.metrics import Metric, metrics_for
from onkel.model import Answers

REMEDY = "for numbers give RMSE(), MAE() and the like, for classes Accuracy(), F1() and the like, but not both"


def errors_of(learner: Any, metrics: Sequence[Metric], scores: Vector, y: Vector) -> Errors:
    """The sums from which these metrics are computed. The metrics must be of one task."""
    tasks = [task for task in ("regression", "classification") if all(metric in metrics_for(task) for metric in metrics)]
    if not metrics or not tasks:
        raise InputError(f"these metrics cannot be computed together: {metrics!r:.200}; {REMEDY}")
    errors = errors_for(tasks[0])
    errors.add(_numbers(scores, y) if tasks[0] == "regression" else _classes(learner, scores, y))
    return errors


def _numbers(scores: Vector, y: Vector) -> Answers:
    if y.size != len(y):
        raise InputError(f"RMSE(), MAE() and the like need one number to predict for each row, got y of shape {y.shape}")
    return Answers(scores.ravel(), None, y.ravel(), np.ones(len(y), dtype=bool))


def _classes(learner: Any, scores: Vector, y: Vector) -> Answers:
    """The answers as classes: by the sign if labels are ±1; with one column for each class, by the largest value."""
    kept = np.ones(len(y), dtype=bool)
    if y.size != len(y):
        found = probabilities(learner, scores, bool(y.min() < 0.0))
        return Answers(scores.argmax(axis=1).astype(float), found, y.argmax(axis=1).astype(float), kept)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InputError(
            "Accuracy(), F1() and the like need y of -1 and 1, or one column of 0 and 1 for each class; got other values"
        )
    found = probabilities(learner, np.column_stack([-scores.ravel(), scores.ravel()]), True)
    return Answers((scores.ravel() >= 0.0).astype(float), found, (y.ravel() > 0.0).astype(float), kept)
