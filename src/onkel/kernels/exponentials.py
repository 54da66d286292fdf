"""eᵃ for a ≤ 0, for one number or many.

This is our own implementation, for two reasons. A loop over it vectorises, which makes a row of Gaussian kernel values twice as
fast as with the C library's exp. And the bits of a result depend neither on that library nor on the position of a value in the row.
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import compiled_or, hot_strict
from onkel._simd import fma
from onkel._types import Vector

_LEAST_EXPONENT = -708.0  # e⁻⁷⁰⁸ is about the smallest normal float64; below it the result is 0
_LOG2_E = math.log2(math.e)
_ROUNDER = 1.5 * 2.0**52  # adding it rounds a number to a whole number, which is then in the last bits of the sum
# ln 2 in two parts; the product of the high part and a whole number n is exact
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
NEAR = 1.0 / 32.0  # for |a| up to this, eight terms of the Taylor series of eᵃ are enough: the next one is below 2.3e-17
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))  # for |r| ≤ ln 2 / 2 the next term of eʳ is below 5e-18


def exponentials_twin(v: Vector, size: int, factor: float) -> None:
    """`exponentials` in NumPy, for runs with the compiler off."""
    a = factor * v[:size]
    v[:size] = np.where(a >= _LEAST_EXPONENT, np.exp(np.maximum(a, _LEAST_EXPONENT)), 0.0)


@compiled_or(exponentials_twin)
def exponentials(v: Vector, size: int, factor: float) -> None:
    """v[i] ← e^(factor · v[i]) for i < size; no exponent may be positive."""
    for i in range(size):
        v[i] = exponential(factor * v[i])


@hot_strict
def exponential(a: float) -> float:
    """eᵃ for a ≤ 0, to within 1.2 units in the last place: a = n ln 2 + r, then 2ⁿ times the Taylor polynomial of eʳ.

    The terms of the polynomial are summed in pairs, which the processor can compute at the same time. The sum 1 + (r + …) comes
    last, because its rounding decides the last digits. The compiler may not reorder the arithmetic (`hot_strict`): r is computed as
    a − n·high − n·low, with ln 2 = high + low, and would lose its last digits in another order.
    """
    clamped = max(a, _LEAST_EXPONENT)
    shifted = fma(clamped, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(-n, _LN2_LOW, fma(-n, _LN2_HIGH, clamped))
    square, t = r * r, _TAYLOR
    fourth = square * square
    low = fma(fma(t[5], r, t[4]), square, fma(t[3], r, t[2]))
    middle = fma(fma(t[9], r, t[8]), square, fma(t[7], r, t[6]))
    high = fma(fma(t[13], r, t[12]), square, fma(t[11], r, t[10]))
    polynomial = 1.0 + fma(square, fma(fourth, fma(fourth, high, middle), low), r)
    bits = np.float64(polynomial).view(np.int64) + (np.float64(shifted).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64) if a >= _LEAST_EXPONENT else 0.0


@hot_strict
def near_exponential(a: float) -> float:
    """eᵃ for −NEAR ≤ a ≤ 0; for smaller a some value between 0 and 1."""
    r, t = max(a, -NEAR), _TAYLOR
    square = r * r
    high = fma(square, fma(t[7], r, t[6]), fma(t[5], r, t[4]))
    return 1.0 + fma(square, fma(square, high, fma(t[3], r, t[2])), r)
