"""Kernels of one column, and sums of them over columns, from their definitions; for any other kernel, the package's own values.

Here p and q are two values of the column, in the domain (low, high) moved to [0, 1]: clamped to it, or wrapped where periodic.
With m = min(p, q), M = max(p, q) and d = |p − q|:

    Spline(z)            Σ_{r ≤ z} (pq)^r + Σ_{r ≤ z} C(z, r) / (2z − r + 1) · m^(2z − r + 1) d^r
    Brownian             m
    PeriodicSpline(z)    1 + B_2z(d) / (2 B_2z(0))                B: the Bernoulli polynomials; 1 where it has a constant
    Exponential          e^(−rate d)                              of the values as they are, as in the next
    Bases                e^(−rate d) Σ_j lower_j(m) upper_j(M) + Σ_j both_j(p) both_j(q)
    Additive             Σ_c base_c(x_c, z_c)                     over the columns, and then the products of columns
    Delta                weight, where the two rows are equal

A domain of None is open: it is to be the range of the first rows, around a single value one of length 1.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.kernels import Kernel, Sum

Array = NDArray[np.float64]


def gram(kernel: Kernel, X: Array, Z: Array) -> Array:
    """k(x, z) of every two rows."""
    out: Any
    match kernel:
        case Sum(parts=parts) if is_defined_here(kernel):
            out = sum(gram(part, X, Z) for part in parts)
        case onkel.Additive():
            columns = zip(bases(kernel, X.shape[1]), inputs(kernel, X), inputs(kernel, Z), strict=True)
            out = sum(gram(base, x[:, None], z[:, None]) for base, x, z in columns)
        case onkel.Delta(weight=weight):
            out = weight * np.all(X[:, None] == Z, axis=2)
        case _ if is_defined_here(kernel):
            (x,), (z,) = X.T, Z.T
            out = interval(kernel, x, z)
        case _:
            out = kernel(X, Z)
    return np.asarray(out, np.float64)


def interval(kernel: Any, x: Array, z: Array) -> Any:
    """The kernels of one column."""
    match kernel:
        case onkel.Spline(order=order, domain=domain):
            p, q = np.meshgrid(clamped(x, domain), clamped(z, domain), indexing="ij")
            m, d = np.minimum(p, q), np.abs(p - q)
            powers = [2 * order - r + 1 for r in range(order + 1)]
            return sum((p * q) ** r + comb(order, r) / n * m**n * d**r for r, n in enumerate(powers))
        case onkel.Brownian(domain=domain):
            return np.minimum.outer(clamped(x, domain), clamped(z, domain))
        case onkel.PeriodicSpline(order=order, domain=domain, constant=constant):
            d = np.abs(np.subtract.outer(wrapped(x, domain), wrapped(z, domain)))
            B = bernoulli(2 * order)
            return constant + sum(float(c / B[0]) / 2 * d**j for j, c in enumerate(B))
        case onkel.Exponential(rate=rate):
            return np.exp(-rate * np.abs(np.subtract.outer(x, z)))
        case onkel.Bases(lower=lower, upper=upper, both=both, rate=rate):
            m, M = np.minimum.outer(x, z), np.maximum.outer(x, z)
            smooth = 0.0 if both is None else both(x) @ both(z).T
            sided = 0.0 if lower is None or upper is None else np.sum(lower(m.ravel()) * upper(M.ravel()), axis=1).reshape(m.shape)
            return smooth + np.exp(-rate * (M - m)) * sided
    raise TypeError(f"the oracle has no definition of {kernel!r}")


def placed(x: Array, domain: Any) -> Array:
    """The domain moved to [0, 1]."""
    low, high = domain
    out: Array = (x - low) / (high - low)
    return out


def clamped(x: Array, domain: Any) -> Array:
    return placed(x, domain).clip(0.0, 1.0)


def wrapped(x: Array, domain: Any) -> Array:
    return placed(x, domain) % 1.0


@cache
def bernoulli(n: int) -> tuple[Fraction, ...]:
    """The coefficients of B_n, lowest first: B_0 = 1, B_n' = n B_(n−1), and the integral of B_n from 0 to 1 is 0."""
    if n == 0:
        return (Fraction(1),)
    rising = [n * c / (j + 1) for j, c in enumerate(bernoulli(n - 1))]
    return (-sum((c / (j + 2) for j, c in enumerate(rising)), Fraction(0)), *rising)


def inputs(kernel: Any, X: Array) -> list[Array]:
    """What the bases of an additive kernel see: the columns, then the products of columns."""
    return [*X.T, *[X[:, a] * X[:, b] for a, b in kernel.products]]


def bases(kernel: Any, dim: int) -> tuple[Any, ...]:
    """The kernel of each input."""
    return kernel.base if isinstance(kernel.base, tuple) else (kernel.base,) * (dim + len(kernel.products))


def is_defined_here(kernel: Any) -> bool:
    if isinstance(kernel, Sum):
        return any(map(is_defined_here, kernel.parts))
    of_one_column = onkel.Spline | onkel.Brownian | onkel.PeriodicSpline | onkel.Exponential | onkel.Bases
    return isinstance(kernel, of_one_column | onkel.Additive | onkel.Delta)


def is_open(kernel: Any) -> bool:
    """Whether some domain is to be taken from the rows."""
    match kernel:
        case Sum(parts=parts):
            return any(map(is_open, parts))
        case onkel.Additive(base=base):
            return any(map(is_open, base if isinstance(base, tuple) else (base,)))
        case onkel.Spline() | onkel.Brownian() | onkel.PeriodicSpline():
            return kernel.domain is None
    return False


def resolved(kernel: Any, X: Array) -> Any:
    """The same kernel, each open domain taken from these rows."""
    match kernel:
        case Sum(parts=parts):
            return Sum(tuple(resolved(part, X) for part in parts))
        case onkel.Additive():
            columns = zip(bases(kernel, X.shape[1]), inputs(kernel, X), strict=True)
            return replace(kernel, base=tuple(resolved(base, x[:, None]) for base, x in columns))
        case _ if is_open(kernel):
            low, high = float(X.min()), float(X.max())
            return replace(kernel, domain=(low, high) if low < high else (low - 0.5, low + 0.5))
    return kernel
