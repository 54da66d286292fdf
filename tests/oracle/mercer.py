"""Eigen-systems of kernels from their definitions: k(x, z) = Σ_j λ_j ψ_j(x) ψ_j(z), the ψ_j orthonormal in a stated measure.

On [0, 1], uniformly; s < t in the kernels; {u} the fractional part; P, B the Legendre and Bernoulli polynomials:

    Sine                W₁⁰: f(0) = 0, ∫f'²      min(s, t)             (2/((2j−1)π))²    √2 sin((2j−1)πx/2)
    Cosine              W₁: (∫f)² + ∫f'²         4/3 + (s²+t²)/2 − t   1, (jπ)⁻²         1, √2 cos(jπx)
    OnePlusMin          W₁: f(0)² + ∫f'²         1 + min(s, t)         ω⁻², ω tan ω = 1  cos(ω(1−x)), normed
    Periodic(m)         zero mean, ∫(f⁽ᵐ⁾)²      (−1)^(m−1) B_2m({s−t})/(2m)!  (2πj)^(−2m), twice  √2 cos(2πjx), √2 sin(2πjx)
    Beam                W₂: (∫f)² + (∫fp₁)² + ∫f''²   1 + p₁p₁ + G     1, 1, ω⁻⁴, cos ω cosh ω = 1   1, p₁ = √3(2x−1), free beams
    Legendre(q)         chosen                   q = 1 only            1, (j(j+1))^(−q)  √(2j+1) P_j(2x−1)
    Haar(q)             chosen                   by common digits      1, 4^(−ql)        1, 2^(l/2) h(2^l x − k), h: 1, then −1

Two designs of Zhang & Simon (2021), whose functions span a space but are not orthonormal; λ are the weights of their kernel:

    SineWithConstant    W₁                       1 + min(s, t)         1, as Sine        1, as Sine                          eq. 91
    PeriodicQuadratic   W₂                       1 + p₁p₁ + p₂p₂ − B₄({s−t})/24          1, p₁, p₂ = √5(6x²−6x+1), pairs     eq. 95

Elsewhere:

    Hermite(σ, τ)       Normal(0, τ²)            exp(−(s−t)²/2σ²)      eqs. 29 and 30 with ε² = 1/2σ², α² = 1/2τ²
    Sphere(q)           S² ⊂ R³, uniformly       q = 2 only            1, (l(l+1))^(−q), 2l+1 times    real spherical harmonics
    Numerical(k)        an interval, uniformly   k itself              the matrix √w k(x_i, x_j) √w of Gauss-Legendre nodes
    Product, Additive   one system a column      Π, 1 + Σ

Functions come by falling eigenvalue; equal ones as written above (cosine before sine; m = −l … l on the sphere). In a product,
eigenvalues within TIE of the first of their group are equal, and the smaller multi-index, compared from its first entry, is first.
An additive design has the constant once, then the first function of every column, then the second of every column, and so on;
constants of the columns' own systems are left out.

An input outside a domain stands on its edge (Periodic: wraps); the domain is mapped to [0, 1]. Nothing here comes from the package.
"""

from functools import cache
from itertools import pairwise
from math import factorial, gamma, isqrt, lgamma, log, pi, prod, sqrt
from typing import Any

import numpy as np
from numpy.polynomial import Legendre as Poly
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import bernoulli, comb, eval_legendre, lpmv, spence

from onkel import Legendre, Periodic, Sine
from tests.oracle.systems import bases, has_constant, inside, name, spread_out

Array = NDArray[np.float64]

TIE = 1e-9  # relative
UNIT = (0.0, 1.0)
NODES = 400  # of a Gauss-Legendre rule


# the eigenvalues


