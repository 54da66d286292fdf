"""Gradient descent, in the whole space of a kernel and in explicit coordinates.

    g = ℓ'(f(x), y),   f ← (1 − ηλ) f − η g k(x, ·)        or        w ← (1 − ηλ) w − η g z        η = `step`, λ = `lam`

Here x is the row, z its coordinates, y its label, g the slope of the loss ℓ at the score, which is f(x) or w·z. If this slope is
unbounded (the squared losses), the descent can diverge when η k(x, x) is too large. Rows that make it diverge are refused, and the
state does not change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import instance, real, whole
from onkel.errors import InputError
from onkel.features.sketch import embed
from onkel.functions.representations import evaluate, has_room, holds, keep, prepare, shrink
from onkel.functions.row_block import RowBlock
from onkel.functions.support import values
from onkel.kernels import Kernel
from onkel.losses import SQUARE, SQUARED_EPSILON_INSENSITIVE, SQUARED_HINGE, Loss, slope

LARGEST_SCORE = 1e120  # labels and inputs are at most 1e50, so with a larger score the descent has diverged
UNLIMITED = 2**62


class GradientSettings(NamedTuple):
    """The settings, for compiled code."""

    loss: int
    parameter: float
    step: float
    fade: float  # 1 − ηλ


def check_step(config: Any) -> None:
    """Check the fields `step` and `lam`."""
    real(config, "step", least=1e-30, most=1e30)
    real(config, "lam", least=0.0, most=1e30)
    if config.step * config.lam >= 1.0:
        product = f"{config.step * config.lam:g}"
        raise InputError(f"{type(config).__name__}: step times lam must be below 1, got {product}; lower one of them")


def check_loss(config: Any) -> None:
    instance(config, "loss", Loss, "Hinge()")


def check_descent(config: Any) -> None:
    """Check the fields `kernel`, `loss`, `budget` and `step` of a kernel descent with a budget."""
    instance(config, "kernel", Kernel, "Gaussian(width=1.0)")
    check_loss(config)
    whole(config, "budget", 1)
    real(config, "step", least=1e-30, most=1e30)


def gradient_settings(loss: Loss, step: float, lam: float = 0.0) -> GradientSettings:
    return GradientSettings(loss.code, loss.parameter, step, 1.0 - step * lam)


def may_diverge(loss: Loss) -> bool:
    return loss.code in (SQUARE, SQUARED_HINGE, SQUARED_EPSILON_INSENSITIVE)


def check_scores(learner: Any, scores: Vector) -> None:
    """Refuse rows in which the descent diverges: a score is larger than LARGEST_SCORE."""
    wrong = np.flatnonzero(~(np.abs(scores) <= LARGEST_SCORE))
    if wrong.size:
        raise InputError(
            f"{type(learner).__name__}: the score of row {wrong[0]} is {scores[wrong[0]]:g}: steps of {learner.step:g} are "
            "too long for such rows, and what follows would overflow; lower step, scale X, or take a kernel with k(x, x) = 1"
        )


def may_run_away(learner: Any, own: Vector, lam: float = 0.0) -> bool:
    """Whether the descent may diverge on rows with these k(x, x). With a squared loss the descent cannot diverge if no point is
    evicted and 2ηk(x, x) ≤ 1 − ηλ, since then ‖f‖² grows by at most 2ηy² with each row."""
    if not may_diverge(learner.loss):
        return False
    is_short = 2.0 * learner.step * np.max(own, initial=0.0) <= 1.0 - learner.step * lam
    return learner._room is not None or not is_short


@hot
def descend(block: RowBlock, f: Any, settings: GradientSettings, most: int, stops: bool, scores: Vector) -> int:
    """Score, then learn, each row; returns the number of rows done. As soon as f has `most` points, the function returns if `stops`
    is true; otherwise each new point replaces the oldest."""
    work, learnt = prepare(block.kernel, f, block.X), block.learnt
    for i in range(block.X.shape[0]):
        if block.weight[i] > 0.0 and not (has_room(f) or holds(f, most)):
            return i
        scores[i] = evaluate(block.kernel, f, block.X[i], work)
        if block.weight[i] > 0.0:
            g = slope(settings.loss, settings.parameter, scores[i], block.y[i])
            shrink(f, settings.fade)
            if g != 0.0:
                keep(block.kernel, f, block.X[i], block.own[i], -settings.step * g, learnt[0], most)
            learnt[0] += 1
            if stops and holds(f, most):
                return i + 1
    return int(block.X.shape[0])


@hot_inline
def descent_round(w: Vector, z: Vector, y: float, learn: bool, settings: GradientSettings) -> float:
    """Score the row with coordinates z, then learn it if `learn` is true and the slope of the loss is not 0."""
    score = 0.0
    for j in range(w.size):
        score += w[j] * z[j]
    if learn:
        g = slope(settings.loss, settings.parameter, score, y)
        if g != 0.0:
            for j in range(w.size):
                w[j] = settings.fade * w[j] - settings.step * g * z[j]
    return score


@hot
def follow(
    block: RowBlock, points: Matrix, width: int, M: Matrix, w: Vector, settings: GradientSettings, due: int, scores: Vector
) -> int:
    """Score, then learn, each row in the coordinates φ = M k, where k are the row's kernel values with the first `width` columns of
    `points`. Stops after the row of round `due`, which is only scored. Returns the number of rows done."""
    k, phi, learnt = np.zeros(width), np.empty(w.size), block.learnt
    for i in range(block.X.shape[0]):
        learn = block.weight[i] > 0.0
        values(block.kernel, points, width, block.X[i], k)
        embed(k, width, M, phi)
        is_due = learn and learnt[0] == due
        scores[i] = descent_round(w, phi, block.y[i], learn and not is_due, settings)
        if is_due:
            return i + 1
        if learn:
            learnt[0] += 1
    return int(block.X.shape[0])
