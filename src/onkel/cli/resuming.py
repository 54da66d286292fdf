"""Continue a saved run, with the options that made it: after the rows that it has learnt, or with more files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from onkel.cli.options import Inputs, read_learner, split
from onkel.combine.assembly import bare, lags_of
from onkel.data.columns import listed
from onkel.data.table import Kind
from onkel.errors import InputError
from onkel.model import Cycle, Hashed, Model, Signs, State
from onkel.persist.run import Run, continued, loaded


def resumed(inputs: Inputs, learner: str | None, path: Path, append: bool) -> Run:
    """The saved run. With `append` it continues at the first row of the files, and all rows learnt before count as rows of earlier
    files."""
    model, state, about = loaded(path)
    for option, has in _differences(model, state, inputs, learner):
        again = "--append" if append else "--resume"
        raise InputError(
            f"{path} {has}; leave out {option} to continue with this model, leave out {again} to replace it by a new one"
        )
    return continued(model, state, about, model.open_again(state, inputs.path, inputs.reading), path, append)


def _differences(model: Model, state: State, inputs: Inputs, learner: str | None) -> Iterator[tuple[str, str]]:
    """Options given by the user that contradict the model, each with what the model has instead."""
    columns, target, encoder, own = inputs.columns, inputs.target, state.encoder, bare(state.learner)
    lags, name, task = lags_of(state.learner), state.target.name, state.target.task
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
        if bare(other.assembled(state.target)) != own:
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
