"""Features against their definitions: the Taylor and Poisson identities, random features at their rate, naive recomputation."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

import onkel
from onkel import Basis, Constant, Fourier, Hats, Identity, InputError, Products, Project, Ranks, Standardize, Taylor
from onkel.features import Chain, Features, Sum, fourier
from tests.laws.cases import bits
from tests.oracle.pkawv import features as definition
from tests.oracle.pkawv import ranks as oracle_ranks

Array = NDArray[np.float64]
Wide = NDArray[np.floating[Any]]  # np.longdouble

quickly = settings(deadline=None, max_examples=100, database=None, derandomize=True)


def written(features: Features, X: ArrayLike, weight: ArrayLike | None = None, state: Any = None) -> tuple[Array, Any]:
    """The features of each row, and the state after."""
    rows = np.array(X, dtype=float)
    weights = np.ones(len(rows)) if weight is None else np.array(weight, dtype=float)
    Z = np.empty((len(rows), features.size(rows.shape[1])))
    after = features.write(features.init(rows.shape[1]) if state is None else state, rows, weights, Z, 0)
    return Z, after


def normal(rows: int, dim: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(rows, dim))


def wave(X: Array) -> Array:
    """Two functions of rows of any width."""
    total = X.sum(axis=1, keepdims=True)
    return np.hstack([np.cos(total), np.sin(total) + 0.5])


def powers(X: Array) -> Array:
    return np.hstack([np.ones((len(X), 1)), X, X**2])


GRAM = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]])


# Taylor


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_taylor_has_one_feature_a_multi_index(degree: int, dim: int) -> None:
    features = Taylor(degree, width=1.3)
    indices = [k for k in itertools.product(range(degree + 1), repeat=dim) if sum(k) <= degree] if dim < 7 else None
    assert features.size(dim) == math.comb(degree + dim, dim) == (features.size(dim) if indices is None else len(indices))
    Z, _ = written(features, np.random.default_rng(1).uniform(0.5, 2.0, size=(4, dim)))
    assert Z.shape[1] == features.size(dim)
    columns = np.sort(Z, axis=1)
    assert (np.diff(columns, axis=1) > 1e-14).all(), "two features agree on every row"


@pytest.mark.parametrize(("degree", "dim"), [(0, 3), (1, 1), (1, 4), (3, 1), (3, 4), (6, 3)])
def test_taylor_table_stays_in_bounds(degree: int, dim: int) -> None:
    features = Taylor(degree)
    state = features.init(dim)
    assert len(state.last) == len(state.power) == (math.comb(degree - 1 + dim, dim) if degree else 0)
    assert all(0 <= i < dim for i in state.last)
    assert 1 + sum(dim - int(i) for i in state.last) == features.size(dim)


coordinates = st.floats(-4.0, 4.0)


@quickly
@given(dim=st.integers(1, 4), degree=st.integers(0, 6), width=st.floats(0.3, 10.0), data=st.data())
def test_taylor_inner_product_is_the_truncated_series(dim: int, degree: int, width: float, data: st.DataObject) -> None:
    pair = st.lists(coordinates, min_size=dim, max_size=dim)
    x, z = np.array(data.draw(pair)), np.array(data.draw(pair))
    Z, _ = written(Taylor(degree, width), [x, z])
    product, bell = float(x @ z) / width**2, math.exp(-float(x @ x + z @ z) / (2 * width**2))
    series = math.fsum(bell * product**j / math.factorial(j) for j in range(degree + 1))
    assert Z[0] @ Z[1] == pytest.approx(series, abs=1e-12)


@quickly
@given(dim=st.integers(1, 4), degree=st.integers(0, 8), width=st.floats(0.3, 10.0), data=st.data())
def test_taylor_mass_is_the_poisson_distribution(dim: int, degree: int, width: float, data: st.DataObject) -> None:
    x = np.array(data.draw(st.lists(coordinates, min_size=dim, max_size=dim)))
    features = Taylor(degree, width)
    Z, after = written(features, [x])
    expected = scipy.stats.poisson.cdf(degree, float(x @ x) / width**2)
    assert Z[0] @ Z[0] == pytest.approx(expected, abs=1e-12)
    assert features.captured([x])[0] == pytest.approx(expected, abs=1e-12)
    assert after.rows == 1
    assert after.mass == pytest.approx(expected, abs=1e-12)


def test_taylor_of_high_degree_neither_overflows_nor_dies_out() -> None:
    """Far out the first features are tiny and the last ones carry the mass."""
    Z, _ = written(Taylor(1000, width=1.0), [[25.0], [30.0], [1e6]])
    expected = scipy.stats.poisson.cdf(1000, [625.0, 900.0, 1e12])
    assert np.abs((Z**2).sum(axis=1) - expected).max() < 1e-11
    assert expected[0] > 0.99


def test_taylor_of_degree_0_is_a_bell() -> None:
    X = normal(5, 3)
    Z, _ = written(Taylor(0, width=2.0), X)
    assert Z.shape == (5, 1)
    assert np.abs(Z[:, 0] - np.exp(-(X**2).sum(axis=1) / 8)).max() < 1e-15


def test_taylor_in_one_dimension() -> None:
    x = np.array([[-1.5], [0.0], [0.3], [2.0]])
    Z, _ = written(Taylor(4, width=0.7), x)
    u = x / 0.7
    naive = np.exp(-(u**2) / 2) * np.hstack([u**k / math.sqrt(math.factorial(k)) for k in range(5)])
    assert np.abs(Z - naive).max() < 1e-14


def test_taylor_width_left_open_is_the_root_of_dim() -> None:
    X = normal(6, 5)
    assert written(Taylor(2), X)[0].tobytes() == written(Taylor(2, width=math.sqrt(5)), X)[0].tobytes()


@pytest.mark.parametrize("mass", [0.1, 0.5, 0.9, 0.999])
def test_capturing_finds_the_least_degree(mass: float) -> None:
    X = normal(50, 3)
    found = Taylor.capturing(mass, X, width=1.5)
    assert found.width == 1.5
    assert found.captured(X).mean() >= mass
    assert found.degree == 0 or Taylor(found.degree - 1, 1.5).captured(X).mean() < mass


def test_capturing_says_when_no_degree_will_do() -> None:
    with pytest.raises(InputError, match=r"no degree up to 4 captures 0.9 .*larger width"):
        Taylor.capturing(0.9, 10 * normal(20, 3), width=1.0, largest_degree=4)


@pytest.mark.parametrize("X", [[1.0, 2.0], [["a"]], [[np.nan]], np.ones((2, 2, 2))])
def test_captured_refuses_what_is_no_block_of_numbers(X: Any) -> None:
    with pytest.raises(InputError, match="X "):
        Taylor(2).captured(X)


def test_taylor_notes_when_little_is_captured() -> None:
    features = Taylor(2, width=1.0)
    near, far = 0.1 * normal(30, 3), 5.0 * normal(30, 3)
    assert features.notes(features.init(3)) == []
    assert features.notes(written(features, near)[1]) == []
    (note,) = features.notes(written(features, far)[1])
    share = float(np.mean([z @ z for z in written(features, far)[0]]))
    assert note.startswith("Taylor(degree=2, width=1.0) captures " + f"{share:.0%} of")
    assert "larger width" in note
    # rows of weight 0 were not learnt, and do not count
    mixed, weight = np.vstack([near, far]), np.repeat([1.0, 0.0], 30)
    assert features.notes(written(features, mixed, weight)[1]) == []
    # nor does nesting hide a note
    assert Sum(Constant(), features).notes(written(Sum(Constant(), features), far)[1]) == [note]
    assert Chain((Identity(), features)).notes(written(Chain((Identity(), features)), far)[1]) == [note]


def test_taylor_in_a_chain_is_counted_at_once_however_large() -> None:
    """Exact counts would have billions of digits."""
    for depth in (1, 2, 5):
        features = Chain((Taylor(1000),) * depth)
        assert 10**15 < features.size(10**9) < 2**70
        with pytest.raises(InputError, match=r"GiB.*fewer features"):
            onkel.PKAWV(features).init(1000)


# Fourier


@quickly
@given(count=st.integers(1, 20), dim=st.integers(1, 5), seed=st.integers(0, 2**63 - 1), size=st.floats(0.0, 1e6))
def test_fourier_features_have_length_one(count: int, dim: int, seed: int, size: float) -> None:
    Z, _ = written(Fourier(count, width=1.0, seed=seed), size * normal(3, dim, seed % 1000))
    assert np.abs((Z**2).sum(axis=1) - 1.0).max() < 1e-14


def test_fourier_error_shrinks_with_the_root_of_count() -> None:
    """E (zᵀz' − k)² = (1 − k²)² / (2 count), with k the kernel; here over 60 seeds and 5 pairs."""
    X = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, -1.0], [2.0, 0.5]])
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    kernel = np.array([math.exp(-float(np.sum((X[i] - X[j]) ** 2)) / (2 * 1.5**2)) for i, j in pairs])
    for count in (8, 32, 128):
        errors = []
        for seed in range(60):
            Z, _ = written(Fourier(count, width=1.5, seed=seed), X)
            errors.append([Z[i] @ Z[j] for i, j in pairs] - kernel)
        ratio = np.mean(np.square(errors), axis=0) * 2 * count / (1 - kernel**2) ** 2
        assert 0.7 < ratio.mean() < 1.3, count
        assert np.abs(np.mean(errors, axis=0)).max() < 4 / math.sqrt(2 * count * 60), count


