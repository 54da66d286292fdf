"""How many values a label has had: one, two, or more. With two it is a class, and a logistic regression can learn it."""

from __future__ import annotations

from onkel._jit import hot_inline
from onkel._types import Counts, Vector

TWO, MORE = 2, 3


@hot_inline
def meet(first: Vector, second: Vector, values: Counts, rows: int, o: int, label: float) -> bool:
    """Count the values that the label of output `o` has had, after so many rows; whether there is one more since this row."""
    if rows == 0:
        first[o], second[o], values[o] = label, label, 1
        return True
    if values[o] == 1 and label != first[o]:
        second[o], values[o] = label, TWO
        return True
    if values[o] == TWO and label != first[o] and label != second[o]:
        second[o], values[o] = first[o], MORE  # equal values: a score between the two is then the first label
        return True
    return False
