"""Streams from csv files: read fast by pyarrow, and by the csv module wherever something is wrong.

A csv file has a header line; every column but the target is a feature unless `columns` chooses. Where pyarrow refuses a piece or
finds a number that is not finite, the csv module reads on from there: it names the line of the first bad cell, and it accepts what
only pyarrow objects to (lines longer than its buffer).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from onkel._types import Matrix
from onkel.data.stream import Block, Stream, check_size, features, listed, reading, unknown
from onkel.errors import FileError, InputError

PIECE = 1 << 20  # bytes pyarrow parses at a time
LONGEST_LINE = 1 << 24  # characters; beyond it the file is hardly a table


class _Record(NamedTuple):
    fields: list[str]
    first: int  # the lines it came from, counted as an editor does
    last: int


def open_csv(path: Path, target: str | None, block: int, columns: Sequence[str] | None) -> Stream:
    with closing(_records(path)) as records:
        header = next(records, None)
        if header is None:
            raise FileError(f"{path} is empty: it has only blank lines; write the data again")
        known = _header(path, header)
        if target is None:
            raise InputError(f"{path}: choose the target, one of: {listed(known)}")
        if len(known) == 1:
            raise InputError(f"{path}: there are no feature columns, only {_shown(known[0])}; are its fields separated by commas?")
        if not target or target not in known:
            raise InputError(unknown(path, "column", target, known))
        names = features(path, known, target, columns)
        if next(records, None) is None:
            raise FileError(f"{path} has a header but no rows; write the data again")
    check_size(path, block, len(names) + 1)
    return Stream(path, target, names, None, lambda: _csv_blocks(path, known, (*names, target), block))


def _header(path: Path, record: _Record) -> list[str]:
    place = f"{path}, line {record.last}"
    if not _is_utf8("".join(record.fields)):
        raise FileError(f"{place}: the header is not UTF-8 text; save the file as UTF-8")
    if all(not cell.strip() or not math.isnan(_number(cell)) for cell in record.fields):
        raise FileError(f"{place}: no header, only numbers ({_shown(','.join(record.fields))}); put a line of column names first")
    return record.fields


def _records(path: Path) -> Generator[_Record]:
    """The records of a csv file without its blank lines. Bytes that are not UTF-8 become lone surrogates (see `_is_utf8`)."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(_lines(path, file))
        first = 1
        try:
            for fields in reader:
                if fields:
                    yield _Record(fields, first, reader.line_num)
                first = reader.line_num + 1
        except csv.Error as error:
            place = f"{path}, line {reader.line_num}"
            raise InputError(f"{place}: {error} (the record begins on line {first}); is a quote left open?") from error


def _lines(path: Path, file: IO[str]) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise FileError(f"{path}: a line is longer than {LONGEST_LINE} characters; is it a csv file?")
        yield line


def _csv_blocks(path: Path, known: list[str], wanted: tuple[str, ...], block: int) -> Iterator[Block]:
    with reading(path):
        for table in _recut(_csv_tables(path, known, wanted, block), block):
            yield table[:, :-1].copy(), table[:, -1].copy()


def _csv_tables(path: Path, known: list[str], wanted: tuple[str, ...], block: int) -> Iterator[Matrix]:
    import pyarrow

    done = 0
    try:
        for table in _quickly(path, wanted):
            if not np.isfinite(table).all():
                break
            yield table
            done += table.shape[0]
        else:
            return
    except (pyarrow.ArrowException, OSError):
        pass  # whatever it was, the careful reader meets it again and says where
    yield from _carefully(path, known, wanted, done, block)


def _quickly(path: Path, wanted: tuple[str, ...]) -> Iterator[Matrix]:
    import pyarrow
    import pyarrow.csv as pc

    reader = pc.open_csv(
        str(path),
        read_options=pc.ReadOptions(use_threads=False, block_size=PIECE),
        parse_options=pc.ParseOptions(newlines_in_values=True),
        convert_options=pc.ConvertOptions(
            column_types=dict.fromkeys(wanted, pyarrow.float64()), include_columns=list(wanted), null_values=[]
        ),
    )
    with reader:
        for batch in reader:
            table = np.empty((batch.num_rows, len(wanted)))
            for j in range(len(wanted)):
                table[:, j] = batch.column(j).to_numpy(zero_copy_only=False)
            yield table


def _carefully(path: Path, known: list[str], wanted: tuple[str, ...], skip: int, block: int) -> Iterator[Matrix]:
    """The rows after the first `skip`; stops at the first cell that is not a finite number, and says where it is."""
    column = {name: j for j, name in enumerate(known)}
    at = [(name, column[name]) for name in wanted]
    rows: list[list[float]] = []
    for t, record in enumerate(_records(path)):
        if t == 0 and record.fields != known:
            raise FileError(f"{path}: the header changed since the file was opened; read it again")
        if t <= skip:
            continue
        if len(record.fields) != len(known):
            raise InputError(_wrong_count(path, record, len(known)))
        values = [_number(record.fields[j]) for _, j in at]
        if not all(map(math.isfinite, values)):
            raise _bad_cell(path, record, at)
        rows.append(values)
        if len(rows) == block:
            yield np.array(rows)
            rows = []
    if rows:
        yield np.array(rows)


def _number(cell: str) -> float:
    """The cell's value, NaN if it is not a number."""
    if not cell.isascii() or "_" in cell:  # float() takes 1_000 and the digits of every script; pyarrow and people do not
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _bad_cell(path: Path, record: _Record, at: list[tuple[str, int]]) -> InputError | FileError:
    """The error for the first bad cell of a record, in the file's order of columns. The target is the last of `at`."""
    name, j = min(((name, j) for name, j in at if not math.isfinite(_number(record.fields[j]))), key=lambda pair: pair[1])
    cell, place = record.fields[j], f"{path}, line {record.last}, column {name!r}"
    if not _is_utf8(cell):
        return FileError(f"{place}: {_shown(cell)} is not UTF-8 text; save the file as UTF-8")
    remedy = "correct it or drop the line" + ("" if j == at[-1][1] else ", or choose the columns without it")
    if "\n" in cell or "\r" in cell:
        remedy = f"is a quote left open? The record begins on line {record.first}"
    what = f"{_shown(cell)} is not " + ("finite" if math.isinf(_number(cell)) else "a number")
    return InputError(f"{place}: {what if cell.strip() else 'the cell is empty'}; {remedy}")


def _wrong_count(path: Path, record: _Record, expected: int) -> str:
    count = len(record.fields)
    lines = "" if record.first == record.last else f" (the record begins on line {record.first}: is a quote left open?)"
    fields = f"{count} field" + "s" * (count != 1)
    remedy = "quote the fields that contain commas" if count > expected else "complete the line or drop it"
    return f"{path}, line {record.last}: {fields}{lines}, but the header has {expected}; {remedy}"


def _is_utf8(text: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _recut(tables: Iterable[Matrix], block: int) -> Iterator[Matrix]:
    kept: list[Matrix] = []
    rows = 0
    for table in tables:
        kept.append(table)
        rows += table.shape[0]
        if rows >= block:
            whole = np.concatenate(kept)
            end = rows - rows % block
            for start in range(0, end, block):
                yield whole[start : start + block]
            kept, rows = [whole[end:]], rows - end
    if rows:
        yield np.concatenate(kept)
