"""Leading eigenpairs and singular triplets under updates: the same as decomposing the updated matrix, and orthonormal for good."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onkel.errors import InputError
from onkel.linalg.eigen import leading, tisvd, updated

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
Start = tuple[np.random.Generator, int, int, Array]  # a generator, n, k, and a semi-definite matrix of size n and any rank


def whole(U: Array, values: Array, V: Array | None = None) -> Array:
    return np.asarray((U * values) @ (U if V is None else V).T)


def symmetric(s: Array, u: Array, own: float) -> Array:
    return np.outer(s, u) + np.outer(u, s) + own * np.outer(s, s)


def assert_leading(target: Array, U: Array, values: Array, tolerance: float) -> None:
    """Values and vectors are the leading eigenpairs of the target, said so that equal eigenvalues leave no doubt."""
    k = values.size
    assert gap(U) < 1e-12
    assert np.all(np.diff(values) <= 0.0)
    assert np.abs(values - np.maximum(np.linalg.eigvalsh(target)[::-1][:k], 0.0)).max() <= tolerance
    assert np.abs(target @ U - U * values)[:, values > 0.0].max(initial=0.0) <= tolerance


def assert_leading_triplets(target: Array, U: Array, values: Array, V: Array, tolerance: float) -> None:
    assert max(gap(U), gap(V)) < 1e-12
    assert np.all(np.diff(values) <= 0.0)
    assert np.abs(values - np.linalg.svd(target, compute_uv=False)[: values.size]).max() <= tolerance
    assert np.abs(target @ V - U * values).max() <= tolerance
    assert np.abs(target.T @ U - V * values).max() <= tolerance


def gap(U: Array) -> float:
    return float(np.abs(U.T @ U - np.eye(U.shape[1])).max())


def semi_definite(rng: np.random.Generator, n: int, rank: int) -> Array:
    half = rng.normal(size=(n, rank))
    return np.asarray(half @ half.T)


@st.composite
def starts(draw: st.DrawFn) -> Start:
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    M = semi_definite(rng, n, draw(st.integers(0, n))) * 10.0 ** draw(st.sampled_from([-8, 0, 8]))
    return rng, n, draw(st.integers(1, n)), M


@st.composite
def directions(draw: st.DrawFn, rng: np.random.Generator, U: Array) -> Array:
    """A vector: any, zero, in span U, a coordinate, or in span U but for a billionth."""
    n = len(U)
    made = {
        "any": rng.normal(size=n),
        "zero": np.zeros(n),
        "in the span": U @ rng.normal(size=U.shape[1]),
        "a coordinate": np.eye(n)[rng.integers(n)],
        "nearly in the span": U @ rng.normal(size=U.shape[1]) + 1e-9 * rng.normal(size=n),
    }
    return np.asarray(made[draw(st.sampled_from(sorted(made)))] * 10.0 ** draw(st.sampled_from([-6, 0, 6])))


class TestLeading:
    @settings(max_examples=60, deadline=None)
    @given(starts())
    def test_the_best_approximation_with_orthonormal_columns_whatever_the_rank(self, start: Start) -> None:
        _, n, k, M = start
        U, values = leading(M, k)
        assert U.shape == (n, k)
        assert_leading(M, U, values, 1e-10 * np.abs(M).max())

    def test_rounding_is_no_eigenvalue(self) -> None:
        M = semi_definite(np.random.default_rng(0), 50, 3)
        _, values = leading(M, 20)
        assert np.all(values[:3] > 1.0)
        assert np.all(values[3:] == 0.0)
        _, values = leading(np.diag([1.0, 1e-11, 1e-13, -1e-3]), 4)
        assert values.tolist() == [1.0, 1e-11, 0.0, 0.0]

    def test_nothing_and_nothing_positive(self) -> None:
        for M in (np.zeros((3, 3)), -np.eye(3)):
            U, values = leading(M, 2)
            assert values.tolist() == [0.0, 0.0]
            assert gap(U) < 1e-15

    @pytest.mark.parametrize("k", [0, 4])
    def test_k_must_fit(self, k: int) -> None:
        with pytest.raises(InputError, match=f"k must be from 1 to 3, the size of the matrix, got {k}"):
            leading(np.eye(3), k)


class TestUpdated:
    @settings(max_examples=200, deadline=None)
    @given(st.data(), starts(), st.sampled_from([0.0, 1.0, 1e-6, 3.0]))
    def test_the_eigenpairs_of_what_was_kept_and_the_update(self, data: st.DataObject, start: Start, own: float) -> None:
        rng, n, k, M = start
        U, values = leading(M, k)
        for _ in range(3):
            s = data.draw(directions(rng, U))
            u = data.draw(st.sampled_from([1.0, -2.0, 0.0])) * s if data.draw(st.booleans()) else data.draw(directions(rng, U))
            target = whole(U, values) + symmetric(s, u, own)
            scale = values.max(initial=0.0) + np.linalg.norm(s) * (2.0 * np.linalg.norm(u) + own * np.linalg.norm(s))
            U, values = updated(U, values, s, u, own)
            assert U.shape == (n, k)
            assert_leading(target, U, values, 1e-9 * scale)

    def test_with_all_directions_kept_it_is_the_decomposition_of_the_sum(self) -> None:
        rng = np.random.default_rng(1)
        M = semi_definite(rng, 20, 20)
        U, values = leading(M, 20)
        for _ in range(200):
            x, s = rng.normal(size=20), rng.choice([-1.0, 1.0], 20)
            M += np.outer(x + s, x + s)
            U, values = updated(U, values, x, np.zeros(20), 1.0)  # xxᵀ first, then the rest of it
            U, values = updated(U, values, s, x, 1.0)
        assert np.abs(values - np.linalg.eigvalsh(M)[::-1]).max() < 1e-10 * values[0]
        assert np.abs(whole(U, values) - M).max() < 1e-10 * values[0]

    @pytest.mark.parametrize("nearly", [0.0, 1e-8, 1e-5])
    def test_a_thousand_updates_leave_the_columns_orthonormal(self, nearly: float) -> None:
        """With s and u in span U, and parallel, but for `nearly`: there the new directions have few digits of their own."""
        rng = np.random.default_rng(2)
        U, values = leading(semi_definite(rng, 60, 60), 8)
        for _ in range(1000):
            s = U @ rng.normal(size=8) + nearly * rng.normal(size=60) if nearly else rng.normal(size=60)
            u = 0.3 * s + nearly * rng.normal(size=60)
            U, values = updated(U, values, s, u, 1.0)
            assert gap(U) < 1e-9
        assert np.all(np.isfinite(values))

    def test_s_and_u_share_one_scale(self) -> None:
        """s uᵀ does not change if s is a millionth of a millionth and u the inverse."""
        rng = np.random.default_rng(3)
        U, values = leading(semi_definite(rng, 9, 9), 4)
        s, u = rng.normal(size=9), rng.normal(size=9)
        plain, stretched = updated(U, values, s, u, 0.0), updated(U, values, 1e-12 * s, 1e12 * u, 0.0)
        assert np.abs(whole(*plain) - whole(*stretched)).max() < 1e-10 * values[0]

    def test_an_update_of_nothing_changes_nothing(self) -> None:
        U, values = leading(semi_definite(np.random.default_rng(4), 7, 5), 3)
        again = updated(U, values, np.zeros(7), np.zeros(7), 1.0)
        assert np.abs(whole(*again) - whole(U, values)).max() < 1e-12 * values[0]

    def test_the_arrays_given_are_left_alone(self) -> None:
        rng = np.random.default_rng(5)
        U, values = leading(semi_definite(rng, 7, 7), 3)
        s, u = rng.normal(size=7), rng.normal(size=7)
        given = [U, values, s, u]
        before = [array.copy() for array in given]
        updated(U, values, s, u, 1.0)
        tisvd(U, values, U, np.column_stack([s, u]), np.column_stack([u, s]))
        assert all(np.array_equal(one, other) for one, other in zip(before, given, strict=True))

    def test_what_truncation_loses(self) -> None:
        """A direction that always starts from nothing never gets in, however often it comes: the sum is diag(1, 10)."""
        U, values = leading(np.diag([1.0, 0.0]), 1)
        for _ in range(20):
            U, values = updated(U, values, np.array([0.0, 1.0]), np.zeros(2), 0.5)
        assert np.abs(whole(U, values) - np.diag([1.0, 0.0])).max() < 1e-15


class TestTisvd:
    @settings(max_examples=200, deadline=None)
    @given(st.data(), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(0, 2**32 - 1))
    def test_the_best_approximation_of_what_was_kept_and_the_update(
        self, data: st.DataObject, n: int, m: int, columns: int, seed: int
    ) -> None:
        rng, k = np.random.default_rng(seed), data.draw(st.integers(1, min(n, m)))
        X, values, Yt = np.linalg.svd(rng.normal(size=(n, m)), full_matrices=False)
        U, values, V = X[:, :k], values[:k] * rng.choice([0.0, 1.0, 1.0], k), Yt[:k].T
        order = np.argsort(-values, kind="stable")
        U, values, V = U[:, order], values[order], V[:, order]
        for _ in range(3):
            A = np.column_stack([data.draw(directions(rng, U)) for _ in range(columns)])
            B = np.column_stack([data.draw(directions(rng, V)) for _ in range(columns)])
            A[:, -1] = A[:, 0]  # rank-deficient, as the paper's own three columns are
            target = whole(U, values, V) + A @ B.T
            scale = values.max() + float(np.sum(np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)))
            U, values, V = tisvd(U, values, V, A, B)
            assert U.shape == (n, k)
            assert V.shape == (m, k)
            assert_leading_triplets(target, U, values, V, 1e-9 * scale)

    def test_with_all_directions_kept_it_is_the_decomposition_of_the_sum(self) -> None:
        rng = np.random.default_rng(6)
        M = rng.normal(size=(15, 12))
        X, values, Yt = np.linalg.svd(M, full_matrices=False)
        U, V = X, Yt.T
        for _ in range(200):
            A, B = rng.normal(size=(15, 3)), rng.normal(size=(12, 3))
            M += A @ B.T
            U, values, V = tisvd(U, values, V, A, B)
        assert np.abs(values - np.linalg.svd(M, compute_uv=False)).max() < 1e-10 * values[0]
        assert np.abs(whole(U, values, V) - M).max() < 1e-10 * values[0]

    @pytest.mark.parametrize("nearly", [0.0, 1e-8, 1e-5])
    def test_thousands_of_updates_leave_the_columns_orthonormal(self, nearly: float) -> None:
        rng = np.random.default_rng(7)
        X, values, Yt = np.linalg.svd(rng.normal(size=(40, 30)))
        U, values, V = X[:, :6], values[:6], Yt[:6].T
        for _ in range(3000):
            A, B = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
            if nearly:
                A, B = U @ rng.normal(size=(6, 3)) + nearly * A, V @ rng.normal(size=(6, 3)) + nearly * B
                A[:, 1] = A[:, 0] + nearly * rng.normal(size=40)
            U, values, V = tisvd(U, values, V, A, B)
        assert max(gap(U), gap(V)) < 1e-9
        assert np.all(np.isfinite(values))

    def test_a_symmetric_update_gives_what_updated_gives(self) -> None:
        """In the paper's three columns, and with the sum semi-definite, as the sketch of a kernel matrix is."""
        rng = np.random.default_rng(8)
        U, values = leading(semi_definite(rng, 20, 20), 5)
        left, sizes, right = U, values, U
        for _ in range(50):
            s = rng.normal(size=20)
            g = rng.normal(size=5)
            u, own = U @ (np.sqrt(values) * g), float(g @ g)  # (L + s gᵀ)(L + s gᵀ)ᵀ, where the matrix is LLᵀ
            U, values = updated(U, values, s, u, own)
            left, sizes, right = tisvd(left, sizes, right, np.column_stack([s, u, s]), np.column_stack([u, s, own * s]))
            assert np.abs(whole(U, values) - whole(left, sizes, right)).max() < 1e-10 * values[0]
            assert np.abs(values - sizes).max() < 1e-10 * values[0]
