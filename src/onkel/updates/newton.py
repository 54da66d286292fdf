"""What the Newton family shares: the weight of a gradient in its matrix, and the online Newton step in explicit coordinates.

    ȳ = φ·u,   h = sign(ȳ)(|ȳ| − C)₊,   ŷ = ȳ − h,   g = ℓ'(ŷ, y)                       A₀ = αI, u₀ = 0
    u ← u − (h/q) A⁻¹φ   (the projection on |f(x)| ≤ C),    A ← A + η g² φφᵀ,   u ← u − g A⁻¹φ,        q = φᵀA⁻¹φ

With A = RᵀR, c = R u and z = R⁻ᵀφ:  ȳ = z·c,  q = z·z,  and all of it costs one triangular solve and one update of R.

η is the curvature σ of the loss (a share of it where the learner says so), or, for a loss without curvature, √d/(L C √t), with L
its Lipschitz constant on [−C, C] and d the `dimension`: 1, or an estimate of the effective dimension.

The family is not free of scale: C is in the labels' unit. Scores never reach labels beyond it; and where all labels are far below
it, gradients are too small to show in A, so that steps are too long. Each state knows what labels it has met, and notes say so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import instance, real
from onkel.errors import InputError
from onkel.linalg.factor import newton, solve_row
from onkel.losses import Loss, slope

SMALLEST_VARIANCE = 1e-12  # α q relative to k(x, x); below it rounding would decide how far to project, and nothing is projected

FAR_BELOW = 0.01  # of C: labels that are all smaller
BEYOND, LARGEST = range(2)  # what a state knows of labels: how many lay beyond C, and the size of the largest

StepSize = tuple[float, bool]  # η, and whether it falls like 1/√t
LossCode = tuple[int, float]  # a loss in compiled code
NewtonSettings = tuple[LossCode, StepSize, float, float]  # loss, η, α and C


def check_newton(config: Any) -> None:
    """The fields that all learners of the family have, in any space."""
    real(config, "dimension", least=1e-30, most=1e30)
    check_steps(config)


def check_steps(config: Any) -> None:
    """Those of a learner that knows the dimension of its space."""
    instance(config, "loss", Loss, "Square()")
    real(config, "alpha", least=1e-12, most=1e30)
    real(config, "clip", least=1.0 / LARGEST_NUMBER, most=LARGEST_NUMBER)
    real(config, "curvature", least=0.0, most=1e30, optional=True)
    step_size(config)


def step_size(config: Any, share: float = 1.0) -> StepSize:
    """The weight η of a gradient: the field `curvature`, or what the loss says."""
    if config.curvature is not None:
        return config.curvature, False
    sigma = config.loss.curvature(config.clip, config.clip)
    if sigma > 0.0:
        return share * sigma, False
    return math.sqrt(config.dimension) / (config.loss.lipschitz(config.clip, config.clip) * config.clip), True


def loss_code(loss: Loss) -> LossCode:
    return loss.code, loss.parameter


def newton_settings(config: Any, share: float = 1.0) -> NewtonSettings:
    """All that compiled code needs to know of the settings."""
    return loss_code(config.loss), step_size(config, share), config.alpha, config.clip


def no_labels() -> Vector:
    """What a state knows of labels before the first."""
    return np.zeros(2)


def check_met(met: Vector, clip: float, rows: int) -> None:
    """Refuse what no labels can have left."""
    beyond, largest = met.tolist()
    if (
        not 0.0 <= beyond <= rows
        or beyond != int(beyond)
        or not 0.0 <= largest <= LARGEST_NUMBER
        or (beyond > 0.0) != (largest > clip)
    ):
        raise InputError("the labels that it has met are not those of its rows")


def label_notes(met: Vector, clip: float) -> list[str]:
    """What to know of a clip that does not suit the labels."""
    beyond, largest = met.tolist()
    if beyond:
        return [f"{beyond:.0f} labels lay beyond clip={clip:g}, the largest at {largest:g}: no score reaches them (raise clip)"]
    if 0.0 < largest < FAR_BELOW * clip:
        return [f"no label is larger than {largest:g}, far below clip={clip:g}: scores may overshoot (lower clip to about that)"]
    return []


@hot_inline
def meet(met: Vector, y: float, clip: float) -> None:
    """One label more."""
    met[BEYOND] += 1.0 if abs(y) > clip else 0.0
    met[LARGEST] = max(met[LARGEST], abs(y))


@hot
def weight_of_gradient(steps: StepSize, round: int) -> float:
    """η in this round; rounds count from 1."""
    eta, falls = steps
    return eta / math.sqrt(round) if falls else eta


@hot
def within(score: float, clip: float) -> float:
    """The score, or the end of [−clip, clip] that it is beyond."""
    return min(max(score, -clip), clip)


@hot
def newton_round(
    R: Matrix, c: Matrix, z: Vector, own: float, y: float, learn: bool,
    settings: NewtonSettings, round: int, met: Vector, work: Matrix,
) -> float:  # fmt: skip
    """Score the row with coordinates z and squared norm `own`, then learn it; z is used up."""
    loss, steps, alpha, clip = settings
    solve_row(R, z)
    full = float(np.dot(c[0], z))
    score = within(full, clip)
    if learn:
        h, g = full - score, slope(loss[0], loss[1], score, y)
        q = np.dot(z, z)
        shift = h / q if alpha * q > SMALLEST_VARIANCE * own else 0.0
        newton(R, c, z, shift, g, weight_of_gradient(steps, round), work)
        meet(met, y, clip)
    return score
