"""Every learner on every set: python bench/catalogue.py [--quick] [--again] [--show] [--check]

Each learner with its default settings, in the wrappers that it gets everywhere (scaled inputs and targets), on the first 10,000
rows of each set of the folder that ONKEL_DATA names, in five orders (sets in order of time have one, and five seeds of the
learner). Every row is scored before it is learnt. A run that takes longer than --seconds stops there. Errors are kept after 1,000,
2,000, 5,000 and 10,000 rows, so that a run that was stopped is compared on the rows that it saw. The regret is that of the first
1,000 rows, inputs and targets standardised, where the learner says with which functions it is compared.

Figures are added to catalogue.json after each run, and what is there is not run again, so the grid can be stopped and continued.
--show writes docs/catalogue.md and docs/img/catalogue.png from what is stored. --check exits with 1 if a learner that is
recommended (RECOMMENDED) has more than 1.3 times the error of PKAWV in the geometric mean.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from growth import console
from matplotlib.figure import Figure
from rich.progress import track
from stored import made
from streams import IN_ORDER, Array, names, rows_of
from threadpoolctl import threadpool_limits
from timing import Verdicts

import onkel
from onkel.combine.assembly import assembled
from onkel.combine.settings import reseeded
from onkel.errors import InputError
from onkel.protocol import suited
from onkel.report.palette import Light
from onkel.report.style import looks

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs/catalogue.md", ROOT / "docs/img/catalogue.png"
AT = (1_000, 2_000, 5_000, 10_000)
BLOCK, SEEDS, SECONDS = 256, 5, 5.0
REFERENCE = "PKAWV"
RECOMMENDED = ("Auto", "PKAWV", "PKAWVNystroem", "NewtonFeatures", "MercerProjection")  # for a stream of which nothing is known
LEARNERS = ("Auto", *onkel.learners.names)
REGRET_ROWS = 1_000
LETTERS_WIDE, LETTERS_HIGH = 100.0, 11.0  # pixels of a name in the picture


@dataclass(frozen=True)
class Job:
    set: str
    learner: str
    seed: int

    @property
    def key(self) -> str:
        return f"{self.set}, {self.learner}, {self.seed}"


def stream(name: str, seed: int) -> tuple[Array, Array, bool] | None:
    """The first rows of a set in one order, and whether its labels are classes; None if the set is too wide."""
    rows = rows_of(name, 2 * AT[-1])
    if rows is None:
        return None
    order = np.arange(len(rows.y)) if name in IN_ORDER else np.random.default_rng(seed).permutation(len(rows.y))
    return rows.X[order[: AT[-1]]], rows.y[order[: AT[-1]]], rows.classify


def learner_of(name: str, classify: bool, seed: int) -> Any | None:
    """The learner, with this seed; None if it does not learn this task."""
    learner = reseeded(getattr(onkel, name)(), seed)
    try:
        return suited(learner, "classification" if classify else "regression")
    except InputError:
        return None


def run(job: Job, X: Array, y: Array, classify: bool, seconds: float) -> dict[str, Any] | None:
    bare = learner_of(job.learner, classify, job.seed)
    if bare is None:
        return None
    learner = assembled(bare, "classification" if classify else "regression")
    learner.learn(learner.init(X.shape[1]), X[:BLOCK], y[:BLOCK])  # loads compiled code
    state, lost, taken = learner.init(X.shape[1]), np.empty(0), 0.0
    for start in range(0, len(y), BLOCK):
        now = slice(start, start + BLOCK)
        began = time.process_time()
        scores = learner.learn(state, X[now], y[now])
        taken += time.process_time() - began
        wrong = np.where(scores >= 0.0, 1.0, -1.0) != y[now] if classify else (scores - y[now]) ** 2
        lost = np.concatenate([lost, wrong])
        if taken > seconds:
            break
    found: dict[str, Any] = {
        "rows": len(lost),
        "errors": {str(n): _short(lost[:n].mean()) for n in sorted({n for n in AT if n <= len(lost)} | {len(lost)})},
        "microseconds": _short(1e6 * taken / len(lost)),
        "bytes": onkel.nbytes(state),
    }
    return found | ({"regret": regret(bare, X, y)} if job.seed == 0 else {})


def regret(learner: Any, X: Array, y: Array) -> float | None:
    """The regret of a row, among the first rows; None where the learner is not compared with any functions."""
    X, y = (part[:REGRET_ROWS] for part in (X, y))
    spread = X.std(axis=0)
    X, y = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), (y - y.mean()) / (y.std() or 1.0)
    try:
        return _short(onkel.regret(learner, X, y).total / len(y))
    except (InputError, MemoryError):
        return None


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def kept() -> dict[str, Any]:
    """The figures of each run by its key, and under "made" how the last of them was made."""
    return dict(json.loads(FILE.read_text())) if FILE.is_file() else {}


def runs_of(found: dict[str, Any]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The runs by set, learner and seed."""
    split = {tuple(key.rsplit(", ", 2)): of for key, of in found.items() if key != "made" and of}
    return {(name, learner, int(seed)): of for (name, learner, seed), of in split.items()}


