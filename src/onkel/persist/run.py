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

MOST_REMEMBERED = 100  # runs whose rows are recognised if they are appended again


@dataclass
class Run:
    """One model on one stream and, if it is saved or wanted, a fingerprint of the rows that it has learnt."""

    evaluation: Evaluation
    stream: Stream
    path: Path | None  # where it is saved
    earlier: int = 0  # rows of other files, learnt before these
    learnt: str = ""  # the fingerprint of the rows of these files that were learnt before
    is_hashed: bool = False  # whether it has a fingerprint even if it is not saved
    # the numbers of rows that earlier runs learnt from the start of other files, and their fingerprints
    before: Sequence[tuple[int, str]] = ()
    repeated: int = 0  # rows at the start of these files that an earlier run has learnt

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
        start = seen.rows
        for end in sorted({count for count, _ in self.before if start < count < start + len(rows)}):
            seen.add(rows[seen.rows - start : end - start])
            self._notice(seen)
        seen.add(rows[seen.rows - start :])
        self._notice(seen)
        if seen.rows == self.rows_to_skip > 0 and seen.value != self.learnt:
            raise InputError(f"the first {self.rows_to_skip:,} rows of {self.stream.name} are not those {self._remedy()}")

    def _notice(self, seen: Fingerprint) -> None:
        """Notice if an earlier run has learnt the rows seen so far."""
        if seen.rows and (seen.rows, seen.value) in self.before:
            self.repeated = seen.rows

    def notes(self) -> list[str]:
        """What the user should know about these rows, one sentence each."""
        if not self.repeated:
            return []
        rows = f"the first {self.repeated:,} rows" if self.repeated < self.rows else f"all {self.repeated:,} rows"
        return [f"{rows} of {self.stream.name} had been learnt before; the model has now learnt them once more"]

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
        about = {"errors": numbers, "learnt": learnt, "earlier": self.earlier, "before": [list(one) for one in self.before]}
        save(self.path, self.evaluation.model, self.evaluation.state, Extra({"run": about}, arrays))


def continued(model: Model, state: State, about: dict[str, Any], stream: Stream, path: Path, append: bool) -> Run:
    """A run that `loaded` has read. With `append` it continues at the first row of the stream, and all rows learnt before count as
    rows of earlier files."""
    if not about and not append:
        raise InputError(f"{path} holds a model but no run to continue; to learn these files on top of it, use --append")
    errors, earlier, learnt, others = errors_for(state.target.task), state.rows, "", list[tuple[int, str]]()
    try:
        if about:
            errors = restored(state.target.task, about["errors"], about["arrays"])
            before, rows = int(about["earlier"]), str(about["learnt"])
            others = [(int(count), str(value)) for count, value in about.get("before", ())]
            if not 0 <= before <= state.rows:
                raise ValueError(f"{before} earlier rows")
            if append:
                others = [*others, (state.rows - before, rows)][-MOST_REMEMBERED:]
            else:
                earlier, learnt = before, rows
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"cannot load {path}: {error}; it may be altered, save it again") from None
    evaluation = Evaluation(model, state, errors)
    if append and errors.rows:
        evaluation.mark()
    return Run(evaluation, stream, path, earlier, learnt, before=others)


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
