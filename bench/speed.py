"""The time that a row takes: python bench/speed.py [--check]

Compares PKAWV on Taylor features with the formulation of its paper in NumPy (Jézéquel et al. 2019, appendix H.2: redundant
features, the full inverse, one row at a time), and with the same in NumPy without the redundant features; learning in blocks with
the matrix product of this machine's BLAS; a one-row call with the row in compiled code; the start with the end of a million rows;
and the factor form of the ridge with the inverse form. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits
from timing import Verdicts, in_turns, seconds

import onkel
from onkel._jit import hot
from onkel.features.fourier import _fourier
from onkel.features.taylor import State as TaylorState
from onkel.features.taylor import _taylor
from onkel.linalg import factor, inverse

Array = NDArray[np.float64]
console = Console(highlight=False, soft_wrap=True)


class Paper:
    """Appendix H.2 of Jézéquel et al. (2019), as printed."""

    def __init__(self, sigma: float, degree: int, lam: float = 1.0) -> None:
        self.sigma, self.degree, self.lam = sigma, degree, lam
        self.inverse = self.b = np.empty(0)

    def features(self, x: Array) -> Array:
        res = mm = np.ones(1)
        for k in range(1, self.degree + 1):
            mm = np.outer(mm, x).flatten()
            res = np.concatenate((res, mm / (self.sigma**k * np.sqrt(factorial(k)))))
        return np.asarray(res * np.exp(-np.dot(x, x) / (2 * self.sigma**2)))

    def learn(self, x: Array, y: float) -> float:
        z = self.features(x)
        if self.b.size == 0:
            self.b, self.inverse = np.zeros(z.size), np.eye(z.size) / self.lam
        v = np.dot(self.inverse, z)
        v /= np.sqrt(1 + np.dot(z, v))
        self.inverse -= np.outer(v, v)
        score = float(np.dot(np.dot(self.inverse, self.b), z))
        self.b += y * z
        return score


class Unique(Paper):
    """Like `Paper`, but with onkel's features, which have no duplicates: what a careful NumPy user would write."""

    def features(self, x: Array) -> Array:
        z = onkel.Taylor(self.degree, self.sigma)
        if self.b.size == 0:
            self.state = z.init(x.size)
        out = np.empty((1, z.size(x.size)))
        z.write(self.state, x.reshape(1, -1), np.ones(1), out, 0)
        return np.asarray(out[0])


def stream(rows: int, dim: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(rows, dim))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=rows)


def against_the_paper(verdicts: Verdicts, dim: int, degree: int, paper_rows: int, unique_rows: int, bound: float) -> None:
    X, y = stream(20_000, dim)
    learner = onkel.PKAWV(onkel.Taylor(degree, width=1.0))
    state, paper, unique = learner.init(dim), Paper(1.0, degree), Unique(1.0, degree)
    took = in_turns(
        3,
        onkel=lambda: learner.learn(state, X, y),
        paper=lambda: [paper.learn(X[t], y[t]) for t in range(paper_rows)],
        unique=lambda: [unique.learn(X[t], y[t]) for t in range(unique_rows)],
    )
    ours, papers, numpys = took["onkel"] / len(X), took["paper"] / paper_rows, took["unique"] / unique_rows
    r = learner.features.size(dim)  # type: ignore[union-attr]
    console.print(
        f"Taylor d={dim} M={degree}: r={r}, {1e6 * ours:.1f} µs a row; the paper's listing, {paper.b.size} features, "
        f"{1e6 * papers:,.0f} µs; NumPy, unique features, {1e6 * numpys:,.0f} µs"
    )
    verdicts.at_least(f"times faster than the paper's listing, d={dim} M={degree}", papers / ours, bound)
    verdicts.at_least(f"times faster than NumPy with unique features, d={dim} M={degree}", numpys / ours, 5.0)


