"""The time that a row takes in the Newton family: python bench/newton.py [--check]

Fits exponents to the time of a row and to bytes: of KONS against the round t; of SketchedKONS against t, against the number m of
points in its matrix, and against both; of ProsNKONS with a full dictionary against t and against its budget. Then two comparisons
on cod-rna: ProsNKONS with the same algorithm in NumPy, which inverts its matrix in every round, on the rows after the dictionary is
full (points and scores are the same); and the learners of the family with each other.

cod-rna is read from cod-rna.npz in the folder that ONKEL_DATA names, permuted, and standardised by the rows so far. If the file is
missing, a generated stream of the same shape takes its place. Every contender uses one thread.
"""

from __future__ import annotations

import argparse
import copy
from functools import partial
from math import exp
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from growth import console, exponent, table
from numpy.typing import NDArray
from rich.table import Table
from streams import NARROW, cod_rna, stream
from threadpoolctl import threadpool_limits
from timing import Verdicts, in_turns, seconds

import onkel

Array = NDArray[np.float64]
Learner = Any

LOSS = onkel.Logistic()  # the slope of this loss is never 0, so every round does all of its work
WIDE, TURNS = 64, 15  # columns of a wide stream; times a measurement is repeated
KONS_ROUNDS = (250, 500, 1000, 2000, 4000)
FLOORS, SKETCHED_ROUNDS = (1e-12, 0.05, 0.2), (1000, 2000, 4000)
LONG_ROUNDS = (2000, 4000, 8000, 16_000)
DENSE_ROUNDS = (300, 600, 1200, 2400)
FULL_ROUNDS = tuple(2**k for k in range(11, 18))
BUDGETS = (50, 100, 200, 400, 800)
BUDGET, NUMPY_ROWS, KONS_ROWS = 100, 2000, 2000


def states_at(learner: Learner, rounds: tuple[int, ...], X: Array, y: Array) -> dict[int, Any]:
    """The states after these numbers of rounds. Blocks are short, since growing learners make room for a whole block."""
    state, states, done = learner.init(X.shape[1]), {}, 0
    for t in rounds:
        while done < t:
            now = slice(done, min(done + 50, t))
            learner.learn(state, X[now], y[now])
            done = now.stop
        states[t] = copy.deepcopy(state)
    return states


class Growing:
    """A learner that keeps every point. Its states at some rounds are stored; each of them then learns a few more rounds, in turns.

    t, m and micros are medians over the turns: of the round, of the number of points in the matrix, and of the µs of a row.
    kilobytes are the sizes of the stored states. Turns in which an array doubles do not affect the median: they are rare, and cost
    a round O(m²/t) on average.
    """

    def __init__(self, learner: Learner, rounds: tuple[int, ...], more: int, dim: int = NARROW) -> None:
        X, y = stream(max(rounds) + (TURNS + 1) * more, dim)
        states = states_at(learner, rounds, X, y)
        self.kilobytes = [onkel.nbytes(state) / 1e3 for state in states.values()]
        seen: dict[int, list[tuple[float, float, float]]] = {t: [] for t in rounds}
        for turn in range(TURNS + 1):
            for start, state in states.items():
                now = slice(start + turn * more, start + (turn + 1) * more)
                m = state.taken
                took = seconds(partial(learner.learn, state, X[now], y[now]))
                if turn:
                    seen[start].append((now.start + more / 2, (m + state.taken) / 2, 1e6 * took / more))
        self.t, self.m, self.micros = np.median([seen[t] for t in rounds], axis=1).T.tolist()


def kons(verdicts: Verdicts) -> None:
    grown = Growing(onkel.KONS(loss=LOSS), KONS_ROUNDS, more=10)
    # the exponent is 2, but larger if the factor outgrows a cache
    table("KONS, against the round t", "t", grown.t, {"µs": grown.micros})
    table("KONS, against the round t", "t", KONS_ROUNDS, {"kB": grown.kilobytes})
    verdicts.at_most("KONS: |exponent of time in t − 2|", abs(exponent(grown.t, grown.micros) - 2.0), 0.75)
    verdicts.at_most("KONS: |exponent of bytes in t − 2|", abs(exponent(KONS_ROUNDS, grown.kilobytes) - 2.0), 0.1)


