"""Tables from csv: numbers in compiled code, mixed columns by pyarrow, and the csv module wherever it is not as plain as that.

The bytes are cut into pieces of whole records. A piece of plain numbers is parsed by `numbers`, any other by pyarrow. Where that
refuses a cell, or finds a number that is not finite, the csv module reads the piece again: it names the line of the first bad cell,
and it accepts what only pyarrow objects to. Quotes in places where no program puts them leave the ends of records in doubt: from
there on the csv module reads alone.

The first record is the header, unless the columns are named from outside, or c0, c1, c2 … for want of names.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from onkel.data.columns import DECLARE, MISSING, SAMPLE_ROWS, check_declared, choose, date, dates, kinds_in, listed, number, shown
from onkel.data.input import Input, as_file, reading
from onkel.data.numbers import parse
from onkel.data.table import ROWS_AT_ONCE, Dates, Kind, Origin, Table, Texts, texts
from onkel.errors import FileError, InputError

LONGEST_LINE = 1 << 24  # characters; beyond it the file is hardly a table
SEPARATORS = ",;\t|"
NO_HEADER = "if it is a row of data: header=False (--no-header), or header=[…] to name the columns (--names a,b,c)"
_BOM = b"\xef\xbb\xbf"
_QUOTE = ord('"')
_LINE_END = re.compile(rb"\r\n|\r|\n")
Header = bool | Sequence[str]  # whether there is one; or the names, and there is none

_NO_DATE = np.datetime64("NaT", "us")


class _Record(NamedTuple):
    fields: list[str]
    first: int  # the lines it came from, counted as an editor does
    last: int


class _Piece(NamedTuple):
    chunks: Iterable[bytes]
    line: int  # of its first byte
    plain: bytes | None = None  # all of it, where it can be read fast
    lines: int = 0  # in it


@dataclass(frozen=True)
class CsvSource:
    input: Input
    header: tuple[str, ...]
    separator: str
    kinds: Mapping[str, Kind]
    named: Header = True
    mixed: tuple[str, ...] = ()  # columns of numbers and words, taken as text
    about: int | None = None  # rows, by the size of the file and the length of its first lines
    rows: int | None = None

    @property
    def name(self) -> str:
        return self.input.name

    def notes(self) -> list[str]:
        mixed = [f"{name!r} has numbers and words in it and was taken as text" for name in self.mixed]
        return [*(_doubt(self.header) if self.named is True else []), *mixed]

    def tables(self, sample: bool = False) -> Generator[Table]:
        with reading(self.name), closing(self.input.chunks(sample)) as chunks:
            header, rest = _header(self.name, chunks, self.separator, self.named)
            if tuple(header.fields) != self.header:
                raise FileError(f"{self.name}: the header changed since the file was opened; read it again")
            for piece in _pieces(rest, header.last + 1, self.separator):
                yield from self._read(piece)

    def _read(self, piece: _Piece) -> Iterator[Table]:
        if piece.plain == b"":
            yield self._table([])
        elif piece.plain is None or (table := self._quickly(piece.plain, piece.line, piece.lines)) is None:
            yield from self._carefully(piece)
        else:
            yield table

    def _quickly(self, data: bytes, line: int, lines: int) -> Table | None:
        """The table of a piece, or None where the csv module must have a look."""
        if data.startswith(_BOM):  # inside a file it is part of a cell; pyarrow would drop it
            return None
        if all(kind is Kind.NUMBER for kind in self.kinds.values()) and _QUOTE not in data:
            wanted = [j for _, j in self._at()]
            numbers = parse(data, self.separator, len(self.header), wanted, lines + 1)
            if numbers is not None:
                return Table(tuple(self.kinds), numbers, {}, {}, (self._origin(len(numbers), data, line),))
        import pyarrow
        import pyarrow.csv as pc

        types = {
            Kind.NUMBER: pyarrow.float64(),
            Kind.TEXT: pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
            Kind.DATE: pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        }
        try:
            batch = pc.read_csv(
                pyarrow.BufferReader(data),
                read_options=pc.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(self.header)),
                parse_options=pc.ParseOptions(delimiter=self.separator, newlines_in_values=_QUOTE in data),
                convert_options=pc.ConvertOptions(
                    column_types={name: types[kind] for name, kind in self.kinds.items()},
                    include_columns=list(self.kinds),
                    null_values=list(MISSING),
                ),
            )
        except pyarrow.ArrowException:
            return None  # whatever it was, the csv module meets it again and says where
        names = [name for name, kind in self.kinds.items() if kind is Kind.NUMBER]
        numbers = np.empty((batch.num_rows, len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = batch.column(name).to_numpy()
        nulls = sum(batch.column(name).null_count for name in names)
        if np.count_nonzero(np.isfinite(numbers)) != numbers.size - nulls:
            return None
        words = {name: _from_arrow(batch.column(name)) for name, kind in self.kinds.items() if kind is not Kind.NUMBER}
        moments = {name: _as_dates(column) for name, column in words.items() if self.kinds[name] is Kind.DATE}
        if any(column is None for column in moments.values()):
            return None
        return Table(
            tuple(names),
            numbers,
            {name: column for name, column in words.items() if self.kinds[name] is Kind.TEXT},
            {name: column for name, column in moments.items() if column is not None},
            (self._origin(len(numbers), data, line),),
        )

    def _origin(self, rows: int, data: bytes, line: int) -> Origin:
        return Origin(rows, 0, lambda row: self._place(_records(self.name, [data], line, self.separator), row))

    def _carefully(self, piece: _Piece) -> Iterator[Table]:
        """The rows of a piece up to the first bad cell, of which the error says where it is."""
        rows: list[_Record] = []
        wrong: Exception | None = None
        at = self._at()
        for record in _records(self.name, piece.chunks, piece.line, self.separator):
            if wrong := self._wrong(record, at):
                break
            rows.append(record)
            if len(rows) == ROWS_AT_ONCE:
                yield self._table(rows)
                rows = []
        if rows:
            yield self._table(rows)
        if wrong:
            raise wrong

    def _table(self, rows: Sequence[_Record]) -> Table:
        cells = {name: [record.fields[j] for record in rows] for name, j in self._at()}
        names = tuple(name for name, kind in self.kinds.items() if kind is Kind.NUMBER)
        numbers = np.empty((len(rows), len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = [number(cell) for cell in cells[name]]
        return Table(
            names,
            numbers,
            {name: texts(cells[name]) for name, kind in self.kinds.items() if kind is Kind.TEXT},
            {name: dates(cells[name]) for name, kind in self.kinds.items() if kind is Kind.DATE},
            (Origin(len(rows), 0, lambda row: self._place(iter(rows), row)),),
        )

    def _at(self) -> list[tuple[str, int]]:
        return [(name, self.header.index(name)) for name in self.kinds]

    def _place(self, records: Iterator[_Record], row: int) -> str:
        return f"{self.name}, line {next(itertools.islice(records, row, None)).last}"

    def _wrong(self, record: _Record, at: list[tuple[str, int]]) -> InputError | FileError | None:
        """What is wrong with a record, in the file's order of columns."""
        if len(record.fields) != len(self.header):
            return InputError(_wrong_count(self.name, record, len(self.header), self.separator))
        wrong = [(name, j) for name, j in at if not _is_sound(record.fields[j], self.kinds[name])]
        if not wrong:
            return None
        name, j = min(wrong, key=lambda pair: pair[1])
        cell, place = record.fields[j], f"{self.name}, line {record.last}, column {name!r}"
        if not _is_utf8(cell):
            return FileError(f"{place}: {shown(cell)} is not UTF-8 text; save the file as UTF-8")
        remedy = f"correct it or drop the line, leave the column out (--without {name}), or {DECLARE[Kind.TEXT].format(name=name)}"
        if "\n" in cell or "\r" in cell:
            remedy = f"is a quote left open? The record begins on line {record.first}"
        elif record.fields == list(self.header):
            remedy = "the header stands there again; drop the line"
        what = "finite" if math.isinf(number(cell)) else self.kinds[name].value
        return InputError(f"{place}: {shown(cell)} is not {what}; {remedy}")


