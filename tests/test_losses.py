"""Losses: each number against the formula written naively, and the constants against the inequalities that define them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from onkel import losses
from onkel.errors import InputError
from onkel.losses import EpsilonInsensitive, Hinge, Logistic, Loss, Square, SquaredEpsilonInsensitive, SquaredHinge

Array = NDArray[np.float64]

EVERY_LOSS: list[Loss] = [
    Square(), Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3),
    EpsilonInsensitive(0.0), SquaredEpsilonInsensitive(0.0), SquaredEpsilonInsensitive(1.2),
]  # fmt: skip

NAIVE: dict[type[Loss], tuple[Callable[[Array, Array, float], Array], Callable[[Array, Array, float], Array]]] = {
    Square: (lambda f, y, e: (f - y) ** 2, lambda f, y, e: 2 * (f - y)),
    Hinge: (lambda f, y, e: np.maximum(0, 1 - y * f), lambda f, y, e: np.where(y * f < 1, -y, 0.0)),
    SquaredHinge: (lambda f, y, e: np.maximum(0, 1 - y * f) ** 2, lambda f, y, e: -2 * y * np.maximum(0, 1 - y * f)),
    Logistic: (lambda f, y, e: np.log(1 + np.exp(-y * f)), lambda f, y, e: -y / (1 + np.exp(y * f))),
    EpsilonInsensitive: (
        lambda f, y, e: np.maximum(0, np.abs(f - y) - e),
        lambda f, y, e: np.where(np.abs(f - y) > e + 1e-9, np.sign(f - y), 0.0),  # the grid has points on the kink
    ),
    SquaredEpsilonInsensitive: (
        lambda f, y, e: np.maximum(0, np.abs(f - y) - e) ** 2,
        lambda f, y, e: 2 * np.sign(f - y) * np.maximum(0, np.abs(f - y) - e),
    ),
}


def grid(loss: Loss, clip: float, largest_label: float = 1.0, points: int = 37) -> tuple[Array, Array]:
    """Scores in [−clip, clip], each with every label."""
    labels = np.linspace(-largest_label, largest_label, 5) if "regression" in loss.tasks else np.array([-1.0, 1.0])
    pairs = np.array(list(itertools.product(np.linspace(-clip, clip, points), labels)))
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_value_and_derivative_equal_the_formula(loss: Loss) -> None:
    f, y = grid(loss, clip=2.7)
    value, slope = NAIVE[type(loss)]
    np.testing.assert_allclose(loss(f, y), value(f, y, loss.parameter), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(loss.derivative(f, y), slope(f, y, loss.parameter), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_derivative_equals_the_finite_difference_away_from_kinks(loss: Loss) -> None:
    f, y = grid(loss, clip=2.7)
    h = 1e-6
    kinks = np.abs(np.stack([1 - y * f, np.abs(f - y) - loss.parameter, f - y]))
    f, y = f[(kinks > 10 * h).all(axis=0)], y[(kinks > 10 * h).all(axis=0)]
    assert f.size > 30
    np.testing.assert_allclose(loss.derivative(f, y), (loss(f + h, y) - loss(f - h, y)) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_compiled_code_sees_the_same_numbers(loss: Loss) -> None:
    for f, y in [(0.3, 1.0), (-2.0, 1.0), (1.7, -1.0), (3.0, 1.0)]:
        assert losses.value(loss.code, loss.parameter, f, y) == loss(f, y)[0]
        assert losses.slope(loss.code, loss.parameter, f, y) == loss.derivative(f, y)[0]


def excess_over_the_curved_bound(loss: Loss, curvature: float, clip: float, largest_label: float, scores: int = 41) -> float:
    """min over a, b, y of ℓ(b) − ℓ(a) − g(a)(b − a) − (σ/2)(g(a)(b − a))²."""
    f, y = grid(loss, clip, largest_label)
    least = np.inf
    for b in np.linspace(-clip, clip, scores):
        move = loss.derivative(f, y) * (b - f)
        least = min(least, float(np.min(loss(np.full_like(f, b), y) - loss(f, y) - move - curvature / 2 * move**2)))
    return least


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@pytest.mark.parametrize(("clip", "largest_label"), [(0.3, 1.0), (1.0, 1.0), (1.0, 0.4), (3.0, 1.0), (3.0, 3.0), (20.0, 1.0)])
def test_curvature_and_lipschitz_hold_on_a_grid(loss: Loss, clip: float, largest_label: float) -> None:
    f, y = grid(loss, clip, largest_label)
    curvature = loss.curvature(clip, largest_label)
    assert excess_over_the_curved_bound(loss, curvature, clip, largest_label) >= -1e-12 * (1 + clip + largest_label) ** 2
    assert np.abs(loss.derivative(f, y)).max() <= loss.lipschitz(clip, largest_label) * (1 + 1e-12)


@pytest.mark.parametrize("loss", [Square(), SquaredHinge(), SquaredEpsilonInsensitive(0.3)], ids=repr)
def test_lipschitz_is_reached(loss: Loss) -> None:
    f, y = grid(loss, 3.0)
    assert np.abs(loss.derivative(f, y)).max() == pytest.approx(loss.lipschitz(3.0), rel=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in EVERY_LOSS if loss.curvature(1.0) > 0.0], ids=repr)
@pytest.mark.parametrize(("clip", "largest_label"), [(0.3, 1.0), (1.0, 1.0), (1.4, 0.0), (3.0, 1.0), (3.0, 3.0), (6.0, 1.0)])
def test_no_larger_curvature_would_do(loss: Loss, clip: float, largest_label: float) -> None:
    """The inequality is violated somewhere on a fine grid if σ is 1.02 times as large, and nowhere as it is."""
    curvature = loss.curvature(clip, largest_label)
    size = float(np.max(loss.derivative(*grid(loss, clip, largest_label)) ** 2)) * clip**2 * curvature  # of the quadratic term
    assert excess_over_the_curved_bound(loss, 1.02 * curvature, clip, largest_label, 801) < -1e-8 * size
    assert excess_over_the_curved_bound(loss, curvature, clip, largest_label, 801) >= -1e-12 * (1.0 + clip + largest_label) ** 2


def test_a_flat_loss_has_no_curvature() -> None:
    assert excess_over_the_curved_bound(Hinge(), 1e-3, 2.0, 1.0) < -1e-4


@pytest.mark.parametrize(
    ("loss", "clip", "largest_label", "lipschitz", "curvature"),
    [
        (Square(), 1.0, 1.0, 4.0, 1 / 8),
        (Square(), 3.0, 2.0, 10.0, 1 / 50),
        (Hinge(), 3.0, 1.0, 1.0, 0.0),
        (SquaredHinge(), 1.0, 1.0, 4.0, 1 / 8),
        (SquaredHinge(), 0.5, 1.0, 3.0, 1 / 4.5),
        (SquaredHinge(), 3.0, 1.0, 8.0, 1 / 36),
        (Logistic(), 1.0, 1.0, 1.0, np.exp(-1)),
        (Logistic(), 4.0, 1.0, 1.0, np.exp(-4)),
        (EpsilonInsensitive(0.3), 3.0, 1.0, 1.0, 0.0),
        (SquaredEpsilonInsensitive(0.5), 2.0, 1.0, 5.0, 3.5 / 50),  # beyond the tube
        (SquaredEpsilonInsensitive(0.5), 1.0, 1.0, 3.0, 2.5 / 12),  # inside it
        (SquaredEpsilonInsensitive(0.5), 1.0, 2.0, 5.0, 1 / 12.5),  # not even there
        (SquaredEpsilonInsensitive(0.5), 1.0, 0.0, 1.0, 1.0),  # as far on the other side
    ],
)
def test_constants_of_the_table(loss: Loss, clip: float, largest_label: float, lipschitz: float, curvature: float) -> None:
    assert loss.lipschitz(clip, largest_label) == pytest.approx(lipschitz, rel=1e-14)
    assert loss.curvature(clip, largest_label) == pytest.approx(curvature, rel=1e-14)


def test_hinge_is_inactive_on_its_kink() -> None:
    f = np.array([1.0 - 2e-9, 1.0 - 1e-16, 1.0 - 5e-10, 1.0, 1.0 + 1e-12])
    np.testing.assert_array_equal(Hinge().derivative(f, np.ones(5)), [-1, 0, 0, 0, 0])
    np.testing.assert_array_equal(Hinge().derivative(-f, -np.ones(5)), [1, 0, 0, 0, 0])


def test_logistic_does_not_overflow() -> None:
    f, y = np.array([1e6, -1e6, 1e6, -1e6]), np.array([1.0, 1.0, -1.0, -1.0])
    np.testing.assert_array_equal(Logistic()(f, y), [0.0, 1e6, 1e6, 0.0])
    np.testing.assert_array_equal(Logistic().derivative(f, y), [0.0, -1.0, 1.0, 0.0])
    assert Logistic()([40.0], [1.0])[0] == pytest.approx(np.exp(-40), rel=1e-14)  # 1 + e⁻⁴⁰ is 1 in float64


def test_scores_keep_their_shape_and_the_caller_his_arrays() -> None:
    f, y = np.arange(6.0).reshape(3, 2).T, np.ones((2, 3))
    before = f.copy()
    assert Square()(f, y).shape == (2, 3)
    np.testing.assert_array_equal(Square()(f, y), (before - 1) ** 2)
    np.testing.assert_array_equal(Square().derivative(f, y), 2 * (before - 1))
    np.testing.assert_array_equal(f, before)
    assert Square()([], []).shape == (0,)


def test_codes_tasks_and_names() -> None:
    kinds = [Square(), Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(), SquaredEpsilonInsensitive()]
    assert sorted(loss.code for loss in kinds) == list(range(6))
    assert all(loss.tasks and loss.tasks <= {"classification", "regression"} for loss in kinds)
    assert [eval(repr(loss), vars(losses)) for loss in kinds] == kinds
    assert EpsilonInsensitive(epsilon=2).parameter == 2.0
    assert Hinge().parameter == 0.0


def test_errors_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"EpsilonInsensitive: epsilon must be at least 0, got -1"):
        EpsilonInsensitive(epsilon=-1)
    with pytest.raises(InputError, match=r"Hinge\(\): y is 0 in row 1; labels must be -1 or \+1"):
        Hinge()([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(InputError, match=r"Logistic\(\): y is nan in row 0"):
        Logistic()([0.0], [np.nan])
    with pytest.raises(InputError, match=r"scores have shape \(2,\) and y has \(1,\)"):
        Square()([0.0, 0.0], [1.0])
    with pytest.raises(InputError, match="clip must be positive"):
        Logistic().curvature(clip=0.0)
    with pytest.raises(InputError, match="largest_label must be"):
        Square().lipschitz(clip=1.0, largest_label=-1.0)
    with pytest.raises(InputError, match="lower epsilon"):
        SquaredEpsilonInsensitive(epsilon=2.0).curvature(clip=1.0, largest_label=1.0)
    assert SquaredEpsilonInsensitive(epsilon=5.0).lipschitz(clip=1.0) == 0.0
