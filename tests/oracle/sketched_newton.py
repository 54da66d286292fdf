"""SketchedNewton from its definition: the online Newton step of newton_features.py with A = αI + M, dense, and linear solves.

M = 0 at first, and gains η g² φφᵀ in a round with slope g. Each time that m such rounds have passed since the last time (2m, the
first time), M loses its (m + 1)-th eigenvalue in every direction, and what is then negative.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import newton_features, remembered
from tests.oracle.newton_features import excess, rate, slope, stepped, visited
from tests.oracle.pkawv import features

Array = NDArray[np.float64]


@remembered
def run(learner: onkel.SketchedNewton, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array, int]:
    """The score of each row before it is learnt, (h, g) of each round, and how often M was shrunk with a loss."""
    w = np.ones(len(X)) if weight is None else weight
    Phi = features(learner.features, X, w != 0)
    r, m = Phi.shape[1], learner.rank
    A, u, held, lossy = learner.alpha * np.eye(r), np.zeros(r), 0, 0
    out, rounds = np.zeros(len(X)), list[tuple[float, float]]()
    for i, phi in enumerate(Phi):
        h = excess(float(phi @ u), learner.clip)
        out[i] = float(phi @ u) - h
        if w[i] == 0:
            continue
        g = slope(learner, out[i], y[i])
        rounds.append((h, g))
        A, u = stepped(A, u, phi, h, g, rate(learner, len(rounds)), learner.alpha)
        held += g != 0
        if held == 2 * m:
            values, V = np.linalg.eigh(A - learner.alpha * np.eye(r))
            least = values[-m - 1] if m < r else 0.0
            A = learner.alpha * np.eye(r) + (V * np.maximum(values - max(least, 0.0), 0.0)) @ V.T
            held, lossy = m, lossy + (least > 1e-9 * values[-1])
    return out, np.array(rounds), lossy


def scores(learner: onkel.SketchedNewton, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


def predict(learner: onkel.SketchedNewton, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros(len(X_new))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, zeros]))[len(X) :]


_TAYLOR = onkel.Taylor(degree=2, width=2.0) + onkel.Constant()
_FOURIER = onkel.Fourier(count=8, width=1.5, seed=3) + onkel.Constant()
SQUARE = onkel.SketchedNewton(features=_TAYLOR, rank=3, alpha=0.1, clip=0.5)
HINGE = onkel.SketchedNewton(
    features=(onkel.Standardize(), _FOURIER), loss=onkel.Hinge(), rank=5, alpha=0.5, clip=1.5, dimension=4.0
)
STEEP = replace(SQUARE, loss=onkel.SquaredHinge(), rank=1, alpha=0.3, clip=1.3)
SMALL = (SQUARE, HINGE, STEEP)


def stream(config: Any) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def reached(config: onkel.SketchedNewton, state: Any) -> bool:
    """Whether every round was counted, the sketch lost something often, and the stream visited each stage."""
    X, y, weight = stream(config)
    _, rounds, lossy = run(config, X, y, weight)
    return bool(state.rows == np.count_nonzero(weight) and lossy > 5 and visited(config, rounds))
