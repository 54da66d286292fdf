"""BPAS from its definition: the step of passive_aggressive.py, with a new point in place of the old one that it makes up for best.

Where there are `budget` terms, one, r, goes, but for its projection on k(x, ·); its slot is the new term's:

    r = the first argmin of a_r² (k_rr − k_r² / k(x, x)),    with coefficient a_r k_r / k(x, x) + τ y
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import passive_aggressive, remembered, supported
from tests.oracle.passive_aggressive import VANISHING, pace
from tests.oracle.supported import Round, Rule, Run, Term, exchanged

Array = NDArray[np.float64]


def rule(learner: onkel.BPAS) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        tau, why = pace(learner, now)
        if tau == 0:
            return now.terms, why
        if len(now.terms) < learner.budget:
            return [*now.terms, now.term(now.y * tau)], "added"
        r = int(np.argmin(now.a**2 * (now.gram.diagonal() - now.k**2 / now.own)))
        return exchanged(now.terms, r, now.term(float(now.a[r] * now.k[r]) / now.own + now.y * tau)), why

    return learnt


@remembered
def run(learner: onkel.BPAS, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: onkel.BPAS, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


STAGES = {
    onkel.BPAS(kernel=onkel.Gaussian(width=1.5), budget=30, aggressiveness=0.5): {"passive", "added", "part", "whole"},
    onkel.BPAS(kernel=VANISHING, budget=12, aggressiveness=0.05): {"passive", "impossible", "added", "part", "whole"},
}
SMALL = tuple(STAGES)


def stream(config: onkel.BPAS) -> tuple[Array, Array, Array]:
    """The stream of passive_aggressive.py."""
    return passive_aggressive.stream(config)


def reached(config: onkel.BPAS, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
