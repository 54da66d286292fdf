"""The synthetic streams are what their formulas say, and a longer stream starts with the shorter one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onkel._types import Matrix, Vector
from onkel.data import abrupt, drifting, friedman, rings, smooth
from onkel.data.generators import _draw_waves
from onkel.errors import InputError

pytestmark = pytest.mark.once

Generator = Callable[..., tuple[Matrix, Vector]]
ALL: list[Generator] = [smooth, drifting, abrupt, rings, friedman]


@pytest.mark.parametrize("generate", ALL)
def test_same_seed_same_bits_other_seed_other_rows(generate: Generator) -> None:
    X, y = generate(200, seed=3)
    again_X, again_y = generate(200, seed=3)
    assert X.dtype == y.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.shape == (200,)
    assert X.shape[0] == 200
    np.testing.assert_array_equal(X, again_X)
    np.testing.assert_array_equal(y, again_y)
    assert not np.any(generate(200, seed=4)[0] == X)


@pytest.mark.parametrize("generate", [smooth, drifting, rings, friedman])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 16, 101])
def test_longer_stream_starts_with_the_shorter(generate: Generator, rows: int) -> None:
    X, y = generate(1003, seed=1)
    short_X, short_y = generate(rows, seed=1)
    np.testing.assert_array_equal(short_X, X[:rows])
    np.testing.assert_array_equal(short_y, y[:rows])


@pytest.mark.parametrize("dim", [1, 2, 5, 30])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_smooth_target_has_mean_0_and_variance_1(dim: int, seed: int) -> None:
    X, y = smooth(40_000, dim=dim, noise=0.0, seed=seed)
    assert X.shape == (40_000, dim)
    assert abs(np.mean(y)) < 0.03  # six standard errors
    assert abs(np.var(y) - 1.0) < 0.06


def test_noise_has_the_given_deviation() -> None:
    for generate in ALL[:3] + ALL[4:]:
        errors = (generate(20_000, noise=0.5, seed=2)[1] - generate(20_000, noise=0.0, seed=2)[1]) / 0.5
        assert abs(np.mean(errors)) < 0.05
        assert abs(np.std(errors) - 1.0) < 0.05


def test_smooth_is_nonlinear_and_learnable() -> None:
    X, y = smooth(1200, seed=0)
    A = np.column_stack([X, np.ones(1200)])
    linear = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    assert np.mean((y - linear) ** 2) > 0.3
    K = np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2))
    predicted = K[1000:, :1000] @ np.linalg.solve(K[:1000, :1000] + 0.1 * np.eye(1000), y[:1000])
    assert np.mean((y[1000:] - predicted) ** 2) < 0.1


@pytest.mark.parametrize("dim", [2, 5])
def test_drifting_is_the_smooth_target_of_rotated_rows(dim: int) -> None:
    X, y = drifting(300, dim=dim, noise=0.0, period=100, seed=5)
    target = _draw_waves(np.random.default_rng(5), dim)
    for t in (0, 1, 25, 99, 170):
        R = np.eye(dim)
        for j in range(0, dim - 1, 2):
            angle = 2 * math.pi * t / 100
            R[j : j + 2, j : j + 2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        assert y[t] == pytest.approx(target((R @ X[t])[None])[0], abs=1e-12)


def test_drifting_returns_after_a_period_and_is_far_away_half_way() -> None:
    still = smooth(4000, noise=0.0, seed=1)[1]
    y = drifting(4000, noise=0.0, period=1000, seed=1)[1]
    np.testing.assert_allclose(y[::1000], still[::1000], atol=1e-9)
    assert np.mean((y[480:520] - still[480:520]) ** 2) > 0.3
    np.testing.assert_array_equal(drifting(4000, period=math.inf, seed=1)[1], smooth(4000, seed=1)[1])


def test_abrupt_without_changes_is_smooth() -> None:
    X, y = abrupt(500, changes=0, seed=7)
    np.testing.assert_array_equal(X, smooth(500, seed=7)[0])
    np.testing.assert_allclose(y, smooth(500, seed=7)[1], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("rows", "changes"), [(4000, 3), (101, 6), (3, 2)])
def test_abrupt_changes_where_it_says(rows: int, changes: int) -> None:
    X, y = abrupt(rows, noise=0.0, changes=changes, seed=8)
    rng = np.random.default_rng(8)
    targets = [_draw_waves(rng, 5) for _ in range(changes + 1)]
    starts = [math.ceil(rows * s / (changes + 1)) for s in range(changes + 2)]
    for target, start, end in zip(targets, starts, starts[1:], strict=False):
        assert end > start
        np.testing.assert_allclose(y[start:end], target(X[start:end]), rtol=1e-14, atol=1e-14)
    values = np.array([target(X) for target in targets])
    assert np.all(np.abs(np.diff(values, axis=0)).mean(axis=1) > 0.3)  # the targets have little in common


def test_rings_need_a_circle() -> None:
    X, y = rings(4000, noise=0.1, seed=0)
    assert X.shape == (4000, 2)
    assert set(y) == {-1.0, 1.0}
    assert abs(np.mean(y)) < 0.1
    A = np.column_stack([X, np.ones(4000)])
    line = np.sign(A @ np.linalg.lstsq(A, y, rcond=None)[0])
    assert np.mean(line == y) < 0.7
    radius = np.hypot(X[:, 0], X[:, 1])
    assert np.mean(np.where(radius > 1.5, 1.0, -1.0) == y) > 0.999
    assert np.max(np.abs(np.hypot(*rings(100, noise=0.0)[0].T) % 1.0 - 0.5)) == pytest.approx(0.5)
    for half in (X[y > 0], X[y < 0]):  # all the way round
        assert np.all(np.abs(np.mean(half, axis=0)) < 0.15)


def test_friedman_is_its_formula() -> None:
    X, y = friedman(50, dim=7, noise=0.0, seed=9)
    assert X.shape == (50, 7)
    assert np.all((X >= 0.0) & (X < 1.0))
    for x, value in zip(X, y, strict=True):
        expected = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("generate", "arguments", "message"),
    [
        (smooth, {"rows": 0}, "rows must be a whole number of at least 1, got 0"),
        (smooth, {"rows": 2.5}, "rows must be a whole number of at least 1, got 2.5"),
        (smooth, {"rows": True}, "rows must be a whole number"),
        (smooth, {"dim": 0}, "dim must be a whole number of at least 1, got 0"),
        (smooth, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        (smooth, {"seed": None}, "seed must be a whole number"),
        (smooth, {"noise": -0.1}, "noise must be a finite number of at least 0, got -0.1"),
        (smooth, {"noise": math.nan}, "noise must be a finite number"),
        (smooth, {"noise": "loud"}, "noise must be a finite number"),
        (drifting, {"dim": 1}, "dim must be a whole number of at least 2, got 1"),
        (drifting, {"period": 0}, "period must be a positive number of rows, got 0"),
        (drifting, {"period": math.nan}, "period must be a positive number of rows, got nan"),
        (abrupt, {"changes": -1}, "changes must be a whole number of at least 0, got -1"),
        (abrupt, {"changes": 10}, "changes must be fewer than the 10 rows, got 10"),
        (rings, {"rows": 0}, "rows must be a whole number of at least 1, got 0"),
        (friedman, {"dim": 4}, "dim must be a whole number of at least 5, got 4"),
    ],
)
def test_bad_arguments_are_named(generate: Generator, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate(**{"rows": 10, **arguments})
