"""Turns scores, one column for each class, into probabilities.

Scores f of learners with the square loss are estimates of probabilities; for labels ±1 the estimate is (1 + f)/2. The estimates of
a row are projected onto the simplex, so that they are not negative and sum to 1. Other scores go through the logistic function and
are divided by their sum. That is exact for the logistic loss and two classes. For margins (perceptron, hinge loss) only the order
of the results is meaningful; their values are not calibrated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._types import Matrix
from onkel.losses import Logistic, Square


def are_probabilities(learner: Any) -> bool:
    """Whether the learner's scores estimate how likely a class is, and not only which one it is."""
    return bool(learner.multi_output) or isinstance(getattr(learner, "loss", None), Square | Logistic)


def probabilities(learner: Any, scores: Matrix, signs: bool) -> Matrix:
    """The probabilities of each row, which sum to 1. `signs` says that the labels were ±1, not 0 and 1."""
    if scores.shape[1] == 1:
        return np.ones(scores.shape)
    alone = estimates(learner, scores, signs)
    if not signs or _are_estimates(learner):
        return nearest_on_simplex(alone)
    odds = np.maximum(alone, np.finfo(float).tiny)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def estimates(learner: Any, scores: Matrix, signs: bool) -> Matrix:
    """An estimate of the probability of each class. The estimates of a row need not sum to 1, and for the square loss they may be
    outside [0, 1]."""
    if not signs:
        return scores
    if _are_estimates(learner):
        return (1.0 + scores) / 2.0
    small = np.exp(-np.abs(scores))  # never above 1, so nothing overflows
    return np.asarray(np.where(scores < 0.0, small, 1.0) / (1.0 + small))


def _are_estimates(learner: Any) -> bool:
    return bool(learner.multi_output) or isinstance(getattr(learner, "loss", None), Square)


def nearest_on_simplex(scores: Matrix) -> Matrix:
    """The projection of each row onto the simplex: max(s − θ, 0), with θ such that the sum is 1."""
    falling = -np.sort(-scores, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, scores.shape[1] + 1)
    last = np.count_nonzero(falling > excess, axis=1) - 1
    return np.maximum(scores - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