def test_fourier_first_frequencies_stay_when_count_grows() -> None:
    few, many = Fourier(5, seed=3).init(4).frequencies, Fourier(12, seed=3).init(4).frequencies
    assert many[:, :5].tobytes() == few.tobytes()


def test_fourier_seeds_differ_and_repeat() -> None:
    drawn = [Fourier(6, seed=seed).init(3).frequencies for seed in (0, 1, 2**40, 2**63 - 1, 0)]
    for a, b in itertools.combinations(drawn[:4], 2):
        assert np.abs(a - b).max() > 0.1
    assert drawn[0].tobytes() == drawn[4].tobytes()


def test_fourier_width_divides_the_frequencies() -> None:
    assert np.allclose(Fourier(6, width=4.0).init(9).frequencies, Fourier(6).init(9).frequencies * (3.0 / 4.0), rtol=1e-15)


def mean_kernel(features: Fourier, X: Array, seeds: int) -> Array:
    """The inner products of the features of these rows, in the mean of several seeds."""
    drawn = [written(dataclasses.replace(features, seed=seed), X)[0] for seed in range(seeds)]
    return np.sum([Z @ Z.T for Z in drawn], axis=0) / seeds  # type: ignore[no-any-return]


PLACES = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, -1.0], [2.0, 0.5], [-3.0, 1.0]])


