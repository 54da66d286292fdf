"""Eigen-systems: equal to their definitions, orthonormal, and worth their kernels; the estimator on them: bounds, bands, growth."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import onkel
from onkel import (
    AdditiveSystem,
    Beam,
    Brownian,
    Cosine,
    CustomKernel,
    Gaussian,
    Haar,
    Hermite,
    Legendre,
    Linear,
    Listed,
    Mercer,
    MercerProjection,
    Numerical,
    Periodic,
    ProductSystem,
    Sine,
    Sphere,
    WithPolynomials,
    mixing,
)
from onkel._jit import compiler_off
from onkel.features.mercer.system import Line
from onkel.learners.mercer_projection import _settings
from onkel.state import leaves
from onkel.updates.nested_ridge import grown
from tests.laws.cases import bits
from tests.oracle import mercer, mercer_projection
from tests.oracle.moments import gram_from_moments
from tests.oracle.systems import settled, spread_out

Array = NDArray[np.float64]

DOMAIN = (-1.0, 2.0)
LINES: list[Any] = [
    Sine(DOMAIN),
    Cosine(DOMAIN),
    Periodic(DOMAIN),
    Periodic(DOMAIN, 1.3, constant=False),
    Beam(DOMAIN),
    Legendre(1.0, DOMAIN),
    Haar(1.0, DOMAIN),
    Hermite(0.5),
    Numerical(Gaussian(width=0.7), 100, DOMAIN),
]
WITH_POLYNOMIALS: list[Any] = [
    WithPolynomials(Sine(DOMAIN)), WithPolynomials(Periodic(DOMAIN, constant=False), 2), WithPolynomials(Cosine(DOMAIN), 1),
]  # fmt: skip
SEVERAL: list[Any] = [
    Sphere(), ProductSystem(), ProductSystem(Cosine(DOMAIN)), ProductSystem((Hermite(1.0), Beam(DOMAIN), Haar(1.0, DOMAIN))),
    AdditiveSystem(WITH_POLYNOMIALS[1]), AdditiveSystem(Beam(DOMAIN)), AdditiveSystem((Sine(DOMAIN), Cosine(DOMAIN), Hermite(1.0))),
]  # fmt: skip
SYSTEMS = [*[(system, 1) for system in [*LINES, *WITH_POLYNOMIALS]], *[(system, 3) for system in SEVERAL]]
every_system = pytest.mark.parametrize(("system", "dim"), SYSTEMS, ids=repr)


def rows(dim: int, n: int = 100) -> Array:
    """Some on the edges, some outside, one of zeros."""
    X = np.random.default_rng(0).normal(size=(n, dim))
    X[:3], X[3:6], X[6] = -1.0, 2.0, 0.0
    return X


# the systems


@every_system
def test_functions_and_values_are_those_of_the_definition(system: Any, dim: int) -> None:
    numerical = isinstance(system, Numerical)
    X, count = rows(dim), 10 if numerical else min(60, system.limit(dim))
    known = settled(system, X)
    tolerance = 1e-9 if numerical else 1e-12  # rounding, divided by λ_10
    expected = mercer.functions(known, X, count)
    assert np.abs(system.functions(X, count) - expected).max() <= tolerance * np.abs(expected).max()
    assert system.values(count, dim) == pytest.approx(mercer.values(known, count, dim), rel=1e-9)
    for fewer in (1, 2, 7):
        assert np.allclose(system.functions(X, fewer), system.functions(X, count)[:, :fewer], rtol=0.0, atol=1e-12)
        assert np.array_equal(system.values(fewer, dim), system.values(count, dim)[:fewer])


def nodes_of(system: Any, dim: int) -> tuple[Array, Array]:
    """Quadrature in the measure that a system names; of a product, few nodes in each column."""
    if not isinstance(system, ProductSystem):
        return mercer.measure(system)
    u, w = mercer.gauss(40)
    places = [spread_out(base, u) for base in system.bases(dim)]
    weights = np.prod(np.meshgrid(*[w] * dim, indexing="ij"), axis=0)
    return np.column_stack([x.ravel() for x in np.meshgrid(*places, indexing="ij")]), weights.ravel()


PRODUCTS: list[Any] = [(ProductSystem(Sine(DOMAIN)), 2), (ProductSystem((Cosine(DOMAIN), Beam((0.0, 1.0)))), 2)]


@pytest.mark.parametrize(("system", "dim"), [*[(system, 1) for system in LINES], (Sphere(), 3), *PRODUCTS], ids=repr)
def test_functions_are_orthonormal_in_their_measure(system: Any, dim: int) -> None:
    nodes, weights = nodes_of(system, dim)
    Psi = system.functions(nodes, 7 if isinstance(system, Numerical) else 30)  # rounding, divided by λ_7
    assert np.abs(Psi.T @ (weights[:, None] * Psi) - np.eye(Psi.shape[1])).max() < 1e-10


WITH_KERNEL: list[Any] = [
    Sine(DOMAIN), Cosine(DOMAIN), Periodic(DOMAIN, 1.0), Periodic(DOMAIN, 1.3, constant=False), Periodic(DOMAIN, 2.0), Beam(DOMAIN),
    Legendre(1.0, DOMAIN), Haar(1.0, DOMAIN), Hermite(0.5), Hermite(2.0, 0.7), Sphere(2.0),
]  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("system", WITH_KERNEL, ids=repr)
def test_mercer_sums_come_to_the_kernel_as_fast_as_the_values_fall(system: Any) -> None:
    """What is left, g = k − Σ_{j ≤ N} λψψ, is a kernel: |g(x, z)|² ≤ g(x, x) g(z, z), and ∫ g(x, x) = Σ_{j > N} λ_j."""
    dim = 3 if isinstance(system, Sphere) else 1
    X = np.random.default_rng(1).uniform(-1.0, 2.0, (12, dim))
    nodes, weights = mercer.measure(system)
    own = np.concatenate([np.diag(mercer.kernel(system, some, some)) for some in np.array_split(nodes, 100)])
    values = system.values(min(10**6, system.limit(dim)), dim)
    gaps = []
    for count in (5, 16, 50):
        count = min(count, system.limit(dim))
        left = own - system.functions(nodes, count) ** 2 @ values[:count]
        assert weights @ left == pytest.approx(values[count:].sum(), rel=1e-3, abs=1e-14)
        Z = np.empty((12, count))
        Mercer(system, count).write(None, X, np.ones(12), Z, 0)
        G = mercer.kernel(system, X, X) - Z @ Z.T
        assert np.diag(G).min() > -1e-14
        assert np.all(np.abs(G) <= np.sqrt(np.outer(np.diag(G), np.diag(G)).clip(0.0)) * (1.0 + 1e-6) + 1e-13)
        gaps.append(float(np.diag(G).max()))
    assert gaps[2] < gaps[1] < gaps[0]


def known_kernel(system: Any) -> Any:
    return CustomKernel(lambda X, Z: mercer.kernel(system, X, Z))


@pytest.mark.parametrize(("known", "within"), [
    (Sine(DOMAIN), 0.05), (Cosine(DOMAIN), 0.05), (Periodic(DOMAIN, 1.0), 0.05), (Periodic(DOMAIN, 2.0), 1e-4),
    (Beam(DOMAIN), 1e-4),
], ids=repr)  # fmt: skip
def test_a_numerical_system_is_the_known_one(known: Any, within: float) -> None:
    """But for signs, and turns among functions of one value, of which Σ ψψ knows nothing. A kink leaves an error of nodes⁻²."""
    count, errors = 7, []
    X = np.random.default_rng(2).uniform(-1.0, 2.0, (30, 1))
    values, theirs = known.values(count), known.functions(X, count)
    for nodes in (50, 100):
        found = Numerical(known_kernel(known), nodes, DOMAIN)
        ours = found.functions(X, count)
        same = [np.isclose(values, value, rtol=1e-6) for value in values]
        off = [np.abs(ours[:, s] @ ours[:, s].T - theirs[:, s] @ theirs[:, s].T).max() for s in same]
        errors.append((float(np.abs(found.values(count) - values).max()), max(off)))
    assert errors[1][0] < errors[0][0] / 3.5 < 2e-5
    assert errors[1][1] < min(within, errors[0][1] / 2.0)


def test_a_numerical_system_of_min_is_sine() -> None:
    X = np.random.default_rng(2).uniform(-1.0, 2.0, (30, 1))
    found, signs = Numerical(Brownian(DOMAIN), 400, DOMAIN), np.sign(Sine(DOMAIN).functions(np.array([[2.0]]), 6))
    assert found.values(6) == pytest.approx(Sine(DOMAIN).values(6), abs=1e-6)
    assert found.functions(X, 6) == pytest.approx(signs * Sine(DOMAIN).functions(X, 6), abs=2e-3)  # positive near the end


# products and sums


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_product_of_sines_is_the_product_of_min(dim: int) -> None:
    """λ = (2/π)^(2d) / m², m = Π (2j_c − 1) a whole number, by which all multi-indices of a grid are put in order."""
    count, system = 60, ProductSystem(Sine((0.0, 1.0)))
    grid = sorted(itertools.product(range(count), repeat=dim), key=lambda index: (math.prod(2 * j + 1 for j in index), index))[
        :count
    ]
    X = np.random.default_rng(3).uniform(size=(15, dim))
    waves = math.sqrt(2.0) * np.sin(math.pi * (np.arange(count) + 0.5)[:, None, None] * X)  # (count, n, dim)
    expected = np.array([np.prod([waves[j, :, c] for c, j in enumerate(index)], axis=0) for index in grid]).T
    assert np.abs(system.functions(X, count) - expected).max() < 1e-12
    sizes = np.array([math.prod(2 * j + 1 for j in index) for index in grid])
    assert system.values(count, dim) == pytest.approx((2.0 / math.pi) ** (2 * dim) / sizes**2.0, rel=1e-12)
    many = 3000
    left = np.prod(X, axis=1) - system.functions(X, many) ** 2 @ system.values(many, dim)
    K = np.prod(np.minimum(X[:, None], X), axis=2)
    Z = system.functions(X, many) * np.sqrt(system.values(many, dim))
    assert left.min() > -1e-14
    assert np.all(np.abs(K - Z @ Z.T) <= np.sqrt(np.outer(left, left)) * (1.0 + 1e-9))
    assert left.max() < 2.0**dim * (2.0**-dim - system.values(many, dim).sum())  # ψ² ≤ 2^d, and ∫ k(x, x) = 2^−d


bases = st.sampled_from([
    Sine(DOMAIN), Cosine(DOMAIN), Periodic(DOMAIN, 1.0), Periodic(DOMAIN, 0.8, constant=False), Haar(0.7, DOMAIN), Hermite(0.3),
    Hermite(), Beam(DOMAIN), Legendre(1.0, DOMAIN),
])  # fmt: skip


@settings(deadline=None, max_examples=60, database=None, derandomize=True)
@given(st.lists(bases, min_size=1, max_size=4), st.integers(1, 40), st.booleans())
def test_any_product_and_any_sum_is_its_definition(chosen: list[Any], count: int, is_product: bool) -> None:
    """Products in the order of a full search, by falling value; sums with one constant, one function of each column in turn."""
    dim = len(chosen)
    system: Any = ProductSystem(tuple(chosen)) if is_product else AdditiveSystem(tuple(chosen))
    X = rows(dim, 12)
    count = min(count, system.size(system.limit(dim), dim))
    if is_product:
        known = settled(system, X)
        assert np.abs(system.functions(X, count) - mercer.functions(known, X, count)).max() < 1e-9
        assert system.values(count, dim) == pytest.approx(mercer.values(known, count, dim), rel=1e-9)
        assert np.all(np.diff(system.values(count, dim)) <= 1e-9 * system.values(count, dim)[:-1])
        return
    each, own = -(-(count - 1) // dim), [int(base.has_constant) for base in chosen]
    parts = [
        base.functions(X[:, c : c + 1], each + one)[:, one:]
        for c, (base, one) in enumerate(zip(system.bases(dim), own, strict=True))
    ]
    expected = [np.ones(len(X)), *(part[:, j] for j in range(each) for part in parts)]
    assert np.array_equal(system.functions(X, count), np.array(expected[:count]).T)


def test_a_product_may_run_out_of_functions() -> None:
    """Two kernels of one function each, beside sines: their product goes on with the sines alone."""
    line = Numerical(Linear(), 10, DOMAIN)
    X = rows(3, 20)
    both = line.functions(X[:, :1], 1) * line.functions(X[:, 2:], 1)
    assert ProductSystem(line).limit(3) == 1
    assert ProductSystem((line, Sine(DOMAIN), line)).functions(X, 9) == pytest.approx(both * Sine(DOMAIN).functions(X[:, 1:2], 9))


@pytest.mark.once
def test_many_columns_cost_little() -> None:
    """Of a thousand columns, the first products are those of one function each; equals come from the last column on."""
    X = np.random.default_rng(4).normal(size=(3, 1000))
    Psi = ProductSystem(Legendre(1.0, DOMAIN)).functions(X, 1001)
    alone = Legendre(1.0, DOMAIN).functions(X.reshape(-1, 1), 2)[:, 1].reshape(3, 1000)
    assert np.allclose(Psi[:, 1:], alone[:, ::-1], rtol=1e-12)


@pytest.mark.parametrize(
    "system", [Sine(DOMAIN), Cosine(DOMAIN), Periodic(DOMAIN, constant=False), Legendre(1.0, DOMAIN), Haar(1.0, DOMAIN)], ids=repr
)
def test_products_of_two_functions_are_few_sums(system: Any) -> None:
    """Σ ψ_j(x) ψ_k(x) from O(N) moments of the rows (tests/oracle/moments.py)."""
    X = np.random.default_rng(1).uniform(*DOMAIN, size=(150, 1))
    for N in (1, 2, 9, 16):
        Psi = system.functions(X, N)
        assert np.abs(gram_from_moments(system, X[:, 0], N) - Psi.T @ Psi).max() < 1e-9


def test_haar_functions_are_means_over_equal_parts() -> None:
    """Halves are closed below, the last part has its upper end; least squares on 2^l functions is the mean of each of 2^l parts."""
    x = np.array([0.0, 0.25, 0.5, 0.75, 1.0])[:, None]
    root = math.sqrt(2.0)
    rows_of = [[1, 1, root, 0], [1, 1, -root, 0], [1, -1, 0, root], [1, -1, 0, -root], [1, -1, 0, -root]]
    assert Haar(1.0, (0.0, 1.0)).functions(x, 4).tolist() == rows_of
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(300, 1)), rng.normal(size=300)
    learner = MercerProjection(Haar(1.0, (0.0, 1.0)), 8, rate=1e-30, lam=1e-12)
    state = learner.init(1)
    learner.learn(state, X, y)
    parts = np.floor(8.0 * X[:, 0])
    assert learner.predict(state, X) == pytest.approx(np.array([y[parts == part].mean() for part in parts]), abs=1e-9)


def test_the_sphere_knows_no_axis() -> None:
    """Σ_m ψ_lm(x) ψ_lm(z) = (2l + 1) P_l(x·z), so a turn of both changes nothing; the length of a row does not matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3))
    turn, U = np.linalg.qr(rng.normal(size=(3, 3)))[0], X / np.linalg.norm(X, axis=1, keepdims=True)
    Psi, turned = Sphere().functions(X, 144), Sphere().functions(5.0 * X @ turn.T, 144)
    for l in range(12):
        shell = slice(l * l, (l + 1) ** 2)
        expected = (2 * l + 1) * np.polynomial.legendre.Legendre.basis(l)(np.clip(U @ U.T, -1.0, 1.0))
        assert np.abs(Psi[:, shell] @ Psi[:, shell].T - expected).max() < 1e-11
        assert np.abs(turned[:, shell] @ turned[:, shell].T - expected).max() < 1e-11
    assert np.abs(Psi[:, 1:4] - math.sqrt(3.0) * U[:, [1, 2, 0]]).max() < 1e-14
    assert np.isfinite(Sphere().functions(np.array([[0.0, 0.0, 0.0], [5e-324, 0.0, 0.0], [1e50, -1e50, 0.0]]), 100)).all()


