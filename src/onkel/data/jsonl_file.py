"""Tables from JSON lines: one object a line, its keys the columns.

The keys of the first rows are the columns; a key that is absent, null or NaN is missing. One that first appears later is not used,
which is noted; with `room` for such keys their numbers are the `late` columns of a table. Numbers, true and false are numbers;
strings are texts, or dates where any of them is one. Nothing may be nested.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from onkel._types import Vector
from onkel.data.columns import (
    LEAST_SAMPLE,
    SAMPLE_CELLS,
    SAMPLE_ROWS,
    check_declared,
    choose,
    date,
    dates,
    is_date,
    shown,
)  # fmt: skip
from onkel.data.input import Input, reading, whole_lines
from onkel.data.looks import remedy
from onkel.data.table import ROWS_AT_ONCE, Kind, Origin, Table, texts
from onkel.errors import FileError, InputError


class _Row(NamedTuple):
    values: dict[str, Any]
    line: int


@dataclass
class JsonLines:
    input: Input
    kinds: dict[str, Kind]
    known: frozenset[str]  # keys of the first rows, wanted or not
    rows: int | None = None
    room: bool = False  # for keys that come later
    unused: dict[str, tuple[int, bool]] = field(default_factory=dict)  # such keys: their first line, and whether it has a number

    @property
    def name(self) -> str:
        return self.input.name

    def notes(self) -> list[str]:
        numbers = sum(is_number for _, is_number in self.unused.values())
        remedy = {True: f"; keep columns free for such keys: --spare {numbers}", False: ": only numbers may come so late"}
        return [
            f"the key {key!r}, which first appears on line {line}, is not used{remedy[is_number]}"
            for key, (line, is_number) in self.unused.items()
        ]

    def tables(self, sample: bool = False) -> Generator[Table]:
        with reading(self.name), closing(self.input.chunks(sample)) as chunks:
            for first, lines in whole_lines(self.name, chunks):
                yield from self._tables(_rows(self.name, first, lines))
                if not lines:
                    yield self._table([])

    def _tables(self, rows: Iterator[_Row]) -> Iterator[Table]:
        """The rows up to the first bad one, of which the error says where it is."""
        while True:
            good: list[_Row] = []
            wrong: Exception | None = None
            try:
                for row in itertools.islice(rows, ROWS_AT_ONCE):
                    self._check(row)
                    good.append(row)
            except (InputError, FileError) as error:
                wrong = error
            if good:
                yield self._table(good)
            if wrong:
                raise wrong
            if not good:
                return

    def _check(self, row: _Row) -> None:
        kinds = self.kinds
        for key in row.values.keys() - self.known:
            is_number = isinstance(row.values[key], int | float)
            if is_number and self.room:
                kinds = {**kinds, key: Kind.NUMBER}
            elif row.values[key] is not None:
                self.unused.setdefault(key, (row.line, is_number))
        for key, kind in kinds.items():
            value = row.values.get(key)
            if value is not None and not _is_sound(value, kind):
                place = f"{self.name}, line {row.line}, key {key!r}"
                if isinstance(value, dict | list):
                    raise InputError(
                        f"{place}: {shown(str(value))} is nested; leave the column out (--without {key}), or write it flat"
                    )
                way = remedy(key, kind, str(value))
                raise InputError(f"{place}: {shown(str(value))} is not {_wanted(value, kind)}; {way}")

    def _table(self, rows: Sequence[_Row]) -> Table:
        names = tuple(key for key, kind in self.kinds.items() if kind is Kind.NUMBER)
        numbers = np.array([[_number(row.values.get(key)) for key in names] for row in rows], dtype=float)
        return Table(
            names,
            numbers.reshape(len(rows), len(names)),
            {key: texts(_text(row.values.get(key)) for row in rows) for key, kind in self.kinds.items() if kind is Kind.TEXT},
            {key: dates([row.values.get(key) or "" for row in rows]) for key, kind in self.kinds.items() if kind is Kind.DATE},
            (Origin(len(rows), 0, lambda row: f"{self.name}, line {rows[row].line}"),),
            self._late(rows) if self.room else {},
        )

    def _late(self, rows: Sequence[_Row]) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        for k, row in enumerate(rows):
            for key in row.values.keys() - self.known:
                if isinstance(row.values[key], int | float):
                    found.setdefault(key, np.full(len(rows), np.nan))[k] = row.values[key]
        return found


def open_jsonl(source: Input, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> JsonLines:
    """The first rows decide; `kinds` are those that were declared."""
    found: dict[str, list[Any]] = {}
    with reading(source.name), closing(source.chunks(sample=True)) as chunks:
        whole = (_rows(source.name, first, lines) for first, lines in whole_lines(source.name, chunks))
        rows = itertools.islice(itertools.chain.from_iterable(whole), SAMPLE_ROWS)
        count = cells = 0
        try:
            for count, row in enumerate(rows, 1):
                for key, value in row.values.items():
                    found.setdefault(key, []).append(value)
                cells += len(row.values)
                if cells >= SAMPLE_CELLS and count >= LEAST_SAMPLE:
                    break
        except InputError:  # it will be met again, behind the rows before it
            if not count:
                raise
    if not count:
        raise FileError(f"{source.name} is empty: it has only blank lines; write the data again")
    known = list(found)
    names = choose(source.name, known, wanted)
    check_declared(source.name, kinds, known)
    return JsonLines(source, {key: kinds.get(key) or _kind(found[key]) for key in names}, frozenset(known))


def _rows(name: str, first: int, lines: list[bytes]) -> Iterator[_Row]:
    return (_Row(_parsed(f"{name}, line {first + k}", line), first + k) for k, line in enumerate(lines) if line.strip())


def _parsed(place: str, line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line.decode(), object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        raise FileError(f"{place}: it is not UTF-8 text; save the file as UTF-8") from None
    except RecursionError:
        raise InputError(f"{place}: it is nested too deeply; write it flat") from None
    except ValueError as error:  # JSONDecodeError is one
        raise InputError(f"{place}: it is not JSON ({error}); correct it or drop the line") from None
    if not isinstance(values, dict):
        raise InputError(f'{place}: {shown(str(values))} is not an object; write it like {{"size": 50, "price": 210}}')
    return values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key stands twice")
    return values


def _constant(name: str) -> None:
    """What Python writes though JSON has no word for it: NaN is missing."""
    if name != "NaN":
        raise ValueError(f"{name} is not a number of JSON")


def _kind(values: Sequence[Any]) -> Kind:
    """As for csv: numbers if any is one, else dates if any is one, else text."""
    there = [value for value in values if value is not None and not (isinstance(value, str) and not value.strip())]
    if any(isinstance(value, int | float) for value in there):
        return Kind.NUMBER
    if any(isinstance(value, str) and is_date(value) for value in there):
        return Kind.DATE
    return Kind.TEXT if there else Kind.NUMBER


def _is_sound(value: Any, kind: Kind) -> bool:
    if kind is Kind.NUMBER:
        return isinstance(value, int | float) and math.isfinite(_number(value))
    if kind is Kind.TEXT:
        return isinstance(value, int | float) or (isinstance(value, str) and _is_text(value))
    return isinstance(value, str) and (not value.strip() or not np.isnat(date(value)))


def _wanted(value: Any, kind: Kind) -> str:
    if kind is Kind.NUMBER and isinstance(value, int | float):
        return "finite"
    return "text in Unicode" if kind is Kind.TEXT else kind.value


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _is_text(value: str) -> bool:
    """JSON can write halves of a character, \\ud800, that no text holds."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
