"""A block of rows, for compiled code that changes a function."""

from __future__ import annotations

from typing import Any, NamedTuple

from onkel._types import Counts, Matrix, Vector


class RowBlock(NamedTuple):
    kernel: Any  # a named tuple from `Function.source`: its type selects what is compiled
    X: Matrix  # from `Function.rows`
    own: Vector  # k(x, x)
    y: Vector
    weight: Vector  # 1, or 0 for a row that is only scored
    learnt: Counts  # (1,)  the state's count of rows, which compiled code increments for each row learnt
