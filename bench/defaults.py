"""The errors of learners as they come, with no setting given: ONKEL_DATA=folder python bench/defaults.py [--check]

FORKS, SkeGD, NORMA, BOGD and ProsNKONS are compared with PKAWV and with always predicting the label that was more frequent so far.
--check requires that each of them has fewer mistakes than that label, and at most 1.3 times those of PKAWV(), on german, spambase
and ijcnn1. The other sets, on which no default was chosen, are shown without a verdict. So are the settings of the papers
(`as_published`).

Every row is scored before it is learnt, and every mistake counts. Inputs are standardised by the rows so far, as `onkel run` does
it. Sets are permuted, in 3 permutations each; elec2, which is in order of time, is not. At most 20,000 rows of a set are learnt,
because NORMA keeps nearly every row whose loss has a slope.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from growth import console
from numpy.typing import NDArray
from rich.table import Table
from streams import Rows, names, rows_of
from timing import Verdicts

import onkel
from onkel.combine.assembly import assembled

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

ROWS, PERMUTATIONS = 20_000, 3
JUDGED = ("german", "spambase", "ijcnn1")
SHOWN = ("svmguide3", "cod-rna", "w7a", "a9a", "susy30k", "phishing", "elec2")
MOST = 1.3  # times the mistakes of PKAWV()

DEFAULTS: dict[str, Any] = {
    "FORKS": onkel.FORKS(),
    "SkeGD": onkel.SkeGD(),
    "NORMA": onkel.NORMA(),
    "BOGD": onkel.BOGD(),
    "ProsNKONS": onkel.ProsNKONS(),
}
REFERENCE, LABEL = "PKAWV", "the more frequent label"


def published(rows: int) -> dict[str, Any]:
    return {f"{kind.__name__}.as_published": kind.as_published(rows) for kind in (onkel.FORKS, onkel.SkeGD, onkel.BOGD)}


def permutations(of: Rows) -> list[Counts]:
    count = len(of.y)
    return [np.arange(count)] if of.ordered else [np.random.default_rng(seed).permutation(count) for seed in range(PERMUTATIONS)]


def error(learner: Any, X: Array, y: Array) -> float:
    """The share of rows that were wrong before they were learnt."""
    whole = assembled(learner, "classification")
    return float(np.mean(onkel.measure.mistakes(whole.learn(whole.init(X.shape[1]), X, y), y)))


def errors(of: Rows) -> dict[str, float]:
    """In percent, the mean over the permutations."""
    learners = {REFERENCE: onkel.PKAWV()} | DEFAULTS | published(len(of.y))
    found: dict[str, list[float]] = {name: [] for name in (LABEL, *learners)}
    for order in permutations(of):
        X, y = of.X[order], of.y[order]
        found[LABEL].append(float(np.mean(onkel.measure.mistakes(onkel.measure.running_mean(y), y))))
        for name, learner in learners.items():
            found[name].append(error(learner, X, y))
    return {name: 100.0 * float(np.mean(each)) for name, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with an error if a learner misses its bound")
    check = parser.parse_args().check
    there = [name for name in (*JUDGED, *SHOWN) if name in names()]
    if not there:
        sys.exit("no set was found: let ONKEL_DATA name the folder that has german.npz, spambase.npz and ijcnn1.npz")
    found = {name: errors(rows) for name in there if (rows := rows_of(name, ROWS)) is not None}
    shown = Table(title="mistakes in %", box=None, title_justify="left", header_style="bold")
    for heading in ("", *found):
        shown.add_column(heading, justify="right" if heading else "left")
    for who in next(iter(found.values())):
        shown.add_row(who, *(f"{of[who]:.2f}" for of in found.values()))
    console.print(shown, "")
    verdicts = Verdicts()
    for name, of in found.items():
        for who in DEFAULTS if name in JUDGED else ():
            verdicts.at_most(f"{who}, {name}: mistakes / those of the more frequent label", of[who] / of[LABEL], 1.0)
            verdicts.at_most(f"{who}, {name}: mistakes / those of PKAWV()", of[who] / of[REFERENCE], MOST)
    verdicts.show(check)


if __name__ == "__main__":
    main()
