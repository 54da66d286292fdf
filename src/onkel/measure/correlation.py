"""Groups of columns that are strongly correlated, such as a counter and the date that rises with it.

Columns of numbers and dates are compared by Spearman's rank correlation, each pair on the rows where both have a value. A group is
made of columns of which each is strongly correlated with another one of the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onkel._types import Matrix, Vector
from onkel.data.table import Table

STRONG = 0.9  # |rank correlation|
LEAST_ROWS = 100  # with values in both columns


class Correlated(NamedTuple):
    names: tuple[str, ...]
    least: float  # each of the columns has at least this |rank correlation| with another one of them


def correlated(table: Table, names: Sequence[str]) -> list[Correlated]:
    """The groups among these columns, in their order. Columns of strings belong to none."""
    ranked = {name: _ranks(_values(table, name)) for name in names if name in table.dates or name in table.places}
    if len(ranked) < 2:
        return []
    known, apart = list(ranked), _correlations(np.column_stack(list(ranked.values())))
    np.fill_diagonal(apart, 0.0)
    groups, left = [], set(range(len(known)))
    while left:
        group = _reached(min(left), apart >= STRONG)
        left -= group
        if len(group) > 1:
            members = sorted(group)
            groups.append(Correlated(tuple(known[k] for k in members), float(apart[members].max(axis=1).min())))
    return groups


def _values(table: Table, name: str) -> Vector:
    """Numbers as they are, dates as numbers; NaN where a value is missing."""
    if name not in table.dates:
        return np.asarray(table.numbers[:, table.places[name]])
    dates = table.dates[name]
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64))


def _ranks(values: Vector) -> Vector:
    """Ranks minus their mean, equal values with the mean of their ranks; NaN for missing values."""
    there = ~np.isnan(values)
    _, place, counts = np.unique(values[there], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[there] = (np.cumsum(counts) - (counts - 1) / 2.0)[place] - (np.count_nonzero(there) + 1) / 2.0
    return ranks


def _correlations(ranks: Matrix) -> Matrix:
    """|correlation| of each pair, on the rows where both are there; 0 where it is not defined."""
    there = (~np.isnan(ranks)).astype(float)
    known = np.nan_to_num(ranks)
    squares = (known**2).T @ there  # of the first column, on the rows of both
    product: Any = np.sqrt(squares * squares.T)
    enough = (there.T @ there >= LEAST_ROWS) & (product > 0.0)
    found: Matrix = np.divide(np.abs(known.T @ known), product, out=np.zeros_like(product), where=enough)
    return found


def _reached(start: int, linked: Any) -> set[int]:
    """The columns that are linked with this one, also through others."""
    found, new = {start}, [start]
    while new:
        others = set(np.flatnonzero(linked[new.pop()]).tolist()) - found
        found |= others
        new.extend(others)
    return found
