"""`Reading` says how rows are read; `open_tables` opens files, pipes, data by name, tables, arrays or dicts as a source of tables.

    source = open_tables("prices.csv", Reading(without=["id"]), target="price")
    for table in source.tables(): ...          # numbers, strings and dates by name, at most some thousand rows

The suffix of a file's name decides its format; the module of the format says what such a file may contain. Compressed files (gz,
xz, bz2, zst) are decompressed while they are read.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from onkel._validate import config
from onkel.data import libsvm_file
from onkel.data.arrow_table import open_arrow, open_frame, open_parquet
from onkel.data.byte_streams import ByteStream, File, Growing, check_file, file_errors, standard_input
from onkel.data.columns import AllBut, listed, repeated
from onkel.data.concatenated import open_concatenated
from onkel.data.csv_file import SEPARATORS, open_csv
from onkel.data.csv_records import Header
from onkel.data.excel_file import open_sheet
from onkel.data.jsonl_file import open_jsonl
from onkel.data.labels import LABEL, labelled, name_of
from onkel.data.libsvm_file import open_libsvm
from onkel.data.matrix import open_matrix
from onkel.data.named import find
from onkel.data.npz_file import open_npz
from onkel.data.order import Order, ordered
from onkel.data.records import open_records
from onkel.data.table import Kind, Source, Table, table_source
from onkel.errors import FileError, InputError

STANDARD_INPUT = "-"
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")

Wanted = Sequence[str] | None  # the columns to read; None: all of them
Kinds = Mapping[str, Kind]  # the kinds that the user has declared, by column

LINES: dict[str, Callable[[ByteStream, Wanted, Kinds], Source]] = {  # formats that can be piped, compressed, or still growing
    ".jsonl": open_jsonl, ".ndjson": open_jsonl, ".libsvm": open_libsvm, ".svm": open_libsvm,
}  # fmt: skip
CSV = {".csv": SEPARATORS, ".data": SEPARATORS, ".tsv": "\t"}  # csv: the separators; can be piped, compressed or growing too
FILES: dict[str, Callable[[Path, Wanted, Kinds], Source]] = {
    ".parquet": open_parquet, ".pq": open_parquet, ".arrow": open_arrow, ".feather": open_arrow, ".ipc": open_arrow,
}  # fmt: skip
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")  # workbooks
LABELS = {".npz": "y", ".libsvm": libsvm_file.LABEL, ".svm": libsvm_file.LABEL}  # the name of the label in formats that have one
DECLARED = {"text": Kind.TEXT, "dates": Kind.DATE, "numbers": Kind.NUMBER, "times": Kind.TIME, "durations": Kind.DURATION}


@config
class Reading:
    """How rows are read, whatever is done with them afterwards.

    format   The format, such as "csv"; None: by the suffix of the name. Default: None.
    header   True: a csv file or a sheet begins with a header. If there is none: False names the columns c0, c1, c2 …, a list gives
             their names. Default: True.
    sheet    The sheet of a workbook; None: its first. Default: None.
    columns  The columns that are read besides the target, in this order; None: all. Default: None.
    without  Columns that are not read. Default: ().
    text     Columns to read as strings although they look like numbers, such as postcodes. Default: ().
    dates    Columns of dates (2026-11-16 14:05), besides those that are recognised by their first rows. Default: ().
    numbers  Columns of numbers, whatever the first rows look like. Default: ().
    times    Columns of times of day (14:05), besides those that are recognised by their first rows. Default: ().
    durations    Columns of durations (2 days 01:30:00), besides those that are recognised by their first rows. Default: ().
    follow   Read on as the file grows, until nothing new has come for this number of seconds (math.inf: for ever). Default: None.
    order    A random order (which holds all rows in memory), or only the first rows: see `Order`. Default: None.

    >>> rows = [{"size": 50.0, "zip": 1067}, {"size": 70.0, "zip": 53111}]
    >>> [kind.value for kind in onkel.data.open_tables(rows, onkel.data.Reading(text=("zip",))).kinds.values()]
    ['a number', 'text']
    """

    format: str | None = None
    header: Header = True
    sheet: str | None = None
    columns: Sequence[str] | None = None
    without: Sequence[str] = ()
    text: Sequence[str] = ()
    dates: Sequence[str] = ()
    numbers: Sequence[str] = ()
    times: Sequence[str] = ()
    durations: Sequence[str] = ()
    follow: float | None = None
    order: Order | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "without", *DECLARED):
            given = getattr(self, name)
            if isinstance(given, list | tuple):  # the columns of a pandas frame may be named by numbers
                given = tuple(str(one) if isinstance(one, Integral) else one for one in given)
                object.__setattr__(self, name, given)
            _check_names(name, given)
        _check_names("header", None if isinstance(self.header, bool) else self.header)
        if self.follow is not None and not (isinstance(self.follow, int | float) and self.follow >= 0.0):
            raise InputError(f"follow must be a number of seconds, or math.inf, got {self.follow!r}")
        if self.columns is not None and repeated(self.columns):
            raise InputError(f"columns must name each feature once and not the target, got {listed(self.columns)}")
        for one, other in itertools.combinations(DECLARED, 2):
            if both := {*getattr(self, one)} & {*getattr(self, other)}:
                raise InputError(f"column {min(both)!r} cannot be both {one} and {other}; declare it once")

    def kinds(self) -> dict[str, Kind]:
        """The kinds of the columns that the user has declared, by name."""
        return {name: kind for field, kind in DECLARED.items() for name in getattr(self, field)}

    def wanted(self, target: str | None) -> Wanted:
        """The columns to read, the target among them."""
        if self.columns is None:
            return AllBut(self.without) if self.without else None
        if target in self.columns:
            raise InputError(f"columns must name each feature once and not the target, got {listed(self.columns)}")
        names = tuple(name for name in self.columns if name not in self.without)
        return names if target is None else (*names, target)


def _check_names(field: str, given: Any) -> None:
    if isinstance(given, str) or (given is not None and not all(isinstance(name, str) for name in given)):
        raise InputError(f"{field} must be a list of names, got {list(given) if isinstance(given, tuple) else given!r}")


AS_DETECTED = Reading()


def open_tables(rows: Any, reading: Reading = AS_DETECTED, target: Any = None) -> Source:
    """The rows as tables of the columns that are to be read.

    rows     a file, or "-" for the standard input; a name (see `onkel data`); a table in memory (of pandas, polars, pyarrow), an
             array or a scipy.sparse matrix; a dict or a list of dicts; or a list of files, which are read one after the other
    target   one more column that must be there, whatever `reading.columns` says; for rows in memory it may also be the labels
             themselves
    """
    found = locate(rows, reading, target)
    return open_located(found, reading, None if target is None else found[0].target)


class Located(NamedTuple):
    """Rows as they were given, and what is known about them before they are opened."""

    rows: Any
    name: str | None  # the name by which the data were found, if they were
    y: Any  # labels that were given separately, for rows in memory
    target: str | None  # the target column, if it is already known
    suffix: str  # decides the format of a file

    @property
    def has_labels(self) -> bool:
        """Whether the labels were given separately, and are not a column."""
        return self.y is not None or (isinstance(self.rows, Table) and self.rows.labels is not None)


def locate(rows: Any, reading: Reading, target: Any = None) -> list[Located]:
    several = isinstance(rows, list | tuple) and len(rows) > 0 and all(isinstance(one, str | os.PathLike) for one in rows)
    target = str(target) if isinstance(target, Integral) else target  # a column of a pandas frame may be named by a number
    return [_located(one, reading.format, target) for one in (rows if several else [rows])]


def refuse_series(rows: Any) -> None:
    """Refuse a series of pandas: it may be a row or a column."""
    if getattr(rows, "ndim", 2) == 1 and hasattr(rows, "to_dict"):
        raise InputError(f"a {type(rows).__name__} is one row or one column; give a row as a dict: row.to_dict()")


def _located(rows: Any, format: str | None, target: Any) -> Located:
    if isinstance(rows, str) and "://" in rows:
        raise FileError(f"{rows} is an address, and only files are read; download it first: curl -O {rows}")
    refuse_series(rows)
    name = rows if is_name(rows, format) else None
    if name is not None:
        rows, own = find(name).open()
        target = own if target is None else target
    if isinstance(rows, str | os.PathLike):
        if not isinstance(target, str | None):
            raise InputError(f"target must be the name of a column of {rows}, got {type(target).__name__}; name it, as in 'price'")
        suffix = _suffix(rows, format)
        return Located(rows, None, None, LABELS.get(suffix) if target is None else target, suffix)
    if isinstance(rows, Table):
        return Located(rows, None, None, LABEL if rows.labels is not None else target, "")
    if hasattr(rows, "collect"):
        raise InputError(f"a {type(rows).__name__} has no rows yet; give table.collect()")
    y = None if isinstance(target, str | None) else target
    is_array = hasattr(rows, "shape") and hasattr(rows, "dtype")
    if not (is_array or hasattr(rows, "__arrow_c_stream__") or _is_records(rows)):
        what = f"a {type(rows).__name__}"
        raise InputError(f"path must name a file or be a table, an array or dicts, got {what}; convert it: np.array(…)")
    if is_array and not hasattr(rows, "__arrow_c_stream__"):
        return Located(rows, name, y, name_of(target), "")
    return Located(rows, name, y, target if y is None else name_of(y), "")


def _is_records(rows: Any) -> bool:
    return isinstance(rows, Mapping) or (isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows))


def open_located(found: Sequence[Located], reading: Reading, target: str | None) -> Source:
    """Open the rows that `locate` found. `reading.follow` applies only to the last of several files."""

    def opener(one: Located) -> Callable[[Wanted, Kinds], Source]:
        stream = _stream(one.rows, reading.follow if one is found[-1] else None)
        return lambda wanted, kinds: _opened(one, stream, wanted, kinds, target, reading)

    y = found[0].y
    wanted, kinds = reading.wanted(target if y is None else None), reading.kinds()
    openers = [opener(one) for one in found]
    source = openers[0](wanted, kinds) if len(openers) == 1 else open_concatenated(openers, wanted, kinds, target)
    source = source if y is None else labelled(source, y)
    return source if reading.order is None else ordered(source, reading.order)


def _stream(rows: Any, follow: float | None) -> ByteStream | None:
    """The bytes of a file or pipe; None for rows in memory. It keeps the sample, so every opening uses this object."""
    if not isinstance(rows, str | os.PathLike):
        return None
    if rows == STANDARD_INPUT:
        return standard_input()
    return File(Path(rows)) if follow is None else Growing(Path(rows), follow)


def _opened(one: Located, stream: ByteStream | None, wanted: Wanted, kinds: Kinds, target: str | None, reading: Reading) -> Source:
    rows = one.rows
    if isinstance(rows, Table):
        return table_source(rows)
    if hasattr(rows, "__arrow_c_stream__"):
        return open_frame(rows, wanted, kinds, one.name)
    if _is_records(rows):
        return open_records([rows] if isinstance(rows, Mapping) else rows, wanted, kinds)
    if stream is None:
        return open_matrix(rows, wanted, kinds, one.name or "X")
    with file_errors(stream.name):
        if rows == STANDARD_INPUT:
            return _open_lines(stream, one.suffix, wanted, kinds, reading.header)
        check_file(path := Path(rows))
        if one.suffix == ".npz":
            return open_npz(path, wanted, kinds, target or LABELS[one.suffix])
        if one.suffix in FILES:
            return FILES[one.suffix](path, wanted, kinds)
        if one.suffix in SHEETS:
            return open_sheet(path, wanted, kinds, reading.header, reading.sheet)
        return _open_lines(stream, one.suffix, wanted, kinds, reading.header)


def _open_lines(stream: ByteStream, suffix: str, wanted: Wanted, kinds: Kinds, header: Header) -> Source:
    if suffix in CSV:
        return open_csv(stream, wanted, kinds, CSV[suffix], header)
    if suffix in LINES:
        return LINES[suffix](stream, wanted, kinds)
    if suffix in (*FILES, *SHEETS, ".npz"):
        raise FileError(f"{stream.name}: {suffix} cannot come through a pipe; save it to a file first")
    if suffix == ".onkel":
        raise FileError(f"{stream.name} is a saved model, not data; use it on data: onkel predict {stream.name} FILE")
    if suffix == ".json":
        lines = f"jq -c '.[]' {stream.name} > rows.jsonl"
        raise FileError(
            f"{stream.name}: of JSON, files with one object in each line are read (.jsonl); make one of a list: {lines}"
        )
    known = " ".join([*CSV, *LINES, *FILES, *SHEETS, ".npz"])
    remedy = f"say it, as in format='csv' (--format csv); known are {known}"
    raise FileError(f"{stream.name}: cannot tell the format from {suffix!r}; {remedy}")


def is_name(rows: Any, format: str | None = None) -> bool:
    """Whether `rows` is the name of a data set, not a file: it has neither folder nor suffix, and there is no such file."""
    bare = isinstance(rows, str) and format is None and rows not in ("", STANDARD_INPUT) and Path(rows).name == rows
    return bare and not Path(rows).suffix and not Path(rows).exists()


def _suffix(path: Any, format: str | None) -> str:
    """The suffix that says the format (.csv for prices.csv.gz)."""
    if format is not None or path == STANDARD_INPUT:
        return f".{(format or 'csv').removeprefix('.')}"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in COMPRESSED), "")
