"""The compiled evaluation of kernels: one row k(D, x) at a time, in a fixed order, so that the bits do not depend on how the stream
is cut into blocks.

A program in postfix order, such as [GAUSSIAN, LINEAR, ADD], is run on a small stack of rows of kernel values. An elementary kernel
(a leaf) takes its parameters from the front of `params`:

    GAUSSIAN    width             exp(−‖x − z‖² / (2 width²))
    LAPLACIAN   width             exp(−‖x − z‖₁ / width)
    POLYNOMIAL  degree, offset    (x·z + offset)^degree
    LINEAR                        x·z
    DELTA       weight            weight if x = z, else 0
    ADDITIVE    inputs, table     Σ k_c(x_c, z_c), one line of the table per input: onkel.kernels.lists
    ADD, MULTIPLY                 combine the two rows on top of the stack

D has shape (dim, capacity), with one point in each column, so that a loop over one coordinate vectorises over all points. The
kernel values of a hundred points in eight dimensions then take a third of the time that they take with one point in each row.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import compiled_or, hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel.kernels.exponentials import exponentials
from onkel.kernels.lists import SPAN, additive

GAUSSIAN, LAPLACIAN, POLYNOMIAL, LINEAR, DELTA, ADDITIVE, ADD, MULTIPLY = range(8)
_PARAMETERS = (1, 1, 2, 0, 1)  # how many parameters each leaf has, except ADDITIVE


def leaf_twin(code: int, first: float, second: float, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """`leaf` in NumPy, for runs with the compiler off."""
    rows = np.ascontiguousarray(np.vstack([D[:, :size].T, x]))  # C order, so that the order of summation does not depend on size
    if code == GAUSSIAN:
        values = np.sum((rows - x) ** 2, axis=1)
        exponentials(values, size + 1, -0.5 / first**2)
    elif code == LAPLACIAN:
        values = np.sum(np.abs(rows - x), axis=1)
        exponentials(values, size + 1, -1.0 / first)
    elif code == DELTA:
        values = np.where(np.all(rows == x, axis=1), first, 0.0)
    else:
        products = np.sum(rows * x, axis=1)
        values = (products + second) ** int(first) if code == POLYNOMIAL else products
    out[:size] = values[:size]
    return float(values[size])


@hot
def row(codes: Counts, params: Vector, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """out[i] ← k(D[:, i], x) for i < size. Returns k(x, x)."""
    if codes.size == 1 and codes[0] != ADDITIVE:
        return leaf(codes[0], *_numbers(params), D, size, x, out)
    leaves = (codes.size + 1) // 2
    stack, own = np.empty((leaves, size)), np.empty(leaves)
    top = 0  # rows on the stack
    for code in codes:
        if code == ADD:
            top -= 1
            for i in range(size):
                stack[top - 1, i] += stack[top, i]
            own[top - 1] += own[top]
        elif code == MULTIPLY:
            top -= 1
            for i in range(size):
                stack[top - 1, i] *= stack[top, i]
            own[top - 1] *= own[top]
        else:
            if code == ADDITIVE:
                end = 1 + int(params[0]) * (SPAN + 1)
                own[top] = additive(params[1:end].reshape(-1, SPAN + 1), D, size, x, stack[top])
            else:
                end = _PARAMETERS[code]
                own[top] = leaf(code, *_numbers(params), D, size, x, stack[top])
            params = params[end:]
            top += 1
    for i in range(size):
        out[i] = stack[0, i]
    return float(own[0])


@hot
def gram(codes: Counts, params: Vector, X: Matrix, Z: Matrix, out: Matrix) -> None:
    """out ← k(X, Z)."""
    D = Z.T.copy()
    by_itself = codes.size == 1 and codes[0] != ADDITIVE
    for i in range(X.shape[0]):
        if by_itself:
            leaf(codes[0], *_numbers(params), D, Z.shape[0], X[i], out[i])
        else:
            row(codes, params, D, Z.shape[0], X[i], out[i])


@hot
def diagonal(codes: Counts, params: Vector, X: Matrix, out: Vector) -> None:
    """out[i] ← k(X[i], X[i])."""
    if codes.size == 1 and codes[0] in (GAUSSIAN, LAPLACIAN):
        out[:] = 1.0
        return
    no_points, nothing = np.empty((X.shape[1], 0)), np.empty(0)
    for i in range(X.shape[0]):
        out[i] = row(codes, params, no_points, 0, X[i], nothing)


@hot
def _numbers(params: Vector) -> tuple[float, float]:
    """The first two parameters, with 0 for missing ones."""
    return params[0] if params.size > 0 else 0.0, params[1] if params.size > 1 else 0.0


@compiled_or(leaf_twin)
def leaf(code: int, first: float, second: float, D: Matrix, size: int, x: Vector, out: Vector) -> float:
    """`row` for a kernel that is neither a sum nor a product, with its parameters as scalars."""
    if code == GAUSSIAN:
        _squared_distances(D, size, x, out)
        exponentials(out, size, -0.5 / (first * first))
        return 1.0
    if code == LAPLACIAN:
        _absolute_distances(D, size, x, out)
        exponentials(out, size, -1.0 / first)
        return 1.0
    if code == DELTA:
        _equals(D, size, x, first, out)
        return first
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
    for j in range(0, whole, 4):  # four coordinates per pass, so that out is read and written a quarter as often
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
def _equals(D: Matrix, size: int, x: Vector, weight: float, out: Vector) -> None:
    for i in range(size):
        out[i] = weight
    for j in range(x.size):
        for i in range(size):
            if D[j, i] != x[j]:
                out[i] = 0.0


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