def test_a_beam_of_many_functions_keeps_its_digits() -> None:
    """Far beyond the twelfth, where the usual form has lost them all."""
    u = np.linspace(0.0, 1.0, 1001)[:, None]
    Psi = Beam((0.0, 1.0)).functions(u, 300)
    assert np.abs(Psi).max() <= 2.0 + 1e-9
    assert np.abs(np.abs(Psi[0, 2:]) - 2.0).max() < 1e-9


@every_system
def test_a_row_is_the_same_in_every_block(system: Any, dim: int) -> None:
    """Also of a numerical system near its limit, where terms of size 1/λ cancel; and there may be no rows at all."""
    X, count = rows(dim, 40), min(30, system.limit(dim))
    Psi = system.functions(X, count)
    assert np.array_equal(np.vstack([system.functions(x, count) for x in np.array_split(X, 17)]), Psi)
    assert system.functions(X[:0], count).shape == (0, count)


@pytest.mark.parametrize("system", [
    Cosine((0.0, 5e-324)), Periodic((0.0, 1e-300)), Sine((-1e50, 1e50)), Hermite(1e-30, 1e30), Hermite(1e30, 1e-30), Hermite(5.0),
], ids=repr)  # fmt: skip
def test_functions_are_finite_on_domains_thin_and_wide(system: Any) -> None:
    X = np.array([[-1e50], [-1.0], [0.0], [5e-324], [1e-3], [1e50]])
    count = min(30, system.limit(1))
    assert np.isfinite(system.functions(X, count)).all()
    assert np.isfinite(system.values(count)).all()