def values(system: Any, N: int, dim: int = 1) -> Array:
    """The first N eigenvalues."""
    j = np.arange(1, N + 1, dtype=float)
    match name(system):
        case "Sine":
            return (2 / ((2 * j - 1) * pi)) ** 2
        case "Cosine":
            return first(1, (j * pi) ** -2.0)
        case "OnePlusMin":
            return np.array([robin(i) for i in range(N)]) ** -2.0
        case "SineWithConstant":
            return first(1, values(Sine(UNIT), N))
        case "Periodic":
            pairs = np.repeat((2 * pi * j) ** (-2 * system.order), 2)[:N]
            return first(1, pairs) if system.constant else pairs
        case "PeriodicQuadratic":
            return first(3, values(Periodic(UNIT, constant=False), N))
        case "WithPolynomials":
            return first(system.degree + 1, without_constant(system.system, values(system.system, N + 1), N))
        case "Beam":
            return first(2, np.array([free_beam(i) for i in range(1, N + 1)]) ** -4.0)
        case "Legendre":
            return first(1, (j * (j + 1)) ** -system.order)
        case "Haar":
            return first(1, np.array([4.0 ** (-system.order * (n.bit_length() - 1)) for n in range(1, N + 1)]))
        case "Hermite":
            a2, d2, e2, _ = gaussian(system)
            return sqrt(a2 / (a2 + d2 + e2)) * (e2 / (a2 + d2 + e2)) ** (j - 1)
        case "Sphere":
            degrees = np.array([isqrt(n) for n in range(N)], dtype=float)
            return np.where(degrees == 0, 1.0, np.maximum(degrees * (degrees + 1), 1.0) ** -system.order)
        case "Numerical":
            return nystroem(system)[0][:N]
        case "ProductSystem":
            factors = [values(base, N) for base in bases(system, dim)]
            return np.array([prod(lam[i] for lam, i in zip(factors, index, strict=True)) for index in indices(system, N, dim)])
        case "AdditiveSystem":
            each = [without_constant(base, values(base, N + 1), N) for base in bases(system, dim)]
            return first(1, np.array(each).T.ravel())[:N]
    raise TypeError(f"the oracle has no definition of {system!r}")


def first(ones: int, rest: Array) -> Array:
    """As many numbers as before, the first of them 1."""
    return np.concatenate([np.ones(ones), rest])[: len(rest)]


def without_constant(system: Any, all_of_it: Array, N: int) -> Array:
    """The first N of the others, along the first axis."""
    start = int(has_constant(system))
    return all_of_it[start : start + N]


def robin(j: int) -> float:
    """The root of ω tan ω = 1 in (jπ, jπ + π/2), j = 0, 1, …"""
    return float(brentq(lambda w: w * np.sin(w) - np.cos(w), j * pi, (j + 0.5) * pi, xtol=1e-15, rtol=1e-15))


def free_beam(j: int) -> float:
    """The root of cos ω cosh ω = 1 in (jπ, (j+1)π), j = 1, 2, …; divided by cosh ω, which would overflow."""
    return float(brentq(lambda w: np.cos(w) - 2 * np.exp(-w) / (1 + np.exp(-2 * w)), j * pi, (j + 1) * pi, xtol=1e-15, rtol=1e-15))


def gaussian(system: Any) -> tuple[float, float, float, float]:
    """α², δ², ε² and β of eqs. 29 and 30."""
    a2, e2 = 1 / (2 * system.spread**2), 1 / (2 * system.width**2)
    beta = (1 + 4 * e2 / a2) ** 0.25
    return a2, a2 * (beta**2 - 1) / 2, e2, beta


@cache
def indices(system: Any, N: int, dim: int) -> list[tuple[int, ...]]:
    """The multi-indices, from 0, of the N largest products.

    Π(j_c + 1) multi-indices are at most this one in every entry: their products are no smaller and they win all ties. So those with
    more than N of them need not be looked at.
    """
    factors = [values(base, N) for base in bases(system, dim)]
    grid = with_few_below(N, len(factors))
    size = {index: prod(lam[i] for lam, i in zip(factors, index, strict=True)) for index in grid}
    left, order = sorted(grid, key=lambda index: -size[index]), list[tuple[int, ...]]()
    while left and len(order) < N:
        tied = [index for index in left if size[index] >= (1 - TIE) * size[left[0]]]
        order, left = order + sorted(tied), left[len(tied) :]
    return order[:N]


