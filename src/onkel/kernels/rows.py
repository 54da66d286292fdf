"""The compiled evaluation of kernels: one row k(D, x) at a time, in a fixed order, so that no cut of the stream changes a bit.

A program in postfix order, such as [GAUSSIAN, LINEAR, ADD], is run on a small stack of rows. A leaf takes its parameters from
the front of what is left of `params`:

    GAUSSIAN    width             exp(−‖x − z‖² / (2 width²))
    LAPLACIAN   width             exp(−‖x − z‖₁ / width)
    POLYNOMIAL  degree, offset    (x·z + offset)^degree
    LINEAR                        x·z
    ADD, MULTIPLY                 the two rows on top of the stack become one

The points of D lie in columns, (dim, room): then one pass over a coordinate serves all points at once, in vector registers, which
makes a row of a hundred points in eight dimensions three times as fast as with a point in each row.

The exponential is our own, for two reasons. A loop over it uses vector registers, which makes a Gaussian row twice as fast as with
the C library's. And its bits depend neither on that library nor on the place of a value in the row.
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import compiled_or, hot, hot_inline, hot_strict
from onkel._types import Counts, Matrix, Vector

GAUSSIAN, LAPLACIAN, POLYNOMIAL, LINEAR, ADD, MULTIPLY = range(6)
_PARAMETERS = (1, 1, 2, 0)  # how many each leaf takes

_LEAST_EXPONENT = -708.0  # e⁻⁷⁰⁸ is about the smallest normal float64; below it we give 0
_LOG2_E = math.log2(math.e)
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")  # the high part times n is exact
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))  # on |r| ≤ ln 2 / 2 the next term is below 5e-18


def leaf_twin(code: int, first: float, second: float, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """`leaf` in NumPy, for runs with the compiler off."""
    rows = np.ascontiguousarray(np.vstack([D[:, :size].T, x]))  # one order of summation, whatever the size
    if code == GAUSSIAN:
        values = _exponentials_twin(np.sum((rows - x) ** 2, axis=1) * (-0.5 / first**2))
    elif code == LAPLACIAN:
        values = _exponentials_twin(np.sum(np.abs(rows - x), axis=1) * (-1.0 / first))
    else:
        products = np.sum(rows * x, axis=1)
        values = (products + second) ** int(first) if code == POLYNOMIAL else products
    out[:size] = values[:size]
    return float(values[size])


def _exponentials_twin(a: Vector) -> Vector:
    return np.where(a >= _LEAST_EXPONENT, np.exp(np.maximum(a, _LEAST_EXPONENT)), 0.0)


@hot
def row(codes: Counts, params: Vector, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """out[i] ← k(D[:, i], x) for i < size. Returns k(x, x)."""
    if codes.size == 1:
        return leaf(codes[0], *_numbers(params), D, size, x, out)
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
            own[top] = leaf(code, *_numbers(params), D, size, x, stack[top])
            params = params[_PARAMETERS[code] :]
            top += 1
    out[:size] = stack[0]
    return float(own[0])


@hot
def gram(codes: Counts, params: Vector, X: Matrix, Z: Matrix, out: Matrix) -> None:
    """out ← k(X, Z)."""
    D = Z.T.copy()
    for i in range(X.shape[0]):
        row(codes, params, D, Z.shape[0], X[i], out[i])


@hot
def diagonal(codes: Counts, params: Vector, X: Matrix, out: Vector) -> None:
    """out[i] ← k(X[i], X[i])."""
    if codes.size == 1 and codes[0] in (GAUSSIAN, LAPLACIAN):
        out[:] = 1.0
        return
    nobody, nothing = np.empty((X.shape[1], 0)), np.empty(0)
    for i in range(X.shape[0]):
        out[i] = row(codes, params, nobody, 0, X[i], nothing)


@hot
def _numbers(params: Vector) -> tuple[float, float]:
    """The first two parameters, as far as there are so many."""
    return params[0] if params.size > 0 else 0.0, params[1] if params.size > 1 else 0.0


@compiled_or(leaf_twin)
def leaf(code: int, first: float, second: float, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """`row` for a kernel that is neither a sum nor a product, with its parameters as numbers."""
    if code == GAUSSIAN:
        _squared_distances(D, size, x, out)
        _exponentials(out, size, -0.5 / (first * first))
        return 1.0
    if code == LAPLACIAN:
        _absolute_distances(D, size, x, out)
        _exponentials(out, size, -1.0 / first)
        return 1.0
    _products(D, size, x, out)
    own = 0.0
    for j in range(x.size):
        own += x[j] * x[j]
    if code == POLYNOMIAL:
        degree, offset = int(first), second
        for i in range(size):
            out[i] = _power(out[i] + offset, degree)
        own = _power(own + offset, degree)
    return own


@hot_inline
def _squared_distances(D: Matrix, size: int, x: Vector, out: Vector) -> None:
    for i in range(size):
        out[i] = 0.0
    whole = x.size // 4 * 4
    for j in range(0, whole, 4):  # four coordinates a pass: out is read and written a quarter as often
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(size):
            a, b, c, d = D[j, i] - x0, D[j + 1, i] - x1, D[j + 2, i] - x2, D[j + 3, i] - x3
            out[i] += (a * a + b * b) + (c * c + d * d)
    for j in range(whole, x.size):
        for i in range(size):
            a = D[j, i] - x[j]
            out[i] += a * a


@hot_inline
def _absolute_distances(D: Matrix, size: int, x: Vector, out: Vector) -> None:
    for i in range(size):
        out[i] = 0.0
    for j in range(x.size):
        xj = x[j]
        for i in range(size):
            out[i] += abs(D[j, i] - xj)


@hot_inline
def _products(D: Matrix, size: int, x: Vector, out: Vector) -> None:
    for i in range(size):
        out[i] = 0.0
    for j in range(x.size):
        xj = x[j]
        for i in range(size):
            out[i] += D[j, i] * xj


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

    The polynomial is summed in pairs, so that no step waits for all before it, but for 1 + (r + …), where the digits are decided.
    Strict arithmetic: were a − n·high − n·low reassociated, r would lose its last digits.
    """
    clamped = max(a, _LEAST_EXPONENT)
    n = np.rint(clamped * _LOG2_E)
    r = (clamped - n * _LN2_HIGH) - n * _LN2_LOW
    square, t = r * r, _TAYLOR
    fourth = square * square
    low = (t[2] + t[3] * r) + (t[4] + t[5] * r) * square
    middle = (t[6] + t[7] * r) + (t[8] + t[9] * r) * square
    high = (t[10] + t[11] * r) + (t[12] + t[13] * r) * square
    polynomial = 1.0 + (r + square * (low + fourth * (middle + fourth * high)))
    biased = np.int64(np.int32(n)) + np.int64(1023)  # through int32, which every vector unit converts
    return polynomial * np.int64(biased << np.int64(52)).view(np.float64) if a >= _LEAST_EXPONENT else 0.0  # the bits of 2ⁿ
