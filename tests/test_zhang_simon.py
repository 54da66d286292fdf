"""What the figures of papers/zhang_simon2021 rest on."""

from __future__ import annotations

import numpy as np
import pytest

import onkel
from papers.zhang_simon2021 import figure3, rates
from papers.zhang_simon2021.examples import CIRCLE, FIRST, FOURTH, LARGER, SECOND, THIRD, slanted

pytestmark = pytest.mark.once


def test_all_levels_are_ridge_regressions_of_the_first_functions() -> None:
    X, y = FOURTH.stream(300, 0)
    Psi, fresh = FOURTH.system.functions(X, 12), FOURTH.fresh(0)
    curves = rates.all_levels(np.eye(12) + Psi.T @ Psi, Psi.T @ y, FOURTH.system, fresh, np.arange(1, 13))
    for N in range(1, 13):
        theta = np.linalg.solve(np.eye(N) + Psi[:, :N].T @ Psi[:, :N], Psi[:, :N].T @ y)
        np.testing.assert_allclose(curves[:, N - 1], FOURTH.system.functions(fresh, N) @ theta, rtol=1e-9, atol=1e-12)


def test_a_growing_learner_has_no_less_error_than_the_best_level_in_hindsight() -> None:
    at = (100, 300, 1000)
    best, grown = rates.best_level(20, at)(SECOND, 0), rates.learnt(SECOND.growing, at)(SECOND, 0)
    assert all(few <= more for few, more in zip(best["error"], grown["error"], strict=True))
    fixed = onkel.MercerProjection(SECOND.system, count=int(best["level"][-1]), rate=1e-30)
    assert rates.learnt(fixed, at)(SECOND, 0)["error"][-1] == pytest.approx(best["error"][-1], rel=1e-9)


def test_a_slope_is_that_of_a_power() -> None:
    errors = 3.0 * np.array(rates.CHECKPOINTS) ** -0.8
    assert rates.slope(errors) == pytest.approx(-0.8, abs=1e-12)
    value, apart = rates.slope_and_spread([{"error": list(scale * errors)} for scale in (0.5, 1.0, 2.0)])
    assert value == pytest.approx(-0.8, abs=1e-12)
    assert apart < 1e-12


def test_sums_over_all_rows_are_functional_sgd() -> None:
    assert figure3.apart(300) < 1e-11


def test_the_streams_are_those_of_the_tables() -> None:
    X = slanted(np.random.default_rng(0), 200_000)
    assert X.mean() == pytest.approx(7.0 / 12.0, abs=3e-3)  # ∫ x (x + ½)
    x = np.array([[0.0], [0.3], [0.9]])
    np.testing.assert_allclose(SECOND.truth(x)[0], -3.0 * np.sin(-6.0) + np.cos(6.0) ** 2)
    np.testing.assert_allclose(THIRD.truth(x), [1.0, 1.2, 2.8])
    np.testing.assert_allclose(FIRST.truth(x), -24.0 / LARGER * CIRCLE(x, [[0.0]])[:, 0])
    np.testing.assert_allclose(FOURTH.truth(x) - SECOND.truth(x), [1.0, 1.0, 2.6])
