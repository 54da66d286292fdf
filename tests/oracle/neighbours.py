"""Neighbours from its definition: sort all rows kept by distance and age, average the labels of the first.

d_i = ‖x_i − x‖² in single precision,   v_i = w_i/(d_i + D/10)², D the largest d_i among the nearest
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel

Array = NDArray[np.float64]


def scores(learner: onkel.Neighbours, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    P, Y = np.clip(X, -1e15, 1e15).astype(np.float32), y.reshape(len(X), -1)
    out = np.zeros(Y.shape)
    for t in range(len(X)):
        kept = np.flatnonzero(w[:t] != 0)[::-1][: learner.budget]  # the youngest first: a stable sort leaves equals in that order
        if len(kept) == 0:
            continue
        distance = np.zeros(len(kept), np.float32)
        for j in range(X.shape[1]):
            distance += (P[kept, j] - P[t, j]) ** 2
        first = np.argsort(distance, kind="stable")[: learner.neighbours]
        near, who = distance[first].astype(np.float64), kept[first]
        v = w[who] if near[-1] == 0.0 else w[who] / (near + near[-1] / 10) ** 2
        out[t] = v @ Y[who] / v.sum()
    return out.reshape(y.shape)


RING = onkel.Neighbours(budget=150, neighbours=3)  # two groups, the second of them hardly used
SHORT = onkel.Neighbours(budget=5, neighbours=9)  # fewer rows than neighbours
COARSE = onkel.Neighbours(budget=128, neighbours=4)  # on a grid: many rows are equally far
SMALL = (RING, SHORT, COARSE)


def stream(config: onkel.Neighbours) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0."""
    rng = np.random.default_rng(1951)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    if config == COARSE:
        X = np.round(X)
    return X, y, rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)


def learnable(config: onkel.Neighbours) -> tuple[Array, Array]:
    """One that three to five rows can follow: slow in time."""
    X = np.linspace(0.0, 20.0, 400)[:, None] * np.array([1.0, -0.5, 0.25])
    return X, np.sin(X[:, 0])


def reached(config: onkel.Neighbours, state: Any) -> bool:
    """Whether the ring has been full for long, and not all rows kept are at different distances where none should be."""
    rows = np.count_nonzero(stream(config)[2])
    distinct = len(np.unique(state.points.transpose(0, 2, 1).reshape(-1, state.dim), axis=0))
    return bool(state.rows[0] == rows > 1.5 * config.budget and (distinct < config.budget // 2) == (config == COARSE))
