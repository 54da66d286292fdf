"""Semiseparable kernels: kernels of one input that split into a factor of the smaller and one of the larger argument; and sums of
them.

    k(p, q) = e^(−rate |p − q|) Σ_j lower_j(min(p, q)) upper_j(max(p, q))  +  Σ_r (pq)^r

To compute Σ a_i k(p_i, q) for any q, a few sums are enough: Σ a_i lower_j(p_i) over the points p_i ≤ q, Σ a_i upper_j(p_i) over the
other points, and Σ a_i p_i^r over all points. (If rate > 0, each term of the first two sums also decays with its distance from q.)
The numbers lower_j(p), upper_j(p) and p^r of a point p are called its left, right and global list (Herbster 2001, section 1).

This file defines the lists of the following kernels, shown without the term Σ_r (pq)^r. Each has one parameter, its `shape`. Here
m = min(p, q), M = max(p, q), δ = M − m, B_n is a Bernoulli polynomial, C(z, r) a binomial coefficient, and the β_k are numbers:

    SPLINE       order z     Σ_{r≤z} C(z,r)/(2z−r+1) m^(2z−r+1) δ^r = Σ_{k≤z} β_k m^(z+k+1) M^(z−k)
    PERIODIC     order       B_{2·order}(δ) / 2B_{2·order}(0), a polynomial of δ
    EXPONENTIAL  rate        e^(−rate δ)
    GIVEN                    a user's own lists, which the user's functions compute (`onkel.kernels.bases`)

A kernel of several inputs is passed to compiled code as a table with one line for each input.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from onkel._jit import compiled_or, hot, hot_inline, hot_lean
from onkel._types import Matrix, Vector
from onkel.kernels.exponentials import exponential, exponentials, near_exponential

SPLINE, PERIODIC, EXPONENTIAL, GIVEN = range(4)
KIND, SHAPE, SIDES, POWERS, FIRST, SECOND, LOW, SPAN = range(8)  # the columns of the table of inputs
LARGEST_ORDER = 20
LARGEST_TURN = 1e15  # at this distance from the domain, in periods, rounding leaves nothing of the position within a period


def _spline_terms() -> Matrix:
    """C(z, r) / (2z − r + 1), in row z and column r."""
    terms = np.zeros((LARGEST_ORDER + 1, LARGEST_ORDER + 1))
    for z in range(LARGEST_ORDER + 1):
        terms[z, : z + 1] = [float(Fraction(math.comb(z, r), 2 * z - r + 1)) for r in range(z + 1)]
    return terms


def _spline_betas() -> Matrix:
    """β_k = (−1)^k C(z, k) k! z! / (k + z + 1)!, in row z and column k."""
    betas = np.zeros((LARGEST_ORDER + 1, LARGEST_ORDER + 1))
    for z in range(LARGEST_ORDER + 1):
        for k in range(z + 1):
            betas[z, k] = float(
                (-1) ** k * Fraction(math.comb(z, k) * math.factorial(k) * math.factorial(z), math.factorial(k + z + 1))
            )
    return betas


def _periodic_terms() -> Matrix:
    """The coefficients of B_{2·order}(δ) / 2B_{2·order}(0), one row for each order; the constant term comes first."""
    numbers = [Fraction(1)]  # the Bernoulli numbers
    for n in range(1, 2 * LARGEST_ORDER + 1):
        numbers.append(-sum((math.comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    terms = np.zeros((LARGEST_ORDER + 1, 2 * LARGEST_ORDER + 1))
    for order in range(1, LARGEST_ORDER + 1):
        degree = 2 * order
        twice = 2 * numbers[degree]
        terms[order, : degree + 1] = [float(math.comb(degree, k) * numbers[degree - k] / twice) for k in range(degree + 1)]
    return terms


_SPLINE, _BETA, _PERIODIC = _spline_terms(), _spline_betas(), _periodic_terms()


def halves_twin(kind: int, shape: float, keys: Vector, size: int, u: float, out: Vector) -> None:
    """`halves` in NumPy, for runs with the compiler off."""
    p, order = keys[:size], int(shape)
    apart, least = np.abs(p - u), np.minimum(p, u)
    if kind == SPLINE:
        out[:size] = sum(_SPLINE[order, r] * least ** (2 * order - r + 1) * apart**r for r in range(order + 1))
    elif kind == PERIODIC:
        out[:size] = np.polynomial.polynomial.polyval(apart, _PERIODIC[order])
    else:
        out[:size] = apart
        exponentials(out, size, -shape)


@compiled_or(halves_twin)
def halves(kind: int, shape: float, keys: Vector, size: int, u: float, out: Vector) -> None:
    """out[i] ← k(keys[i], u) without its term Σ_r (pq)^r, for i < size."""
    order = int(shape)
    if kind == SPLINE and order <= 1:
        for i in range(size):
            out[i] = _low_spline(order, keys[i], u)
    elif kind == SPLINE:
        for i in range(size):
            out[i] = _spline(order, keys[i], u)
    elif kind == PERIODIC:
        for i in range(size):
            out[i] = _periodic(order, keys[i], u)
    else:
        for i in range(size):
            out[i] = exponential(-shape * abs(keys[i] - u))


def halves_sum_twin(kind: int, shape: float, keys: Vector, coef: Vector, u: float, near: bool) -> float:
    """`halves_sum` in NumPy, for runs with the compiler off."""
    values = np.empty(keys.size)
    halves_twin(kind, shape, keys, keys.size, u, values)
    return float(coef @ values)


@compiled_or(halves_sum_twin)
def halves_sum(kind: int, shape: float, keys: Vector, coef: Vector, u: float, near: bool) -> float:
    """Σ coef[i] k(keys[i], u), where k is taken without its term Σ_r (pq)^r. `near` may be true only if every key with a nonzero
    coefficient is within NEAR / rate of u: then a shorter series gives the exponentials."""
    total, order = 0.0, int(shape)
    if kind == EXPONENTIAL and near:
        for i in range(keys.size):
            total += coef[i] * near_exponential(-shape * abs(keys[i] - u))
    elif kind == SPLINE and order <= 1:
        for i in range(keys.size):
            total += coef[i] * _low_spline(order, keys[i], u)
    else:
        total = _unusual_sum(kind, shape, keys, coef, u)
    return total


@hot_lean
def _unusual_sum(kind: int, shape: float, keys: Vector, coef: Vector, u: float) -> float:
    """`halves_sum` for the kernels that are rarely used. It is not inlined, so that the code for the others stays short."""
    total, order = 0.0, int(shape)
    if kind == SPLINE:
        for i in range(keys.size):
            total += coef[i] * _spline(order, keys[i], u)
    elif kind == PERIODIC:
        for i in range(keys.size):
            total += coef[i] * _periodic(order, keys[i], u)
    else:
        for i in range(keys.size):
            total += coef[i] * exponential(-shape * abs(keys[i] - u))
    return total


@hot_inline
def _low_spline(order: int, p: float, u: float) -> float:
    """The spline of order 0, m, or of order 1, m² (M/2 − m/6), with m = min(p, u) and M = max(p, u): loops over these vectorise."""
    least, most = min(p, u), max(p, u)
    return least * least * (0.5 * most - least / 6.0) if order == 1 else least


@hot_inline
def _spline(order: int, p: float, u: float) -> float:
    """The spline of any order. All terms are positive, so no digits cancel."""
    least, terms = min(p, u), _SPLINE[order]
    apart = max(p, u) - least
    power, total = 1.0, float(terms[order])
    for r in range(order - 1, -1, -1):
        power *= least
        total = total * apart + terms[r] * power
    return total * power * least


@hot_inline
def _periodic(order: int, p: float, u: float) -> float:
    apart, terms = abs(p - u), _PERIODIC[order]
    total = float(terms[2 * order])
    for r in range(2 * order - 1, -1, -1):
        total = total * apart + terms[r]
    return total


@hot_inline
def split(kind: int, shape: float, u: float, lower: Vector, upper: Vector) -> None:
    """Write lower_j(u) and upper_j(u) for all j."""
    order = int(shape)
    if kind == SPLINE:
        power = 1.0
        for k in range(order, -1, -1):
            upper[k] = power
            power *= u
        for k in range(order + 1):  # power is u^(z+1) now
            lower[k] = _BETA[order, k] * power
            power *= u
    elif kind == PERIODIC:
        _taylor(_PERIODIC[order], 2 * order, u, upper)
        power = 1.0
        for j in range(2 * order + 1):
            lower[j] = power
            power *= -u
    else:
        lower[0] = upper[0] = 1.0


@hot_inline
def _taylor(terms: Vector, degree: int, u: float, out: Vector) -> None:
    """The coefficients of the polynomial expanded around u, by repeated Horner schemes: its value at u − v is Σ out[j] (−v)^j."""
    for j in range(degree + 1):
        out[j] = terms[j]
    for start in range(degree):
        for j in range(degree - 1, start - 1, -1):
            out[j] += u * out[j + 1]


@hot_inline
def mapped(line: Vector, x: Vector) -> float:
    """The value of an input in row x: a column or a product of two columns, mapped to [0, 1] if the input has a domain."""
    value: float = x[int(line[FIRST])]
    if line[SECOND] >= 0.0:
        value *= x[int(line[SECOND])]
    if line[SPAN] > 0.0:
        value = (value - line[LOW]) / line[SPAN]
        if line[KIND] == PERIODIC:
            value = value - np.floor(value) if abs(value) < LARGEST_TURN else 0.0
        else:
            value = min(max(value, 0.0), 1.0)
    return value


@hot_inline
def power_sum(powers: int, product: float) -> float:
    """1 + pq + (pq)² + …, with `powers` terms."""
    total = 0.0
    for _ in range(powers):
        total = total * product + 1.0
    return total


@hot
def additive(table: Matrix, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """out[i] ← k(D[:, i], x) for i < size. Returns k(x, x)."""
    out[:size] = 0.0
    own, alone = 0.0, np.empty(1)
    keys, values = np.empty(size), np.empty(size)
    for c in range(table.shape[0]):
        kind, shape, powers = int(table[c, KIND]), table[c, SHAPE], int(table[c, POWERS])
        u = mapped(table[c], x)
        for i in range(size):
            keys[i] = mapped(table[c], D[:, i])
        halves(kind, shape, keys, size, u, values)
        for i in range(size):
            out[i] += values[i] + power_sum(powers, keys[i] * u)
        alone[0] = u
        halves(kind, shape, alone, 1, u, alone)
        own += alone[0] + power_sum(powers, u * u)
    return own


@hot
def fill_lists(table: Matrix, X: Matrix, d: int, out: NDArray[np.float64]) -> None:
    """out[i, c] ← (u, lower(u), upper(u), 1, u, u², …), where u is the mapped value of input c in row i. Lower and upper have room
    for d numbers each."""
    for i in range(X.shape[0]):
        for c in range(table.shape[0]):
            line, to = table[c], out[i, c]
            u = mapped(line, X[i])
            to[0] = u
            if line[KIND] != GIVEN:
                split(int(line[KIND]), line[SHAPE], u, to[1 : 1 + d], to[1 + d : 1 + 2 * d])
                power = 1.0
                for r in range(int(line[POWERS])):
                    to[1 + 2 * d + r] = power
                    power *= u
