"""The accuracy of the estimators, and their cost: python bench/estimators.py [--check] [--only fit|cost]

fit     five folds of the sets that come with scikit-learn, by the default estimators and by scikit-learn's own models after
        StandardScaler; and of 5,000 rows of cadata, if ONKEL_DATA names a folder with it
cost    what classes and the estimators cost: see below

Costs are measured as three ratios:

1.  Ten classes over one, in the ridge family, where all classes share a matrix. MercerProjection is timed twice; with default
    settings it weighs its levels anew for each output.
2.  Ten classes over two, one-vs-rest, for every learner of two classes. Kernel values and features are computed once for all of
    them.
3.  The estimator over the bare learner on the same standardised rows, in a block and row by row.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import sklearn.datasets
from rich.console import Console
from rich.table import Table
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from streams import stored
from timing import Verdicts, in_turns

import onkel

ROWS, DIM, CLASSES = 8192, 10, 10
CLASS_SETS = "iris", "wine", "breast_cancer", "digits"
RIDGE_GRID = {"kernelridge__alpha": [0.01, 0.1, 1.0], "kernelridge__gamma": [0.003, 0.01, 0.03, 0.1, 0.3]}
MOST_ONE_VS_REST = 6.0
POINTS, SHARE = 0.02, 1.03  # how much lower the accuracy may be, and how many times as large the error


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
    for name, learner in ridge.items():
        rows = ROWS if learner.bounded else ROWS // 4
        took = in_turns(
            5,
            one=lambda: onkel.Classifier(learner).fit(X[:rows], np.zeros(rows, dtype=int)),  # noqa: B023
            ten=lambda: onkel.Classifier(learner).fit(X[:rows], kinds[:rows]),  # noqa: B023
        )
        ratio = took["ten"] / took["one"]
        table.add_row(name, *(f"{1e6 * took[which] / rows:.1f}" for which in ("one", "ten")), f"{ratio:.2f}")
        verdicts.at_most(f"time of ten classes over one, {name}", ratio, 2.0)


def one_vs_rest_cost(verdicts: Verdicts, table: Table) -> None:
    """For every learner of two classes. Ten classes need eleven copies of it, two classes need two (`combine.OneVsRest`)."""
    X, kinds = stream()
    for name in onkel.learners.names:
        learner = getattr(onkel, name)()
        if "classification" not in learner.tasks or learner.multi_output:
            continue
        rows = ROWS if learner.bounded else ROWS // 8
        took = in_turns(
            5,
            two=lambda: onkel.Classifier(learner).fit(X[:rows], kinds[:rows] >= CLASSES // 2),  # noqa: B023
            ten=lambda: onkel.Classifier(learner).fit(X[:rows], kinds[:rows]),  # noqa: B023
        )
        ratio = took["ten"] / took["two"]
        table.add_row(name, *(f"{1e6 * took[which] / rows:.1f}" for which in ("two", "ten")), f"{ratio:.2f}")
        verdicts.at_most(f"time of ten classes over two, {name}", ratio, MOST_ONE_VS_REST)


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


def accuracies(verdicts: Verdicts, table: Table) -> None:
    """The rows are not shuffled before `fit`: those of iris and wine are sorted by class."""
    peers = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "support vectors": make_pipeline(StandardScaler(), SVC()),
    }
    for name in CLASS_SETS:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        own, *theirs = (cross_val_score(model, X, y, cv=5).mean() for model in (onkel.Classifier(), *peers.values()))
        table.add_row(name, f"{own:.4f}", *(f"{score:.4f}" for score in theirs), "")
        verdicts.at_least(f"accuracy of Classifier() over the better peer, {name}", own - max(theirs), -POINTS)
        if name in ("iris", "wine"):
            verdicts.at_least(f"accuracy on the rows learnt, {name}", onkel.Classifier().fit(X, y).score(X, y), 0.95)


def errors(verdicts: Verdicts, table: Table) -> None:
    ridge = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    tuned = TransformedTargetRegressor(GridSearchCV(ridge, RIDGE_GRID, cv=3), transformer=StandardScaler())
    sets = {"diabetes": sklearn.datasets.load_diabetes(return_X_y=True)}
    if (cadata := stored("cadata")) is not None:
        some = np.random.default_rng(0).permutation(len(cadata[0]))[:5000]
        sets["cadata"] = cadata[0][some], cadata[1][some]
    for name, (X, y) in sets.items():
        own, theirs = (
            -cross_val_score(model, X, y, cv=5, scoring="neg_root_mean_squared_error").mean()
            for model in (onkel.Regressor(), tuned)
        )
        table.add_row(name, f"{own:,.4g}", "", "", f"{theirs:,.4g}")
        verdicts.at_most(f"error of Regressor() over that of the tuned kernel ridge, {name}", own / theirs, SHARE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a stated ratio is missed")
    parser.add_argument("--only", choices=("fit", "cost"))
    asked = parser.parse_args()
    console, verdicts = Console(highlight=False, soft_wrap=True), Verdicts()
    if asked.only != "cost":
        table = headed("five folds", "onkel", "logistic regression", "support vectors", "tuned kernel ridge")
        accuracies(verdicts, table)
        errors(verdicts, table)
        console.print(table, "")
    if asked.only != "fit":
        table = headed("µs a row", "one class", "ten", "ratio")
        classes_cost(verdicts, table)
        console.print(table, "")
        table = headed("µs a row", "two classes", "ten", "ratio")
        one_vs_rest_cost(verdicts, table)
        console.print(table, "")
        face_cost(console, verdicts)
    verdicts.show(asked.check)


def headed(first: str, *others: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


if __name__ == "__main__":
    main()
