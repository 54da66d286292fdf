"""RBP from its definition: a perceptron of at most `budget` points, in which a new point takes the place of a random old one.

On a mistake f ← f + y k(x, ·). Once the budget is full, the term in slot ⌊budget · u⌋, u = uniform(seed, t, 0), is deleted first,
and its slot is the new term's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle import newton_features, remembered, supported
from tests.oracle.supported import Round, Rule, Run, Term, exchanged

Array = NDArray[np.float64]


def rule(learner: onkel.RBP) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        if not now.mistaken:
            return now.terms, "nothing"
        if len(now.terms) < learner.budget:
            return [*now.terms, now.term(now.y)], "added"
        slot = int(random.uniform(learner.seed, now.t, 0) * learner.budget)
        return exchanged(now.terms, slot, now.term(now.y)), "exchanged"

    return learnt


@remembered
def run(learner: onkel.RBP, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: onkel.RBP, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


STAGES = {
    onkel.RBP(kernel=onkel.Gaussian(width=2.0), budget=20): {"nothing", "added", "exchanged"},
    onkel.RBP(kernel=onkel.Laplacian(width=2.0), budget=40, seed=5): {"nothing", "added", "exchanged"},
}
SMALL = tuple(STAGES)


def stream(config: onkel.RBP) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels."""
    return newton_features.stream(config)


def reached(config: onkel.RBP, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
