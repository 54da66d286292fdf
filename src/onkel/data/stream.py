"""A stream: the blocks (X, y) of a source, encoded as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.data.encoder import Encoder, Missing, State
from onkel.data.table import Source, Table, recut
from onkel.data.target import Target
from onkel.errors import InputError

LARGEST_BLOCK = 1 << 30  # bytes of one block

Block = tuple[Matrix, Vector]


@dataclass(repr=False)
class Stream:
    """Each iteration reads the source from its start, with an encoder that has seen nothing."""

    source: Source
    target: Target
    encoder: Encoder
    block: int  # rows of the source at a time
    sample: Table  # the first rows, by which the rest was planned
    remarks: tuple[str, ...] = ()  # on what these look like
    state: State = field(init=False)  # of the encoder, after the rows given so far
    done: int = field(init=False, default=0)  # rows of the source given so far

    def __post_init__(self) -> None:
        self.state = self.encoder.init()
        row = 8 * (self.encoder.width + 1)
        if self.block * row > LARGEST_BLOCK:
            raise InputError(
                f"{self.name}: a block of {self.block} rows and {row // 8} columns takes {self.block * row / 1e9:.1f} GB; "
                f"choose block={max(1, LARGEST_BLOCK // row)} or less"
            )

    def __repr__(self) -> str:
        return f"<Stream of {self.name}: {', '.join(self.names)} -> {self.target.name}>"

    @property
    def name(self) -> str:
        """Of the source."""
        return self.source.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns that X is made from."""
        return tuple(column.name for column in self.encoder.columns)

    @property
    def rows(self) -> int | None:
        """Of the source; None where only reading would tell."""
        return self.source.rows

    def about(self) -> int | None:
        """About how many rows there are, where that can be told from the size of the file."""
        return getattr(self.source, "about", None)

    def notes(self) -> list[str]:
        """What a person should know of the rows so far, one sentence each."""
        return [*self.source.notes(), *self.remarks, *self.encoder.notes(self.state)]

    def __iter__(self) -> Iterator[Block]:
        return self.after(0, self.encoder.init())

    def after(self, rows: int, state: State, seen: Callable[[Table], None] = lambda table: None) -> Iterator[Block]:
        """Go on behind so many rows of the source, with the state that the encoder had then.

        `seen` is given all rows before they are, those that are passed over among them, with a cut behind the last of these.
        """
        self.state, self.done = state, rows
        start = 0
        for table in recut(self.source.tables(), self.block):
            passed = min(max(0, rows - start), len(table))
            if passed:
                seen(table[:passed])
            if passed < len(table) or not len(table):
                rest = table[passed:]
                seen(rest)
                yield self._encode(rest)
            start += len(table)

    def to_predict(self, state: State) -> Iterator[tuple[Matrix, NDArray[np.bool_]]]:
        """X of each block, by an encoder that learns nothing more, and which rows it has."""
        for table in recut(self.source.tables(), self.block):
            yield self.encoder.predict(state, table)

    def _encode(self, table: Table) -> Block:
        y = self.target.encode(table, self.state.labels) if len(table) else np.empty(0)
        unlabelled = np.isnan(y)
        if unlabelled.any():
            if self.encoder.missing is Missing.REFUSE:
                remedy = "fill it, or leave such rows out: missing='drop' or 'mean' (--missing drop)"
                raise InputError(
                    f"{table.place(int(np.argmax(unlabelled)))}, column {self.target.name!r}: the label is missing; {remedy}"
                )
            table, y = table.where(~unlabelled), y[~unlabelled]
            self.state.dropped += int(np.count_nonzero(unlabelled))
        X, kept = self.encoder.learn(self.state, table)
        self.done += len(unlabelled)
        return X, y if kept.all() else y[kept]
