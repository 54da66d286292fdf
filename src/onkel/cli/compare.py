"""`onkel compare`: several learners on one stream, in one pass. Learners with a seed run several times."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from onkel.cli import STOPPED
from onkel.cli.catalogue import learners
from onkel.cli.options import Inputs, read_learner
from onkel.cli.watch import CtrlC, ProgressLine
from onkel.data.columns import listed
from onkel.data.reading import STANDARD_INPUT
from onkel.errors import InputError, did_you_mean
from onkel.measure.advice import on_order, on_target
from onkel.measure.comparison import Comparison, Contender, nothing, opened_for
from onkel.measure.engine import as_json
from onkel.measure.running_time import ROWS_IF_UNKNOWN, Cost, is_quadratic, measured, work_of
from onkel.persist.fingerprint import Fingerprint
from onkel.report.page import Page
from onkel.report.results import duration, errors_shown, heading, memory, microseconds_per_row, table

DEFAULTS = ("Auto", "PKAWV", "PKAWV(features=Identity() + Constant())")

CODE = re.compile(r"\s*([A-Za-z_]\w*)\s*(\(.*)?", re.DOTALL)  # a name, maybe with settings


def split_files_and_learners(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Files, and after them learners. A word that names a learner is a learner, even if a file has the same name."""
    first = next((k for k, word in enumerate(words) if _names_learner(word) or not Path(word).exists()), len(words))
    files, strings = words[:first], words[first:]
    for text in strings:
        if not _names_learner(text) and Path(text).exists():
            raise InputError(f"{text} is a file, after a learner; name all files first")
        if not CODE.fullmatch(text):
            raise InputError(f"{text!r} is neither a file nor a learner; check the path, or see: onkel learners")
    return files, strings


def _names_learner(text: str) -> bool:
    found = CODE.fullmatch(text)
    return found is not None and found[1] in learners()


@dataclass(frozen=True)
class Race:
    """The learners to compare, written as Python code, and the files to compare them on."""

    inputs: Inputs
    strings: Sequence[str]
    seeds: int = 1
    html: Path | None = None  # the page to write

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"--seeds must be at least 1, got {self.seeds}")
        if twice := [text for text in self.strings if list(self.strings).count(text) > 1]:
            raise InputError(f"{twice[0]} is named twice; name each learner once")

    def opened(self) -> Comparison:
        """The comparison before its first row."""
        contenders = [Contender(text, self.inputs.model(read_learner(text))) for text in self.strings]
        stream = opened_for(contenders, self.inputs.path, self.inputs.reading)
        return Comparison(contenders, stream, self.seeds, observe=self.html is not None)


def without(strings: Sequence[str], skipped: Sequence[str]) -> list[str]:
    """The learners (by default DEFAULTS) without those in `skipped`, which gives learners in full or by their names only."""
    strings = list(strings or DEFAULTS)
    known = list(dict.fromkeys([*strings, *map(_bare_name, strings)]))
    for name in skipped:
        if name not in known:
            raise InputError(f"--skip: {name!r} is not compared; {did_you_mean(name, known)}choose one of: {listed(strings)}")
    left = [text for text in strings if text not in skipped and _bare_name(text) not in skipped]
    if not left:
        raise InputError("--skip leaves no learner to compare; skip fewer")
    return left


def _bare_name(text: str) -> str:
    return text.partition("(")[0].strip()


def compare_file(race: Race, workers: int, as_json: bool) -> None:
    if workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    if race.html is not None:
        from onkel.cli.pages import check_html  # only a page needs what makes pages

        check_html("--html", race.html, race.inputs)
    comparison, stopped = race.opened(), ""
    hashed = Fingerprint((*comparison.stream.names, comparison.stream.target.name))
    costs = _costs(comparison)
    if workers > 1 and len(comparison.contenders) > 1:
        comparison.contenders = _in_processes(race, workers)
        for table in comparison.stream.tables() if race.html is not None else ():
            hashed.add(table)
    else:
        comparison.seen = nothing if race.html is None else hashed.add
        stream = comparison.stream
        total = None if stream.rows is None else stream.rows * len(comparison.passes)
        work = work_of(costs, stream.rows) if costs else float
        with ProgressLine(total or stream.about(), work=work) as progress:
            stopped = _learn(comparison, progress)
        comparison.finish()
    if race.html is not None:
        from onkel.cli.pages import page_of_comparison

        page_of_comparison(race.html, comparison.contenders, hashed.value)
    _show(comparison, stopped, as_json)
    if race.html is not None and not as_json:
        Page().say(f"wrote {race.html} ({memory(race.html.stat().st_size)})")
    if stopped:
        sys.exit(STOPPED)


