"""`onkel run`: one model on one stream, with regular checkpoints. A resumed run gives the same result as one never stopped."""

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

from onkel.cli import STOPPED
from onkel.cli.options import Inputs, read_learner
from onkel.cli.resuming import resumed
from onkel.cli.watch import CtrlC, ProgressLine
from onkel.errors import InputError
from onkel.measure import Evaluation, Result
from onkel.measure.advice import on_no_rows
from onkel.measure.engine import as_json, of_recent_rows
from onkel.measure.errors import headline_of
from onkel.measure.metrics import MAPE, Metric, named
from onkel.persist.places import check_model, check_place
from onkel.persist.run import Run
from onkel.report.page import Page
from onkel.report.plots import draw_result
from onkel.report.results import SHOWN, changes, confusion, errors_shown, heading, memory, table
from onkel.report.style import check_drawing

PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Outputs:
    """What is written, and where."""

    save: Path | None = None
    every: float = 10.0  # seconds between checkpoints
    resume: bool = False
    append: bool = False
    plot: Path | None = None
    as_json: bool = False
    metrics: str | None = None  # names of metrics, the columns of the table
    html: Path | None = None
    html_option: str = "--html"  # the option that named it
    as_sentences: bool = False  # whether the terminal says what that page says first, instead of a table
    seconds: float | None = None  # for the importance of columns on that page; 0: it is not measured; None: the usual time

    def __post_init__(self) -> None:
        if self.plot is not None and self.plot.suffix not in PICTURES:
            raise InputError(f"cannot draw {self.plot}: the name must end in {' or '.join(PICTURES)}")
        if self.resume and self.save is None:
            raise InputError("--resume continues from a saved model; name it: --save model.onkel --resume")
        if self.append and self.resume:
            raise InputError(
                "--resume continues after the rows learnt, --append at the first row of the files; give only one of them"
            )
        if self.append and (self.save is None or not self.save.exists()):
            raise InputError("--append continues from a saved model; name one that exists: --save model.onkel --append")
        if not self.every >= 0.0:
            raise InputError(f"--every must be a number of seconds, at least 0, got {self.every}")

    def check(self, inputs: Inputs) -> None:
        if inputs.rows.shuffle is not None and (inputs.follow is not None or self.resume):
            option = "--resume" if self.resume else "--follow"
            raise InputError(f"--shuffle needs all rows at once, {option} learns them in their own order; give only one of them")
        for option, place in (("--save", self.save), ("--plot", self.plot)):
            if place is not None:
                check_place(option, place, inputs.paths)
        if self.plot is not None:
            check_drawing()
        if self.html is not None:
            from onkel.cli.pages import check_html  # only a page needs what makes pages

            check_html(self.html_option, self.html, inputs)
        if self.save is not None:
            check_model(self.save)
            if self.plot is not None and self.save.resolve() == self.plot.resolve():
                raise InputError(f"--save and --plot name the same file, {self.save}; name two")


def run_file(inputs: Inputs, learner: str | None, outputs: Outputs) -> None:
    outputs.check(inputs)
    run = _begun(inputs, learner, outputs)
    if outputs.html is not None:
        run.evaluation.observe()
    metrics = SHOWN if outputs.metrics is None else named(outputs.metrics, run.evaluation.state.target.task)
    replaces = not (outputs.resume or outputs.append) and outputs.save is not None and outputs.save.exists()
    with ProgressLine(run.stream.rows or run.stream.about(), run.rows_to_skip) as progress, CtrlC() as stop:
        _learn(run, outputs.every, progress, stop)
    run.save()
    if stop.pressed:
        _say_how_to_continue(run)
    if not run.evaluation.errors.rows:
        raise InputError(on_no_rows(run.evaluation.state, run.stream))
    result = run.evaluation.result(run.stream, run.earlier)
    result = dataclasses.replace(result, notes=(*run.notes(), *result.notes))
    recent = None if run.evaluation.recent is None else of_recent_rows(result, run.evaluation.recent)
    if outputs.plot is not None:
        draw_result(outputs.plot, result)
    of_page: dict[str, Any] = {}
    said: list[str] = []
    if outputs.html is not None:
        of_page, said = _write_page(outputs.html, run, result, 0.0 if stop.pressed else outputs.seconds)
    if outputs.as_json:
        new = {} if recent is None else {"new_rows": {"rows": recent.rows, **as_json(recent.errors)}}
        print(json.dumps({**result.to_json(), **new, "saved": outputs.save and str(outputs.save), **of_page}))
    else:
        _print(result, recent, outputs, metrics, replaces, said if outputs.as_sentences else [])
    if stop.pressed:
        sys.exit(STOPPED)