@pytest.mark.once
@pytest.mark.parametrize("kernel", [onkel.Gaussian(1.5), onkel.Laplacian(1.5), onkel.Laplacian()])
def test_fourier_approximates_its_kernel(kernel: Any) -> None:
    count, seeds = 1000, 20  # the deviation of a mean is at most 1/√(2 · 20,000) = 0.005
    assert np.abs(mean_kernel(Fourier(count, kernel=kernel), PLACES, seeds) - kernel(PLACES, PLACES)).max() < 4 * 0.005


@pytest.mark.once
@pytest.mark.parametrize("kernel", [onkel.Gaussian, onkel.Laplacian])
def test_fourier_of_a_spread_approximates_the_mean_of_kernels(kernel: Any) -> None:
    widths = 0.8 * 5.0 ** np.linspace(-1.0, 1.0, 201)
    expected = np.mean([kernel(float(width))(PLACES, PLACES) for width in widths], axis=0)
    found = mean_kernel(Fourier(1000, kernel=kernel(0.8), spread=5.0), PLACES, seeds=20)
    assert np.abs(found - expected).max() < 4 * 0.005
    assert np.abs(kernel(0.8)(PLACES, PLACES) - expected).max() > 8 * 0.005


def test_fourier_frequencies_are_cauchy_draws_that_are_cut() -> None:
    draws = np.sort(Fourier(20_000, kernel=onkel.Laplacian(0.5)).init(2).frequencies.ravel() * 0.5)
    assert scipy.stats.kstest(draws, "cauchy").pvalue > 0.01
    largest = math.tan(math.pi * (0.5 - fourier.CAUCHY_CUT))
    assert np.abs(draws).max() == pytest.approx(largest) == pytest.approx(3183, rel=1e-3)


def test_fourier_takes_the_width_of_its_kernel_or_its_own() -> None:
    for kind in (onkel.Gaussian, onkel.Laplacian):
        own, given, open_ = Fourier(4, kernel=kind(2.0)), Fourier(4, 2.0, kernel=kind()), Fourier(4, kernel=kind())
        assert own.init(4).frequencies.tobytes() == given.init(4).frequencies.tobytes() == open_.init(4).frequencies.tobytes()
    assert Fourier(4, 3.0, kernel=onkel.Gaussian()).init(4).frequencies.tobytes() == Fourier(4, 3.0).init(4).frequencies.tobytes()


def test_fourier_equals_its_formula() -> None:
    X = normal(20, 3)
    features = Fourier(7, width=0.9, seed=2)
    angle = X @ features.init(3).frequencies
    naive = np.hstack([np.cos(angle), np.sin(angle)]) / math.sqrt(7)
    assert np.abs(written(features, X)[0] - naive).max() < 1e-14


def ulps(phase: Array) -> float:
    """How far `cos_sin` is from the truth at worst, in units of the last place."""
    phase = np.ascontiguousarray(phase, dtype=float)
    cosines, sines = np.empty(phase.size), np.empty(phase.size)
    fourier.cos_sin(phase, 1.0, cosines, sines)
    worst = 0.0
    wide: Wide = phase.astype(np.longdouble)
    for found, true in ((cosines, np.cos(wide)), (sines, np.sin(wide))):
        unit: Wide = np.spacing(np.abs(true.astype(np.float64))).astype(np.longdouble)
        worst = max(worst, float(np.max(np.abs(found - true) / unit)))
    return worst


@pytest.mark.parametrize("largest", [1e-300, 1e-8, 0.8, 4.0, 1e3, 1e5, 1.5e6])
def test_cos_sin_is_within_2_ulp(largest: float) -> None:
    phase = np.random.default_rng(5).uniform(-largest, largest, size=3000)
    assert ulps(np.append(phase, [0.0, -0.0, largest, -largest])) <= 2.0


def test_cos_sin_is_within_2_ulp_next_to_multiples_of_half_pi() -> None:
    half_pi = np.longdouble("1.57079632679489661923132169163975144")
    multiples = np.append(np.arange(1, 900), np.random.default_rng(6).integers(900, 954_900, size=900))
    phase = (np.append(multiples, 263_205) * half_pi).astype(float)  # the last has the smallest remainder of all, 2e-16
    for shift in (phase, np.nextafter(phase, np.inf), np.nextafter(phase, 0.0), -phase):
        assert ulps(shift) <= 2.0


def test_cos_sin_is_right_beyond_the_largest_phase() -> None:
    edge = fourier._LARGEST_PHASE
    just = np.array([edge, np.nextafter(edge, 0.0), 1e6])
    beyond = np.array([np.nextafter(edge, np.inf), 2e6, -1e9, 1e22, -1e80, 3.0])
    assert ulps(just) <= 2.0
    assert ulps(beyond) <= 1.0


