"""`onkel run`: one model, one file; a checkpoint now and then, from which it goes on as if it had never stopped."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from onkel.cli.options import Inputs
from onkel.cli.resuming import Run, resumed, started
from onkel.cli.watch import CtrlC, Watch
from onkel.cli.writing import check_model, check_places
from onkel.errors import InputError
from onkel.measure import Result
from onkel.report.page import Page
from onkel.report.plots import draw_curves
from onkel.report.results import errors_shown, heading, memory, short, table

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
            raise InputError("--resume goes on after the rows learnt, --append at the first row of the files; say one of them")
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
    goes_on = (outputs.resume or outputs.append) and outputs.save is not None and outputs.save.exists()
    run = resumed(inputs, learner, outputs.save, outputs.append) if goes_on and outputs.save else started(inputs, learner)
    run.evaluation.losses = [] if outputs.plot is not None else None
    with Watch(run.stream.rows or run.stream.about(), run.rows) as watch, CtrlC() as stop:
        _learn(run, outputs, watch, stop)
    if outputs.save is not None:
        run.save(outputs.save)
    if stop.pressed:
        _say_how_to_go_on(run, outputs)
    if not run.evaluation.errors.rows:
        raise InputError(f"{run.stream.name}: no row was left to learn from; see --missing")
    result = run.evaluation.result(run.stream, run.earlier)
    if outputs.plot is not None and result.losses is not None and len(result.losses):
        _draw(outputs.plot, result)
    if outputs.as_json:
        print(json.dumps({**result.to_json(), "saved": outputs.save and str(outputs.save)}))
    else:
        _print(result, outputs)
    if stop.pressed:
        sys.exit(130)


def _learn(run: Run, outputs: Outputs, watch: Watch, stop: CtrlC) -> None:
    """Learn what is left of the stream, or until Ctrl-C."""
    saved = time.monotonic()
    for rows in run.tables():
        if len(rows) and not run.evaluation.warm:
            run.evaluation.warm_up(rows)
            watch.begin(run.rows)
        run.learn(rows)
        watch.show(run.rows, errors_shown(run.evaluation.errors.means()))
        if outputs.save is not None and len(rows) and time.monotonic() - saved >= outputs.every:
            run.save(outputs.save)
            saved = time.monotonic()
        if stop.pressed:
            return
    run.check_whole()


def _say_how_to_go_on(run: Run, outputs: Outputs) -> None:
    page = Page(errors=True)
    if outputs.save is None:
        page.say(f"stopped after {run.rows:,} rows; with --save model.onkel it could have gone on from here")
        return
    again = [*(word for word in sys.argv[1:] if word not in ("--append", "--resume")), "--resume"]
    page.say(f"stopped after {run.rows:,} rows, which {outputs.save} holds; go on with:")
    page.say_whole(f"  onkel {shlex.join(again)}")


def _draw(path: Path, result: Result) -> None:
    assert result.losses is not None
    believed = {}
    if result.reliability is not None:
        of_two = f" of {result.classes[1]}" if len(result.classes) == 2 else ""
        believed = {f"probabilities{of_two}": result.reliability}
    title, window = f"{short(result.source)}: {result.target}", max(1, len(result.losses) // 50)
    draw_curves(path, {result.name: result.losses}, result.measure, window, title, told=believed)


def _print(result: Result, outputs: Outputs) -> None:
    page = Page()
    page.say(heading(result))
    page.show(table({result.name: [result]}))
    if result.decided:
        page.say("; ".join(result.decided))
    for note in result.notes:
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
