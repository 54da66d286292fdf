"""Decimal numbers parsed in compiled code have the bits that float() gives; everything else is left to others. So it is where
`float` reads them."""

from __future__ import annotations

import math
import random
import struct
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onkel._jit import compiler_off
from onkel.data.numbers import by_python
from onkel.data.numbers import compiled as parse

pytestmark = [pytest.mark.once, pytest.mark.skipif(compiler_off, reason="it is only used when compiled")]


SMALLEST = sys.float_info.min  # of the normal floats; numbers below it, and those that are rounded up to it, are left to Python


def parsed(cell: str) -> float | None:
    found = parse(f"{cell},1\n".encode(), ",", 2, [0, 1], 1)
    if found is None:
        return None
    assert found.shape == (1, 2)
    assert found[0, 1] == 1.0
    return float(found[0, 0])


def same(cell: str) -> bool:
    found = parsed(cell)
    return found is not None and struct.pack("d", found) == struct.pack("d", float(cell))


@settings(max_examples=2000, deadline=None, database=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1.7976931348623157e308)
@example(2.225073858507202e-308)
@example(-0.0)
def test_every_float_reads_back(value: float) -> None:
    small = 0.0 < abs(value) <= SMALLEST
    assert small or same(repr(value))
    assert small or same(f"{value:.17e}".upper())
    assert small or abs(value) < 1e-290 or same(f"{value:+.18e}")


@settings(max_examples=2000, deadline=None, database=None)
@given(st.integers(0, 10**19 - 1), st.integers(-330, 300), st.integers(0, 19))
@example(2_225_073_858_507_202, -304, 19)
@example(2_225_073_858_507_201, -304, 19)
def test_every_decimal_of_nineteen_digits(w: int, q: int, point: int) -> None:
    digits = str(w).rjust(point + 1, "0")
    cell = f"{digits[: len(digits) - point]}.{digits[len(digits) - point :]}e{q}"
    value = float(cell)
    if (value == 0.0 and w) or math.isinf(value) or 0.0 < value < SMALLEST:
        assert parsed(cell) is None
    elif value != SMALLEST:
        assert same(cell)


def test_numbers_halfway_between_two_floats() -> None:
    rng = random.Random(0)
    for _ in range(3000):
        mantissa, exponent = rng.getrandbits(52) | 1 << 52, rng.randint(-4, 10)
        between = (2 * mantissa + 1) * 2**exponent if exponent >= 0 else (2 * mantissa + 1) / 2**-exponent
        for cell in (str((2 * mantissa + 1) * 2 ** max(0, exponent)), repr(between)):
            assert len(cell) > 19 or same(cell)
        for near in (-1, 0, 1):
            cell = str(2 * mantissa + 1 + near)
            assert same(cell)
    assert same("9007199254740993")
    assert same("9007199254740993e5")
    assert same("4503599627370496.5")
    assert same("4503599627370497.5")


@pytest.mark.parametrize(
    "cell",
    [" 1", "1 ", "nan", "NA", "inf", "-", "+", ".", "-.", "e5", "1e", "1e+", "1e999", "1e-999", "0x1", "1_0", "1.2.3", "--1", "+-1",
     "1-", "12345678901234567890", "1.2345678901234567890", "5e-324", '"1"', "1\0", "é", "1d5", "1,2", "1\n2", "-,", "1;"],
)  # fmt: skip
def test_whatever_else_is_left_to_others(cell: str) -> None:
    assert parsed(cell) is None


def test_rows_gaps_and_line_ends() -> None:
    found = parse(b"\n\r\n1,,3\r4,5,\n\n,,\r\n7,8,9", ",", 3, [2, 0], 9)
    assert found is not None
    np.testing.assert_array_equal(found, [[3, 1], [np.nan, 4], [np.nan, np.nan], [9, 7]])
    assert parse(b"1,2\n3", ",", 2, [0], 2) is None
    assert parse(b"1,2\n3,4,5\n", ",", 2, [0], 2) is None
    assert parse(b"1;2\n", ";", 2, [1], 1) is not None
    assert same("000000000000000000000000000000.5")
    assert same("-0.00000000000000000000000000000000012345")


@settings(max_examples=300, deadline=None, database=None)
@given(
    st.lists(st.text("0123456789+-eE.;,\r\n _x", max_size=12), max_size=6), st.sampled_from([(",", "."), (";", ","), (";", ".")])
)
@example(["1", "2"], (",", "."))
def test_what_both_read_is_the_same(cells: list[str], marks: tuple[str, str]) -> None:
    separator, mark = marks
    data = (separator.join([*cells, "-0"]) + "\n").encode()
    columns = len(cells) + 1
    wanted = list({columns - 1: 0, 0: 0})
    one, other = parse(data, separator, columns, wanted, 99, mark), by_python(data, separator, columns, wanted, mark)
    assert one is None or other is not None
    if one is not None and other is not None:
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("cell", [" 1", "nan", "inf", "-", ".", "1e", "1e999", "-1e999", "0x1", "1_0", "--1", "1-", "٣"])
def test_float_is_not_asked_for_what_only_it_accepts(cell: str) -> None:
    assert by_python(f"{cell},1\n".encode(), ",", 2, [0, 1]) is None
