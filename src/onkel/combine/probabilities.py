"""From the scores of classes, one column each, to their probabilities.

Scores of a square loss are estimates of probabilities, (1 + f)/2 where labels are ±1, and become the nearest point of the simplex;
other scores go through the logistic function and are divided by their sum. That is exact for the logistic loss and two classes; for
margins (perceptron, hinge) it is an order, not a calibration.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._types import Matrix
from onkel.losses import Logistic, Square


def are_probabilities(learner: Any) -> bool:
    """Whether scores of this learner say how likely a class is, and not only which."""
    return bool(learner.multi_output) or isinstance(getattr(learner, "loss", None), Square | Logistic)


def probabilities(learner: Any, scores: Matrix, signs: bool) -> Matrix:
    """Each row's sum is 1. `signs`: the labels were ±1, not 0 and 1."""
    if scores.shape[1] == 1:
        return np.ones(scores.shape)
    alone = estimates(learner, scores, signs)
    if not signs or _are_estimates(learner):
        return nearest_on_simplex(alone)
    odds = np.maximum(alone, np.finfo(float).tiny)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def estimates(learner: Any, scores: Matrix, signs: bool) -> Matrix:
    """Of each class's probability by itself: those of a row may have any sum, and those of a square loss may lie beyond 0 and 1."""
    if not signs:
        return scores
    if _are_estimates(learner):
        return (1.0 + scores) / 2.0
    from scipy.special import expit

    return np.asarray(expit(scores))


def _are_estimates(learner: Any) -> bool:
    return bool(learner.multi_output) or isinstance(getattr(learner, "loss", None), Square)


def nearest_on_simplex(scores: Matrix) -> Matrix:
    """The nearest point with no negative coordinate and the sum 1: max(s − θ, 0), with the θ that makes it so."""
    falling = -np.sort(-scores, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, scores.shape[1] + 1)
    last = np.count_nonzero(falling > excess, axis=1) - 1
    return np.maximum(scores - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
