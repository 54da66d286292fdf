"""Figure 3 (appendix D): the time of TISVD and of the randomised SVD, for a Gaussian A of 100 × 100, updates BᵀC of 3 rows and k =
30.

The paper draws only the time, and only of these two methods. This script adds the full SVD, larger matrices, and the relative error
‖M − M̃‖/‖M‖, where M is the sum of A and all updates, and M̃ its approximation of rank 30 by each method. It is compared with the
error of the best possible approximation of rank 30. TISVD continues from its own last result; the others decompose M anew. The
randomised SVD is that of Halko, Martinsson & Tropp (2011), algorithms 4.4 and 5.1, 10 columns wider than k, with 2 power iterations
and with none. Time is processor time of one thread; adding an update to M is not counted. Two of the methods stop at 20,000
updates, to save time; the time of an update does not change.

The last panel shows what TISVD is used for: the sketch SᵀKS of a Gaussian kernel's matrix, of points from N(0, I) in 8 dimensions
and of width √8, by a CountSketch of 100 columns. The sketch grows by one point at each update. `onkel.linalg.eigen.updated`
continues from the first 100 points, once as it is, and once starting again from the sketch after every 50 updates.

The script takes about three minutes. Writes figure3.png, figure3.json and figure3.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from scipy.linalg import qr, svd
from threadpoolctl import threadpool_limits

import onkel
from onkel.linalg.eigen import leading, tisvd, updated
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, key, panels, save, ticks
from papers.results import main

Array = NDArray[np.float64]
Triplets = tuple[Array, Array, Array]  # U, values, V
Method = Callable[[Triplets, Array, Array, Array], Triplets]  # (triplets before, A, B, the matrix with the update ABᵀ) -> after

SIZE, RANK, ROWS = 100, 30, 3
WIDER, POWERS = 10, 2  # of the randomised SVD
COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000]
FIRST = 500  # of the counts that the paper draws
SIZES = [100, 200, 400, 800]
REPEATS = 20  # for each of SIZES
POINTS, DIM, ANEW = 5000, 8, 50  # of the kernel's sketch

rng = np.random.default_rng(0)


def incremental(before: Triplets, A: Array, B: Array, M: Array) -> Triplets:
    return tisvd(*before, A, B)


def full(before: Triplets, A: Array, B: Array, M: Array) -> Triplets:
    return exact(M)


def exact(M: Array) -> Triplets:
    X, values, Yt = svd(M)
    return X[:, :RANK], values[:RANK], Yt[:RANK].T


def randomised(before: Triplets, A: Array, B: Array, M: Array, powers: int = 0) -> Triplets:
    Q, _ = qr(M @ rng.normal(size=(len(M), RANK + WIDER)), mode="economic")
    for _ in range(powers):
        Q, _ = qr(M.T @ Q, mode="economic")
        Q, _ = qr(M @ Q, mode="economic")
    X, values, Yt = svd(Q.T @ M, full_matrices=False)
    return Q @ X[:, :RANK], values[:RANK], Yt[:RANK].T


def powered(before: Triplets, A: Array, B: Array, M: Array) -> Triplets:
    return randomised(before, A, B, M, POWERS)


METHODS: dict[str, tuple[Method, int, str, str]] = {  # name -> method, updates played, colour, dashes
    "TISVD": (incremental, 50_000, BLUE, "-"),
    "randomised SVD, no power iteration": (randomised, 20_000, ORANGE, "-."),
    f"randomised SVD, {POWERS} power iterations": (powered, 50_000, RED, "--"),
    "full SVD": (full, 20_000, GREEN, ":"),
}
BEST = "the best rank 30"
SKETCHES = {  # name -> starts anew after so many updates, colour, dashes
    "symmetric TISVD": (POINTS, PINK, "-"),
    f"symmetric TISVD, anew after every {ANEW}": (ANEW, BLACK, "--"),
}


def play(method: Method, updates: int) -> dict[str, Any]:
    """Seconds so far and relative error, at each of COUNTS, and the least error possible there."""
    draws = np.random.default_rng(1)  # the same updates for every method
    M = draws.normal(size=(SIZE, SIZE))
    triplets, seconds = exact(M), 0.0
    found: dict[str, Any] = {"updates": [count for count in COUNTS if count <= updates], "seconds": [], "error": [], BEST: []}
    for count in range(1, updates + 1):
        A, B = draws.normal(size=(SIZE, ROWS)), draws.normal(size=(SIZE, ROWS))
        M += A @ B.T
        before = time.thread_time()
        triplets = method(triplets, A, B, M)
        seconds += time.thread_time() - before
        if count in COUNTS:
            norm = np.linalg.norm(M)
            found["seconds"].append(seconds)
            found["error"].append(float(np.linalg.norm(M - (triplets[0] * triplets[1]) @ triplets[2].T) / norm))
            found[BEST].append(float(np.linalg.norm(svd(M, compute_uv=False)[RANK:]) / norm))
    return found


def by_size(method: Method) -> list[float]:
    """The median of seconds of an update, for each of SIZES."""
    found = []
    for size in SIZES:
        draws = np.random.default_rng(2)
        M = draws.normal(size=(size, size))
        triplets, each = exact(M), []
        for _ in range(REPEATS):
            A, B = draws.normal(size=(size, ROWS)), draws.normal(size=(size, ROWS))
            M += A @ B.T
            before = time.thread_time()
            triplets = method(triplets, A, B, M)
            each.append(time.thread_time() - before)
        found.append(float(np.median(each)))
    return found


def sketch(anew: int) -> dict[str, Any]:
    """The error of `onkel.linalg.eigen.updated` on the sketch of a kernel matrix to which points are added one by one. It starts
    anew after every `anew` points; at such a point the error is the one just before the new start.
    """
    draws = np.random.default_rng(3)
    X, kernel = draws.normal(size=(SIZE + POINTS, DIM)), onkel.Gaussian(width=DIM**0.5)
    column, sign = draws.integers(SIZE, size=len(X)), draws.choice([-1.0, 1.0], len(X))
    S = np.zeros((SIZE, SIZE))
    S[np.arange(SIZE), column[:SIZE]] = sign[:SIZE]
    Phi = S.T @ kernel(X[:SIZE], X[:SIZE]) @ S
    U, values = leading(Phi, RANK)
    found: dict[str, Any] = {"updates": [count for count in COUNTS if count <= POINTS], "error": [], BEST: []}
    for count in range(1, POINTS + 1):
        i = SIZE + count - 1
        psi = kernel(X[:i], X[i : i + 1])[:, 0]
        s, u = np.zeros(SIZE), np.bincount(column[:i], sign[:i] * psi, SIZE).astype(float)
        s[column[i]] = sign[i]
        Phi += np.outer(s, u) + np.outer(u, s) + np.outer(s, s)  # k(x, x) = 1
        U, values = updated(U, values, s, u, 1.0)
        if count in COUNTS:
            norm = np.linalg.norm(Phi)
            found["error"].append(float(np.linalg.norm(Phi - (U * values) @ U.T) / norm))
            found[BEST].append(float(np.linalg.norm(svd(Phi, compute_uv=False)[RANK:]) / norm))
        if count % anew == 0:
            U, values = leading(Phi, RANK)
    return found


def measure() -> dict[str, Any]:
    console = Console(stderr=True)
    with threadpool_limits(1):
        return {
            "gaussian": {name: play(method, updates) for name, (method, updates, *_) in track(METHODS.items(), console=console)},
            "by size": {name: by_size(method) for name, (method, *_) in METHODS.items()},
            "sketch": {name: sketch(anew) for name, (anew, *_) in SKETCHES.items()},
        }


def table(found: dict[str, Any]) -> Iterator[str]:
    gaussian, sketches = found["gaussian"], found["sketch"]
    at = [count for count in COUNTS if count >= FIRST]
    yield "Seconds for this many updates (empty: not measured):"
    yield ""
    yield "| | " + " | ".join(f"{count:,}" for count in at) + " | µs an update |"
    yield "|---" + "|--:" * (len(at) + 1) + "|"
    for name, of in gaussian.items():
        seconds = dict(zip(of["updates"], of["seconds"], strict=True))
        cells = [f"{seconds[count]:.2f}" if count in seconds else "" for count in at]
        yield f"| {name} | " + " | ".join(cells) + f" | {1e6 * of['seconds'][-1] / of['updates'][-1]:,.0f} |"
    yield ""
    yield "Milliseconds of one update of an n × n matrix, k = 30:"
    yield ""
    yield "| n | " + " | ".join(f"{size}" for size in SIZES) + " |"
    yield "|---" + "|--:" * len(SIZES) + "|"
    for name, each in found["by size"].items():
        yield f"| {name} | " + " | ".join(f"{1e3 * seconds:.2f}" for seconds in each) + " |"
    yield ""
    yield from _errors(
        "Error of the approximation M̃ of rank 30, ‖M − M̃‖/‖M‖, under Gaussian updates:",
        gaussian,
        "TISVD",
        [1, 10, 100, 1000, 10_000, 50_000],
    )
    yield from _errors(
        "The same error for the sketch of a kernel matrix:", sketches, next(iter(SKETCHES)), [1, 10, 100, 1000, 5000]
    )


def _errors(title: str, found: dict[str, Any], longest: str, at: list[int]) -> Iterator[str]:
    yield title
    yield ""
    yield "| updates | " + " | ".join(f"{count:,}" for count in at) + " |"
    yield "|---" + "|--:" * len(at) + "|"
    lines = {
        BEST: (found[longest]["updates"], found[longest][BEST]),
        **{n: (of["updates"], of["error"]) for n, of in found.items()},
    }
    for name, (updates, errors) in lines.items():
        error = dict(zip(updates, errors, strict=True))
        yield f"| {name} | " + " | ".join(f"{error[count]:.4f}" if count in error else "" for count in at) + " |"
    yield ""


def draw(found: dict[str, Any], path: Path) -> None:
    figure, axes = panels(2, 2, 9.0, 8.4)
    (paper, larger), (gaussian, sketched) = axes
    for name, (_, _, colour, dashes) in METHODS.items():
        of = found["gaussian"][name]
        start = of["updates"].index(FIRST)
        paper.plot(of["updates"][start:], of["seconds"][start:], dashes, color=colour, linewidth=1.8, marker=".")
        larger.plot(SIZES, 1e3 * np.array(found["by size"][name]), dashes, color=colour, linewidth=1.8, marker=".")
        if name != "full SVD":  # it is the best
            gaussian.plot(of["updates"], of["error"], dashes, color=colour, linewidth=1.8)
    of = found["gaussian"]["TISVD"]
    gaussian.plot(of["updates"], of[BEST], color="0.6", linewidth=4.0, zorder=1)
    for name, (_, colour, dashes) in SKETCHES.items():
        of = found["sketch"][name]
        sketched.plot(of["updates"], of["error"], dashes, color=colour, linewidth=1.8)
    sketched.plot(of["updates"], of[BEST], color="0.6", linewidth=4.0, zorder=1)
    paper.set(xscale="log", yscale="log", xlabel="updates of a 100 × 100 matrix", ylabel="seconds, all updates together")
    larger.set(xscale="log", yscale="log", xlabel="n, for n × n matrices", ylabel="milliseconds, one update")
    gaussian.set(xscale="log", ylim=(0.0, None), xlabel="updates", ylabel="‖M − its rank 30‖ / ‖M‖")
    sketched.set(xscale="log", ylim=(0.0, None), xlabel="updates", ylabel="‖M − its rank 30‖ / ‖M‖")
    ticks(paper.xaxis, [500, 2000, 10_000, 50_000])
    ticks(paper.yaxis, [0.3, 1, 3, 10, 30])
    ticks(larger.xaxis, SIZES)
    ticks(larger.yaxis, [0.3, 1, 3, 10, 30, 100])
    for one in (gaussian, sketched):
        ticks(one.xaxis, [1, 10, 100, 1000, *([10_000] if one is gaussian else [])])
    titles = ("time, as in the paper", "time, larger matrices", "error, Gaussian updates", "error, sketch of a kernel matrix")
    for one, title in zip(axes.flat, titles, strict=True):
        one.set_title(title, loc="left")
    keys = [key(name, colour, dashes) for name, (_, _, colour, dashes) in METHODS.items()]
    keys += [key(BEST, "0.6", "-", 4.0), *(key(name, colour, dashes) for name, (_, colour, dashes) in SKETCHES.items())]
    save(figure, path, keys, 2)


if __name__ == "__main__":
    main(__file__, measure, table, draw)
