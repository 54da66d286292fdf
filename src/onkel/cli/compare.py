"""`onkel compare`: several learners on one stream, in one pass; learners with a seed several times."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onkel import data, features
from onkel._jit import seconds_compiling
from onkel._types import Matrix, Vector
from onkel.cli.catalogue import learner_names
from onkel.cli.model import Model, called, lags_for, read_learner, task_of
from onkel.cli.opening import opened
from onkel.cli.options import Inputs
from onkel.cli.telling import covered, heading, on_the_inputs, on_the_order, on_the_target, references, shown
from onkel.cli.watch import CtrlC, Watch
from onkel.data.order import Shuffled
from onkel.errors import InputError
from onkel.learners.protocol import suited
from onkel.report.page import Page
from onkel.report.tables import lines, memory, number
from onkel.state import nbytes

DEFAULTS = ("Auto", "PKAWV", "PKAWV(features=Identity() + Constant())")

CODE = re.compile(r"\s*([A-Za-z_]\w*)\s*(\(.*)?", re.DOTALL)  # a name, maybe with settings


class Pass(NamedTuple):
    """Through all rows, with models of these seeds."""

    seeds: Sequence[int]
    stream: data.Stream


@dataclass
class Run:
    """Of one learner with one seed."""

    model: Model
    seconds: float = 0.0

    def learn(self, X: Matrix, y: Vector) -> None:
        began = time.perf_counter() - seconds_compiling()
        self.model.learn(X, y)
        self.seconds += time.perf_counter() - seconds_compiling() - began


@dataclass
class Contender:
    text: str
    learner: Any
    lags: int = 0  # earlier labels that are its inputs
    runs: list[Run] = field(default_factory=list)  # one a seed

    def errors(self, measure: str) -> list[float]:
        return [run.model.tally.means()[measure] for run in self.runs]


def told_apart(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Files, and behind them learners; the name of a learner is one, even where a file has it too."""
    first = next((k for k, word in enumerate(words) if _names_learner(word) or not Path(word).exists()), len(words))
    files, texts = words[:first], words[first:]
    for text in texts:
        if not _names_learner(text) and Path(text).exists():
            raise InputError(f"{text} is a file, behind a learner; name all files first")
        if not CODE.fullmatch(text):
            raise InputError(f"{text!r} is neither a file nor a learner; check the path, or see: onkel learners")
    return files, texts


def _names_learner(text: str) -> bool:
    found = CODE.fullmatch(text)
    return found is not None and found[1] in learner_names()


def compare_file(inputs: Inputs, texts: Sequence[str], seeds: int, as_json: bool) -> None:
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}")
    if twice := [text for text in texts if list(texts).count(text) > 1]:
        raise InputError(f"{twice[0]} is named twice; name each learner once")
    contenders = [Contender(text, read_learner(text)) for text in texts or DEFAULTS]
    stream = opened(inputs, [one.learner for one in contenders])
    for one in contenders:
        one.lags = lags_for(one.learner, inputs.rows.lags, inputs.rows.shuffle is not None)
        if (suitable := suited(one.learner, task_of(stream.target))) != one.learner:
            one.learner, one.text = suitable, called(suitable)
    passes = _passes(stream, seeds)
    total = None if stream.rows is None else stream.rows * len(passes)
    with Watch(total or stream.about()) as watch:
        stopped = _learn(contenders, inputs.target.raw, passes, watch)
    if not contenders[0].runs[0].model.tally.rows:
        raise InputError(f"{stream.name}: no row was left to learn from; see --missing")
    _show(contenders, passes[0].stream, inputs, stopped, as_json)
    if stopped:
        sys.exit(130)


def _passes(stream: data.Stream, seeds: int) -> list[Pass]:
    """One for all seeds; where rows are shuffled, one in another order for each."""
    if not isinstance(stream.source, Shuffled):
        return [Pass(range(seeds), stream)]
    sources = [dataclasses.replace(stream.source, seed=stream.source.seed + k) for k in range(seeds)]
    return [Pass(range(k, k + 1), dataclasses.replace(stream, source=source)) for k, source in enumerate(sources)]


