"""The online Newton step on explicit features from its definition: dense A, a linear solve wherever A⁻¹ is written.

At first A = αI and u = 0. Round t = 1, 2, … of the rows learnt, φ = z(x_t):

    ȳ = φ·u,    h = sign(ȳ) max(|ȳ| − C, 0),    score = ȳ − h,    g = ℓ'(score, y)
    w = u − (h/q) A⁻¹φ,  q = φ·A⁻¹φ          the nearest w to u, in the norm of A, with |φ·w| ≤ C
    A ← A + η g² φφᵀ,    u ← w − A⁻¹gφ       the second with the new A

    η = curvature if given, else the loss's σ on [−C, C] for labels up to C (half of it for ProsNKONS), else, for σ = 0,
    η_t = √dimension / (L C √t)

A projection with q ≤ 1e-12 φ·φ/α is left out. A row of weight 0 is scored as if it came next, and leaves no trace.
"""

from math import copysign, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.protocol import tasks_of
from tests.oracle import remembered
from tests.oracle.pkawv import features

Array = NDArray[np.float64]
Learner = onkel.NewtonFeatures | onkel.SketchedNewton | onkel.KONS | onkel.SketchedKONS | onkel.ProsNKONS


def excess(free: float, clip: float) -> float:
    """h: how far a score lies outside [−clip, clip]."""
    return copysign(max(abs(free) - clip, 0.0), free)


def slope(learner: Any, score: float, label: float) -> float:
    """g = dℓ/df."""
    return float(learner.loss.derivative([score], [label])[0])


def rate(learner: Learner, t: int) -> float:
    """η of round t = 1, 2, …"""
    if learner.curvature is not None:
        return float(learner.curvature)
    sigma = float(learner.loss.curvature(learner.clip, learner.clip))
    if sigma > 0:
        return sigma / 2 if isinstance(learner, onkel.ProsNKONS) else sigma
    return sqrt(learner.dimension) / (float(learner.loss.lipschitz(learner.clip, learner.clip)) * learner.clip * sqrt(t))


def stepped(A: Array, u: Array, phi: Array, h: float, g: float, gain: float, alpha: float) -> tuple[Array, Array]:
    """A and u after a round that adds gain · g² φφᵀ to A."""
    if h != 0:
        direction = np.linalg.solve(A, phi)
        q = float(phi @ direction)
        if q > 1e-12 * float(phi @ phi) / alpha:
            u = u - h / q * direction
    if g != 0:
        A = A + gain * g**2 * np.outer(phi, phi)
        u = u - np.linalg.solve(A, g * phi)
    return A, u


@remembered
def run(learner: onkel.NewtonFeatures, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """The score of each row before it is learnt, and (h, g) of each round."""
    w = np.ones(len(X)) if weight is None else weight
    Phi = features(learner.features, X, w != 0)
    A, u = learner.alpha * np.eye(Phi.shape[1]), np.zeros(Phi.shape[1])
    out, rounds = np.zeros(len(X)), list[tuple[float, float]]()
    for i, phi in enumerate(Phi):
        h = excess(float(phi @ u), learner.clip)
        out[i] = float(phi @ u) - h
        if w[i] != 0:
            g = slope(learner, out[i], y[i])
            rounds.append((h, g))
            A, u = stepped(A, u, phi, h, g, rate(learner, len(rounds)), learner.alpha)
    return out, np.array(rounds)


def scores(learner: onkel.NewtonFeatures, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


def predict(learner: onkel.NewtonFeatures, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros(len(X_new))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, zeros]))[len(X) :]


_TAYLOR = onkel.Taylor(degree=2, width=2.0) + onkel.Constant()
_FOURIER = onkel.Fourier(count=8, width=1.5, seed=3) + onkel.Constant()
SQUARE = onkel.NewtonFeatures(features=_TAYLOR, alpha=0.1, clip=0.5)
LOGISTIC = onkel.NewtonFeatures(features=(onkel.Standardize(), _TAYLOR), loss=onkel.Logistic(), alpha=0.5, clip=1.2)
HINGE = onkel.NewtonFeatures(features=(onkel.Standardize(), _FOURIER), loss=onkel.Hinge(), alpha=0.5, clip=1.5, dimension=4.0)
TUBE = onkel.NewtonFeatures(features=_FOURIER, loss=onkel.EpsilonInsensitive(0.2), clip=0.4, curvature=0.3)
STEEP = onkel.NewtonFeatures(features=onkel.Identity() + _TAYLOR, loss=onkel.SquaredHinge(), alpha=0.01, clip=1.3)
SMALL = (SQUARE, LOGISTIC, HINGE, TUBE, STEEP)


def stream(config: Any) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0; every tenth row repeats an earlier one, exactly or 1e-7 beside it.

    The labels are real, mostly in [−1, 1], or, for a pure classifier, their signs, a tenth of them flipped.
    """
    rng = np.random.default_rng(20170806)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    X[30::20] = X[23:393:20]
    X[40::20] = X[20:380:20] + 1e-7 * np.array([0.6, 0.0, -0.8])
    y = np.sin(2 * X[:, 0]) / 2 + X[:, 1] * X[:, 2] / 4 + 0.1 * rng.normal(size=400)
    weight, flips = rng.choice([0.0, 1.0], p=[0.1, 0.9], size=400), rng.choice([-1.0, 1.0], p=[0.1, 0.9], size=400)
    if "regression" not in tasks_of(config):
        y = np.where(y >= 0, flips, -flips)
    return X, y, weight


def visited(config: Any, rounds: Array) -> bool:
    """Whether the projection was active on either side, with a slope, and, for a loss that is flat somewhere, without one too."""
    h, g = rounds.T
    flat = isinstance(config.loss, onkel.Hinge | onkel.SquaredHinge | onkel.EpsilonInsensitive | onkel.SquaredEpsilonInsensitive)
    return bool(np.any(h > 0) and np.any(h < 0) and np.any(h * g != 0) and flat == np.any((g == 0) & (h != 0)))


def reached(config: onkel.NewtonFeatures, state: Any) -> bool:
    """Whether every round was counted, and the stream visited each stage."""
    X, y, weight = stream(config)
    return bool(state.rows == np.count_nonzero(weight) and visited(config, run(config, X, y, weight)[1]))
