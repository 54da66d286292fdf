"""What gradient descent shares, in the whole space of a kernel and in explicit coordinates.

    g = ℓ'(f(x), y),   f ← (1 − ηλ) f − η g k(x, ·)        or        w ← (1 − ηλ) w − η g z        η = `step`, λ = `lam`

A loss whose slope has no bound (the squares) can diverge where η g k(x, x) is too long a step; that is refused, with the state
as it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import instance, real
from onkel.dictionary.representations import evaluate, has_room, holds, keep, shrink, workspace
from onkel.errors import InputError
from onkel.learners.supported import Block, Supported
from onkel.losses import SQUARE, SQUARED_EPSILON_INSENSITIVE, SQUARED_HINGE, Loss, slope

LARGEST_SCORE = 1e120  # labels and inputs go to 1e50; beyond it a descent is on its way to infinity
UNLIMITED = 2**62


class Rule(NamedTuple):
    """The settings, as compiled code sees them."""

    loss: int
    parameter: float
    step: float
    fade: float  # 1 − ηλ


def check_step(config: Any) -> None:
    """The fields `step` and `lam`."""
    real(config, "step", least=1e-30, most=1e30)
    real(config, "lam", least=0.0, most=1e30)
    if config.step * config.lam >= 1.0:
        product = f"{config.step * config.lam:g}"
        raise InputError(f"{type(config).__name__}: step times lam must be below 1, got {product}; lower one of them")


def check_loss(config: Any) -> None:
    instance(config, "loss", Loss, "Hinge()")


def rule(loss: Loss, step: float, lam: float = 0.0) -> Rule:
    return Rule(loss.code, loss.parameter, step, 1.0 - step * lam)


def may_diverge(loss: Loss) -> bool:
    return loss.code in (SQUARE, SQUARED_HINGE, SQUARED_EPSILON_INSENSITIVE)


def check_scores(learner: Any, scores: Vector) -> None:
    """Refuse a descent that runs away."""
    wrong = np.flatnonzero(~(np.abs(scores) <= LARGEST_SCORE))
    if wrong.size:
        raise InputError(
            f"{type(learner).__name__}: the score of row {wrong[0]} is {scores[wrong[0]]:g}: steps of {learner.step:g} are "
            "too long for such rows, and what follows would overflow; lower step, scale X, or take a kernel with k(x, x) = 1"
        )


class Descending(Supported):
    """A learner of a support set that descends on a loss, at least at first."""

    loss: Loss
    step: float

    def _may_fail(self, state: Any, own: Vector) -> bool:
        return super()._may_fail(state, own) or not self._is_tame(state, own)

    def _is_tame(self, state: Any, own: Vector) -> bool:
        """Whether the steps on these rows cannot run away. Then no copy is needed, which would cost more than the rows where f is
        large. Of a square loss they are so short that ‖f‖² grows by 2ηy² at most: 2ηk(x, x) ≤ 1 − ηλ."""
        if not may_diverge(self.loss):
            return True
        fade = 1.0 - self.step * getattr(self, "lam", 0.0)
        return self._room is None and bool(2.0 * self.step * np.max(own, initial=0.0) <= fade)

    def _rounds(self, state: Any, X: Matrix, own: Vector, y: Vector, weight: Vector, scores: Vector) -> None:
        tame = not weight.any() or self._is_tame(state, own)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            super()._rounds(state, X, own, y, weight, scores)
        if not tame:
            check_scores(self, scores)


@hot
def descend(block: Block, f: Any, rule: Rule, most: int, stops: bool, scores: Vector) -> int:
    """Score, then learn, each row: how many. With `most` points the oldest gives way to a new one, or, if it `stops`, it does."""
    work, learnt = workspace(block.kernel, f, block.X), block.learnt
    for i in range(block.X.shape[0]):
        if block.weight[i] > 0.0 and not (has_room(f) or holds(f, most)):
            return i
        scores[i] = evaluate(block.kernel, f, block.X[i], work)
        if block.weight[i] > 0.0:
            g = slope(rule.loss, rule.parameter, scores[i], block.y[i])
            shrink(f, rule.fade)
            if g != 0.0:
                keep(block.kernel, f, block.X[i], block.own[i], -rule.step * g, learnt[0], most)
            learnt[0] += 1
            if stops and holds(f, most):
                return i + 1
    return int(block.X.shape[0])


@hot_inline
def descent_round(w: Vector, z: Vector, y: float, learn: bool, rule: Rule) -> float:
    """Score the row of coordinates z, then learn it where it lost something."""
    score = 0.0
    for j in range(w.size):
        score += w[j] * z[j]
    if learn:
        g = slope(rule.loss, rule.parameter, score, y)
        if g != 0.0:
            for j in range(w.size):
                w[j] = rule.fade * w[j] - rule.step * g * z[j]
    return score
