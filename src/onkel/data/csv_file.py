"""Tables from csv. Plain numbers are parsed by compiled code, mixed columns by pyarrow, everything else by Python's csv
module, which is enough where pyarrow is not installed.

The bytes are cut into pieces of whole records. A piece of plain numbers is parsed by `numbers`, any other by pyarrow. If pyarrow
refuses a cell, or finds a number that is not finite, the csv module reads the piece again: it finds the line of the first bad cell,
and accepts cells that only pyarrow refuses. If the ends of records are uncertain (see `csv_records`), only the csv module is used.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Matrix, Vector
from onkel.data.byte_streams import BOM, ByteStream, file_errors
from onkel.data.clock import all_seconds, seconds
from onkel.data.columns import (
    MISSING,
    check_declared,
    choose,
    number,
    recognised,
    remedy,
    sample_rows,
    shown,
    with_names,
    without_names,
    without_row_numbers,
)
from onkel.data.csv_records import (
    NO_NUL,
    NUL,
    QUOTE,
    Header,
    Piece,
    Record,
    after_header,
    doubt,
    find_header,
    find_separator,
    first_lines,
    first_rows,
    is_utf8,
    line_ends,
    pieces_in,
    records_in,
)  # fmt: skip
from onkel.data.dates import NO_DATE, date, dates
from onkel.data.numbers import parse
from onkel.data.table import Dates, Kind, Origin, Source, Strings, Table, Written, coded, rows_at_once, strings
from onkel.errors import FileError, InputError

SEPARATORS = ",;\t|"

_Found = tuple[Matrix, dict[str, Strings]]  # the numbers, and the strings of all other columns by name


@dataclass(frozen=True, kw_only=True)
class CsvSource(Source):
    stream: ByteStream
    header: tuple[str, ...]
    separator: str
    head: bytes = b""  # the lines of the header
    first: int = 1  # the line of the first row
    mark: str = "."  # the decimal mark of numbers
    remarks: tuple[str, ...] = ()  # what the user should know about how the columns were read

    def notes(self) -> list[str]:
        return list(self.remarks)

    @property
    def form(self) -> Written:
        return Written(self.separator, self.mark, True)

    def tables(self, sample: bool = False) -> Generator[Table]:
        with file_errors(self.name), closing(self.stream.chunks(sample)) as chunks:
            rows = after_header(self.name, chunks, self.head)
            for piece in pieces_in(rows, self.first, self.separator):
                yield from self._read(piece)

    def _read(self, piece: Piece) -> Iterator[Table]:
        if piece.plain == b"":
            yield self._table([])
        elif piece.plain is None or (table := self._quickly(piece.plain, piece.line, piece.lines)) is None:
            yield from self._carefully(piece)
        else:
            yield table

    def _quickly(self, data: bytes, line: int, lines: int) -> Table | None:
        """The table of a piece; None if the csv module has to read it."""
        if data.startswith(BOM) or NUL.encode() in data:  # inside a file a BOM is part of a cell; pyarrow would drop it
            return None
        found = self._compiled(data, lines) if QUOTE not in data else None
        if found is None and lines >= len(self.header):  # for each column pyarrow takes some 15 µs, however few the lines are
            found = self._by_arrow(data)
        if found is None:
            return None
        numbers, words = found
        moments = {name: _as_dates(column) for name, column in words.items() if self.kinds[name] is Kind.DATE}
        clocks = [_as_seconds(words[name]) for name in self._clocks]
        if any(column is None for column in (*moments.values(), *clocks)):
            return None
        return Table(
            (*self._numeric, *self._clocks),
            np.column_stack([numbers, *(column for column in clocks if column is not None)]) if clocks else numbers,
            {name: column for name, column in words.items() if self.kinds[name] is Kind.TEXT},
            {name: column for name, column in moments.items() if column is not None},
            (self._origin(len(numbers), data, line),),
        )

    def _compiled(self, data: bytes, lines: int) -> _Found | None:
        """A piece parsed by compiled code. It must contain only numbers, or have fewer lines than columns; otherwise None."""
        wanted = list(self._places[Kind.NUMBER].values())
        if len(wanted) == len(self.kinds):
            numbers = parse(data, self.separator, len(self.header), wanted, lines + 1, self.mark)
            if numbers is not None:
                return numbers, {}
        if lines >= len(self.header) or (cut := self._without_words(data, set(wanted))) is None:
            return None
        rest, words = cut
        numbers = parse(rest, self.separator, len(self.header), wanted, lines + 1, self.mark)
        return None if numbers is None else (numbers, words)

    def _without_words(self, data: bytes, numeric: set[int]) -> tuple[bytes, dict[str, Strings]] | None:
        """The piece with zeros in every column that is not `numeric`, and the strings that were in those columns."""
        separator = self.separator.encode()
        rows = [line.split(separator) for line in data.splitlines() if line]
        if any(len(cells) != len(self.header) for cells in rows):
            return None
        places = {name: j for kind in Kind if kind is not Kind.NUMBER for name, j in self._places[kind].items()}
        try:
            words = {name: strings(cells[j].decode() for cells in rows) for name, j in places.items()}
        except UnicodeDecodeError:
            return None
        others = [j for j in range(len(self.header)) if j not in numeric]
        for cells in rows:
            for j in others:
                cells[j] = b"0"
        return b"\n".join(map(separator.join, rows)), words

    def _by_arrow(self, data: bytes) -> _Found | None:
        try:
            import pyarrow
            import pyarrow.csv as pc
        except ImportError:  # it is not installed: the csv module reads the piece, which takes longer
            return None

        number_type, string_type = pyarrow.float64(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        try:
            batch = pc.read_csv(
                pyarrow.BufferReader(data),
                read_options=pc.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(self.header)),
                parse_options=pc.ParseOptions(delimiter=self.separator, newlines_in_values=QUOTE in data),
                convert_options=pc.ConvertOptions(
                    column_types={name: number_type if kind is Kind.NUMBER else string_type for name, kind in self.kinds.items()},
                    include_columns=list(self.kinds),
                    null_values=list(MISSING),
                    decimal_point=self.mark,
                ),
            )
        except pyarrow.ArrowException:
            return None  # the csv module will find the error again and say where it is
        numbers = np.empty((batch.num_rows, len(self._numeric)))
        for j, name in enumerate(self._numeric):
            numbers[:, j] = batch.column(name).to_numpy()
        nulls = sum(batch.column(name).null_count for name in self._numeric)
        if np.count_nonzero(np.isfinite(numbers)) != numbers.size - nulls:
            return None
        return numbers, {name: _from_arrow(batch.column(name)) for name, kind in self.kinds.items() if kind is not Kind.NUMBER}

    def _origin(self, rows: int, data: bytes, line: int) -> Origin:
        return Origin(rows, 0, lambda row: self._place(records_in(self.name, [data], line, self.separator), row))

    def _carefully(self, piece: Piece) -> Iterator[Table]:
        """Yield the rows of a piece up to the first bad cell, then raise an error that says where that cell is."""
        rows: list[Record] = []
        wrong: Exception | None = None
        at_once = rows_at_once(len(self.header))
        try:
            for record in records_in(self.name, piece.chunks, piece.line, self.separator):
                if wrong := self._wrong(record):
                    break
                rows.append(record)
                if len(rows) == at_once:
                    yield self._table(rows)
                    rows = []
        except (InputError, FileError) as error:  # a record cannot be read
            wrong = error
        if rows:
            yield self._table(rows)
        if wrong:
            raise wrong

    def _table(self, rows: Sequence[Record]) -> Table:
        places = self._places
        wanted = places[Kind.NUMBER].values()
        clocks = [self._places[self.kinds[name]][name] for name in self._clocks]
        cells = [
            [*(number(record.fields[j], self.mark) for j in wanted), *(seconds(record.fields[j]) for j in clocks)]
            for record in rows
        ]
        return Table(
            (*self._numeric, *self._clocks),
            np.array(cells, dtype=float).reshape(len(rows), len(wanted) + len(clocks)),
            {name: strings(record.fields[j] for record in rows) for name, j in places[Kind.TEXT].items()},
            {name: dates([record.fields[j] for record in rows]) for name, j in places[Kind.DATE].items()},
            (Origin(len(rows), 0, lambda row: self._place(iter(rows), row)),),
        )

    @functools.cached_property
    def _places(self) -> dict[Kind, dict[str, int]]:
        """The position of each column in a record, by kind and name."""
        places = {name: j for j, name in enumerate(self.header)}
        return {kind: {name: places[name] for name, own in self.kinds.items() if own is kind} for kind in Kind}

    @functools.cached_property
    def _numeric(self) -> tuple[str, ...]:
        return tuple(self._places[Kind.NUMBER])

    @functools.cached_property
    def _clocks(self) -> tuple[str, ...]:
        """The columns of times and durations."""
        return (*self._places[Kind.TIME], *self._places[Kind.DURATION])

    def _place(self, records: Iterator[Record], row: int) -> str:
        return f"{self.name}, line {next(itertools.islice(records, row, None)).last}"

    def _wrong(self, record: Record) -> InputError | FileError | None:
        """The error about the first bad cell of a record; None if there is no bad cell."""
        if len(record.fields) != len(self.header):
            return InputError(_wrong_count(self.name, record, len(self.header), self.separator))
        fields, mark = record.fields, self.mark
        wrong = [
            (j, name) for kind, places in self._places.items() for name, j in places.items() if not _is_sound(fields[j], kind, mark)
        ]
        if not wrong:
            return None
        j, name = min(wrong)
        cell, place = record.fields[j], f"{self.name}, line {record.last}, column {name!r}"
        if not is_utf8(cell):
            raw = cell.encode(errors="surrogateescape")[:40]
            return FileError(f"{place}: {raw!r} is not UTF-8 text; save the file as UTF-8, as in: iconv -f latin1 -t utf-8 FILE")
        if NUL in cell:
            return FileError(f"{place}: {shown(cell)} has a NUL byte in it; {NO_NUL}")
        way = remedy(name, self.kinds[name], cell)
        if line_ends(cell):
            way = f"is the quote on line {record.first + line_ends(''.join(record.fields[:j]))} left open?"
        elif record.fields == list(self.header):
            way = "this line repeats the header; drop it"
        what = "finite" if math.isinf(number(cell, self.mark)) else self.kinds[name].value
        return InputError(f"{place}: {shown(cell)} is not {what}; {way}")


def open_csv(
    source: ByteStream,
    wanted: Sequence[str] | None,
    kinds: Mapping[str, Kind],
    separators: str = SEPARATORS,
    named: Header = True,
) -> CsvSource:
    """Open a csv file. Its header and first rows decide the columns and their kinds, except for the declared `kinds`."""
    file = source.name
    with file_errors(file), closing(source.chunks(sample=True)) as chunks:
        lines = first_lines(file, chunks)
        separator = find_separator(file, lines, separators)
        header = find_header(file, lines, separator, named)
        fields = header.fields
        doubts, known = doubt(fields) if named is True else [], with_names(fields)
        names: Sequence[str] = choose(file, known, wanted, *doubts)
        check_declared(file, kinds, known)
        sample = first_rows(file, lines, separator, header, sample_rows(len(known)))
    if not sample:
        raise FileError(f"{file} has a header but no rows; write the data again")
    whole = [record.fields for record in sample if len(record.fields) == len(known)]
    unnamed = {known[j]: [cells[j] for cells in whole] for j in without_names(fields)}
    names, on_names = without_row_numbers(names, wanted, unnamed)
    there = set(names)
    cells = {name: [fields[j] for fields in whole] for j, name in enumerate(known) if name in there}
    found = recognised(file, separator, cells, kinds)
    length = sum(len(separator.join(record.fields)) + 1 for record in sample) / len(sample)
    size = source.size
    return CsvSource(
        name=file,
        kinds={name: found.kinds[name] for name in names},
        known=known,
        about=None if size is None else round(size / length),
        stream=source,
        header=tuple(known),
        separator=separator,
        head=lines.head(header.last),
        first=header.last + 1,
        mark=found.mark,
        remarks=(*doubts, *on_names, *found.remarks, *source.notes()),
    )


def _from_arrow(column: Any) -> Strings:
    if not column.chunks:
        return strings([])
    (part,) = column.chunks  # one chunk, since pyarrow reads the piece as one block
    return coded(part.indices.to_numpy().astype(np.int64), part.dictionary.to_pylist())


def _as_dates(column: Strings) -> Dates | None:
    """The strings as dates; None if one is neither a date nor missing."""
    known = [value for value in column.values if value.strip() not in MISSING]
    moments = dates(known)
    if np.isnat(moments).any():
        return None
    of = dict(zip(known, moments, strict=True))
    table = np.array([*(of.get(value, NO_DATE) for value in column.values), NO_DATE], dtype="datetime64[us]")
    return table[column.codes]


def _as_seconds(column: Strings) -> Vector | None:
    """The strings as times of day or durations, in seconds; None if one of them is something else, and not missing."""
    found = all_seconds(column.values)
    if any(value not in MISSING for value, one in zip(column.values, found, strict=True) if math.isnan(one)):
        return None
    return np.asarray(np.append(found, np.nan)[column.codes])


def _is_sound(cell: str, kind: Kind, mark: str) -> bool:
    if kind is Kind.TEXT:
        return is_utf8(cell) and NUL not in cell
    if cell.strip() in MISSING:
        return True
    if kind is Kind.DATE:
        return not np.isnat(date(cell))
    return math.isfinite(number(cell, mark) if kind is Kind.NUMBER else seconds(cell))


def _wrong_count(name: str, record: Record, expected: int, separator: str) -> str:
    count = len(record.fields)
    lines = "" if record.first == record.last else f" (the record begins on line {record.first}: is a quote left open?)"
    fields = f"{count} field" + "s" * (count != 1)
    between = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(separator, repr(separator))
    remedy = f"quote the fields that contain {between}" if count > expected else "complete the line or drop it"
    return f"{name}, line {record.last}: {fields}{lines}, but the header has {expected}; {remedy}"
