"""`onkel compare`: several learners on one stream, in one pass; learners with a seed several times."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onkel import data, features
from onkel._jit import seconds_compiling
from onkel._types import Matrix, Vector
from onkel.cli.model import Model, read_learner
from onkel.cli.run import BLOCK, Inputs, references, task_of
from onkel.cli.watch import CtrlC, Watch
from onkel.errors import InputError
from onkel.report.tables import console, lines, memory, number
from onkel.state import nbytes


@dataclass
class Contender:
    text: str
    learner: Any
    models: list[Model] = field(default_factory=list)  # one a seed
    seconds: float = 0.0

    def errors(self, metric: str) -> list[float]:
        return [model.tally.means()[metric] for model in self.models]


def compare_file(inputs: Inputs, texts: Sequence[str], seeds: int, shuffle: bool, raw: bool, as_json: bool) -> None:
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}")
    if twice := [text for text in texts if list(texts).count(text) > 1]:
        raise InputError(f"{twice[0]} is named twice; name each learner once")
    stream = inputs.stream()
    contenders = [Contender(text, read_learner(text, task_of(stream), raw)) for text in texts]
    orders = range(seeds) if shuffle else range(1)
    whole = _in_memory(stream) if shuffle else None
    total = None if stream.rows is None else stream.rows * len(orders)
    with Watch(total or stream.about()) as watch, CtrlC() as stop:
        done = 0
        for order in orders:
            running = [(one, model) for one in contenders for model in _models(one, stream, seeds, order, shuffle, raw)]
            for X, y in stream if whole is None else _shuffled(*whole, order, BLOCK):
                if stop.pressed:
                    raise KeyboardInterrupt
                if done == 0:
                    _warm_up(contenders, X, y)
                    watch.begin(0)
                _learn(running, X, y)
                done += len(y)
                watch.show(done, running[0][1].tally.means())
    if not done:
        raise InputError(f"{stream.name}: no row was left to learn from; see --missing")
    _show(contenders, stream, as_json)


def _models(one: Contender, stream: data.Stream, seeds: int, order: int, shuffle: bool, raw: bool) -> Iterator[Model]:
    """With rows in their own order, one model a seed, where the learner has one; else one a permutation."""
    chosen = [order] if shuffle else range(seeds if _is_random(one.learner) else 1)
    for seed in chosen:
        one.models.append(Model.fresh(reseeded(one.learner, seed), stream, raw))
        yield one.models[-1]


def _warm_up(contenders: list[Contender], X: Matrix, y: Vector) -> None:
    for one in contenders if len(y) else ():
        one.models[0].warm_up(X, y)


def _learn(running: list[tuple[Contender, Model]], X: Matrix, y: Vector) -> None:
    for one, model in running if len(y) else ():
        began = time.perf_counter() - seconds_compiling()
        model.learn(X, y)
        one.seconds += time.perf_counter() - seconds_compiling() - began


def _in_memory(stream: data.Stream) -> tuple[Matrix, Vector]:
    blocks = list(stream)
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


def _show(contenders: list[Contender], stream: data.Stream, as_json: bool) -> None:
    first = contenders[0].models[0]
    rows = [_summary(one) for one in contenders]
    if as_json:
        known = {name.replace(" ", "_"): means for name, means in first.tally.references().items()}
        about = {"file": stream.name, "target": first.target.name, "task": first.task, "rows": first.tally.rows}
        print(json.dumps({**about, "learners": rows, **known, "notes": stream.notes()}))
        return
    page = console()
    page.print(f"{stream.name}: {first.tally.rows:,} rows, {len(stream.names)} inputs, {first.task} of {first.target.name}")
    best = min(rows, key=lambda row: float(np.mean(row[next(iter(first.metrics))])))
    shown = {}
    for row in rows:
        errors = {metric: _spread(metric, row[metric]) for metric in first.metrics}
        name = f"[bold]{row['learner']}[/]" if row is best else row["learner"]
        cost = {"µs a row": f"{row['microseconds_per_row']:.1f}", "memory": memory(row["bytes"])}
        shown[name] = {**errors, "runs": str(row["runs"]), **cost}
    page.print(lines(shown, references(first)))
    for note in stream.notes():
        page.print(f"note: {note}", style="yellow", markup=False)


def _summary(one: Contender) -> dict[str, Any]:
    rows = sum(model.tally.rows for model in one.models)
    errors = {metric: one.errors(metric) for metric in one.models[0].metrics}
    cost = {"microseconds_per_row": 1e6 * one.seconds / rows, "bytes": max(nbytes(model.state) for model in one.models)}
    return {"learner": one.text, **errors, "runs": len(one.models), **cost}


def _spread(metric: str, values: Sequence[float]) -> str:
    mean = number(metric, float(np.mean(values)))
    return mean if len(values) == 1 else f"{mean} ± {number(metric, float(np.std(values, ddof=1)))}"
