"""Adversarial streams: `greedy` against a given learner, `blocks` against all learners that adapt slowly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.linalg.triangular import solved_lower

CANDIDATES = 256  # random inputs that the greedy adversary tries in a round
CLIMBS = 4  # number of the best candidates that are improved by coordinate search
STEPS = 12  # number of steps of each coordinate search
FIRST_STEP = 0.25  # length of the first step, relative to the side
TIE = 1e-9  # smaller differences, relative to B², count as rounding


def greedy(
    learner: Any, rounds: int, dim: int, kernel: Kernel, lam: float, largest: float = 1.0, side: float = 1.0, seed: int = 0
) -> tuple[Matrix, Vector, Vector]:
    """(X, y, scores): in each round the (x, y) in [−side, side]^dim × [−B, B] that adds most to the learner's regret.

    Let ŷ(x) be the learner's score, and m(x) and s(x) the mean and the variance that kernel ridge regression (`kernel`, λ = `lam`)
    computes at x from the rounds so far. Then a round adds to the regret in the kernel's space

        (y − ŷ(x))² − λ(y − m(x))²/(λ + s(x)),

    which is convex in y. So the worst label is −B or B, where B is `largest`; if both add the same (as they do for `KernelAWV`), it
    is the label whose sign is opposite to the score's. x is the best of many random candidates, improved by coordinate search. Only
    `predict` and `learn` of the learner are used. If the learner draws a random number before the score, as with KORS, the score
    that `predict` gives depends on it already, so the adversary sees the draw.

    Jézéquel, Gaillard & Rudi (2019), appendix G. There SciPy searches for x and y.

    >>> learner = onkel.KernelAWV(kernel=onkel.Gaussian(width=1.0))
    >>> X, y, scores = onkel.measure.adversaries.greedy(learner, rounds=20, dim=2, kernel=learner.kernel, lam=1.0)
    >>> sorted(set(y.tolist()))
    [-1.0, 1.0]
    """
    if rounds < 0 or not (largest > 0.0 and side > 0.0 and lam > 0.0):
        raise InputError(f"rounds must be at least 0, lam, largest and side positive, got {rounds}, {lam}, {largest} and {side}")
    rng = np.random.default_rng(seed)
    state = learner.init(dim)
    X, y, scores = np.empty((rounds, dim)), np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        past = _Past(kernel, X[:t], y[:t], lam)

        def gain(rows: Matrix, past: _Past = past) -> Vector:
            return past.gain(rows, learner.predict(state, rows), largest)

        candidates = rng.uniform(-side, side, (CANDIDATES, dim))
        first = np.argsort(-gain(candidates), kind="stable")[:CLIMBS]
        climbed = np.array([_climb(gain, x, side) for x in candidates[first]])
        X[t] = climbed[np.argmax(gain(climbed))]
        y[t] = past.worst_label(X[t : t + 1], learner.predict(state, X[t : t + 1]), largest)[0]
        scores[t] = learner.learn(state, X[t : t + 1], y[t : t + 1])[0]
    return X, y, scores


def blocks(X: ArrayLike, y: ArrayLike, blocks: int = 500, repeats: int = 10, seed: int = 0) -> tuple[Matrix, Vector]:
    """(X, y) of blocks · repeats rounds: each block repeats one row, drawn from those given, `repeats` times.

    In every second block (the second, the fourth and so on) the label has its sign changed. This misleads a learner that
    generalises. Predicting the last label is wrong only at the start of a block, so compare every result on this stream with
    `onkel.measure.last_label`. If a share p of the given labels is +1, the labels of neighbouring blocks differ with probability
    q = p² + (1 − p)², and the last label is wrong in about a share q/repeats of the rows.

    FORKS: Fast Second-Order Online Kernel Learning using Incremental Sketching, section 5.2.

    >>> X, y = onkel.measure.adversaries.blocks(np.arange(3.0).reshape(3, 1), np.ones(3), blocks=3, repeats=2, seed=1)
    >>> X[:, 0].tolist(), y.tolist()
    ([1.0, 1.0, 1.0, 1.0, 2.0, 2.0], [1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
    """
    if blocks < 0 or repeats < 1:
        raise InputError(f"blocks must be at least 0 and repeats at least 1, got {blocks} and {repeats}")
    rows = check_block("X", X)
    rows, labels, shape = check_labelled(rows, y, rows.shape[1], 1)
    if len(rows) == 0:
        raise InputError("X has no rows to draw from; give it at least one")
    drawn = np.random.default_rng(seed).integers(len(rows), size=blocks)
    sign = np.where(np.arange(blocks) % 2 == 0, 1.0, -1.0)
    played = labels[drawn] * sign[:, None]
    return np.repeat(rows[drawn], repeats, axis=0), np.repeat(played, repeats, axis=0).reshape(-1, *shape[1:])


class _Past:
    """The ridge regression of the rounds so far: how the loss of the best function in hindsight grows in the next round."""

    def __init__(self, kernel: Kernel, X: Matrix, y: Vector, lam: float) -> None:
        self.kernel, self.X, self.lam = kernel, X, lam
        self.L = np.linalg.cholesky((kernel(X, X) if len(X) else np.empty((0, 0))) + lam * np.eye(len(X)))
        self.v = solved_lower(self.L, y) if len(y) else y

    def gains(self, rows: Matrix, scores: Vector, largest: float) -> tuple[Vector, Vector]:
        """How much each row would add to the regret with the label `largest`, and with −`largest`."""
        l = solved_lower(self.L, self.kernel(self.X, rows)) if len(self.X) else np.empty((0, len(rows)))
        m, s = self.v @ l, np.maximum(self.kernel.diagonal(rows) - np.sum(l * l, axis=0), 0.0)
        up, down = ((label - scores) ** 2 - self.lam * (label - m) ** 2 / (self.lam + s) for label in (largest, -largest))
        return up, down

    def gain(self, rows: Matrix, scores: Vector, largest: float) -> Vector:
        return np.maximum(*self.gains(rows, scores, largest))

    def worst_label(self, rows: Matrix, scores: Vector, largest: float) -> Vector:
        preference = np.subtract(*self.gains(rows, scores, largest))
        against = np.where(np.abs(preference) <= TIE * largest**2, -scores, preference)
        return np.where(against > 0.0, largest, -largest)


def _climb(gain: Any, x: Vector, side: float) -> Vector:
    """Maximise the gain by coordinate search. If none of the 2·dim neighbours (evaluated in one call) is better, halve the step."""
    dim, step = x.size, FIRST_STEP * side
    best = float(gain(x[None, :])[0])
    for _ in range(STEPS):
        neighbours = np.clip(x + step * np.vstack([np.eye(dim), -np.eye(dim)]), -side, side)
        values = gain(neighbours)
        k = int(np.argmax(values))
        if values[k] > best:
            x, best = neighbours[k], float(values[k])
        else:
            step /= 2.0
    return x
