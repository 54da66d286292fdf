"""KernelAdatron from its definition: coordinate ascent on the dual of the support vector machine without bias, one example a round.

    f = Σ_j a_j y_j k(x_j, ·),    a ← clip(a + (η / k(x, x)) (1 − y f(x)), 0, C),    η = step, C = aggressiveness

a is the coefficient of the example (x, y) itself: 0, unless an equal row with an equal label was learnt before. Nothing is learnt
where k(x, x) = 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import passive_aggressive, remembered, supported
from tests.oracle.projection import MIXED, WIDE
from tests.oracle.supported import Round, Rule, Run, Term, exchanged

Array = NDArray[np.float64]


def rule(learner: onkel.KernelAdatron, X: Array, y: Array) -> Rule:
    def same(term: Term, row: int) -> bool:
        return bool(np.all(X[term.row] == X[row]) and y[term.row] == y[row])

    def learnt(now: Round) -> tuple[list[Term], str]:
        if now.own == 0:
            return now.terms, "impossible"
        met = next((j for j, term in enumerate(now.terms) if same(term, now.row)), None)
        before = 0.0 if met is None else now.y * now.terms[met].a
        free = before + learner.step / now.own * (1 - now.y * now.f)
        a = min(max(free, 0.0), learner.aggressiveness)
        where = "between" if a == free else "at 0" if a == 0 else "at C"
        if met is None:
            return [*now.terms, now.term(now.y * a)], where
        return exchanged(now.terms, met, now.term(now.y * a)), f"again {where}"

    return learnt


@remembered
def run(learner: onkel.KernelAdatron, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner, X, y), X, y, weight)


def scores(learner: onkel.KernelAdatron, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


ALL = {"between", "at 0", "at C", "again between", "again at 0", "again at C"}
STAGES = {
    onkel.KernelAdatron(kernel=onkel.Additive(onkel.Spline(domain=WIDE)), aggressiveness=0.1): ALL,
    onkel.KernelAdatron(kernel=onkel.Additive(onkel.Spline(order=2)), step=1.5, aggressiveness=0.3): ALL,
    onkel.KernelAdatron(kernel=onkel.Additive(onkel.Exponential(rate=2.0)), aggressiveness=0.1): ALL,
    onkel.KernelAdatron(kernel=onkel.Additive(onkel.Brownian(domain=(-0.5, 2.0))), aggressiveness=0.5): ALL | {"impossible"},
    onkel.KernelAdatron(kernel=MIXED + onkel.Delta(0.1), aggressiveness=0.1): ALL - {"again at 0"},
    onkel.KernelAdatron(kernel=onkel.Linear(), aggressiveness=0.1): ALL - {"again at 0"} | {"impossible"},
    onkel.KernelAdatron(kernel=onkel.Gaussian(width=1.5)): ALL,
}
SMALL = tuple(STAGES)
learnable = supported.learnable


def stream(config: onkel.KernelAdatron) -> tuple[Array, Array, Array]:
    """The stream of passive_aggressive.py: copies of earlier rows, rows of weight 0, signs as labels; and some rows are 0."""
    return passive_aggressive.stream(config)


def reached(config: onkel.KernelAdatron, state: Any) -> bool:
    """Whether every round was counted, and the stream visited each stage, for examples met before and not."""
    return supported.counted(state, run(config, *stream(config)), STAGES[config])
