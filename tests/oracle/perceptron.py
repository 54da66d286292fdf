"""Perceptron from its definition: on a mistake, y ≠ sign f(x), f ← f + y k(x, ·)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import newton_features, remembered, supported
from tests.oracle.supported import Round, Run, Term

Array = NDArray[np.float64]


def rule(now: Round) -> tuple[list[Term], str]:
    return ([*now.terms, now.term(now.y)], "added") if now.mistaken else (now.terms, "nothing")


@remembered
def run(learner: onkel.Perceptron, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule, X, y, weight)


def scores(learner: onkel.Perceptron, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


STAGES = {
    onkel.Perceptron(kernel=onkel.Gaussian(width=1.0)): {"nothing", "added"},
    onkel.Perceptron(kernel=onkel.Polynomial(degree=2)): {"nothing", "added"},
}
SMALL = tuple(STAGES)


def stream(config: onkel.Perceptron) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels."""
    return newton_features.stream(config)


def reached(config: onkel.Perceptron, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
