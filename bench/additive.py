"""The time and memory that a point costs an additive learner: python bench/additive.py [--check]

Measures a query and an insertion in one coordinate that has 10⁵ to 10⁷ points already. The points' values, their keys, come at
random, sorted, backwards or in clusters. The script counts the blocks and nodes of the tree that are touched. It compares the times
with that of one random read in an array of as many bytes, which has to wait for the same memory, and with that of the naive sum
over all points in NumPy. Everything is measured in one run, on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from growth import console, exponent, table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from timing import Verdicts, seconds

import onkel
from onkel._jit import hot
from onkel.functions import sorted_blocks
from onkel.functions.block_layout import Curves, Inputs
from onkel.functions.sorted_blocks import SortedBlocks, evaluate, has_room, join, prepare
from onkel.updates.kernel_expansion import ROWS_AT_ONCE

Array = NDArray[np.float64]
Keys = Callable[[int, int], Array]  # (points before, points now)

SIZES = (10**5, 10**6, 10**7)
CHUNK, TURNS = 10_000, 10
NAIVE_SIZE, NAIVE_TURNS = 10**6, 5
LARGEST_EXPONENT = 0.15
KERNELS: dict[str, onkel.kernels.Interval] = {
    "Spline(order=1)": onkel.Spline(1, (0.0, 1.0)),
    "Spline(order=3)": onkel.Spline(3, (0.0, 1.0)),
    "PeriodicSpline(order=2)": onkel.PeriodicSpline((0.0, 1.0)),
    "Exponential(rate=10)": onkel.Exponential(10.0),
    "Brownian()": onkel.Brownian((0.0, 1.0)),
}


def orders(rng: np.random.Generator) -> dict[str, Keys]:
    most = 1.05 * SIZES[-1]
    return {
        "random": lambda before, now: rng.random(now),
        "sorted": lambda before, now: (before + np.arange(now)) / most,
        "backwards": lambda before, now: 1.0 - (before + np.arange(now)) / most,
        "clustered": lambda before, now: (rng.integers(0, 30, now) + 1e-3 * rng.normal(size=now) + 0.5) / 31.0,
    }


class Curve:
    """One coordinate that grows."""

    def __init__(self, base: onkel.kernels.Interval, keys: Keys) -> None:
        self.kernel, self.keys, self.points, self.splits = onkel.Additive(base), keys, 0, 0
        self.f: SortedBlocks = sorted_blocks.empty(self.kernel, 1)
        self.rng = np.random.default_rng(1)

    def grow(self, points: int) -> float:
        """Query and insert this many keys, in blocks as learners do it. Returns the seconds for each."""
        X, a, scores = self.keys(self.points, points)[:, None], self.rng.normal(size=points), np.empty(points)
        rows, done, used, before = self.f.rows(self.kernel, X), 0, 0.0, int(self.f.used.sum())
        while done < points:
            now = slice(done, done + ROWS_AT_ONCE)
            start = time.perf_counter()
            inputs = self.f.source(self.kernel, rows[now])
            done += _play(inputs, self.f.compiled, rows[now], a[now], scores[now])
            used += time.perf_counter() - start
            self.f.make_room(self.kernel)
        self.points += points
        self.splits = int(self.f.used.sum()) - before
        return used / points

    def measure(self, points: int) -> tuple[float, float]:
        """With this many points: the seconds for one more point (the fastest of a few chunks), and the blocks and nodes that it
        touches."""
        while self.points < points - TURNS * CHUNK // 2:
            self.grow(min(10 * CHUNK, points - TURNS * CHUNK // 2 - self.points))
        taken, touched = [], []
        for _ in range(TURNS):
            taken.append(self.grow(min(CHUNK, points // 10)))
            # the way down the tree three times (to find the block, to read, to write); for each split the new half and its parent
            touched.append(3 * int(self.f.roots[0, 1]) + 2 + 2 * self.splits / min(CHUNK, points // 10))
        return min(taken), float(np.mean(touched))

    @property
    def nbytes(self) -> int:
        return onkel.nbytes(self.f)


@hot
def _play(inputs: Inputs, f: Curves, rows: Array, a: Array, scores: Array) -> int:
    work = prepare(inputs, f, rows)
    for i in range(rows.shape[0]):
        if not has_room(f):
            return i
        scores[i] = evaluate(inputs, f, rows[i], work)
        join(inputs, f, rows[i], 0.0, a[i], 0)
    return int(rows.shape[0])


@hot
def _walk(chain: NDArray[np.int64], steps: int) -> int:
    at = 0
    for _ in range(steps):
        at = chain[at]
    return at


def random_read(nbytes: int) -> float:
    """The seconds to read one place of an array of this many bytes. Each place holds the index of the next, so nothing can be
    fetched ahead."""
    n = max(nbytes // 8, 2)
    order = np.random.default_rng(0).permutation(n)
    chain = np.empty(n, np.int64)
    chain[order] = np.roll(order, -1)
    return min(seconds(lambda: _walk(chain, 200_000)) for _ in range(TURNS)) / 200_000


def naive(base: onkel.kernels.Interval, p: Array, a: Array, q: float) -> float:
    """Σ a_i k(p_i, q) in NumPy, as one would write it; without powers, which cost NumPy more."""
    match base:
        case onkel.Spline(order=1):
            least = np.minimum(p, q)
            return float(a @ (1.0 + p * q + least * least * (0.5 * np.maximum(p, q) - least / 6.0)))
        case onkel.Exponential(rate=rate):
            return float(a @ np.exp(-rate * np.abs(p - q)))
        case onkel.Brownian():
            return float(a @ np.minimum(p, q))
    raise TypeError(base)


def growth(verdicts: Verdicts) -> dict[str, float]:
    """Every kernel with random keys, and every order of keys with the spline of order 1; seconds at NAIVE_SIZE by kernel."""
    rng, at_size = np.random.default_rng(0), dict[str, float]()
    for name, order in [(name, "random") for name in KERNELS] + [("Spline(order=1)", order) for order in list(orders(rng))[1:]]:
        Curve(KERNELS[name], orders(rng)[order]).grow(1000)  # compiled
        curve = Curve(KERNELS[name], orders(rng)[order])
        seen = [(*curve.measure(m), curve.nbytes, random_read(curve.nbytes)) for m in SIZES]
        times, touched, held, reads = map(list, zip(*seen, strict=True))
        reads = [min(read, random_read(n)) for read, n in zip(reads, held, strict=True)]  # reads may be slow for seconds
        if order == "random":
            at_size[name] = times[SIZES.index(NAIVE_SIZE)]
        lines = {
            "a query and an insertion, µs": [1e6 * t for t in times],
            "one random read, µs": [1e6 * t for t in reads],
            "blocks and nodes touched": touched,
            "bytes a point": [n / m for n, m in zip(held, SIZES, strict=True)],
        }
        table(f"{name}, {order} keys", "m", SIZES, lines)
        verdicts.at_most(f"{name}, {order}: touched, exponent", exponent(SIZES, touched), LARGEST_EXPONENT)
        beyond = exponent(SIZES, times) - exponent(SIZES, reads)
        verdicts.at_most(f"{name}, {order}: time beyond a random read's, exponent", beyond, LARGEST_EXPONENT)
    return at_size


def beside_naive(verdicts: Verdicts, fast: dict[str, float]) -> None:
    """The naive sum takes as long as NumPy needs for a kernel value, while onkel takes the same time for every kernel. For the
    minimum NumPy needs so little that the ratio is printed but not checked."""
    rng = np.random.default_rng(2)
    p, a = rng.random(NAIVE_SIZE), rng.normal(size=NAIVE_SIZE)
    for name in ("Spline(order=1)", "Exponential(rate=10)", "Brownian()"):
        taken = min(seconds(partial(naive, KERNELS[name], p, a, 0.3)) for _ in range(NAIVE_TURNS))
        console.print(
            f"{name}: the naive sum over {NAIVE_SIZE:,} points takes {1e3 * taken:.1f} ms, {taken / fast[name]:,.0f} times ours"
        )
        if name != "Brownian()":
            verdicts.at_least(f"{name}: times faster than the naive sum at {NAIVE_SIZE:,} points", taken / fast[name], 5000.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 if a stated ratio is missed")
    check = parser.parse_args().check
    verdicts = Verdicts()
    with threadpool_limits(1):
        beside_naive(verdicts, growth(verdicts))
    verdicts.show(check)


if __name__ == "__main__":
    main()
