"""Tables from Arrow data: parquet and Arrow files, and tables in memory (of pandas, polars, pyarrow, or any other that offers
`__arrow_c_stream__`).

The schema says the kinds of the columns. Whole numbers beyond 2⁵³ are rounded to float64, as in every format. NaN and null both
mean that a value is missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onkel._extras import extra
from onkel._types import Vector
from onkel.data.clock import MICRO, all_seconds
from onkel.data.columns import check_declared, choose, leave_out, remedy, shown
from onkel.data.dates import NO_DATE, dates
from onkel.data.table import ROWS_AT_ONCE, Dates, Kind, Origin, Source, Strings, Table, coded
from onkel.errors import FileError, InputError


@dataclass(frozen=True, kw_only=True)
class ArrowSource(Source):
    batches: Callable[[list[str]], Iterator[Any]]  # yields the rows, with the named columns only
    in_memory: bool = False

    def tables(self, sample: bool = False) -> Generator[Table]:
        done = 0
        with (_converted if self.in_memory else _opened)(self.name):
            for batch in self.batches(list(self.kinds)):
                yield self._table(batch, done)
                done += batch.num_rows

    def _table(self, batch: Any, done: int) -> Table:
        columns = {name: (kind, batch.column(name)) for name, kind in self.kinds.items()}
        names = tuple(name for name, kind in self.kinds.items() if kind.is_numeric)
        numbers = np.empty((batch.num_rows, len(names)))
        for j, name in enumerate(names):
            kind, column = columns[name]
            numbers[:, j] = self._numbers(name, column) if kind is Kind.NUMBER else self._seconds(name, kind, column, done)
        return Table(
            names,
            numbers,
            {name: _strings(column) for name, (kind, column) in columns.items() if kind is Kind.TEXT},
            {name: self._dates(name, column, done) for name, (kind, column) in columns.items() if kind is Kind.DATE},
            (Origin(batch.num_rows, done, self._place),),
        )

    def _place(self, row: int) -> str:
        return f"{self.name}, row {row} (counted from 0)"

    def _numbers(self, name: str, column: Any) -> Vector:
        import pyarrow

        try:
            return _numbers(column)
        except pyarrow.ArrowException as error:
            wrong = f"{self.name}: column {name!r} must hold numbers, got {column.type} ({_reason(error)})"
            raise InputError(f"{wrong}; convert it, as in pandas.to_numeric, or drop the rows that hold no number") from None

    def _dates(self, name: str, column: Any, done: int) -> Dates:
        import pyarrow
        import pyarrow.types as t

        if t.is_date(column.type) or t.is_timestamp(column.type):
            return np.asarray(column.cast(pyarrow.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), "datetime64[us]")
        return np.asarray(self._parsed(name, Kind.DATE, column, done, dates, NO_DATE))

    def _seconds(self, name: str, kind: Kind, column: Any, done: int) -> Vector:
        """Times of day or durations, in seconds."""
        import pyarrow
        import pyarrow.types as t

        if t.is_time(column.type) or t.is_duration(column.type):
            micro = pyarrow.time64("us") if t.is_time(column.type) else pyarrow.duration("us")
            whole = column.cast(micro, safe=False).cast(pyarrow.int64())
            return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=float) / MICRO
        return np.asarray(self._parsed(name, kind, column, done, all_seconds, np.nan))

    def _parsed(self, name: str, kind: Kind, column: Any, done: int, parse: Callable[[Sequence[str]], Any], missing: Any) -> Any:
        """A column of strings as values of this kind. The function `parse` returns `missing` for a string that has no such
        value."""
        cells = _strings(column)
        found = np.append(parse(cells.values), missing)[cells.codes]
        wrong = np.flatnonzero(np.isnan(found) & (cells.codes >= 0))
        if wrong.size:
            cell = cells.values[cells.codes[wrong[0]]]
            place = f"{self._place(done + int(wrong[0]))}, column {name!r}"
            raise InputError(f"{place}: {shown(cell)} is not {kind.value}; {remedy(name, kind, cell)}")
        return found


def open_parquet(path: Path, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> ArrowSource:
    with extra("arrow", "reading a parquet file"):
        import pyarrow.parquet

    with _opened(str(path)), pyarrow.parquet.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows

    def batches(names: list[str]) -> Iterator[Any]:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_AT_ONCE, columns=names, use_threads=False)

    return _source(str(path), schema, rows, batches, wanted, kinds)


def open_arrow(path: Path, wanted: Sequence[str] | None, kinds: Mapping[str, Kind]) -> ArrowSource:
    """Open an Arrow file (feather files are Arrow files), or a file that holds an Arrow stream."""
    with extra("arrow", "reading an Arrow file"):
        import pyarrow

    def batches(names: list[str] | None) -> Iterator[Any]:
        with pyarrow.memory_map(str(path)) as file:
            if file.read(6) == b"ARROW1":
                reader = pyarrow.ipc.open_file(file)
                found: Iterator[Any] = (reader.get_batch(k) for k in range(reader.num_record_batches))
            else:
                file.seek(0)
                found = iter(reader := pyarrow.ipc.open_stream(file))
            if names is None:
                yield reader.schema
            for batch in found:
                batch.validate(full=True)
                yield from _cut(batch.select(names))

    with _opened(str(path)):
        schema = next(batches(None))
    return _source(str(path), schema, None, batches, wanted, kinds)


def open_frame(frame: Any, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], name: str | None = None) -> ArrowSource:
    """Open a table in memory that offers `__arrow_c_stream__`."""
    with extra("arrow", "reading a data frame"):
        import pyarrow

    name = name or f"the {type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    with _converted(name):
        if hasattr(frame, "iloc"):
            frame = _of_pandas(name, frame, wanted)
        schema = pyarrow.RecordBatchReader.from_stream(frame).schema

    def batches(names: list[str]) -> Iterator[Any]:
        for batch in pyarrow.RecordBatchReader.from_stream(frame):
            yield from _cut(batch.select(names))

    rows = len(frame) if hasattr(frame, "__len__") else None
    return dataclasses.replace(_source(name, schema, rows, batches, wanted, kinds), in_memory=True)


def _of_pandas(name: str, frame: Any, wanted: Sequence[str] | None) -> Any:
    """A pandas frame as an Arrow table, without its index, which would become an input.

    Columns that are not wanted are replaced by nulls, since they may mix types that Arrow refuses.
    """
    import pyarrow

    known = [str(column) for column in frame.columns]
    names = choose(name, known, wanted)
    columns = []
    for j, column in enumerate(known):
        try:
            columns.append(pyarrow.Array.from_pandas(frame.iloc[:, j]) if column in names else pyarrow.nulls(len(frame)))
        except (pyarrow.ArrowException, TypeError) as error:
            remedy = f"convert it, as in frame[{column!r}].astype(str), or leave the column out (without=[{column!r}])"
            raise InputError(f"{name}: column {column!r} mixes types ({_reason(error)}); {remedy}") from None
    return pyarrow.table(columns, names=known)


def _source(
    name: str, schema: Any, rows: int | None, batches: Callable[[list[str]], Iterator[Any]], wanted: Sequence[str] | None,
    kinds: Mapping[str, Kind],
) -> ArrowSource:  # fmt: skip
    names = choose(name, schema.names, wanted)
    check_declared(name, kinds, schema.names)
    found = {column: kinds.get(column) or _kind(name, column, schema.field(column).type) for column in names}
    if rows == 0:
        raise FileError(f"{name} has no rows; write the data again")
    return ArrowSource(name=name, kinds=found, known=schema.names, rows=rows, batches=batches)


def _cut(batch: Any) -> Iterator[Any]:
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        yield batch.slice(start, ROWS_AT_ONCE)


@contextmanager
def _opened(name: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        remedy = "it may be truncated or in another format, write it again"
        raise FileError(f"{name} cannot be read: {_reason(error)}; {remedy}") from error


@contextmanager
def _converted(name: str) -> Iterator[None]:
    """Turn pyarrow's errors about a table in memory into `InputError`s; for files see `_opened`."""
    import pyarrow

    try:
        yield
    except pyarrow.ArrowException as error:
        remedy = "convert its columns to numbers, strings or dates, or leave one out (without=[…])"
        raise InputError(f"{name} cannot be converted to Arrow: {_reason(error)}; {remedy}") from error


def _reason(error: Exception) -> str:
    return str(error.args[0]).splitlines()[0] if error.args and str(error.args[0]) else type(error).__name__


def _kind(name: str, column: str, kind: Any) -> Kind:
    import pyarrow.types as t

    if t.is_dictionary(kind):
        return Kind.TEXT
    if t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind) or t.is_null(kind):
        return Kind.NUMBER
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return Kind.TEXT
    if t.is_date(kind) or t.is_timestamp(kind):
        return Kind.DATE
    if t.is_time(kind) or t.is_duration(kind):
        return Kind.TIME if t.is_time(kind) else Kind.DURATION
    raise InputError(
        f"{name}: column {column!r} holds {kind}, not numbers, strings or dates; leave the column out ({leave_out(column)})"
    )


def _numbers(column: Any) -> Vector:
    import pyarrow

    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.uint8())
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False))


def _strings(column: Any) -> Strings:
    import pyarrow

    encoded = column if pyarrow.types.is_dictionary(column.type) else column.cast(pyarrow.large_string()).dictionary_encode()
    codes = encoded.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy()
    return coded(codes, encoded.dictionary.cast(pyarrow.large_string()).to_pylist())