def test_cos_sin_scales() -> None:
    phase = np.linspace(-10.0, 10.0, 101)
    plain, scaled = np.empty((2, 101)), np.empty((2, 101))
    fourier.cos_sin(phase, 1.0, plain[0], plain[1])
    fourier.cos_sin(phase, 0.25, scaled[0], scaled[1])
    assert scaled.tobytes() == (0.25 * plain).tobytes()


@pytest.mark.long
def test_cos_sin_is_within_2_ulp_next_to_every_multiple() -> None:
    half_pi = np.longdouble("1.57079632679489661923132169163975144")
    phase = (np.arange(1, 954_900) * half_pi).astype(float)
    assert ulps(phase[phase <= 1.5e6]) <= 2.0
    assert ulps(np.random.default_rng(7).uniform(-1.5e6, 1.5e6, size=2_000_000)) <= 2.0


# Standardize


def naive_standardized(X: Array, weight: Array) -> Array:
    """From scratch for every row, in extended precision."""
    out = np.zeros(X.shape)
    for t in range(len(X)):
        seen: Wide = np.vstack([X[:t][weight[:t] > 0], X[t]]).astype(np.longdouble)
        spread = np.sqrt(np.mean((seen - seen.mean(axis=0)) ** 2, axis=0))
        away = seen[-1] - seen.mean(axis=0)
        out[t] = np.where(np.ptp(seen, axis=0) > 0, away / np.where(spread > 0, spread, 1.0), 0.0)
    return out


@pytest.mark.parametrize(
    ("offset", "size", "tolerance"),
    [(0.0, 1.0, 1e-13), (0.0, 1e-40, 1e-13), (0.0, 1e40, 1e-13), (1e8, 1.0, 1e-6), (-1e8, 1e4, 1e-10), (1e15, 1e10, 1e-8)],
)
def test_standardize_equals_the_naive_recomputation(offset: float, size: float, tolerance: float) -> None:
    rng = np.random.default_rng(8)
    X, weight = offset + size * rng.normal(size=(150, 3)), rng.choice([0.0, 1e-9, 1.0, 50.0], size=150)
    Z, after = written(Standardize(), X, weight)
    assert np.abs(Z - naive_standardized(X, weight)).max() < tolerance
    learnt = X[weight > 0]
    assert after.rows == len(learnt)
    assert np.allclose(after.mean, learnt.mean(axis=0), rtol=1e-12, atol=1e-12 * size)
    assert np.allclose(np.sqrt(after.spread / after.rows), learnt.std(axis=0), rtol=max(tolerance, 1e-12))


def test_standardize_leaves_no_trace_of_rows_of_weight_0() -> None:
    X, weight = normal(40, 2), np.arange(40) % 3 > 0
    Z, after = written(Standardize(), X, weight)
    Z_kept, after_kept = written(Standardize(), X[weight])
    assert bits(after) == bits(after_kept)
    assert Z[weight].tobytes() == Z_kept.tobytes()


def test_standardize_gives_0_where_nothing_varied() -> None:
    X = np.column_stack([np.full(30, 0.1), np.full(30, 1e8 / 3), np.zeros(30), np.r_[np.ones(20), np.full(10, 2.0)]])
    Z, after = written(Standardize(), X)
    assert (Z[:, :3] == 0.0).all()
    assert (after.spread[:3] == 0.0).all()
    assert (Z[:20, 3] == 0.0).all()
    assert Z[20, 3] == pytest.approx(math.sqrt(20.0))  # one new value among n + 1 lies √n deviations out


def test_standardize_cuts_at_clip() -> None:
    X = normal(200, 2) ** 3
    plain, state = written(Standardize(), X)
    cut, same = written(Standardize(clip=1.5), X)
    assert np.abs(plain).max() > 3.0
    assert cut.tobytes() == plain.clip(-1.5, 1.5).tobytes()
    assert bits(state) == bits(same)


def test_standardize_on_rows_one_by_one_has_the_same_bits() -> None:
    X = normal(25, 3)
    whole, after = written(Standardize(), X)
    state, rows = Standardize().init(3), []
    for x in X:
        z, state = written(Standardize(), [x], state=state)
        rows.append(z)
    assert np.vstack(rows).tobytes() == whole.tobytes()
    assert bits(state) == bits(after)


# Hats


@quickly
@given(
    count=st.integers(2, 9), low=st.floats(-5.0, 5.0), width=st.floats(1e-3, 10.0), values=st.lists(st.floats(-20, 20), min_size=1)
)
def test_hats_sum_to_one_and_interpolate(count: int, low: float, width: float, values: list[float]) -> None:
    features = Hats(count, low, low + width)
    X = np.column_stack([values, np.negative(values)])
    Z, _ = written(features, X)
    hats = Z.reshape(len(X), 2, count)  # input by input
    assert np.abs(hats.sum(axis=2) - 1.0).max() < 1e-15
    assert hats.min() >= 0.0
    assert (np.count_nonzero(hats, axis=2) <= 2).all()
    knots = np.linspace(low, low + width, count)
    assert np.abs(hats @ knots - X.clip(low, low + width)).max() < 1e-13  # a linear function, constant outside
    bent = np.random.default_rng(0).normal(size=count)
    assert np.abs(hats @ bent - np.interp(X, knots, bent)).max() < 1e-9