def open_csv(
    source: Input,
    wanted: Sequence[str] | None,
    kinds: Mapping[str, Kind],
    separators: str = SEPARATORS,
    named: Header = True,
) -> CsvSource:
    """The header and the first rows decide; `kinds` are those that were declared."""
    with reading(source.name):
        separator = _separator(source, separators)
        with closing(source.chunks(sample=True)) as chunks:
            header, rest = _header(source.name, chunks, separator, named)
            known = _check_header(source.name, header, separator) if named is True else header.fields
            names = choose(source.name, known, wanted, *(_doubt(known) if named is True else []))
            check_declared(source.name, kinds, known)
            sample = list(itertools.islice(_records(source.name, rest, header.last + 1, separator), SAMPLE_ROWS))
    if not sample:
        raise FileError(f"{source.name} has a header but no rows; write the data again")
    whole = [record.fields for record in sample if len(record.fields) == len(known)]
    column = {name: j for j, name in enumerate(known)}
    guessed = {name: kinds_in(fields[column[name]] for fields in whole) for name in names if name not in kinds}
    found = {name: kinds[name] if name in kinds else guessed[name][0] for name in names}
    mixed = tuple(name for name, (_, is_mixed) in guessed.items() if is_mixed)
    length = sum(len(separator.join(record.fields)) + 1 for record in sample) / len(sample)
    about = None if source.size is None else round(source.size / length)
    return CsvSource(source, tuple(known), separator, found, named, mixed, about)


