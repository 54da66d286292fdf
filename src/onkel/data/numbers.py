"""Parses decimal numbers between separators as float64, in compiled code, for pieces of csv that contain only numbers.

A cell [±]digits[.digits][e[±]digits] is w · 10^q with a whole number w < 2⁶⁴. If w < 2⁵³ and |q| ≤ 22, then w and 10^|q| are exact
in float64, and one multiplication or division rounds correctly. Otherwise w · 5^q is computed to 128 bits, from a table of the
first bits of 5^q, and rounded to the 53 bits of float64, ties to even. This is the method of Lemire (2021), Number parsing at a
gigabyte per second, Software: Practice and Experience; Mushtak & Lemire (2023), Fast number parsing without fallback, ibid., prove
that 128 bits always suffice. All other cells (blanks, words, more than 19 digits, numbers below 2.2e-308) are left to pyarrow or
the csv module. The decimal mark need not be a point.

The first `PATIENCE` bytes that a process parses are parsed by Python's `float`, which gives the same bits, because compiling the
parser, or even loading it from the cache, would take longer.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onkel._jit import compiler_off, hot_strict
from onkel._types import Counts, Matrix, Vector

LEAST, MOST = -342, 308  # the range of q; outside it w · 10^q is 0 or infinite for every w < 2⁶⁴
PATIENCE = 300_000  # bytes: what `float` reads in about 20 ms
DIGITS = 19  # a whole number of at most this many decimal digits fits into 64 bits
_NAN = np.frombuffer(np.float64(np.nan).tobytes(), np.uint64)[0]

Bits = NDArray[np.uint64]


def parse(data: bytes, separator: str, columns: int, wanted: list[int], lines: int, mark: str = ".") -> Matrix | None:
    """The wanted columns of a piece of at most `lines` lines. An empty cell is NaN. None if there are other cells than numbers."""
    if _patience.lasts(len(data)):
        return by_python(data, separator, columns, wanted, mark)
    return None if compiler_off else compiled(data, separator, columns, wanted, lines, mark)


@dataclass
class _Patience:
    """How many bytes this process still reads without the compiled parser."""

    left: int = PATIENCE

    def lasts(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


_patience = _Patience()


def by_python(data: bytes, separator: str, columns: int, wanted: list[int], mark: str = ".") -> Matrix | None:
    """`parse` by `float`."""
    if data.translate(None, f"0123456789+-eE\r\n{separator}{mark}".encode()):
        return None  # blanks, words and underscores, some of which `float` accepts
    rows = [line.split(separator.encode()) for line in data.replace(mark.encode(), b".").splitlines() if line]
    if any(len(cells) != columns for cells in rows):
        return None
    try:
        values = [float(cells[j]) if cells[j] else math.nan for cells in rows for j in wanted]
    except ValueError:
        return None
    return None if math.inf in values or -math.inf in values else np.array(values).reshape(len(rows), len(wanted))


def compiled(data: bytes, separator: str, columns: int, wanted: list[int], lines: int, mark: str = ".") -> Matrix | None:
    """`parse` in compiled code."""
    place = np.full(columns, -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    out = np.empty((lines, len(wanted)), dtype=np.uint64)
    scratch = np.empty(1)
    rows = _parse(
        np.frombuffer(data, np.uint8), ord(separator), ord(mark), place, *_tables(), _NAN, scratch, scratch.view(np.uint64), out
    )
    return None if rows < 0 else out[:rows].view(np.float64)


@functools.cache
def _tables() -> tuple[Bits, Vector]:
    """The first 128 bits of each 5^q, in two halves; and 10^0 … 10^22, which are exact in float64."""
    halves = np.empty((MOST - LEAST + 1, 2), dtype=np.uint64)
    for q in range(LEAST, MOST + 1):
        if q >= 0:
            bits = 5**q
            bits = bits << (128 - bits.bit_length()) if bits.bit_length() < 128 else bits >> (bits.bit_length() - 128)
        else:
            size = (5**-q).bit_length()
            bits = (1 << (size + 127 if q >= -27 else 2 * size + 128)) // 5**-q + 1  # rounded up
            bits >>= max(0, bits.bit_length() - 128)
        halves[q - LEAST] = bits >> 64, bits & (2**64 - 1)
    return halves, np.array([10.0**q for q in range(23)])


@hot_strict
def _parse(
    data: NDArray[np.uint8], separator: int, mark: int, place: Counts, fives: Bits, tens: Vector, nan: np.uint64,
    exact: Vector, as_bits: Bits, out: Bits,
) -> int:  # fmt: skip
    """Parse the piece into `out`. Returns the number of rows; -1 if a cell is no plain number, or a row is too short or too long.

    One pass over the bytes: every step moves `at` forward. Giving up costs only time, since pyarrow or the csv module then reads
    the whole piece; so rare cases simply return -1.
    """
    at, row, end = 0, 0, data.size
    while at < end:
        # 1. Between rows: \n, \r, \r\n and blank lines alike, so that no line end needs a case of its own.
        if data[at] == 10 or data[at] == 13:
            at += 1
            continue
        for column in range(place.size):
            # 2. A sign, which becomes a bit of the result in step 9; `first` is where digits begin.
            negative = False
            if at < end and (data[at] == 45 or data[at] == 43):
                negative = data[at] == 45
                at += 1
            first = at
            # 3. The digits as one whole number w, without the point. Nearly all the time goes here, so nothing is checked:
            #    beyond 19 digits w may wrap around, even to 0 (2⁶⁴ does); step 4 then gives up.
            w, point = np.uint64(0), -1
            while at < end:
                byte = data[at]
                if 48 <= byte <= 57:
                    w = w * np.uint64(10) + np.uint64(byte - 48)
                elif byte == mark and point < 0:
                    point = at
                else:
                    break
                at += 1
            # 4. How many digits were written (none: an empty cell, or no number), and the power of ten that the point stands for.
            #    Leading zeros are not counted among the 19 digits that fit: 0.000123 has three digits.
            written = at - first - (1 if point >= 0 else 0)
            q = -(at - point - 1) if point >= 0 else 0
            if written > DIGITS:
                start = first
                while start < at and (data[start] == 48 or data[start] == mark):
                    start += 1
                if at - start - (1 if point > start else 0) > DIGITS:
                    return -1
            # 5. An exponent. Many digits must not make it wrap around, so it stops growing far beyond the range of float64; step 8
            #    then gives up, unless the number is 0.
            if written > 0 and at < end and (data[at] == 101 or data[at] == 69):
                at += 1
                down = False
                if at < end and (data[at] == 45 or data[at] == 43):
                    down = data[at] == 45
                    at += 1
                begin, power = at, 0
                while at < end and 48 <= data[at] <= 57:
                    if power < 100_000:
                        power = 10 * power + (data[at] - 48)
                    at += 1
                if at == begin:
                    return -1
                q += -power if down else power
            # 6. The cell must end here: at a separator, or, if it is the last of its row, at a line end or at the end of the piece.
            #    This refuses blanks, quotes and words, and rows that are too long or too short.
            last = column == place.size - 1
            if at < end and not ((data[at] == 10 or data[at] == 13) if last else data[at] == separator):
                return -1
            if at == end and not last:
                return -1
            # 7. No digits: an empty cell is missing, but a lone sign or point is no number.
            if written == 0:
                if point >= 0 or at > first or (first > 0 and (data[first - 1] == 45 or data[first - 1] == 43)):
                    return -1
                bits = nan
            # 8. The value. Zero has no leading bit to align, so it is a case of its own. If w and 10^|q| are both exact in float64,
            #    as for nearly all data, one rounded operation gives the nearest number. Otherwise 128 bits are needed, and a 0 from
            #    `_rounded` means that the number is out of range. The value is kept as its bits, to which step 9 adds the sign.
            elif w == np.uint64(0):
                bits = np.uint64(0)
            elif w < np.uint64(1 << 53) and -22 <= q <= 22:
                exact[0] = np.float64(w) / tens[-q] if q < 0 else np.float64(w) * tens[q]
                bits = as_bits[0]
            else:
                bits = _rounded(w, q, fives)
                if bits == np.uint64(0):
                    return -1
            # 9. Columns that are not wanted are parsed too, since their ends must be found, but they are not written. The sign is
            #    set as a bit, so that -0 keeps it.
            if place[column] >= 0:
                out[row, place[column]] = bits | (np.uint64(1 << 63) if negative and written > 0 else np.uint64(0))
            if not last:
                at += 1
        row += 1
    return row


@hot_strict
def _rounded(w: np.uint64, q: int, fives: Bits) -> np.uint64:
    """The bits of the float64 nearest to w · 10^q, for w > 0; 0 if that is too small or too large for a normal float64."""
    if q < LEAST or q > MOST:
        return np.uint64(0)
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w < np.uint64(1) << np.uint64(64 - step):
            w <<= np.uint64(step)
            zeros += step
    high, low = _product(w, fives[q - LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the rounding may depend on the lower half of 5^q
        more, _ = _product(w, fives[q - LEAST, 1])
        low += more
        if low < more:
            high += np.uint64(1)
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = high >> shift  # 54 bits: one more than float64 has, for the rounding
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - zeros + 1023
    if exponent <= 0:
        return np.uint64(0)
    halfway = low <= np.uint64(1) and -4 <= q <= 23 and mantissa & np.uint64(3) == np.uint64(1)
    if halfway and mantissa << shift == high:
        mantissa &= ~np.uint64(1)  # a tie is rounded to even, here down
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >= np.uint64(1 << 53):
        mantissa = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return np.uint64(0)
    return (mantissa & ~np.uint64(1 << 52)) | (np.uint64(exponent) << np.uint64(52))


@hot_strict
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The upper and the lower 64 bits of a · b."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    low, cross, other, high = (a & mask) * (b & mask), (a >> half) * (b & mask), (a & mask) * (b >> half), (a >> half) * (b >> half)
    middle = (low >> half) + (cross & mask) + (other & mask)
    return high + (cross >> half) + (other >> half) + (middle >> half), (middle << half) | (low & mask)
