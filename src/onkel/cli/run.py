"""`onkel run`: one learner, one file."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

import onkel
from onkel import data
from onkel.data.target import Signs, two_labels
from onkel.errors import InputError
from onkel.measure import Trace, absolute, mistakes, prequential, running_mean, square
from onkel.measure.metrics import Metric
from onkel.report.plots import draw_curves
from onkel.report.tables import memory, results

PICTURES = (".png", ".svg", ".pdf")
SECONDS_BETWEEN_LINES = 5.0  # of progress, where nobody watches a bar

DEFAULT = onkel.PKAWV(features=(onkel.Standardize(), onkel.Fourier(count=100) + onkel.Identity() + onkel.Constant()))
METRICS: dict[str, dict[str, Metric]] = {
    "classification": {"mistakes": mistakes, "square": square},
    "regression": {"square": square, "absolute": absolute},
}


def run_file(
    path: Path,
    target: str | None,
    learner_text: str | None,
    columns: list[str] | None,
    task: str,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    learner = DEFAULT if learner_text is None else read_learner(learner_text)
    for place in (save, plot):
        if place is not None and (place.is_dir() or not place.parent.is_dir()):
            raise InputError(f"cannot write {place}: it is a folder, or there is no folder {place.parent}; name a file")
    if plot is not None and plot.suffix not in PICTURES:
        raise InputError(f"cannot draw {plot}: the name must end in {' or '.join(PICTURES)}")
    stream = data.read(path, target, columns=columns)
    task, stream = labelled(stream, task)
    with Watch(stream.rows) as watch:
        trace = prequential(learner, stream, metrics=METRICS[task], progress=watch.show)
    name = type(learner).__name__
    guess = running_mean(trace.y)
    reference = {metric: float(np.mean(of(guess, trace.y))) for metric, of in METRICS[task].items()}
    if save is not None:
        onkel.save(save, learner, trace.state)
    if plot is not None:
        draw_curves(plot, {name: trace}, next(iter(trace.losses)), max(1, trace.rows // 50), f"{path.name}: {stream.target.name}")
    if as_json:
        result = {"file": str(path), "target": stream.target.name, "task": task, **trace.summary(), "running_mean": reference}
        print(json.dumps({**result, "notes": learner.notes(trace.state), "saved": save and str(save)}))
        return
    console = Console(highlight=False)
    console.print(f"{path.name}: {trace.rows:,} rows, {len(stream.names)} inputs, {task} of {stream.target.name}")
    console.print(results({name: trace}, {"the running mean": reference}))
    for note in learner.notes(trace.state):
        console.print(f"note: {note}", style="yellow")
    if save is not None:
        console.print(f"saved {save} ({memory(save.stat().st_size)}); onkel.load reads it")
        if task == "classification":
            console.print("its labels are -1 and 1: a score of 0 or more means the class 1")
    if plot is not None:
        console.print(f"drew {plot}")


def read_learner(text: str) -> Any:
    learner = onkel.parse(text)
    if not hasattr(learner, "learn"):
        raise InputError(f"{learner!r} is not a learner; name one, such as PKAWV(features={learner!r})")
    return learner


def labelled(stream: data.Stream, task: str) -> tuple[str, data.Stream]:
    """The task, decided by the first rows where it was left open, and the stream held to it: two labels become -1 and 1."""
    if isinstance(stream.target, Signs):
        return "classification", stream
    labels = two_labels(stream.sample, stream.target.name)
    if task == "auto":
        task = "regression" if labels is None else "classification"
    if task == "classification":
        stream = dataclasses.replace(stream, target=Signs(stream.target.name, *(labels or (-1.0, 1.0))))
    return task, stream


class Watch:
    """Progress on the error stream: a bar where a person watches, a line every few seconds in a pipe or a log."""

    def __init__(self, rows: int | None) -> None:
        self.console = Console(stderr=True, highlight=False)
        shape = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()]
        self.bar = Progress(*shape, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("learning", total=rows)
        self.said = time.monotonic()

    def __enter__(self) -> Watch:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def show(self, rows: int, trace: Trace) -> None:
        line = f"{rows:,} rows, {1e6 * trace.seconds / rows:.1f} µs a row"
        self.bar.update(self.task, completed=rows, description=line)
        if not self.console.is_terminal and time.monotonic() - self.said >= SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self.console.print(line)