def test_a_wide_gaussian_kernel_is_that_kernel() -> None:
    """δ² = a²(β² − 1)/2 would lose its digits: k(x, x) = 1 also where the inputs' spread is a millionth of the width."""
    X = np.array([[0.0], [0.5e8], [1e8]])
    Z = Hermite(1e8).functions(X, 1) * np.sqrt(Hermite(1e8).values(1))
    assert Z[:, 0] == pytest.approx(np.exp(-(X[:, 0] ** 2) / 2e16), rel=1e-6)


def nothing(X: Array, Z: Array) -> Array:
    return np.zeros((len(X), len(Z)))


REFUSED = [
    (lambda: Periodic(None), "one period"),
    (lambda: Periodic(DOMAIN, 0.5), "order"),
    (lambda: Sphere(1.0), "order"),
    (lambda: Cosine((1.0, 1.0)), "low < high"),
    (lambda: ProductSystem(AdditiveSystem(Cosine())), "system of one column"),
    (lambda: AdditiveSystem(()), "system of one column"),
    (lambda: Mercer(Cosine(), 10), "has no domain; give it one"),
    (lambda: Mercer(Cosine(DOMAIN), 10).init(2), "one column, got 2"),
    (lambda: Mercer(Numerical(Gaussian(width=5.0), 50, DOMAIN), 40).init(1), "exceed rounding errors; lower count=40"),
    (lambda: Numerical(CustomKernel(nothing), 10, DOMAIN).limit(1), "is not a kernel"),
    (lambda: ProductSystem(Legendre(100.0, DOMAIN)).values(1000, 2), "that are not rounded to 0; lower count=1000"),
    (lambda: MercerProjection(Sphere()).init(2), "3 columns"),
    (lambda: MercerProjection(ProductSystem((Cosine(), Cosine()))).init(3), "3 columns, got 2 bases"),
    (lambda: MercerProjection(rate=0.0), "rate"),
    (lambda: MercerProjection(clip=-1.0), "clip"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_settings_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        make()


# the estimator


def noisy(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Rows, a smooth curve, and the curve with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 1))
    f = np.sin(9.0 * X[:, 0] ** 2)
    return X, f, f + rng.normal(size=n)


def test_levels_come_when_the_paper_says() -> None:
    """c = 0.2, α = 2: at 6, 48, 204, 625 and 1555 rows; c = 0.5, α = 1: 125 functions at a million."""
    learner = MercerProjection(Cosine((0.0, 1.0)), count=200, rate=0.2, smoothness=2.0)
    needed = _settings(learner, 1).needed
    assert needed[:6].tolist() == [0.0, 6.0, 48.0, 204.0, 625.0, 1555.0]
    assert grown(needed, 10.0**6) == 21
    assert grown(_settings(MercerProjection(Cosine((0.0, 1.0)), 200, rate=0.5), 1).needed, 10.0**6) == 125


def test_an_output_added_later_is_as_if_its_label_had_been_0() -> None:
    X, _, y = noisy(120)
    for learner in (MercerProjection(Cosine((0.0, 1.0)), 8), MercerProjection(Cosine((0.0, 1.0)), 8, rate=0.5, clip=2.0)):
        wide, later = learner.init(1, 2), learner.init(1)
        learner.learn(wide, X, np.column_stack([y, 0.0 * y]))
        learner.learn(later, X, y)
        learner.widen(later, 2)
        for (_, mine, _), (_, theirs, _) in zip(leaves(wide), leaves(later), strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_bytes_do_not_depend_on_the_rows() -> None:
    learner = MercerProjection()
    state = learner.init(3)
    before = onkel.nbytes(state)
    learner.learn(state, np.random.default_rng(0).normal(size=(500, 3)), np.zeros(500))
    assert onkel.nbytes(state) == before == learner.footprint(3)


# functions that wait


@dataclass(frozen=True)
class Opaque(Line):
    """Waves that nobody knows for waves: what waits is held as sums of products."""

    base: Any
    domain: Any = (0.0, 1.0)

    def values(self, count: int, dim: int = 1) -> Array:
        return np.asarray(self.base.values(count))

    def on_unit(self, u: Array, count: int) -> Array:
        return np.asarray(self.base.on_unit(u, count))


WAVES: list[Any] = [Sine((0.0, 1.0)), Cosine((0.0, 1.0)), Periodic((0.0, 1.0)), Periodic((0.0, 1.0), 1.0, constant=False)]
every_wave = pytest.mark.parametrize("system", WAVES, ids=repr)
FORGETTING = pytest.mark.parametrize("forgetting", [1.0, 0.97])


def weighted(n: int, outputs: int = 2) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    X = rng.beta(2.0, 1.3, (n, 1))
    y = np.column_stack([np.sin(9.0 * X[:, 0] ** 2 + o) for o in range(outputs)]) + 0.1 * rng.normal(size=(n, outputs))
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n)


@every_wave
def test_moments_hold_all_products(system: Any) -> None:
    X, Y, weight = weighted(300)
    waves, N = system.waves(40), 40
    sums, targets = np.zeros((2, waves.moments)), np.zeros((2, N))
    waves.add(X[:, 0], weight, Y, sums, targets, 7)
    Psi = system.functions(X, N)
    G, b = Psi.T @ (weight[:, None] * Psi), Y.T @ (weight[:, None] * Psi)
    assert max(np.abs(waves.products(sums, j) - G[: j + 1, j]).max() for j in range(N)) < 1e-11
    assert np.abs(targets[:, 7:] - b[:, 7:]).max() < 1e-11
    assert not targets[:, :7].any()
    if not getattr(system, "constant", False):  # the oracle knows the others
        sums[:] = 0.0
        waves.add(X[:, 0], np.ones(300), Y, sums, targets, 0)
        expected = gram_from_moments(system, X[:, 0], N)
        assert max(np.abs(waves.products(sums, j) - expected[: j + 1, j]).max() for j in range(N)) < 1e-10


@FORGETTING
@every_wave
def test_waves_grow_as_if_from_scratch_and_as_other_functions_do(system: Any, forgetting: float) -> None:
    X, y, weight = weighted(60 if compiler_off else 250)
    learner = MercerProjection(system, 12, rate=0.02, smoothness=1.0, lam=0.01, forgetting=forgetting)
    state = learner.init(1, 2)
    scores = learner.learn(state, X, y, weight)
    assert learner.level(state) > 5
    assert np.abs(scores - mercer_projection.scores(learner, X, y, weight)).max() < 1e-9
    opaque = replace(learner, system=Opaque(system))
    assert np.abs(scores - opaque.learn(opaque.init(1, 2), X, y, weight)).max() < 1e-10
    alone = np.concatenate(
        [
            learner.learn(other, X[i : i + 1], y[i : i + 1], weight[i : i + 1])
            for other in [learner.init(1, 2)]
            for i in range(len(X))
        ]
    )
    assert np.abs(scores - alone).max() < 1e-9


@FORGETTING
def test_waves_that_wait_are_saved(tmp_path: Path, forgetting: float) -> None:
    X, y, weight = weighted(120, 1)
    learner = MercerProjection(Cosine((0.0, 1.0)), 12, rate=0.1, lam=0.01, forgetting=forgetting)
    state = learner.init(1)
    learner.learn(state, X[:30], y[:30, 0], weight[:30])
    assert 1 < learner.level(state) < 12
    onkel.save(tmp_path / "half.onkel", learner, state)
    _, again = onkel.load(tmp_path / "half.onkel")
    before = learner.level(state)
    assert np.array_equal(
        learner.learn(state, X[30:], y[30:, 0], weight[30:]), learner.learn(again, X[30:], y[30:, 0], weight[30:])
    )
    assert before < learner.level(state) == learner.level(again)


@pytest.mark.parametrize("rate", [0.02, None])
@FORGETTING
@pytest.mark.parametrize("system", [Cosine((0.0, 1.0)), Beam((0.0, 1.0))], ids=repr)
def test_raised_functions_have_been_0_so_far(system: Any, forgetting: float, rate: float | None) -> None:
    """After the 80th row there are 12 levels in the place of 5: each score is the fit to rows in which those seven were 0."""
    X, y, weight = weighted(160, 1)
    learner = MercerProjection(system, 5, rate=rate, lam=0.5, forgetting=forgetting)
    state = learner.init(1)
    learner.learn(state, X[:80], y[:80, 0], weight[:80])
    higher, taller = learner.raised(state, 12)
    assert higher == replace(learner, count=12)
    higher.learn(taller, X[80:], y[80:, 0], weight[80:])
    Psi = system.functions(X, 12)
    Psi[:80, 5:] = 0.0
    there = np.flatnonzero(weight)
    fade = weight[there] * forgetting ** np.arange(len(there) - 1.0, -1.0, -1.0)
    A, b = Psi[there].T @ (fade[:, None] * Psi[there]), Psi[there].T @ (fade * y[there, 0])
    inner = taller.inner
    ridge = ridge_after(int(np.count_nonzero(weight[:80])), int(np.count_nonzero(weight[80:])), (5, 12), 0.5, forgetting)
    for N in range(1, 13):
        theta = np.linalg.solve(A[:N, :N] + np.diag(ridge[:N]), b[:N])
        if inner.taken >= N:
            mine = np.linalg.solve(inner.matrix[:N, :N], inner.coef[0, :N])
            assert np.abs(mine - theta).max() < 1e-9
    assert inner.taken > 8
    low, high = higher.band(taller, X)
    assert np.all(low < high)


def ridge_after(before: int, after: int, sizes: tuple[int, int], lam: float, forgetting: float) -> Array:
    """D_j: faded and returned coordinate by coordinate, first among 5, then among 12."""
    D, t = np.full(sizes[1], lam), 0
    for rounds, r in ((before, sizes[0]), (after, sizes[1])):
        for _ in range(rounds if forgetting < 1.0 else 0):
            D[:r] *= forgetting
            D[t % r] += lam * (1.0 - forgetting**r)
            t += 1
    return D


def test_a_raised_learner_that_has_seen_nothing_is_a_fresh_one() -> None:
    for learner in (MercerProjection(Cosine(None), 5, rate=0.1), MercerProjection(Sine((0.0, 1.0)), 5), MercerProjection(count=5)):
        higher, state = learner.raised(learner.init(1), 9)
        for (name, mine, _), (_, theirs, _) in zip(leaves(state), leaves(higher.init(1)), strict=True):
            assert np.array_equal(mine, theirs), name
    with pytest.raises(onkel.InputError, match="only be raised"):
        learner.raised(learner.init(1), 4)


# the mix


def test_the_mix_is_that_of_all_sequences_of_levels() -> None:
    """Shares with π_N/(t+1) given back are Bayes' rule over sequences, each as likely as a chain that moves to N so often."""
    rng, prior, T = np.random.default_rng(0), np.array([0.6, 0.3, 0.1]), 6
    predictions, y, shares = rng.uniform(-1.0, 1.0, (T, 3)), rng.uniform(-1.0, 1.0, T), prior.copy()
    for t in range(T):
        mixing.reward(shares, prior, predictions[t], y[t], 1.0, 1.0 / (t + 2.0))
    total = np.zeros(3)
    for sequence in itertools.product(range(3), repeat=T + 1):
        chance = prior[sequence[0]]
        for t in range(T):
            stay = (1.0 - 1.0 / (t + 2.0)) * (sequence[t] == sequence[t + 1])
            chance *= math.exp(-((y[t] - predictions[t, sequence[t]]) ** 2) / 2.0) * (stay + prior[sequence[t + 1]] / (t + 2.0))
        total[sequence[-1]] += chance
    assert shares == pytest.approx(total / total.sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_mix_keeps_its_bound_while_labels_grow_and_the_best_changes(seed: int) -> None:
    rng, K, T = np.random.default_rng(seed), 4, 400
    prior, shares, bound, loss = np.full(K, 1.0 / K), np.full(K, 1.0 / K), 0.0, 0.0
    size = 10.0 ** np.sort(rng.uniform(-2.0, 2.0, T))
    y, q = size * rng.uniform(-1.0, 1.0, T), size[:, None] * rng.uniform(-1.0, 1.0, (T, K))
    best = np.repeat(rng.integers(0, K, 4), T // 4)  # four pieces
    q[np.arange(T), best] = y
    for t in range(T):
        loss += (mixing.aggregate(q[t], shares, bound) - y[t]) ** 2
        mixing.reward(shares, prior, q[t], y[t], bound, 1.0 / (t + 2.0))
        if abs(y[t]) > bound:
            mixing.temper(shares, prior, (bound / y[t]) ** 2)
            bound = abs(y[t])
    pieces = 1 + np.count_nonzero(np.diff(best))
    assert loss <= 2.0 * bound**2 * (1.0 + pieces * math.log((T + 1) * K))


# a user's own list


def one(X: Array) -> Array:
    return np.ones(len(X))


def height(X: Array) -> Array:
    return X[:, 1]


def ripple(X: Array) -> Array:
    return np.sin(3.0 * X[:, 0]) * X[:, 1]


def poison(X: Array) -> Array:
    return np.where(X[:, 0] > 2.0, np.nan, 1.0)


@pytest.mark.parametrize("rate", [0.5, None])
def test_a_list_of_functions_is_a_system(rate: float | None, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(800, 2))
    y = 1.0 + 2.0 * height(X) - ripple(X)
    learner = MercerProjection(Listed((one, height, ripple)), rate=rate, lam=1e-9)
    state = learner.init(2)
    learner.learn(state, X, y)
    assert np.mean((learner.predict(state, X) - y) ** 2) < (1e-12 if rate else 0.05) * np.var(y)
    onkel.save(tmp_path / "own.onkel", learner, state)
    again, loaded = onkel.load(tmp_path / "own.onkel", kernels={"one": one, "height": height, "ripple": ripple})
    assert again == learner
    assert np.array_equal(again.predict(loaded, X), learner.predict(state, X))
    Z = np.empty((800, 2))
    Mercer(Listed((one, height), sizes=(4.0, 1.0)), 2).write(None, X, np.ones(800), Z, 0)
    assert np.array_equal(Z, np.column_stack([2.0 * one(X), height(X)]))


def test_a_function_that_fails_leaves_the_state() -> None:
    learner = MercerProjection(Listed((one, poison)), rate=1e-30)
    state, X = learner.init(1), np.concatenate([np.zeros(1500), [3.0]])[:, None]
    before = bits(state)
    with pytest.raises(onkel.InputError, match="poison gave nan"):
        learner.learn(state, X, np.ones(1501))
    assert bits(state) == before


OWN_REFUSED = [
    (lambda: Listed(()), "tuple of functions"),
    (lambda: Listed((one, 3)), "tuple of functions"),
    (lambda: Listed((one, height), sizes=(1.0,)), "2 numbers"),
    (lambda: Listed((one, height), sizes=(1.0, 2.0)), "must not increase"),
    (lambda: Mercer(Listed((one,)), 2).init(1), "only the first 1 functions"),
    (lambda: Listed((len,)).functions(np.zeros((2, 1)), 1), "one number for one row"),
]


@pytest.mark.parametrize(("make", "message"), OWN_REFUSED)
def test_lists_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        make()


def test_a_label_far_out_is_told() -> None:
    X, _, y = noisy(100)
    learner = MercerProjection(Cosine((0.0, 1.0)), 5)
    state = learner.init(1)
    learner.learn(state, X, y)
    assert learner.notes(state) == []
    learner.learn(state, X[:1], np.array([1e4]))
    learner.learn(state, X, y)
    assert not learner.notes(state)  # it is a deviation by itself
    for _ in range(20):
        learner.learn(state, X, y)
    assert "with a clip" in learner.notes(state)[0]


def test_polynomials_are_learnt_where_the_other_functions_cannot_meet_the_ends() -> None:
    """x² has different ends, so waves alone leave an error at them; with x and x² before them nothing is left."""
    X = np.random.default_rng(5).uniform(*DOMAIN, size=(400, 1))
    waves = Periodic(DOMAIN, constant=False)
    errors = []
    for system in (waves, WithPolynomials(waves, 2)):
        learner = MercerProjection(system, 9, rate=1e-30, lam=1e-9)
        state = learner.init(1)
        learner.learn(state, X, X[:, 0] ** 2)
        errors.append(np.abs(learner.predict(state, X) - X[:, 0] ** 2).max())
    assert errors[0] > 0.1
    assert errors[1] < 1e-6


@pytest.mark.parametrize("system", [Hermite(), Sphere(), Gaussian(), None], ids=repr)
def test_polynomials_need_a_system_with_a_domain(system: Any) -> None:
    with pytest.raises(onkel.InputError, match="WithPolynomials: system must be one of one column with a domain"):
        WithPolynomials(system)