def keep(found: dict[str, Any], seconds: float) -> None:
    found["made"] = {**made(), "seconds": seconds}
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found)]
    work = FILE.with_suffix(f".{os.getpid()}")
    work.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(work, FILE)


def fill(jobs: list[Job], seconds: float, again: bool) -> None:
    """Run what is not stored, or everything. A set is read once for all learners of a seed."""
    found, loaded = kept(), ("", -1)
    rows: tuple[Array, Array, bool] | None = None
    for job in track([job for job in jobs if again or job.key not in found], console=console):
        if loaded != (job.set, job.seed):
            loaded, rows = (job.set, job.seed), stream(job.set, job.seed)
        found[job.key] = None if rows is None else run(job, *rows, seconds)
        keep(found, seconds)


# what is shown


@dataclass(frozen=True)
class Row:
    """A learner over all sets."""

    learner: str
    sets: int
    ratio: float  # geometric mean over the sets of its error over that of the reference on the same rows
    best: int  # sets on which it has the least error of all learners
    microseconds: float
    bytes: float
    stopped: int  # runs that used up their time
    regret: float | None


def table(found: dict[str, Any]) -> list[Row]:
    """One row for each learner, the best first."""
    runs = runs_of(found)
    sets = sorted({name for name, _, _ in runs})
    errors = {name: {one: _over_reference(runs, name, one) for one in LEARNERS} for name in sets}
    longest = {name: max(of["rows"] for (one, _, _), of in runs.items() if one == name) for name in sets}
    told = []
    for learner in LEARNERS:
        ratios = [ratio for of in errors.values() if (ratio := of[learner]) is not None]
        if not ratios:
            continue
        own = [of for (_, one, _), of in runs.items() if one == learner]
        best = sum(of[learner] == min(value for value in of.values() if value is not None) for of in errors.values() if of[learner])
        regrets = [of["regret"] for of in own if of.get("regret") is not None]
        told.append(
            Row(
                learner,
                len(ratios),
                float(np.exp(np.mean(np.log(ratios)))),
                best,
                float(np.median([of["microseconds"] for of in own])),
                float(np.median([of["bytes"] for of in own])),
                sum(of["rows"] < longest[name] for (name, one, _), of in runs.items() if one == learner),
                float(np.mean(regrets)) if regrets else None,
            )
        )
    return sorted(told, key=lambda row: row.ratio)


def _over_reference(runs: dict[Any, Any], name: str, learner: str) -> float | None:
    """The mean over the seeds of the error over that of the reference, at the last number of rows that both have seen."""
    ratios = []
    for (one_set, one, seed), of in runs.items():
        if (one_set, one) == (name, learner) and (reference := runs.get((name, REFERENCE, seed))):
            shared = max((set(of["errors"]) & set(reference["errors"])) or {"0"}, key=int)
            if shared != "0":
                ratios.append(max(of["errors"][shared], 1e-9) / max(reference["errors"][shared], 1e-9))
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None


