"""A source's rows in another order, or the first of them alone."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onkel.data.table import Kind, Source, Table, joined, rows_at_once
from onkel.errors import FileError, InputError


class Order(NamedTuple):
    """Which rows come, and when."""

    seed: int | None = None  # of a random order of all rows; None: their own
    rows: int | None = None  # how many of them, the first in that order


def ordered(source: Source, order: Order) -> Source:
    """The source itself, where nothing was asked for. To shuffle holds all rows in memory."""
    if order.rows is not None and order.rows < 1:
        raise InputError(f"rows must be at least 1, got {order.rows} (--rows)")
    if order.seed is None:
        return source if order.rows is None else Head(source, order.rows)
    if order.seed < 0:
        raise InputError(f"the seed of an order must be at least 0, got {order.seed} (--shuffle)")
    if not (tables := [table for table in source.tables() if len(table)]):
        raise FileError(f"{source.name} has no rows; write the data again")
    return Shuffled(source, joined(tables), order.seed, order.rows)


@dataclass(frozen=True)
class Head:
    """The first rows."""

    source: Source
    most: int

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self.source.kinds

    @property
    def rows(self) -> int | None:
        return None if self.source.rows is None else min(self.source.rows, self.most)

    @property
    def about(self) -> int | None:
        rows: int | None = getattr(self.source, "about", None)
        return None if rows is None else min(rows, self.most)

    def tables(self, sample: bool = False) -> Generator[Table]:
        left = self.most
        with closing(self.source.tables(sample)) as tables:
            for table in tables:
                yield table[:left]
                left -= min(left, len(table))
                if not left:
                    break

    def notes(self) -> list[str]:
        return self.source.notes()


@dataclass(frozen=True)
class Shuffled:
    """All rows in a random order, or the first rows of that."""

    source: Source
    table: Table  # all of its rows
    seed: int
    most: int | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self.source.kinds

    @property
    def rows(self) -> int:
        return len(self.table) if self.most is None else min(len(self.table), self.most)

    def tables(self, sample: bool = False) -> Generator[Table]:
        order = np.random.default_rng(self.seed).permutation(len(self.table))[: self.rows]
        step = rows_at_once(self.table.numbers.shape[1])
        for start in range(0, self.rows, step):
            yield self.table.take(order[start : start + step])

    def notes(self) -> list[str]:
        return self.source.notes()
