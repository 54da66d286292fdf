"""Several files as one source, read one after the other. Errors name the file in which they occur.

The source has the columns of all files. In the rows of a file that lacks a column, its values are missing (in a libsvm file they
are 0). A column must be of the same kind in all files. Each file must have the target.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from onkel.data.columns import AllBut, NoColumn, declare, leave_out, listed, sample_rows
from onkel.data.table import Kind, Source, Strings, Table
from onkel.errors import InputError

Opener = Callable[
    [Sequence[str] | None, Mapping[str, Kind]], Source
]  # opens a file, given the wanted columns and the declared kinds


@dataclass(frozen=True, kw_only=True)
class Concatenated(Source):
    parts: tuple[Source, ...]

    def with_room(self, known: Collection[str]) -> Concatenated:
        return dataclasses.replace(self, parts=tuple(part.with_room(known) for part in self.parts))

    def notes(self) -> list[str]:
        return [*self.lacking(), *(f"{part.name}: {note}" for part in self.parts for note in part.notes())]

    def lacking(self) -> list[str]:
        absent = {part.name: [name for name in self.kinds if name not in part.kinds] for part in self.parts}
        return [f"{part} has no column {listed(names)}, but another file has" for part, names in absent.items() if names]

    def tables(self, sample: bool = False) -> Generator[Table]:
        """Yield the tables of each file; a sample takes the same number of rows from each."""
        share = -(-sample_rows(len(self.kinds)) // len(self.parts))
        for part in self.parts:
            rows = 0
            with closing(part.tables(sample)) as tables:
                for table in tables:
                    yield self._whole(table[: share - rows] if sample else table)
                    rows += len(table)
                    if sample and rows >= share:
                        break

    def _whole(self, table: Table) -> Table:
        """The table with the columns of all files; those that it lacks are filled with missing values."""
        of = {kind: tuple(name for name, own in self.kinds.items() if own is kind) for kind in Kind}
        numeric = tuple(name for name, own in self.kinds.items() if own.is_numeric)
        numbers = np.full((len(table), len(numeric)), np.nan)
        places = {name: j for j, name in enumerate(numeric)}
        numbers[:, [places[name] for name in table.names]] = table.numbers
        no_text, no_date = Strings(np.full(len(table), -1), ()), np.full(len(table), np.datetime64("NaT", "us"))
        return Table(
            numeric,
            numbers,
            {name: table.strings.get(name, no_text) for name in of[Kind.TEXT]},
            {name: table.dates.get(name, no_date) for name in of[Kind.DATE]},
            table.origins,
            table.late,
        )


def open_concatenated(
    openers: Sequence[Opener], wanted: Sequence[str] | None, kinds: Mapping[str, Kind], label: str | None
) -> Concatenated:
    found: dict[str, tuple[Kind, str]] = {}
    absent: dict[str, NoColumn] = {}
    for opener in openers:
        part = _opened(opener, wanted, kinds, label, absent)
        for name, kind in part.kinds.items():
            before, where = found.setdefault(name, (kind, part.name))
            if before is not kind:
                raise InputError(
                    f"column {name!r} is {before.value} in {where} and {kind.value} in {part.name}; "
                    f"{declare(Kind.TEXT, name)}, or leave it out ({leave_out(name)})"
                )
    for name, error in absent.items():
        if name not in found:
            raise error
    all_kinds = {name: kind for name, (kind, _) in found.items()}
    parts = tuple(_opened(opener, list(all_kinds), all_kinds, label, {}) for opener in openers)
    return Concatenated(
        name=f"{parts[0].name} and {len(parts) - 1} more",
        kinds=all_kinds,
        known=dict.fromkeys(name for part in parts for name in part.known),
        rows=_sum([part.rows for part in parts]),
        about=_sum([part.rows or part.about for part in parts]),
        parts=parts,
    )


def _opened(
    opener: Opener, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], label: str | None, absent: dict[str, NoColumn]
) -> Source:
    """Open a file. Wanted columns that it lacks are left out and noted in `absent`; but it must have the column `label`."""
    while True:
        try:
            return opener(wanted, kinds)
        except NoColumn as error:
            if error.column == label:
                raise
            absent.setdefault(error.column, error)
            left = [name for name in wanted or () if name != error.column]
            wanted = None if wanted is None else AllBut(left) if isinstance(wanted, AllBut) else left
            kinds = {name: kind for name, kind in kinds.items() if name != error.column}


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
