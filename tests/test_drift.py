"""Changes are found soon, and are not found where there are none; a slow and plain version finds the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from onkel.measure import drift
from onkel.measure.drift import BATCH, Drift
from onkel.state import leaves

pytestmark = pytest.mark.once

Array = NDArray[Any]


class Slow:
    """Every batch is kept in its bucket, and every statistic is computed anew from them."""

    def __init__(self, values: list[float], variances: list[float], losses: list[float], deviation: float) -> None:
        self.batches = list(zip(values, variances, losses, strict=True))
        self.deviation, self.found = deviation, []  # type: tuple[float, list[tuple[int, float, float]]]
        buckets: list[list[int]] = []
        for t in range(len(self.batches)):
            buckets.append([t])
            size = 1
            while sum(len(bucket) == size for bucket in buckets) > 5:
                first = next(k for k, bucket in enumerate(buckets) if len(bucket) == size)
                buckets[first : first + 2] = [buckets[first] + buckets[first + 1]]
                size *= 2
            cut = self.cut(buckets)
            if cut:
                old, new = ([t for bucket in part for t in bucket] for part in (buckets[:cut], buckets[cut:]))
                before, after = self.means(old), self.means(new)
                if after[0] > before[0]:
                    self.found.append((new[0] * BATCH + 1, before[2], after[2]))
                buckets = buckets[cut:]

    def means(self, those: list[int]) -> Array:
        return np.asarray(np.mean([self.batches[t] for t in those], axis=0))

    def cut(self, buckets: list[list[int]]) -> int:
        """The boundary with the largest difference of means, relative to what chance allows."""
        window = [t for bucket in buckets for t in bucket]
        if len(window) < 3:
            return 0
        best, place = 1.0, 0
        values, log = np.array([self.batches[t][0] for t in window]), math.log(2.0 * math.log(len(window)) / drift.DELTA)
        variance, steps = self.means(window)[1], float(np.sum(np.diff(values) ** 2))
        for k in range(1, len(buckets)):
            n = sum(map(len, buckets[:k]))
            left, right = values[:n], values[n:]
            squares = float(np.sum((left - left.mean()) ** 2) + np.sum((right - right.mean()) ** 2))
            c = 1.0
            if squares > 1e-12 and variance > 0.0:
                r = min(max(0.0, 1.0 - 0.5 * steps / squares), drift.MOST_ALIKE)
                c = max(1.0, BATCH * squares / (len(values) - 2.0) / variance * (1.0 + r) / (1.0 - r))
            m = BATCH * len(left) * len(right) / len(values)
            chance = math.sqrt(2.0 * c * variance * log / m) + 2.0 / 3.0 * c * self.deviation * log / m
            if abs(right.mean() - left.mean()) > best * chance:
                best, place = abs(right.mean() - left.mean()) / chance, k
        return place


def watched(make: Any, losses: Array, parts: int = 1) -> Drift:
    found: Drift = make()
    for part in np.array_split(losses, parts):
        found.add(part)
    return found


def stream(seed: int, rows: int = 12_000) -> Array:
    """Errors whose size changes several times, and that are alike for a while."""
    rng = np.random.default_rng(seed)
    scale = np.repeat(rng.choice([0.5, 1.0, 2.0, 5.0], size=rows // 1000 + 1), 1000)[:rows]
    return np.asarray(np.abs(scale * lfilter([1.0], [1.0, -0.5], rng.standard_t(3, size=rows))))


@pytest.mark.parametrize("seed", range(4))
def test_the_slow_version_finds_the_same(seed: int) -> None:
    losses = stream(seed)
    batches = losses[: len(losses) - len(losses) % BATCH].reshape(-1, BATCH)
    capped = np.minimum(batches, drift.CAP * np.median(batches, axis=1, keepdims=True))
    sizes = capped.mean(axis=1)
    variances = (capped / sizes[:, None]).var(axis=1, ddof=1)
    slow = Slow(np.log(sizes).tolist(), variances.tolist(), batches.mean(axis=1).tolist(), drift.DEVIATION_OF_ERRORS)
    found = watched(drift.of_errors, losses).changes()
    assert [change.row for change in found] == [row for row, _, _ in slow.found]
    assert np.array(found)[:, 1:] == pytest.approx(np.array(slow.found)[:, 1:], rel=1e-9)
    mistakes = (np.random.default_rng(seed).random(12_000) < np.repeat([0.05, 0.3, 0.1, 0.4], 3000)).astype(float)
    shares = mistakes[: len(mistakes) - len(mistakes) % BATCH].reshape(-1, BATCH)
    means = shares.mean(axis=1).tolist()
    slow = Slow(means, shares.var(axis=1, ddof=1).tolist(), means, drift.DEVIATION_OF_MISTAKES)
    found = watched(drift.of_mistakes, mistakes).changes()
    assert [change.row for change in found] == [row for row, _, _ in slow.found] != []


@pytest.mark.parametrize("parts", [2, 37, 999])
def test_cuts_change_no_bit(parts: int) -> None:
    one, other = watched(drift.of_errors, stream(0)), watched(drift.of_errors, stream(0), parts)
    assert all(np.array_equal(a, b) for (_, a, _), (_, b, _) in zip(leaves(one), leaves(other), strict=True))


STATIONARY: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "gaussian": lambda rng, n: np.abs(rng.normal(size=n)),
    "infinite variance": lambda rng, n: np.abs(rng.standard_t(2, size=n)),
    "no mean": lambda rng, n: np.abs(rng.standard_cauchy(n)),
    "mostly 0": lambda rng, n: np.abs(rng.normal(size=n)) * (rng.random(n) < 0.3),
    "always 0": lambda rng, n: np.zeros(n),
    "alike": lambda rng, n: np.abs(lfilter([1.0], [1.0, -0.9], rng.normal(size=n))),
    "a season": lambda rng, n: np.abs(rng.normal(size=n)) * (1.2 + np.sin(2.0 * np.pi * np.arange(n) / 24.0)),
    "learning": lambda rng, n: np.abs(rng.normal(size=n)) * (0.3 + 10.0 / np.sqrt(1.0 + np.arange(n) / 10.0)),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_false_alarms_are_rare(name: str) -> None:
    """At most three in fifty streams of 20,000 rows."""
    rng = np.random.default_rng(5)
    assert sum(bool(watched(drift.of_errors, STATIONARY[name](rng, 20_000)).changes()) for _ in range(50)) <= 3


@pytest.mark.parametrize("share", [0.001, 0.02, 0.5])
def test_false_alarms_of_mistakes_are_rare(share: float) -> None:
    rng = np.random.default_rng(6)
    streams = [(rng.random(20_000) < share).astype(float) for _ in range(50)]
    assert sum(bool(watched(drift.of_mistakes, losses).changes()) for losses in streams) <= 3


@pytest.mark.parametrize(("name", "factor", "delay"), [("gaussian", 1.5, 512), ("gaussian", 3.0, 192), ("no mean", 3.0, 448)])
def test_a_change_is_found_soon_and_once(name: str, factor: float, delay: int) -> None:
    rng, hits = np.random.default_rng(7), 0
    for _ in range(20):
        losses = STATIONARY[name](rng, 12_000)
        losses[8000:] *= factor
        found = watched(drift.of_errors, losses[: 8000 + delay]).changes()
        hits += len(found) == 1 and abs(found[0].row - 8001) <= 2 * BATCH
    assert hits >= 18


def test_a_fall_is_no_change_but_a_rise_after_it_is() -> None:
    rng = np.random.default_rng(8)
    losses = np.abs(rng.normal(size=9000)) * np.repeat([5.0, 0.5, 1.5], 3000)
    (change,) = watched(drift.of_errors, losses).changes()
    assert abs(change.row - 6001) <= BATCH
    assert (change.before, change.after) == pytest.approx((0.4, 1.2), rel=0.3)


def test_the_unit_of_errors_makes_no_difference() -> None:
    found = [[c.row for c in watched(drift.of_errors, scale * stream(3)).changes()] for scale in (1e-200, 1.0, 1e200)]
    assert found[0] == found[1] == found[2] != []


def test_many_changes_are_counted_and_the_first_are_kept() -> None:
    up = np.exp(np.repeat(np.arange(150), 256) * 2.0) * np.abs(np.random.default_rng(9).normal(size=150 * 256))
    found = watched(drift.of_errors, up)
    assert found.found_in_all > len(found.changes()) == drift.MOST_CHANGES
    assert found.count[drift.USED] < drift.MOST_BUCKETS
