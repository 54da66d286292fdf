"""A source's rows in a random order, or only the first of them."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onkel._validate import config
from onkel.data.table import Source, Table, joined, rows_at_once
from onkel.errors import FileError, InputError


@config
class Order:
    """Which rows are read, and in which order.

    seed  Of the random draws: the same seed and stream give the same bits. Default: None.
    rows  How many rows are read, the first in that order; None: all. Default: None.

    >>> onkel.data.Order(seed=0, rows=3).permutation(10)
    array([4, 6, 2])
    >>> stream = onkel.read("diabetes", reading=onkel.data.Reading(order=onkel.data.Order(seed=0, rows=100)))
    >>> sum(len(y) for X, y in stream)
    100
    """

    seed: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise InputError(f"rows must be at least 1, got {self.rows} (--rows)")
        if self.seed is not None and self.seed < 0:
            raise InputError(f"the seed of an order must be at least 0, got {self.seed} (--shuffle)")

    def permutation(self, rows: int) -> NDArray[np.int64]:
        """The indices 0 to rows − 1 in this order."""
        order = np.arange(rows) if self.seed is None else np.random.default_rng(self.seed).permutation(rows)
        return order[: self.rows]


def ordered(source: Source, order: Order) -> Source:
    """The source's rows in this order. A random order holds all rows in memory."""
    if order.seed is None:
        return source if order.rows is None else _head(source, order.rows)
    return _shuffled(source, order)


@dataclass(frozen=True, kw_only=True)
class Head(Source):
    """Only the first rows of a source."""

    source: Source
    most: int

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

    def lacking(self) -> list[str]:
        return self.source.lacking()

    def with_room(self, known: Collection[str]) -> Head:
        return _head(self.source.with_room(known), self.most)


def _head(source: Source, most: int) -> Head:
    rows, about = (None if count is None else min(count, most) for count in (source.rows, source.about))
    return Head(name=source.name, kinds=source.kinds, known=source.known, rows=rows, about=about, source=source, most=most)


@dataclass(frozen=True, kw_only=True)
class Shuffled(Source):
    """All rows of a source in a random order, or the first rows in that order."""

    source: Source
    table: Table  # all rows of the source
    order: Order

    def tables(self, sample: bool = False) -> Generator[Table]:
        order = self.order.permutation(len(self.table))
        step = rows_at_once(self.table.numbers.shape[1])
        for start in range(0, len(order), step):
            yield self.table.take(order[start : start + step])

    def notes(self) -> list[str]:
        return self.source.notes()

    def lacking(self) -> list[str]:
        return self.source.lacking()

    @property
    def seed(self) -> int:
        """The seed of the order."""
        assert self.order.seed is not None
        return self.order.seed

    @property
    def grows(self) -> bool:
        return self.source.grows

    def with_room(self, known: Collection[str]) -> Shuffled:
        roomy = self.source.with_room(known)
        return self if roomy is self.source else _shuffled(roomy, self.order)


def _shuffled(source: Source, order: Order) -> Shuffled:
    if not (tables := [table for table in source.tables() if len(table)]):
        raise FileError(f"{source.name} has no rows; write the data again")
    table = joined(tables)
    rows = len(table) if order.rows is None else min(len(table), order.rows)
    return Shuffled(name=source.name, kinds=source.kinds, known=source.known, rows=rows, source=source, table=table, order=order)
