"""Rows, as compiled code that changes a function sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

from onkel._types import Counts, Matrix, Vector


class RowBlock(NamedTuple):
    kernel: Any  # a named tuple, as `Function.source` makes it: which one decides what is compiled
    X: Matrix  # as `Function.rows` makes them
    own: Vector  # k(x, x)
    y: Vector
    weight: Vector  # 1, or 0 to score a row and leave it unlearnt
    learnt: Counts  # (1,)  the state's own count of rows; compiled code adds each row that it has learnt
