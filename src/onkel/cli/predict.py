"""`onkel predict`: what a saved model says of the rows of a file, as csv or as JSON lines."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from onkel.cli.model import Model
from onkel.data.files import read_again
from onkel.data.target import Signs
from onkel.errors import InputError


def predict_file(model_path: Path, path: str, out: Path | None, as_json: bool, format: str | None) -> None:
    model = Model.load(model_path)
    stream = read_again(path, model.encoder, None, format=format)
    with _written(out) as file:
        if not as_json:
            csv.writer(file).writerow(_fields(model))
        skipped = 0
        for X, kept in stream.to_predict(model.encoded):
            scores = np.full(len(kept), np.nan)
            if len(X):
                scores[kept] = model.predict(X)
            skipped += int(np.count_nonzero(~kept))
            rows = [_row(model, score) for score in scores.tolist()]
            if as_json:
                file.writelines(json.dumps(dict(zip(_fields(model), row, strict=True))) + "\n" for row in rows)
            else:
                csv.writer(file).writerows([["" if cell is None else cell for cell in row] for row in rows])
    if skipped:
        print(f"onkel: {skipped:,} rows have a missing value and no prediction", file=sys.stderr)


def _fields(model: Model) -> list[str]:
    return [model.target.name, "score"] if isinstance(model.target, Signs) else [model.target.name]


def _row(model: Model, score: float) -> list[Any]:
    if np.isnan(score):
        return [None] * len(_fields(model))
    if isinstance(model.target, Signs):
        return [model.target.high if score >= 0.0 else model.target.low, score]
    return [score]


@contextmanager
def _written(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    try:
        with out.open("w", newline="") as file:
            yield file
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}; name another file") from None
