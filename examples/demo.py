"""`make demo`: Auto and a linear model on a real stream, beside River's forest.

2,310 patches of outdoor pictures, each described by 18 numbers (colours, edges, where it lies); is it brick, sky, foliage, cement,
window, path or grass? The rows come with River, in the order in which River gives them, and each is answered before it is learnt.
Nobody was tuned: `Auto()` has no settings, and River's adaptive random forest has the ten trees of its default.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from river import datasets, forest

import onkel
from onkel import Constant, Identity
from onkel._types import Matrix, Vector
from onkel.combine import Scaled
from onkel.measure import Trace
from onkel.report.plots import draw_curves
from onkel.report.results import results

METRIC, WINDOW = "mistakes", 300
LEARNERS = {
    "Auto": onkel.Auto(),
    "linear": Scaled(onkel.PKAWV(features=Identity() + Constant()), targets=False),
}


def mistakes(scores: Matrix, labels: Matrix) -> Vector:
    """1 for each row whose largest score is not that of its class, else 0."""
    return np.asarray(scores.argmax(axis=1) != labels.argmax(axis=1), dtype=float)


def of_the_forest(rows: list[dict[str, float]], kinds: list[Any]) -> Trace:
    """River's forest, row by row, as River's users run it."""
    model = forest.ARFClassifier(n_models=10, seed=0)
    wrong, began = np.empty(len(rows)), time.perf_counter()
    for t, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        wrong[t] = model.predict_one(row) != kind
        model.learn_one(row, kind)
    seconds = time.perf_counter() - began
    return Trace(model, None, wrong, wrong, {METRIC: wrong}, [len(rows)], [seconds], [int(model._raw_memory_usage)])


def main() -> None:
    began = time.perf_counter()
    console = Console(highlight=False, soft_wrap=True)
    rows, kinds = (list(part) for part in zip(*datasets.ImageSegments(), strict=True))
    X = np.array([list(row.values()) for row in rows], dtype=float)
    Y = np.asarray(np.array(kinds)[:, None] == sorted(set(kinds)), dtype=float)  # one 0/1 column a class
    traces = {
        name: onkel.prequential(learner, (X, Y), metrics={METRIC: mistakes})
        for name, learner in track(LEARNERS.items(), description="learning", console=console, transient=True)
    }
    traces["River's forest"] = of_the_forest(rows, kinds)
    console.print(f"{len(X):,} patches of outdoor pictures, seven classes; every row is answered before it is learnt\n")
    console.print(results(traces))
    auto, _, of_forest = (f"{trace.losses[METRIC].mean():.1%}" for trace in traces.values())
    title = f"Auto errs in {auto} of the rows, River's forest in {of_forest}"
    picture = draw_curves(Path("demo.png"), {name: trace.losses[METRIC] for name, trace in traces.items()}, METRIC, WINDOW, title)
    console.print(f"\ndrew {picture} in {time.perf_counter() - began:.0f} s, compilation included")


if __name__ == "__main__":
    main()
