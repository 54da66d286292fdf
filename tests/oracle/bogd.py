"""BOGD from its definition: NORMA with the hinge loss, and, to keep at most `budget` terms, a random one removed without bias.

In every round f ← (1 − ηλ) f, after the slope was taken (η = step, λ = lam). Where y f < 1, a term η y k(x, ·) is added. Once
there are `budget` terms B, with u = uniform(seed, t, 0):

    removed     slot i, the first with u < p_0 + … + p_i
    the others  a_j ← a_j / (1 − p_j): 1 − p_j is the probability with which they are not removed
    the new     takes slot i
    all         a ← a · min(1, η cap / max_j |a_j|)

    p_i = 1/B, or if weighted (1 − s_i)/(B − 1) with s_i = |a_i|√k_ii / Σ_j |a_j|√k_jj
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle import newton_features, remembered, supported
from tests.oracle.norma import folded
from tests.oracle.supported import Round, Rule, Run, Term, exchanged, moved, slope

Array = NDArray[np.float64]


def chances(learner: onkel.BOGD, now: Round) -> Array:
    """p: the probability with which each term is removed."""
    share = np.abs(now.a) * np.sqrt(now.gram.diagonal())
    if not learner.weighted or share.sum() == 0:
        return np.full(learner.budget, 1 / learner.budget)
    p: Array = (1 - share / share.sum()) / (learner.budget - 1)
    return p


def rule(learner: onkel.BOGD) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        a, new = (1 - learner.step * learner.lam) * now.a, now.term(learner.step * now.y)
        if slope(onkel.Hinge(), now.f, now.y) == 0:
            return moved(now.terms, a), "decayed"
        if len(now.terms) < learner.budget:
            return [*moved(now.terms, a), new], "added"
        p = chances(learner, now)
        u = random.uniform(learner.seed, now.t, 0)
        i = next((i for i in range(len(p)) if u < p[: i + 1].sum()), len(p) - 1)
        terms = exchanged(moved(now.terms, a / (1 - np.where(np.arange(len(p)) == i, 0.0, p))), i, new)
        a, cap = np.array([term.a for term in terms]), learner.step * learner.cap
        largest = np.abs(a).max()
        return (moved(terms, a * cap / largest), "capped") if largest > cap else (terms, "exchanged")

    return learnt


@remembered
def run(learner: onkel.BOGD, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: onkel.BOGD, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


_ALWAYS = {"decayed", "added", "exchanged"}
FADING = onkel.BOGD(kernel=onkel.Gaussian(width=2.0), budget=40, step=0.5, lam=0.2, seed=1)
GROWING = onkel.BOGD(kernel=onkel.Gaussian(width=0.8), budget=9, cap=1000.0, seed=1)
STAGES = {
    FADING: _ALWAYS,
    GROWING: _ALWAYS,
    onkel.BOGD(kernel=onkel.Gaussian(width=1.5), budget=25, cap=3.0, seed=2): _ALWAYS | {"capped"},
    onkel.BOGD(kernel=onkel.Polynomial(degree=2), budget=25, step=0.1, weighted=True): _ALWAYS | {"capped"},
}
SMALL = tuple(STAGES)


def stream(config: onkel.BOGD) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels."""
    return newton_features.stream(config)


def reached(config: onkel.BOGD, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    ran = run(config, *stream(config))
    shrunk = (1 - config.step * config.lam) ** len(ran.did)
    grown = (1 - 1 / config.budget) ** -ran.did.count("exchanged")
    scaled = config not in (FADING, GROWING) or folded(state, shrunk * grown)
    return supported.visited(state, ran, STAGES[config]) and scaled
