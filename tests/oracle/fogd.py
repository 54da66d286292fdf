"""FOGD from its definition: gradient descent on explicit features, w = 0 at first, score w·z(x).

g = ℓ'(w·z, y),    w ← w − step g z
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.losses import Loss
from tests.oracle import newton_features, remembered
from tests.oracle.pkawv import features
from tests.oracle.supported import slope

Array = NDArray[np.float64]


def descent(loss: Loss, step: float, w: Array, Z: Array, y: Array, weight: Array) -> tuple[Array, list[float]]:
    """The score of each row before it is learnt, and the slope of each round."""
    out, slopes = np.zeros(len(Z)), list[float]()
    for i, z in enumerate(Z):
        out[i] = w @ z
        if weight[i] != 0:
            slopes.append(slope(loss, out[i], y[i]))
            w = w - step * slopes[-1] * z
    return out, slopes


@remembered
def run(learner: onkel.FOGD, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, list[float]]:
    learnt = np.ones(len(X)) if weight is None else weight
    Z = features(learner.features, X, learnt != 0)
    return descent(learner.loss, learner.step, np.zeros(Z.shape[1]), Z, y, learnt)


def scores(learner: onkel.FOGD, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


_TAYLOR = onkel.Taylor(degree=2, width=2.0) + onkel.Constant()
SMALL = (
    onkel.FOGD(features=onkel.Fourier(count=30, width=1.5, seed=3), step=0.5),
    onkel.FOGD(features=(onkel.Standardize(), _TAYLOR), loss=onkel.Square(), step=0.1),
    onkel.FOGD(features=onkel.Fourier(count=20, seed=1) + onkel.Identity(), loss=onkel.EpsilonInsensitive(0.2), step=0.1),
)


def stream(config: onkel.FOGD) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def reached(config: onkel.FOGD, state: Any) -> bool:
    """Whether every round was counted, with slopes of either sign, and none at all where the loss can be flat."""
    slopes = run(config, *stream(config))[1]
    flat = isinstance(config.loss, onkel.Hinge | onkel.EpsilonInsensitive)
    return bool(state.rows == len(slopes) and min(slopes) < 0 < max(slopes) and flat == (0.0 in slopes))
