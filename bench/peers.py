"""onkel beside River and scikit-learn: python bench/peers.py

Every row is scored before it is learnt, in every system, from the same stream in the same order, with each system's own running
standardisation; one row a call, and for onkel also in blocks of 1,024. River's rows are made into dicts before the clock runs.
Needs the extra `river`. Streams: Friedman's function (generated), Bananas (inside River), and elec2 where ONKEL_DATA names a
folder with elec2.npz. The last label is the reference that looks at nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from river import compose, datasets, forest, linear_model, preprocessing
from sklearn.linear_model import SGDClassifier, SGDRegressor

import onkel
from onkel import Constant, Fourier, Identity, Standardize
from onkel.measure import last_label, mistakes, square
from onkel.report.tables import number

Array = NDArray[np.float64]
Scores = Callable[[Array, Array], tuple[Array, float]]

KERNEL = (Standardize(), Fourier(count=100) + Identity() + Constant())


def streams() -> Iterator[tuple[str, str, Array, Array]]:
    X, y = onkel.data.friedman(10_000, seed=0)
    yield "Friedman, 10,000 rows", "square", X, y
    rows = [(list(x.values()), 1.0 if label else -1.0) for x, label in datasets.Bananas()]
    yield (
        f"Bananas, {len(rows):,} rows",
        "mistakes",
        np.array([x for x, _ in rows], dtype=float),
        np.array([label for _, label in rows]),
    )
    file = Path(os.environ.get("ONKEL_DATA", "")) / "elec2.npz"
    if file.is_file():
        with np.load(file) as elec2:
            yield f"elec2, {len(elec2['y']):,} rows", "mistakes", elec2["X"].astype(float), elec2["y"].astype(float)


def onkel_rows(learner: Any, size: int = 1) -> Scores:
    def scores(X: Array, y: Array) -> tuple[Array, float]:
        blocks = [(X[t : t + size], y[t : t + size]) for t in range(0, len(X), size)]
        learner.learn(learner.init(X.shape[1]), X[:100], y[:100])  # loads the compiled code
        learner.learn(learner.init(X.shape[1]), *blocks[0])
        state = learner.init(X.shape[1])
        began = time.perf_counter()
        out = [learner.learn(state, *block) for block in blocks]
        return np.concatenate(out), time.perf_counter() - began

    return scores


def river_rows(model: Any, classify: bool) -> Scores:
    def scores(X: Array, y: Array) -> tuple[Array, float]:
        rows = [dict(enumerate(row)) for row in X.tolist()]
        labels = (y > 0).tolist() if classify else y.tolist()
        out = np.empty(len(y))
        began = time.perf_counter()
        for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
            out[t] = model.predict_proba_one(row).get(True, 0.5) - 0.5 if classify else model.predict_one(row)
            model.learn_one(row, label)
        return out, time.perf_counter() - began

    return scores


def sklearn_rows(model: Any, classify: bool) -> Scores:
    def scores(X: Array, y: Array) -> tuple[Array, float]:
        scale = Standardize()
        Z = np.empty_like(X)
        scale.write(scale.init(X.shape[1]), X, np.ones(len(X)), Z, 0)
        more = {"classes": [-1.0, 1.0]} if classify else {}
        out = np.zeros(len(y))
        began = time.perf_counter()
        for t in range(len(y)):
            if t:
                out[t] = (model.decision_function if classify else model.predict)(Z[t : t + 1])[0]
            model.partial_fit(Z[t : t + 1], y[t : t + 1], **(more if t == 0 else {}))
        return out, time.perf_counter() - began

    return scores


def contenders(metric: str) -> dict[str, Scores]:
    scaled = preprocessing.StandardScaler
    if metric == "square":
        return {
            "onkel PKAWV": onkel_rows(onkel.PKAWV(KERNEL)),
            "onkel PKAWV, in blocks": onkel_rows(onkel.PKAWV(KERNEL), 1024),
            "River linear regression": river_rows(compose.Pipeline(scaled(), linear_model.LinearRegression()), False),
            "River adaptive random forest": river_rows(forest.ARFRegressor(seed=0), False),
            "scikit-learn SGDRegressor": sklearn_rows(SGDRegressor(random_state=0), False),
        }
    return {
        "onkel PKAWV": onkel_rows(onkel.PKAWV(KERNEL)),
        "onkel PKAWV, in blocks": onkel_rows(onkel.PKAWV(KERNEL), 1024),
        "onkel PKAWV, forgetting 0.995": onkel_rows(onkel.PKAWV(KERNEL, forgetting=0.995)),
        "River logistic regression": river_rows(compose.Pipeline(scaled(), linear_model.LogisticRegression()), True),
        "River adaptive random forest": river_rows(forest.ARFClassifier(seed=0), True),
        "scikit-learn SGDClassifier": sklearn_rows(SGDClassifier(loss="log_loss", random_state=0), True),
    }


def main() -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, justify in (("stream", "left"), ("learner", "left"), ("error", "right"), ("µs a row", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for name, metric, X, y in streams():
        named = {"square": square, "mistakes": mistakes}[metric]
        for k, (learner, scores) in enumerate(track(contenders(metric).items(), description=name, transient=True)):
            out, seconds = scores(X, y)
            error = named(out, y).mean()
            table.add_row(
                "" if k else f"{name} ({metric})", learner, number(metric, float(error)), f"{1e6 * seconds / len(y):,.1f}"
            )
        table.add_row("", "the last label", number(metric, float(named(last_label(y), y).mean())), "", style="dim")
    Console(highlight=False, soft_wrap=True).print(table)


if __name__ == "__main__":
    main()
