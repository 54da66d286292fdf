"""The time of a row of the learners that the paper names, and of others, with an additive kernel and with one that is not additive.

Inputs are uniform in [0, 1]^4 and labels are random, so f gains a point in about every second row or more often. The last column
counts the points at the end; there are fewer where ROMMA has skipped rows, and where NORMA or a radius has shrunk coefficients to
0. Time is processor time of one thread over the last tenth of t rows, one call. Slopes are those of log(time) against log(t), by
least squares. Writes learners.json and learners.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.kernels import Kernel
from papers.results import main

DIM = 4
KERNELS: dict[str, tuple[Kernel, list[int]]] = {
    "Additive(Exponential(10))": (onkel.Additive(onkel.Exponential(10.0)), [1_000, 10_000, 100_000, 1_000_000]),
    "Gaussian(0.3)": (onkel.Gaussian(0.3), [1_000, 3_000, 10_000]),
}
LEARNERS: dict[str, Any] = {
    "Perceptron": onkel.Perceptron,
    "ROMMA": onkel.ROMMA,
    "KernelAdatron": onkel.KernelAdatron,
    "MarginProjection": onkel.MarginProjection,
    "MarginProjection, a radius": lambda kernel: onkel.MarginProjection(kernel, radius=3.0),
    "PassiveAggressive": onkel.PassiveAggressive,
    "NORMA": onkel.NORMA,
}


def play(learner: Any, rows: int) -> tuple[float, int]:
    """Seconds of a row in the last tenth, and the points in the end."""
    rng = np.random.default_rng(0)
    X, y = rng.random((rows, DIM)), rng.choice((-1.0, 1.0), rows)
    state, late = learner.init(DIM), rows - rows // 10
    learner.learn(state, X[:late], y[:late])
    before = time.thread_time()
    learner.learn(state, X[late:], y[late:])
    f = state.support
    points = np.sum(f.length) / DIM if isinstance(f, SortedBlocks) else f.size[0]
    return (time.thread_time() - before) / (rows - late), int(points)


def measured() -> dict[str, Any]:
    found: dict[str, Any] = {kernel: {} for kernel in KERNELS}
    jobs = [(kernel, name) for kernel in KERNELS for name in LEARNERS]
    for kernel, name in track(jobs, console=Console(stderr=True)):
        learner, sizes = LEARNERS[name](KERNELS[kernel][0]), KERNELS[kernel][1]
        play(learner, 200)  # compiles
        found[kernel][name] = [play(learner, rows) for rows in sizes]
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    for kernel, of in found.items():
        sizes = KERNELS[kernel][1]
        yield f"| {kernel}: µs a row, t = | " + " | ".join(f"{t:,}" for t in sizes) + " | slope | points |"
        yield "|---" + "|--:" * (len(sizes) + 2) + "|"
        for name, each in of.items():
            slope = np.polyfit(np.log(sizes), np.log([seconds for seconds, _ in each]), 1)[0]
            cells = " | ".join(f"{1e6 * seconds:,.1f}" for seconds, _ in each)
            yield f"| {name} | {cells} | {slope:.2f} | {each[-1][1]:,} |"
        yield ""


if __name__ == "__main__":
    main(__file__, measured, table)
