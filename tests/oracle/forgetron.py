"""The self-tuned Forgetron from its definition: a perceptron that fades its oldest point before it removes it.

On a mistake, the M-th, f ← f + y k(x, ·). If that makes one point more than the budget: r the oldest, δ = |a_r|, μ = y_r f(x_r),

    φ = the largest in (0, 1] with Ψ(φ) = (δφ)² + 2δφ(1 − φμ) ≤ (15/32) M − Q,    Q ← Q + Ψ(φ)

All coefficients are multiplied by φ, then r is removed. Q = 0 at first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import newton_features, remembered, supported
from tests.oracle.supported import Round, Run, Term, moved

Array = NDArray[np.float64]


def fading(delta: float, mu: float, room: float) -> float:
    """φ. Ψ(0) = 0 < room; so where Ψ(1) > room, exactly one root of Ψ = room lies in (0, 1)."""
    square, linear = delta**2 - 2 * delta * mu, 2 * delta
    if square + linear <= room:
        return 1.0
    return next(float(root.real) for root in np.roots([square, linear, -room]) if 0 < root.real < 1)


@dataclass
class Memory:
    budget: int
    mistakes: int = 0  # M
    spent: float = 0.0  # Q

    def rule(self, now: Round) -> tuple[list[Term], str]:
        if not now.mistaken:
            return now.terms, "nothing"
        self.mistakes += 1
        terms = [*now.terms, now.term(now.y)]
        if len(terms) <= self.budget:
            return terms, "added"
        oldest = terms[0]
        f = sum(term.a * float(now.K[term.row, oldest.row]) for term in terms)
        delta, mu = abs(oldest.a), f * float(np.sign(oldest.a))
        phi = fading(delta, mu, 15 / 32 * self.mistakes - self.spent)
        self.spent += (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu)
        return moved(terms, phi * np.array([term.a for term in terms]))[1:], "removed" if phi == 1 else "faded"


@remembered
def run(learner: onkel.Forgetron, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, Memory(learner.budget).rule, X, y, weight)


def scores(learner: onkel.Forgetron, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


STAGES = {
    onkel.Forgetron(kernel=onkel.Gaussian(width=1.5), budget=15): {"nothing", "added", "removed", "faded"},
    onkel.Forgetron(kernel=onkel.Laplacian(width=2.0), budget=40): {"nothing", "added", "removed", "faded"},
}
SMALL = tuple(STAGES)


def stream(config: onkel.Forgetron) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels."""
    return newton_features.stream(config)


def reached(config: onkel.Forgetron, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
