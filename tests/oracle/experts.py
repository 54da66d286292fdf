"""Experts from its definition: each learner's oracle scores the stream by itself, the rule's oracle mixes the scores."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import rules

Array = NDArray[np.float64]


def scores(learner: onkel.Experts, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    parts = [oracle(part).scores(part, X, y, weight).reshape(len(X), -1) for part in learner.learners]
    P, everybody = np.stack(parts, axis=2), np.ones((len(X), len(parts)), dtype=bool)
    return rules.mixture(learner.rule, P, y.reshape(len(X), -1), w, everybody).reshape(y.shape)


def oracle(learner: Any) -> Any:
    return importlib.import_module(f"tests.oracle.{type(learner).__module__.rsplit('.', 1)[-1]}")


_LINE = onkel.Identity() + onkel.Constant()
_TAYLOR = onkel.Taylor(degree=2, width=2.0) + _LINE
GRID = onkel.Experts(tuple(onkel.PKAWV((onkel.Standardize(), _TAYLOR), lam=lam) for lam in (0.01, 1.0, 100.0)))
DRIFTING = onkel.Experts((onkel.PKAWV(_TAYLOR), onkel.PKAWV(_LINE, forgetting=0.9)), onkel.FixedShare())
SIGNS = onkel.Experts(
    (onkel.Perceptron(), onkel.BOGD(), onkel.Perceptron(onkel.Linear())), onkel.Layered((onkel.BOA(), onkel.Stacking()))
)
SMALL = (GRID, DRIFTING, SIGNS)


def stream(config: onkel.Experts) -> tuple[Array, Array, Array]:
    """300 rows of 3 columns, a tenth of them of weight 0, whose labels change their meaning in the middle."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=300)
    y[150:] += 2 * X[150:, 2]
    if config == SIGNS:
        return X, np.where(y > 0.0, 1.0, -1.0), rng.choice([0.0, 1.0], p=[0.1, 0.9], size=300)
    return X, y, rng.choice([0.0, 0.5, 1.0], p=[0.1, 0.1, 0.8], size=300)


def reached(config: onkel.Experts, state: Any) -> bool:
    """Whether experts count differently, and the regressions, if there are any, have begun."""
    weights = config.rule.weights(state.rule)
    fits = [part for part in state.rule.parts if hasattr(part, "about")]
    return bool(np.ptp(weights, axis=1).min() > 0.05 and all(fit.about[:, 1].min() > 0.0 and fit.coef.any() for fit in fits))