def sketched(floor: float) -> onkel.SketchedKONS:
    return onkel.SketchedKONS(loss=LOSS, floor=floor)


def sketched_kons(verdicts: Verdicts) -> None:
    long = Growing(sketched(1e-12), LONG_ROUNDS, more=32)  # so low a floor that KORS alone decides which points are added
    table(f"SketchedKONS, few points: m = {long.m[0]:.0f} to {long.m[-1]:.0f}", "t", long.t, {"µs": long.micros})
    verdicts.at_most("SketchedKONS, few points: |exponent of time in t − 1|", abs(exponent(long.t, long.micros) - 1.0), 0.4)
    dense = Growing(sketched(0.5), DENSE_ROUNDS, more=16)
    table("SketchedKONS, many points: t is about 2m", "m", dense.m, {"µs": dense.micros})
    verdicts.at_least("SketchedKONS, many points: exponent of time in m", exponent(dense.m, dense.micros), 1.2)
    verdicts.at_most("SketchedKONS, many points: exponent of time in m", exponent(dense.m, dense.micros), 2.7)
    m_and_t(verdicts)


def m_and_t(verdicts: Verdicts) -> None:
    """Fit µs ≈ a + b m² + t (c + d dim) with coefficients of at least 0, by least squares of the relative errors."""
    cells = {(dim, floor): Growing(sketched(floor), SKETCHED_ROUNDS, 32, dim) for dim in (NARROW, WIDE) for floor in FLOORS}
    terms = np.array([(1.0, m * m, t, t * dim) for (dim, _), cell in cells.items() for t, m in zip(cell.t, cell.m, strict=True)])
    micros = np.array([value for cell in cells.values() for value in cell.micros])
    (a, b, c, d), _ = scipy.optimize.nnls(terms / micros[:, None], np.ones(len(micros)))
    fitted = terms @ (a, b, c, d)
    shown = Table(title="SketchedKONS: m, µs (and as fitted)", box=None, title_justify="left", header_style="bold")
    for heading in ("columns", "floor", *(f"t = {t:,}" for t in SKETCHED_ROUNDS)):
        shown.add_column(heading, justify="right")
    fits = iter(fitted)
    for (dim, floor), cell in cells.items():
        entries = (f"{m:,.0f}: {value:,.1f} ({next(fits):,.1f})" for m, value in zip(cell.m, cell.micros, strict=True))
        shown.add_row(str(dim), f"{floor:g}", *entries)
    off = np.abs(fitted / micros - 1.0)
    console.print(shown)
    console.print(
        f"µs = {a:.2g} + {1e6 * b:.0f} (m/1000)² + {1e3 * c:.2g} t/1000 + {1e3 * d:.2g} dim t/1000; "
        f"off by {100 * np.median(off):.0f} % (median), {100 * off.max():.0f} % (most)\n"
    )
    verdicts.at_most("SketchedKONS: the fit in m² and t is off by (median)", float(np.median(off)), 0.3)


def pros_n_kons(verdicts: Verdicts) -> None:
    """Full dictionaries, at several rounds and of several sizes, take turns at the same rows."""
    X, y = stream(max(FULL_ROUNDS) + 1000)
    learner = onkel.ProsNKONS(loss=LOSS, budget=BUDGET)
    states = states_at(learner, FULL_ROUNDS, X, y)
    assert all(len(state.span.points) == BUDGET for state in states.values()), "a dictionary is not full"
    micros = same_rows({t: (learner, state) for t, state in states.items()}, X[-1000:], y[-1000:])
    held = [onkel.nbytes(state) / 1e3 for state in states.values()]
    table(f"ProsNKONS, {BUDGET} points, against the round t", "t", FULL_ROUNDS, {"µs": micros, "kB": held})
    verdicts.at_most("ProsNKONS: |exponent of time in t|", abs(exponent(FULL_ROUNDS, micros)), 0.1)
    verdicts.at_most("ProsNKONS: bytes at the last t over the first", held[-1] / held[0], 1.0)
    learners = {m: onkel.ProsNKONS(loss=LOSS, dictionary=onkel.Kors(mu=0.01), budget=m) for m in BUDGETS}
    pairs = {m: (learner, just_full(learner, X, y)) for m, learner in learners.items()}
    micros = same_rows(pairs, X[-200:], y[-200:])
    held = [onkel.nbytes(state) / 1e3 for _, state in pairs.values()]
    table("ProsNKONS, full, against its budget m", "m", BUDGETS, {"µs": micros, "kB": held})
    verdicts.at_least("ProsNKONS: exponent of time in m", exponent(BUDGETS, micros), 1.0)
    verdicts.at_most("ProsNKONS: exponent of time in m", exponent(BUDGETS, micros), 2.0)


