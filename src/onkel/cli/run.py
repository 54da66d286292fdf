"""`onkel run`: one learner, one file; a checkpoint now and then, from which it goes on as if it had never stopped."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onkel import data
from onkel._jit import seconds_compiling
from onkel._types import Vector
from onkel.cli.model import Model, called, lags_for, read_learner, task_of
from onkel.cli.opening import opened
from onkel.cli.options import Inputs
from onkel.cli.resuming import Learnt, resumed
from onkel.cli.telling import covered, decided, heading, notes, references, short, shown
from onkel.cli.watch import CtrlC, Watch
from onkel.cli.writing import check_model, check_places
from onkel.data.target import cell
from onkel.errors import InputError
from onkel.learners.protocol import suited
from onkel.measure import Trace
from onkel.report.page import Page
from onkel.report.plots import draw_curves
from onkel.report.tables import lines, memory
from onkel.state import nbytes

PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Outputs:
    """What the user wants to have."""

    save: Path | None = None
    every: float = 10.0  # seconds between checkpoints
    resume: bool = False
    append: bool = False
    plot: Path | None = None
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.plot is not None and self.plot.suffix not in PICTURES:
            raise InputError(f"cannot draw {self.plot}: the name must end in {' or '.join(PICTURES)}")
        if self.resume and self.save is None:
            raise InputError("--resume goes on from a saved model; say which: --save model.onkel --resume")
        if self.append and self.resume:
            raise InputError("--resume goes on behind the rows learnt, --append at the first row of the files; say one of them")
        if self.append and (self.save is None or not self.save.exists()):
            raise InputError("--append goes on from a saved model; say which: --save model.onkel --append")
        if not self.every >= 0.0:
            raise InputError(f"--every must be a number of seconds, at least 0, got {self.every}")

    def check(self, inputs: Inputs) -> None:
        if inputs.rows.shuffle is not None and (inputs.follow is not None or self.resume):
            option = "--resume" if self.resume else "--follow"
            raise InputError(f"--shuffle needs all rows at once, {option} learns them in their own order; say one of them")
        check_places({"--save": self.save, "--plot": self.plot}, inputs.paths)
        if self.save is not None:
            check_model(self.save)


def run_file(inputs: Inputs, learner: str | None, outputs: Outputs) -> None:
    outputs.check(inputs)
    if (outputs.resume or outputs.append) and outputs.save is not None and outputs.save.exists():
        model, stream = resumed(inputs, learner, outputs.save, outputs.append)
    else:
        chosen = read_learner(learner)
        lags = lags_for(chosen, inputs.rows.lags, inputs.rows.shuffle is not None)
        stream = opened(inputs, [chosen])
        model = Model.fresh(suited(chosen, task_of(stream.target)), stream, stream.encoder.init(), inputs.target.raw, lags)
    kept: list[Vector] = []
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
        print(json.dumps(_result(model, stream, each, inputs, outputs)))
    else:
        _print(model, stream, each, inputs, outputs)
    if stop.pressed:
        sys.exit(130)


def _learn(model: Model, stream: data.Stream, outputs: Outputs, watch: Watch, stop: CtrlC, kept: list[Vector]) -> float:
    """Learn what is left of the stream, or until Ctrl-C; the seconds in the learner."""
    seconds, saved = 0.0, time.monotonic()
    warm, learnt = False, Learnt(model, stream, outputs.save)
    for X, y in stream.after(model.rows, model.encoded, learnt.add):
        if len(y) and not warm:
            model.warm_up(X, y)
            watch.begin(model.rows)
            warm = True
        began = time.perf_counter() - seconds_compiling()
        if len(y):
            model.learn(X, y)
        seconds += time.perf_counter() - seconds_compiling() - began
        learnt.mark()
        if outputs.plot is not None and len(y):
            kept.append(model.losses)
        watch.show(model.rows, shown(model.tally, model.tally.means()))
        if outputs.save is not None and len(y) and time.monotonic() - saved >= outputs.every:
            model.save(outputs.save)
            saved = time.monotonic()
        if stop.pressed:
            return seconds
    learnt.check_whole()
    return seconds


def _say_how_to_go_on(model: Model, outputs: Outputs) -> None:
    page = Page(errors=True)
    if outputs.save is None:
        page.say(f"stopped after {model.rows:,} rows; with --save model.onkel it could have gone on from here")
        return
    again = [*(word for word in sys.argv[1:] if word not in ("--append", "--resume")), "--resume"]
    page.say(f"stopped after {model.rows:,} rows, which {outputs.save} holds; go on with:")
    page.say_whole(f"  onkel {shlex.join(again)}")


def _draw(path: Path, model: Model, stream: data.Stream, kept: list[Vector]) -> None:
    losses = np.concatenate(kept)
    metric = next(iter(model.tally.means()))
    trace = Trace(model.own, model.state, losses, losses, {metric: losses})
    title = f"{short(stream.name)}: {stream.target.name}"
    name = called(model.own)
    told = {}
    if model.task == "classification":
        of_two = f" of {cell(model.labels[1])}" if len(model.labels) == 2 else ""
        told = {f"probabilities{of_two}": model.tally.reliability()}
    draw_curves(path, {name: trace}, metric, max(1, trace.rows // 50), title, told=told)


def _result(model: Model, stream: data.Stream, each: float, inputs: Inputs, outputs: Outputs) -> dict[str, Any]:
    return {
        "file": stream.name,
        "target": model.target.name,
        "task": model.task,
        **({"classes": [cell(label) for label in model.labels]} if model.task == "classification" else {}),
        "learner": repr(model.own),
        "lags": model.lags,
        "standardised": {"inputs": model.scales.inputs, "target": model.scales.targets},
        "rows": model.tally.rows,
        "earlier_rows": model.earlier,
        "inputs": len(stream.names),
        "columns": model.encoder.width,
        **model.tally.means(),
        **(_believed(model) if model.task == "classification" else {}),
        **({"coverage": model.coverage} if model.task == "regression" else {}),
        **{name.replace(" ", "_"): means for name, means in model.tally.references().items()},
        "microseconds_per_row": each,
        "bytes": nbytes(model.state),
        **({"decided": decided(model)} if decided(model) else {}),
        "notes": notes(model, stream, inputs),
        "saved": outputs.save and str(outputs.save),
    }


def _believed(model: Model) -> dict[str, float]:
    told = model.tally.reliability()
    return {"brier": told.brier, "calibration_error": told.calibration_error}


def _print(model: Model, stream: data.Stream, each: float, inputs: Inputs, outputs: Outputs) -> None:
    page = Page()
    page.say(heading(model, stream, model.lags))
    cost = {"µs a row": f"{each:.1f}", "memory": memory(nbytes(model.state))}
    page.show(
        lines({called(model.own): {**shown(model.tally, model.tally.means()), **covered([model]), **cost}}, references(model))
    )
    if sentences := decided(model):
        page.say("; ".join(sentences))
    for note in notes(model, stream, inputs):
        page.say(f"note: {note}", style="yellow")
    if outputs.save is not None:
        use = shlex.join(["onkel", "predict", str(outputs.save)])
        page.say(f"saved {outputs.save} ({memory(outputs.save.stat().st_size)}); use it: {use} FILE")
    if outputs.plot is not None:
        page.say(f"drew {outputs.plot}")


def patience(follow: bool, idle: float | None) -> float | None:
    if idle is not None and not follow:
        raise InputError("--idle says how long to wait for a file that grows; it goes with --follow")
    return (math.inf if idle is None else idle) if follow else None
