"""`onkel compare`: several learners on one stream, in one pass. Learners with a seed run several times."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onkel import features
from onkel.cli import STOPPED
from onkel.cli.catalogue import learner_names
from onkel.cli.forecast import ROWS_IF_UNKNOWN, Cost, duration, is_quadratic, measured, work_of
from onkel.cli.options import Inputs, read_learner
from onkel.cli.watch import CtrlC, ProgressLine
from onkel.combine.assembly import called
from onkel.data.columns import listed
from onkel.data.order import Shuffled
from onkel.data.reading import STANDARD_INPUT
from onkel.errors import InputError, did_you_mean
from onkel.measure import Evaluation, Result
from onkel.measure.advice import on_order, on_target
from onkel.measure.engine import as_json
from onkel.measure.errors import headline_of
from onkel.model import Model, Stream
from onkel.protocol import suited, tasks_of
from onkel.report.page import Page
from onkel.report.results import errors_shown, heading, microseconds_per_row, table

DEFAULTS = ("Auto", "PKAWV", "PKAWV(features=Identity() + Constant())")

CODE = re.compile(r"\s*([A-Za-z_]\w*)\s*(\(.*)?", re.DOTALL)  # a name, maybe with settings


class Pass(NamedTuple):
    """One pass through all rows, with models of these seeds."""

    seeds: Sequence[int]
    stream: Stream


@dataclass
class Contender:
    name: str
    model: Model
    runs: list[Evaluation] = field(default_factory=list)  # one a seed
    results: list[Result] = field(default_factory=list)


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
    return found is not None and found[1] in learner_names()


@dataclass(frozen=True)
class Race:
    """What is compared: these learners, on these files."""

    inputs: Inputs
    strings: Sequence[str]
    seeds: int = 1

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"--seeds must be at least 1, got {self.seeds}")
        if twice := [text for text in self.strings if list(self.strings).count(text) > 1]:
            raise InputError(f"{twice[0]} is named twice; name each learner once")

    def opened(self) -> tuple[list[Contender], Stream]:
        """The learners before their first row, and their stream."""
        contenders = [Contender(text, self.inputs.model(read_learner(text))) for text in self.strings]
        return contenders, _opened(self.inputs, contenders)


def without(strings: Sequence[str], skipped: Sequence[str]) -> list[str]:
    """The learners (by default DEFAULTS) that are not to be skipped, each written in full or by its name."""
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
    contenders, stream = race.opened()
    costs = _costs(contenders, stream)
    passes, stopped = _passes(stream, race.seeds), []
    if workers > 1 and len(contenders) > 1:
        contenders = _in_processes(race, workers)
    else:
        total = None if stream.rows is None else stream.rows * len(passes)
        work = work_of(costs, stream.rows) if costs else float
        with ProgressLine(total or stream.about(), work=work) as progress:
            stopped = _learn(contenders, passes, progress)
        _finish(contenders, passes)
    _show(contenders, passes[0].stream, stopped, as_json)
    if stopped:
        sys.exit(STOPPED)


def _finish(contenders: list[Contender], passes: Sequence[Pass]) -> None:
    if not contenders[0].runs[0].errors.rows:
        raise InputError(f"{passes[0].stream.name}: no row was left to learn from; see --missing")
    for one in contenders:
        one.results = [run.result(passes[0].stream) for run in one.runs]


def _costs(contenders: list[Contender], stream: Stream) -> list[Cost]:
    """The cost of each learner, and a warning of those that take O(t²); without such a learner nothing is measured."""
    if not any(is_quadratic(one.model.learner) for one in contenders):
        return []
    costs = [measured(one.model, stream) for one in contenders]
    rows = stream.rows or stream.about() or ROWS_IF_UNKNOWN
    for one, cost in zip(contenders, costs, strict=True):
        if is_quadratic(one.model.learner):
            time = f"about {duration(cost.seconds(rows))} for {rows:,} rows"
            Page(errors=True).say(f"{one.name}: row t takes O(t²), {time}; to leave it out: --skip {_bare_name(one.name)}")
    return costs if any(cost.fixed for cost in costs) else []


def _in_processes(race: Race, workers: int) -> list[Contender]:
    """Each learner in a process of its own, which reads the files itself: the figures are the same."""
    if STANDARD_INPUT in race.inputs.paths:
        raise InputError("the standard input can be read only once: leave --workers out, or save it to a file first")
    page, numbers = Page(errors=True), range(len(race.strings))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(_alone, race, number) for number in numbers]
        for future in as_completed(futures):
            page.say(f"{future.result().name} is done")
        return [future.result() for future in futures]


def _alone(race: Race, number: int) -> Contender:
    """One of the learners, after all rows. Only the first brings its state, from which remarks on the rows are made."""
    contenders, stream = race.opened()
    one, passes = contenders[number], _passes(stream, race.seeds)
    with ProgressLine(None, shown=False) as progress:
        if _learn([one], passes, progress):
            raise KeyboardInterrupt
    _finish([one], passes)
    one.runs = one.runs[: number == 0]
    return one


def _opened(inputs: Inputs, contenders: list[Contender]) -> Stream:
    """One stream for all learners. If one of them knows only classes, the target is read as classes for all."""
    models = [one.model for one in contenders]
    asked = next((model for model in models if tasks_of(model.learner) == {"classification"}), models[0])
    stream = asked.open(inputs.path, inputs.reading)
    for one in contenders:
        if (suitable := suited(one.model.learner, stream.target.task)) != one.model.learner:
            taken = called(suitable) in {other.name for other in contenders}
            one.model, one.name = dataclasses.replace(one.model, learner=suitable), one.name if taken else called(suitable)
    return stream


def _passes(stream: Stream, seeds: int) -> list[Pass]:
    """One pass for all seeds; if rows are shuffled, one pass per seed, each in a different order."""
    if not isinstance(stream.source, Shuffled):
        return [Pass(range(seeds), stream)]
    orders = [dataclasses.replace(stream.source.order, seed=stream.source.seed + k) for k in range(seeds)]
    sources = [dataclasses.replace(stream.source, order=order) for order in orders]
    return [Pass(range(k, k + 1), dataclasses.replace(stream, source=source)) for k, source in enumerate(sources)]


def _learn(contenders: list[Contender], passes: Sequence[Pass], progress: ProgressLine) -> list[str]:
    """Run every pass, each with models of its own. Returns a note if Ctrl-C ended it."""
    done = 0
    with CtrlC() as stop:
        for number, (seeds, stream) in enumerate(passes):
            running = [(one.name, run) for one in contenders for run in _begun(one, stream, seeds)]
            for rows in stream.tables():
                if stop.pressed:
                    return _stopped(contenders, number, len(passes))
                if done == 0 and len(rows):
                    for _, run in running:
                        run.warm_up(rows)
                    progress.begin(0)
                for name, run in running:
                    progress.name(name)
                    run.learn(rows)
                done += len(rows)
                progress.show(done, errors_shown(headline_of(running[0][1].errors)))
    return []


def _begun(one: Contender, stream: Stream, seeds: Sequence[int]) -> list[Evaluation]:
    """One run per seed; a learner without a seed runs once."""
    learner = one.model.learner
    models = [
        dataclasses.replace(one.model, learner=reseeded(learner, seed)) for seed in (seeds if _is_random(learner) else seeds[:1])
    ]
    begun = [Evaluation.begin(model, stream) for model in models]
    one.runs += begun
    return begun


def _stopped(contenders: list[Contender], done: int, passes: int) -> list[str]:
    """Keep only complete passes. If the first pass is incomplete, keep its rows so far, which all learners have seen."""
    if done:
        for one in contenders:
            one.runs.pop()
        return [f"stopped: these are {done} of {passes} orders of the rows"]
    rows = contenders[0].runs[0].errors.rows
    if not rows:
        raise KeyboardInterrupt
    return [f"stopped: these are the first {rows:,} rows" + " of the first order" * (passes > 1)]


def reseeded(config: Any, seed: int) -> Any:
    """The same settings, with `seed` added to every seed in them."""
    if isinstance(config, tuple):
        return tuple(reseeded(part, seed) for part in config)
    if not dataclasses.is_dataclass(config) or isinstance(config, type) or not dataclasses.fields(config):
        return config
    parts = {one.name: getattr(config, one.name) for one in dataclasses.fields(config)}
    parts = {name: part + seed if name == "seed" else reseeded(part, seed) for name, part in parts.items()}
    make: Any = type(config)
    if isinstance(config, features.Sum):
        return make(*parts["parts"])
    return make(**parts)


def _is_random(learner: Any) -> bool:
    return bool(reseeded(learner, 1) != learner)


def _show(contenders: list[Contender], stream: Stream, stopped: list[str], as_json: bool) -> None:
    first, lags = contenders[0].runs[0], max(one.results[0].lags for one in contenders)
    result = dataclasses.replace(contenders[0].results[0], lags=lags)
    on_rows = [*on_target(first.model, first.state, stream), *on_order(first.state, first.errors, lags)]
    of_rows = [*stream.source.notes(), *stream.remarks, *first.state.encoder.notes(first.state.encoded)]
    remarks = [*stopped, *of_rows, *on_rows]
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
