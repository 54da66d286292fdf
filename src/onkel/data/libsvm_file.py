"""Tables from libsvm files: a line is a label and index:value pairs, `-1 3:1 7:0.5  # comment`; what is not named is 0.

Indices count from 1, or from 0 where a 0 stands among them. A file is looked through once for its width; of a pipe or a file that
grows the first rows tell it, and a larger index later is an error. The columns are x1, x2, … and the label is y.
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

from onkel.data.columns import SAMPLE_ROWS, choose, number, numbers_only, shown
from onkel.data.input import File, Input, reading, unended, whole_lines
from onkel.data.table import BYTES_AT_ONCE, Kind, Origin, Table, rows_at_once
from onkel.errors import FileError, InputError

LABEL = "y"
LARGEST_INDEX = BYTES_AT_ONCE // 8


class _Row(NamedTuple):
    label: float
    values: dict[int, float]
    line: int


@dataclass(frozen=True)
class Libsvm:
    input: Input
    first: int  # the smallest index, 0 or 1
    width: int
    wanted: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    rows: int | None = None

    @property
    def name(self) -> str:
        return self.input.name

    @property
    def kinds(self) -> dict[str, Kind]:
        return dict.fromkeys(self.wanted, Kind.NUMBER)

    def notes(self) -> list[str]:
        return list(self.remarks)

    def tables(self, sample: bool = False) -> Generator[Table]:
        at_once = rows_at_once(self.width + 1)
        place = {f"x{self.first + k}": k for k in range(self.width)} | {LABEL: self.width}
        keep = [place[name] for name in self.wanted]
        with reading(self.name), closing(self.input.chunks(sample)) as chunks:
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
                    remedy = "save it to a file first, which is looked through for its width"
                    raise InputError(f"{self.name}, line {row.line}: the index {index} is not one of {known}; {remedy}")
                dense[k, index - self.first] = value
            dense[k, self.width] = row.label
        return Table(
            self.wanted, dense[:, keep], {}, {}, (Origin(len(rows), 0, lambda row: f"{self.name}, line {rows[row].line}"),)
        )


def open_libsvm(source: Input, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> Libsvm:
    numbers_only(source.name, kinds)
    asked = [int(name[1:]) for name in wanted or () if re.fullmatch(r"x\d{1,7}", name)]  # they are 0 where no row names them
    lowest, highest, rows = min([1, *asked]), max([0, *asked]), 0
    with reading(source.name), closing(source.chunks(sample=True)) as chunks:
        for first, lines in whole_lines(source.name, chunks):
            for row in _rows(source.name, first, lines):
                lowest, highest = min(lowest, min(row.values, default=1)), max(highest, max(row.values, default=0))
                rows += 1
            if rows >= SAMPLE_ROWS and not isinstance(source, File):
                break
    if not rows:
        raise FileError(f"{source.name} has no rows; write the data again")
    width = highest - lowest + 1
    if width < 1:
        raise InputError(f"{source.name}: there are no feature columns, only labels; write them as index:value")
    known = [*(f"x{lowest + k}" for k in range(width)), LABEL]
    return Libsvm(source, lowest, width, choose(source.name, known, wanted), tuple(unended(source)))


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
            raise InputError(f"{place}: the index {int(index)} stands twice; correct it or drop the line")
        values[int(index)] = _number(place, value)
    return _Row(_number(place, words[0]), values, line)


def _number(place: str, word: bytes) -> float:
    value = number(_text(word))
    if not math.isfinite(value):
        raise InputError(f"{place}: {shown(_text(word))} is not {'finite' if math.isinf(value) else 'a number'}; correct it")
    return value


def _text(word: bytes) -> str:
    return word.decode(errors="replace")
