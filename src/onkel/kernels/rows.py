"""The compiled evaluation of kernels: one row k(D, x) at a time, in a fixed order, so that no cut of the stream changes a bit.

A program in postfix order, such as [GAUSSIAN, LINEAR, ADD], is run on a small stack of rows. A leaf takes its parameters from
the front of what is left of `params`:

    GAUSSIAN    width             exp(−‖x − z‖² / (2 width²))
    LAPLACIAN   width             exp(−‖x − z‖₁ / width)
    POLYNOMIAL  degree, offset    (x·z + offset)^degree
    LINEAR                        x·z
    ADD, MULTIPLY                 the two rows on top of the stack become one

The exponential is our own, for two reasons. A loop over it uses vector registers, which makes a Gaussian row twice as fast as with
the C library's. And its bits depend neither on that library nor on the place of a value in the row.
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import compiled_or, hot, hot_strict
from onkel._types import Counts, Matrix, Vector

GAUSSIAN, LAPLACIAN, POLYNOMIAL, LINEAR, ADD, MULTIPLY = range(6)
_PARAMETERS = (1, 1, 2, 0)  # how many each leaf takes

_LEAST_EXPONENT = -708.0  # e⁻⁷⁰⁸ is about the smallest normal float64; below it we give 0
_LOG2_E = math.log2(math.e)
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")  # the high part times n is exact
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))  # on |r| ≤ ln 2 / 2 the next term is below 5e-18


def row_twin(codes: Counts, params: Vector, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """`row` in NumPy, for runs with the compiler off."""
    rows, stack, at = np.vstack([D[:size], x]), list[Vector](), 0
    for code in codes:
        if code in (ADD, MULTIPLY):
            other = stack.pop()
            stack[-1] = stack[-1] + other if code == ADD else stack[-1] * other
        else:
            stack.append(_leaf_twin(code, params[at:], rows, x))
            at += _PARAMETERS[code]
    out[:size] = stack[0][:size]
    return float(stack[0][size])


def _leaf_twin(code: int, params: Vector, rows: Matrix, x: Vector) -> Vector:
    if code == GAUSSIAN:
        return _exponentials_twin(np.sum((rows - x) ** 2, axis=1) * (-0.5 / params[0] ** 2))
    if code == LAPLACIAN:
        return _exponentials_twin(np.sum(np.abs(rows - x), axis=1) * (-1.0 / params[0]))
    products = np.sum(rows * x, axis=1)
    return np.asarray((products + params[1]) ** int(params[0])) if code == POLYNOMIAL else products


def _exponentials_twin(a: Vector) -> Vector:
    return np.where(a >= _LEAST_EXPONENT, np.exp(np.maximum(a, _LEAST_EXPONENT)), 0.0)


@compiled_or(row_twin)
def row(codes: Counts, params: Vector, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """out[i] ← k(D[i], x) for i < size. Returns k(x, x)."""
    if codes.size == 1:
        return _leaf(codes[0], params, D, size, x, out)
    leaves = (codes.size + 1) // 2
    stack, own = np.empty((leaves, size)), np.empty(leaves)
    top = 0  # rows on the stack
    for code in codes:
        if code == ADD:
            top -= 1
            stack[top - 1] += stack[top]
            own[top - 1] += own[top]
        elif code == MULTIPLY:
            top -= 1
            stack[top - 1] *= stack[top]
            own[top - 1] *= own[top]
        else:
            own[top] = _leaf(code, params, D, size, x, stack[top])
            params = params[_PARAMETERS[code] :]
            top += 1
    out[:size] = stack[0]
    return float(own[0])


@hot
def gram(codes: Counts, params: Vector, X: Matrix, Z: Matrix, out: Matrix) -> None:
    """out ← k(X, Z)."""
    for i in range(X.shape[0]):
        row(codes, params, Z, Z.shape[0], X[i], out[i])


@hot
def diagonal(codes: Counts, params: Vector, X: Matrix, out: Vector) -> None:
    """out[i] ← k(X[i], X[i])."""
    nothing = np.empty(0)
    for i in range(X.shape[0]):
        out[i] = row(codes, params, X, 0, X[i], nothing)


@hot
def _leaf(code: int, params: Vector, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    if code == GAUSSIAN:
        for i in range(size):
            out[i] = _squared_distance(D[i], x)
        _exponentials(out, size, -0.5 / (params[0] * params[0]))
        return 1.0
    if code == LAPLACIAN:
        for i in range(size):
            out[i] = _absolute_distance(D[i], x)
        _exponentials(out, size, -1.0 / params[0])
        return 1.0
    for i in range(size):
        out[i] = _product(D[i], x)
    own = _product(x, x)
    if code == POLYNOMIAL:
        degree, offset = int(params[0]), params[1]
        for i in range(size):
            out[i] = _power(out[i] + offset, degree)
        own = _power(own + offset, degree)
    return own


@hot
def _squared_distance(z: Vector, x: Vector) -> float:
    total = 0.0
    for j in range(x.size):
        difference = z[j] - x[j]
        total += difference * difference
    return total


@hot
def _absolute_distance(z: Vector, x: Vector) -> float:
    total = 0.0
    for j in range(x.size):
        total += abs(z[j] - x[j])
    return total


@hot
def _product(z: Vector, x: Vector) -> float:
    total = 0.0
    for j in range(x.size):
        total += z[j] * x[j]
    return total


@hot
def _power(base: float, degree: int) -> float:
    result = base
    for _ in range(degree - 1):
        result *= base
    return result


@hot_strict
def _exponentials(v: Vector, size: int, factor: float) -> None:
    """v[i] ← e^(factor · v[i]) for i < size, where no exponent is positive."""
    for i in range(size):
        v[i] = _exponential(factor * v[i])


@hot_strict
def _exponential(a: float) -> float:
    """eᵃ for a ≤ 0, to 1.2 units in the last place: a = n ln 2 + r, then 2ⁿ times the Taylor polynomial of eʳ.

    Strict arithmetic: were a − n·high − n·low reassociated, r would lose its last digits.
    """
    clamped = max(a, _LEAST_EXPONENT)
    n = np.rint(clamped * _LOG2_E)
    r = (clamped - n * _LN2_HIGH) - n * _LN2_LOW
    polynomial = 0.0
    for coefficient in _TAYLOR:
        polynomial = polynomial * r + coefficient
    biased = np.int64(np.int32(n)) + np.int64(1023)  # through int32, which every vector unit converts
    return polynomial * np.int64(biased << np.int64(52)).view(np.float64) if a >= _LEAST_EXPONENT else 0.0  # the bits of 2ⁿ
