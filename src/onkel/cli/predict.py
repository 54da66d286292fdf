"""`onkel predict`: the predictions of a saved model for the rows of a file, as csv or as JSON lines."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from onkel._writing import replacing
from onkel.cli.options import Inputs, Missing, split
from onkel.data.clock import written
from onkel.data.reading import STANDARD_INPUT, open_tables
from onkel.data.table import Kind, Strings, Table
from onkel.errors import InputError
from onkel.model import Model, State, encoder
from onkel.model.encoder import filled_in, policy
from onkel.model.late import taking_late
from onkel.persist.places import check_place
from onkel.persist.run import loaded

ALL = "all"  # of --keep
JSON_LINES = (".jsonl", ".ndjson")  # names of files that are JSON lines without --json
PLAIN = ("", ".csv", ".txt")


@dataclass(frozen=True)
class Wanted:
    """What is written for each row, besides the prediction."""

    keep: str | None = None  # columns of the input, separated by commas; "all" for every one
    probabilities: bool = False  # of each class
    interval: float | None = None  # the level of an interval around each number

    def check(self, model_path: Path, state: State) -> None:
        task, name = state.target.task, state.target.name
        if self.probabilities and task == "regression":
            raise InputError(f"{model_path} predicts a number, {name!r}, which has no probabilities; ask for --interval 0.9")
        if self.interval is not None and task == "classification":
            raise InputError(f"{model_path} predicts a label, {name!r}, which has no interval; ask for --probabilities")

    def columns(self, inputs: Inputs) -> tuple[str, ...]:
        """The names of the columns of the input that are kept."""
        if self.keep != ALL:
            return split(self.keep)
        if STANDARD_INPUT in inputs.paths:
            raise InputError("the columns of the standard input are not known in advance: name those to keep, as in --keep id,town")
        return tuple(open_tables(inputs.path, inputs.reading).known)


def predict_file(
    model_path: Path, inputs: Inputs, missing: Missing | None, wanted: Wanted, out: Path | None, as_json: bool
) -> None:
    if out is not None:
        check_place("--out", out, [model_path, *inputs.paths])
        if out.suffix not in (*PLAIN, *JSON_LINES):
            raise InputError(f"--out {out}: predictions are csv or JSON lines; let the name end in .csv or .jsonl")
        as_json = as_json or out.suffix in JSON_LINES
    model, state, _ = loaded(model_path, inputs.paths)
    wanted.check(model_path, state)
    if missing is not None:
        state.encoder = dataclasses.replace(state.encoder, missing=policy(missing))
    keep = wanted.columns(inputs)
    tables = model.open_again(state, inputs.path, inputs.reading, labelled=False, keep=keep).tables()
    filled = Counter[str]()
    blocks = (_rows(model, state, table, keep, wanted, filled) for table in tables)
    first = list(itertools.islice(blocks, 1))  # an error in the first block is reported before anything is written
    fields, skipped = _fields(model, state, keep, wanted), 0
    with _written(out) as file:
        if not as_json:
            csv.writer(file).writerow(fields)
        for rows, unanswered in itertools.chain(first, blocks):
            skipped += unanswered
            if as_json:
                file.writelines(json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in rows)
            else:
                csv.writer(file).writerows(rows)
    if skipped:
        rows_have = "1 row has" if skipped == 1 else f"{skipped:,} rows have"
        print(f"onkel: {rows_have} a missing value and no prediction", file=sys.stderr)
    if filled:
        print(f"onkel: {filled_in(filled)}", file=sys.stderr)


def _fields(model: Model, state: State, keep: Sequence[str], wanted: Wanted) -> list[str]:
    """The names of the columns that are written."""
    name = state.target.name
    fields = [*keep, f"predicted {name}" if name in keep else name]
    if wanted.interval is not None:
        fields += [f"low({wanted.interval:g})", f"high({wanted.interval:g})"]
    if wanted.probabilities:
        what = "P" if model.has_probabilities(state) else "score"
        fields += [f"{what}({label})" for label in model.classes(state)]
    return fields


def _rows(
    model: Model, state: State, table: Table, keep: Sequence[str], wanted: Wanted, filled: Counter[str]
) -> tuple[list[list[Any]], int]:
    """The cells of each row, and the number of rows that have a missing value and therefore no prediction.

    Missing values that are filled in are added to `filled`.
    """
    scores, kept = model.scores_any(state, table)
    if state.encoder.missing is encoder.Missing.MEAN:
        filled.update(state.encoder.missing_in(taking_late(state.encoder, table)))
    every = np.ones(len(scores), dtype=bool)
    answers = model.answers_for(state, scores, every)
    more = np.empty((len(answers), 0))
    if wanted.interval is not None:
        more = model.interval_around(state, answers, wanted.interval)
    if wanted.probabilities:
        more = model.probabilities(state, scores) if model.has_probabilities(state) else scores
    answered = iter([[answer, *others] for answer, others in zip(answers.tolist(), more.tolist(), strict=True)])
    blank = [None] * (1 + more.shape[1])
    kinds = {column.name: column.kind for column in state.encoder.columns}
    own = zip(*(_shown(table, name, kinds.get(name)) for name in keep), strict=True) if keep else [()] * len(table)
    rows = [[*cells, *(next(answered) if there else blank)] for cells, there in zip(own, kept.tolist(), strict=True)]
    return rows, int(np.count_nonzero(~kept))


def _shown(table: Table, name: str, kind: Kind | None) -> list[Any]:
    """A column of the input as it is written; None for a missing value. `kind`: of a column that the model knows."""
    cells: Any = table.cells(name)
    if isinstance(cells, Strings):
        return [cells.values[code] if code >= 0 else None for code in cells.codes.tolist()]
    if name in table.dates:
        return [None if np.isnat(cell) else str(cell) for cell in cells]
    if kind is Kind.TIME:
        return [None if cell != cell else written(cell) for cell in cells.tolist()]
    return [None if cell != cell else int(cell) if cell.is_integer() else cell for cell in cells.tolist()]


@contextmanager
def _written(out: Path | None) -> Iterator[TextIO]:
    """A text file in UTF-8, whatever the encoding of the terminal: this is data, and files are read as UTF-8."""
    with nullcontext(sys.stdout.buffer) if out is None else replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the file open
