"""Regrets to each expert for the loss linearised at the mixture: the basis of ML-Poly and BOA.

    r_k = ℓ'(ŷ, y)(ŷ − p_k) ≥ ℓ(ŷ, y) − ℓ(p_k, y)     for a convex loss

Here ŷ is the mixture, p_k the score of expert k, y the label, and ℓ' the slope of the loss at ŷ. Σ r_k over the rounds is the
*linearised regret* to expert k. A bound on it is also a bound on the regret. The difference of the two is summed as well
(`curved`), so that the bounds of `onkel.measure.bounds` can use its actual value.

Let b be the largest |r_k| of all earlier rounds. If the largest |r_k| of a round exceeds b, all r_k of the round are multiplied by
one factor, so that the largest becomes b, and then b is raised. What this takes from an expert's regret is at most the last b in
total (Cutkosky 2019, Artificial constraints and hints for unbounded online learning, COLT).
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine.rules.rule import SAME, Awake, Rule, check_loss, first_span
from onkel.errors import InputError
from onkel.losses import Loss, Square, slope, value
from onkel.mixing import check_span, counted, cut_mean, extend
from onkel.state import memory


@memory
class Regrets:
    """The state of ML-Poly and of BOA."""

    regret: Matrix  # (outputs, experts)
    squares: Matrix  # (outputs, experts)  V: the sum of r̃² over the rounds
    paid: Matrix  # (outputs, experts)  the sum of r̃² times the expert's learning rate in its round
    curved: Matrix  # (outputs, experts)  the regret for the loss minus the regret for the linearised loss
    largest: Vector  # (outputs,)  b: the largest |r_k| so far
    span: Matrix  # (outputs, 3)  the span of the labels (`onkel.mixing`)


@config
class RegretRule(Rule):
    """The base of ML-Poly and BOA: a rule without parameters, whose state consists of regrets.

    loss  Square(), or Logistic() for labels ±1 and scores that are log-odds. Default: Square().
    """

    loss: Loss = Square()

    def __post_init__(self) -> None:
        check_loss(self)

    def start(self, experts: int, outputs: int) -> Regrets:
        regret, squares, paid, curved = (np.zeros((outputs, experts)) for _ in range(4))
        return Regrets(regret, squares, paid, curved, np.zeros(outputs), first_span(self.loss, outputs))

    def check_own(self, own: Regrets) -> None:
        if min(own.squares.min(), own.paid.min(), own.largest.min()) < 0.0:
            raise InputError("its squares are negative")
        check_span(own.span)


@hot_inline
def linear_round(
    w: Vector, P: Vector, y: float, weight: float, awake: Awake, code: int, span: Vector, scores: Vector, r: Vector, curved: Vector
) -> float:
    """The weighted mean of the scores, after they are clipped to the span. If the row is learnt, the linearised regrets of the
    round are written to r (0 for sleeping experts), the regrets minus the linearised ones are added to `curved`, and the span is
    extended by the label."""
    mean = cut_mean(w, P, awake, span, scores)
    if weight > 0.0:
        g, lost = weight * slope(code, 0.0, mean, counted(span, y)), value(code, 0.0, mean, y)
        for k in range(w.size):
            away = mean - scores[k]
            r[k] = g * away if awake[k] and abs(away) > SAME * (abs(mean) + abs(scores[k])) else 0.0
            if awake[k]:
                curved[k] += weight * (lost - value(code, 0.0, scores[k], y)) - r[k]
        extend(span, y)
    return mean


@hot_inline
def limit_regrets(r: Vector, b: float) -> float:
    """If the largest |r| exceeds b, multiply all r by one factor so that it is b. Returns the larger of b and the largest |r|."""
    most = b
    for k in range(r.size):
        most = max(most, abs(r[k]))
    if most > b:
        for k in range(r.size):
            r[k] *= b / most
    return most
