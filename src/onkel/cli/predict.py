"""`onkel predict`: the predictions of a saved model for the rows of a file, as csv or as JSON lines."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from onkel._writing import replacing
from onkel.cli.options import Inputs, Missing
from onkel.cli.resuming import loaded
from onkel.cli.writing import check_place
from onkel.data.table import Table
from onkel.model import Model, State
from onkel.model.encoder import policy


def predict_file(model_path: Path, inputs: Inputs, missing: Missing | None, out: Path | None, as_json: bool) -> None:
    if out is not None:
        check_place("--out", out, [model_path, *inputs.paths])
    model, state, _ = loaded(model_path)
    if missing is not None:
        state.encoder = dataclasses.replace(state.encoder, missing=policy(missing))
    tables = model.open_again(state, inputs.path, inputs.reading, labelled=False).tables()
    blocks = (_rows(model, state, table) for table in tables)
    first = list(itertools.islice(blocks, 1))  # an error in the first block is reported before anything is written
    fields, skipped = _fields(model, state), 0
    with _written(out) as file:
        if not as_json:
            csv.writer(file).writerow(fields)
        for rows in itertools.chain(first, blocks):
            cells = [[None] * len(fields) if row is None else row for row in rows]
            skipped += rows.count(None)
            if as_json:
                file.writelines(json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in cells)
            else:
                csv.writer(file).writerows(cells)
    if skipped:
        rows_have = "1 row has" if skipped == 1 else f"{skipped:,} rows have"
        print(f"onkel: {rows_have} a missing value and no prediction", file=sys.stderr)


def _fields(model: Model, state: State) -> list[str]:
    if state.target.task == "regression":
        return [state.target.name]
    what = "P" if model.has_probabilities(state) else "score"
    return [state.target.name, *(f"{what}({label})" for label in model.classes(state))]


def _rows(model: Model, state: State, table: Table) -> list[list[Any] | None]:
    """The cells of each row; None for a row with a missing value."""
    scores, kept = model.scores_any(state, table)
    answers = model.answers_for(state, scores, np.ones(len(scores), dtype=bool)).tolist()
    if state.target.task == "regression":
        rows = iter([[answer] for answer in answers])
    else:
        per_class = model.probabilities(state, scores) if model.has_probabilities(state) else scores
        rows = iter([[answer, *values] for answer, values in zip(answers, per_class.tolist(), strict=True)])
    return [next(rows) if there else None for there in kept.tolist()]


@contextmanager
def _written(out: Path | None) -> Iterator[TextIO]:
    """A text file in UTF-8, whatever the encoding of the terminal: this is data, and files are read as UTF-8."""
    with nullcontext(sys.stdout.buffer) if out is None else replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the file open
