"""The time of a trial after t trials: f(x) = Σ a_i k(x_i, x) is evaluated at a new x, and x joins the sum.

Keys (the values of x in one coordinate) are uniform in [0, 1], in random order. Every x is new, so f has t points, with t different
keys in each coordinate. The trial is carried out in four ways:

    sorted blocks    onkel's tree over sorted blocks, O(log t): compiled functions alone; the rows' lists are computed before
    in a learner     the tree inside NORMA: the time of one call with t rows, with checks, lists, losses and growth, divided by t
    compiled sum     every point, by a compiled loop, the one that sorted blocks use inside of a block
    NumPy sum        every point, by array operations: the usual way

A point of a line is the median of several measurements, each of up to 10,000 new rows (sorted blocks) or of one row (sums, which
are measured up to t = 10⁶ and not extrapolated). For the sums only the evaluation is timed, because appending to an array costs
next to nothing. Slopes are those of log(time) against log(t), by least squares. Writes cost.png, cost.json and cost.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

import onkel
from onkel._jit import hot
from onkel.functions import sorted_blocks
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.kernels.lists import KIND, POWERS, SHAPE, halves, power_sum
from onkel.state import copied, nbytes
from onkel.updates.kernel_expansion import ROWS_AT_ONCE
from papers.plots import BLUE, GREEN, ORANGE, RED, key, panels, save
from papers.results import keep, kept, publish

Array = NDArray[np.float64]

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
LARGEST_SUM = 1_000_000
GOES, ROWS_OF_A_GO, CHUNK = 7, 10_000, 100_000
RATE = 10.0
BASES = {"Spline(1)": onkel.Spline(1, (0.0, 1.0)), f"Exponential({RATE:g})": onkel.Exponential(RATE)}
COORDINATES = (1, 8)
WAYS = {"sorted blocks": BLUE, "in a learner": GREEN, "compiled sum": ORANGE, "NumPy sum": RED}


@hot
def play(inputs: Any, f: Any, rows: Array, a: Array, scores: Array) -> int:
    """Read f at each row, then let the row join; ends at a row for which there is no room."""
    work = sorted_blocks.prepare(inputs, f, rows)
    for i in range(rows.shape[0]):
        if not sorted_blocks.has_room(f):
            return i
        scores[i] = sorted_blocks.evaluate(inputs, f, rows[i], work)
        sorted_blocks.join(inputs, f, rows[i], 1.0, a[i], i)
    return int(rows.shape[0])


class Tree:
    """A sum of curves with a given number of points."""

    def __init__(self, kernel: onkel.Additive, dim: int) -> None:
        self.kernel, self.dim, self.rng = kernel, dim, np.random.default_rng(0)
        self.inputs = sorted_blocks.inputs_of(kernel, dim)
        self.f, self.points = sorted_blocks.empty(kernel, dim), 0

    def grow(self, points: int) -> None:
        while self.points < points:
            self.f, _, rows = self.go(self.f, min(CHUNK, points - self.points))
            self.points += rows

    def go(self, f: SortedBlocks, rows: int) -> tuple[SortedBlocks, float, int]:
        """Learn new rows. Returns f, the seconds of all rows, and their number."""
        X, a, scores, done = self.rng.random((rows, self.dim)), self.rng.normal(size=rows), np.empty(rows), 0
        lists = f.rows(self.kernel, X)
        f.make_room(self.kernel)
        before = time.thread_time()
        while done < rows:
            now = slice(done, done + ROWS_AT_ONCE)
            done += play(self.inputs, f.compiled, lists[now], a[now], scores[now])
            if done < rows:
                f.make_room(self.kernel)
        return f, time.thread_time() - before, rows

    def seconds(self) -> float:
        """The seconds of one trial now. If a copy is cheap, f is not changed."""
        rows, each = min(self.points // 10, ROWS_OF_A_GO), []
        for _ in range(GOES):
            f = copied(self.f) if self.points <= LARGEST_SUM else self.f
            _, seconds, _ = self.go(f, rows)
            each.append(seconds / rows)
            self.points += rows if f is self.f else 0
        return float(np.median(each))


def tree(base: Any, dim: int, sizes: list[int]) -> Iterator[tuple[int, float, dict[str, float]]]:
    one = Tree(onkel.Additive(base), dim)
    one.grow(100)
    one.go(copied(one.f), 100)  # compiles
    for size in sizes:
        one.grow(size)
        levels, held = int(one.f.roots[:, 1].max()), nbytes(one.f) / one.points
        yield size, one.seconds(), {"nodes": levels, "bytes a point": held}


def learner(base: Any, dim: int, sizes: list[int]) -> Iterator[tuple[int, float, dict[str, float]]]:
    norma = onkel.NORMA(onkel.Additive(base), onkel.Square(), step=0.02, lam=0.0)
    rng = np.random.default_rng(1)
    for size in [100, *sizes]:  # the first run compiles
        X, y, each = rng.random((size, dim)), rng.normal(size=size), []
        for _ in range(GOES if size <= 10_000 else 1):
            state, before = norma.init(dim), time.thread_time()
            norma.learn(state, X, y)
            each.append((time.thread_time() - before) / size)
        if size in sizes:
            yield size, float(np.median(each)), {}


def numpy_sum(base: Any, points: Array, a: Array) -> Callable[[Array], float]:
    """f(x), by array operations on the columns of points."""

    def spline(x: Array) -> float:
        total = 0.0
        for p, q in zip(points, x, strict=True):
            least = np.minimum(p, q)
            total += float(a @ (1.0 + p * q + least * least * (0.5 * np.maximum(p, q) - least / 6.0)))
        return total

    def exponential(x: Array) -> float:
        return sum(float(a @ np.exp(-RATE * np.abs(p - q))) for p, q in zip(points, x, strict=True))

    return spline if isinstance(base, onkel.Spline) else exponential


@hot
def every(table: Array, points: Array, a: Array, x: Array, values: Array) -> float:
    """f(x), point by point, coordinate after coordinate."""
    total = 0.0
    for c in range(table.shape[0]):
        halves(int(table[c, KIND]), table[c, SHAPE], points[c], a.size, x[c], values)
        for i in range(a.size):
            total += a[i] * (values[i] + power_sum(int(table[c, POWERS]), points[c, i] * x[c]))
    return total


def compiled_sum(base: Any, points: Array, a: Array) -> Callable[[Array], float]:
    table, values = onkel.Additive(base).table(len(points)), np.empty(len(a))
    return lambda x: every(table, points, a, x, values)


def plain(make: Callable[..., Callable[[Array], float]], base: Any, dim: int, sizes: list[int]) -> Iterator[Any]:
    rng = np.random.default_rng(2)
    for size in (size for size in sizes if size <= LARGEST_SUM):
        f = make(base, rng.random((dim, size)), rng.normal(size=size))
        times = max(1, 100_000 // size)
        f(rng.random(dim))
        each = []
        for _ in range(GOES):
            X, before = rng.random((times, dim)), time.thread_time()
            for x in X:
                f(x)
            each.append((time.thread_time() - before) / times)
        yield size, float(np.median(each)), {}


MEASURES: dict[str, Callable[[Any, int, list[int]], Iterator[Any]]] = {
    "sorted blocks": tree,
    "in a learner": learner,
    "compiled sum": lambda base, dim, sizes: plain(compiled_sum, base, dim, sizes),
    "NumPy sum": lambda base, dim, sizes: plain(numpy_sum, base, dim, sizes),
}


def measured(largest: int) -> dict[str, Any]:
    sizes = [size for size in SIZES if size <= largest]
    jobs = [(dim, name, way) for dim in COORDINATES for name in BASES for way in WAYS]
    found = {}
    for dim, name, way in track(jobs, console=Console(stderr=True)):
        lines = list(MEASURES[way](BASES[name], dim, sizes))
        t, seconds, more = zip(*lines, strict=True)
        found[f"{name}, {dim}: {way}"] = {"t": t, "seconds": seconds} | {what: [one[what] for one in more] for what in more[0]}
    return found


def slope(of: dict[str, Any], last: float) -> float:
    """The slope of log(time) against log(t), over the last `decades` factors of ten."""
    t, seconds = np.array(of["t"], float), np.array(of["seconds"])
    part = t >= t[-1] / 10.0**last
    return float(np.polyfit(np.log(t[part]), np.log(seconds[part]), 1)[0])


def called(dim: int) -> str:
    return "1 coordinate" if dim == 1 else f"{dim} coordinates"


def table(found: dict[str, Any]) -> Iterator[str]:
    shown = [10**e for e in range(3, 8)]
    for dim in COORDINATES:
        yield f"| {called(dim)}: µs a trial, t = | " + " | ".join(f"{t:,}" for t in shown) + " | slope | last factor of 100 |"
        yield "|---" + "|--:" * (len(shown) + 2) + "|"
        for name in BASES:
            for way in WAYS:
                of = found[f"{name}, {dim}: {way}"]
                at = dict(zip(of["t"], of["seconds"], strict=True))
                cells = [f"{1e6 * at[t]:,.2f}" if t in at else "" for t in shown]
                yield f"| {name}, {way} | " + " | ".join(cells) + f" | {slope(of, 9):.2f} | {slope(of, 2):.2f} |"
        yield ""
    yield "| sorted blocks, t = | " + " | ".join(f"{t:,}" for t in shown) + " |"
    yield "|---" + "|--:" * len(shown) + "|"
    for name in BASES:
        for dim in COORDINATES:
            of = found[f"{name}, {dim}: sorted blocks"]
            for what, form in (("nodes", "d"), ("bytes a point", ".0f")):
                at = dict(zip(of["t"], of[what], strict=True))
                head = "nodes on the way, and one block, for each coordinate" if what == "nodes" else what
                yield f"| {name}, {called(dim)}: {head} | " + " | ".join(f"{at[t]:{form}}" if t in at else "" for t in shown) + " |"
    yield ""
    for name in BASES:
        for dim in COORDINATES:
            yield factor(found, name, dim)


def factor(found: dict[str, Any], name: str, dim: int) -> str:
    fast, slow = found[f"{name}, {dim}: sorted blocks"], found[f"{name}, {dim}: NumPy sum"]
    last = slow["t"][-1]
    times = slow["seconds"][-1] / fast["seconds"][fast["t"].index(last)]
    grown = fast["seconds"][-1] / fast["seconds"][0]
    return (
        f"- {name}, {called(dim)}: at t = {last:,} the NumPy sum takes {times:,.0f} times as long as sorted blocks. "
        f"From t = {fast['t'][0]:,} to {fast['t'][-1]:,} a trial with sorted blocks becomes {grown:.1f} times as expensive."
    )


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(1, len(COORDINATES), 9.6, 4.8)
    for one, dim in zip(axes[0], COORDINATES, strict=True):
        for name, dashes in zip(BASES, ("-", "--"), strict=True):
            for way, colour in WAYS.items():
                of = found[f"{name}, {dim}: {way}"]
                one.plot(of["t"], 1e6 * np.array(of["seconds"]), dashes, color=colour, linewidth=1.7, marker=".")
        one.set(xscale="log", yscale="log", xlabel="points t", ylim=(0.1, 1e6))
        one.set_title(called(dim), loc="left")
    axes[0, 0].set_ylabel("µs a trial")
    lines = [key(way, colour) for way, colour in WAYS.items()]
    save(figure, path, [*lines, *(key(name, "0.3", dashes) for name, dashes in zip(BASES, ("-", "--"), strict=True))], 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the most points (default: %(default)s, takes 6 GB)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw cost.json again")
    options = parser.parse_args()
    here = Path(__file__)
    if not options.draw:
        with threadpool_limits(1):  # threads of NumPy's dot product wait for each other, and their time would count
            keep(here, measured(options.largest))
    found = kept(here)
    draw(found, here.with_suffix(".png"))
    publish(here, table(found))


if __name__ == "__main__":
    main()
