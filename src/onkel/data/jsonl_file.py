"""Tables from JSON lines: each line is an object, and its keys are the columns.

The keys of the first rows are the columns. If a key is absent, null or NaN, its value is missing. A key that first appears later
is not used, and a note says so, unless the model keeps columns free for such keys. `records` says which values are allowed; nested
ones are not.
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
    """A file of JSON lines. Its `known` columns are the keys of its first rows."""

    stream: ByteStream
    records: Records

    def notes(self) -> list[str]:
        return self.records.notes()

    def with_room(self, known: Collection[str]) -> JsonlSource:
        return dataclasses.replace(self, known=known, records=self.records.with_room(known))

    def tables(self, sample: bool = False) -> Generator[Table]:
        with file_errors(self.name), closing(self.stream.chunks(sample)) as chunks:
            for first, lines in whole_lines(self.name, chunks):
                yield from self._tables(_parsed_lines(self.name, first, lines))
                if not lines:
                    yield self.records.table([])

    def _tables(self, lines: Iterator[_Line]) -> Iterator[Table]:
        """Yield the rows up to the first bad one, then raise an error that says where that row is."""
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
    """Open a file of JSON lines. Its first rows decide the columns and their kinds, except for the declared `kinds`."""
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
        except InputError:  # the error is raised later, when the rows before it have been read
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
        raise ValueError("a key appears twice")
    return values


def _constant(name: str) -> None:
    """Accept NaN, which Python writes although it is not JSON, as missing; refuse Infinity."""
    if name != "NaN":
        raise ValueError(f"{name} is not a JSON number")