def _learn(contenders: list[Contender], raw: bool, passes: Sequence[Pass], watch: Watch) -> list[str]:
    """Each pass goes through the rows with models of its own; what is to say of it where Ctrl-C ended it."""
    done = 0
    with CtrlC() as stop:
        for number, (seeds, stream) in enumerate(passes):
            encoded = stream.encoder.init()
            fresh = functools.partial(Model.fresh, stream=stream, encoded=encoded, raw=raw)
            running = [run for one in contenders for run in _begun(one, fresh, seeds)]
            for X, y in stream.after(0, encoded):
                if stop.pressed:
                    return _stopped(contenders, number, len(passes))
                if done == 0 and len(y):
                    for one in contenders:
                        one.runs[0].model.warm_up(X, y)
                    watch.begin(0)
                for run in running if len(y) else ():
                    run.learn(X, y)
                done += len(y)
                first = running[0].model.tally
                watch.show(done, shown(first, first.means()))
    return []


def _begun(one: Contender, fresh: Callable[..., Model], seeds: Sequence[int]) -> list[Run]:
    """One run a seed; a learner without one runs once."""
    begun = [Run(fresh(reseeded(one.learner, seed), lags=one.lags)) for seed in (seeds if _is_random(one.learner) else seeds[:1])]
    one.runs += begun
    return begun


def _stopped(contenders: list[Contender], done: int, passes: int) -> list[str]:
    """Passes that are whole are kept alone; of a first one, the rows so far, which all learners have seen."""
    if done:
        for one in contenders:
            one.runs.pop()
        return [f"stopped: these are {done} of {passes} orders of the rows"]
    rows = contenders[0].runs[0].model.tally.rows
    if not rows:
        raise KeyboardInterrupt
    return [f"stopped: these are the first {rows:,} rows" + " of the first order" * (passes > 1)]


def reseeded(config: Any, seed: int) -> Any:
    """The same settings with every seed in them set to this one plus what it was."""
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


def _show(contenders: list[Contender], stream: data.Stream, inputs: Inputs, stopped: list[str], as_json: bool) -> None:
    first = contenders[0].runs[0].model
    rows = [_summary(one) for one in contenders]
    lags = max(one.lags for one in contenders)
    on_rows = [*on_the_target(first, stream, inputs), *on_the_order(first, lags)]
    remarks = [*stopped, *stream.notes(), *on_the_inputs(stream), *on_rows]
    if as_json:
        known = {name.replace(" ", "_"): means for name, means in first.tally.references().items()}
        about = {"file": stream.name, "target": first.target.name, "task": first.task, "rows": first.tally.rows}
        print(json.dumps({**about, "learners": rows, **known, "notes": remarks}))
        return
    page = Page()
    page.say(heading(first, stream, lags))
    best = min(contenders, key=lambda one: np.mean(one.errors(next(iter(first.tally.means())))))
    cells = {}
    for one, row in zip(contenders, rows, strict=True):
        columns = [run.model.tally.columns(run.model.tally.means()) for run in one.runs]
        errors = {name: _spread(name, [column[name] for column in columns]) for name in columns[0]}
        cost = {"µs a row": f"{row['microseconds_per_row']:.1f}", "memory": memory(row["bytes"])}
        within = covered([run.model for run in one.runs])
        cells[one.text] = {**errors, **within, "lags": str(row["lags"]), "runs": str(row["runs"]), **cost}
    page.show(lines(cells, references(first), bold=best.text))
    for note in remarks:
        page.say(f"note: {note}", style="yellow")


def _summary(one: Contender) -> dict[str, Any]:
    rows, seconds = sum(run.model.tally.rows for run in one.runs), sum(run.seconds for run in one.runs)
    errors = {measure: one.errors(measure) for measure in one.runs[0].model.tally.means()}
    cost = {"microseconds_per_row": 1e6 * seconds / rows, "bytes": max(nbytes(run.model.state) for run in one.runs)}
    coverages = [run.model.coverage for run in one.runs]
    coverage = {level: [each[level] for each in coverages] for level in coverages[0]}
    within = {"coverage": coverage} if coverage else {}
    return {"learner": one.text, **errors, **within, "lags": one.lags, "runs": len(one.runs), **cost}


def _spread(heading: str, values: Sequence[float]) -> str:
    mean = number(heading, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(heading, float(np.std(values, ddof=1)))}"