def test_hats_at_the_edges() -> None:
    Z, _ = written(Hats(3, -1.0, 1.0), [[-1e50], [-1.0], [0.0], [1.0], [1e50]])
    assert Z.tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


# Products


@pytest.mark.parametrize("dim", [1, 2, 5, 11])
def test_products_are_all_where_they_fit(dim: int) -> None:
    pairs = list(itertools.combinations_with_replacement(range(dim), 2))
    for count in (len(pairs), len(pairs) + 7):
        state = Products(count).init(dim)
        found = list(zip(state.first.tolist(), state.second.tolist(), strict=True))
        assert sorted(found) == pairs
        assert found == sorted(pairs, key=lambda pair: pair[::-1])


@pytest.mark.parametrize(("count", "dim"), [(1, 2), (65, 11), (66, 12), (500, 10**6)])
def test_products_are_different_pairs_where_not_all_fit(count: int, dim: int) -> None:
    state = Products(count, seed=4).init(dim)
    pairs = list(zip(state.first.tolist(), state.second.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) == Products(count).size(dim) == count
    assert all(0 <= i <= j < dim for i, j in pairs)
    fewer = Products(max(1, count // 2), seed=4).init(dim)
    assert list(zip(fewer.first.tolist(), fewer.second.tolist(), strict=True)) == pairs[: max(1, count // 2)]


def test_products_draw_every_pair_equally_often() -> None:
    drawn = [Products(3, seed).init(4) for seed in range(2000)]
    counts = np.zeros((4, 4))
    for state in drawn:
        counts[state.first, state.second] += 1
    found = counts[np.triu_indices(4)]
    assert scipy.stats.chisquare(found).pvalue > 0.01  # drawn without replacement, they vary less


def test_products_of_normal_inputs_are_orthonormal() -> None:
    Z, _ = written(Products(), normal(100_000, 3))
    assert np.abs(Z.mean(axis=0)).max() < 0.02
    assert np.abs(Z.T @ Z / len(Z) - np.eye(6)).max() < 0.05


def test_products_stay_within_the_numbers_that_are_taken() -> None:
    Z, _ = written(Chain((Products(), Products(), Products())), [[1e50, -1e50], [0.0, 1e50]])
    assert np.abs(Z).max() == 1e50


# Ranks


def ranked(learnt: Array, X: Array, knots: int = 33) -> Array:
    """The ranks of X after the other rows, all of one input."""
    features = Ranks(knots)
    return written(features, X[:, None], np.zeros(len(X)), written(features, learnt[:, None])[1])[0][:, 0]


def test_ranks_equal_their_definition_through_every_refresh() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [rng.normal(size=2400), rng.integers(0, 3, size=2400), np.full(2400, 7.0), np.exp(4 * rng.normal(size=2400))]
    )
    weight = rng.choice([0.0, 1.0, 3.0], size=2400, p=[0.05, 0.9, 0.05])
    Z, after = written(Ranks(), X, weight)
    some = np.unique(np.r_[:140, 500:560, 1020:1090, 2120:2200, 2390:2400])
    naive = np.array([oracle_ranks(X[:t][weight[:t] > 0], X[t], 33) for t in some])
    assert np.abs(Z[some] - naive).max() < 1e-12
    assert after.rows == 2048
    for cut in (31, 600, 2300):
        first, state = written(Ranks(), X[:cut], weight[:cut])
        second, state = written(Ranks(), X[cut:], weight[cut:], state)
        assert np.vstack([first, second]).tobytes() == Z.tobytes()
        assert bits(state) == bits(after)
    kept, state = written(Ranks(), X[weight > 0])
    assert kept.tobytes() == Z[weight > 0].tobytes()
    assert bits(state) == bits(after)


@pytest.mark.parametrize("rows", [32, 128, 300, 2048, 3000])
def test_ranks_do_not_depend_on_the_scale(rows: int) -> None:
    """Equal at the quantiles; between two of them a monotone function moves a rank by no more than lies between them."""
    x, new = normal(rows, 1, 1)[:, 0], normal(200, 1, 2)[:, 0]
    between = math.sqrt(12.0) / 31
    for function in (np.exp, np.cbrt, lambda x: 1e6 + 1e3 * x, lambda x: np.sinh(4 * x)):
        assert np.abs(ranked(function(x), function(new)) - ranked(x, new)).max() < between
    state = written(Ranks(), x[:, None])[1]
    places = state.quantiles[0]
    assert ranked(np.exp(x), np.exp(places)).tobytes() == ranked(x, places).tobytes()


def test_ranks_of_a_uniform_sample_are_uniform() -> None:
    u = np.random.default_rng(5).random((6000, 2))
    Z, _ = written(Ranks(), u)
    assert np.abs(Z[:32] - math.sqrt(12.0) * (u[:32] - 0.5)).mean() < 0.4
    assert np.abs(Z[2048:] - math.sqrt(12.0) * (u[2048:] - 0.5)).max() < 0.2
    assert Z[2048:].std() == pytest.approx(1.0, abs=0.05)
    assert Z[32:128].std() == pytest.approx(1.0, abs=0.15)


def test_ranks_of_few_values_are_mid_ranks() -> None:
    coin = np.tile([0.0, 0.0, 1.0, 0.0], 600)
    root = math.sqrt(12.0)
    for rows, tolerance in ((512, 1e-12), (2400, 0.1)):  # of 2048 rows a sample is taken, which has no period
        assert ranked(coin[:rows], np.array([0.0, 1.0])) == pytest.approx([-0.125 * root, 0.375 * root], abs=tolerance)
        assert ranked(coin[:rows], np.array([-1.0, 2.0])) == pytest.approx([-root / 2, root / 2])  # values never seen lie outside
    rare = np.r_[np.zeros(500), 1.0, np.full(11, 2.0)]
    assert ranked(rare, np.array([0.0, 1.0, 2.0])) == pytest.approx(root * (np.array([250.0, 500.5, 506.5]) / 512 - 0.5))
    assert ranked(np.full(600, 3.0), np.array([2.0, 3.0, 4.0])) == pytest.approx([-root / 2, 0.0, root / 2])
    assert ranked(np.full(10, 3.0), np.array([3.0])) == 0.0


# Project


@pytest.mark.once
def test_project_keeps_inner_products_in_the_mean() -> None:
    X = normal(4, 60)
    seeds = 300
    for entries in (1, 4):
        drawn = [written(Project(10, seed, entries), X)[0] for seed in range(seeds)]
        products = np.array([Z @ Z.T for Z in drawn]) * (60 / 10)
        deviation = products.std(axis=0) / math.sqrt(seeds)
        assert (np.abs(products.mean(axis=0) - X @ X.T) < 4 * deviation).all()


def test_project_gives_deviation_one() -> None:
    Z, _ = written(Project(25), normal(300, 900))
    assert Z.std() == pytest.approx(1.0, abs=0.05)
    assert Z.std(axis=0).max() < 1.5
    assert Z.std(axis=0).min() > 0.6


@pytest.mark.parametrize(("count", "entries"), [(1, 4), (3, 4), (10, 3), (10, 1), (7, 7)])
def test_project_gives_an_input_one_place_in_each_group(count: int, entries: int) -> None:
    narrow, wide = Project(count, 3, entries).init(20).places, Project(count, 3, entries).init(50).places
    assert wide[:20].tobytes() == narrow.tobytes()
    groups = min(count, entries)
    outputs = np.where(wide >= 0, wide, -1 - wide)
    edges = [b * count // groups for b in range(groups + 1)]
    for b in range(groups):
        assert set(outputs[:, b].tolist()) <= set(range(edges[b], edges[b + 1]))
    assert 0.3 < (wide >= 0).mean() < 0.7


# Basis


def test_basis_equals_the_inverse_root_of_gram_times_the_functions() -> None:
    X = normal(12, 1)
    Z, _ = written(Basis(powers, GRAM), X)
    root = np.linalg.inv(scipy.linalg.sqrtm(GRAM))
    assert np.abs(Z - powers(X) @ root).max() < 1e-13
    assert np.abs(Z @ Z.T - powers(X) @ np.linalg.solve(GRAM, powers(X).T)).max() < 1e-12


def test_basis_calls_the_function_one_row_at_a_time_on_a_copy() -> None:
    shapes = []

    def greedy(X: Array) -> Array:
        shapes.append(X.shape)
        out = X.copy()
        X[:] = -99.0
        return out

    X = normal(4, 2)
    given = X.copy()
    Z = np.empty((4, 2))
    features = Basis(greedy, np.eye(2))
    features.write(features.init(2), given, np.ones(4), Z, 0)
    assert shapes == [(1, 2)] * 4
    assert given.tobytes() == X.tobytes()
    assert np.allclose(Z, X)


def test_basis_takes_any_callable() -> None:
    features = Basis(functools.partial(np.power, 2.0), [[1.0]])
    assert repr(features) == "Basis(fn=partial, gram=((1.0,),))"
    assert written(features, [[3.0]])[0] == [[8.0]]
    assert written(Basis(lambda X: X > 0, np.eye(1)), [[3.0], [-3.0]])[0].tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], r"symmetric"),
        ([[1e-9, 5e-10], [0.0, 1e-9]], r"symmetric"),
        ([[1.0, 1e-9], [0.0, 1.0]], r"symmetric"),
        ([[1.0, 2.0]], r"symmetric.*\(1, 2\)"),
        ([1.0], r"gram must have two dimensions"),
        (np.empty((0, 0)), r"gram has no columns"),
        ([[1.0, 1.0], [1.0, 1.0]], r"positive definite; drop"),
        ([[-1.0]], r"positive definite"),
        ([[0.0]], r"positive definite"),
        ([[1.0, 2.0], [2.0, 1.0]], r"positive definite"),
        ([[np.nan]], r"gram holds nan"),
        ([[np.inf]], r"gram holds inf"),
        ([["a"]], r"gram must hold numbers"),
        ([[1.0, 2.0], [3.0]], r"gram must hold numbers"),
        (None, r"gram "),
    ],
)
def test_basis_refuses_what_is_no_gram_matrix(gram: Any, message: str) -> None:
    with pytest.raises(InputError, match="Basis: .*" + message):
        Basis(wave, gram)


def test_basis_forgives_the_rounding_of_a_gram() -> None:
    noisy = GRAM + 1e-14 * np.arange(9).reshape(3, 3)
    assert np.abs(written(Basis(powers, noisy), [[2.0]])[0] - written(Basis(powers, GRAM), [[2.0]])[0]).max() < 1e-12


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0]], r"answer must return numbers of shape \(1, 2\).*\(1, 1\)"),
        ([1.0, 2.0], r"shape \(1, 2\) for one row, got float64 \(2,\)"),
        ([["a", "b"]], r"must return numbers"),
        ([[1j, 2.0]], r"must return numbers.*complex"),
        (None, r"must return numbers"),
        ([[1.0, np.nan]], r"returned nan for row 2; keep it finite"),
        ([[np.inf, 1.0]], r"returned inf for row 2"),
        ([[0.0, -1e200]], r"returned -1e\+200 for row 2"),
    ],
)
def test_basis_names_the_function_and_the_row_that_fail(answer: Any, message: str) -> None:
    def answering(X: Array) -> Any:
        return answer if X[0, 0] == 7.0 else [[1.0, 2.0]]

    answering.__name__ = "answer"
    learner = onkel.PKAWV(Basis(answering, np.eye(2)))
    state = learner.init(1)
    learner.learn(state, [[1.0]], [1.0])
    before = bits(state)
    with pytest.raises(InputError, match="Basis: .*" + message):
        learner.learn(state, [[1.0], [2.0], [7.0], [3.0]], np.ones(4))
    assert bits(state) == before