def same_rows(contenders: dict[int, tuple[Learner, Any]], X: Array, y: Array) -> list[float]:
    """The µs a row of each learner, in turns."""
    took = in_turns(TURNS, **{str(k): partial(learner.learn, state, X, y) for k, (learner, state) in contenders.items()})
    return [1e6 * value / len(X) for value in took.values()]


def just_full(learner: onkel.ProsNKONS, X: Array, y: Array) -> Any:
    """The state after the round in which the last point joined."""
    state = learner.init(X.shape[1])
    while len(state.span.points) < (learner.budget or 0):
        now = slice(state.rows, state.rows + 1)
        learner.learn(state, X[now], y[now])
    return state


class Inverting:
    """ProsNKONS with a full dictionary, in NumPy: A is inverted in every round.

    This class and ProsNKONS both start anew when the last point has joined, with A = αI and weights u = 0. The times of both
    include the kernel values; here these and the coordinates come from onkel's compiled kernel, in one block.
    """

    def __init__(self, learner: onkel.ProsNKONS, points: Array) -> None:
        self.learner, self.points = learner, points
        self.factor = np.asarray(np.linalg.cholesky(learner.kernel(points, points)), np.float64)
        self.eta = learner.loss.curvature(learner.clip) / 2.0

    def begin(self) -> None:
        m, alpha = len(self.points), self.learner.alpha
        self.A: Array = alpha * np.eye(m)
        self.inverse: Array = np.eye(m) / alpha
        self.u = np.zeros(m)

    def add(self, phi: Array, gain: float) -> None:
        """A ← A + gain φφᵀ"""
        self.A += np.outer(gain * phi, phi)
        self.inverse = np.asarray(np.linalg.inv(self.A), np.float64)

    def direction(self, phi: Array) -> Array:
        """A⁻¹φ"""
        return np.asarray(self.inverse @ phi)

    def learn(self, X: Array, y: Array) -> Array:
        self.begin()
        K = self.learner.kernel(X, self.points)
        coordinates = np.ascontiguousarray(scipy.linalg.solve_triangular(self.factor, K.T, lower=True).T)
        scores, clip = np.empty(len(X)), self.learner.clip
        for t, (phi, label) in enumerate(zip(coordinates, y.tolist(), strict=True)):
            score = float(phi @ self.u)
            scores[t] = inside = min(max(score, -clip), clip)
            if score != inside:
                direction = self.direction(phi)
                self.u -= (score - inside) / (phi @ direction) * direction
            g = -label / (1.0 + exp(label * inside))  # logistic
            self.add(phi, self.eta * g * g)
            self.u -= g * self.direction(phi)
        return scores


class Solving(Inverting):
    """Like `Inverting`, but solves a system instead of inverting A."""

    def add(self, phi: Array, gain: float) -> None:
        self.A += np.outer(gain * phi, phi)

    def direction(self, phi: Array) -> Array:
        return np.asarray(np.linalg.solve(self.A, phi))


class RankOne(Inverting):
    """Like `Inverting`, but A⁻¹ is updated by Sherman and Morrison's formula: O(m²), what a careful NumPy user would write."""

    def add(self, phi: Array, gain: float) -> None:
        v = self.inverse @ phi
        self.inverse -= np.outer(v * (gain / (1.0 + gain * (phi @ v))), v)


