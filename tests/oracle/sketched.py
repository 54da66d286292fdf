"""What FORKS and SkeGD share, from its definition: a sketch of the points and the feature map it makes, built whole each time.

Stage 1: f = Σ aᵢ k(xᵢ, ·). Where g = ℓ'(f(x), y) ≠ 0, x joins with a = −step · g, until `buffer` points have joined. The points are
numbered 0, 1, … as they join; the rows that join by an update of stage 2 count on.

Row i of S: in each of `blocks` blocks of columns one entry ±1/√blocks, its column and sign drawn for the number i. The landmarks L
are the `landmarks` points of the buffer with the smallest coins, in the order of joining; with growing_landmarks, behind them,
each later point whose coin is below landmarks/buffer, while they are fewer than half of the columns of S. Then, K being the kernel
matrix of all points that have joined,

    Φ_pp = SᵀKS,    Φ_pm = SᵀK[:, L],    Φ_pp or what stands for it = VΣVᵀ + …,    Z = Φ_pm⁺ V Σ^½,    φ(x) = Zᵀ k(L, x)

with the `rank` leading eigenpairs in V and Σ. Eigenvalues below 1e-12 of the largest count as 0, as do singular values of Φ_pm
and of any least squares problem below 1e-6 of the largest. A round t (rows learnt before) of stage 2 is one of update where
`period` divides t and fewer than `max_updates` were made: its row is scored, then joins; the new map is made, and learns the row.
FORKS resets its matrix in these rounds, and in every later one whose t `period` divides.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle.newton_features import slope

Array = NDArray[np.float64]
Learner = onkel.FORKS | onkel.SkeGD


@dataclass(frozen=True)
class Map:
    """φ(x) = Zᵀ k(L, x), and VΣVᵀ; the points and the landmarks L among them are given as rows of the stream."""

    points: list[int]
    landmarks: list[int]
    Z: Array
    leading: Array

    def __call__(self, K: Array, i: int) -> Array:
        return self.Z.T @ K[self.landmarks, i]


def sizes(learner: Learner) -> tuple[int, int, int, int]:
    """Points in the buffer, columns of S, landmarks in the buffer, rank."""
    buffer = 2 * learner.budget if learner.buffer is None else learner.buffer
    columns = max(1, learner.budget // 2 // learner.blocks) * learner.blocks
    sketch = columns if learner.sketch is None else learner.sketch
    landmarks = min(2 * sketch, buffer) if learner.landmarks is None else learner.landmarks
    rank = sketch if learner.rank is None else learner.rank
    return buffer, sketch, landmarks, rank


def stage_one(learner: Learner, K: Array, y: Array, w: Array) -> tuple[list[float], list[int], list[float]]:
    """The scores of all rows up to the one that fills the buffer, the rows that joined, and their coefficients."""
    out, points, a = list[float](), list[int](), list[float]()
    while len(out) < len(K) and len(points) < sizes(learner)[0]:
        i = len(out)
        out.append(float(K[i, points] @ a))
        g = slope(learner, out[i], y[i])
        if w[i] != 0 and g != 0:
            points.append(i)
            a.append(-learner.step * g)
    return out, points, a


def sparse(learner: Learner, n: int) -> Array:
    """S: a row for each of n points."""
    width = sizes(learner)[1] // learner.blocks
    S = np.zeros((n, width * learner.blocks))
    for i in range(n):
        for b in range(learner.blocks):
            sign = 1 if random.uniform(learner.seed, i, 2 + 2 * b) < 0.5 else -1
            S[i, b * width + random.below(learner.seed, i, 1 + 2 * b, width)] = sign / sqrt(learner.blocks)
    return S


def landmarks(learner: Learner, n: int) -> list[int]:
    """The numbers of the landmarks among n points."""
    buffer, columns, count, _ = sizes(learner)
    coins = [random.uniform(learner.seed, i, 0) for i in range(n)]
    chosen = sorted(sorted(range(buffer), key=coins.__getitem__)[:count])
    late = [i for i in range(buffer, n) if coins[i] < count / buffer]
    return chosen + late[: max(columns // 2 - count, 0)] if learner.growing_landmarks else chosen


def sketch(learner: Learner, K: Array, points: list[int]) -> Array:
    """Φ_pp."""
    S = sparse(learner, len(points))
    return S.T @ K[np.ix_(points, points)] @ S


def mapped(learner: Learner, K: Array, points: list[int], M: Array) -> Map:
    """The map of the leading eigenpairs of M: Φ_pp, or what stands for it."""
    rank = sizes(learner)[3]
    values, vectors = np.linalg.eigh(M)
    V, Sigma = vectors[:, ::-1][:, :rank], values[::-1][:rank]
    Sigma = np.where(Sigma < 1e-12 * Sigma[0], 0.0, Sigma)
    chosen = [points[i] for i in landmarks(learner, len(points))]
    Phi_pm = sparse(learner, len(points)).T @ K[np.ix_(points, chosen)]
    Z = np.linalg.pinv(Phi_pm, rcond=1e-6) @ V @ np.diag(np.sqrt(Sigma))
    return Map(points, chosen, Z, V @ np.diag(Sigma) @ V.T)


def fitted(M: Array, b: Array) -> Array:
    """argmin ‖M w − b‖, the shortest."""
    return np.linalg.lstsq(M, b, rcond=1e-6)[0].astype(np.float64)


def built(learner: Learner, K: Array, points: list[int], a: list[float]) -> tuple[Map, Array]:
    """The first map, and the weights that come closest to f of stage 1 on the points."""
    phi = mapped(learner, K, points, sketch(learner, K, points))
    return phi, fitted(K[np.ix_(points, phi.landmarks)] @ phi.Z, K[np.ix_(points, points)] @ a)


def carried(K: Array, new: Map, phi: Map, w: Array) -> Array:
    """The weights that come closest to the old f on the landmarks of the new map."""
    coef = np.zeros(len(new.landmarks))
    coef[: len(phi.landmarks)] = phi.Z @ w
    K_LL = K[np.ix_(new.landmarks, new.landmarks)]
    return fitted(K_LL @ new.Z, K_LL @ coef)


def due(learner: Learner, t: int, updates: int) -> bool:
    """Whether round t of stage 2 is one of update, after so many."""
    return t % learner.period == 0 and updates < learner.max_updates


def stream(config: Learner) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0; every twentieth row repeats an earlier one.

    The labels are real, mostly in [−1, 1], or, for a loss of classification, their signs, a twentieth of them flipped.
    """
    rng = np.random.default_rng(20191110)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    X[10::20] = X[3:393:20]
    y = np.sin(2 * X[:, 0]) / 2 + X[:, 1] * X[:, 2] / 4 + 0.1 * rng.normal(size=400)
    weight, flips = rng.choice([0.0, 1.0], p=[0.1, 0.9], size=400), rng.choice([-1.0, 1.0], p=[0.05, 0.95], size=400)
    if "regression" not in config.loss.tasks:
        y = np.where(y >= 0, flips, -flips)
    return X, y, weight


def grown(config: Learner, state: Any, phi: Map | None, joined: NDArray[np.bool_], frozen: bool) -> bool:
    """Whether the sketch took what it should: updates, landmarks where they may grow, and nothing late where it is to freeze.

    `joined` tells the rounds of update among those of stage 2. The last `period` rounds hold one that would have been.
    """
    updates, learnt = np.count_nonzero(joined), np.count_nonzero(stream(config)[2])
    if phi is None or (state.support.size[0], state.rows, state.sketch.updates) != (len(phi.points), learnt, updates):
        return False
    stopped = updates == config.max_updates and not joined[-config.period :].any()
    more = len(phi.landmarks) > sizes(config)[2]
    return bool(updates > 2 and stopped == frozen and more == config.growing_landmarks)
