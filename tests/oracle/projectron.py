"""Projectron and ProjectronPP from their definitions: a perceptron that would rather move in the span of its points than store one.

    d = K_SS⁻¹ k,    Δ² = max(k(x, x) − k·d, 0)        P k(x, ·) = Σ d_i k(x_i, ·), and Δ its distance from k(x, ·)

On a mistake a ← a + y d where Δ ≤ threshold, where the budget is full, or where the point is in the span as far as float64 can
tell, Δ² ≤ 1e-12 k(x, x) (1 + d·d); else x is stored with coefficient y. ProjectronPP learns from 0 < y f < 1 too:

    ℓ = 1 − y f,    τ = min(ℓ / k·d, 1),    a ← a + τ y d where τ (2ℓ − τ k·d − 2UΔ) ≥ 0,    U = ¼ √((B + 1) / ln(B + 1))

with B the budget, unless k·d = 0; with a threshold η > 0 instead: τ = min(ℓ / k·d, 1, 2 (ℓ − Δ/η) / k·d), if that is positive.
The solve is that of pkawv.py, in extended precision: crowded points are nearly dependent.
"""

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import newton_features, remembered, supported
from tests.oracle.pkawv import solve
from tests.oracle.supported import Round, Rule, Run, Term, moved

Array = NDArray[np.float64]
Learner = onkel.Projectron | onkel.ProjectronPP


def projected(now: Round) -> tuple[Array, float, float]:
    """d, Δ² and k·d."""
    if not now.terms:
        return np.zeros(0), now.own, 0.0
    k = now.k.astype(np.longdouble)
    d = solve(now.gram.astype(np.longdouble), k[:, None])[:, 0]
    return d.astype(np.float64), max(float(now.own - k @ d), 0.0), float(k @ d)


def rule(learner: Learner) -> Rule:
    B, eta = learner.budget, learner.threshold
    U = sqrt((B + 1) / log(B + 1)) / 4 if B is not None else 0.0

    def learnt(now: Round) -> tuple[list[Term], str]:
        margin = now.y * now.f
        if not now.mistaken and not (isinstance(learner, onkel.ProjectronPP) and 0 < margin < 1):
            return now.terms, "nothing"
        d, squared, inside = projected(now)
        delta, tau, loss = sqrt(squared), 1.0, 1 - margin
        if not now.mistaken:
            tau, why = min(loss / inside, 1.0) if inside > 0 else 0.0, "margin"
            if eta > 0 and inside > 0:
                tau = min(tau, 2 * (loss - delta / eta) / inside)
            if inside == 0 or tau <= 0 or (eta == 0 and tau * (2 * loss - tau * inside - 2 * U * delta) < 0):
                return now.terms, "no gain"
        elif squared <= 1e-12 * now.own * (1 + float(d @ d)):
            why = "spanned"
        elif delta <= learner.threshold:
            why = "near"
        elif len(now.terms) == B:
            why = "full"
        else:
            return [*now.terms, now.term(now.y)], "added"
        return moved(now.terms, now.a + tau * now.y * d), why

    return learnt


@remembered
def run(learner: Learner, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: Learner, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


_PERCEPTRON = {"nothing", "added"}
STAGES = {
    onkel.Projectron(kernel=onkel.Gaussian(width=1.0), budget=50): _PERCEPTRON | {"spanned", "full"},
    onkel.Projectron(kernel=onkel.Gaussian(width=2.0), threshold=0.3): _PERCEPTRON | {"near"},
    onkel.Projectron(kernel=onkel.Polynomial(degree=2), budget=30): _PERCEPTRON | {"spanned"},
    onkel.ProjectronPP(kernel=onkel.Gaussian(width=1.0), budget=50): _PERCEPTRON | {"spanned", "full", "margin", "no gain"},
    onkel.ProjectronPP(kernel=onkel.Laplacian(width=6.0), threshold=0.4): _PERCEPTRON | {"near", "margin", "no gain"},
    onkel.Projectron(kernel=onkel.Gaussian(width=2.0), budget=None, threshold=0.2): _PERCEPTRON | {"near"},
    onkel.ProjectronPP(kernel=onkel.Gaussian(width=2.0), budget=None, threshold=0.3): _PERCEPTRON | {"near", "margin", "no gain"},
}
SMALL = tuple(STAGES)


def stream(config: Learner) -> tuple[Array, Array, Array]:
    """The stream of newton_features.py: copies of earlier rows, rows of weight 0, signs as labels."""
    return newton_features.stream(config)


def reached(config: Learner, state: Any) -> bool:
    """Whether the stream visited each stage, and the points are those that it should be."""
    return supported.visited(state, run(config, *stream(config)), STAGES[config])
