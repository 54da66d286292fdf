"""PassiveAggressive from its definition: f ← f + τ y k(x, ·), to the nearest f without loss on the row or part of the way.

    ℓ = max(0, 1 − y f(x)),    τ = min(C, ℓ / k(x, x)),    C = aggressiveness

Nothing is stored where ℓ = 0 or k(x, x) = 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import newton_features, remembered, supported
from tests.oracle.supported import Round, Rule, Run, Term

Array = NDArray[np.float64]


def pace(learner: onkel.PassiveAggressive | onkel.BPAS, now: Round) -> tuple[float, str]:
    """τ, and why."""
    loss = max(0.0, 1 - now.y * now.f)
    if loss == 0:
        return 0.0, "passive"
    if now.own == 0:
        return 0.0, "impossible"
    tau = min(learner.aggressiveness, loss / now.own)
    return tau, "part" if tau < loss / now.own else "whole"


def rule(learner: onkel.PassiveAggressive) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        tau, why = pace(learner, now)
        return [*now.terms, now.term(now.y * tau)] if tau else now.terms, why

    return learnt


@remembered
def run(learner: onkel.PassiveAggressive, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: onkel.PassiveAggressive, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


VANISHING = onkel.Linear() + onkel.Polynomial(degree=2, offset=0.0)  # k(0, 0) = 0
STAGES = {
    onkel.PassiveAggressive(kernel=onkel.Gaussian(width=1.0), aggressiveness=0.5): {"passive", "part", "whole"},
    onkel.PassiveAggressive(kernel=VANISHING, aggressiveness=0.05): {"passive", "part", "whole", "impossible"},
}
SMALL = tuple(STAGES)


def stream(config: Any) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels; and some rows are 0."""
    X, y, weight = newton_features.stream(config)
    X[45::50] = 0.0
    return X, y, weight


def reached(config: onkel.PassiveAggressive, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
