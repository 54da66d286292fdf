"""KONS and SketchedKONS from their definitions: the online Newton step of newton_features.py in the whole RKHS.

The features φ are coordinates in an orthonormal basis of the span of all rows of the stream, future ones too, so that
φ(x)·φ(x') = k(x, x') for all rows. They are as good as the RKHS itself, since u and the range of A − αI never leave that span.

SketchedKONS adds the term of a round to A only if its coin falls right: the gain is z η, or z η/p if weighted, with

    p = max(min(βτ, 1), floor),    z = 1 if u_{t−1} < p
    τ = (1+ε)/α · (k̄_tt − (Sk̄)ᵀ(SK̄S + αI)⁻¹Sk̄),    S = diag(…, p_i^(−1/2), …, 1),    k̄_ij = g_i √η_i k(x_i, x_j) g_j √η_j

over the rows i taken so far, with z_i = 1, and the row itself. A round of slope 0 has no term and takes nothing.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle import newton_features, remembered
from tests.oracle.newton_features import excess, rate, slope, stepped, visited
from tests.oracle.pkawv import solve

Array = NDArray[np.float64]
Wide = NDArray[np.floating[Any]]  # np.longdouble
Learner = onkel.KONS | onkel.SketchedKONS


@dataclass(frozen=True)
class Taken:
    """A row whose term is in A."""

    row: int
    scale: float  # g √η
    probability: float


def basis(K: Wide) -> Array:
    """The coordinates of every row: Gram and Schmidt, the row farthest from the span first, until only rounding is left."""
    Z, rank = np.zeros_like(K), 0
    left = K.diagonal().copy()  # squared distances from the span
    while rank < len(K) and left.max() > 1e-15 * K.diagonal().max():
        i = int(np.argmax(left))
        Z[:, rank] = (K[:, i] - Z[:, :rank] @ Z[i, :rank]) / np.sqrt(left[i])
        left -= Z[:, rank] ** 2
        rank += 1
    return Z[:, :rank].astype(np.float64)


def probability(learner: onkel.SketchedKONS, K: Wide, taken: list[Taken], i: int, scale: float) -> float:
    """The probability with which row i, of g √η = scale, is taken."""
    rows = [*(point.row for point in taken), i]
    d = np.array([*(point.scale for point in taken), scale], dtype=np.longdouble)
    s = np.array([*(point.probability for point in taken), 1.0], dtype=np.longdouble) ** -0.5
    scaled = d[:, None] * K[np.ix_(rows, rows)] * d
    SKS, Sk = s[:, None] * scaled * s, (s * scaled[:, -1])[:, None]
    left = scaled[-1, -1] - Sk.T @ solve(SKS + learner.alpha * np.eye(len(rows)), Sk)
    tau = (1 + learner.accuracy) / learner.alpha * float(left.item())
    return max(min(learner.oversampling * tau, 1.0), learner.floor)


@remembered
def run(learner: Learner, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array, list[Taken]]:
    """The score of each row before it is learnt, (h, g) of each round, and the terms of A in the end."""
    w = np.ones(len(X)) if weight is None else weight
    K = learner.kernel(X, X).astype(np.longdouble)
    Phi = basis(K)
    A, u = learner.alpha * np.eye(Phi.shape[1]), np.zeros(Phi.shape[1])
    out, rounds, taken = np.zeros(len(X)), list[tuple[float, float]](), list[Taken]()
    for i, phi in enumerate(Phi):
        h = excess(float(phi @ u), learner.clip)
        out[i] = float(phi @ u) - h
        if w[i] == 0:
            continue
        g = slope(learner, out[i], y[i])
        rounds.append((h, g))
        t = len(rounds)
        eta, p, z = rate(learner, t), 1.0, g != 0
        if isinstance(learner, onkel.SketchedKONS) and z:
            p = probability(learner, K, taken, i, g * sqrt(eta))
            z = random.uniform(learner.seed, t - 1, 0) < p
        if z:
            taken.append(Taken(i, g * sqrt(eta), p))
        weighted = isinstance(learner, onkel.SketchedKONS) and learner.weighted
        A, u = stepped(A, u, phi, h, g, z * eta / p if weighted else z * eta, learner.alpha)
    return out, np.array(rounds), taken


def scores(learner: Learner, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


def predict(learner: Learner, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros(len(X_new))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, zeros]))[len(X) :]


_MIXED = onkel.Polynomial(degree=2) + onkel.Gaussian(width=1.0)
SQUARE = onkel.KONS(kernel=onkel.Gaussian(width=1.5), alpha=0.2, clip=0.6)
SQUARED_HINGE = onkel.KONS(kernel=_MIXED, loss=onkel.SquaredHinge(), alpha=0.5, clip=1.3)
LOGISTIC = onkel.KONS(kernel=onkel.Laplacian(width=2.0), loss=onkel.Logistic(), alpha=0.2, clip=1.2)
HINGE = onkel.KONS(kernel=onkel.Gaussian(width=2.0), loss=onkel.Hinge(), alpha=0.5, clip=1.5, dimension=4.0)
TUBE = onkel.KONS(kernel=onkel.Polynomial(degree=2), loss=onkel.EpsilonInsensitive(0.2), clip=0.4, curvature=0.3)
FLOOR = onkel.SketchedKONS(kernel=onkel.Gaussian(width=1.5), alpha=0.2, clip=0.6, floor=0.3)
LEVERAGE = onkel.SketchedKONS(
    kernel=_MIXED, loss=onkel.SquaredHinge(), clip=1.3, floor=0.05, oversampling=2.5, accuracy=0.2, seed=7
)
WEIGHTED = onkel.SketchedKONS(kernel=onkel.Gaussian(), loss=onkel.Logistic(), alpha=0.2, clip=1.2, weighted=True, seed=3)
SKETCHED_HINGE = onkel.SketchedKONS(
    kernel=onkel.Gaussian(width=2.0), loss=onkel.Hinge(), alpha=0.5, clip=1.5, dimension=4.0, floor=0.2, weighted=True, seed=4
)
SMALL = (SQUARE, SQUARED_HINGE, LOGISTIC, HINGE, TUBE, FLOOR, LEVERAGE, WEIGHTED, SKETCHED_HINGE)


def stream(config: Learner) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def reached(config: Learner, state: Any) -> bool:
    """Whether the stream visited each stage, sampling by the leverage and by the floor too, and the sizes are as they should be."""
    X, y, weight = stream(config)
    _, rounds, taken = run(config, X, y, weight)
    h, g = rounds.T
    sizes = (state.rows, state.size, state.taken) == (
        np.count_nonzero(weight),
        np.count_nonzero((h != 0) | (g != 0)),
        len(taken),
    )
    if isinstance(config, onkel.KONS):
        return bool(sizes and visited(config, rounds) and len(taken) == np.count_nonzero(g))
    p = np.array([point.probability for point in taken])
    return bool(sizes and visited(config, rounds) and len(p) < np.count_nonzero(g) and {True, False} == set(p == config.floor))
