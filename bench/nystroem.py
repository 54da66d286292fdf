"""How the cost of PKAWVNystroem grows: python bench/nystroem.py [--check]

Fits exponents to the seconds of a round and to bytes, against the round t with a dictionary of m points, and against m. The m
points join all along the stream, so the time of a round includes its share of the cost of joining. PKAWVNystroem is compared with
two others: Algorithm 2 of its paper (Jézéquel et al. 2019) in NumPy, which multiplies with all past rows in every round and keeps m
kernel values of each; and KernelAWV, the exact learner, which keeps every row. Every contender uses one thread.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
import scipy.linalg
from growth import exponent, table
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from timing import Verdicts, seconds

import onkel

Array = NDArray[np.float64]

DIM, POINTS, TURNS = 8, 50, 3
ROUNDS = tuple(2**k for k in range(12, 18))
SIZES = (50, 100, 200, 400)
EXACT_ROUNDS = (500, 1000, 2000, 4000)
KERNEL = onkel.Gaussian(width=2.0)


def stream(rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, DIM))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=rows)


class Nystroem:
    """Seconds a round, and bytes, of a run of `rounds` rounds in which `points` points join, spread over the whole run."""

    def __init__(self, keep_history: bool) -> None:
        self.keep_history = keep_history

    def measure(self, rounds: int, points: int = POINTS) -> tuple[float, int]:
        X, y = stream(rounds)
        dictionary = onkel.Uniform(min(1.0, 1.3 * points / rounds))
        learner = onkel.PKAWVNystroem(KERNEL, dictionary=dictionary, keep_history=self.keep_history, budget=points)
        learner.learn(learner.init(DIM), X[:100], y[:100])  # compiled
        taken = []
        for _ in range(TURNS):
            state = learner.init(DIM)
            taken.append(seconds(lambda state=state: learner.learn(state, X, y)))  # type: ignore[misc]
        return statistics.median(taken) / rounds, onkel.nbytes(state)


class Printed:
    """Algorithm 2 after t rounds with m points: 20 more rounds. The QR decomposition that updates the factor takes long, whatever t
    is."""

    def measure(self, rounds: int) -> tuple[float, int]:
        X, y = stream(rounds + 20)
        points = X[:POINTS]
        K = np.empty((rounds + 20, POINTS))
        K[:rounds] = KERNEL(X[:rounds], points)
        R = np.linalg.qr(np.vstack([K[:rounds], np.linalg.cholesky(KERNEL(points, points)).T]), mode="r")

        def more() -> None:
            factor = R
            for t in range(rounds, rounds + 20):
                K[t] = KERNEL(X[t : t + 1], points)[0]
                factor = np.linalg.qr(np.vstack([factor, K[t]]), mode="r")
                targets = K[: t + 1].T @ np.append(y[:t], 0.0)
                alpha = scipy.linalg.solve_triangular(factor, scipy.linalg.solve_triangular(factor, targets, trans="T"))
                K[t] @ alpha

        return statistics.median(seconds(more) for _ in range(TURNS)) / 20, K[:rounds].nbytes


class Exact:
    """KernelAWV: the time of a round, from 20 rounds at a time after round t."""

    def measure(self, rounds: int) -> tuple[float, int]:
        X, y = stream(rounds + 20 * TURNS)
        learner = onkel.KernelAWV(KERNEL)
        state = learner.init(DIM)
        learner.learn(state, X[:rounds], y[:rounds])
        held = onkel.nbytes(state)
        taken = []
        for turn in range(TURNS):
            now = slice(rounds + 20 * turn, rounds + 20 * (turn + 1))
            taken.append(seconds(lambda now=now: learner.learn(state, X[now], y[now])))  # type: ignore[misc]
        return statistics.median(taken) / 20, held


def against_t(verdicts: Verdicts) -> None:
    contenders: dict[str, Nystroem | Printed] = {
        "with history": Nystroem(True),
        "frozen past": Nystroem(False),
        "Algorithm 2 as printed": Printed(),
    }
    rows = {}
    for name, contender in contenders.items():
        measured = [contender.measure(t) for t in ROUNDS]
        rows[f"{name}: µs"] = [1e6 * taken for taken, _ in measured]
        rows[f"{name}: kB"] = [held / 1e3 for _, held in measured]
    table(f"against the round t, m = {POINTS} points", "t", ROUNDS, rows)
    for name, growth in (("with history", 1.0), ("frozen past", 0.0)):
        verdicts.at_most(f"{name}: exponent of time in t", exponent(ROUNDS, rows[f"{name}: µs"]), 0.15)
        off = abs(exponent(ROUNDS, rows[f"{name}: kB"]) - growth)
        verdicts.at_most(f"{name}: |exponent of bytes in t − {growth:g}|", off, 0.1)
    late = rows["Algorithm 2 as printed: µs"][2:]
    verdicts.at_least("Algorithm 2 as printed: exponent of time in t, from 16,384 on", exponent(ROUNDS[2:], late), 0.5)


def against_m(verdicts: Verdicts) -> None:
    rows = {}
    for name, keep in (("with history", True), ("frozen past", False)):
        rows[f"{name}: µs"] = [1e6 * Nystroem(keep).measure(2**14, m)[0] for m in SIZES]
        verdicts.at_most(f"{name}: exponent of time in m", exponent(SIZES, rows[f"{name}: µs"]), 2.1)
    table("against the points m, 16,384 rounds", "m", SIZES, rows)


def exact(verdicts: Verdicts) -> None:
    measured = [Exact().measure(t) for t in EXACT_ROUNDS]
    rows = {"µs": [1e6 * taken for taken, _ in measured], "kB": [held / 1e3 for _, held in measured]}
    table("KernelAWV, against the round t", "t", EXACT_ROUNDS, rows)
    verdicts.at_most("KernelAWV: |exponent of bytes in t − 2|", abs(exponent(EXACT_ROUNDS, rows["kB"]) - 2.0), 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit non-zero when a stated exponent is missed")
    check = parser.parse_args().check
    verdicts = Verdicts()
    with threadpool_limits(1):
        for part in (against_t, against_m, exact):
            part(verdicts)
    verdicts.show(check)


if __name__ == "__main__":
    main()
