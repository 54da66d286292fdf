"""Rows that wait for their labels, and how a file holds them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Vector
from onkel.errors import InputError

Given = dict[Any, float] | Vector  # a row whose values are known to be numbers
KINDS = (str, int, float, bool)  # of names, labels and ids that a file can hold


class Waiting(NamedTuple):
    row: Given
    lagged: tuple[float, ...]  # what the learner knew of earlier labels when it was predicted


def packed(rows: Mapping[Hashable, Waiting], lags: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Ids and names, and arrays: the values, which of them are there, and what was known of earlier labels, so many numbers."""
    given = [waiting.row for waiting in rows.values()]
    named = [isinstance(x, dict) for x in given]
    names = list(dict.fromkeys(name for x in given if isinstance(x, dict) for name in x))
    at = {name: k for k, name in enumerate(names)}
    X = np.zeros((len(rows), max((len(at), *map(len, given)), default=0)))
    there, lagged = np.zeros(X.shape, dtype=bool), np.zeros((len(rows), lags))
    for t, (x, known) in enumerate(rows.values()):
        columns = [at[name] for name in x] if isinstance(x, dict) else list(range(len(x)))
        X[t, columns] = list(x.values()) if isinstance(x, dict) else x
        there[t, columns] = True
        lagged[t, : len(known)] = known
    about = {"ids": plain("id", list(rows)), "names": plain("key", names), "named": named}
    return about, {"X": X, "there": there, "lagged": lagged}


def unpacked(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], lags: int) -> dict[Hashable, Waiting]:
    keys, X, there, lagged = plain("key", about["names"]), arrays["X"], arrays["there"], arrays["lagged"]
    if lagged.shape != (len(X), lags):
        raise InputError("its waiting rows know of other labels than its learner asks for")
    rows: dict[Hashable, Waiting] = {}
    for id, named, x, mask, known in zip(plain("id", about["ids"]), about["named"], X, there, lagged, strict=True):
        row: Given = {keys[j]: float(x[j]) for j in np.flatnonzero(mask)} if named else x[mask].astype(np.float64)
        rows[id] = Waiting(row, tuple(known.tolist()))
    return rows


def plain(what: str, values: list[Any]) -> list[Any]:
    """The values, where a file can hold them."""
    for value in values:
        if type(value) not in KINDS:
            raise InputError(
                f"the {what} {value!r:.60} is {type(value).__name__}; a file holds text, numbers, True and False alone"
            )
    return values
