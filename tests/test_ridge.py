"""The shared ridge arithmetic: both forms equal the matrices they stand for, whatever comes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onkel.errors import InputError
from onkel.linalg import blas, cholesky, factor, inverse, loops, rank_one, ridge, triangular

Array = NDArray[np.float64]


def explicit(V: Array, Y: Array, weight: Array, lam: float, forgetting: float) -> tuple[Array, Array]:
    """A and b by their definition."""
    r = V.shape[1]
    A, b, t = lam * np.eye(r), np.zeros((r, Y.shape[1])), 0
    for v, y, w in zip(V, Y, weight, strict=True):
        if w > 0.0:
            A, b = forgetting * A, forgetting * b
            A[t % r, t % r] += lam * (1.0 - forgetting**r)
            A += w * np.outer(v, v)
            b += w * np.outer(v, y)
            t += 1
    return A, b


def learn(state: ridge.Ridge, V: Array, Y: Array, weight: Array, awv: bool, lam: float, forgetting: float) -> Array:
    scores = np.empty(Y.shape)
    ridge.learn(state, V, Y, weight, awv, lam, forgetting, scores)
    return scores


def predict(state: ridge.Ridge, V: Array, awv: bool, lam: float, forgetting: float) -> Array:
    scores = np.empty((len(V), len(state.coef)))
    ridge.predict(state, V, awv, lam, forgetting, scores)
    return scores


def matrix_of(state: ridge.Ridge) -> Array:
    upper = np.triu(state.matrix)
    if state.factored:
        return np.asarray(state.scale[0] ** 2 * upper.T @ upper)
    return np.asarray(np.linalg.inv(upper + np.triu(upper, 1).T))


@st.composite
def sequences(draw: st.DrawFn) -> tuple[Array, Array, Array, list[int]]:
    """Rows of any scale, repeated at will, with weights, and a cut into blocks."""
    r, n = draw(st.integers(1, 9)), draw(st.integers(1, 80))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    V = rng.normal(size=(n, r)) * 10.0 ** draw(st.sampled_from([-3, -1, 0, 1]))
    if draw(st.booleans()):
        V = V[rng.integers(0, min(n, 3), size=n)]
    weight = rng.choice([0.0, 1.0, 1.0, 0.2, 7.0], size=n)
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return V, rng.normal(size=(n, draw(st.integers(1, 3)))), weight, [0, *cuts, n]


@settings(max_examples=60, deadline=None)
@given(sequences(), st.sampled_from([1.0, 0.9, 0.3]), st.sampled_from([1e-7, 0.01, 1.0, 50.0]), st.booleans())
def test_any_sequence_of_updates_keeps_the_matrices(
    sequence: tuple[Array, Array, Array, list[int]], forgetting: float, lam: float, awv: bool
) -> None:
    V, Y, weight, cuts = sequence
    state = ridge.init(V.shape[1], Y.shape[1], lam, forgetting)
    for start, stop in pairwise(cuts):
        learn(state, V[start:stop], Y[start:stop], weight[start:stop], awv, lam, forgetting)
    A, b = explicit(V, Y, weight, lam, forgetting)
    kept = matrix_of(state)
    assert np.abs(kept - A).max() <= 1e-9 * np.abs(A).max()
    theta = np.linalg.solve(kept, b) if not state.factored else None
    if theta is None:
        assert np.abs(state.scale**2 * np.triu(state.matrix).T @ state.coef.T - b).max() <= 1e-9 * max(1.0, np.abs(b).max())
    else:
        assert np.abs(A @ (state.coef.T - theta)).max() <= 1e-8 * max(1.0, np.abs(b).max())
    assert state.rows == np.count_nonzero(weight)
    assert np.all(np.diag(state.matrix) > 0.0)


@settings(max_examples=60, deadline=None)
@given(sequences(), st.sampled_from([0.01, 1.0, 50.0]))
def test_rows_that_are_solved_already_and_features_that_join_late(
    sequence: tuple[Array, Array, Array, list[int]], lam: float
) -> None:
    """`learn_solved` row by row, and `border` for features that were 0 or were not there: R and c stay those of A and b."""
    V, Y, weight, cuts = sequence
    n, r = V.shape
    late = r // 2  # features that join in the middle, with their past
    R, c = np.sqrt(lam) * np.eye(r - late), np.zeros((Y.shape[1], r - late))
    seen = np.zeros(n, dtype=bool)
    for t in range(n):
        while t >= cuts[1] and len(R) < r:
            j, w = len(R), weight * seen
            column, target = V[:, :j].T @ (w * V[:, j]), Y.T @ (w * V[:, j])
            R, c, _ = factor.border(R, c, column, lam + float(w @ V[:, j] ** 2), target, lam)
        z = V[t, : len(R)] * np.sqrt(weight[t])
        triangular.solve_row(R, z)
        rank_one.learn_solved(R, c, z, np.sqrt(weight[t]) * Y[t], rank_one.workspace(len(R)))
        seen[t] = True
    A, b = explicit(V[:, : len(R)], Y, weight, lam, 1.0)
    assert np.abs(R.T @ R - A).max() <= 1e-9 * np.abs(A).max()
    assert np.abs(R.T @ c.T - b).max() <= 1e-9 * max(1.0, np.abs(b).max())
    assert np.all(np.diag(R) > 0.0)
    assert np.array_equal(R, np.triu(R))


def test_a_border_that_loses_its_digits_is_raised_and_said() -> None:
    R, c = np.eye(1), np.zeros((1, 1))
    wider, _, sound = factor.border(R, c, np.array([1.0]), 1.0 + 1e-20, np.zeros(1), 1e-3)
    assert not sound
    assert wider[1, 1] == np.sqrt(1e-3)
    assert factor.border(R, c, np.array([1.0]), 1.1, np.zeros(1), 1e-3)[2]


@pytest.mark.parametrize(
    "wrong", [np.eye(3), 0.5 * np.eye(2), -np.eye(2), np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1e200], [0.0, 1.0]])]
)
def test_a_triangle_that_rows_cannot_have_made(wrong: Array) -> None:
    factor.check_factor(np.array([[1.0, 5.0], [0.0, 2.0]]), np.zeros((1, 2)), 2, 1.0)
    with pytest.raises(InputError, match="its matrix"):
        factor.check_factor(wrong, np.zeros((1, 2)), 2, 1.0)
    with pytest.raises(InputError, match="its matrix"):
        factor.check_factor(np.eye(2), np.full((1, 2), 1e200), 2, 1.0)


@settings(max_examples=30, deadline=None)
@given(sequences(), st.sampled_from([1.0, 0.95]), st.data())
def test_the_leading_block_is_the_factor_of_the_leading_features(
    sequence: tuple[Array, Array, Array, list[int]], forgetting: float, data: st.DataObject
) -> None:
    V, Y, weight, _ = sequence
    lam, r = 1e-7, V.shape[1]
    state = ridge.init(r, Y.shape[1], lam, forgetting)
    learn(state, V, Y, weight, True, lam, forgetting)
    N = data.draw(st.integers(1, r))
    A, b = explicit(V, Y, weight, lam, forgetting)
    R, c = np.triu(state.matrix)[:N, :N], state.coef[:, :N]
    assert np.abs(state.scale**2 * R.T @ R - A[:N, :N]).max() <= 1e-9 * np.abs(A).max()
    assert np.abs(state.scale**2 * R.T @ c.T - b[:N]).max() <= 1e-9 * max(1.0, np.abs(b).max())


def test_a_prediction_by_the_leading_features_alone() -> None:
    rng = np.random.default_rng(0)
    V, Y, N = rng.normal(size=(60, 6)), rng.normal(size=(60, 2)), 4
    whole, part = ridge.init(6, 2, 1e-7, 1.0), ridge.init(N, 2, 1e-7, 1.0)
    learn(whole, V, Y, np.ones(60), True, 1e-7, 1.0)
    learn(part, np.ascontiguousarray(V[:, :N]), Y, np.ones(60), True, 1e-7, 1.0)
    new = rng.normal(size=(5, N))
    expected, leading = predict(part, new, True, 1e-7, 1.0), predict(whole, new, True, 1e-7, 1.0)
    assert np.abs(leading - expected).max() <= 1e-12


@pytest.mark.parametrize("awv", [True, False])
def test_the_forms_agree_and_the_move_between_them_is_exact(awv: bool) -> None:
    rng = np.random.default_rng(1)
    V, Y, weight = rng.normal(size=(200, 12)), rng.normal(size=(200, 2)), rng.choice([0.0, 1.0, 3.0], size=200)
    stays, moves = ridge.init(12, 2, 0.3, 1.0), ridge.init(12, 2, 0.3, 1.0)
    first = learn(stays, V[:100], Y[:100], weight[:100], awv, 0.3, 1.0)
    assert np.array_equal(first, learn(moves, V[:100], Y[:100], weight[:100], awv, 0.3, 1.0))
    ridge.move_to_factor(moves)
    on, over = (learn(s, V[100:], Y[100:], weight[100:], awv, 0.3, 1.0) for s in (stays, moves))
    assert (stays.factored, moves.factored) == (0, 1)
    assert np.abs(on - over).max() <= 1e-12
    assert np.abs(matrix_of(stays) - matrix_of(moves)).max() <= 1e-9


@pytest.mark.parametrize("size", [1, 3, 40])
def test_a_row_beyond_the_largest_leverage_moves_to_the_factor_and_stays_right(size: int) -> None:
    rng = np.random.default_rng(2)
    V, Y = rng.normal(size=(120, 5)), rng.normal(size=(120, 1))
    V[70] *= 1e6
    state = ridge.init(5, 1, 1.0, 1.0)
    for t in range(0, 120, size):
        learn(state, V[t : t + size], Y[t : t + size], np.ones(120)[t : t + size], True, 1.0, 1.0)
    assert (state.factored, state.moved) == (1, 1)
    assert any("factor form" in note for note in ridge.notes(state, 1.0, 1.0))
    A, b = explicit(V, Y, np.ones(120), 1.0, 1.0)
    assert np.abs(matrix_of(state) - A).max() <= 1e-12 * np.abs(A).max()
    assert np.abs(np.triu(state.matrix).T @ state.coef.T - b).max() <= 1e-12 * np.abs(b).max()


def exactly(V: Array, Y: Array, lam: float, awv: bool) -> Array:
    """The scores in rational arithmetic, from the definition; only the result is rounded."""
    r = V.shape[1]
    A = [[Fraction(lam) * (i == j) for j in range(r)] for i in range(r)]
    b, out = [Fraction(0)] * r, []
    for row, label in zip(V.tolist(), Y[:, 0].tolist(), strict=True):
        v, y = [Fraction(x) for x in row], Fraction(label)
        grown = [[A[i][j] + v[i] * v[j] for j in range(r)] for i in range(r)]
        solution = _eliminated(grown if awv else A, b)
        out.append(float(sum(x * z for x, z in zip(v, solution, strict=True))))
        A, b = grown, [bi + y * x for bi, x in zip(b, v, strict=True)]
    return np.array(out)[:, None]


def _eliminated(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    M = [[*row, bi] for row, bi in zip(A, b, strict=True)]
    for k in range(len(M)):
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(len(M)):
            if i != k:
                M[i] = [x - M[i][k] * z for x, z in zip(M[i], M[k], strict=True)]
    return [row[-1] for row in M]


GROWING: dict[str, Array] = {
    "doubling": np.column_stack([2.0 ** np.arange(30), np.ones(30)]),
    "tripling": np.column_stack([3.0 ** np.arange(40), np.ones(40)]),
    "half as much again": np.column_stack([1.5 ** np.arange(60), np.ones(60)]),
    "three scales": np.repeat([1.0, 100.0, 1e4], 12)[:, None] * np.random.default_rng(0).normal(size=(36, 3)),
    "a row that overshoots": np.array([(200.0, 200.0), (56e3, 56e3), (56e3, 56001.0), (5e4, 5e4), (3e4, 1.0), (1.0, 2.0)]),
}


@pytest.mark.parametrize("awv", [True, False])
@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("kind", GROWING)
def test_rows_that_grow_quickly_are_learnt_exactly(kind: str, size: int, awv: bool) -> None:
    V = np.ascontiguousarray(GROWING[kind])
    Y = np.random.default_rng(1).normal(size=(len(V), 1))
    state = ridge.init(V.shape[1], 1, 1.0, 1.0)
    scores = [
        learn(state, V[t : t + size], Y[t : t + size], np.ones(len(V[t : t + size])), awv, 1.0, 1.0) for t in range(0, len(V), size)
    ]
    expected = exactly(V, Y, 1.0, awv)
    assert np.abs(np.concatenate(scores) - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.parametrize("top", [10.0, 1e6, 1e8])
def test_digits_lost_little_by_little_move_to_the_factor_too(size: int, top: float) -> None:
    """Rows along one direction that grow slowly: no single one has a large leverage, together they would ruin the inverse."""
    rng = np.random.default_rng(3)
    V = rng.normal(size=(400, 4)) + np.geomspace(1.0, top, 400)[:, None]
    Y = rng.normal(size=(400, 1))
    state, factored = ridge.init(4, 1, 1.0, 1.0), ridge.init(4, 1, 1.0, 1.0)
    ridge.move_to_factor(factored)
    scores, expected = [], []
    for t in range(0, 400, size):
        now = slice(t, t + size)
        scores.append(learn(state, V[now], Y[now], np.ones(size)[: len(V[now])], False, 1.0, 1.0))
        expected.append(learn(factored, V[now], Y[now], np.ones(size)[: len(V[now])], False, 1.0, 1.0))
    worst = np.abs(np.concatenate(scores) - np.concatenate(expected)).max()
    assert worst <= 1e-9 * max(1.0, np.abs(np.concatenate(expected)).max())
    assert state.moved == (top > 10.0)


def test_a_row_of_weight_0_never_moves_the_form() -> None:
    state = ridge.init(3, 1, 1.0, 1.0)
    learn(state, np.full((40, 3), 1e9), np.ones((40, 1)), np.zeros(40), True, 1.0, 1.0)
    assert (state.factored, state.rows) == (0, 0)
    assert np.array_equal(state.matrix, np.eye(3))


def test_a_heavy_weight_counts_as_leverage() -> None:
    state = ridge.init(3, 1, 1.0, 1.0)
    learn(state, np.ones((1, 3)), np.ones((1, 1)), np.array([1e6]), True, 1.0, 1.0)
    assert state.moved == 1


def test_a_negative_leverage_is_clamped_counted_and_said() -> None:
    state = ridge.init(2, 1, 1.0, 1.0)
    state.matrix[:] = [[1.0, 1.0], [0.0, 1.0 - 1e-9]]  # an inverse that rounding has left slightly indefinite
    score = learn(state, np.array([[1.0, -1.0]]), np.array([[1.0]]), np.ones(1), True, 1.0, 1.0)
    assert state.clamped == 1
    assert score[0, 0] == 0.0
    assert any("negative 1 times" in note for note in ridge.notes(state, 1.0, 1.0))


@pytest.mark.parametrize("awv", [True, False])
def test_a_negative_leverage_in_a_block_is_clamped_too(awv: bool) -> None:
    state = ridge.init(2, 1, 1.0, 1.0)
    state.matrix[:] = [[1.0, 1.0], [0.0, 1.0 - 1e-9]]
    state.coef[:] = [[3.0, 1.0]]
    V = np.tile([[1.0, -1.0]], (8, 1))
    assert np.array_equal(predict(state, V, awv, 1.0, 1.0), np.full((8, 1), 2.0))
    scores = learn(state, V, np.full((8, 1), 2.0), np.ones(8), awv, 1.0, 1.0)
    assert state.clamped > 0
    assert scores[0, 0] == 2.0


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_a_state_is_checked(forgetting: float) -> None:
    def made() -> ridge.Ridge:
        state = ridge.init(2, 1, 1.0, forgetting)
        learn(state, np.ones((3, 2)), np.ones((3, 1)), np.ones(3), True, 1.0, forgetting)
        return state

    ridge.check(made(), 1.0, forgetting)
    for name, value in (("scale", np.zeros(1)), ("matrix", -np.eye(2)), ("matrix", np.zeros((2, 2))), ("diagonal", np.zeros(2))):
        state = made()
        setattr(state, name, value)
        with pytest.raises(InputError, match="positive"):
            ridge.check(state, 1.0, forgetting)
    if forgetting == 1.0:
        state = made()
        state.matrix[0, 1] = 9.0
        with pytest.raises(InputError, match="positive definite"):
            ridge.check(state, 1.0, forgetting)
        with pytest.raises(InputError, match="never use"):
            ridge.check(made(), 1e-9, forgetting)


@pytest.mark.parametrize("size", [1, 5, 100])
def test_the_scale_folds_at_the_same_rows_whatever_the_cut(size: int) -> None:
    rng = np.random.default_rng(5)
    V, Y = rng.normal(size=(100, 4)), rng.normal(size=(100, 1))
    state = ridge.init(4, 1, 1.0, 0.5)
    for t in range(0, 100, size):
        learn(state, V[t : t + size], Y[t : t + size], np.ones(len(V[t : t + size])), False, 1.0, 0.5)
    fold = 0
    for t in range(0, 100, factor.ROUNDS):
        fold = t if 0.5 ** ((t - fold) / 2) < factor.SMALLEST_SCALE else fold
    assert fold > 50
    assert state.scale[0] == pytest.approx(0.5 ** ((100 - fold) / 2))


def test_settings_choose_the_form() -> None:
    assert ridge.init(3, 1, 1.0, 1.0).factored == 0
    assert ridge.init(3, 1, 1.0, 0.999).factored == 1
    assert ridge.init(3, 1, ridge.SMALLEST_HONEST_RIDGE / 2, 1.0).factored == 1


@pytest.mark.parametrize("r", [1, 2, 7, 40])
def test_solves_equal_their_twins(r: int) -> None:
    rng = np.random.default_rng(r)
    R = np.triu(rng.normal(size=(r, r)), 1) / r + np.diag(rng.uniform(1.0, 2.0, r))
    L, v = R.T[np.tril_indices(r)].copy(), rng.normal(size=r)
    pairs: list[tuple[Any, Any]] = [
        (cholesky.solve, cholesky.solve_twin),
        (cholesky.solve_transposed, cholesky.solve_transposed_twin),
    ]
    for fast, twin in pairs:
        one, other = v.copy(), v.copy()
        fast(L, r, one)
        twin(L, r, other)
        assert np.abs(one - other).max() <= 1e-13 * np.abs(other).max()
    one, other = v.copy(), v.copy()
    triangular.solve_row(R, one)
    triangular.solve_row_twin(R, other)
    assert np.abs(one - other).max() <= 1e-13 * np.abs(other).max()
    rows = [v.copy(), R[0].copy(), v.copy(), R[0].copy()]
    rank_one._update_row(rows[0], rows[1], 1.1, 0.3, 0.7)
    rank_one.update_row_twin(rows[2], rows[3], 1.1, 0.3, 0.7)
    assert np.abs(np.array(rows[:2]) - np.array(rows[2:])).max() <= 1e-14


@pytest.mark.parametrize("r", [1, 2, 7, 40])
@pytest.mark.parametrize("b", [1, 3, 32])
@pytest.mark.parametrize("ours", [blas, loops])
def test_blas_equals_its_twin(r: int, b: int, ours: ModuleType) -> None:
    rng = np.random.default_rng(r * 100 + b)
    S = np.triu(rng.normal(size=(r, r))) + np.tril(np.full((r, r), np.nan), -1)  # the lower triangle must not be read
    full = np.triu(S) + np.triu(S, 1).T
    v, V = rng.normal(size=r), rng.normal(size=(b, r))
    R, E = np.triu(rng.normal(size=(r, r))) + 3.0 * np.eye(r), rng.normal(size=(b, 2))
    info = np.empty(1, np.int64)
    calls: list[tuple[str, Any, Array]] = [
        ("symv", lambda f, out: f(S, v, out), np.zeros(r)),
        ("syr", lambda f, out: f(out, -0.5, v), np.triu(S)),
        ("symm", lambda f, out: f(V, S, out), np.zeros((b, r))),
        ("syrk", lambda f, out: f(out, -0.5, V), np.triu(S)),
        ("gemm_nt", lambda f, out: f(V, V, out), np.zeros((b, b))),
        ("gemm_nt_part", lambda f, out: f(V, V, r // 3, r - 1, out), np.zeros((b, b))),
        ("potrf", lambda f, out: f(out, info), full @ full.T + np.eye(r)),
        ("potrf", lambda f, out: f(out, info), np.array([[1.0, 2.0], [2.0, 1.0]])),
        ("add_gemm_tn", lambda f, out: f(E, V, out), np.ones((2, r))),
        ("solve_upper_transposed", lambda f, out: f(R, out), V.copy()),
    ]
    found = {}
    for name, call, start in calls:
        info[0] = 7
        found[name], expected = start.copy(), start.copy()
        call(getattr(ours, name), found[name])
        failed = info[0] > 0
        call(getattr(blas, f"{name}_twin"), expected)
        assert failed == (info[0] > 0)
        assert failed or np.allclose(found[name], expected, rtol=1e-12, atol=1e-12), name
    assert failed  # the last one, which is not positive definite
    assert np.allclose(found["symv"], full @ v)
    assert np.allclose(found["solve_upper_transposed"], np.linalg.solve(R.T, V.T).T)


@pytest.mark.parametrize("b", [1, 5, 32])
def test_solve_unit_lower(b: int) -> None:
    rng = np.random.default_rng(b)
    L, B = rng.normal(size=(b, b)) / b, rng.normal(size=(b, 3))  # what is not below the diagonal must not be read
    for solve in triangular.solve_unit_lower, triangular.solve_unit_lower_twin:
        found = B.copy()
        solve(L, found)
        assert np.allclose(found, np.linalg.solve(np.tril(L, -1) + np.eye(b), B), rtol=1e-11)


def test_solved_lower_takes_any_layout() -> None:
    rng = np.random.default_rng(5)
    L, B = np.tril(rng.normal(size=(6, 6))) + 4.0 * np.eye(6), rng.normal(size=(6, 3))
    for wanted in B, np.asfortranarray(B), B[:, 0]:
        before = wanted.copy()
        assert np.allclose(L @ triangular.solved_lower(L, wanted), before, rtol=1e-13)
        assert np.array_equal(wanted, before)


def test_blocks_end_at_absolute_multiples() -> None:
    """Cutting a call exactly where the internal blocks end must not change a bit."""
    rng = np.random.default_rng(4)
    V, Y = rng.normal(size=(5 * inverse.BLOCK, 9)), rng.normal(size=(5 * inverse.BLOCK, 1))
    one, many = ridge.init(9, 1, 1.0, 1.0), ridge.init(9, 1, 1.0, 1.0)
    whole = learn(one, V, Y, np.ones(len(V)), True, 1.0, 1.0)
    step = 2 * inverse.BLOCK
    parts = [
        learn(many, V[a : a + step], Y[a : a + step], np.ones(step)[: len(V[a : a + step])], True, 1.0, 1.0)
        for a in range(0, len(V), step)
    ]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert one.matrix.tobytes() == many.matrix.tobytes()


def test_the_scale_folds_without_a_step() -> None:
    rng = np.random.default_rng(5)
    V, Y = rng.normal(size=(300, 4)), rng.normal(size=(300, 1))
    state = ridge.init(4, 1, 1.0, 0.5)
    scales = []
    for t in range(300):
        learn(state, V[t : t + 1], Y[t : t + 1], np.ones(1), False, 1.0, 0.5)
        scales.append(float(state.scale[0]))
    folds = int(np.sum(np.diff(scales) > 0.0))
    assert folds >= 8
    assert min(scales) >= factor.SMALLEST_SCALE * 0.5 ** (factor.ROUNDS / 2)
    A, _ = explicit(V, Y, np.ones(300), 1.0, 0.5)
    assert np.abs(matrix_of(state) - A).max() <= 1e-12 * np.abs(A).max()
