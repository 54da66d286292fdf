"""Zhang & Simon (2021), An online projection estimator: its equations and rates hold of ours; its misprints, with evidence.

n rows, N functions, Ψ the (n, N) values of the functions, Φ = (ΨᵀΨ)⁻¹. Our ridge is N more rows, √λ e_j with label 0: with these in
Ψ and y the equations hold as they stand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special
from numpy.typing import NDArray

from onkel import Beam, Cosine, CustomKernel, FunctionalSGD, Hermite, MercerProjection, Periodic, Sine
from tests.oracle import mercer
from tests.oracle.mercer_projection import algorithm2
from tests.oracle.systems import PeriodicQuadratic

Array = NDArray[np.float64]

UNIT = (0.0, 1.0)
LAM = 1e-3
EVERY = 1e-30  # a rate at which level N speaks as soon as there are N rows
PLACES = np.linspace(0.0, 1.0, 31)[:, None]


def stream(n: int) -> tuple[Array, Array]:
    """Not uniform: the functions are correlated in these rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1)) ** 0.6
    return X, np.sin(5.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def fitted(system: Any, N: int, X: Array, y: Array, lam: float = LAM) -> tuple[Any, Any]:
    learner = MercerProjection(system, N, EVERY, lam=lam)
    state = learner.init(1)
    learner.learn(state, X, y)
    return learner, state


def with_ridge(system: Any, N: int, X: Array, y: Array) -> tuple[Array, Array]:
    return np.vstack([system.functions(X, N), math.sqrt(LAM) * np.eye(N)]), np.append(y, np.zeros(N))


# the equations


@pytest.mark.parametrize("system", [Cosine(UNIT), Sine(UNIT), Beam(UNIT)], ids=repr)
def test_equations_22_and_73_a_new_row(system: Any) -> None:
    """θ_n = θ_{n−1} + Φ_n ψ_n (y_n − f̂_{n−1}(x_n)): a Newton step on the newest error."""
    X, y = stream(60)
    learner, state = fitted(system, 6, X[:10], y[:10])
    for n in range(11, 61):
        before = learner.predict(state, PLACES)
        score = learner.learn(state, X[n - 1 : n], y[n - 1 : n])[0]
        Psi, _ = with_ridge(system, 6, X[:n], y[:n])
        direction = np.linalg.solve(Psi.T @ Psi, system.functions(X[n - 1 : n], 6)[0])
        step = system.functions(PLACES, 6) @ direction * (y[n - 1] - score)
        assert learner.predict(state, PLACES) == pytest.approx(before + step, abs=1e-9)


@pytest.mark.parametrize("system", [Cosine(UNIT), Sine(UNIT), Beam(UNIT)], ids=repr)
def test_equations_74_and_77_a_new_function(system: Any) -> None:
    """θ_{N+1} = (θ_N, 0) + (ψᵀΔ/‖(I − P)ψ‖²)(−ΦΨᵀψ, 1): by what the new column ψ explains of the residuals Δ, and how much of it
    the old ones do not. P is ΨΦΨᵀ; eq. 77 says the same with b = Ψᵀψ and k = ψᵀψ − bᵀΦb."""
    X, y = stream(80)
    for N in range(1, 9):
        narrow, wide = (learner.predict(state, PLACES) for learner, state in (fitted(system, M, X, y) for M in (N, N + 1)))
        both, labels = with_ridge(system, N + 1, X, y)
        Psi, new = both[:, :N], both[:, N]
        theta, coefficients = (np.linalg.lstsq(Psi, target, rcond=None)[0] for target in (labels, new))
        residuals, rest = labels - Psi @ theta, new - Psi @ coefficients
        step = new @ residuals / (rest @ rest)
        at = system.functions(PLACES, N + 1)
        assert wide - narrow == pytest.approx(step * (at[:, N] - at[:, :N] @ coefficients), abs=1e-9)
        b = Psi.T @ new
        k = new @ new - b @ np.linalg.solve(Psi.T @ Psi, b)
        assert step == pytest.approx((new @ labels - b @ theta) / k, rel=1e-8)


@pytest.mark.once
def test_equation_76_is_another_estimator() -> None:
    """θ_n = θ_{n−1} + ε_n ψ_n (y_n − f̂_{n−1}(x_n)), ε_n ~ 1/n: without Φ. It is `FunctionalSGD` with the kernel ψ(x)·ψ(z), does not
    come to the least-squares fit, and is the worse for it, as the paper says."""
    X, y = stream(300)
    system, theta = Cosine(UNIT), np.zeros(6)
    Psi, scores = system.functions(X, 6), np.empty(300)
    for n in range(1, 301):
        scores[n - 1] = Psi[n - 1] @ theta
        theta = theta + 0.5 / n * (y[n - 1] - scores[n - 1]) * Psi[n - 1]
    kernel = CustomKernel(lambda X, Z: system.functions(X, 6) @ system.functions(Z, 6).T)
    descent = FunctionalSGD(kernel, step=0.5, decay=1.0, averaging=False)
    assert descent.learn(descent.init(1), X, y) == pytest.approx(scores, abs=1e-12)
    learner, state = fitted(system, 6, X, y)
    truth = np.sin(5.0 * PLACES[:, 0])
    errors = [np.mean((f - truth) ** 2) for f in (learner.predict(state, PLACES), system.functions(PLACES, 6) @ theta)]
    assert errors[0] < errors[1] / 3.0


@pytest.mark.once
def test_algorithm_2_is_our_estimator() -> None:
    """As printed: Sherman and Morrison's formula for a row, a block inverse for a function. Our ridge is small beside its rows."""
    X, y = stream(400)
    learner = MercerProjection(Cosine(UNIT), 8, rate=0.7, lam=1e-12)
    levels = np.arange(1, 9)
    needed = np.maximum(np.floor(0.7 * levels**3.0 * (1.0 + 1e-14)), levels)
    add_at = {int(N): 0 if N == 1 else int(at) for N, at in zip(levels, needed, strict=True)}
    state = learner.init(1)
    learner.learn(state, X[:1], y[:1])
    for n, theta in enumerate(algorithm2(learner.system.functions(X, 8), y, add_at), start=2):
        learner.learn(state, X[n - 1 : n], y[n - 1 : n])
        assert learner.level(state) == len(theta)
        expected = learner.system.functions(PLACES, len(theta)) @ theta
        assert learner.predict(state, PLACES) == pytest.approx(expected, abs=1e-7 * max(1.0, float(np.abs(theta).max())))
    assert len(theta) == 8


def test_equations_29_and_30_the_gaussian_kernel() -> None:
    """With H_j as they are, where they do not overflow yet."""
    system, x = Hermite(0.8, 1.3), np.linspace(-4.0, 4.0, 41)
    alpha, epsilon = 1.0 / (math.sqrt(2.0) * 1.3), 1.0 / (math.sqrt(2.0) * 0.8)
    beta = (1.0 + (2.0 * epsilon / alpha) ** 2) ** 0.25
    delta2 = alpha**2 / 2.0 * (beta**2 - 1.0)
    whole = alpha**2 + delta2 + epsilon**2
    Psi, values = system.functions(x[:, None], 25), system.values(25)
    for j in range(1, 26):
        gamma = math.sqrt(beta / (2.0 ** (j - 1) * math.gamma(j)))
        psi = gamma * np.exp(-delta2 * x**2) * scipy.special.eval_hermite(j - 1, alpha * beta * x)
        assert Psi[:, j - 1] == pytest.approx(psi, abs=1e-12 * max(1.0, float(np.abs(psi).max())))
        assert values[j - 1] == pytest.approx(math.sqrt(alpha**2 / whole) * (epsilon**2 / whole) ** (j - 1), rel=1e-12)


# the rates of Figure 1


def bernoulli_4(u: Array) -> Array:
    return np.asarray(u**4 - 2.0 * u**3 + u**2 - 1.0 / 30.0)


def example_2(x: Array) -> Array:
    return np.asarray((6.0 * x - 3.0) * np.sin(12.0 * x - 6.0) + np.cos(12.0 * x - 6.0) ** 2)


@pytest.mark.once
@pytest.mark.parametrize(("number", "learner"), [
    (1, MercerProjection(Periodic(UNIT, 2.0, constant=False), 14, rate=0.2, smoothness=2.0, lam=1e-6)),
    (2, MercerProjection(Sine(UNIT), 41, rate=0.5, smoothness=1.0, lam=1e-6)),
], ids=["example 1", "example 2"])  # fmt: skip
def test_errors_fall_as_fast_as_in_figure_1(number: int, learner: Any) -> None:
    """n^(−2α/(2α+1)): n^(−4/5) for a smooth periodic curve and uniform rows, n^(−2/3) for a rougher space and density x + ½."""
    sizes, errors = [500, 4000, 32000], np.zeros(3)
    (u,), w = mercer.measure(Sine(UNIT))[0].T, mercer.measure(Sine(UNIT))[1]
    truth, density = (bernoulli_4, 1.0) if number == 1 else (example_2, u + 0.5)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, noise = rng.uniform(size=sizes[-1]), rng.uniform(-0.02, 0.02, sizes[-1])
        if number == 2:
            x, noise = (np.sqrt(1.0 + 8.0 * x) - 1.0) / 2.0, math.sqrt(5.0) * rng.normal(size=sizes[-1])
        state, y = learner.init(1), truth(x) + noise
        for i, (start, end) in enumerate(zip([0, *sizes], sizes, strict=False)):
            learner.learn(state, x[start:end, None], y[start:end])
            errors[i] += w @ (density * (learner.predict(state, u[:, None]) - truth(u)) ** 2)
    assert learner.level(state) < learner.count
    slope = np.log(errors[2] / errors[0]) / np.log(sizes[2] / sizes[0])
    assert slope == pytest.approx(-2.0 * learner.smoothness / (2.0 * learner.smoothness + 1.0), abs=0.15)


# misprints


def mean_square(psi: Any) -> float:
    x, w = mercer.gauss(200)
    return float(w @ psi(x) ** 2)


def test_tables_1_to_3_are_not_orthonormal() -> None:
    """λ_j ψ_j ψ_j is right in them, but ∫ψ² is ½ (Tables 1 and 2) and 2 (Table 3), and λ twice and half the eigenvalue."""
    x, j = np.linspace(0.0, 1.0, 9), np.arange(1, 20001)[:, None]
    table3 = 2.0 / ((2 * j - 1) ** 2 * math.pi**2) * (2.0 * np.sin((2 * j - 1) * math.pi * x / 2.0)) ** 2
    assert table3.sum(axis=0) == pytest.approx(x, abs=1e-4)
    assert mean_square(lambda x: 2.0 * np.sin(math.pi * x / 2.0)) == pytest.approx(2.0)
    assert Sine(UNIT).values(3) == pytest.approx(2.0 * np.array([2.0 / ((2 * i - 1) ** 2 * math.pi**2) for i in (1, 2, 3)]))
    table2 = 2.0 / (2.0 * math.pi * j) ** 4 * np.ones(9)  # of cos² + sin²
    assert table2.sum(axis=0) == pytest.approx(np.full(9, 1.0 / 720.0), abs=1e-13)
    assert mean_square(lambda x: np.sin(2.0 * math.pi * x)) == pytest.approx(0.5)
    assert Periodic(UNIT, 2.0).values(3)[1:] == pytest.approx((2.0 * math.pi) ** -4.0)


def test_equation_85_and_table_4_have_no_kernel() -> None:
    """+ B₄({s − t}) must be − B₄({s − t})/24."""
    x = np.random.default_rng(0).uniform(size=30)
    polynomials, B = np.outer(x, x) + np.outer(x, x) ** 2, bernoulli_4(np.subtract.outer(x, x) % 1.0)
    assert np.linalg.eigvalsh(polynomials + B).min() < -0.3
    assert np.linalg.eigvalsh(polynomials - B / 24.0).min() > -1e-14


def test_the_additive_example_misses_a_constant() -> None:
    """x, x² and the pairs come to 1 in L² only as N⁻³ (squared), where functions of W₂ do as N⁻⁴; with the constant it is there."""
    x, w = mercer.gauss(400)
    rest = []
    for N in (20, 100):
        pairs = Periodic(UNIT, 2.0, constant=False).functions(x[:, None], N)
        Psi = np.sqrt(w)[:, None] * np.column_stack([x, x**2, pairs])
        rest.append(np.sum((np.sqrt(w) - Psi @ np.linalg.lstsq(Psi, np.sqrt(w), rcond=None)[0]) ** 2))
    assert np.log(rest[1] / rest[0]) / np.log(5.0) == pytest.approx(-3.0, abs=0.2)


def test_example_2_is_outside_its_space() -> None:
    """W₁⁰ has f(0) = 0."""
    assert example_2(np.zeros(1))[0] == pytest.approx(0.0837, abs=5e-5)


def test_equation_74_has_two_operators_of_one_name() -> None:
    """P_n = ΦΨᵀ is (N, n), where it gives coefficients; I − P_n needs the projection ΨΦΨᵀ."""
    X, _ = stream(20)
    Psi = Sine(UNIT).functions(X, 4)
    P = np.linalg.inv(Psi.T @ Psi) @ Psi.T
    assert P.shape == (4, 20)
    assert (Psi @ P) @ (Psi @ P) == pytest.approx(Psi @ P, abs=1e-12)


def test_equations_39_and_42_bound_too_little() -> None:
    """(D‖f‖λ_N)^½ must be (Dλ_{N+1})^½ ‖f‖: f = 10 ψ_2 with N = 1 breaks the one and attains the other (D = 1)."""
    first, second = Sine(UNIT).values(2)
    error, norm = 10.0, 10.0 / math.sqrt(second)
    assert error > math.sqrt(norm * first)
    assert error == pytest.approx(math.sqrt(second) * norm)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_proof_of_lemma_b1_is_of_one_dimension(d: int) -> None:
    """N = n^(1/(2α+d)) must be n^(d/(2α+d)), for N^(−2α/d) to be n^(−2α/(2α+d))."""
    alpha = Fraction(3)
    printed, right = 1 / (2 * alpha + d), d / (2 * alpha + d)
    assert right * 2 * alpha / d == 2 * alpha / (2 * alpha + d)
    assert (printed * 2 * alpha / d == 2 * alpha / (2 * alpha + d)) == (d == 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_equation_61_is_of_one_dimension(d: int) -> None:
    """For φ_n(δ_n) = n^(−½) times eq. 59, δ^(−1/α) must be δ^(−d/α), and m ≥ 1 + 2α be m ≥ 1 + 2α/d: exponents of n."""
    alpha = Fraction(3)
    delta = -alpha / (2 * alpha + d)
    assert -Fraction(d) / alpha * delta == d / (2 * alpha + d)
    assert (-1 / alpha * delta == d / (2 * alpha + d)) == (d == 1)
    assert -Fraction(1, 2) + 1 / (2 * (1 + 2 * alpha / d)) == delta


def test_coefficients_of_the_space_fall_with_the_root_of_the_values() -> None:
    """Section 2 asks for θ_j = o(λ_j j^(−½)); it must be √λ_j: θ_j = √λ_j j^(−0.6) has a finite norm, and is far larger."""
    j = np.arange(1.0, 1e6)
    values = Sine(UNIT).values(len(j))
    theta = np.sqrt(values) * j**-0.6
    assert np.sum(theta**2 / values) < scipy.special.zeta(1.2)
    assert (theta / (values * j**-0.5))[-1] > 1e5


def test_equation_14_is_of_the_working_measure() -> None:
    """In the norm of rows that are not uniform the ψ_j are not the best N functions, and √λ_{N+1} is not the error of the best."""
    x, w = mercer.gauss(400)
    for density, is_working in ((np.ones_like(x), True), (4.0 * x**3, False)):
        u = w * density
        T = np.sqrt(np.outer(u, u)) * np.minimum.outer(x, x)
        Q = np.linalg.qr(np.sqrt(u)[:, None] * Sine(UNIT).functions(x[:, None], 3))[0]
        rest = np.eye(len(x)) - Q @ Q.T
        ours, best = (math.sqrt(np.linalg.eigvalsh(M)[k]) for M, k in ((rest @ T @ rest, -1), (T, -4)))
        assert (abs(ours - best) < 1e-5) == is_working
        assert (abs(best - math.sqrt(Sine(UNIT).values(4)[3])) < 1e-4) == is_working


def test_the_rule_as_printed_can_stall() -> None:
    """ "if n = ⌊c (N+1)^(2α+1)⌋" never comes true where that number is below 1, or below N's own; "at least" is meant."""

    def printed(c: float, rows: int) -> int:
        N = 1
        for n in range(1, rows + 1):
            N += n == math.floor(c * (N + 1) ** 5)
        return N

    def ours(c: float, rows: int) -> int:
        learner = MercerProjection(Sine(UNIT), 12, rate=c, smoothness=2.0)
        state = learner.init(1)
        learner.learn(state, np.zeros((rows, 1)), np.zeros(rows))
        return learner.level(state)

    assert printed(0.03, 2000) == 1
    assert ours(0.03, 2000) == 9
    assert printed(0.2, 2000) == ours(0.2, 2000) == 6


def test_the_papers_functions_of_w2_are_badly_conditioned() -> None:
    """Of 15 functions: with 1, x, x² the Gram matrix has a condition of 5e5, with Legendre's 3.6e3, and free beams' hardly any."""
    X = np.random.default_rng(0).uniform(size=(20000, 1))
    better = mercer.functions(PeriodicQuadratic(), X, 15)
    theirs = np.column_stack([np.ones(20000), X, X**2, better[:, 3:]])
    beams = Beam(UNIT).functions(X, 15)
    assert np.linalg.cond(theirs.T @ theirs) == pytest.approx(5e5, rel=0.1)
    assert np.linalg.cond(better.T @ better) == pytest.approx(3.6e3, rel=0.1)
    assert np.linalg.cond(beams.T @ beams) < 1.3
