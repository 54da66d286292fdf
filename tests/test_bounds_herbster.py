"""The bounds of Herbster (2001): they hold, they are met, and they refuse what they do not speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.kernels import Kernel
from onkel.measure import bounds

Array = NDArray[np.float64]
KERNELS = [
    onkel.Additive(onkel.Spline(domain=(0.0, 1.0))),
    onkel.Additive(onkel.Exponential(2.0)),
    onkel.Gaussian(0.5),
    onkel.Linear(),
]


def stream(kernel: Kernel, margin: bool, seed: int = 0) -> tuple[Array, Array, onkel.Start]:
    """Rows with which a function agrees, with a margin of 1 or exactly; and the function."""
    rng = np.random.default_rng(seed)
    points, X = rng.uniform(size=(5, 3)), rng.uniform(size=(300, 3))
    coef = rng.normal(size=5)
    values = kernel(X, points) @ coef
    if margin:
        least = float(np.quantile(np.abs(values), 0.2))
        X, values, coef = X[np.abs(values) > least], values[np.abs(values) > least], coef / least
    return X, np.sign(values) if margin else values, onkel.Start(points, coef)


def losses(learner: Any, scores: Array, y: Array) -> Array:
    if isinstance(learner, onkel.MarginProjection):
        return np.asarray(np.maximum(1.0 - y * scores, 0.0) ** 2)
    return np.asarray(np.maximum(np.abs(scores - y) - learner.epsilon, 0.0) ** 2)


def norm(kernel: Kernel, u: onkel.Start) -> float:
    points, coef = u.arrays(3)
    return float(np.sqrt(coef @ kernel(points, points) @ coef))


@pytest.mark.once
@pytest.mark.parametrize("margin", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:20])
def test_no_loss_is_beyond_its_bound(kernel: Kernel, margin: bool) -> None:
    X, y, u = stream(kernel, margin)
    radius = norm(kernel, u)
    for gamma in (None, radius):
        learner = onkel.MarginProjection(kernel, gamma) if margin else onkel.TubeProjection(kernel, 0.01, gamma)
        state = learner.init(3)
        for part in (slice(0, 50), slice(50, None)):
            allowed = bounds.projection(learner, X[part], y[part], u, state)
            total = losses(learner, learner.learn(state, X[part], y[part]), y[part]).sum()
            assert 0.0 < total <= allowed
            if gamma is not None:
                assert total <= bounds.constrained_projection(learner, X[part], y[part], u)


def test_they_are_met() -> None:
    """Rows at right angles; and a radius, with f at one end of the ball and u at the other."""
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, 1.0])
    for learner in (onkel.MarginProjection(onkel.Linear()), onkel.TubeProjection(onkel.Linear(), 0.0)):
        total = losses(learner, learner.learn(learner.init(4), X, y), y).sum()
        assert bounds.projection(learner, X, y, onkel.Start(X, y)) == pytest.approx(total)
    far = onkel.TubeProjection(onkel.Linear(), 0.0, radius=2.0, start=onkel.Start([[1.0]], [-2.0]))
    total = losses(far, far.learn(far.init(1), [[1.0]], [2.0]), np.array([2.0])).sum()
    assert bounds.constrained_projection(far, [[1.0]], [2.0], onkel.Start([[1.0]], [2.0])) == pytest.approx(total)


def test_a_loss_can_be_beyond_what_they_would_say_of_a_wrong_u() -> None:
    """Labels that u does not have: the sum passes κ²‖u‖², and no bound is given."""
    X, y, u = stream(KERNELS[1], margin=False)
    learner = onkel.TubeProjection(KERNELS[1], 0.01)
    noisy = y + np.random.default_rng(1).normal(size=len(y))
    total = losses(learner, learner.learn(learner.init(3), X, noisy), noisy).sum()
    assert total > bounds.projection(learner, X, y, u)
    with pytest.raises(onkel.InputError, match="does not agree"):
        bounds.projection(learner, X, noisy, u)


def test_refusals() -> None:
    X, y, u = stream(KERNELS[1], margin=False)
    learner, short = onkel.TubeProjection(KERNELS[1], 0.01), onkel.TubeProjection(KERNELS[1], 0.01, radius=1e-3)
    with pytest.raises(onkel.InputError, match="a radius"):
        bounds.constrained_projection(learner, X, y, u)
    for bound in (bounds.projection, bounds.constrained_projection):
        with pytest.raises(onkel.InputError, match="‖u‖"):
            bound(short, X, y, u)
    with pytest.raises(onkel.InputError, match="known domains"):
        bounds.projection(onkel.TubeProjection(onkel.Additive(onkel.Spline())), X, y, u)


def test_domains_taken_from_the_first_rows_count_once_they_are_known() -> None:
    kernel = onkel.Additive(onkel.Spline())
    learner, X = onkel.TubeProjection(kernel, 0.01), np.random.default_rng(0).uniform(size=(300, 3))
    state = learner.init(3)
    learner.learn(state, X[:100], np.zeros(100))
    closed = onkel.Additive(tuple(onkel.Spline(domain=(float(low), float(high))) for low, high in kernel.domains(X[:100])))
    u = onkel.Start(X[:4], [1.0, -1.0, 2.0, 0.5])
    y = closed(X[100:], X[:4]) @ np.array(u.coef)
    allowed = bounds.projection(learner, X[100:], y, u, state)
    assert 0.0 < losses(learner, learner.learn(state, X[100:], y), y).sum() <= allowed
