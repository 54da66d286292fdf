"""Regrets to each expert of a loss that is made linear at the mixture: what ML-Poly and BOA are made of.

    r_k = ℓ'(ŷ, y)(ŷ − p_k) ≥ ℓ(ŷ, y) − ℓ(p_k, y)     for a convex loss

What the second falls short of the first is kept too (`curved`): a bound on the regret of the linear loss is one on that of the loss
itself (`onkel.measure.bounds`).

A round whose largest |r_k| is beyond b, the largest before it, counts as if all r_k were smaller by one factor, so that it is b;
then b grows. Over all rounds that leaves out b at most (Cutkosky 2019, Artificial constraints and hints for unbounded online
learning, COLT).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._jit import hot_inline
from onkel._types import Matrix, Vector
from onkel.combine.rules.rule import SAME, Awake, first_span
from onkel.errors import InputError
from onkel.losses import Loss, slope, value
from onkel.mixing import check_span, counted, cut_mean, extend


@dataclass
class Regrets:
    """What each expert's regret is, in this rule and in BOA."""

    regret: Matrix  # (outputs, experts)
    squares: Matrix  # (outputs, experts)  V: the sum of the squares of each round's
    paid: Matrix  # (outputs, experts)  the same sum, each square times the expert's rate in its round
    curved: Matrix  # (outputs, experts)  the regret of the loss, minus that of the loss made linear
    largest: Vector  # (outputs,)  b: the largest of a round
    span: Matrix  # (outputs, 3)  of the labels


def no_regrets(loss: Loss, experts: int, outputs: int) -> Regrets:
    regret, squares, paid, curved = (np.zeros((outputs, experts)) for _ in range(4))
    return Regrets(regret, squares, paid, curved, np.zeros(outputs), first_span(loss, outputs))


def check_regrets(own: Regrets) -> None:
    if min(own.squares.min(), own.paid.min(), own.largest.min()) < 0.0:
        raise InputError("its squares are negative")
    check_span(own.span)


@hot_inline
def linear_round(
    w: Vector, P: Vector, y: float, weight: float, awake: Awake, code: int, span: Vector, scores: Vector, r: Vector, curved: Vector
) -> float:
    """The mean of the scores, which are cut to the span. Where the row is learnt, r gets the regret of the loss made linear there,
    0 for those asleep, `curved` what the loss's own differs from it, and the span gets its label."""
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
def tame(r: Vector, b: float) -> float:
    """Where the largest |r| is beyond b, all are made smaller by one factor, so that it is b. Returns the largest of b and |r|."""
    most = b
    for k in range(r.size):
        most = max(most, abs(r[k]))
    if most > b:
        for k in range(r.size):
            r[k] *= b / most
    return most
