"""A⁻¹ under rank-one updates: right, symmetric to the last bit, and positive however far a row stands out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel._jit import compiler_off
from onkel.features.sketch import padded
from onkel.linalg.covariance import LARGEST_LEVERAGE, check, inner, narrow, times

Array = NDArray[np.float64]


def narrowed(P: Array, G: Array, eta: float) -> float:
    """One round, on arrays with zeros behind their columns; returns the leverage."""
    p = np.empty(P.shape[1])
    times(P, G, p)
    s = inner(G, p)
    narrow(P, G, p, s, eta)
    return float(eta * s)


@settings(deadline=None)  # the first example compiles
@given(st.integers(1, 12), st.integers(0, 2**32), st.floats(1e-3, 1e3), st.floats(0.01, 10.0))
def test_it_stays_the_inverse(k: int, seed: int, ridge: float, eta: float) -> None:
    rng = np.random.default_rng(seed)
    P, A = padded(np.eye(k) / ridge, k), ridge * np.eye(k)
    for _ in range(30):
        G = np.zeros(P.shape[1])
        G[:k] = rng.normal(size=k)
        narrowed(P, G, eta)
        A += eta * np.outer(G[:k], G[:k])
        assert np.array_equal(P[:, :k], P[:, :k].T)
        assert not P[:, k:].any()
    assert np.abs(P[:, :k] @ A - np.eye(k)).max() <= 1e-11 * np.linalg.cond(A)
    check(np.ascontiguousarray(P[:, :k]), ridge)


@pytest.mark.parametrize("size", [100.0, 1e4, 1e6])
def test_a_row_that_stands_out_leaves_a_sound_matrix(size: float) -> None:
    """Along G, 1/P is what it was plus η‖G‖²: the plain update would leave fewer digits of it, the larger G is."""
    rng = np.random.default_rng(0)
    k, eta = 10, 0.5
    P = padded(np.eye(k), k)
    G = np.zeros(P.shape[1])
    G[:k] = size * rng.normal(size=k)
    exact = 1.0 / (1.0 / np.dot(G, G) + eta) / np.dot(G, G)  # GᵀPG/‖G‖² afterwards, times 1
    leverage = narrowed(P, G, eta)
    assert (leverage > LARGEST_LEVERAGE) == (size > 100.0)
    unit = G[:k] / np.linalg.norm(G)
    assert unit @ P[:, :k] @ unit == pytest.approx(exact, rel=1e-6)
    assert np.linalg.eigvalsh(P[:, :k])[0] > 0.0


@pytest.mark.skipif(compiler_off, reason="10^5 rounds take minutes with the compiler off")
def test_it_does_not_drift() -> None:
    rng = np.random.default_rng(1)
    k = 6
    P, A = padded(100.0 * np.eye(k), k), 0.01 * np.eye(k)
    rows = rng.normal(size=(100_000, k)) * np.array([1.0, 1.0, 0.5, 0.1, 0.01, 0.0])
    for row in rows:
        G = np.zeros(P.shape[1])
        G[:k] = row
        narrowed(P, G, 0.5)
    A += 0.5 * rows.T @ rows
    assert np.allclose(P[:, :k], np.linalg.inv(A), rtol=0.0, atol=1e-10 * 100.0)


def test_a_matrix_that_no_rows_made_is_refused() -> None:
    for wrong in (np.diag([1.0, -1.0]), np.array([[1.0, 0.1], [0.2, 1.0]]), np.diag([1.0, 200.0]), np.full((2, 2), np.nan)):
        with pytest.raises(onkel.InputError, match="inverse"):
            check(wrong, 0.01)
    check(np.diag([1.0, 100.0]), 0.01)
