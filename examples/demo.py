"""`make demo`: Auto and a linear model on a real stream, beside River's forest: a table, a picture and a page.

2,310 patches of outdoor pictures, each described by 18 numbers (colours, edges, where it lies); is it brick, sky, foliage, cement,
window, path or grass? The rows come with River, in the order in which River gives them, and each is answered before it is learnt.
Nobody was tuned: `Auto()` has no settings, and River's adaptive random forest has the ten trees of its default.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from rich.console import Console
from rich.progress import track
from river import datasets, forest

import onkel
from onkel import Constant, Identity
from onkel._types import Vector
from onkel.measure import Evaluation, Result, Trace
from onkel.measure.effects import effects
from onkel.measure.importance import Importance, importance
from onkel.report.html import Contents, Peer, write
from onkel.report.plots import draw_curves
from onkel.report.results import results

METRIC, WINDOW, SECONDS = "mistakes", 300, 20.0
LEARNERS = {"Auto": onkel.Auto(), "linear": onkel.PKAWV(features=Identity() + Constant())}
FOREST = "River's forest"


class Turn:
    """One of our learners on all rows."""

    def __init__(self, learner: Any, rows: pandas.DataFrame) -> None:
        self.model = onkel.Model(target="kind", learner=learner)
        self.stream = self.model.open(rows)
        self.evaluation = Evaluation.begin(self.model, self.stream)
        self.evaluation.observe()
        wrong = np.concatenate([self.evaluation.learn(table) for table in self.stream.tables()])
        self.result: Result = dataclasses.replace(self.evaluation.result(self.stream), source="River's image segments")
        self.trace = _trace(self.model, wrong, self.evaluation.watch.seconds, self.result.bytes)


def _trace(learner: Any, wrong: Vector, seconds: float, nbytes: int) -> Trace:
    return Trace(learner, None, wrong, wrong, {METRIC: wrong}, [len(wrong)], [seconds], [nbytes])


def of_the_forest(rows: list[dict[str, float]], kinds: list[Any]) -> Trace:
    """River's forest, row by row, as River's users run it."""
    model = forest.ARFClassifier(n_models=10, seed=0)
    wrong, began = np.empty(len(rows)), time.perf_counter()
    for t, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        wrong[t] = model.predict_one(row) != kind
        model.learn_one(row, kind)
    seconds = time.perf_counter() - began
    return _trace(model, wrong, seconds, int(model._raw_memory_usage))


def write_page(turns: dict[str, Turn], forest: Trace) -> Path:
    """Our learners and River's forest on one page, with what the columns are worth to the first learner."""
    auto, peer = turns["Auto"], Peer(forest.losses[METRIC], 1e6 * forest.seconds / forest.rows, forest.nbytes)
    observed = auto.evaluation.observed
    assert observed is not None
    found = importance(auto.model, auto.stream, observed.first, observed.error, SECONDS)
    curves = effects(auto.model, auto.evaluation.state, observed.first, found.names[:9]) if isinstance(found, Importance) else ()
    runs = {name: [turn.result] for name, turn in turns.items()}
    return write(Path("demo.html"), Contents(runs, {FOREST: peer}, found, curves, command="make demo"))


def main() -> None:
    began = time.perf_counter()
    console = Console(highlight=False, soft_wrap=True)
    rows, kinds = (list(part) for part in zip(*datasets.ImageSegments(), strict=True))
    labelled = pandas.DataFrame(rows).assign(kind=kinds)
    turns = {
        name: Turn(learner, labelled)
        for name, learner in track(LEARNERS.items(), description="learning", console=console, transient=True)
    }
    traces = {name: turn.trace for name, turn in turns.items()} | {FOREST: of_the_forest(rows, kinds)}
    console.print(f"{len(rows):,} patches of outdoor pictures, seven classes; every row is answered before it is learnt\n")
    console.print(results(traces))
    auto, _, of_forest = (f"{trace.losses[METRIC].mean():.1%}" for trace in traces.values())
    title = f"Auto errs in {auto} of the rows, River's forest in {of_forest}"
    picture = draw_curves(Path("demo.png"), {name: trace.losses[METRIC] for name, trace in traces.items()}, METRIC, WINDOW, title)
    console.print(f"\ndrew {picture} in {time.perf_counter() - began:.0f} s, compilation included")
    console.print(f"wrote {write_page(turns, traces[FOREST])}: open it in a browser")


if __name__ == "__main__":
    main()