def against_inverting(verdicts: Verdicts, name: str, X: Array, y: Array) -> None:
    learner = onkel.ProsNKONS(loss=LOSS, budget=BUDGET, restart=True)
    state = just_full(learner, X, y)
    rows = slice(state.rows, state.rows + NUMPY_ROWS)
    ways = {way.__name__: way(learner, state.span.points) for way in (Inverting, Solving, RankOne)}
    fresh = iter([copy.deepcopy(state) for _ in range(TURNS + 1)])
    scores = {}

    def run(way: str) -> None:
        scores[way] = ways[way].learn(X[rows], y[rows]) if way in ways else learner.learn(next(fresh), X[rows], y[rows])

    took = in_turns(TURNS, **{way: partial(run, way) for way in ("onkel", *ways)})
    title = f"{name}: {BUDGET} points, full after {state.rows:,} rows; the next {NUMPY_ROWS:,} rows"
    shown = Table(title=title, box=None, title_justify="left", header_style="bold")
    for heading in ("", "µs a row", "times onkel's", "largest difference of a score"):
        shown.add_column(heading, justify="right" if heading else "left")
    named = {
        "onkel": "ProsNKONS",
        "Inverting": "NumPy, np.linalg.inv in every round",
        "Solving": "NumPy, np.linalg.solve in every round",
        "RankOne": "NumPy, rank-one updates of the inverse",
    }
    apart = {way: float(np.abs(scores[way] - scores["onkel"]).max()) for way in ways}
    for way, description in named.items():
        entries = (f"{took[way] / took['onkel']:.1f}", f"{apart[way]:.1e}") if way in ways else ("", "")
        shown.add_row(description, f"{1e6 * took[way] / NUMPY_ROWS:,.1f}", *entries)
    console.print(shown, "")
    verdicts.at_least(
        f"ProsNKONS, {name}: times faster than inverting", took["Inverting"] / took["onkel"], 35.0
    )  # 40 to 55, as the BLAS of NumPy is
    verdicts.at_most("ProsNKONS: largest difference of their scores", apart["Inverting"], 1e-9)


def family(name: str, X: Array, y: Array) -> None:
    learners: dict[str, tuple[Learner, int]] = {
        "NewtonFeatures": (onkel.NewtonFeatures(loss=LOSS), len(X)),
        "ProsNKONS": (onkel.ProsNKONS(loss=LOSS, budget=BUDGET), len(X)),
        "ProsNKONS, restart=True": (onkel.ProsNKONS(loss=LOSS, budget=BUDGET, restart=True), len(X)),
        "SketchedKONS": (onkel.SketchedKONS(loss=LOSS), KONS_ROWS),
        "KONS": (onkel.KONS(loss=LOSS), KONS_ROWS),
    }
    scores: dict[str, Array] = {}
    states: dict[str, Any] = {}

    def run(which: str) -> None:
        learner, rows = learners[which]
        state = states[which] = learner.init(X.shape[1])
        blocks = [learner.learn(state, X[t : t + 100], y[t : t + 100]) for t in range(0, rows - 99, 100)]
        scores[which] = np.concatenate(blocks)

    took = in_turns(3, **{which: partial(run, which) for which in learners})
    shown = Table(title=f"the family on {name}", box=None, title_justify="left", header_style="bold")
    for heading in ("", "rows", "µs a row", "mistakes", "kB"):
        shown.add_column(heading, justify="right" if heading else "left")
    for which, out in scores.items():
        wrong = 100.0 * np.mean(np.where(out < 0.0, -1.0, 1.0) != y[: len(out)])
        kilobytes = onkel.nbytes(states[which]) / 1e3
        shown.add_row(which, f"{len(out):,}", f"{1e6 * took[which] / len(out):,.1f}", f"{wrong:.1f} %", f"{kilobytes:,.0f}")
    console.print(shown, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit non-zero when a stated ratio or exponent is missed")
    check = parser.parse_args().check
    verdicts = Verdicts()
    with threadpool_limits(1):
        for part in (kons, sketched_kons, pros_n_kons):
            part(verdicts)
        name, X, y = cod_rna()
        against_inverting(verdicts, name, X, y)
        family(name, X, y)
    verdicts.show(check)


if __name__ == "__main__":
    main()
