"""What classes and the scikit-learn face cost: python bench/estimators.py [--check]

Ten classes against one in the ridge family, where all share a matrix (of MercerProjection also where it follows the data and
weighs its levels anew for each output; unjudged, one-vs-rest, where nothing is shared); the estimator against the bare learner
on the same standardised rows, in a block and row by row.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import Verdicts, in_turns

import onkel

ROWS, DIM, CLASSES = 8192, 10, 10


def stream() -> tuple[Any, Any]:
    X, y = onkel.data.friedman(ROWS, seed=0)
    return X, np.digitize(y, np.quantile(y, np.arange(1, CLASSES) / CLASSES))


def classes_cost(verdicts: Verdicts, table: Table) -> None:
    X, kinds = stream()
    ridge: dict[str, Any] = {
        "PKAWV": onkel.PKAWV(),
        "KernelAWV": onkel.KernelAWV(),
        "KernelRidge": onkel.KernelRidge(),
        "PKAWVNystroem": onkel.PKAWVNystroem(budget=100, keep_history=False),
        "MercerProjection, growing": onkel.MercerProjection(rate=1.0),
        "MercerProjection, following": onkel.MercerProjection(),
    }
    for name, learner in {**ridge, "FORKS": onkel.FORKS(), "FOGD": onkel.FOGD()}.items():
        rows = ROWS if learner.bounded else ROWS // 4
        took = in_turns(
            5,
            one=lambda: onkel.Classifier(learner).fit(X[:rows], np.zeros(rows, dtype=int)),  # noqa: B023
            ten=lambda: onkel.Classifier(learner).fit(X[:rows], kinds[:rows]),  # noqa: B023
        )
        ratio = took["ten"] / took["one"]
        table.add_row(name, *(f"{1e6 * took[which] / rows:.1f}" for which in ("one", "ten")), f"{ratio:.2f}")
        if name in ridge:
            verdicts.at_most(f"time of ten classes over one, {name}", ratio, 2.0)


def rows_one_by_one(model: onkel.Regressor, rows: Any, y: Any) -> None:
    for x, target in zip(rows, y, strict=False):
        model.learn_one(x, target)


def face_cost(console: Console, verdicts: Verdicts, single: int = 1000) -> None:
    X, _ = stream()
    y = X[:, 0].copy()
    learner = onkel.PKAWV((onkel.Standardize(), onkel.PKAWV().features))  # type: ignore[arg-type]
    state, model = learner.init(DIM), onkel.Regressor(onkel.PKAWV()).fit(X[:1000], y[:1000])
    names = [dict(zip("abcdefghij", row, strict=True)) for row in X[:single].tolist()]
    dicts = onkel.Regressor(onkel.PKAWV())
    rows_one_by_one(dicts, names, y)
    took = in_turns(
        5,
        bare=lambda: learner.learn(state, X, y),
        block=lambda: model.partial_fit(X, y),
        bare_row=lambda: [learner.learn(state, X[t : t + 1], y[t : t + 1]) for t in range(single)],
        row=lambda: rows_one_by_one(model, X[:single], y),
        named=lambda: rows_one_by_one(dicts, names, y),
    )
    block, bare = (1e6 * took[name] / ROWS for name in ("block", "bare"))
    row, bare_row, named = (1e6 * took[name] / single for name in ("row", "bare_row", "named"))
    console.print(f"PKAWV(), d={DIM}: {bare:.1f} µs a row in a block, {block:.1f} by partial_fit")
    console.print(f"one row: {bare_row:.0f} µs by learn, {row:.0f} by learn_one of an array, {named:.0f} of a dict\n")
    verdicts.at_most("time of partial_fit over that of learn, blocks", block / bare, 1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    check = parser.parse_args().check
    console, verdicts = Console(highlight=False, soft_wrap=True), Verdicts()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("µs a row", "one class", "ten", "ratio"):
        table.add_column(heading, justify="right" if heading != "µs a row" else "left")
    classes_cost(verdicts, table)
    console.print(table)
    face_cost(console, verdicts)
    verdicts.show(check)


if __name__ == "__main__":
    main()
