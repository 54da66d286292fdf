"""onkel beside River, scikit-learn and CapyMOA: python bench/peers.py [--check] [--markdown FILE] [--sets …] [--again]

All systems get the same rows in the same order, with one seed; none is tuned (peer_models.py says what each gets). Every row is
scored before it is learnt, and every row counts. A set has at most 20,000 rows: the first rows of the file if they are in order of
time, otherwise the first rows of one permutation. Sparse sets are made dense for all systems; sets of more than 2,000 columns are
left out. Sets are all npz files of the folder that ONKEL_DATA names; without it, Friedman's function (generated) and two sets that
come with River. Needs the extra `river`.

The peers' figures are stored in peers.json (peer_store.py). onkel is run every time; a peer is run if its figures are missing or,
with --again, in any case. Times of different runs cannot be compared, so River's forest learns the first 1,000 rows of each set
again. Its stored time for the whole set, multiplied by the time of these rows now over their stored time, is its time "now".

With lags, the last three labels and two running means of labels are further inputs: for the learner that is judged on every set,
for onkel's other learners and some peers on the sets in order of time. --check exits with 1 if onkel misses what it promises
(peer_promises.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from peer_capymoa import peers as capymoa_peers
from peer_models import FOREST, PEERS, START, Outcome, Peer, of_onkel, standardised, with_lags
from peer_promises import judge
from peer_store import Figures, figures, kept, key, measured
from peer_tables import Sheet, markdown, show, summary
from rich.console import Console
from streams import Array, Rows, names, rows_of
from threadpoolctl import threadpool_limits

import onkel
from onkel import Constant, Identity
from onkel.combine import Calibrated, Lagged, Scaled
from onkel.measure import last_label, running_mean

MOST_ROWS, LAGS = 20_000, 3
SIMPLE = {"PKAWV": onkel.PKAWV(), "linear ridge": onkel.PKAWV(Identity() + Constant())}
RIDGE, RIDGE_FEATURES = onkel.PKAWV(Identity()), 100  # the unit in which promises state the cost of a row

console = Console(highlight=False, width=132)


def ready(learner: Any, classify: bool, lags: int) -> Any:
    """The learner in the wrappers that it needs: for scaling, for probabilities of classes, for lags; Auto scales by itself."""
    if hasattr(learner, "lags"):
        whole = replace(learner, lags=lags)
    else:
        scaled = Scaled(learner, targets=not classify, first_rows=0 if classify else Scaled.first_rows)
        whole = Lagged(scaled, lags) if lags else scaled
    return Calibrated(whole) if classify else whole


def own(rows: Rows, learner: Any, lags: int = 0) -> Figures:
    run = of_onkel(lambda classify: ready(learner, classify, lags))
    return figures(run(rows.X, rows.y, rows.classify), rows.y, rows.classify)


def references(rows: Rows) -> dict[str, Figures]:
    """The baselines, which do not use the inputs."""
    guesses = {"majority" if rows.classify else "running mean": running_mean(rows.y), "last label": last_label(rows.y)}

    def of(guess: Array) -> Figures:
        said = (1.0 + guess) / 2.0 if rows.classify else guess
        return replace(figures(Outcome(said, 0.0, None, None), rows.y, rows.classify), microseconds=None)

    found = {name: of(guess) for name, guess in guesses.items()}
    return {**found, "last label": replace(found["last label"], log_loss=None)}  # it has no probabilities


def to_run(rows: Rows, wanted: Callable[[Peer], bool], lags: int) -> Iterator[tuple[Rows, Peer]]:
    """The peers that can handle this many columns; those with lags only on sets for which they are run."""
    peers = [peer for peer in (*PEERS, *capymoa_peers()) if wanted(peer) and rows.X.shape[1] <= peer.widest]
    yield from ((rows, peer) for peer in peers)
    if rows.ordered and lags:
        wide = with_lags(rows, lags)
        yield from ((wide, replace(peer, name=f"{peer.name}, {lags} lags")) for peer in peers if peer.lags)


def fill(rows: Rows, wanted: Callable[[Peer], bool], lags: int, again: bool) -> dict[str, Figures]:
    """The figures of all peers; those that are not kept are measured first."""
    found = {}
    for given, peer in to_run(rows, wanted, lags):
        if again or key(given, peer) not in kept():
            console.print(f"running {peer.name} on {rows.name}", style="dim")
        found[peer.name] = measured(given, peer, again)
    return found


def sheet(rows: Rows, learner: Any, peers: dict[str, Figures], lags: int) -> Sheet:
    """All figures of a set. The systems are timed one after the other."""
    name, lagged = type(learner).__name__, f", {lags} lags"
    first = slice(0, START)
    now = figures(FOREST.run(standardised(rows.X[first]), rows.y[first], rows.classify), rows.y[first], rows.classify)
    learners = {name: learner, **{other: one for other, one in SIMPLE.items() if other != name}}
    ours = {each: own(rows, one) for each, one in learners.items()}
    with_them = {each + lagged: own(rows, one, lags) for each, one in learners.items() if lags and (rows.ordered or each == name)}
    return Sheet(rows.name, len(rows.y), rows.X.shape[1], rows.classify, rows.ordered, name, name + lagged,
                 {**ours, **with_them, **peers}, references(rows), now.start or 0.0, ridge_row(len(rows.y)))  # fmt: skip


def ridge_row(rows: int) -> float:
    """µs for a row of ridge regression on 100 features, in blocks."""
    X = np.random.default_rng(0).normal(size=(rows, RIDGE_FEATURES))
    return figures(of_onkel(lambda classify: RIDGE)(X, X[:, 0], False), X[:, 0], False).microseconds or 0.0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="at most so many of a set")
    parser.add_argument("--lags", type=int, default=LAGS, help="earlier labels as inputs; 0 leaves these lines out")
    parser.add_argument("--learner", default="Auto", help="what is judged, such as 'PKAWV(lam=0.1)'")
    parser.add_argument("--only", nargs="+", default=[], metavar="PEER", help="only peers with one of these words in their names")
    parser.add_argument("--again", action="store_true", help="run every peer anew")
    parser.add_argument("--fill", action="store_true", help="run peers whose figures are missing, and nothing else")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a promise is missed")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there as well")
    return parser.parse_args()


def main() -> None:
    args = options()

    def wanted(peer: Peer) -> bool:
        return not args.only or any(word in peer.name for word in args.only) or (peer is FOREST and not args.fill)

    learner = None if args.fill else onkel.parse(args.learner)
    sheets = []
    with threadpool_limits(1):
        for name in args.sets or names():
            rows = rows_of(name, args.rows)
            if rows is None:
                console.print(f"{name} is left out: too wide to be made dense")
                continue
            peers = fill(rows, wanted, args.lags, args.again)
            if learner is not None:
                sheets.append(sheet(rows, learner, peers, args.lags))
                show(console, sheets[-1])
    if sheets:
        summary(console, sheets)
        if args.markdown:
            args.markdown.write_text(markdown(sheets))
        judge(sheets).show(args.check)


if __name__ == "__main__":
    main()
