"""Cuts bytes into the records of a csv file, or into pieces of whole records.

The first record is the header, unless the caller names the columns or says that there is no header; then the columns are named c0,
c1, c2 … If a quote stands where no program would write one, the ends of records are uncertain, and the rest of the file becomes one
piece. A quote inside a cell that does not begin with a quote is an ordinary character. A quoted cell must end with its closing
quote.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onkel.data.byte_streams import CHUNK, without_bom
from onkel.data.columns import listed, numbers_or_blanks, shown
from onkel.errors import FileError, InputError, MissingPackage

LONGEST_LINE = 1 << 24  # characters; beyond it the file is hardly a table
NO_HEADER = "if it is a row of data: header=False (--no-header), or header=[…] to name the columns (--names a,b,c)"
QUOTE, NUL = ord('"'), "\0"
NO_NUL = r"save the file as UTF-8, or remove such bytes, as in: tr -d '\000' <FILE >NEW"
T = TypeVar("T")
Header = bool | Sequence[str]  # whether the file has a header; or, if it has none, the names of the columns


class Record(NamedTuple):
    fields: list[str]
    first: int  # its first line, counted from 1
    last: int  # its last line


class Piece(NamedTuple):
    chunks: Iterable[bytes]
    line: int  # on which it begins
    plain: bytes | None = None  # all of its bytes, if the ends of its records are certain, so that it can be parsed fast
    lines: int = 0  # the number of its line ends


class Replayed:
    """Lines that can be iterated over from the first as often as wanted; each is read when it is first needed."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines, self.taken = lines, list[str]()

    def __iter__(self) -> Iterator[str]:
        yield from list(self.taken)
        for line in self.lines:
            self.taken.append(line)
            yield line

    def head(self, count: int) -> bytes:
        """The bytes of the first lines, which have been read."""
        return "".join(self.taken[:count]).encode(errors="surrogateescape")


def first_lines(name: str, chunks: Iterable[bytes]) -> Replayed:
    """The lines of a file from its start, for several functions that look at the first of them."""
    return Replayed(_lines(name, without_bom(chunks)))


def find_separator(name: str, lines: Replayed, separators: str) -> str:
    """The separator that gives the first record the most fields.

    A separator that makes all fields numbers is preferred: in 1,5;2,5 the semicolon separates two numbers.
    """

    def rank(separator: str) -> tuple[bool, int]:
        try:
            fields = next(_records(name, lines, 1, separator, strict=False)).fields
        except MissingPackage:  # what is missing is the package that decompresses the file
            raise
        except (InputError, StopIteration):  # a quoted cell is not closed: this separator does not fit
            fields = []
        return len(fields) > 1 and len(numbers_or_blanks(fields)) == len(fields), len(fields)

    return max(separators, key=rank)


def find_header(name: str, lines: Replayed, separator: str, named: Header) -> Record:
    """The names of the columns: the first record or, if that is data, `named` or c0, c1, c2 … as a record of line 0."""
    first = next(_records(name, lines, 1, separator), None)
    if first is None:
        raise FileError(f"{name} is empty: it has only blank lines; write the data again")
    if named is True:
        _check_header(name, first, separator)
        return first
    given = [f"c{k}" for k in range(len(first.fields))] if named is False else list(named)
    if len(given) != len(first.fields):
        count = f"{len(given)} columns are named, but the first line has {len(first.fields)} fields"
        raise InputError(f"{name}, line {first.last}: {count}; name each column, in order")
    return Record(given, 0, 0)


def first_rows(name: str, lines: Replayed, separator: str, header: Record, most: int) -> list[Record]:
    """At most `most` rows after the header.

    If a record cannot be read, only the rows before it are returned. The error is raised later, when those rows have been read.
    """
    start, rows = 1 if header.last else 0, list[Record]()
    try:
        rows.extend(itertools.islice(_records(name, lines, 1, separator), start, start + most))
    except InputError:
        if not rows:
            raise
    return rows


def after_header(name: str, chunks: Iterable[bytes], head: bytes) -> Iterator[bytes]:
    """The bytes of the rows; `head` are those of the lines before them."""
    chunks, start = without_bom(chunks), b""
    while len(start) < len(head) and (chunk := next(chunks, None)) is not None:
        start += chunk
    if not start.startswith(head):
        raise FileError(f"{name}: the header changed since the file was opened; read it again")
    return itertools.chain([start[len(head) :]] if len(start) > len(head) else [], chunks)


def _noted(parts: Iterable[T], taken: list[T]) -> Iterator[T]:
    for part in parts:
        taken.append(part)
        yield part


def _check_header(name: str, record: Record, separator: str) -> None:
    place = f"{name}, line {record.last}"
    if not is_utf8("".join(record.fields)):
        raise FileError(f"{place}: the header is not UTF-8 text; save the file as UTF-8")
    if any(NUL in field for field in record.fields):
        raise FileError(f"{place}: the header has NUL bytes in it; {NO_NUL}")
    if len(numbers_or_blanks(record.fields)) == len(record.fields):
        line = separator.join(record.fields)
        raise FileError(f"{place}: no header, only numbers ({shown(line)}); put a line of column names first, or {NO_HEADER}")


