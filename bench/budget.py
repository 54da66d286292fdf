"""The time that a row takes in the learners with a budget: python bench/budget.py [--check]

On cod-rna with a budget of B = 100 points:

1.  FORKS is compared with NOGD with as many landmarks, and with NumPy, which computes only the same kernel values in one vectorised
    call.
2.  First-order learners whose budget is full are compared with the time of their B kernel values.
3.  The time of a row must not grow with the round.

Then µs a row on cod-rna, ijcnn1 and w7a. FORKS updates its sketch every 0.3 n rows of n, as in its paper.

Real sets are read from the folder that ONKEL_DATA names, permuted, and standardised by the rows so far. If cod-rna is missing, a
generated stream of the same shape takes its place; other missing sets are left out. Every contender uses one thread.
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from growth import console, exponent, table
from numpy.typing import NDArray
from rich.table import Table
from streams import cod_rna, real, stream
from threadpoolctl import threadpool_limits
from timing import Verdicts, in_turns

import onkel

Array = NDArray[np.float64]

MOST = 2.25  # times the time of what a row needs anyway: 1.5 to 2.1 on several days
BUDGET, RANK, LANDMARKS = 100, 10, 20
TURNS = 9
ROUNDS = (2**12, 2**13, 2**14, 2**15, 2**16)
MORE = 1024  # rows that are timed after each of these rounds
KERNEL = onkel.Gaussian()
THEIRS = {"cod-rna": "5-7", "ijcnn1": "10", "w7a": "376"}  # µs a row of FORKS in the authors' C++, on such a machine

FIRST_ORDER: dict[str, Any] = {
    "RBP": onkel.RBP(KERNEL, BUDGET),
    "Forgetron": onkel.Forgetron(KERNEL, BUDGET),
    "BPAS": onkel.BPAS(KERNEL, BUDGET),
    "BOGD": onkel.BOGD(KERNEL, BUDGET, step=0.2, cap=10.0),
    "BOGD, weighted": onkel.BOGD(KERNEL, BUDGET, step=0.2, cap=10.0, weighted=True),
    "NORMA": onkel.NORMA(KERNEL, lam=0.01, budget=BUDGET),
    "NOGD": onkel.NOGD(KERNEL, budget=BUDGET, rank=RANK),
}
OTHERS: dict[str, Any] = {
    "Projectron": onkel.Projectron(KERNEL, BUDGET),
    "Projectron++": onkel.ProjectronPP(KERNEL, BUDGET),
    "FOGD, 100 frequencies": onkel.FOGD(onkel.Fourier(count=BUDGET)),
    "SkeGD": onkel.SkeGD(KERNEL, budget=BUDGET, max_updates=3),
    "FORKS": onkel.FORKS(KERNEL, budget=BUDGET, max_updates=3),
    "FORKS, squared hinge": onkel.FORKS(KERNEL, onkel.SquaredHinge(), budget=BUDGET, max_updates=3),
}


def forks(rows: int) -> onkel.FORKS:
    """With the sizes of its paper."""
    return replace(onkel.FORKS.as_published(rows), kernel=KERNEL)


def skegd(rows: int) -> onkel.SkeGD:
    """With the sizes of its paper."""
    return replace(onkel.SkeGD.as_published(rows), kernel=KERNEL)


def in_numpy(X: Array, points: Array) -> Array:
    """The kernel values of all rows, in one vectorised call."""
    width = np.sqrt(X.shape[1])
    distances = np.sum(X * X, axis=1)[:, None] + np.sum(points * points, axis=1) - 2.0 * X @ points.T
    return np.asarray(np.exp(distances * (-0.5 / width**2)))


def learn(learner: Any, X: Array, y: Array) -> None:
    learner.learn(learner.init(X.shape[1]), X, y)


def beside_numpy(verdicts: Verdicts, name: str, X: Array, y: Array) -> None:
    """Times of whole streams, including stage 1 and updates of the sketch. FORKS gets as many landmarks as NOGD has: its B
    points."""
    ours, wide = forks(len(y)), replace(forks(len(y)), landmarks=BUDGET)
    taken = in_turns(
        TURNS,
        numpy=partial(in_numpy, X, X[:LANDMARKS]),
        forks=partial(learn, ours, X, y),
        forks_wide=partial(learn, wide, X, y),
        nogd=partial(learn, FIRST_ORDER["NOGD"], X, y),
        nogd_narrow=partial(learn, onkel.NOGD(KERNEL, budget=LANDMARKS, rank=RANK), X, y),
    )
    micros = {who: 1e6 * took / len(y) for who, took in taken.items()}
    console.print(
        f"{name}, rank {RANK}, µs a row. {LANDMARKS} landmarks: FORKS {micros['forks']:.2f}, NOGD {micros['nogd_narrow']:.2f}, "
        f"the kernel values alone in NumPy {micros['numpy']:.2f}. {BUDGET} landmarks: FORKS {micros['forks_wide']:.2f}, "
        f"NOGD {micros['nogd']:.2f}\n"
    )
    verdicts.at_most(f"{name}: FORKS / kernel values in NumPy", taken["forks"] / taken["numpy"], 3.0)
    verdicts.at_most(f"{name}: FORKS / NOGD, {BUDGET} landmarks each", taken["forks_wide"] / taken["nogd"], MOST)


def beside_the_kernel_row(verdicts: Verdicts, name: str, X: Array, y: Array) -> None:
    """Times over the same rows, from the moment at which every learner's budget is full."""
    half = len(y) // 2
    states = {who: learner.init(X.shape[1]) for who, learner in FIRST_ORDER.items()}
    for who, learner in FIRST_ORDER.items():
        learner.learn(states[who], X[:half], y[:half])
    late = slice(half, half + 20_000)
    contenders = {
        who: (lambda learner=learner, state=states[who]: learner.learn(copy.deepcopy(state), X[late], y[late]))
        for who, learner in FIRST_ORDER.items()
    }
    points = X[:BUDGET].copy()
    taken = in_turns(TURNS, row=lambda: KERNEL.values(X[late], points), **contenders)
    shown = Table(title=f"{name}: a full set of {BUDGET} points beside its kernel row", box=None, title_justify="left")
    for heading in ("", "µs a row", "kernel rows"):
        shown.add_column(heading, justify="left" if not heading else "right")
    rows = len(y[late])
    for who, took in taken.items():
        ratio = took / taken["row"]
        shown.add_row("kernel row" if who == "row" else who, f"{1e6 * took / rows:.2f}", f"{ratio:.2f}")
        if who != "row":
            verdicts.at_most(f"{name}: {who} / its kernel row", ratio, MOST)
    console.print(shown, "")


