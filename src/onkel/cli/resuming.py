"""Continue a saved run, with the options that made it: after the rows that it has learnt, or with more files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onkel.cli.options import Inputs, read_learner, split
from onkel.data.columns import listed
from onkel.data.table import Kind
from onkel.errors import FileError, InputError
from onkel.measure import Evaluation
from onkel.measure.errors import errors_for, restored
from onkel.model import Cycle, Hashed, Model, Signs, State, Stream
from onkel.persist import read
from onkel.persist.checkpoint import is_ours


class Resumed(NamedTuple):
    """What is needed to continue a run."""

    evaluation: Evaluation
    stream: Stream
    path: Path  # where it was saved
    earlier: int  # rows of other files, learnt before these
    learnt: str  # the fingerprint of the rows of these files that were learnt


def resumed(inputs: Inputs, learner: str | None, path: Path, append: bool) -> Resumed:
    """The saved run. With `append` it continues at the first row of the files, and all rows before count as earlier."""
    model, state, about = loaded(path)
    for option, has in _differences(model, state, inputs, learner):
        again = f"leave out {option} to continue with it, or {'--append' if append else '--resume'} to replace it by a new model"
        raise InputError(f"{path} {has}; {again}")
    if not about and not append:
        raise InputError(f"{path} holds a model but no run to continue; to learn these files on top of it, use --append")
    stream, errors = model.open_again(state, inputs.path, inputs.reading), errors_for(state.target.task)
    earlier, learnt = state.rows, ""
    try:
        if about:
            errors = restored(state.target.task, about["errors"], about["arrays"])
            before, rows = int(about["earlier"]), str(about["learnt"])
            if not 0 <= before <= state.rows:
                raise ValueError(f"{before} earlier rows")
            earlier, learnt = (earlier, learnt) if append else (before, rows)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
    return Resumed(Evaluation(model, state, errors), stream, path, earlier, learnt)


def loaded(path: Path, files: Sequence[str] = ()) -> tuple[Model, State, dict[str, Any]]:
    """A model, its state, and what `onkel run` has saved with it (empty if the file was saved from Python).

    `files` are those that it is to be used on, for the case that the user has named them in the wrong order.
    """
    if path.is_file() and not is_ours(path):
        swapped = next((file for file in files if Path(file).is_file() and is_ours(Path(file))), None)
        remedy = "make one: onkel run FILE --target NAME --save model.onkel"
        if swapped is not None:
            remedy = f"{swapped} is one, so name it first: onkel predict {swapped} {path}"
        raise FileError(f"{path} is not a model that onkel has saved; {remedy}")
    model, state, extra = read(path)
    if not isinstance(model, Model):
        raise FileError(f"{path} holds a bare learner without an encoder for its inputs; use onkel.load in Python")
    about = {} if extra is None else extra.about.get("run", {})
    return model, state, {**about, "arrays": extra.arrays} if extra is not None and isinstance(about, dict) and about else {}


def _differences(model: Model, state: State, inputs: Inputs, learner: str | None) -> Iterator[tuple[str, str]]:
    """Options given by the user that contradict the model, each with what the model has instead."""
    columns, target, encoder, own = inputs.columns, inputs.target, state.encoder, model.unwrapped(state.learner)
    lags, name, task = model.lags_of(state), state.target.name, state.target.task
    cycles = {column.name: column.period for column in encoder.columns if isinstance(column, Cycle)}
    for option, said, has, differs in (
        ("--lags", inputs.rows.lags, lags, f"was made with --lags {lags}"),
        ("--target", target.target, name, f"predicts {name!r}, not {target.target!r}"),
        ("--task", target.asked_task, task, f"was made for {task}, not for {target.task}"),
        ("--missing", target.missing, str(encoder.missing), f"was made with --missing {encoder.missing}"),
        ("--spare", columns.spare or None, encoder.spare, f"was made with --spare {encoder.spare}"),
        (
            "--cycles",
            columns.periods,
            cycles,
            f"was made with --cycles {','.join(f'{k}={p:g}' for k, p in cycles.items()) or 'none'}",
        ),
        ("--raw", target.raw or None, not (model.standardize or model.scale_target), "was made without --raw"),
    ):
        if said not in (None, has):
            yield option, differs
    if learner is not None:
        other = dataclasses.replace(model, learner=read_learner(learner))
        if other.unwrapped(other.assembled(state.target)) != own:
            yield "--learner", f"holds {own!r:.200}"
    if (pair := target.pair()) is not None and state.target != Signs(name, *pair):
        yield "--labels", f"knows the labels {listed(list(map(str, model.classes(state))))}, not these two"
    kinds, without = {column.name: column.kind for column in encoder.columns}, split(columns.without)
    if columns.columns is not None and {*split(columns.columns)}.difference(without) != {*kinds}:
        yield "--columns", f"was made from {listed(list(kinds))}"
    if inside := [column for column in without if column in kinds]:
        yield "--without", f"was made with {inside[0]!r}"
    for option, names, kind in (("--text", columns.text, Kind.TEXT), ("--dates", columns.dates, Kind.DATE)):
        for column in split(names):
            if kinds.get(column, kind) is not kind:
                yield option, f"took {column!r} for {kinds[column].value}"
    for made in encoder.columns:
        if made.name in split(columns.hash) and not isinstance(made, Hashed):
            yield "--hash", f"was made without --hash {made.name}"
