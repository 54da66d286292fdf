"""`onkel predict`: what a saved model says of the rows of a file, as csv or as JSON lines."""

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

from onkel._types import Matrix
from onkel._writing import replacing
from onkel.cli.model import Model
from onkel.cli.opening import opened_again
from onkel.cli.options import Inputs, Missing
from onkel.cli.writing import check_places
from onkel.data.encoder import policy
from onkel.data.target import cell


def predict_file(model_path: Path, inputs: Inputs, missing: Missing | None, out: Path | None, as_json: bool) -> None:
    check_places({"--out": out}, [model_path, *inputs.paths])
    model = Model.load(model_path)
    encoder = model.encoder if missing is None else dataclasses.replace(model.encoder, missing=policy(missing))
    blocks = opened_again(inputs, encoder, None).to_predict(model.encoded)
    first = list(itertools.islice(blocks, 1))  # what is wrong there is said before anything is written
    skipped = 0
    with _written(out) as file:
        if not as_json:
            csv.writer(file).writerow(_fields(model))
        for X, kept in itertools.chain(first, blocks):
            rows = iter(_rows(model, X) if len(X) else ())
            cells = [next(rows) if there else [None] * len(_fields(model)) for there in kept.tolist()]
            skipped += int(np.count_nonzero(~kept))
            if as_json:
                file.writelines(json.dumps(dict(zip(_fields(model), row, strict=True))) + "\n" for row in cells)
            else:
                csv.writer(file).writerows(cells)
    if skipped:
        rows_have = "1 row has" if skipped == 1 else f"{skipped:,} rows have"
        print(f"onkel: {rows_have} a missing value and no prediction", file=sys.stderr)


def _fields(model: Model) -> list[str]:
    if model.task == "regression":
        return [model.target.name]
    what = "P" if model.has_chances else "score"
    return [model.target.name, *(f"{what}({cell(label)})" for label in model.labels)]


def _rows(model: Model, X: Matrix) -> list[list[Any]]:
    scores = model.predict(X)
    if model.task == "regression":
        return [[score] for score in scores.tolist()]
    names = [cell(label) for label in model.labels]
    beside = model.chances(scores) if model.has_chances else scores
    return [[names[k], *values] for k, values in zip(model.classes(scores), beside.tolist(), strict=True)]


@contextmanager
def _written(out: Path | None) -> Iterator[TextIO]:
    """Text as UTF-8, whatever the terminal's: these are data, and files are read as UTF-8."""
    with nullcontext(sys.stdout.buffer) if out is None else replacing(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the file open