def _costs(comparison: Comparison) -> list[Cost]:
    """The cost of each learner. A warning is printed for learners whose row t takes O(t²); without such a learner nothing is
    measured, and the list is empty."""
    contenders, stream = comparison.contenders, comparison.stream
    if not any(is_quadratic(one.model.learner) for one in contenders):
        return []
    costs = [measured(one.model, stream) for one in contenders]
    rows = stream.rows or stream.about() or ROWS_IF_UNKNOWN
    for one, cost in zip(contenders, costs, strict=True):
        if is_quadratic(one.model.learner):
            slow = "takes longer for each row than for the one before, because it goes through all rows so far"
            time = f"about {duration(cost.seconds(rows))} for {rows:,} rows"
            Page(errors=True).say(f"{one.name} {slow}: {time}; to leave it out: --skip {_bare_name(one.name)}")
    return costs if any(cost.fixed for cost in costs) else []


def _learn(comparison: Comparison, progress: ProgressLine) -> str:
    """Learn all rows. If Ctrl-C ends this early, return a sentence that says how much was learnt, otherwise an empty string."""
    with CtrlC() as stop:
        for rows in comparison.steps(progress.name):
            if rows == 0:
                progress.begin()
            else:
                progress.show(rows, partial(errors_shown, comparison.error()))
            if stop.pressed and not comparison.is_complete:
                if not (learnt := comparison.cut()):
                    raise KeyboardInterrupt
                return f"stopped: {learnt}"
    return ""


def _in_processes(race: Race, workers: int) -> list[Contender]:
    """Each learner in a process of its own, which reads the files itself. The figures are the same, except for the times."""
    if STANDARD_INPUT in race.inputs.paths:
        raise InputError("the standard input can be read only once: leave --workers out, or save it to a file first")
    page, numbers = Page(errors=True), range(len(race.strings))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(_alone, race, number) for number in numbers]
        for future in as_completed(futures):
            page.say(f"{future.result().name} is done")
        return [future.result() for future in futures]


def _alone(race: Race, number: int) -> Contender:
    """Run one of the learners over all rows. Only the first learner keeps its runs with their states, because remarks on the rows
    are made from these."""
    comparison = race.opened()
    comparison.contenders = [one] = [comparison.contenders[number]]
    with ProgressLine(None, shown=False) as progress:
        if _learn(comparison, progress):
            raise KeyboardInterrupt
    comparison.finish()
    one.runs = one.runs[: number == 0]
    for run in one.runs:
        run.observed = None  # its result has what is needed
    return one


def _show(comparison: Comparison, stopped: str, as_json: bool) -> None:
    contenders, stream = comparison.contenders, comparison.passes[0].stream
    first, lags = contenders[0].runs[0], max(one.results[0].lags for one in contenders)
    result = dataclasses.replace(contenders[0].results[0], lags=lags)
    on_rows = [*on_target(first.model, first.state, stream), *on_order(first.state, first.errors, lags)]
    of_rows = [*stream.source.notes(), *stream.remarks, *first.state.encoder.notes(first.state.encoded)]
    remarks = [*([stopped] if stopped else []), *of_rows, *on_rows]
    if as_json:
        known = {name.replace(" ", "_"): means for name, means in result.baselines.items()}
        about = {"file": result.source, "target": result.target, "task": result.task, "rows": result.rows}
        print(json.dumps({**about, "learners": [_summary(one) for one in contenders], **known, "notes": remarks}))
        return
    page = Page()
    page.say(heading(result))
    best = min(contenders, key=lambda one: np.mean([each.errors[each.measure] for each in one.results]))
    page.show(table({one.name: one.results for one in contenders}, bold=best.name, compared=True))
    page.note(remarks)


def _summary(one: Contender) -> dict[str, Any]:
    """Errors, coverages, time and memory of all runs."""
    results = one.results
    errors = {measure: [result.errors[measure] for result in results] for measure in results[0].errors}
    coverage = {level: [result.coverage[level] for result in results] for level in results[0].coverage}
    return {
        "learner": one.name,
        **as_json(errors),
        **({"coverage": coverage} if coverage else {}),
        "lags": results[0].lags,
        "runs": len(results),
        "changes": [[change.row for change in result.changes] for result in results],
        "microseconds_per_row": microseconds_per_row(results),
        "bytes": max(result.bytes for result in results),
    }
