"""`onkel run`: one learner, one file; a checkpoint now and then, from which it goes on as if it had never stopped."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from onkel import data
from onkel._jit import seconds_compiling
from onkel._types import Vector
from onkel.cli.model import Model, read_learner
from onkel.cli.watch import CtrlC, Watch
from onkel.data.encoder import Missing
from onkel.data.files import read_again
from onkel.data.target import Signs, plain, two_labels
from onkel.errors import InputError
from onkel.measure import Trace
from onkel.report.plots import draw_curves
from onkel.report.tables import console, lines, memory, number
from onkel.state import nbytes

BLOCK = 4096  # rows; a run that goes on repeats the same cuts, which lie at its multiples
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Inputs:
    """What the user said about the file."""

    path: str
    target: str | None = None
    columns: Sequence[str] | None = None
    task: str = "auto"
    missing: str = Missing.REFUSE
    text: Sequence[str] = ()
    dates: Sequence[str] = ()
    labels: tuple[str, str] | None = None
    format: str | None = None
    follow: float | None = None

    def stream(self) -> data.Stream:
        declared = (self.columns, self.missing, self.text, self.dates, self._labels())
        found = data.read(self.path, self.target, BLOCK, *declared, self.follow, self.format)
        return labelled(found, self.task)

    def _labels(self) -> Any:
        """Labels that look like numbers are numbers."""
        if self.labels is None:
            return None
        try:
            low, high = map(float, self.labels)
        except ValueError:
            return self.labels
        return low, high


@dataclass(frozen=True)
class Outputs:
    """What the user wants to have."""

    save: Path | None = None
    every: float = 10.0  # seconds between checkpoints
    resume: bool = False
    plot: Path | None = None
    as_json: bool = False

    def __post_init__(self) -> None:
        for place in (self.save, self.plot):
            if place is not None and (place.is_dir() or not place.parent.is_dir()):
                raise InputError(f"cannot write {place}: it is a folder, or there is no folder {place.parent}; name a file")
        if self.plot is not None and self.plot.suffix not in PICTURES:
            raise InputError(f"cannot draw {self.plot}: the name must end in {' or '.join(PICTURES)}")
        if self.resume and self.save is None:
            raise InputError("--resume goes on from a saved model; say which: --save model.onkel --resume")
        if not self.every >= 0.0:
            raise InputError(f"--every must be a number of seconds, at least 0, got {self.every}")


def run_file(inputs: Inputs, learner: str | None, raw: bool, outputs: Outputs) -> None:
    if outputs.resume and outputs.save is not None and outputs.save.exists():
        model, stream = _resumed(inputs, learner, outputs.save)
    else:
        stream = inputs.stream()
        model = Model.fresh(read_learner(learner, task_of(stream), raw), stream, raw)
    kept: list[tuple[Vector, Vector]] = []
    before = model.tally.rows
    with Watch(stream.rows or stream.about(), model.rows) as watch, CtrlC() as stop:
        seconds = _learn(model, stream, outputs, watch, stop, kept)
    if outputs.save is not None:
        model.save(outputs.save)
    if stop.pressed:
        _say_how_to_go_on(model, outputs)
    if not model.tally.rows:
        raise InputError(f"{stream.name}: no row was left to learn from; see --missing")
    each = 1e6 * seconds / max(1, model.tally.rows - before)
    if outputs.plot is not None and kept:
        _draw(outputs.plot, model, stream, kept)
    if outputs.as_json:
        print(json.dumps(_result(model, stream, each, outputs)))
    else:
        _print(model, stream, each, outputs)
    if stop.pressed:
        sys.exit(130)


def _learn(
    model: Model, stream: data.Stream, outputs: Outputs, watch: Watch, stop: CtrlC, kept: list[tuple[Vector, Vector]]
) -> float:
    """Learn what is left of the stream, or until Ctrl-C; the seconds in the learner."""
    seconds, saved = 0.0, time.monotonic()
    warm = False
    for X, y in stream.after(model.rows, model.encoded):
        if len(y) and not warm:
            model.warm_up(X, y)
            watch.begin(model.rows)
            warm = True
        began = time.perf_counter() - seconds_compiling()
        scores = model.learn(X, y) if len(y) else y
        seconds += time.perf_counter() - seconds_compiling() - began
        model.rows = stream.done
        if outputs.plot is not None:
            kept.append((scores, y))
        watch.show(model.rows, model.tally.means())
        if outputs.save is not None and len(y) and time.monotonic() - saved >= outputs.every:
            model.save(outputs.save)
            saved = time.monotonic()
        if stop.pressed:
            break
    return seconds


def _resumed(inputs: Inputs, learner: str | None, path: Path) -> tuple[Model, data.Stream]:
    model = Model.load(path)
    if learner is not None and model.learner not in (read_learner(learner, model.task, raw) for raw in (False, True)):
        raise InputError(f"{path} holds {model.learner!r:.200}; leave --learner out to go on with it, or --resume to start again")
    if inputs.target not in (None, model.target.name):
        raise InputError(f"{path} predicts {model.target.name!r}, not {inputs.target!r}; leave --resume out to start again")
    return model, read_again(inputs.path, model.encoder, model.target, BLOCK, inputs.follow, inputs.format)


def labelled(stream: data.Stream, task: str) -> data.Stream:
    """The stream held to its task, which the first rows decide where it was left open: two labels become -1 and 1."""
    if isinstance(stream.target, Signs):
        if task == "regression":
            raise InputError(f"{stream.name}: the target {stream.target.name!r} has labels, not numbers; predict another column")
        return stream
    labels = two_labels(stream.sample, stream.target.name)
    if task == "classification" or (task == "auto" and labels is not None):
        return dataclasses.replace(stream, target=Signs(stream.target.name, *(labels or (-1.0, 1.0))))
    return stream


def task_of(stream: data.Stream) -> str:
    return "classification" if isinstance(stream.target, Signs) else "regression"


def _say_how_to_go_on(model: Model, outputs: Outputs) -> None:
    page = Console(stderr=True, highlight=False, soft_wrap=True)
    if outputs.save is None:
        page.print(f"stopped after {model.rows:,} rows; with --save model.onkel it could have gone on from here")
        return
    again = [*sys.argv[1:], *([] if outputs.resume else ["--resume"])]
    page.print(f"stopped after {model.rows:,} rows, which {outputs.save} holds; go on with:\n  onkel {shlex.join(again)}")


def _draw(path: Path, model: Model, stream: data.Stream, kept: list[tuple[Vector, Vector]]) -> None:
    scores, y = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    trace = Trace(model.learner, model.state, scores, y, {name: metric(scores, y) for name, metric in model.metrics.items()})
    title = f"{Path(stream.name).name}: {stream.target.name}"
    draw_curves(path, {type(model.learner).__name__: trace}, next(iter(trace.losses)), max(1, trace.rows // 50), title)


def _result(model: Model, stream: data.Stream, each: float, outputs: Outputs) -> dict[str, Any]:
    return {
        "file": stream.name,
        "target": model.target.name,
        "task": model.task,
        "learner": repr(model.learner),
        "standardised": model.scale is not None,
        "rows": model.tally.rows,
        "inputs": len(stream.names),
        "columns": model.encoder.width,
        **model.tally.means(),
        **{name.replace(" ", "_"): means for name, means in model.tally.references().items()},
        "microseconds_per_row": each,
        "bytes": nbytes(model.state),
        "notes": [*stream.notes(), *model.notes()],
        "saved": outputs.save and str(outputs.save),
    }


def _print(model: Model, stream: data.Stream, each: float, outputs: Outputs) -> None:
    page = console()
    wide = "" if model.encoder.width == len(stream.names) else f" in {model.encoder.width} columns"
    made = f"{len(stream.names)} inputs{wide}, {model.task} of {model.target.name}"
    page.print(f"{Path(stream.name).name}: {model.tally.rows:,} rows, {made}")
    cost = {"µs a row": f"{each:.1f}", "memory": memory(nbytes(model.state))}
    page.print(lines({type(model.learner).__name__: {**shown(model.tally.means()), **cost}}, references(model)))
    for note in [*stream.notes(), *model.notes()]:
        page.print(f"note: {note}", style="yellow", markup=False)
    if isinstance(model.target, Signs) and isinstance(model.target.high, str):
        page.print(f"a score of 0 or more means {plain(model.target.high)}, below 0 {plain(model.target.low)}")
    if outputs.save is not None:
        page.print(f"saved {outputs.save} ({memory(outputs.save.stat().st_size)}); use it: onkel predict {outputs.save} FILE")
        if model.scale is not None:
            page.print("(in Python, its learner wants the inputs standardised; onkel predict does that)")
    if outputs.plot is not None:
        page.print(f"drew {outputs.plot}")


def shown(errors: dict[str, float]) -> dict[str, str]:
    return {name: number(name, value) for name, value in errors.items()}


def references(model: Model) -> dict[str, dict[str, str]]:
    return {f"the {name}": shown(means) for name, means in model.tally.references().items()}


def patience(follow: bool, idle: float | None) -> float | None:
    if idle is not None and not follow:
        raise InputError("--idle says how long to wait for a file that grows; it goes with --follow")
    return (math.inf if idle is None else idle) if follow else None
