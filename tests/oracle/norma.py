"""NORMA from its definition: stochastic gradient descent on ℓ(f(x), y) + (λ/2)‖f‖² in the RKHS, every coefficient decayed by hand.

    g = ℓ'(f(x), y),    f ← (1 − ηλ) f − η g k(x, ·),    η = step, λ = lam

A term of slope 0 is not stored. With a budget, a new term drives the oldest out once there are that many.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.losses import Loss
from tests.oracle import newton_features, remembered, supported
from tests.oracle.supported import Round, Rule, Run, Term, moved, slope

Array = NDArray[np.float64]


def rule(loss: Loss, step: float, lam: float = 0.0, budget: int | None = None) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        g = slope(loss, now.f, now.y)
        terms = moved(now.terms, (1 - step * lam) * now.a)
        if g == 0:
            return terms, "decayed"
        full = len(terms) == budget
        return [*terms[full:], now.term(-step * g)], "dropped" if full else "added"

    return learnt


@remembered
def run(learner: onkel.NORMA, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner.loss, learner.step, learner.lam, learner.budget), X, y, weight)


def scores(learner: onkel.NORMA, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


FADING = onkel.NORMA(kernel=onkel.Gaussian(width=2.0), step=0.5, lam=0.16)
FORGETFUL = onkel.NORMA(kernel=onkel.Additive(onkel.Exponential()), loss=onkel.Square(), step=1 / 6, lam=5.99999)
STAGES = {
    FADING: {"added", "decayed"},
    FORGETFUL: {"added"},
    onkel.NORMA(kernel=onkel.Gaussian(width=1.5), loss=onkel.Square(), lam=0.05, budget=60): {"added", "dropped"},
    onkel.NORMA(kernel=onkel.Laplacian(width=3.0), loss=onkel.Logistic(), step=1.0, lam=0.005): {"added"},
    onkel.NORMA(kernel=onkel.Gaussian(width=1.5), loss=onkel.EpsilonInsensitive(0.2), step=0.3, lam=0.1, budget=50): {
        "added",
        "decayed",
        "dropped",
    },
}
SMALL = tuple(STAGES)


def stream(config: onkel.NORMA) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, labels after the loss."""
    return newton_features.stream(config)


def folded(state: Any, scale: float) -> bool:
    """Whether a common scale that would have come out as this was folded into the coefficients on its way out of [1e-8, 1e8]."""
    return bool(not 1e-9 < scale < 1e9 and 1e-9 < state.support.scale[0] < 1e9)


def reached(config: onkel.NORMA, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    ran = run(config, *stream(config))
    if config == FORGETFUL:  # of the points that have shrunk to 0 the first have left
        X, _, weight = stream(config)
        return supported.counted(state, ran, STAGES[config]) and np.sum(state.support.length) < sum(map(different, X[weight > 0].T))
    scaled = config != FADING or folded(state, (1 - config.step * config.lam) ** len(ran.did))
    return supported.visited(state, ran, STAGES[config]) and scaled


def different(column: Array) -> int:
    return len(np.unique(column))


def learnable(learner: onkel.NORMA) -> tuple[Array, Array]:
    """A function of the kernel's space; where only the last row is remembered, one that has hardly changed since."""
    if learner != FORGETFUL:
        return supported.learnable(learner)
    t = np.arange(1000.0)
    return np.column_stack([t / 1000, np.sin(t / 100), np.cos(t / 100)]), np.sin(t / 50)
