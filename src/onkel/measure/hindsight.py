"""The best function in hindsight with values in [−C, C], for any loss. The Newton family is compared with it.

    min_f  Σ_t ℓ(f(x_t), y_t) + λ‖f‖²     over |f(x_t)| ≤ C in every round

Here ℓ is the loss and y_t the label of row t. The best f is found in orthonormal coordinates, f(x_t) = z_t·w, by the method of
multipliers. v_t stands for f(x_t), m_t is the multiplier of the constraint v_t = f(x_t), ρ the penalty for violating it, and Z has
the rows z_t:

    w ← argmin λ‖w‖² + Σ min_{|v| ≤ C} [ℓ(v, y_t) + ρ/2 (a_t − v)²],   a_t = z_t·w + m_t/ρ      (Newton steps, whatever the loss)
    m ← ρ(a − v),   ρ ← GROWTH ρ

Σ min_{|v| ≤ C} [ℓ(v, y_t) − m_t v] − ‖Zᵀm‖²/(4λ) is a lower bound on the minimum; the search ends when an f within [−C, C] is found
that costs hardly more than this bound.

>>> X, y = onkel.data.rings(200, seed=0)
>>> f = best_within(onkel.Gaussian(width=1.0), X, y, onkel.Logistic(), lam=0.5, clip=3.0)
>>> bool(np.abs(f.values).max() <= 3.0), round(f.cost, 2), round(f.squared_norm, 2)
(True, 34.89, 45.55)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._jit import hot
from onkel._types import Vector
from onkel.errors import InputError
from onkel.features import Nystroem
from onkel.kernels import Kernel
from onkel.losses import Loss, slope, value
from onkel.measure.regret import Space, embed, positive

GAP = 1e-8  # accuracy of the minimum, relative to the minimum plus 1
MULTIPLIER_STEPS, NEWTON_STEPS, SHORTEST_STEP = 40, 60, 1e-10
GROWTH, LARGEST_PENALTY = 3.0, 1e7  # the factor by which ρ grows, and the limit of ρ: beyond it rounding spoils m
HALVINGS = 60  # steps of the bisection of [−C, C] for a value
NEARBY = 1e-7  # the step of numerical derivatives, relative to C


@dataclass(frozen=True)
class Best:
    """The best function in hindsight, described by its values at the rows."""

    values: Vector  # f(x_t)
    squared_norm: float  # ‖f‖²
    cost: float  # Σ ℓ(f(x_t), y_t), without the norm
    gap: float  # no other function's Σℓ + λ‖f‖² is smaller by more than this


def best_within(space: Space, X: ArrayLike, y: ArrayLike, loss: Loss, lam: float, clip: float) -> Best:
    """The f with the least Σ ℓ(f(x_t), y_t) + λ‖f‖² and |f(x_t)| ≤ C in every row, in a kernel's space or in the span of
    features."""
    rows = check_block("X", X)
    _, labels, _ = check_labelled(rows, y, rows.shape[1], 1)
    lam, clip, y = positive("lam", lam), positive("clip", clip), labels[:, 0].copy()
    loss(np.zeros(len(y)), y)  # refuses labels that the loss does not accept
    if not len(rows):
        return Best(np.empty(0), 0.0, 0.0, 0.0)
    Z = embed(Nystroem(space, rows), rows) if isinstance(space, Kernel) else embed(space, rows)
    code, lower, least = (loss.code, loss.parameter), -np.inf, np.inf
    w, m, rho = np.zeros(Z.shape[1]), np.zeros(len(rows)), 1.0
    for _ in range(MULTIPLIER_STEPS):
        w = _minimise(Z, y, code, lam, clip, m, rho, w)
        a = Z @ w + m / rho
        m = rho * (a - _nearest(code, y, a, rho, clip)[0])
        rho = min(GROWTH * rho, LARGEST_PENALTY)
        pull = Z.T @ m
        lower = max(lower, _lower(code, y, m, clip) - float(pull @ pull) / (4.0 * lam))
        inside = w * (clip / max(float(np.max(np.abs(Z @ w))), clip))  # shrunk, so that the constraint holds exactly
        values = np.clip(Z @ inside, -clip, clip)
        cost, squared_norm = float(np.sum(loss(values, y))), float(inside @ inside)
        if cost + lam * squared_norm < least:
            least, best = cost + lam * squared_norm, (values, squared_norm, cost)
        if least - lower <= GAP * (1.0 + least):
            return Best(*best, gap=max(least - lower, 0.0))
    raise InputError(f"the best function was not found: a gap of {least - lower:.1g} is left; raise lam, or rescale X")


def _minimise(Z: Vector, y: Vector, loss: tuple[int, float], lam: float, clip: float, m: Vector, rho: float, w: Vector) -> Vector:
    """argmin_w λ‖w‖² + Σ min_{|v| ≤ C} [ℓ(v, y) + ρ/2 (a − v)²], starting at w."""

    def at(w: Vector) -> tuple[float, Vector, Vector]:
        a = Z @ w + m / rho
        v, moved = _nearest(loss, y, a, rho, clip)
        cost = lam * float(w @ w) + _total(loss, y, v) + 0.5 * rho * float((a - v) @ (a - v))
        return cost, 2.0 * lam * w + rho * Z.T @ (a - v), rho * (1.0 - moved)

    cost, gradient, curvature = at(w)
    for _ in range(NEWTON_STEPS):
        step = np.linalg.solve(2.0 * lam * np.eye(len(w)) + Z.T @ (curvature[:, None] * Z), gradient)
        promise, length = float(step @ gradient), 1.0
        if promise <= 1e-3 * GAP * GAP * (1.0 + cost):
            break
        after = at(w - step)
        while after[0] > cost - 1e-4 * length * promise and length > SHORTEST_STEP:
            length *= 0.5
            after = at(w - length * step)
        if after[0] >= cost:  # no further progress because of rounding
            break
        w = w - length * step
        cost, gradient, curvature = after
    return w


@hot
def _nearest(loss: tuple[int, float], y: Vector, a: Vector, rho: float, clip: float) -> tuple[Vector, Vector]:
    """v = argmin_{|v| ≤ C} ℓ(v, y) + ρ/2 (a − v)², and dv/da, which lies between 0 and 1."""
    v, moved = np.empty(y.size), np.empty(y.size)
    near = NEARBY * clip
    for t in range(y.size):
        v[t] = _best_value(loss, y[t], 0.0, rho, a[t], clip)
        ahead, behind = _best_value(loss, y[t], 0.0, rho, a[t] + near, clip), _best_value(loss, y[t], 0.0, rho, a[t] - near, clip)
        moved[t] = min(max((ahead - behind) / (2.0 * near), 0.0), 1.0)
    return v, moved


@hot
def _lower(loss: tuple[int, float], y: Vector, m: Vector, clip: float) -> float:
    """Σ_t min_{|v| ≤ C} ℓ(v, y_t) − m_t v."""
    total = 0.0
    for t in range(y.size):
        v = _best_value(loss, y[t], -m[t], 0.0, 0.0, clip)
        total += value(loss[0], loss[1], v, y[t]) - m[t] * v
    return total


@hot
def _total(loss: tuple[int, float], y: Vector, v: Vector) -> float:
    total = 0.0
    for t in range(y.size):
        total += value(loss[0], loss[1], v[t], y[t])
    return total


@hot
def _best_value(loss: tuple[int, float], y: float, linear: float, rho: float, a: float, clip: float) -> float:
    """argmin_{|v| ≤ C} ℓ(v, y) + linear v + ρ/2 (a − v)², by bisection: the derivative is increasing."""
    low, high = -clip, clip
    for _ in range(HALVINGS):
        v = 0.5 * (low + high)
        if slope(loss[0], loss[1], v, y) + linear + rho * (v - a) > 0.0:
            high = v
        else:
            low = v
    return 0.5 * (low + high)
