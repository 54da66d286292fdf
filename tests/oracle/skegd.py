"""SkeGD from its definition: gradient descent on the map of sketched.py, which is of Φ_pp itself at every update.

The first w fits f of stage 1 on the buffer. An update refits it on the landmarks L of the new map, K_LL their kernel matrix:

    w = argmin ‖K_LL (Z w − Z₀w₀)‖        Z₀w₀: the coefficients of the old f, 0 for a landmark that is new

    score = φ·w,    g = ℓ'(score, y),    where g ≠ 0:  w ← (1 − step λ) w − step g φ

In a round of update the score is that of the old map; g and the step are of the new one. A row of weight 0 leaves no trace.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import remembered, sketched
from tests.oracle.newton_features import slope
from tests.oracle.sketched import Map, built, carried, due, mapped, sizes, sketch, stage_one

Array = NDArray[np.float64]


def updated(learner: onkel.SkeGD, K: Array, phi: Map, w: Array, i: int) -> tuple[Map, Array]:
    """The map after row i has joined, and the weights that come closest to the old f on its landmarks."""
    points = [*phi.points, i]
    new = mapped(learner, K, points, sketch(learner, K, points))
    return new, carried(K, new, phi, w)


@remembered
def run(learner: onkel.SkeGD, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array, Map | None]:
    """The score of each row before it is learnt, (g, whether it was one of update) of each round of stage 2, the last map."""
    u = np.ones(len(X)) if weight is None else weight
    K = learner.kernel(X, X)
    out, points, a = stage_one(learner, K, y, u)
    if len(points) < sizes(learner)[0]:
        return np.array(out), np.zeros((0, 2)), None
    phi, w = built(learner, K, points, a)
    t, updates = int(np.count_nonzero(u[: len(out)])), 0
    rounds = list[tuple[float, bool]]()
    for i in range(len(out), len(X)):
        out.append(float(phi(K, i) @ w))
        if u[i] == 0:
            continue
        joins = due(learner, t, updates)
        if joins:
            updates += 1
            phi, w = updated(learner, K, phi, w, i)
        x, t = phi(K, i), t + 1
        g = slope(learner, float(x @ w), y[i])
        if g != 0:
            w = (1 - learner.step * learner.lam) * w - learner.step * g * x
        rounds.append((g, joins))
    return np.array(out), np.array(rounds).reshape(-1, 2), phi


def scores(learner: onkel.SkeGD, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


_BASE = onkel.SkeGD(kernel=onkel.Gaussian(width=2.0), buffer=24, sketch=20, landmarks=10, rank=7, period=20)
HINGE = replace(_BASE, budget=15, buffer=None, sketch=30, landmarks=15, seed=35)
GROWING = replace(_BASE, loss=onkel.SquaredHinge(), landmarks=7, blocks=2, step=0.1, max_updates=8, growing_landmarks=True, seed=1)
OFTEN = replace(
    _BASE, kernel=onkel.Gaussian(width=1.0), loss=onkel.Square(), period=4, blocks=4, step=0.1, lam=0.0, max_updates=60, seed=2
)
RANK = replace(
    _BASE, kernel=onkel.Polynomial(degree=2), loss=onkel.Logistic(), sketch=24, landmarks=14, rank=12, step=0.01, lam=0.1, seed=3
)
SMALL = (HINGE, GROWING, OFTEN, RANK)


def stream(config: onkel.SkeGD) -> tuple[Array, Array, Array]:
    """The stream of sketched.py."""
    return sketched.stream(config)


def reached(config: onkel.SkeGD, state: Any) -> bool:
    """Whether the stream visited each stage that it was made for, and the sketch is as large as it should be."""
    X, y, weight = stream(config)
    _, rounds, phi = run(config, X, y, weight)
    if phi is None:
        return False
    grown = sketched.grown(config, state, phi, rounds[:, 1] != 0, frozen=config in (GROWING, OFTEN))
    twice = len(np.unique(X[phi.landmarks], axis=0)) < len(phi.landmarks)
    deficient = np.any(np.all(phi.Z == 0, axis=0))
    flat = np.any(rounds[:, 0] == 0)
    return bool(grown and twice == (config == HINGE) and deficient == (config == RANK) and flat == (config in (HINGE, GROWING)))
