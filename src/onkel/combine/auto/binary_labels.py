"""How many values a label has had: one, two or more. A label with two values is a class, which a logistic regression can learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from onkel._jit import hot_inline
from onkel._types import Counts, Vector
from onkel.errors import InputError

TWO, MORE = 2, 3


@hot_inline
def count_value(first: Vector, second: Vector, values: Counts, rows: int, o: int, label: float) -> bool:
    """Count the value of a label of output `o`, which comes after `rows` rows. Returns whether it is a new value."""
    if rows == 0:
        first[o], second[o], values[o] = label, label, 1
        return True
    if values[o] == 1 and label != first[o]:
        second[o], values[o] = label, TWO
        return True
    if values[o] == TWO and label != first[o] and label != second[o]:
        second[o], values[o] = first[o], MORE  # equal, so that first + (second − first) p is then the first label
        return True
    return False


def append_outputs(state: Any, more: Any) -> None:
    """Append new outputs, whose labels were 0 until now. `more` is a fresh state with only the new outputs."""
    if state.rows[0] > 0:
        more.values[:] = 1
    for name in (field.name for field in fields(state) if field.name not in ("maps", "rows")):  # those have no output axis
        setattr(state, name, np.concatenate([getattr(state, name), getattr(more, name)]))


def check_values(state: Any) -> None:
    if state.rows[0] < 0 or np.any(state.values < 0) or np.any(state.values > MORE):
        raise InputError("its labels have an impossible number of values")
