"""ProsNKONS from its definition: the online Newton step of newton_features.py in the span of a growing dictionary.

Round t: φ = L⁻¹k_I(x_t) with LLᵀ = K_II, orthonormal coordinates in the span of the points so far; a Newton step on them, whose
score is 0 while there are none; then the dictionary decides on x_t by the rules of pkawv_nystroem.py. If that widens the span,
φ gets one coordinate more from the next round on, and

    restart:  A = αI, u = 0        no restart:  A ← [A 0; 0 α], u ← (u, 0)

A point that was in the span already changes neither. η is that of newton_features.py, its t counts on over restarts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle import newton_features, remembered
from tests.oracle.newton_features import excess, rate, slope, stepped, visited
from tests.oracle.pkawv_nystroem import Dictionary, coordinates, decided

Array = NDArray[np.float64]


@remembered
def run(learner: onkel.ProsNKONS, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array, Dictionary]:
    """The score of each row before it is learnt, (h, g) of each round, and the dictionary in the end."""
    w = np.ones(len(X)) if weight is None else weight
    K = learner.kernel(X, X).astype(np.longdouble)
    rules = onkel.PKAWVNystroem(kernel=learner.kernel, dictionary=learner.dictionary, budget=learner.budget, seed=learner.seed)
    dictionary, Phi = Dictionary(), np.zeros((len(X), 0))
    A, u = np.zeros((0, 0)), np.zeros(0)
    out, rounds = np.zeros(len(X)), list[tuple[float, float]]()
    for i in range(len(X)):
        h = excess(float(Phi[i] @ u), learner.clip)
        out[i] = float(Phi[i] @ u) - h
        if w[i] == 0:
            continue
        g = slope(learner, out[i], y[i])
        rounds.append((h, g))
        t = len(rounds)
        A, u = stepped(A, u, Phi[i], h, g, rate(learner, t), learner.alpha)
        after = decided(rules, K, dictionary, t - 1, i)
        if after.spanning != dictionary.spanning:
            Phi, m = coordinates(K, after.spanning), len(u)
            wider, longer = learner.alpha * np.eye(m + 1), np.zeros(m + 1)
            if not learner.restart:
                wider[:m, :m], longer[:m] = A, u
            A, u = wider, longer
        dictionary = after
    return out, np.array(rounds), dictionary


def scores(learner: onkel.ProsNKONS, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


def predict(learner: onkel.ProsNKONS, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros(len(X_new))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, zeros]))[len(X) :]


_GAUSSIAN, _QUADRATIC = onkel.Gaussian(width=2.0), onkel.Polynomial(degree=2)
_OFTEN = onkel.Uniform(rate=0.3)
RESTARTED = onkel.ProsNKONS(kernel=_GAUSSIAN, alpha=0.1, clip=0.5, dictionary=onkel.Kors(mu=2.0, oversampling=0.5))
KEPT = onkel.ProsNKONS(
    kernel=_GAUSSIAN, loss=onkel.Logistic(), alpha=0.2, clip=1.0, dictionary=onkel.Kors(mu=0.5), restart=False, seed=1
)
FULL = onkel.ProsNKONS(kernel=onkel.Gaussian(), loss=onkel.SquaredHinge(), alpha=0.2, clip=1.3, budget=12, seed=2)
UNIFORM = onkel.ProsNKONS(kernel=_GAUSSIAN, alpha=0.1, clip=0.5, dictionary=onkel.Uniform(rate=0.08), restart=False, seed=3)
HINGE = onkel.ProsNKONS(
    kernel=_GAUSSIAN, loss=onkel.Hinge(), alpha=0.5, clip=1.2, dimension=9.0, dictionary=onkel.Kors(mu=1.0), restart=False, seed=4
)
RANK = onkel.ProsNKONS(kernel=_QUADRATIC, clip=0.5, dictionary=onkel.Kors(mu=0.5, accuracy=0.1, oversampling=0.5), seed=5)
REFUSED = onkel.ProsNKONS(
    kernel=_QUADRATIC, loss=onkel.SquaredHinge(), clip=1.3, curvature=0.2, dictionary=_OFTEN, restart=False, seed=6
)
SMALL = (RESTARTED, KEPT, FULL, UNIFORM, HINGE, RANK, REFUSED)


def stream(config: onkel.ProsNKONS) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def reached(config: onkel.ProsNKONS, state: Any) -> bool:
    """Whether the stream visited each stage that it was made for, and the dictionary is as large as it should be."""
    X, y, weight = stream(config)
    _, rounds, dictionary = run(config, X, y, weight)
    points, spanning = len(dictionary.points), len(dictionary.spanning)
    same = (len(state.span.points), len(state.span.spanning), state.restarts, state.rows) == (
        points,
        spanning,
        spanning,
        len(rounds),
    )
    full = config != FULL or points == config.budget
    surplus = config != RANK or spanning < points
    refused = config != REFUSED or sum(random.uniform(config.seed, t, 0) < _OFTEN.rate for t in range(len(rounds))) > points
    return bool(same and full and surplus and refused and visited(config, rounds))