def _write_page(path: Path, run: Run, result: Result, seconds: float | None) -> tuple[dict[str, Any], list[str]]:
    """Write the page. Returns what is to be said of it as JSON, and in sentences."""
    from onkel.cli.pages import importance_json, page_of_run, said_first

    contents = page_of_run(path, run, result, seconds)
    return {"html": str(path), **importance_json(contents.importance)}, said_first(contents)


def _begun(inputs: Inputs, learner: str | None, outputs: Outputs) -> Run:
    if (outputs.resume or outputs.append) and outputs.save is not None and outputs.save.exists():
        return resumed(inputs, learner, outputs.save, outputs.append)
    model = inputs.model(read_learner(learner))
    stream = model.open(inputs.path, inputs.reading)
    return Run(Evaluation.begin(model, stream), stream, outputs.save, is_hashed=outputs.html is not None)


def _learn(run: Run, seconds_between_saves: float, progress: ProgressLine, stop: CtrlC) -> None:
    """Learn the rest of the stream, or until Ctrl-C."""
    saved = time.monotonic()
    for rows in run.tables():
        if len(rows) and not run.evaluation.warm:
            run.evaluation.warm_up(rows)
            progress.begin()
        run.evaluation.learn(rows)
        progress.show(run.rows, lambda: errors_shown(headline_of(run.evaluation.errors)))
        if len(rows) and time.monotonic() - saved >= seconds_between_saves:
            run.save()
            saved = time.monotonic()
        if stop.pressed:
            return


def _say_how_to_continue(run: Run) -> None:
    page = Page(errors=True)
    if run.path is None:
        page.say(f"stopped after {run.rows:,} rows; with --save model.onkel it could have been continued from here")
        return
    again = [*(word for word in sys.argv[1:] if word not in ("--append", "--resume")), "--resume"]
    page.say(f"stopped after {run.rows:,} rows, which {run.path} holds; continue with:")
    page.say_whole(f"  onkel {shlex.join(again)}")


def _print(
    result: Result, recent: Result | None, outputs: Outputs, metrics: Sequence[Metric], replaces: bool, sentences: Sequence[str]
) -> None:  # fmt: skip
    """Print the result: in sentences if there are any, else as a table."""
    page = Page()
    page.say(heading(result))
    for sentence in sentences:
        page.say(sentence)
    if not sentences:
        page.show(table({result.name: [result]}, metrics=metrics))
    if recent is not None and recent.rows:
        page.say(f"the {recent.rows:,} new rows alone:")
        page.show(table({result.name: [recent]}, metrics=metrics))
    if MAPE.name in {metric.name for metric in metrics} and (zeros := int(result.errors["mape_left_out"])):
        page.note([f"{MAPE.title} leaves out rows whose {result.target} is 0, {zeros:,} of {result.rows:,}"])
    if outputs.metrics is not None and (confused := confusion(result)) is not None:
        page.show(confused)
    for said in changes(result):
        page.say(said)
    if result.findings:
        page.say("; ".join(result.findings))
    page.note(result.notes)
    if outputs.save is not None:
        use = shlex.join(["onkel", "predict", str(outputs.save)])
        page.say(f"saved {outputs.save} ({memory(outputs.save.stat().st_size)}); use it: {use} FILE")
        if replaces:
            page.say(f"it replaced an earlier model in {outputs.save}; a saved model learns further files with --append")
    if outputs.plot is not None:
        page.say(f"drew {outputs.plot}")
    if outputs.html is not None:
        page.say(
            f"wrote {outputs.html} ({memory(outputs.html.stat().st_size)}); open it in a browser, or send it: it needs no network"
        )


def follow_timeout(follow: bool, idle: float | None) -> float | None:
    """Seconds without new data after which a followed file ends; None if the file is not followed."""
    if idle is not None and not follow:
        raise InputError("--idle says how long to wait for a file that grows; use it together with --follow")
    return (math.inf if idle is None else idle) if follow else None
