"""FORKS from its definition: the online Newton step of newton_features.py on the map of sketched.py, dense A and linear solves.

The first map is of Φ_pp, its w fits f of stage 1 on the buffer, and A = αI. An update makes a map of VΣVᵀ + Φ_pp − (Φ_pp before),
with the V and Σ of the old map, but every 50th of Φ_pp itself. In a round of update, and in later ones whose t `period` divides,
A = αI, and w = 0 if `restart`, else the w that comes closest to the old f on the landmarks. Round t = 1, 2, … of the rows learnt:

    ȳ = φ·w,    h = sign(ȳ) max(|ȳ| − C, 0),    score = ȳ − h,    g = ℓ'(score, y)
    w ← w − (h/q) A⁻¹φ,  q = φ·A⁻¹φ                          left out where αq ≤ 1e-12 k(x, x)
    where g ≠ 0:  G = gφ + λw,  A ← A + η GGᵀ,  w ← w − A⁻¹G     step_uses_old_matrix: with the old A in the second

    project_on_current: score = ȳ, and the projection comes last, with h of the new φ·w and the new A

    η = curvature if given, else the loss's σ on [−C, C] for labels up to C, else, for σ = 0, η_t = √rank / (L C √t)

In a round of update the score is that of the old map; g and the rest are of the new one. A row of weight 0 leaves no trace.
"""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import remembered, sketched
from tests.oracle.newton_features import excess, slope, visited
from tests.oracle.sketched import Map, built, carried, due, mapped, sizes, sketch, stage_one

Array = NDArray[np.float64]


def rate(learner: onkel.FORKS, t: int) -> float:
    """η of round t = 1, 2, …"""
    if learner.curvature is not None:
        return float(learner.curvature)
    sigma = float(learner.loss.curvature(learner.clip, learner.clip))
    falling = sqrt(sizes(learner)[3]) / (float(learner.loss.lipschitz(learner.clip, learner.clip)) * learner.clip * sqrt(t))
    return sigma if sigma > 0 else falling


def updated(learner: onkel.FORKS, K: Array, phi: Map, i: int, number: int) -> Map:
    """The map after row i has joined by the update of this number = 1, 2, …"""
    points = [*phi.points, i]
    now, before = sketch(learner, K, points), sketch(learner, K, phi.points)
    return mapped(learner, K, points, now if number % 50 == 0 else phi.leading + (now - before))


def projected(learner: onkel.FORKS, A: Array, w: Array, x: Array, own: float) -> tuple[Array, float]:
    """The nearest weights, in the norm of A, with |x·w| ≤ C, and by how much x·w was beyond; own = k(x, x)."""
    h, direction = excess(float(x @ w), learner.clip), np.linalg.solve(A, x)
    q = float(x @ direction)
    return (w - h / q * direction if learner.alpha * q > 1e-12 * own else w), h


def stepped(learner: onkel.FORKS, A: Array, w: Array, x: Array, g: float, t: int) -> tuple[Array, Array]:
    """A and w after the Newton step of round t."""
    if g == 0:
        return A, w
    G = g * x + learner.lam * w
    after = A + rate(learner, t) * np.outer(G, G)
    return after, w - np.linalg.solve(A if learner.step_uses_old_matrix else after, G)


@remembered
def run(learner: onkel.FORKS, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array, Map | None]:
    """The score of each row before it is learnt, (h, g, whether it was one of update) of each round of stage 2, the last map."""
    u = np.ones(len(X)) if weight is None else weight
    K = learner.kernel(X, X)
    out, points, a = stage_one(learner, K, y, u)
    if len(points) < sizes(learner)[0]:
        return np.array(out), np.zeros((0, 3)), None
    phi, w = built(learner, K, points, a)
    first = learner.alpha * np.eye(len(w))
    A, t, updates = first, int(np.count_nonzero(u[: len(out)])), 0
    rounds = list[tuple[float, float, bool]]()
    for i in range(len(out), len(X)):
        full = float(phi(K, i) @ w)
        out.append(full if learner.project_on_current else full - excess(full, learner.clip))
        if u[i] == 0:
            continue
        joins, old = due(learner, t, updates), phi
        if joins:
            updates += 1
            phi = updated(learner, K, phi, i, updates)
        if t % learner.period == 0:
            A, w = first, np.zeros(len(w)) if learner.restart else carried(K, phi, old, w) if joins else w
        x, own, t = phi(K, i), float(K[i, i]), t + 1
        if learner.project_on_current:
            g = slope(learner, float(x @ w), y[i])
            A, w = stepped(learner, A, w, x, g, t)
            w, h = projected(learner, A, w, x, own)
        else:
            score = float(x @ w) - excess(float(x @ w), learner.clip)
            g = slope(learner, score, y[i])
            w, h = projected(learner, A, w, x, own)
            A, w = stepped(learner, A, w, x, g, t)
        rounds.append((h, g, joins))
    return np.array(out), np.array(rounds).reshape(-1, 3), phi


def scores(learner: onkel.FORKS, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


_GAUSSIAN = onkel.Gaussian(width=2.0)
_BASE = onkel.FORKS(kernel=_GAUSSIAN, buffer=24, sketch=20, landmarks=10, rank=7, alpha=0.1, clip=1.2, curvature=None, restart=True)
HINGE = onkel.FORKS(kernel=_GAUSSIAN, budget=15, sketch=15, landmarks=10, rank=8, period=25, alpha=0.01, clip=1.0)
FALLING = replace(_BASE, landmarks=7, period=20, blocks=2, max_updates=8, growing_landmarks=True, seed=1)
LOGISTIC = replace(
    _BASE, loss=onkel.Logistic(), period=60, blocks=4, step=0.4, lam=0.01, step_uses_old_matrix=True, restart=False, seed=2
)
SQUARE = replace(_BASE, loss=onkel.Square(), period=50, alpha=0.5, clip=0.6, project_on_current=True, seed=3)
BOTH = replace(
    SQUARE,
    loss=onkel.SquaredHinge(),
    landmarks=8,
    period=40,
    clip=1.3,
    lam=0.05,
    max_updates=3,
    growing_landmarks=True,
    step_uses_old_matrix=True,
    restart=False,
)
OFTEN = replace(_BASE, kernel=onkel.Gaussian(width=1.0), period=4, clip=1.0, curvature=0.5, max_updates=60, seed=5)
RANK = replace(
    _BASE,
    kernel=onkel.Polynomial(degree=2),
    sketch=24,
    landmarks=14,
    rank=12,
    period=15,
    step=0.01,
    lam=0.001,
    max_updates=10,
    seed=6,
)
SMALL = (HINGE, FALLING, LOGISTIC, SQUARE, BOTH, OFTEN, RANK)


def stream(config: onkel.FORKS) -> tuple[Array, Array, Array]:
    """The stream of sketched.py."""
    return sketched.stream(config)


def reached(config: onkel.FORKS, state: Any) -> bool:
    """Whether the stream visited each stage that it was made for, and the sketch is as large as it should be."""
    _, rounds, phi = run(config, *stream(config))
    grown = sketched.grown(config, state, phi, rounds[:, 2] != 0, frozen=config in (FALLING, BOTH, OFTEN, RANK))
    rebuilt = np.count_nonzero(rounds[:, 2]) >= 50
    deficient = phi is not None and np.any(np.all(phi.Z == 0, axis=0))
    return bool(grown and rebuilt == (config == OFTEN) and deficient == (config == RANK) and visited(config, rounds[:, :2]))
