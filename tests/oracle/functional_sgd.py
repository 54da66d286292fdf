"""Functional stochastic gradient descent with Polyak averaging from its definition: two explicit lists of coefficients.

    f̃_n = f̃_(n−1) + γ_n (y_n − f̃_(n−1)(x_n)) k(x_n, ·),    γ_n = step · n^(−decay),     f̃_0 = 0
    f̄_n = (f̃_0 + … + f̃_n)/(n + 1) = (n f̄_(n−1) + f̃_n)/(n + 1)                           every coefficient rewritten

n = 1, 2, … counts the rows learnt; the score of a row is f̄(x) (or f̃(x) without averaging) before it is learnt. A row of weight 0
leaves no trace. An open domain of the kernel is the range of the first hundred rows learnt, which score 0 and are then learnt in
order.

Dieuleveut & Bach (2016), Nonparametric stochastic approximation with large step-sizes; Zhang & Simon (2021), eqs. 87 and 88.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.functions.support import Support
from tests.oracle import remembered, supported
from tests.oracle.additive import gram, is_open, resolved
from tests.oracle.projection import MIXED
from tests.oracle.supported import OPENING

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    scores: Array
    last: Array  # the coefficients of f̃ in the end, of the rows learnt
    mean: Array  # those of f̄


def descend(K: Array, y: Array, learnt: NDArray[np.bool_], step: float, decay: float, averaging: bool) -> Run:
    """On the kernel matrix of all rows."""
    rows, last, mean, out = list[int](), np.zeros(0), np.zeros(0), np.zeros(len(y))
    for i in range(len(y)):
        out[i] = K[i, rows] @ (mean if averaging else last)
        if learnt[i]:
            n = len(rows) + 1
            residual = y[i] - K[i, rows] @ last
            rows.append(i)
            last = np.append(last, step * n**-decay * residual)
            mean = (n * np.append(mean, 0.0) + last) / (n + 1)
    return Run(out, last, mean)


@remembered
def run(learner: onkel.FunctionalSGD, X: Array, y: Array, weight: Array | None = None) -> Run:
    w, kernel, silent = np.ones(len(X)) if weight is None else weight, learner.kernel, 0
    if is_open(kernel):
        first = np.flatnonzero(w)[:OPENING]
        if len(first) < OPENING:
            return Run(np.zeros(len(X)), np.zeros(0), np.zeros(0))
        kernel, silent = resolved(kernel, X[first]), first[-1] + 1
    ran = descend(gram(kernel, X, X), y, w != 0, learner.step, learner.decay, learner.averaging)
    return Run(np.where(np.arange(len(X)) < silent, 0.0, ran.scores), ran.last, ran.mean)


def scores(learner: onkel.FunctionalSGD, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


SMALL = (
    onkel.FunctionalSGD(onkel.Gaussian(width=1.5), step=2.0),
    onkel.FunctionalSGD(onkel.Additive(onkel.Brownian()), step=0.3, decay=0.3),
    onkel.FunctionalSGD(onkel.Additive(onkel.Spline(domain=(-3.0, 3.0))), step=0.2, decay=0.0),
    onkel.FunctionalSGD(onkel.Laplacian(width=3.0), averaging=False),
    onkel.FunctionalSGD(onkel.Additive(onkel.Exponential(rate=2.0)), step=0.5, averaging=False),
    onkel.FunctionalSGD(MIXED + onkel.Delta(0.1), step=0.2, decay=0.2),
    onkel.FunctionalSGD(onkel.Linear(), step=0.1),
)
learnable = supported.learnable


def stream(config: Any) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, every tenth a copy of an earlier one, a tenth of them of weight 0."""
    rng = np.random.default_rng(20160401)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    X[30::10] = X[23:393:10]
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    return X, y, rng.choice([0.0, 1.0], p=[0.1, 0.9], size=400)


def reached(config: Any, state: Any) -> bool:
    """Whether every round was counted, and f has been given more room again and again: there is one stage."""
    f, rounds = supported.inner(state).support, np.count_nonzero(stream(config)[2])
    f = getattr(f, "curves", f)
    grown = f.size[0] > 256 if isinstance(f, Support) else f.used[0] > 3 * 5 if isinstance(f, SortedBlocks) else True
    return bool(state.rows == rounds and grown)