def test_basis_refuses_what_is_no_function() -> None:
    not_a_function: Any = "wave"
    with pytest.raises(InputError, match=r"fn must be a function .* got 'wave'"):
        Basis(not_a_function, np.eye(2))


# combinations


leaf: st.SearchStrategy[Features] = st.one_of(
    st.just(Identity()),
    st.just(Constant()),
    st.builds(Standardize, st.none() | st.floats(0.5, 2.0)),
    st.builds(Taylor, st.integers(0, 2), st.none() | st.floats(0.5, 3.0)),
    st.builds(Fourier, st.integers(1, 3), st.none() | st.floats(0.5, 3.0), st.integers(0, 9)),
    st.builds(Fourier, st.integers(1, 3), kernel=st.just(onkel.Laplacian(2.0)), spread=st.floats(1.0, 3.0)),
    st.builds(Hats, st.integers(2, 4)),
    st.builds(Products, st.integers(1, 4), st.integers(0, 9)),
    st.just(Ranks(4)),
    st.builds(Project, st.integers(1, 4), st.integers(0, 9), st.integers(1, 3)),
    st.just(Basis(wave, GRAM[:2, :2])),
)
nested: st.SearchStrategy[Features] = st.recursive(
    leaf,
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([Sum(*parts), Chain(tuple(parts))]),
    ),
    max_leaves=5,
)