def _separator(source: Input, separators: str) -> str:
    """The one that gives the header the most fields; of equal ones the first."""

    def fields(separator: str) -> int:
        with closing(source.chunks(sample=True)) as chunks:
            return len(_header(source.name, chunks, separator, True)[0].fields)

    return max(separators, key=fields)


def _header(name: str, chunks: Iterator[bytes], separator: str, named: Header) -> tuple[_Record, Iterator[bytes]]:
    """The names of the columns, and the bytes of the rows. The first record is whole once there is a second one."""
    data = next(chunks, b"").removeprefix(_BOM)
    while True:
        records = list(itertools.islice(_records(name, [data], 1, separator), 2))
        more = next(chunks, None) if len(records) < 2 and len(data) < LONGEST_LINE else None
        if more is None:
            break
        data += more
    if not records:
        raise FileError(f"{name} is empty: it has only blank lines; write the data again")
    if named is not True:
        given = [f"c{k}" for k in range(len(records[0].fields))] if named is False else list(named)
        if len(given) != len(records[0].fields):
            count = f"{len(given)} columns are named, but the first line has {len(records[0].fields)} fields"
            raise InputError(f"{name}, line {records[0].last}: {count}; name each column, in order")
        return _Record(given, 0, 0), itertools.chain([data], chunks)
    ends = itertools.islice(_LINE_END.finditer(data), records[0].last - 1, None)
    end = next((match.end() for match in ends), len(data))
    return records[0], itertools.chain([data[end:]] if end < len(data) else [], chunks)


def _check_header(name: str, record: _Record, separator: str) -> list[str]:
    place = f"{name}, line {record.last}"
    if not _is_utf8("".join(record.fields)):
        raise FileError(f"{place}: the header is not UTF-8 text; save the file as UTF-8")
    if all(not cell.strip() or not math.isnan(number(cell)) for cell in record.fields):
        line = separator.join(record.fields)
        raise FileError(f"{place}: no header, only numbers ({shown(line)}); put a line of column names first, or {NO_HEADER}")
    return record.fields


def _doubt(header: Sequence[str]) -> list[str]:
    """What to say of a header with numbers in it, or of one that looks like a comment."""
    if header[0].startswith("#"):
        return ["the first line begins with #; if it is a comment, leave it out: tail -n +2 FILE | onkel run - …"]
    numbers = [name for name in header if math.isfinite(number(name))]
    return [f"the first line was taken for the names of the columns, {listed(numbers)} among them; {NO_HEADER}"] if numbers else []