def with_few_below(N: int, dim: int) -> list[tuple[int, ...]]:
    """All j ≥ 0 with Π(j_c + 1) ≤ N."""
    return [(i, *rest) for i in range(N) for rest in with_few_below(N // (i + 1), dim - 1)] if dim else [()]


# the eigenfunctions


def functions(system: Any, X: Array, N: int) -> Array:
    """ψ_1 … ψ_N of each row: (n, N)."""
    X = X.reshape(len(X), -1)
    match name(system):
        case "Hermite":
            return hermite(system, X[:, 0], N)
        case "Sphere":
            return harmonics(X, N)
        case "Numerical":
            x, w = gauss(system.nodes)
            lam, U = nystroem(system)
            K = system.kernel(spread_out(system, inside(system, X[:, 0])), spread_out(system, x))
            return np.asarray(K @ (np.sqrt(w)[:, None] * U[:, :N] / lam[:N]), np.float64)
        case "ProductSystem":
            each = [functions(base, x[:, None], N) for base, x in zip(bases(system, X.shape[1]), X.T, strict=True)]
            chosen = indices(system, N, X.shape[1])
            return np.array([np.prod([Psi[:, i] for Psi, i in zip(each, index, strict=True)], axis=0) for index in chosen]).T
        case "AdditiveSystem":
            own = zip(bases(system, X.shape[1]), X.T, strict=True)
            parts = np.array([without_constant(base, functions(base, x[:, None], N + 1).T, N) for base, x in own])
            return np.hstack([np.ones((len(X), 1)), parts.transpose(2, 1, 0).reshape(len(X), -1)])[:, :N]
    return np.array([function(system, inside(system, X[:, 0]), j) for j in range(N)]).reshape(N, len(X)).T


def function(system: Any, x: Array, j: int) -> Array:
    """ψ_(j+1) of a system on [0, 1], j = 0, 1, …"""
    one = np.ones_like(x)
    match name(system):
        case "Sine":
            return np.asarray(sqrt(2) * np.sin((2 * j + 1) * pi * x / 2))
        case "Cosine":
            return one if j == 0 else np.asarray(sqrt(2) * np.cos(j * pi * x))
        case "OnePlusMin":
            w = robin(j)
            return np.asarray(np.cos(w * (1 - x)) / sqrt(0.5 + np.sin(2 * w) / (4 * w)))
        case "SineWithConstant":
            return one if j == 0 else function(Sine(UNIT), x, j - 1)
        case "Periodic":
            j = j - system.constant
            angle = 2 * pi * (j // 2 + 1) * x
            return one if j < 0 else np.asarray(sqrt(2) * (np.sin(angle) if j % 2 else np.cos(angle)))
        case "PeriodicQuadratic":
            return function(Legendre(), x, j) if j < 3 else function(Periodic(UNIT, constant=False), x, j - 3)
        case "WithPolynomials":
            rest = j - system.degree - 1
            return function(Legendre(), x, j) if rest < 0 else function(system.system, x, rest + has_constant(system.system))
        case "Beam":
            return function(Legendre(), x, j) if j < 2 else beam(free_beam(j - 1), j % 2 == 1, x)
        case "Legendre":
            return np.asarray(sqrt(2 * j + 1) * eval_legendre(j, 2 * x - 1))
        case "Haar":
            return one if j == 0 else haar(j, x)
    raise TypeError(f"the oracle has no definition of {system!r}")


def beam(w: float, odd: bool, x: Array) -> Array:
    """The vibrations of a beam with free ends, φ'''' = ω⁴φ, φ'' = φ''' = 0 at 0 and 1: seen from the middle, u = x − ½,

    cos(ωu)/cos(ω/2) + cosh(ωu)/cosh(ω/2),   or with sines.    ∫φ² = φ(1)²/4 = 1
    """
    u = x - 0.5
    decay = np.exp(w * (np.abs(u) - 0.5))
    if odd:
        return np.asarray(np.sin(w * u) / np.sin(w / 2) + np.sign(u) * decay * -np.expm1(-2 * w * np.abs(u)) / -np.expm1(-w))
    return np.asarray(np.cos(w * u) / np.cos(w / 2) + decay * (1 + np.exp(-2 * w * np.abs(u))) / (1 + np.exp(-w)))


def haar(n: int, x: Array) -> Array:
    """n = 2^l + k. The last interval is closed."""
    scale = 2 ** (n.bit_length() - 1)
    place = np.minimum(x * scale, np.nextafter(scale, 0)) - (n - scale)
    return np.asarray(
        sqrt(scale) * (np.where((place >= 0) & (place < 0.5), 1.0, 0.0) - np.where((place >= 0.5) & (place < 1), 1.0, 0.0))
    )


def hermite(system: Any, x: Array, N: int) -> Array:
    """√β e^(−δ²x²) h_j(αβx), h_j = H_j/√(2^j j!) by h_(j+1) = √(2/(j+1)) u h_j − √(j/(j+1)) h_(j−1), from the damped first one."""
    a2, d2, _, beta = gaussian(system)
    u, rows = sqrt(a2) * beta * x, [sqrt(beta) * np.exp(-d2 * x**2)]
    for j in range(N - 1):
        before = rows[j - 1] if j > 0 else 0.0
        rows.append(sqrt(2 / (j + 1)) * u * rows[j] - sqrt(j / (j + 1)) * before)
    return np.array(rows[:N]).T


def harmonics(X: Array, N: int) -> Array:
    """Real spherical harmonics of unit vectors, of mean square 1 over the sphere, without the sign (−1)^m: √3 y, √3 z, √3 x are the
    second to fourth."""
    X = directions(X)
    angle, out = np.arctan2(X[:, 1], X[:, 0]), []
    for n in range(N):
        l = isqrt(n)
        m = n - l * l - l
        norm = sqrt((2 * l + 1) * (2 if m else 1)) * np.exp((lgamma(l - abs(m) + 1) - lgamma(l + abs(m) + 1)) / 2)
        turn = np.cos(m * angle) if m >= 0 else np.sin(-m * angle)
        out.append(norm * (-1) ** abs(m) * lpmv(abs(m), l, X[:, 2]) * turn)
    return np.array(out).T


def directions(X: Array) -> Array:
    """Rows of length 1; a row of zeros points north. Divided by the largest entry first, whose square might overflow or vanish."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = np.where(largest > 0, X / np.where(largest > 0, largest, 1.0), np.array([0.0, 0.0, 1.0]))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def nystroem(system: Any) -> tuple[Array, Array]:
    """The eigenvalues of √w_i k(x_i, x_j) √w_j, falling, and its eigenvectors u: ψ(x) = Σ_i √w_i u_i k(x, x_i)/λ.

    An eigenvector's sign makes ψ positive at the last node where |ψ| is at least half of its largest value.
    """
    x, w = gauss(system.nodes)
    points = spread_out(system, x)
    lam, U = np.linalg.eigh(np.sqrt(np.outer(w, w)) * system.kernel(points, points))
    lam, U = lam[::-1], U[:, ::-1]
    at_nodes = U / np.sqrt(w)[:, None]
    last = [np.flatnonzero(np.abs(psi) >= 0.5 * np.abs(psi).max())[-1] for psi in at_nodes.T]
    return lam, U * np.sign(at_nodes[last, range(len(lam))])


# the kernels


def kernel(system: Any, X: Array, Z: Array) -> Array:
    """k(x, z) of every two rows, where it has a closed form."""
    X, Z = X.reshape(len(X), -1), Z.reshape(len(Z), -1)
    match name(system):
        case "Hermite":
            return np.asarray(np.exp(-(np.subtract.outer(X[:, 0], Z[:, 0]) ** 2) / (2 * system.width**2)))
        case "Sphere" if system.order == 2:
            return np.asarray(1 + sphere_spline(directions(X) @ directions(Z).T))
        case "Numerical":
            return np.asarray(system.kernel(X, Z), np.float64)
        case "ProductSystem":
            factors = zip(bases(system, X.shape[1]), X.T, Z.T, strict=True)
            return np.asarray(np.prod([kernel(base, x, z) for base, x, z in factors], axis=0))
        case "AdditiveSystem":
            terms = zip(bases(system, X.shape[1]), X.T, Z.T, strict=True)
            return np.asarray(1 + sum(kernel(base, x, z) - has_constant(base) for base, x, z in terms))
    return interval(system, *np.meshgrid(inside(system, X[:, 0]), inside(system, Z[:, 0]), indexing="ij"))


def interval(system: Any, s: Array, t: Array) -> Array:
    """The kernels on [0, 1]."""
    line: Array = 3 * (2 * s - 1) * (2 * t - 1)
    match name(system):
        case "Sine":
            return np.minimum(s, t)
        case "Cosine":
            return np.asarray(4 / 3 + (s**2 + t**2) / 2 - np.maximum(s, t))
        case "OnePlusMin" | "SineWithConstant":
            return np.asarray(1 + np.minimum(s, t))
        case "WithPolynomials":
            added = sum(function(Legendre(), s, j) * function(Legendre(), t, j) for j in range(system.degree + 1))
            return np.asarray(added + interval(system.system, s, t) - has_constant(system.system))
        case "Periodic":
            return np.asarray(circle(system.order, s - t) + system.constant)
        case "PeriodicQuadratic":
            parabolas = 5 * (6 * s**2 - 6 * s + 1) * (6 * t**2 - 6 * t + 1)
            return np.asarray(1 + line + parabolas + circle(2.0, s - t))
        case "Beam":
            return np.asarray(1 + line + plate(s, t))
        case "Legendre" if system.order == 1:
            return np.asarray(-np.log((1 - np.minimum(s, t)) * np.maximum(s, t)))
        case "Haar":
            return common_digits(system.order, s, t)
    raise TypeError(f"{system!r} has no closed form here")


def circle(m: float, u: Array) -> Array:
    """Σ_j 2 cos(2πju) (2πj)^(−2m): a Bernoulli polynomial where m is whole, else an integral."""
    u = u % 1.0
    if m == int(m):
        order = 2 * int(m)
        b = bernoulli(order)
        B = sum(comb(order, i) * b[i] * u ** (order - i) for i in range(order + 1))
        return np.asarray((-1) ** (int(m) - 1) * B / factorial(order))
    known = {v: cosine_series(v, 2 * m) for v in np.unique(u).tolist()}
    return np.array([2 * (2 * pi) ** (-2 * m) * known[v] for v in u.ravel().tolist()]).reshape(u.shape)


def cosine_series(u: float, s: float) -> float:
    """Σ_j cos(2πju) j^(−s) = (1/Γ(s)) ∫ t^(s−1) Re[q/(1−q)] dt, q = e^(2πiu − t); with t = e^v."""
    half = 2 * np.sin(pi * u) ** 2  # 1 − cos

    def integrand(v: float) -> float:
        t = np.exp(v)
        return float(np.exp(s * v) * np.exp(-t) * (-np.expm1(-t) - half) / (np.expm1(-t) ** 2 + 2 * np.exp(-t) * half))

    if half == 0:
        return float(sum(j**-s for j in range(1, 2000)) + 2000 ** (1 - s) / (s - 1) + 2000**-s / 2 + s * 2000 ** (-s - 1) / 12)
    bends = sorted({-60 / s, *[b for b in (log(half) / 2, 0.0) if -60 / s < b < 4.2], 4.2})
    parts = [quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11, limit=400)[0] for a, b in pairwise(bends)]
    return float(sum(parts) / gamma(s))


def plate(s: Array, t: Array) -> Array:
    """The kernel of ∫f''² on the functions orthogonal to 1 and x: g = |s − t|³/12, whose fourth derivative is δ, both arguments
    projected: g − Σ p_i(s) g_i(t) − Σ g_i(s) p_i(t) + Σ p_i(s) g_ij p_j(t), g_i = ∫ g p_i, g_ij = ∫∫ p_i g p_j."""
    p = [Poly([1.0], domain=[0, 1]), Poly([0.0, sqrt(3)], domain=[0, 1])]
    x = Poly([0.5, 0.5], domain=[0, 1])

    def against(q: Poly) -> Poly:
        """∫ |s − t|³/12 q(t) dt, a polynomial of s: of the two halves (s−t)³ before s and −(s−t)³ after it."""
        out = Poly([0.0], domain=[0, 1])
        for power in range(4):  # (s − t)³ = Σ C(3, power) s^(3−power) (−t)^power
            whole = (q * (-x) ** power).integ(lbnd=0)
            out = out + comb(3, power) * x ** (3 - power) * (2 * whole - whole(1.0)) / 12
        return out

    g = [against(q) for q in p]
    out: Array = np.abs(s - t) ** 3 / 12
    for i in range(2):
        out = out - p[i](s) * g[i](t) - g[i](s) * p[i](t)
        for j in range(2):
            out = out + p[i](s) * (p[i] * g[j]).integ(lbnd=0)(1.0) * p[j](t)
    return out


def common_digits(order: float, s: Array, t: Array) -> Array:
    """1 + Σ_{l < L} 2^l λ_l − 2^L λ_L, where s and t share their first L binary digits and not the next; λ_l = 4^(−order l)."""
    out = np.ones(s.shape)
    together = np.ones(s.shape, dtype=bool)
    for l in range(52):
        cells = [np.floor(np.minimum(v, np.nextafter(1, 0)) * 2 ** (l + 1)) for v in (s, t)]
        stay = together & (cells[0] == cells[1])
        out += np.where(stay, 1.0, np.where(together, -1.0, 0.0)) * 2.0 ** (l - 2 * order * l)
        together = stay
    return out


def sphere_spline(u: Array) -> Array:
    """Σ_l (2l+1) P_l(u) (l(l+1))⁻² = Li₂((1+u)/2) + 1 − π²/6; spence(z) is Li₂(1 − z)."""
    return np.asarray(spence(1 - (1 + np.clip(u, -1.0, 1.0)) / 2) + 1 - pi**2 / 6)


# the measures


def gauss(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


def measure(system: Any, dim: int = 1) -> tuple[Array, Array]:
    """Nodes (m, dim) and weights (m,), of sum 1, of the measure in which the functions are orthonormal."""
    match name(system):
        case "Hermite":
            a2, _, _, beta = gaussian(system)
            reach = max(28 / (sqrt(a2) * beta), 7 / sqrt(a2))  # enough for 200 functions, and for the whole density
            x = np.linspace(-reach, reach, 8001)
            return x[:, None], (x[1] - x[0]) * sqrt(a2 / pi) * np.exp(-a2 * x**2)
        case "Sphere":
            (z, w), turns = np.polynomial.legendre.leggauss(60), 2 * pi * np.arange(120) / 120
            z, angle = (grid.ravel() for grid in np.meshgrid(z, turns, indexing="ij"))
            rim = np.sqrt(1 - z**2)
            return np.column_stack([rim * np.cos(angle), rim * np.sin(angle), z]), np.repeat(w / 2, 120) / 120
        case "ProductSystem":
            each = [measure(base) for base in bases(system, dim)]
            nodes = np.meshgrid(*(x[:, 0] for x, _ in each), indexing="ij")
            weights = np.prod(np.meshgrid(*(w for _, w in each), indexing="ij"), axis=0)
            return np.column_stack([x.ravel() for x in nodes]), weights.ravel()
        case "Haar":
            x = (np.arange(4096) + 0.5) / 4096
            return spread_out(system, x), np.full(4096, 1 / 4096)
        case "Numerical":
            x, w = gauss(system.nodes)
            return spread_out(system, x), w
    x, w = gauss(NODES)
    return spread_out(system, x), w


def orthonormal(system: Any) -> bool:
    return name(system) not in {"SineWithConstant", "PeriodicQuadratic", "WithPolynomials", "AdditiveSystem"}