@quickly
@given(features=nested, dim=st.integers(1, 3), seed=st.integers(0, 100))
def test_chains_and_sums_equal_the_naive_composition(features: Features, dim: int, seed: int) -> None:
    X, learnt = normal(8, dim, seed), np.random.default_rng(seed).random(8) < 0.8
    Z, _ = written(features, X, learnt)
    naive = definition(features, X, learnt)
    assert Z.shape == naive.shape
    assert np.abs(Z - naive).max() < 1e-8


@quickly
@given(features=nested, dim=st.integers(1, 4), seed=st.integers(0, 100))
def test_size_and_footprint_foretell_what_init_and_write_do(features: Features, dim: int, seed: int) -> None:
    state = features.init(dim)
    assert features.footprint(dim) == onkel.nbytes(state)
    X, size = normal(5, dim, seed), features.size(dim)
    Z = np.full((5, size + 5), np.nan)
    after = features.write(state, X, np.ones(5), Z, 3)
    assert np.isfinite(Z[:, 3 : 3 + size]).all()
    assert np.isnan(Z[:, :3]).all()
    assert np.isnan(Z[:, 3 + size :]).all()
    assert onkel.nbytes(after) == onkel.nbytes(state)


@quickly
@given(features=nested, dim=st.integers(1, 3), seed=st.integers(0, 100))
def test_write_never_changes_the_given_state_and_weight_0_leaves_no_trace(features: Features, dim: int, seed: int) -> None:
    X = normal(10, dim, seed)
    _, state = written(features, X[:4])
    before = bits(state)
    one_by_one = np.vstack([written(features, [x], state=state)[0] for x in X])
    unlearnt, after = written(features, X, np.zeros(10), state)
    assert bits(state) == before
    assert bits(after) == before
    assert unlearnt.tobytes() == one_by_one.tobytes()  # each as if it came next
    _, moved = written(features, X, np.ones(10), state)
    assert bits(state) == before
    assert [name for name, _ in bits(moved)] == [name for name, _ in before]


