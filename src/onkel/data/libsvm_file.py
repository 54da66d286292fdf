"""Tables from libsvm files: a line is a label and index:value pairs, `-1 3:1 7:0.5  # comment`; all other values are 0.

Indices count from 1, or from 0 if one of them is 0. A file is read once to find its largest index; for a pipe or a growing file the
first rows decide, and a larger index later is an error. The columns are x1, x2, … and the label is y.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onkel.data.byte_streams import ByteStream, file_errors, whole_lines
from onkel.data.columns import SAMPLE_ROWS, choose, number, numbers_only, shown
from onkel.data.table import BYTES_AT_ONCE, Kind, Origin, Source, Table, rows_at_once
from onkel.errors import FileError, InputError

LABEL = "y"
LARGEST_INDEX = BYTES_AT_ONCE // 8


class _Row(NamedTuple):
    label: float
    values: dict[int, float]
    line: int


@dataclass(frozen=True, kw_only=True)
class LibsvmSource(Source):
    stream: ByteStream
    first: int  # the smallest index, 0 or 1
    width: int

    def notes(self) -> list[str]:
        return self.stream.notes()

    def tables(self, sample: bool = False) -> Generator[Table]:
        at_once = rows_at_once(self.width + 1)
        place = {f"x{self.first + k}": k for k in range(self.width)} | {LABEL: self.width}
        keep = [place[name] for name in self.kinds]
        with file_errors(self.name), closing(self.stream.chunks(sample)) as chunks:
            for first, lines in whole_lines(self.name, chunks):
                rows = _rows(self.name, first, lines)
                while some := list(itertools.islice(rows, at_once)):
                    yield self._table(some, keep)
                if not lines:
                    yield self._table([], keep)

    def _table(self, rows: Sequence[_Row], keep: Sequence[int]) -> Table:
        dense = np.zeros((len(rows), self.width + 1))
        for k, row in enumerate(rows):
            for index, value in row.values.items():
                if not 0 <= index - self.first < self.width:
                    known = f"{self.first} to {self.first + self.width - 1}"
                    remedy = "save the data to a file first: a file is read once to find its largest index"
                    raise InputError(f"{self.name}, line {row.line}: the index {index} is not one of {known}; {remedy}")
                dense[k, index - self.first] = value
            dense[k, self.width] = row.label
        origin = Origin(len(rows), 0, lambda row: f"{self.name}, line {rows[row].line}")
        return Table(tuple(self.kinds), dense[:, keep], {}, {}, (origin,))


def open_libsvm(source: ByteStream, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> LibsvmSource:
    numbers_only(source.name, kinds)
    asked = [int(name[1:]) for name in wanted or () if re.fullmatch(r"x\d{1,7}", name)]  # wanted columns that no row names are 0
    lowest, highest, rows = min([1, *asked]), max([0, *asked]), 0
    with file_errors(source.name), closing(source.chunks(sample=not source.is_whole)) as chunks:
        for first, lines in whole_lines(source.name, chunks):
            for row in _rows(source.name, first, lines):
                lowest, highest = min(lowest, min(row.values, default=1)), max(highest, max(row.values, default=0))
                rows += 1
            if rows >= SAMPLE_ROWS and not source.is_whole:
                break
    if not rows:
        raise FileError(f"{source.name} has no rows; write the data again")
    width = highest - lowest + 1
    if width < 1:
        raise InputError(f"{source.name}: there are labels but no features; write features as index:value")
    known = [*(f"x{lowest + k}" for k in range(width)), LABEL]
    found = dict.fromkeys(choose(source.name, known, wanted), Kind.NUMBER)
    return LibsvmSource(name=source.name, kinds=found, known=known, stream=source, first=lowest, width=width)


def _rows(name: str, first: int, lines: list[bytes]) -> Iterator[_Row]:
    cells = ((first + k, line.split(b"#", 1)[0].split()) for k, line in enumerate(lines))
    return (_row(f"{name}, line {line}", words, line) for line, words in cells if words)


def _row(place: str, words: list[bytes], line: int) -> _Row:
    values: dict[int, float] = {}
    for word in words[1:]:
        index, colon, value = word.partition(b":")
        if not colon or not index.isdigit():
            raise InputError(f"{place}: {shown(_text(word))} is not index:value; correct it or drop the line")
        if len(index) > 9 or int(index) > LARGEST_INDEX:
            raise InputError(f"{place}: the index {shown(_text(index))} is beyond {LARGEST_INDEX}; correct it or drop the line")
        if int(index) in values:
            raise InputError(f"{place}: the index {int(index)} appears twice; correct it or drop the line")
        values[int(index)] = _number(place, value)
    return _Row(_number(place, words[0]), values, line)


def _number(place: str, word: bytes) -> float:
    value = number(_text(word))
    if not math.isfinite(value):
        raise InputError(f"{place}: {shown(_text(word))} is not {'finite' if math.isinf(value) else 'a number'}; correct it")
    return value


def _text(word: bytes) -> str:
    return word.decode(errors="replace")
