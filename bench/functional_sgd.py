"""What a row costs FunctionalSGD, and what its mean adds to that: python bench/functional_sgd.py [--check]

Times a score and a step on one input, with 10³ to 10⁶ rows learnt already. The same kernel e^(−10 |p − q|) is used twice: as
Exponential(rate=10), whose points are kept in sorted blocks, and as Laplacian(width=0.1), whose points are kept as a list. The
learner evaluates f and the mean of its iterates together. It is compared with the learner without a mean, and with two separate
functions that are evaluated one after the other. All is measured in one run, on one thread.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from growth import table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from timing import Verdicts

import onkel
from onkel._jit import hot
from onkel.functions import representations, support
from onkel.functions.representations import add, evaluate, has_room, prepare
from onkel.state import capacity

Array = NDArray[np.float64]

SIZES = (10**3, 10**4, 10**5, 10**6)
TREE, LIST = onkel.Additive(onkel.Exponential(rate=10.0)), onkel.Laplacian(width=0.1)
TURNS = 7


def rows_of(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    return X, np.sin(9.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def chunk_of(kernel: onkel.kernels.Kernel, size: int) -> int:
    """The number of rows that are timed together: few compared with the rows learnt so far, and few if each takes milliseconds."""
    return min(2000, size // 10) if kernel is TREE else max(20, min(size // 10, 10**6 // size))


class Learner:
    """FunctionalSGD after a given number of rows."""

    def __init__(self, kernel: onkel.kernels.Kernel, averaging: bool) -> None:
        self.kernel, self.learner = kernel, onkel.FunctionalSGD(kernel, averaging=averaging)
        self.state = self.learner.init(1)

    def grow(self, size: int) -> None:
        """The state after this many rows. To learn a long list of points would take hours. So a list's arrays are filled directly,
        with arbitrary coefficients, which take the same time."""
        if not isinstance(self.state.support, support.Support):
            self.learner.learn(self.state, *rows_of(size - self.state.rows, size))
            return
        f, room = support.with_room(1, capacity(size + (TURNS + 1) * chunk_of(LIST, size))), slice(0, size)
        X, y = rows_of(size, size)
        f.points[0, room], f.coef[room], f.own[room], f.born[room], f.size[0] = X[:, 0], y, 1.0, np.arange(size), size
        self.state.support, self.state.learnt[0] = f, size

    def play(self, X: Array, y: Array) -> None:
        self.learner.learn(self.state, X, y)

    @property
    def nbytes(self) -> int:
        return onkel.nbytes(self.state)


class TwoFunctions:
    """The learner with S0 and S1 (f and its moment, see GLOSSARY.md) stored as two separate functions."""

    def __init__(self, kernel: onkel.kernels.Kernel) -> None:
        self.kernel, self.round = kernel, 0
        self.parts = [representations.empty(kernel, 1) for _ in range(2)]

    def grow(self, size: int) -> None:
        self.play(*rows_of(size - self.round, size))

    def play(self, X: Array, y: Array) -> None:
        rows, scores, done = self.parts[0].rows(self.kernel, X), np.empty(len(X)), 0
        source = self.parts[0].source(self.kernel, rows)
        while done < len(X):
            done = _play(source, self.parts[0].compiled, self.parts[1].compiled, self.round - done, rows, y, scores, done)
            for part in self.parts:
                part.make_room(self.kernel)
        self.round += len(X)

    @property
    def nbytes(self) -> int:
        return sum(onkel.nbytes(part) for part in self.parts)


@hot
def _play(kernel: Any, f: Any, moment: Any, before: int, X: Array, y: Array, scores: Array, start: int) -> int:
    work = prepare(kernel, f, X)
    for i in range(start, X.shape[0]):
        if not (has_room(f) and has_room(moment)):
            return i
        n = before + i + 1
        last = evaluate(kernel, f, X[i], work)
        scores[i] = last - evaluate(kernel, moment, X[i], work) / n
        a = (y[i] - last) / np.sqrt(n)
        add(kernel, f, X[i], 1.0, a, n - 1)
        add(kernel, moment, X[i], 1.0, n * a, n - 1)
    return int(X.shape[0])


def seconds_a_row(contender: Any, chunk: int, turn: int) -> float:
    X, y = rows_of(chunk, turn)
    start = time.perf_counter()
    contender.play(X, y)
    return (time.perf_counter() - start) / chunk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 if a stated ratio is missed")
    check, verdicts = parser.parse_args().check, Verdicts()
    contenders: dict[str, Any] = {
        "blocks, with the mean": Learner(TREE, True),
        "blocks, without": Learner(TREE, False),
        "blocks, two functions": TwoFunctions(TREE),
        "points, with the mean": Learner(LIST, True),
        "points, without": Learner(LIST, False),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    held: dict[str, list[float]] = {name: [] for name in contenders}
    with threadpool_limits(1):
        for size in SIZES:
            for contender in contenders.values():
                contender.grow(size)
            taken: dict[str, list[float]] = {name: [] for name in contenders}
            for turn in range(TURNS + 1):
                for name, contender in contenders.items():
                    taken[name].append(seconds_a_row(contender, chunk_of(contender.kernel, size), turn))
            for name, contender in contenders.items():
                times[name].append(float(np.min(taken[name][1:])))
                held[name].append(contender.nbytes / size)
    table("a score and a step, µs", "n", SIZES, {name: [1e6 * t for t in line] for name, line in times.items()})
    table("bytes a row learnt", "n", SIZES, held)
    mean, last, two, points, points_last = (line[-1] for line in times.values())
    verdicts.at_most(f"blocks: with the mean over without, at {SIZES[-1]:,}", mean / last, 1.8)
    verdicts.at_least(
        f"blocks: two functions over one with its moment, at {SIZES[-1]:,}", two / mean, 0.9
    )  # 0.97 to 1.2 on several days
    verdicts.at_most(f"points: with the mean over without, at {SIZES[-1]:,}", points / points_last, 1.5)
    verdicts.at_least(f"points over blocks, at {SIZES[-1]:,}", points / mean, 300.0)
    verdicts.show(check)


if __name__ == "__main__":
    main()
