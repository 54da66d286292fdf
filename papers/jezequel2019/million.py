"""A million rows of the shape of SUSY, for the time of a row: 18 columns, Taylor features of degree 2, so r = 190 (section 4).

The rows are *generated*, because only 30,000 rows of SUSY could be had. Errors on them say nothing about SUSY, but the time of a
row and the memory depend only on the numbers of columns and features. Eight columns are drawn (four of them with a long right
tail, as momenta have), ten are functions of these, as in SUSY. A label is +1 with a probability that depends on x; the Bayes error
that follows is printed. Columns are clipped and scaled to [−1, 1] by limits that are known before the stream, not by its range.

All have λ = 1 and σ = 4, as for SUSY in figure2.py; FOGD has 1,000 features and the step 1/√n. Rows are generated and learnt in
blocks, so that no more than one block is in memory. The time is the processor time of the learner alone, in one thread. Writes
million.json and million.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

import onkel
from papers.results import keep, kept, publish

Array = NDArray[np.float64]

ROWS, BLOCK, COLUMNS, WIDTH = 1_000_000, 10_000, 18, 4.0
MOST_SECONDS = 30.0  # a learner that takes longer is stopped after a block
SHOWN = (1_000, 10_000, 100_000, 1_000_000)
FREQUENCIES = 500  # of FOGD: two features each
HIGHEST = 4.0  # columns are clipped to [0, HIGHEST] or [−HIGHEST, HIGHEST]

threadpool_limits(1)


def block(number: int) -> tuple[Array, Array, Array]:
    """X in [−1, 1], y = ±1 and the probability of +1, for one block of rows."""
    rng = np.random.default_rng([18, number])
    tails, angles = rng.lognormal(0.0, 0.6, (BLOCK, 4)), rng.uniform(-2.0, 2.0, (BLOCK, 4))
    sums, gaps = tails[:, :3] + tails[:, 1:], np.abs(np.diff(tails, axis=1))
    turned = tails * np.cos(angles)
    X = np.clip(np.hstack([tails, angles, sums / 2.0, gaps, turned]), -HIGHEST, HIGHEST) / HIGHEST
    odds = 3.0 * turned[:, 0] * turned[:, 1] + 2.5 * np.sin(angles[:, 2]) + 1.5 * sums[:, 2] - 3.5
    chance = 1.0 / (1.0 + np.exp(-odds))
    return X, np.where(rng.random(BLOCK) < chance, 1.0, -1.0), chance


def learners(rows: int) -> dict[str, Any]:
    return {
        "Taylor M = 2, ridge": onkel.PKAWV(onkel.Taylor(2, WIDTH), awv=False),
        "Taylor M = 2, AWV": onkel.PKAWV(onkel.Taylor(2, WIDTH)),
        "Taylor M = 3, AWV": onkel.PKAWV(onkel.Taylor(3, WIDTH)),
        "FOGD": onkel.FOGD(onkel.Fourier(FREQUENCIES, WIDTH), onkel.Square(), step=1.0 / math.sqrt(rows)),
    }


def run(learner: Any, rows: int, about: str) -> dict[str, Any]:
    X, y, _ = block(0)
    learner.learn(learner.init(COLUMNS), X[:500], y[:500])  # compiles
    state, seconds, wrong, done, shown = learner.init(COLUMNS), 0.0, 0, 0, dict[int, float]()
    for number in track(range(rows // BLOCK), about, console=Console(stderr=True)):
        X, y, _ = block(number)
        before = time.thread_time()
        scores = learner.learn(state, X, y)
        seconds += time.thread_time() - before
        misses = np.cumsum((scores >= 0.0) != (y > 0.0))
        shown |= {t: float(wrong + misses[t - done - 1]) / t for t in SHOWN if done < t <= done + BLOCK}
        wrong, done = wrong + int(misses[-1]), done + BLOCK
        if seconds > MOST_SECONDS:
            break
    features = int(learner.features.size(COLUMNS))
    return {"features": features, "rows": done, "seconds": seconds, "error": shown, "bytes": onkel.nbytes(state)}


def measured(quick: bool = False) -> dict[str, Any]:
    rows = ROWS // 50 if quick else ROWS
    best = np.mean([np.mean(np.minimum(chance, 1.0 - chance)) for _, _, chance in map(block, range(rows // BLOCK))])
    found = {name: run(learner, rows, name) for name, learner in learners(rows).items()}
    return {"rows": rows, "bayes": float(best), "learners": found}


def table(found: dict[str, Any]) -> Iterator[str]:
    heads = " | ".join(f"error after {t:,}" for t in SHOWN)
    yield f"| {found['rows']:,} generated rows, d = {COLUMNS} | features | rows | seconds | µs a row | state, kB | {heads} |"
    yield "|---" + "|--:" * (5 + len(SHOWN)) + "|"
    for name, of in found["learners"].items():
        rows = f"{of['rows']:,}" + ("" if of["rows"] == found["rows"] else " (stopped)")
        errors = [f"{of['error'][str(t)]:.2%}" if str(t) in of["error"] else "" for t in SHOWN]
        cells = [f"{of['features']:,}", rows, f"{of['seconds']:.1f}", f"{1e6 * of['seconds'] / of['rows']:.1f}"]
        yield f"| {name} | " + " | ".join([*cells, f"{of['bytes'] / 1e3:,.0f}", *errors]) + " |"
    yield f"| *the Bayes rule* | | {found['rows']:,} | | | | | | | {found['bayes']:.2%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tell", action="store_true", help="measure nothing: write million.md again from million.json")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows; print the table, write nothing")
    options = parser.parse_args()
    here = Path(__file__)
    if options.quick:
        found = measured(quick=True)
        for of in found["learners"].values():
            of["error"] = {str(t): error for t, error in of["error"].items()}
        print("\n".join(table(found)))
        return
    if not options.tell:
        keep(here, measured())
    publish(here, table(kept(here)))


if __name__ == "__main__":
    main()
