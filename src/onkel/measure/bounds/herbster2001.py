"""Upper bounds on the loss of the projection algorithms on consecutive rows, if a function u agrees with all of them.

Herbster (2001), Learning additive models online with fast evaluating kernels, COLT. The loss of `MarginProjection` is the number of
mistakes, or Σ(1 − y f(x))₊², for which the proof holds too; the loss of `TubeProjection` is Σ(|f(x) − y| − ε)₊². κ² is the largest
k(x, x) of these rows, ε and γ are the settings `epsilon` and `radius`. u = Σ_j coef_j k(points_j, ·) is given as a `Start`. It
agrees with a row if y u(x) ≥ 1 (`MarginProjection`), or |u(x) − y| ≤ ε (`TubeProjection`).

Departs from the paper: Theorem 6 prints R = max k(x, x), where it must be R².
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._types import Matrix
from onkel.dictionary import Start
from onkel.errors import InputError
from onkel.functions.learnt import Learnt
from onkel.kernels import Kernel
from onkel.learners import MarginProjection, TubeProjection
from onkel.measure.bounds.conditions import ROUNDING

Learner = MarginProjection | TubeProjection


def projection(learner: Learner, X: ArrayLike, y: ArrayLike, u: Start, state: Any = None) -> float:
    """κ² ‖u − f‖²: the loss on these rows, where f is the function in `state` (None: the learner's start).

    Theorems 2, 3 and 6 for streams from their first row; equation 18 from any row.
    Conditions: u agrees with every row; ‖u‖ ≤ γ if there is a radius γ; the kernel's domains are known.

    >>> u = onkel.Start(points=[[0.2], [0.7]], coef=[2.0, -1.0])
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> y = 2.0 * np.exp(-np.abs(X[:, 0] - 0.2)) - np.exp(-np.abs(X[:, 0] - 0.7))
    >>> learner = onkel.TubeProjection(epsilon=0.1)
    >>> scores = learner.learn(learner.init(dim=1), X, y)
    >>> losses = np.maximum(np.abs(scores - y) - 0.1, 0.0) ** 2
    >>> round(float(losses.sum()), 2), round(onkel.measure.bounds.projection(learner, X, y, u), 2)
    (1.51, 2.57)
    """
    rows = check_block("X", X)
    before = learner.init(rows.shape[1]) if state is None else state
    f = _function(learner, before)
    assert f.squared_norm is not None
    points, coef = u.arrays(rows.shape[1])
    squared = _agreeing(learner, f.kernel, rows, y, u) ** 2 + f.squared_norm
    return _kappa2(f.kernel, rows) * max(squared - 2.0 * float(coef @ learner.predict(before, points)), 0.0)


def constrained_projection(learner: Learner, X: ArrayLike, y: ArrayLike, u: Start) -> float:
    """κ² (γ + ‖u‖)²: the loss on these rows of a learner with the radius γ, whatever rows were learnt before.

    Theorems 4 and 5. Conditions: u agrees with every row; ‖u‖ ≤ γ; the kernel's domains are known.

    >>> u = onkel.Start(points=[[0.2]], coef=[2.0])
    >>> learner = onkel.TubeProjection(radius=3.0)
    >>> round(onkel.measure.bounds.constrained_projection(learner, [[0.2], [0.7]], [2.0, 1.2], u), 2)
    25.0
    """
    rows = check_block("X", X)
    kernel = _function(learner, learner.init(rows.shape[1])).kernel
    if learner.radius is None:
        raise InputError("the bound is for a learner with a radius")
    return _kappa2(kernel, rows) * (learner.radius + _agreeing(learner, kernel, rows, y, u)) ** 2


def _function(learner: Learner, state: Any) -> Learnt:
    """The function in the state; its kernel's domains must be known."""
    if learner._hooks._is_waiting(state):
        raise InputError(f"the bound is for known domains; give the kernel its domain=(low, high), got {learner.kernel!r:.200}")
    f = learner.function(state)
    assert f is not None
    return f


def _agreeing(learner: Learner, kernel: Kernel, X: Matrix, y: ArrayLike, u: Start) -> float:
    """‖u‖. Refuses a u that does not agree with every row, or whose norm is larger than the radius."""
    _, labels, _ = check_labelled(X, y, X.shape[1], 1)
    points, coef = u.arrays(X.shape[1])
    targets, values = labels[:, 0], kernel(X, points) @ coef
    missing = 1.0 - targets * values if isinstance(learner, MarginProjection) else np.abs(values - targets) - learner.epsilon
    wrong = np.flatnonzero(missing > ROUNDING * (1.0 + np.abs(targets)))
    if wrong.size:
        raise InputError(f"u does not agree with row {wrong[0]}: u(x) = {values[wrong[0]]:g}, y = {targets[wrong[0]]:g}")
    norm = math.sqrt(max(float(coef @ kernel(points, points) @ coef), 0.0))
    if learner.radius is not None and norm > learner.radius * (1.0 + ROUNDING):
        raise InputError(f"the bound is for ‖u‖ ≤ {learner.radius:g}, got {norm:g}")
    return norm


def _kappa2(kernel: Kernel, X: Matrix) -> float:
    return float(np.max(kernel.diagonal(X), initial=0.0))
