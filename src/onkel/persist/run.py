"""A run: one model on one stream, saved with its errors, so that it can be stopped and continued to the same bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from onkel.data.table import Table
from onkel.errors import FileError, InputError
from onkel.measure import Evaluation
from onkel.measure.errors import errors_for, restored, saved
from onkel.model import Model, State, Stream
from onkel.persist.checkpoint import Extra, is_ours, read, save
from onkel.persist.fingerprint import Fingerprint


@dataclass
class Run:
    """One model on one stream and, if it is saved or wanted, a fingerprint of the rows that it has learnt."""

    evaluation: Evaluation
    stream: Stream
    path: Path | None  # where it is saved
    earlier: int = 0  # rows of other files, learnt before these
    learnt: str = ""  # the fingerprint of the rows of these files that were learnt before
    is_hashed: bool = False  # whether it has a fingerprint even if it is not saved

    def __post_init__(self) -> None:
        self.rows_to_skip = self.rows  # rows of these files that were learnt before
        self.seen = None if self.path is None and not self.is_hashed else Fingerprint((*self.stream.names, self.stream.target.name))

    @property
    def rows(self) -> int:
        """The number of rows of these files that were learnt or dropped."""
        return self.evaluation.state.rows - self.earlier

    def tables(self) -> Iterator[Table]:
        """The rows to learn. The files must begin with the same rows that were learnt before."""
        return self.stream.tables() if self.seen is None else self._after_those_learnt(self.seen)

    def _after_those_learnt(self, seen: Fingerprint) -> Iterator[Table]:
        yield from self.stream.tables_after(self.rows_to_skip, partial(self._see, seen))
        if seen.rows < self.rows_to_skip:
            raise InputError(f"{self.stream.name} has {seen.rows:,} rows, not the {self.rows_to_skip:,} {self._remedy()}")

    def _see(self, seen: Fingerprint, rows: Table) -> None:
        seen.add(rows)
        if seen.rows == self.rows_to_skip > 0 and seen.value != self.learnt:
            raise InputError(f"the first {self.rows_to_skip:,} rows of {self.stream.name} are not those {self._remedy()}")

    def _remedy(self) -> str:
        return (
            f"that {self.path} has learnt; name the files that it has learnt before this one, or learn all of this one on top of "
            "them: --append instead of --resume"
        )

    def save(self) -> None:
        """Write the model, if the run has a path."""
        if self.path is None or self.seen is None:
            return
        learnt = self.seen.value if self.seen.rows >= self.rows_to_skip else self.learnt  # else rows to skip are still unread
        numbers, arrays = saved(self.evaluation.errors)
        about = {"errors": numbers, "learnt": learnt, "earlier": self.earlier}
        save(self.path, self.evaluation.model, self.evaluation.state, Extra({"run": about}, arrays))


def continued(model: Model, state: State, about: dict[str, Any], stream: Stream, path: Path, append: bool) -> Run:
    """A run that `loaded` has read. With `append` it continues at the first row of the stream, and all rows learnt before count as
    rows of earlier files."""
    if not about and not append:
        raise InputError(f"{path} holds a model but no run to continue; to learn these files on top of it, use --append")
    errors, earlier, learnt = errors_for(state.target.task), state.rows, ""
    try:
        if about:
            errors = restored(state.target.task, about["errors"], about["arrays"])
            before, rows = int(about["earlier"]), str(about["learnt"])
            if not 0 <= before <= state.rows:
                raise ValueError(f"{before} earlier rows")
            earlier, learnt = (earlier, learnt) if append else (before, rows)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
    return Run(Evaluation(model, state, errors), stream, path, earlier, learnt)


def loaded(path: Path, files: Sequence[str] = ()) -> tuple[Model, State, dict[str, Any]]:
    """A model, its state, and what a run has saved with it (empty if the file was saved from Python).

    `files` are the data files that the user has named with the model. If `path` is no model but one of them is, the error says so.
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
