"""`onkel compare`: several learners on one stream, in one pass; learners with a seed several times."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onkel import data, features
from onkel._jit import seconds_compiling
from onkel._types import Matrix, Vector
from onkel.cli.model import Model, called, read_learner, suited, task_of
from onkel.cli.opening import BLOCK, opened
from onkel.cli.options import Inputs
from onkel.cli.telling import heading, on_the_inputs, on_the_target, references, shown
from onkel.cli.watch import CtrlC, Watch
from onkel.data.encoder import State as EncoderState
from onkel.errors import InputError
from onkel.report.page import Page
from onkel.report.tables import lines, memory, number
from onkel.state import nbytes


@dataclass
class Contender:
    text: str
    learner: Any
    models: list[Model] = field(default_factory=list)  # one a seed
    seconds: float = 0.0

    def errors(self, measure: str) -> list[float]:
        return [model.tally.means()[measure] for model in self.models]


def compare_file(inputs: Inputs, texts: Sequence[str], seeds: int, shuffle: bool, as_json: bool) -> None:
    if not texts:
        raise InputError("name the learners to compare, as in: onkel compare prices.csv PKAWV FOGD --target price")
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}")
    if twice := [text for text in texts if list(texts).count(text) > 1]:
        raise InputError(f"{twice[0]} is named twice; name each learner once")
    contenders = [Contender(text, read_learner(text)) for text in texts]
    stream = opened(inputs, [one.learner for one in contenders])
    for one in contenders:
        if (suitable := suited(one.learner, task_of(stream.target))) != one.learner:
            one.learner, one.text = suitable, called(suitable)
    orders = range(seeds) if shuffle else range(1)
    encoded = stream.encoder.init()
    whole = _in_memory(stream, encoded) if shuffle else None
    total = None if stream.rows is None else stream.rows * len(orders)
    with Watch(total or stream.about()) as watch, CtrlC() as stop:
        done = 0
        for order in orders:
            fresh = functools.partial(Model.fresh, stream=stream, encoded=encoded, raw=inputs.target.raw)
            running = [(one, model) for one in contenders for model in _models(one, fresh, [order] if shuffle else range(seeds))]
            for X, y in stream.after(0, encoded) if whole is None else _shuffled(*whole, order, BLOCK):
                if stop.pressed:
                    raise KeyboardInterrupt
                if done == 0:
                    _warm_up(contenders, X, y)
                    watch.begin(0)
                _learn(running, X, y)
                done += len(y)
                watch.show(done, shown(running[0][1].tally, running[0][1].tally.means()))
    if not done:
        raise InputError(f"{stream.name}: no row was left to learn from; see --missing")
    _show(contenders, stream, inputs, as_json)


def _models(one: Contender, fresh: Callable[[Any], Model], seeds: Sequence[int]) -> Iterator[Model]:
    """One model a seed; a learner without one runs once."""
    for seed in seeds if _is_random(one.learner) else seeds[:1]:
        one.models.append(fresh(reseeded(one.learner, seed)))
        yield one.models[-1]


def _warm_up(contenders: list[Contender], X: Matrix, y: Vector) -> None:
    for one in contenders if len(y) else ():
        one.models[0].warm_up(X, y)


def _learn(running: list[tuple[Contender, Model]], X: Matrix, y: Vector) -> None:
    for one, model in running if len(y) else ():
        began = time.perf_counter() - seconds_compiling()
        model.learn(X, y)
        one.seconds += time.perf_counter() - seconds_compiling() - began


def _in_memory(stream: data.Stream, encoded: EncoderState) -> tuple[Matrix, Vector]:
    blocks = list(stream.after(0, encoded))
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def _shuffled(X: Matrix, y: Vector, seed: int, block: int) -> Iterator[tuple[Matrix, Vector]]:
    order = np.random.default_rng(seed).permutation(len(y))
    for start in range(0, len(y), block):
        now = order[start : start + block]
        yield X[now], y[now]


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


def _show(contenders: list[Contender], stream: data.Stream, inputs: Inputs, as_json: bool) -> None:
    first = contenders[0].models[0]
    rows = [_summary(one) for one in contenders]
    remarks = [*stream.notes(), *on_the_inputs(stream), *on_the_target(first, stream, inputs)]
    if as_json:
        known = {name.replace(" ", "_"): means for name, means in first.tally.references().items()}
        about = {"file": stream.name, "target": first.target.name, "task": first.task, "rows": first.tally.rows}
        print(json.dumps({**about, "learners": rows, **known, "notes": remarks}))
        return
    page = Page()
    page.say(heading(first, stream))
    best = min(contenders, key=lambda one: np.mean(one.errors(next(iter(first.tally.means())))))
    cells = {}
    for one, row in zip(contenders, rows, strict=True):
        columns = [model.tally.columns(model.tally.means()) for model in one.models]
        errors = {name: _spread(name, [column[name] for column in columns]) for name in columns[0]}
        cost = {"µs a row": f"{row['microseconds_per_row']:.1f}", "memory": memory(row["bytes"])}
        cells[one.text] = {**errors, "runs": str(row["runs"]), **cost}
    page.show(lines(cells, references(first), bold=best.text))
    for note in remarks:
        page.say(f"note: {note}", style="yellow")


def _summary(one: Contender) -> dict[str, Any]:
    rows = sum(model.tally.rows for model in one.models)
    errors = {measure: one.errors(measure) for measure in one.models[0].tally.means()}
    cost = {"microseconds_per_row": 1e6 * one.seconds / rows, "bytes": max(nbytes(model.state) for model in one.models)}
    return {"learner": one.text, **errors, "runs": len(one.models), **cost}


def _spread(heading: str, values: Sequence[float]) -> str:
    mean = number(heading, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(heading, float(np.std(values, ddof=1)))}"
