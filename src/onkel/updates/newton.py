"""The online Newton step in explicit coordinates, and the weight of a gradient in the Newton matrix A.

    ȳ = φ·u,   h = sign(ȳ)(|ȳ| − C)₊,   ŷ = ȳ − h,   g = ℓ'(ŷ, y)                       A₀ = αI, u₀ = 0
    u ← u − (h/q) A⁻¹φ   (the projection on |f(x)| ≤ C),    A ← A + η g² φφᵀ,   u ← u − g A⁻¹φ,        q = φᵀA⁻¹φ

φ are the coordinates of a row, y its label, u the weights, C is the field `clip` and α the field `alpha`. ȳ is the score before it
is clipped to [−C, C], ŷ the score, and g the slope of the loss ℓ there.

With A = RᵀR, c = R u and z = R⁻ᵀφ:  ȳ = z·c,  q = z·z,  and a round costs one triangular solve and one update of R.

η is the curvature σ of the loss, or a share of it that the learner sets. For a loss without curvature η is √d/(L C √t) in round t,
where L is the Lipschitz constant of the loss on [−C, C], and d the field `dimension`, an estimate of the effective dimension or 1.

C is in the units of the labels and must suit them. Scores cannot reach labels beyond C. If all labels are far below C, gradients
are so small that they hardly add to A, so steps are too long. Each state keeps statistics of its labels, and `notes` reports both
cases.
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
from onkel.linalg.loops import dot
from onkel.linalg.rank_one import newton_step
from onkel.linalg.triangular import solve_row
from onkel.losses import Loss, slope

SMALLEST_VARIANCE = 1e-12  # limit for α q relative to k(x, x); with less, the projection would be mostly rounding, and is left out

FAR_BELOW = 0.01  # if all labels are smaller than this part of C, a note says so
BEYOND, LARGEST = range(2)  # indices of the statistics of labels: the number beyond C, and the largest absolute value

StepSize = tuple[float, bool]  # η, and whether it falls like 1/√t
LossCode = tuple[int, float]  # a loss in compiled code
NewtonSettings = tuple[LossCode, StepSize, float, float]  # loss, η, α and C


def check_newton(config: Any) -> None:
    """Check the fields of a Newton learner, including `dimension`."""
    real(config, "dimension", least=1e-30, most=1e30)
    check_steps(config)


def check_steps(config: Any) -> None:
    """Check the fields of a Newton learner whose dimension is known, so that it is not a field."""
    instance(config, "loss", Loss, "Square()")
    real(config, "alpha", least=1e-12, most=1e30)
    real(config, "clip", least=1.0 / LARGEST_NUMBER, most=LARGEST_NUMBER)
    real(config, "curvature", least=0.0, most=1e30, optional=True)
    step_size(config)


def step_size(config: Any, share: float = 1.0) -> StepSize:
    """The weight η of a gradient: the field `curvature`; if that is None, `share` times the curvature of the loss."""
    if config.curvature is not None:
        return config.curvature, False
    sigma = config.loss.curvature(config.clip, config.clip)
    if sigma > 0.0:
        return share * sigma, False
    return math.sqrt(config.dimension) / (config.loss.lipschitz(config.clip, config.clip) * config.clip), True


def loss_code(loss: Loss) -> LossCode:
    return loss.code, loss.parameter


def newton_settings(config: Any, share: float = 1.0) -> NewtonSettings:
    """The settings, for compiled code."""
    return loss_code(config.loss), step_size(config, share), config.alpha, config.clip


def no_labels() -> Vector:
    """The statistics of the labels before the first row."""
    return np.zeros(2)


def check_met(met: Vector, clip: float, rows: int) -> None:
    """Refuse statistics that no labels can lead to."""
    beyond, largest = met.tolist()
    if (
        not 0.0 <= beyond <= rows
        or beyond != int(beyond)
        or not 0.0 <= largest <= LARGEST_NUMBER
        or (beyond > 0.0) != (largest > clip)
    ):
        raise InputError("its statistics of the labels do not fit its rows")


def label_notes(met: Vector, clip: float) -> list[str]:
    """A note if `clip` does not suit the labels."""
    beyond, largest = met.tolist()
    if beyond:
        said = f"{beyond:.0f} labels were beyond clip={clip:g}, the largest at {largest:g}: no score reaches them"
        return [f"{said} (raise clip, unless labels are standardised: their deviation is clip/2)"]
    if 0.0 < largest < FAR_BELOW * clip:
        return [f"no label is larger than {largest:g}, far below clip={clip:g}: scores may overshoot (lower clip to about that)"]
    return []


@hot_inline
def count_label(met: Vector, y: float, clip: float) -> None:
    """Add a label to the statistics."""
    met[BEYOND] += 1.0 if abs(y) > clip else 0.0
    met[LARGEST] = max(met[LARGEST], abs(y))


@hot
def weight_of_gradient(steps: StepSize, round: int) -> float:
    """η in this round; rounds count from 1."""
    eta, falls = steps
    return eta / math.sqrt(round) if falls else eta


@hot
def within(score: float, clip: float) -> float:
    """The score clipped to [−clip, clip]."""
    return min(max(score, -clip), clip)


@hot
def newton_round(
    R: Matrix, c: Matrix, z: Vector, own: float, y: float, learn: bool,
    settings: NewtonSettings, round: int, met: Vector, work: Matrix,
) -> float:  # fmt: skip
    """Score the row with coordinates z and squared norm `own`, then learn it if `learn` is true. z is overwritten."""
    loss, steps, alpha, clip = settings
    solve_row(R, z)
    full = float(dot(c[0], z))
    score = within(full, clip)
    if learn:
        h, g = full - score, slope(loss[0], loss[1], score, y)
        q = dot(z, z)
        shift = h / q if alpha * q > SMALLEST_VARIANCE * own else 0.0
        newton_step(R, c, z, shift, g, weight_of_gradient(steps, round), work)
        count_label(met, y, clip)
    return score