def page(rows: list[Row], found: dict[str, Any]) -> Iterator[str]:
    sets, seeds = (len({key[part] for key in runs_of(found)}) for part in (0, 2))
    how = found["made"]
    with_these = f"Python {how['python']}, NumPy {how['numpy']}, Numba {how['numba']}"
    yield "# Every learner on every set"
    yield ""
    orders = f"{seeds} order{'s' if seeds > 1 else ''}"
    yield f"Written by `ONKEL_DATA=folder python bench/catalogue.py --show` from {sets} sets in {orders}, at most"
    yield f"{AT[-1]:,} rows of each; made on {how['date']} from commit {how['commit']} on {how['machine']} ({with_these})."
    yield f"A run stops after {how['seconds']:g} seconds of processor time."
    yield "Every learner has its default settings. The error is the geometric mean over the sets of the error divided by that of"
    yield "`PKAWV()` on the same rows. µs a row and bytes are medians over the sets; the regret of a row is that of the first 1,000"
    yield "rows against the best function of the learner's own space, target of variance 1."
    yield ""
    yield "![error against time for every learner](img/catalogue.png)"
    yield ""
    yield "| | error, PKAWV = 1 | sets | lowest error of all on | µs a row | kB | regret a row |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        mark = f" ({row.stopped} runs stopped early)" if row.stopped else ""
        own = f"{row.regret:.3f}" if row.regret is not None else ""
        yield (
            f"| `{row.learner}`{mark} | {row.ratio:.2f} | {row.sets} | {row.best} | {row.microseconds:,.1f} "
            f"| {row.bytes / 1e3:,.0f} | {own} |"
        )
    yield ""
    names = ", ".join(f"`{row.learner}`" for row in front(rows))
    yield f"Of the learners for classes and numbers none is both better and faster than any of these: {names}."


def front(rows: list[Row]) -> list[Row]:
    """The learners on all sets that no other of them beats both in error and in time."""
    whole = [row for row in rows if row.sets == max(other.sets for other in rows)]
    return [row for row in whole if not any(one.ratio < row.ratio and one.microseconds < row.microseconds for one in whole)]


def draw(rows: list[Row]) -> None:
    with looks():
        figure = Figure(figsize=(9.6, 6.4))
        one, first = figure.subplots(), front(rows)
        line = sorted(first, key=lambda row: row.microseconds)
        one.step([row.microseconds for row in line], [row.ratio for row in line], where="post", color=Light.LEARNER, linewidth=1.0)
        for row in rows:
            style: dict[str, Any] = {"color": Light.LEARNER if row in first else "0.6", "markersize": 6 if row in first else 4}
            one.plot(row.microseconds, row.ratio, "o", fillstyle="full" if row.sets == first[0].sets else "none", **style)
        one.set(xscale="log", yscale="log", xlabel="µs a row (median over the sets)", ylabel="error, PKAWV() = 1 (geometric mean)")
        one.set_title(
            "filled: all sets; hollow: only classes, or only numbers; blue: none is better and faster", loc="left", fontsize=10
        )
        left, right = one.get_xlim()
        one.set_xlim(left, 4.0 * right)
        figure.draw_without_rendering()
        _name(one, rows, first)
        figure.savefig(PICTURE)


def _name(one: Any, rows: list[Row], first: list[Row]) -> None:
    """Write each name beside its point, as far up as needed not to lie on another."""
    taken: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda row: row.ratio):
        x, y = one.transData.transform((row.microseconds, row.ratio))
        while any(abs(x - other) < LETTERS_WIDE and abs(y - height) < LETTERS_HIGH for other, height in taken):
            y += 1.0
        taken.append((x, y))
        place = one.transData.inverted().transform((x + 6.0, y - 3.0))
        one.text(*place, row.learner, fontsize=8, color="0.1" if row in first else "0.45")


def check(rows: list[Row]) -> Verdicts:
    verdicts = Verdicts()
    for row in rows:
        if row.learner in RECOMMENDED:
            verdicts.at_most(f"error of {row.learner} over that of {REFERENCE}", row.ratio, 1.3)
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one order, and 2 seconds for each run")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, metavar="NAME", default=LEARNERS, help="only these learners")
    parser.add_argument("--seconds", type=float, help=f"the most processor time of a run (default: {SECONDS:g}; quick: 2)")
    parser.add_argument("--again", action="store_true", help="run everything anew")
    parser.add_argument("--show", action="store_true", help="run nothing: write the page and the picture")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is missed")
    args = parser.parse_args()
    if not args.show:
        seeds = range(1 if args.quick else SEEDS)
        jobs = [Job(name, learner, seed) for seed in seeds for name in args.sets or names() for learner in args.learners]
        with threadpool_limits(1):
            fill(jobs, args.seconds or (2.0 if args.quick else SECONDS), args.again)
    found = kept()
    rows = table(found)
    PAGE.write_text("\n".join(page(rows, found)) + "\n", encoding="utf-8")
    draw(rows)
    check(rows).show(args.check)


if __name__ == "__main__":
    main()
