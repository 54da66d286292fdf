"""NOGD from its definition: gradient descent in the RKHS until `budget` points are stored, then on Nyström features of these.

Stage 1 is NORMA with λ = 0. At the end of the round that stores the last point, K_SS = VΛVᵀ with the `rank` largest eigenvalues,

    z(x) = Λ^(−1/2) Vᵀ k_S(x),    w = Λ^(1/2) Vᵀ a

and stage 2 is the descent of fogd.py on z from this w on. Eigenvalues of at most 1e-10 of the largest are left out.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import fogd, newton_features, norma, remembered, supported

Array = NDArray[np.float64]


@remembered
def run(learner: onkel.NOGD, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, int, Array]:
    """The score of each row before it is learnt, the points stored, and all eigenvalues, none in stage 1."""
    learnt = np.ones(len(X)) if weight is None else weight
    first = supported.run(learner.kernel, norma.rule(learner.loss, learner.step), X, y, weight)
    terms = first.terms[: learner.budget]
    if len(terms) < learner.budget:
        return first.scores, len(terms), np.zeros(0)
    S, a, start = X[[term.row for term in terms]], np.array([term.a for term in terms]), terms[-1].row + 1
    values, V = np.linalg.eigh(learner.kernel(S, S))
    kept = [i for i in np.argsort(-values)[: learner.rank] if values[i] > 1e-10 * values.max()]
    root, V = np.sqrt(values[kept]), V[:, kept]
    Z = learner.kernel(X[start:], S) @ V / root
    second, _ = fogd.descent(learner.loss, learner.step, root * (V.T @ a), Z, y[start:], learnt[start:])
    return np.concatenate([first.scores[:start], second]), len(terms), values


def scores(learner: onkel.NOGD, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


DEFICIENT = onkel.NOGD(kernel=onkel.Polynomial(degree=2), budget=20, rank=15, step=0.05)
WHOLE = onkel.NOGD(kernel=onkel.Laplacian(width=3.0), loss=onkel.Logistic(), budget=30, rank=30, step=0.5)
SMALL = (
    onkel.NOGD(kernel=onkel.Gaussian(width=1.5), budget=40, rank=12),
    onkel.NOGD(kernel=onkel.Gaussian(width=2.0), loss=onkel.Square(), budget=50, rank=15, step=0.1),
    DEFICIENT,
    WHOLE,
)


def stream(config: onkel.NOGD) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def reached(config: onkel.NOGD, state: Any) -> bool:
    """Whether every round was counted, and stage 2 was reached with as many sound eigenvalues as the configuration is meant for."""
    X, y, weight = stream(config)
    _, points, values = run(config, X, y, weight)
    sound = np.count_nonzero(values > 1e-10 * values.max())
    meant = sound < config.rank if config == DEFICIENT else config.rank <= sound
    return bool((state.rows, state.support.size[0]) == (np.count_nonzero(weight), points) and points == config.budget and meant)