def counts() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The counts of rows and of guards that acted, before the first row."""
    return np.zeros(1, np.int64), np.zeros(1, np.int64)


def against_the_matrix_product(verdicts: Verdicts, r: int = 500, rows: int = 4096) -> None:
    rng = np.random.default_rng(0)
    V, Y, weight, scores = rng.normal(size=(rows, r)), rng.normal(size=(rows, 1)), np.ones(rows), np.empty((rows, 1))
    P, theta, diagonal = np.eye(r) / r, np.zeros((1, r)), np.full(r, float(r))
    A, B, C = rng.normal(size=(1000, 1000)), rng.normal(size=(1000, 1000)), np.empty((1000, 1000))
    took = in_turns(
        7,
        block=lambda: inverse.learn(P, theta, diagonal, *counts(), V, Y, weight, True, scores),
        dgemm=lambda: np.matmul(A, B, out=C),
    )
    assert inverse.learn(P, theta, diagonal, *counts(), V, Y, weight, True, scores) == (rows, True), "the block form gave up"
    rate, dgemm = 4.0 * r * r * rows / took["block"], 2.0 * 1000**3 / took["dgemm"]
    console.print(f"block form r={r}: {rate / 1e9:.1f} Gflop/s, counting 4r² a row; dgemm 1000³: {dgemm / 1e9:.1f} Gflop/s")
    verdicts.at_least(f"of the dgemm rate in the block form, r={r}", rate / dgemm, 0.5)


@hot
def compiled_rows(
    last: NDArray[np.int64], power: NDArray[np.int64], width: float, P: Array, theta: Array, diagonal: Array, X: Array, Y: Array
) -> None:
    """A stream learnt one row at a time without leaving compiled code."""
    Z, weight, scores = np.empty((1, theta.shape[1])), np.ones(1), np.empty((1, 1))
    learnt, clamped = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for t in range(X.shape[0]):
        _taylor(last, power, width, X[t : t + 1], weight, Z, 0)
        inverse.learn(P, theta, diagonal, learnt, clamped, Z, Y[t : t + 1], weight, True, scores)


def one_row_calls(verdicts: Verdicts, dim: int = 18, degree: int = 2, rows: int = 3000) -> None:
    X, y = stream(rows, dim)
    learner = onkel.PKAWV(onkel.Taylor(degree, width=1.0))
    called, inside = learner.init(dim), learner.init(dim)
    tree = inside.features
    assert isinstance(tree, TaylorState)
    ridge = inside.ridge
    blocks = [(X[t : t + 1], y[t : t + 1]) for t in range(rows)]
    took = in_turns(
        9,
        call=lambda: [learner.learn(called, *block) for block in blocks],
        row=lambda: compiled_rows(tree.last, tree.power, 1.0, ridge.matrix, ridge.coef, ridge.diagonal, X, y.reshape(-1, 1)),
    )
    call, row = (1e6 * took[name] / rows for name in ("call", "row"))
    console.print(f"one row d={dim} M={degree}: {row:.1f} µs in compiled code, {call:.1f} µs as a call of learn")
    verdicts.at_most("µs that a one-row call costs beyond the compiled row, Taylor", call - row, 10.0)


@hot
def compiled_default_rows(frequencies: Array, P: Array, theta: Array, diagonal: Array, X: Array, Y: Array) -> None:
    """The default features, row by row, without leaving compiled code."""
    dim, count = frequencies.shape
    Z, weight, scores = np.ones((1, theta.shape[1])), np.ones(1), np.empty((1, 1))
    learnt, clamped = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for t in range(X.shape[0]):
        _fourier(frequencies, X[t : t + 1], Z, 0)
        Z[0, 2 * count : 2 * count + dim] = X[t]
        inverse.learn(P, theta, diagonal, learnt, clamped, Z, Y[t : t + 1], weight, True, scores)


def one_row_calls_by_default(verdicts: Verdicts, dim: int = 8, rows: int = 3000) -> None:
    X, y = stream(rows, dim)
    learner = onkel.PKAWV()
    called, inside = learner.init(dim), learner.init(dim)
    blocks = [(X[t : t + 1], y[t : t + 1]) for t in range(rows)]
    ridge, frequencies = inside.ridge, inside.features[0].frequencies
    took = in_turns(
        9,
        call=lambda: [learner.learn(called, *block) for block in blocks],
        row=lambda: compiled_default_rows(frequencies, ridge.matrix, ridge.coef, ridge.diagonal, X, y.reshape(-1, 1)),
    )
    call, row = (1e6 * took[name] / rows for name in ("call", "row"))
    console.print(f"one row of PKAWV(), d={dim}: {row:.1f} µs in compiled code, {call:.1f} µs as a call of learn")
    verdicts.at_most("µs that a one-row call costs beyond the compiled row, PKAWV()", call - row, 10.0)


def flat_in_t(verdicts: Verdicts, rows: int = 1_000_000, dim: int = 18, degree: int = 2) -> None:
    X, y = stream(rows, dim)
    learner = onkel.PKAWV(onkel.Taylor(degree, width=1.0))
    state = learner.init(dim)
    learner.learn(learner.init(dim), X[:2000], y[:2000])
    start, step, peak = onkel.nbytes(state), 2000, 0
    reference = np.random.default_rng(0).normal(size=(300, 300))
    cost = []
    for t in range(0, rows, step):
        if t == rows // 10:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        product = statistics.median(seconds(lambda: reference @ reference) for _ in range(3))
        cost.append(seconds(partial(learner.learn, state, X[t : t + step], y[t : t + step])) / product)
    tenth = len(cost) // 10
    first, last = statistics.median(cost[:tenth]), statistics.median(cost[-tenth:])
    form = "factor" if state.ridge.factored else "inverse"
    console.print(f"{rows:,} rows: {start:,} bytes at the start, {onkel.nbytes(state):,} at the end, in the {form} form")
    verdicts.at_most(f"cost of the last tenth of {rows:,} rows over that of the first", last / first, 1.2)
    verdicts.at_most("bytes of the state at the end over those at the start", onkel.nbytes(state) / start, 1.0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / peak
    verdicts.at_most("largest memory of the process at the end over that after a tenth", grown, 1.01)


def factor_beside_inverse(rows: int = 4000) -> None:
    rng = np.random.default_rng(0)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("µs a row", "inverse, blocks", "inverse, rows", "factor", "factor, forgetting"):
        table.add_column(heading, justify="right")
    for r in (50, 100, 200, 500):
        V, Y, weight, scores = rng.normal(size=(rows, r)), rng.normal(size=(rows, 1)), np.ones(rows), np.empty((rows, 1))
        P, theta, diagonal, R, c = np.eye(r) / r, np.zeros((1, r)), np.full(r, float(r)), np.eye(r), np.zeros((1, r))
        took = in_turns(
            5,
            blocks=lambda: inverse.learn(P, theta, diagonal, *counts(), V, Y, weight, True, scores),  # noqa: B023
            rows=lambda: _row_by_row(P, theta, diagonal, V, Y, weight, scores),  # noqa: B023
            factor=lambda: factor.learn(R, c, np.ones(1), counts()[0], V, Y, weight, True, 1.0, 1.0, scores),  # noqa: B023
            forgetting=lambda: factor.learn(R, c, np.ones(1), counts()[0], V, Y, weight, True, 1.0, 0.999, scores),  # noqa: B023
        )
        table.add_row(f"r = {r}", *(f"{1e6 * took[name] / rows:.2f}" for name in ("blocks", "rows", "factor", "forgetting")))
    console.print(table)


@hot
def _row_by_row(P: Array, theta: Array, diagonal: Array, V: Array, Y: Array, weight: Array, scores: Array) -> None:
    learnt, clamped = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for t in range(V.shape[0]):
        inverse.learn(P, theta, diagonal, learnt, clamped, V[t : t + 1], Y[t : t + 1], weight[t : t + 1], True, scores[t : t + 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    verdicts = Verdicts()
    with threadpool_limits(1):
        against_the_paper(verdicts, dim=18, degree=2, paper_rows=1000, unique_rows=1000, bound=20.0)
        against_the_paper(verdicts, dim=8, degree=4, paper_rows=3, unique_rows=500, bound=1000.0)
        against_the_matrix_product(verdicts)
        one_row_calls(verdicts)
        one_row_calls_by_default(verdicts)
        flat_in_t(verdicts)
        factor_beside_inverse()
    console.print()
    verdicts.show(check)


if __name__ == "__main__":
    main()
