"""To go on from a saved model: with the options that made it, behind the rows that it has learnt, or with more files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onkel import data
from onkel.cli.fingerprint import Fingerprint
from onkel.cli.model import Model, read_learner, wrapped
from onkel.cli.opening import opened_again
from onkel.cli.options import Inputs, split
from onkel.combine.assembly import bare
from onkel.data.columns import listed
from onkel.data.encoder import Hashed
from onkel.data.table import Kind, Table
from onkel.data.target import Signs
from onkel.errors import InputError


def resumed(inputs: Inputs, learner: str | None, path: Path, append: bool) -> tuple[Model, data.Stream]:
    """The model and the stream to go on with; to `append` is to begin at the first row, behind all earlier files."""
    model = Model.load(path)
    for option, has in _differences(model, inputs, learner):
        again = f"leave {option} out to go on with it, or {'--append' if append else '--resume'} to start again"
        raise InputError(f"{path} {has}; {again}")
    if append:
        model.earlier, model.rows, model.learnt = model.earlier + model.rows, 0, ""
    return model, opened_again(inputs, model.encoder, model.target)


def _differences(model: Model, inputs: Inputs, learner: str | None) -> Iterator[tuple[str, str]]:
    """Options that were said and do not hold for the model, with what it has in their place."""
    columns, target = inputs.columns, inputs.target
    kinds = {column.name: column.kind for column in model.encoder.columns}
    without = split(columns.without) or []
    if inputs.rows.lags not in (None, model.lags):
        yield "--lags", f"was made with --lags {model.lags}"
    if learner is not None and model.own != bare(wrapped(read_learner(learner), model.target, False, model.lags)):
        yield "--learner", f"holds {model.own!r:.200}"
    if target.target not in (None, model.target.name):
        yield "--target", f"predicts {model.target.name!r}, not {target.target!r}"
    if target.task not in ("auto", model.task):
        yield "--task", f"was made for {model.task}, not for {target.task}"
    if target.labels is not None and (pair := target.pair()) and model.target != Signs(model.target.name, *pair):
        yield "--labels", f"knows the labels {listed(list(map(str, model.labels)))}, not these two"
    if target.missing not in (None, str(model.encoder.missing)):
        yield "--missing", f"was made with --missing {model.encoder.missing}"
    if target.raw and model.learner != wrapped(model.own, model.target, True, model.lags):
        yield "--raw", "was made without --raw"
    if columns.columns is not None and set(split(columns.columns) or ()) - set(without) != set(kinds):
        yield "--columns", f"was made from {listed(list(kinds))}"
    if inside := [name for name in without if name in kinds]:
        yield "--without", f"was made with {inside[0]!r}"
    for option, names, kind in (("--text", columns.text, Kind.TEXT), ("--dates", columns.dates, Kind.DATE)):
        for name in split(names) or ():
            if kinds.get(name, kind) is not kind:
                yield option, f"took {name!r} for {kinds[name].value}"
    for column in model.encoder.columns:
        if column.name in (split(columns.hash) or ()) and not isinstance(column, Hashed):
            yield "--hash", f"was made without --hash {column.name}"
    if columns.spare not in (0, model.encoder.spare):
        yield "--spare", f"was made with --spare {model.encoder.spare}"


class Learnt(Fingerprint):
    """The rows that a model has learnt, as they are passed over again, and those that it learns then."""

    def __init__(self, model: Model, stream: data.Stream, path: Path | None) -> None:
        super().__init__((*stream.names, stream.target.name))
        self.model, self.name, self.path = model, stream.name, path
        self.before = model.rows

    def add(self, table: Table) -> None:
        super().add(table)
        if self.rows == self.before > 0 and self.value != self.model.learnt:
            raise InputError(f"the first {self.rows:,} rows of {self.name} are not those {self._remedy()}")

    def mark(self) -> None:
        """Tell the model how far it is."""
        if self.rows >= self.before:  # else those that it has learnt have not all come
            self.model.rows, self.model.learnt = self.rows, self.value

    def check_whole(self) -> None:
        if self.rows < self.before:
            raise InputError(f"{self.name} has {self.rows:,} rows, not the {self.before:,} {self._remedy()}")

    def _remedy(self) -> str:
        return (
            f"that {self.path} has learnt; name the files that it has learnt before this one, or learn all of this one on top of "
            "them: --append in the place of --resume"
        )
