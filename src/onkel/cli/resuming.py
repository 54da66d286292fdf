"""A run that can be stopped: the model so far, which rows it has learnt, and how well; and how it goes on.

It goes on with the options that made it, after the rows that it has learnt, or with more files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onkel.cli.options import Inputs, read_learner, split
from onkel.data.columns import listed
from onkel.data.table import Kind, Table
from onkel.errors import FileError, InputError
from onkel.measure import Evaluation
from onkel.measure.scores import errors_for
from onkel.model import Hashed, Model, Signs, State, Stream
from onkel.persist import Extra, read, save
from onkel.persist.fingerprint import Fingerprint


@dataclass
class Run:
    """One model on one stream."""

    evaluation: Evaluation
    stream: Stream
    earlier: int = 0  # rows of other files, learnt before these
    learnt: str = ""  # the fingerprint of those of these files
    path: Path | None = None  # where that was saved

    def __post_init__(self) -> None:
        self.passed = self.rows  # rows that come again, and are passed over
        self.seen = Fingerprint((*self.stream.names, self.stream.target.name))

    @property
    def rows(self) -> int:
        """Of these files, learnt or dropped."""
        return self.evaluation.state.rows - self.earlier

    def tables(self) -> Iterator[Table]:
        return self.stream.tables(self.passed, self._see)

    def learn(self, rows: Table) -> None:
        self.evaluation.learn(rows)
        if self.seen.rows >= self.passed:  # else those that it has learnt have not all come
            self.learnt = self.seen.value

    def _see(self, rows: Table) -> None:
        self.seen.add(rows)
        if self.seen.rows == self.passed > 0 and self.seen.value != self.learnt:
            raise InputError(f"the first {self.passed:,} rows of {self.stream.name} are not those {self._remedy()}")

    def check_whole(self) -> None:
        """Refuse a file that ends before the rows that were learnt."""
        if self.seen.rows < self.passed:
            raise InputError(f"{self.stream.name} has {self.seen.rows:,} rows, not the {self.passed:,} {self._remedy()}")

    def _remedy(self) -> str:
        return (
            f"that {self.path} has learnt; name the files that it has learnt before this one, or learn all of this one on top of "
            "them: --append in the place of --resume"
        )

    def save(self, path: Path) -> None:
        errors = dataclasses.asdict(self.evaluation.errors)
        about = {"errors": errors, "learnt": self.learnt, "earlier": self.earlier}
        save(path, self.evaluation.model, self.evaluation.state, Extra({"run": about}, {}))


def started(inputs: Inputs, learner: str | None) -> Run:
    model = inputs.model(read_learner(learner))
    stream = model.open(inputs.path, inputs.reading)
    return Run(Evaluation.begin(model, stream), stream)


def resumed(inputs: Inputs, learner: str | None, path: Path, append: bool) -> Run:
    """The run to go on with; to `append` is to begin at the first row, after all earlier files."""
    model, state, about = loaded(path)
    for option, has in _differences(model, state, inputs, learner):
        again = f"leave {option} out to go on with it, or {'--append' if append else '--resume'} to start again"
        raise InputError(f"{path} {has}; {again}")
    if not about and not append:
        raise InputError(f"{path} holds no run that could go on, only a model; learn these files on top of it: --append")
    stream = model.open_again(state, inputs.path, inputs.reading)
    if not about:
        return Run(Evaluation(model, state, errors_for(state.target.task)), stream, state.rows, "", path)
    try:
        errors = type(errors_for(state.target.task))(**about["errors"])
        earlier, learnt = int(about["earlier"]), str(about["learnt"])
        if not 0 <= earlier <= state.rows:
            raise ValueError(f"{earlier} earlier rows")
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
    evaluation = Evaluation(model, state, errors)
    return Run(evaluation, stream, state.rows, "", path) if append else Run(evaluation, stream, earlier, learnt, path)


def loaded(path: Path) -> tuple[Model, State, dict[str, Any]]:
    """A model, and what `onkel run` has kept with it; nothing where Python has saved it."""
    model, state, extra = read(path)
    if not isinstance(model, Model):
        raise FileError(f"{path} does not say how its inputs were made: it holds a bare learner; use onkel.load in Python")
    about = {} if extra is None else extra.about.get("run", {})
    return model, state, about if isinstance(about, dict) else {}


def _differences(model: Model, state: State, inputs: Inputs, learner: str | None) -> Iterator[tuple[str, str]]:
    """Options that were said and do not hold for the model, with what it has in their place."""
    columns, target = inputs.columns, inputs.target
    kinds = {column.name: column.kind for column in state.encoder.columns}
    without = split(columns.without) or ()
    own, lags = model.own(state.learner), model.lags_of(state)
    if inputs.rows.lags not in (None, lags):
        yield "--lags", f"was made with --lags {lags}"
    if learner is not None:
        other = dataclasses.replace(model, learner=read_learner(learner))
        if other.own(other.assembled(state.target)) != own:
            yield "--learner", f"holds {own!r:.200}"
    if target.target not in (None, state.target.name):
        yield "--target", f"predicts {state.target.name!r}, not {target.target!r}"
    if target.task not in ("auto", state.target.task):
        yield "--task", f"was made for {state.target.task}, not for {target.task}"
    if (pair := target.pair()) is not None and state.target != Signs(state.target.name, *pair):
        yield "--labels", f"knows the labels {listed(list(map(str, model.classes(state))))}, not these two"
    if target.missing not in (None, str(state.encoder.missing)):
        yield "--missing", f"was made with --missing {state.encoder.missing}"
    if target.raw and (model.standardize or model.scale_target):
        yield "--raw", "was made without --raw"
    if columns.columns is not None and set(split(columns.columns) or ()) - set(without) != set(kinds):
        yield "--columns", f"was made from {listed(list(kinds))}"
    if inside := [name for name in without if name in kinds]:
        yield "--without", f"was made with {inside[0]!r}"
    for option, names, kind in (("--text", columns.text, Kind.TEXT), ("--dates", columns.dates, Kind.DATE)):
        for name in split(names) or ():
            if kinds.get(name, kind) is not kind:
                yield option, f"took {name!r} for {kinds[name].value}"
    for column in state.encoder.columns:
        if column.name in (split(columns.hash) or ()) and not isinstance(column, Hashed):
            yield "--hash", f"was made without --hash {column.name}"
    if columns.spare not in (0, state.encoder.spare):
        yield "--spare", f"was made with --spare {state.encoder.spare}"
