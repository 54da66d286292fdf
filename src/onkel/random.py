"""The counter-based generator: one draw = f(seed, round, lane), with no state to keep, save or advance.

Philox4x32-10: ten rounds of multiply and exchange turn a 128-bit counter into four 32-bit words under a 64-bit key:

    (c₀, c₁, c₂, c₃) ← (hi(m₁c₂) ⊕ c₁ ⊕ k₀,  lo(m₁c₂),  hi(m₀c₀) ⊕ c₃ ⊕ k₁,  lo(m₀c₀)),   (k₀, k₁) ← (k₀ + w₀, k₁ + w₁)

Here hi and lo are the upper and lower half of a product of 64 bits, ⊕ is exclusive or, and the m and w are constants. The key is
the seed; the counter is (round, lane), 64 bits each: the round of the stream, and the number of the draw in that round.
A draw depends neither on the order of the calls nor on how the stream is cut into calls. Seed, round and lane must not be negative.

Salmon, Moraes, Dror & Shaw (2011), Parallel Random Numbers: As Easy as 1, 2, 3, SC '11.

>>> [round(uniform(7, t, 0), 3) for t in range(4)]
[0.955, 0.407, 0.006, 0.39]
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix

# Everything is a uint64, constants too: in numba uint64 · int64 is a float.
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _32, _11 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(11)

Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@hot
def words(seed: int, round: int, lane: int) -> Words:
    """The four words of a draw, 32 random bits in each."""
    key, high, low = np.uint64(seed), np.uint64(round), np.uint64(lane)
    k0, k1 = key & _LOW, key >> _32
    c0, c1, c2, c3 = high & _LOW, high >> _32, low & _LOW, low >> _32
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2  # below 2⁶⁴: nothing overflows
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@hot
def _unit(high: np.uint64, low: np.uint64) -> float:
    """A number in [0, 1), made of the first 53 bits of two words: a multiple of 2⁻⁵³."""
    return float(((high << _32) | low) >> _11) * 2.0**-53


@hot
def uniform(seed: int, round: int, lane: int) -> float:
    """A draw uniform on [0, 1), with 53 random bits."""
    c0, c1, _, _ = words(seed, round, lane)
    return _unit(c0, c1)


@hot
def normal(seed: int, round: int, lane: int) -> float:
    """A standard normal draw by the Box-Muller method: √(−2 ln u) cos 2πv, with u in (0, 1] and v in [0, 1)."""
    c0, c1, c2, c3 = words(seed, round, lane)
    return math.sqrt(-2.0 * math.log(1.0 - _unit(c0, c1))) * math.cos(2.0 * math.pi * _unit(c2, c3))


@hot
def below(seed: int, round: int, lane: int, n: int) -> int:
    """A draw uniform on 0 … n−1, as ⌊n · uniform⌋, for n up to 2⁵³. The error of each probability is at most 2⁻⁵³."""
    return int(uniform(seed, round, lane) * n)


@hot
def fill_normal(seed: int, round: int, out: Matrix) -> None:
    """Fill `out` with standard normals; the lane of an entry is its flat index."""
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = normal(seed, round, i * columns + j)


@hot
def fill_uniform(seed: int, round: int, out: Matrix) -> None:
    """Fill `out` with draws uniform on [0, 1); the lane of an entry is its flat index."""
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] = uniform(seed, round, i * columns + j)
