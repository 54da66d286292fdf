"""Ridge regression from sums of products: against plain solves."""

from __future__ import annotations

import numpy as np
import pytest

from onkel.linalg import corrected, gram


def test_every_prefix_is_solved_at_once() -> None:
    rng = np.random.default_rng(0)
    V, Y, ends, ridge = rng.normal(size=(50, 12)), rng.normal(size=(50, 2)), np.array([3, 7, 12]), np.linspace(0.1, 2.0, 12)
    products, targets, R, theta = np.zeros((12, 12)), np.zeros((2, 12)), np.zeros((12, 12)), np.empty((2, 3, 12))
    for part in (slice(0, 20), slice(20, 50)):
        gram.add(products, targets, V[part], Y[part])
    gram.factorise(products, ridge, R)
    gram.solve(R, targets, ends, theta)
    for p, N in enumerate(ends):
        expected = np.linalg.solve(V[:, :N].T @ V[:, :N] + np.diag(ridge[:N]), V[:, :N].T @ Y)
        assert np.allclose(theta[:, p, :N], expected.T, rtol=0.0, atol=1e-12)
        assert not theta[:, p, N:].any()


def test_a_ridge_too_small_for_the_digits_is_raised() -> None:
    V = np.ones((10, 2))  # singular
    products, targets, R = np.zeros((2, 2)), np.zeros((1, 2)), np.zeros((2, 2))
    gram.add(products, targets, 1e6 * V, np.ones((10, 1)))
    gram.factorise(products, np.full(2, 1e-30), R)
    assert np.isfinite(R).all()
    assert R[1, 1] > 0.0


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_rows_that_wait_correct_the_factor_exactly(forgetting: float) -> None:
    rng = np.random.default_rng(1)
    r, outputs, block, n = 9, 2, 8, 60
    V, Y, w = rng.normal(size=(n, r)), rng.normal(size=(n, outputs)), rng.choice([0.0, 0.5, 2.0], size=n)
    ends, ridge = np.array([2, 5, 9, 9]), np.linspace(0.1, 1.0, r)
    rule = corrected.CorrectedSettings(ends, ridge, forgetting)
    lanes = corrected.EXPERTS
    sums = corrected.Sums(
        np.zeros((r, r)), np.zeros((outputs, r)), np.diag(np.sqrt(ridge)), np.zeros((outputs, r)), np.zeros((block, r)),
        np.zeros((block, r)), np.zeros((block, outputs)), np.zeros((block, block, lanes)), np.zeros((block, outputs, lanes)),
        np.zeros(1, np.int64),
    )  # fmt: skip
    scores, ahead = np.empty((n, outputs, lanes)), np.empty((1, outputs, lanes))
    corrected.learn(sums, rule, V[:37], Y[:37], w[:37], scores[:37])
    corrected.predict(sums, rule, V[37:38], ahead)
    corrected.learn(sums, rule, V[37:], Y[37:], w[37:], scores[37:])
    assert np.allclose(ahead[0], scores[37], rtol=0.0, atol=1e-12)
    A, G, b, rows = np.diag(ridge), np.zeros((r, r)), np.zeros((r, outputs)), 0
    for t in range(n):
        for p, N in enumerate(ends):
            assert np.allclose(scores[t, :, p], V[t, :N] @ np.linalg.solve(A[:N, :N], b[:N]), rtol=0.0, atol=1e-11)
        if w[t] > 0.0:
            new = w[t] * np.outer(V[t], V[t])
            A, G, b, rows = forgetting * A + new, forgetting * G + new, forgetting * b + w[t] * np.outer(V[t], Y[t]), rows + 1
            if rows % block == 0:
                A = G + np.diag(ridge)