def flat(verdicts: Verdicts) -> None:
    X, y = stream(max(ROUNDS) + MORE)
    rows: dict[str, list[float]] = {}
    for who, learner in (FIRST_ORDER | OTHERS).items():
        state, done, states = learner.init(X.shape[1]), 0, {}
        for t in ROUNDS:
            learner.learn(state, X[done:t], y[done:t])
            states[str(t)], done = copy.deepcopy(state), t
        work = {
            at: (
                lambda learner=learner, state=state, t=int(at): learner.learn(
                    copy.deepcopy(state), X[t : t + MORE], y[t : t + MORE]
                )
            )
            for at, state in states.items()
        }
        rows[who] = [1e6 * took / MORE for took in in_turns(TURNS, **work).values()]
        verdicts.at_most(f"{who}: |exponent of time in t|", abs(exponent(ROUNDS, rows[who])), 0.1)
    table("µs a row, against the round t (after the last update of a sketch)", "t", ROUNDS, rows)


def everybody() -> None:
    shown = Table(title="µs a row, and mistakes in %, all rounds counted", box=None, title_justify="left", header_style="bold")
    sets = {name: found for name in THEIRS if (found := real(name)) is not None}
    if not sets:
        return
    for heading in ("", *sets):
        shown.add_column(heading, justify="left" if not heading else "right")
    as_published = {"FORKS as in its paper": forks, "SkeGD as in its paper": skegd}
    for who, learner in (as_published | FIRST_ORDER | OTHERS).items():
        cells = []
        for X, y in sets.values():
            one = learner(len(y)) if who in as_published else learner
            took = in_turns(1, one=partial(learn, one, X, y))["one"]
            wrong = np.mean(onkel.measure.mistakes(one.learn(one.init(X.shape[1]), X, y), y))
            cells.append(f"{1e6 * took / len(y):.2f}  {100 * wrong:5.1f} %")
        shown.add_row(who, *cells)
    shown.add_row("FORKS, the authors' C++", *(f"{THEIRS[name]}       " for name in sets))
    console.print(shown, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit non-zero when a stated ratio is missed")
    check = parser.parse_args().check
    verdicts = Verdicts()
    with threadpool_limits(1):
        name, X, y = cod_rna()
        beside_numpy(verdicts, name, X, y)
        beside_the_kernel_row(verdicts, name, X, y)
        flat(verdicts)
        everybody()
    verdicts.show(check)


if __name__ == "__main__":
    main()
