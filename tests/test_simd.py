"""Lines of numbers in vector registers, against NumPy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel._jit import hot_lean
from onkel._simd import fma, lanes
from onkel.kernels.exponentials import NEAR, exponential, near_exponential
from onkel.state import CACHE_LINE, grown, zeros

WIDTHS = (8, 32, 64)
LANES = {width: lanes(width) for width in WIDTHS}


def compiled(width: int) -> tuple[Any, ...]:
    """The functions of one width, to be called from Python. (Closures: numba would keep each on disk and never find it again.)"""
    below, up_to, beside, make_way, fetch = LANES[width]

    @numba.njit
    def count(line: Any, n: int, u: float) -> tuple[int, int]:
        fetch(line)
        return below(line, n, u), up_to(line, n, u)

    @numba.njit
    def weigh(left: Any, right: Any, place: int, before: float, behind: float) -> float:
        return beside(left, right, place, before, behind)

    @numba.njit
    def move(line: Any, place: int, u: float) -> None:
        make_way(line, place, u)

    return count, weigh, move


COMPILED = {width: compiled(width) for width in WIDTHS}
keys = st.sampled_from([-np.inf, -1e300, -1.0, -0.0, 0.0, 1e-310, 0.5, 0.5 + 2**-53, 1.0, np.inf])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(WIDTHS), st.data())
def test_counts(width: int, data: st.DataObject) -> None:
    line = np.array(data.draw(st.lists(keys, min_size=width, max_size=width)))
    n, u = data.draw(st.integers(0, width)), data.draw(keys)
    assert COMPILED[width][0](line, n, u) == (np.sum(line[:n] < u), np.sum(line[:n] <= u))


@pytest.mark.parametrize("width", WIDTHS)
def test_sums_beside_a_place(width: int) -> None:
    rng = np.random.default_rng(0)
    for place in range(width):
        left, right = rng.normal(size=(2, width))
        left[place:] = np.nan  # what is not asked for is not touched
        right[: place + 1] = np.nan
        before, behind = rng.normal(size=2)
        expected = before * np.sum(left[:place]) + behind * np.sum(right[place + 1 :])
        size = np.sum(np.abs(before * left[:place])) + np.sum(np.abs(behind * right[place + 1 :]))
        assert abs(COMPILED[width][1](left, right, place, before, behind) - expected) <= 1e-14 * size


@pytest.mark.parametrize("width", WIDTHS)
def test_what_stands_behind_makes_way(width: int) -> None:
    around = np.arange(3.0 * width)
    for place in range(width):
        numbers = around.copy()
        COMPILED[width][2](numbers[width : 2 * width], place, -1.0)
        moved = np.insert(around[width : 2 * width], place, -1.0)[:width]
        assert np.array_equal(numbers, np.concatenate([around[:width], moved, around[2 * width :]]))


@pytest.mark.once  # the compiler's own types are asked
@pytest.mark.parametrize(
    "line",
    [np.zeros(64)[::8], np.zeros((8, 8), order="F")[0], np.zeros(8, np.int64), np.zeros(8, np.float32), np.frombuffer(bytes(64))],
    ids=["with gaps", "a row of columns", "whole numbers", "short ones", "not to be written"],
)
def test_numbers_that_do_not_stand_side_by_side_are_refused(line: Any) -> None:
    with pytest.raises(numba.errors.TypingError, match="must be one-dimensional, contiguous and writeable, of float64"):
        COMPILED[8][2](line, 0, 1.0)


@hot_lean
def _fma(a: float, b: float, c: float) -> float:
    return fma(a, b, c)


def test_a_product_and_a_sum_are_rounded_once_or_always_twice() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 200))
    rests = [_fma(a[i], b[i], -(a[i] * b[i])) for i in range(200)]
    once = [float(Fraction(a[i]) * Fraction(b[i]) - Fraction(a[i] * b[i])) for i in range(200)]
    assert rests in (once, [0.0] * 200)


@hot_lean
def _powers(a: Any, near: Any, usual: Any) -> None:
    for i in range(a.size):
        near[i], usual[i] = near_exponential(a[i]), exponential(a[i])


def test_near_zero_eight_terms_are_all_digits() -> None:
    a = -NEAR * np.append(np.random.default_rng(2).random(5000), [0.0, 1.0])
    near, usual = np.empty((2, len(a)))
    _powers(a, near, usual)
    exact = np.exp(a.astype(np.longdouble))
    for found in (near, usual):
        assert np.max(np.abs(found - exact) / np.spacing(found)) <= 1.2
    far = np.array([-1e300, -1.0])
    _powers(far, near[:2], usual[:2])
    assert np.all((near[:2] > 0.0) & (near[:2] < 1.0))  # for places where no point is: times 0 it must be 0


def test_arrays_that_grow_begin_at_a_cache_line() -> None:
    for shape in ((1,), (5, 7), (1000, 3, 2)):
        for kind in (float, np.int64):
            assert zeros(shape, kind).ctypes.data % CACHE_LINE == 0
            assert zeros(shape, kind).shape == shape
    longer = grown(np.arange(6.0).reshape(2, 3), 20, axis=1)
    assert longer.shape == (2, 32)
    assert longer.ctypes.data % CACHE_LINE == 0
    assert np.array_equal(longer[:, :3], np.arange(6.0).reshape(2, 3))
    assert not longer[:, 3:].any()
