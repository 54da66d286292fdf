"""Synthetic streams (X, y): the same seed gives the same rows.

The targets of `smooth`, `drifting` and `abrupt` are random waves,

    f(x) = Σ_k a_k sin(u_k·x + b_k)        a_k ~ N(0, 1),  u_k uniform on the sphere |u| = ω,  b_k uniform on [0, 2π)

shifted and scaled to mean 0 and variance 1 under x ~ N(0, I), in closed form. The target is drawn before the rows, and the rows are
drawn one after the other. So a longer stream begins with the rows of a shorter one (except for `abrupt`, where the number of rows
decides when the target changes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from onkel._types import Matrix, Vector
from onkel.errors import InputError

OMEGA = 1.5  # length of u_k; with it, the best linear predictor leaves about half of the variance, or more
WAVES = 6  # sines in a target: enough to be far from linear, few enough to be learnt from some hundred rows


def smooth(rows: int, dim: int = 5, noise: float = 0.1, seed: int = 0) -> tuple[Matrix, Vector]:
    """Regression on a smooth target: x ~ N(0, I), y = f(x) + noise · N(0, 1), with Var f = 1.

    >>> X, y = smooth(10_000, dim=3)
    >>> X.shape, round(float(np.std(y)), 1)
    ((10000, 3), 1.0)
    """
    _check(rows, dim, noise, seed)
    rng = np.random.default_rng(seed)
    target = _draw_waves(rng, dim)
    X, errors = _normal_rows(rng, rows, dim)
    return X, target(X) + noise * errors


def drifting(rows: int, dim: int = 5, noise: float = 0.1, period: float = 10_000, seed: int = 0) -> tuple[Matrix, Vector]:
    """A target that turns slowly: y_t = f(R_t x_t) + noise · N(0, 1), where R_t rotates the coordinate pairs (1, 2), (3, 4), …
    by 2πt / period. The rows are those of `smooth`; after `period` rows the target is back where it began.

    >>> X, y = drifting(100)
    >>> bool(np.all(X == smooth(100)[0])), bool(y[0] == smooth(100)[1][0])
    (True, True)
    """
    _check(rows, dim, noise, seed, least_dim=2)
    if not isinstance(period, Real) or isinstance(period, bool) or not period > 0:
        raise InputError(f"period must be a positive number of rows, got {period!r}")
    rng = np.random.default_rng(seed)
    target = _draw_waves(rng, dim)
    X, errors = _normal_rows(rng, rows, dim)
    angle = 2.0 * np.pi * (np.arange(rows) / float(period))
    return X, target(_turn(X, np.cos(angle), np.sin(angle))) + noise * errors


def abrupt(rows: int, dim: int = 5, noise: float = 0.1, changes: int = 3, seed: int = 0) -> tuple[Matrix, Vector]:
    """A target that is replaced `changes` times: y_t = f_s(x_t) + noise · N(0, 1), with s = ⌊t (changes + 1) / rows⌋.

    >>> X, y = abrupt(1000, dim=1, noise=0.0, changes=1)
    >>> order = np.argsort(X[:500, 0])
    >>> before = np.interp(X[:, 0], X[order, 0], y[order])  # the first target, from its own half of the rows
    >>> [round(float(np.median(np.abs(y - before)[half])), 1) for half in (slice(0, 500), slice(500, 1000))]
    [0.0, 1.0]
    """
    _check(rows, dim, noise, seed)
    _whole("changes", changes, 0)
    if changes >= rows:
        raise InputError(f"changes must be fewer than the {rows} rows, got {changes}")
    rng = np.random.default_rng(seed)
    targets = [_draw_waves(rng, dim) for _ in range(changes + 1)]
    X, errors = _normal_rows(rng, rows, dim)
    segment = np.arange(rows) * (changes + 1) // rows
    y = noise * errors
    for s, target in enumerate(targets):
        y[segment == s] += target(X[segment == s])
    return X, y


def rings(rows: int, noise: float = 0.1, seed: int = 0) -> tuple[Matrix, Vector]:
    """Classification in the plane: y = ±1 by a fair coin, x = r (cos φ, sin φ) + noise · N(0, I) with r = 1 if y = −1, else 2.
    No line separates the two rings; with little noise a circle does.

    >>> X, y = rings(1000, noise=0.05)
    >>> float(np.mean(y == np.where(np.hypot(X[:, 0], X[:, 1]) > 1.5, 1.0, -1.0)))
    1.0
    """
    _check(rows, 2, noise, seed)
    draws = np.random.default_rng(seed).standard_normal((rows, 5))
    y = np.where(draws[:, 0] < 0.0, -1.0, 1.0)
    direction = (
        draws[:, 1:3] / np.hypot(draws[:, 1], draws[:, 2])[:, None]
    )  # the direction of two normal numbers is uniform on the circle
    return np.where(y < 0.0, 1.0, 2.0)[:, None] * direction + noise * draws[:, 3:5], y


def friedman(rows: int, dim: int = 10, noise: float = 1.0, seed: int = 0) -> tuple[Matrix, Vector]:
    """Friedman's first function: x uniform on [0, 1]^dim, y = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + noise · N(0, 1).
    The columns after the fifth are irrelevant.

    Friedman (1991), Multivariate adaptive regression splines, Annals of Statistics 19(1).

    >>> X, y = friedman(10_000)
    >>> X.shape, round(float(np.mean(y)), 1)  # E y = 14.4
    ((10000, 10), 14.5)
    """
    _check(rows, dim, noise, seed, least_dim=5)
    for_rows, for_noise = np.random.default_rng(seed).spawn(2)  # with one generator the noise would depend on the number of rows
    X = for_rows.random((rows, dim))
    y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]
    return X, y + noise * for_noise.standard_normal(rows)


@dataclass(frozen=True)
class _Waves:
    a: Vector
    U: Matrix  # one direction a row
    b: Vector
    mean: float

    def __call__(self, X: Matrix) -> Vector:
        total = np.full(X.shape[0], -self.mean)
        for a, u, b in zip(self.a, self.U, self.b, strict=True):
            phase = np.full(X.shape[0], b)
            for j in range(u.size):  # no matrix product: its rounding may depend on the number of rows
                phase += u[j] * X[:, j]
            total += a * np.sin(phase)
        return total


def _draw_waves(rng: np.random.Generator, dim: int) -> _Waves:
    a, U, b = rng.standard_normal(WAVES), rng.standard_normal((WAVES, dim)), rng.uniform(0.0, 2.0 * np.pi, WAVES)
    U *= OMEGA / np.sqrt(np.sum(U**2, axis=1))[:, None]
    means = math.exp(-0.5 * OMEGA**2) * np.sin(b)  # E sin(u·x + b) = exp(−|u|²/2) sin b
    G, less, more = U @ U.T - OMEGA**2, b[:, None] - b, b[:, None] + b
    # E sin(A) sin(B) = ½ E cos(A − B) − ½ E cos(A + B), and −½|u ± v|² = −ω² ∓ u·v
    products = 0.5 * (np.exp(G) * np.cos(less) - np.exp(-G - 2.0 * OMEGA**2) * np.cos(more))
    a /= math.sqrt(a @ (products - np.outer(means, means)) @ a)
    return _Waves(a, U, b, float(a @ means))


def _normal_rows(rng: np.random.Generator, rows: int, dim: int) -> tuple[Matrix, Vector]:
    draws = rng.standard_normal((rows, dim + 1))  # each row is drawn with its noise: more rows do not change the first
    return draws[:, :dim].copy(), draws[:, dim].copy()


def _turn(X: Matrix, cos: Vector, sin: Vector) -> Matrix:
    turned = X.copy()
    for j in range(0, X.shape[1] - 1, 2):
        turned[:, j] = cos * X[:, j] - sin * X[:, j + 1]
        turned[:, j + 1] = sin * X[:, j] + cos * X[:, j + 1]
    return turned


def _check(rows: int, dim: int, noise: float, seed: int, least_dim: int = 1) -> None:
    _whole("rows", rows, 1)
    _whole("dim", dim, least_dim)
    _whole("seed", seed, 0)
    if not isinstance(noise, Real) or isinstance(noise, bool) or not 0.0 <= noise < math.inf:
        raise InputError(f"noise must be a finite number of at least 0, got {noise!r}")


def _whole(name: str, value: int, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
