"""Labels that are given separately from the rows: any sequence of numbers or of strings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onkel._types import Vector
from onkel.data.table import Strings, strings
from onkel.errors import InputError

LABEL = "y"


def name_of(y: Any) -> str:
    """What the column of these labels is called: as a Series is, else y."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name.strip() else LABEL


def labels_of(y: Any, rows: int) -> Vector | Strings:
    values = np.asarray(y)
    if values.shape != (rows,):
        raise InputError(f"y must hold one label for each of the {rows:,} rows, got shape {values.shape}")
    if values.dtype.kind in "biuf":
        return values.astype(float)
    cells = [None if is_missing(value) else value for value in values.tolist()]
    there = [value for value in cells if value is not None]
    if all(isinstance(value, str) for value in there):
        return strings(cells)
    if all(isinstance(value, int | float) for value in there):
        return np.array([math.nan if value is None else value for value in cells], dtype=float)
    kinds = sorted({type(value).__name__ for value in there})
    raise InputError(f"y must hold numbers or strings, got {' and '.join(kinds)}; convert it, as in [str(label) for label in y]")


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")