@quickly
@given(features=nested, dim=st.integers(1, 3), cut=st.integers(0, 10))
def test_the_cut_of_the_rows_changes_no_bit(features: Features, dim: int, cut: int) -> None:
    X, weight = normal(10, dim), np.arange(10) % 4 > 0
    whole, after = written(features, X, weight)
    first, state = written(features, X[:cut], weight[:cut])
    second, state = written(features, X[cut:], weight[cut:], state)
    assert np.vstack([first, second]).tobytes() == whole.tobytes()
    # a sum over rows (Taylor's mass) may be added up in another order
    for (name, value), (_, other) in zip(bits(state), bits(after), strict=True):
        assert value == other or (name.endswith("mass") and np.isclose(np.frombuffer(value), np.frombuffer(other), rtol=1e-14))


def test_sums_are_flat() -> None:
    a, b, c = Taylor(1), Identity(), Constant()
    assert (a + b) + c == a + (b + c) == Sum(a, b, c)
    assert repr(a + b) == "Taylor(degree=1, width=None) + Identity()"


def test_a_tuple_is_a_chain() -> None:
    stages = (Standardize(), Fourier(count=3))
    X, y = normal(30, 2), normal(30, 1)[:, 0]
    scores = [learner.learn(learner.init(2), X, y) for learner in (onkel.PKAWV(stages), onkel.PKAWV(Chain(stages)))]
    assert scores[0].tobytes() == scores[1].tobytes()


def test_fallible_is_where_a_users_function_runs() -> None:
    own = Basis(wave, np.eye(2))
    assert own.fallible
    assert (own + Identity()).fallible
    assert Chain((Standardize(), Constant() + own)).fallible
    assert not Chain((Standardize(), Constant() + Fourier())).fallible


anything: Any = None  # the wrong types below are the point


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Taylor(degree=-1), r"Taylor: degree must be at least 0, got -1"),
        (lambda: Taylor(degree=1001), r"Taylor: degree must be at most 1000"),
        (lambda: Taylor(degree=anything), r"Taylor: degree must be a whole number, got None"),
        (lambda: Taylor(degree=True), r"Taylor: degree must be a whole number"),
        (lambda: Taylor(width=0.0), r"Taylor: width must be at least 1e-30, got 0"),
        (lambda: Taylor(width=math.inf), r"Taylor: width must be a finite number, got inf"),
        (lambda: Fourier(count=0), r"Fourier: count must be at least 1, got 0"),
        (lambda: Fourier(seed=-1), r"Fourier: seed must be at least 0, got -1"),
        (lambda: Fourier(seed=2**63), r"Fourier: seed must be at most"),
        (lambda: Fourier(width=-1.0), r"Fourier: width must be at least"),
        (lambda: Fourier(kernel=onkel.Linear()), r"Fourier: kernel must be Gaussian\(\), Laplacian\(\) or None, got Linear"),  # type: ignore[arg-type]
        (lambda: Fourier(kernel=3), r"Fourier: kernel must be .* got 3"),  # type: ignore[arg-type]
        (
            lambda: Fourier(width=1.0, kernel=onkel.Laplacian(2.0)),
            r"Laplacian\(width=2.0\), which has a width too; give only one of them",
        ),
        (lambda: Fourier(spread=0.5), r"Fourier: spread must be at least 1, got 0.5"),
        (lambda: Standardize(clip=0.0), r"Standardize: clip must be at least 1e-30, got 0"),
        (lambda: Hats(count=1), r"Hats: count must be at least 2, got 1"),
        (lambda: Hats(low=1.0, high=1.0), r"Hats: high must be above low, got low=1 and high=1"),
        (lambda: Hats(low=math.nan), r"Hats: low must be a finite number"),
        (lambda: Products(count=0), r"Products: count must be at least 1"),
        (lambda: Ranks(knots=513), r"Ranks: knots must be at most 512, got 513"),
        (lambda: Project(entries=0), r"Project: entries must be at least 1"),
        (lambda: Fourier() + anything, r"side by side.*got None"),
        (lambda: Fourier() + onkel.Gaussian(), r"side by side.*Gaussian"),  # type: ignore[operator]
        (lambda: Sum(), r"at least one part"),
        (lambda: Chain(()), r"chain is a tuple of features.*got \(\)"),
        (lambda: Chain(anything), r"chain is a tuple"),
        (lambda: Chain((Fourier(), anything)), r"every stage .* got None"),
        (lambda: onkel.PKAWV(()), r"chain is a tuple"),
        (lambda: onkel.PKAWV(((Standardize(),), Fourier())), r"every stage"),  # type: ignore[arg-type]
        (lambda: onkel.PKAWV(onkel.Gaussian()), r"PKAWV: features must be a Features, such as Fourier\(\)"),  # type: ignore[arg-type]
    ],
)
def test_errors_are_sentences(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_tuple_beside_features_is_a_chain() -> None:
    chain = (Standardize(), Fourier(3))
    assert chain + Constant() == Sum(Chain(chain), Constant())
    assert Constant() + chain == Sum(Constant(), Chain(chain))
    assert onkel.parse(repr(chain + Constant())) == chain + Constant()
