"""Kernel-AWV and kernel ridge regression from their definitions: for every row a minimiser over the whole space, one dense solve.

    f_t = argmin Σ_{s<t} w_s (y_s − f(x_s))² + λ‖f‖²   [+ f(x_t)² for AWV],    the score is f_t(x_t)

The minimiser is f = Σ a_s k(x_s, ·) over the points of the sum, with (K + λ diag(1/w)) a = y. For AWV the row itself is one point
more, of label 0 and weight 1. A row of weight 0 is no term of any later sum. A clip bounds the score, not f.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel

Array = NDArray[np.float64]
Wide = NDArray[np.floating[Any]]  # np.longdouble
Learner = onkel.KernelAWV | onkel.KernelRidge


def scores(learner: Learner, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    K, Y = learner.kernel(X, X).astype(np.longdouble), y.reshape(len(X), -1).astype(np.longdouble)
    out = np.zeros(Y.shape)
    learnt: list[int] = []
    for i in range(len(X)):
        terms, labels, weights = learnt, Y[learnt], w[learnt]
        if isinstance(learner, onkel.KernelAWV):
            terms, labels, weights = [*learnt, i], np.vstack([labels, 0 * Y[i]]), np.append(weights, 1.0)
        a = solve(K[np.ix_(terms, terms)] + np.diag(learner.lam / weights.astype(np.longdouble)), labels)
        out[i] = K[i, terms] @ a
        if w[i] != 0:
            learnt.append(i)
    if isinstance(learner, onkel.KernelRidge) and learner.clip is not None:
        out = np.clip(out, -learner.clip, learner.clip)
    return out.reshape(y.shape)


def solve(A: Wide, b: Wide) -> Wide:
    """A⁻¹b by np.linalg.solve, refined once with the residual in extended precision."""
    double = A.astype(np.float64)
    x = np.linalg.solve(double, b.astype(np.float64)).astype(np.longdouble)
    return x + np.linalg.solve(double, (b - A @ x).astype(np.float64))


def predict(learner: Learner, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros((len(X_new), *y.shape[1:]))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, np.zeros(len(X_new))]))[len(X) :]


AWV = onkel.KernelAWV(kernel=onkel.Gaussian(width=1.5), lam=0.1)
AWV_SUM = onkel.KernelAWV(kernel=onkel.Polynomial(degree=2) + onkel.Gaussian(width=1.0), lam=0.5)
RIDGE = onkel.KernelRidge(kernel=onkel.Gaussian(width=2.0), lam=0.01)
RIDGE_ROUGH = onkel.KernelRidge(kernel=onkel.Laplacian(width=2.0) * onkel.Gaussian(), lam=1.0)
CLIPPED = onkel.KernelRidge(kernel=onkel.Gaussian(width=1.5), lam=0.1, clip=0.7)
SMALL = (AWV, AWV_SUM, RIDGE, RIDGE_ROUGH, CLIPPED)


def stream(config: Any) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0; every tenth row repeats an earlier one, exactly or 1e-7 beside it."""
    rng = np.random.default_rng(20190702)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    X[30::20] = X[23:393:20]
    X[40::20] = X[20:380:20] + 1e-7 * np.array([0.6, 0.0, -0.8])
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    weight = rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)
    return X, y, weight


def reached(config: Learner, state: Any) -> bool:
    """Whether every row is stored, copies too, and the clip, if any, was needed on either side."""
    X, y, weight = stream(config)
    stored = state.rows == np.count_nonzero(weight)
    if isinstance(config, onkel.KernelAWV) or config.clip is None:
        return bool(stored)
    free = scores(replace(config, clip=None), X, y, weight)
    return bool(stored and free.min() < -config.clip and free.max() > config.clip)