def _records(name: str, chunks: Iterable[bytes], line: int, separator: str) -> Generator[_Record]:
    """The records without blank lines. Bytes that are not UTF-8 become lone surrogates (see `_is_utf8`)."""
    with io.TextIOWrapper(as_file(chunks), encoding="utf-8", errors="surrogateescape", newline="") as file:
        reader = csv.reader(_lines(name, file), delimiter=separator)
        first = line
        try:
            for fields in reader:
                if fields:
                    yield _Record(fields, first, line - 1 + reader.line_num)
                first = line + reader.line_num
        except csv.Error as error:
            place = f"{name}, line {line - 1 + reader.line_num}"
            raise InputError(f"{place}: {error} (the record begins on line {first}); is a quote left open?") from error


def _lines(name: str, file: IO[str]) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise FileError(f"{name}: a line is longer than {LONGEST_LINE} characters; is it a csv file?")
        yield line


def _pieces(chunks: Iterator[bytes], line: int, separator: str) -> Iterator[_Piece]:
    """Whole records, a chunk or so at a time."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        end = _end_of_records(data, separator) if chunk else 0
        if end is None or len(data) - end > LONGEST_LINE:
            yield _Piece(itertools.chain([data], chunks), line)
            return
        records = data[:end]
        lines = _line_ends(records)
        if end or not chunk:
            yield _Piece([records], line, records, lines)
        line += lines
        rest = data[end:]
    if rest:
        whole = _end_of_records(rest + b"\n", separator) == len(rest) + 1
        yield _Piece([rest], line, rest if whole else None, _line_ends(rest))


def _end_of_records(data: bytes, separator: str) -> int | None:
    """Where the last whole record ends; None where a quote stands beside neither a separator nor the end of a line."""
    stop = len(data) - data.endswith(b"\r")  # its \n may come with the next chunk
    if _QUOTE not in data:
        return _last_line_end(data, 0, stop)
    around = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(around == _QUOTE) - 1
    opening, closing_ = quotes[0::2], quotes[1::2]  # two quotes within quotes close and open again
    edges = np.frombuffer(b'"\r\n' + separator.encode(), np.uint8)
    if not np.isin(around[opening], edges).all() or not np.isin(around[closing_ + 2], edges).all():
        return None
    for k in range(len(closing_), -1, -1):  # outside quotes, from the last such stretch on
        start = int(closing_[k - 1]) + 1 if k else 0
        if end := _last_line_end(data, start, int(opening[k]) if k < len(opening) else stop):
            return end
    return 0


def _last_line_end(data: bytes, start: int, stop: int) -> int:
    return max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop)) + 1


def _line_ends(data: bytes) -> int:
    lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))  # ten times faster than data.count
    return lines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else lines


def _from_arrow(column: Any) -> Texts:
    """A column of texts; blanks are missing."""
    parts = [Texts(part.indices.to_numpy().astype(np.int64), tuple(part.dictionary.to_pylist())) for part in column.chunks]
    codes, values = (parts[0].codes, parts[0].values) if parts else (np.empty(0, np.int64), ())
    blank = np.array([not value.strip() for value in values], dtype=bool)
    return Texts(np.where(blank[codes], -1, codes) if blank.any() else codes, values)


def _as_dates(column: Texts) -> Dates | None:
    """The texts as dates; None where one is neither a date nor missing."""
    known = [value for value in column.values if value.strip() not in MISSING]
    moments = dates(known)
    if np.isnat(moments).any():
        return None
    of = dict(zip(known, moments, strict=True))
    table = np.array([*(of.get(value, _NO_DATE) for value in column.values), _NO_DATE], dtype="datetime64[us]")
    return table[column.codes]


def _is_sound(cell: str, kind: Kind) -> bool:
    if kind is Kind.TEXT:
        return _is_utf8(cell)
    if cell.strip() in MISSING:
        return True
    return math.isfinite(number(cell)) if kind is Kind.NUMBER else not np.isnat(date(cell))


def _wrong_count(name: str, record: _Record, expected: int, separator: str) -> str:
    count = len(record.fields)
    lines = "" if record.first == record.last else f" (the record begins on line {record.first}: is a quote left open?)"
    fields = f"{count} field" + "s" * (count != 1)
    between = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(separator, repr(separator))
    remedy = f"quote the fields that contain {between}" if count > expected else "complete the line or drop it"
    return f"{name}, line {record.last}: {fields}{lines}, but the header has {expected}; {remedy}"


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text)
