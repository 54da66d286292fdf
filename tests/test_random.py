"""The generator: published answers, no memory, and the right distributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from onkel.random import below, fill_normal, normal, uniform, words

LEAST_P = 1e-4  # the seeds are fixed: a right generator passes every time

PINNED_UNIFORMS = ["0x1.faad9f8473b64p-3", "0x1.f4d29d26a6e2ep-2", "0x1.27de7caab50acp-1"]
PINNED_NORMALS = [-0.17310521903624587, -1.1522974640989934, -0.9014695253396784]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers_of_random123(counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]) -> None:
    seed, round, lane = (np.uint64(low | high << 32) for low, high in (key, counter[:2], counter[2:]))
    assert tuple(map(int, words(seed, round, lane))) == expected  # type: ignore[arg-type]  # any integer will do


def test_floats_follow_from_the_words() -> None:
    a, b, c, d = map(int, words(7, 3, 5))
    u, v = ((a << 32 | b) >> 11) / 2**53, ((c << 32 | d) >> 11) / 2**53
    assert uniform(7, 3, 5) == u
    assert normal(7, 3, 5) == pytest.approx(np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v), rel=1e-14)
    assert below(7, 3, 5, 1000) == int(1000 * u)


def test_the_stream_is_pinned() -> None:
    """Saved learners rely on these: with and without the compiler, on every machine, in every version."""
    assert [uniform(1, 2, lane).hex() for lane in range(3)] == PINNED_UNIFORMS
    assert [normal(1, 2, lane) for lane in range(3)] == pytest.approx(PINNED_NORMALS, rel=1e-14)


def test_draws_do_not_depend_on_the_order_of_the_calls() -> None:
    places = list(itertools.product(range(3), range(4), range(5)))
    first = {place: uniform(*place) for place in places}
    np.random.default_rng(0).shuffle(places)
    assert {place: uniform(*place) for place in places} == first


def test_seed_round_and_lane_all_count_in_all_their_bits() -> None:
    values = [0, 1, 2**31, 2**32, 2**62]
    drawn = {tuple(map(int, words(*place))) for place in itertools.product(values, values, values)}
    assert len(drawn) == len(values) ** 3


@pytest.mark.parametrize("along", ["round", "lane", "seed"])
def test_uniform_is_uniform(along: str) -> None:
    place = {"seed": 11, "round": 5, "lane": 2}
    u = np.array([uniform(**{**place, along: i}) for i in range(4000)])
    assert u.min() >= 0.0
    assert u.max() < 1.0
    assert stats.chisquare(np.bincount((u * 25).astype(int), minlength=25)).pvalue > LEAST_P
    assert stats.kstest(u, "uniform").pvalue > LEAST_P
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / np.sqrt(u.size)


def test_normal_is_normal() -> None:
    z = np.empty((40, 100))
    fill_normal(3, 9, z)
    assert np.isfinite(z).all()
    assert stats.kstest(z.ravel(), "norm").pvalue > LEAST_P
    assert abs(np.mean(z)) < 4 / np.sqrt(z.size)
    assert abs(np.mean(z**2) - 1) < 4 * np.sqrt(2 / z.size)
    assert np.abs(z).max() > 3.0


def test_fill_normal_numbers_its_lanes_by_flat_index() -> None:
    z = np.empty((3, 4))
    fill_normal(3, 9, z)
    np.testing.assert_array_equal(z.ravel(), [normal(3, 9, lane) for lane in range(12)])


def test_below_is_uniform_and_never_reaches_n() -> None:
    drawn = np.array([below(5, t, 0, 7) for t in range(3500)])
    assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > LEAST_P
    assert set(drawn) == set(range(7))
    assert {below(5, t, 0, 1) for t in range(50)} == {0}
    assert all(0 <= below(5, t, 0, 2**53) < 2**53 for t in range(50))
    largest = 1 - 2.0**-53  # that uniform can give
    assert all(int(largest * n) == n - 1 for n in [1, 3, 2**31 - 1, 2**32, 2**52 + 1, 2**53 - 1, 2**53])
