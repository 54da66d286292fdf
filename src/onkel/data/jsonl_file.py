"""Tables from JSON lines: one object a line, its keys the columns.

The keys of the first rows are the columns; a key that is absent, null or NaN is missing. One that first appears later is not used,
which is noted, unless there is room for such keys. What a value may be is said in `records`. Nothing may be nested.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from onkel.data.byte_streams import ByteStream, file_errors, whole_lines
from onkel.data.columns import LEAST_SAMPLE, SAMPLE_CELLS, SAMPLE_ROWS, shown
from onkel.data.records import Records, chosen_kinds, detect
from onkel.data.table import ROWS_AT_ONCE, Kind, Place, Source, Table
from onkel.errors import FileError, InputError


class _Line(NamedTuple):
    number: int
    row: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class JsonlSource(Source):
    """Known are the keys of the first rows."""

    stream: ByteStream
    records: Records

    def notes(self) -> list[str]:
        return self.records.notes()

    def with_room(self, known: Collection[str]) -> JsonlSource:
        return dataclasses.replace(self, known=known, records=Records(self.kinds, known))

    def tables(self, sample: bool = False) -> Generator[Table]:
        with file_errors(self.name), closing(self.stream.chunks(sample)) as chunks:
            for first, lines in whole_lines(self.name, chunks):
                yield from self._tables(_parsed_lines(self.name, first, lines))
                if not lines:
                    yield self.records.table([])

    def _tables(self, lines: Iterator[_Line]) -> Iterator[Table]:
        """The rows up to the first bad one, of which the error says where it is."""
        wrong: Exception | None = None
        while wrong is None:
            good: list[_Line] = []
            try:
                good.extend(itertools.islice(lines, ROWS_AT_ONCE))
            except (InputError, FileError) as error:
                wrong = error
            yield from self.records.tables([line.row for line in good], self._place(good))
            if not good:
                break
        if wrong:
            raise wrong

    def _place(self, lines: Sequence[_Line]) -> Place:
        return lambda row: f"{self.name}, line {lines[row].number}"


def open_jsonl(source: ByteStream, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> JsonlSource:
    """The first rows decide; `kinds` are those that were declared."""
    found: list[dict[str, Any]] = []
    with file_errors(source.name), closing(source.chunks(sample=True)) as chunks:
        whole = (_parsed_lines(source.name, first, lines) for first, lines in whole_lines(source.name, chunks))
        cells = 0
        try:
            for line in itertools.islice(itertools.chain.from_iterable(whole), SAMPLE_ROWS):
                found.append(line.row)
                cells += len(line.row)
                if cells >= SAMPLE_CELLS and len(found) >= LEAST_SAMPLE:
                    break
        except InputError:  # it will be met again, after the rows before it
            if not found:
                raise
    if not found:
        raise FileError(f"{source.name} is empty: it has only blank lines; write the data again")
    known = detect(found)
    chosen = chosen_kinds(source.name, known, wanted, kinds)
    return JsonlSource(name=source.name, kinds=chosen, known=known, stream=source, records=Records(chosen, known, room=False))


def _parsed_lines(name: str, first: int, lines: list[bytes]) -> Iterator[_Line]:
    return (_Line(first + k, _parsed(f"{name}, line {first + k}", line)) for k, line in enumerate(lines) if line.strip())


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