def doubt(header: Sequence[str]) -> list[str]:
    """Remarks on a header that contains numbers, or that looks like a comment."""
    if header[0].startswith("#"):
        return ["the first line begins with #; if it is a comment, leave it out: tail -n +2 FILE | onkel run - …"]
    numbers = [name for name in numbers_or_blanks(header) if name.strip()]
    return [f"the first line was taken for the names of the columns, {listed(numbers)} among them; {NO_HEADER}"] if numbers else []


def records_in(name: str, chunks: Iterable[bytes], line: int, separator: str) -> Generator[Record]:
    """Yield the records; blank lines are skipped. Bytes that are not UTF-8 become lone surrogates (see `is_utf8`).

    A quoted cell that does not end with its closing quote is an error.
    """
    with closing(_lines(name, chunks)) as lines:
        yield from _records(name, lines, line, separator)


def _records(name: str, lines: Iterable[str], line: int, separator: str, strict: bool = True) -> Generator[Record]:
    begun: list[str] = []  # the lines of the record that is being read
    reader = csv.reader(_noted(lines, begun), delimiter=separator, strict=strict)
    first = line
    try:
        for fields in reader:
            if fields:
                yield Record(fields, first, line - 1 + reader.line_num)
            first = line + reader.line_num
            begun.clear()
    except csv.Error as error:
        raise InputError(_unreadable(name, "".join(begun), first, separator)) from error


def _lines(name: str, chunks: Iterable[bytes]) -> Generator[str]:
    with io.TextIOWrapper(
        io.BufferedReader(_Chunks(iter(chunks)), CHUNK), encoding="utf-8", errors="surrogateescape", newline=""
    ) as file:
        while line := file.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise FileError(f"{name}: a line is longer than {LONGEST_LINE} characters; is it a csv file?")
            yield line


class _Chunks(io.RawIOBase):
    """A file object that reads from chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks, self.rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest:
            if (chunk := next(self.chunks, None)) is None:
                return 0
            self.rest = chunk
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _unreadable(name: str, record: str, line: int, separator: str) -> str:
    """The message for a record that the csv module refuses. It names the line where the bad cell begins."""
    cell = re.compile(rf'("([^"]++|"")*+"|(?!")[^{re.escape(separator)}\r\n]*)({re.escape(separator)}|\r\n?|\n)')
    start, longest = 0, csv.field_size_limit()
    while (found := cell.match(record, start)) and len(found[1]) <= longest:
        start = found.end()
    place, rest = f"{name}, line {line + line_ends(record[:start])}", record[start:]
    quote = f"the quote before {shown(rest[1:])}" if rest.startswith('"') else ""
    if not quote or len(rest) > longest:
        return f"{place}: a cell is longer than {longest:,} characters; " + (f"is {quote} left open?" if quote else "shorten it")
    remedy = "close it or remove it; a quote that belongs to a quoted cell is written twice"
    return f"{place}: {quote} is not closed at the end of a cell; {remedy}"


def line_ends(text: str) -> int:
    """The number of line ends in the text."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def pieces_in(chunks: Iterator[bytes], line: int, separator: str) -> Iterator[Piece]:
    """Cut the chunks into pieces of whole records, each about as long as a chunk."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        end = _end_of_records(data, separator) if chunk else 0
        if end is None or len(data) - end > LONGEST_LINE:
            yield Piece(itertools.chain([data], chunks), line)
            return
        records = data[:end]
        lines = _line_ends(records)
        if end or not chunk:
            yield Piece([records], line, records, lines)
        line += lines
        rest = data[end:]
    if rest:
        whole = _end_of_records(rest + b"\n", separator) == len(rest) + 1
        yield Piece([rest], line, rest if whole else None, _line_ends(rest))


def _end_of_records(data: bytes, separator: str) -> int | None:
    """The position after the last whole record; None if a quote is next to neither a separator nor the end of a line."""
    stop = len(data) - data.endswith(b"\r")  # the \n of a last \r may come with the next chunk
    if QUOTE not in data:
        return _last_line_end(data, 0, stop)
    around = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(around == QUOTE) - 1
    opening, closing_ = quotes[0::2], quotes[1::2]  # two quotes within a quoted cell count as closing and opening again
    edges = np.frombuffer(b'"\r\n' + separator.encode(), np.uint8)
    if not np.isin(around[opening], edges).all() or not np.isin(around[closing_ + 2], edges).all():
        return None
    for k in range(len(closing_), -1, -1):  # the stretches outside quotes, the last one first
        start = int(closing_[k - 1]) + 1 if k else 0
        if end := _last_line_end(data, start, int(opening[k]) if k < len(opening) else stop):
            return end
    return 0


def _last_line_end(data: bytes, start: int, stop: int) -> int:
    return max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop)) + 1


def _line_ends(data: bytes) -> int:
    lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))  # ten times faster than data.count
    return lines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else lines


def is_utf8(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text)
