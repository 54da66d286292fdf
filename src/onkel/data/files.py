"""Streams from files: `.csv` and `.npz`, block by block, in bounded memory, every number checked before it is handed on.

    stream = read("prices.csv", target="price")
    for X, y in stream: ...                        # float64, at most `block` rows; iterate again to read again

A csv file has a header line; every column but the target is a feature unless `columns` chooses. pyarrow reads it. Where pyarrow
refuses a piece or finds a number that is not finite, the csv module reads on from there: it names the line of the first bad cell,
and it accepts what only pyarrow objects to (lines longer than its buffer).

An npz file has `X` and `y`, or `data, indices, indptr, shape` (SciPy's csr matrix, made dense block by block) and `y`, and perhaps
`feature_names`. Its checksums are verified first. Only arrays of numbers and of text are read: nothing is ever unpickled. A matrix
stored by columns is the one thing held in memory whole.
"""

from __future__ import annotations

import csv
import difflib
import lzma
import math
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix, Vector
from onkel.errors import FileError, InputError

PIECE = 1 << 20  # bytes pyarrow parses at a time
LONGEST_LINE = 1 << 24  # characters; beyond it the file is hardly a table
LARGEST_BLOCK = 1 << 30  # bytes of one block
NAMES_SHOWN = 20

Block = tuple[Matrix, Vector]


@dataclass(frozen=True)
class Stream:
    """The blocks (X, y) of a file. Each iteration reads the file from its start."""

    path: Path
    target: str
    names: tuple[str, ...]  # of the features, in the order of X's columns
    rows: int | None  # None where only reading would tell
    blocks: Callable[[], Iterator[Block]] = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()


def read(
    path: str | os.PathLike[str], target: str | None = None, block: int = 4096, columns: Sequence[str] | None = None
) -> Stream:
    """Open a file as a stream of blocks of `block` rows (the last may be shorter).

    target   the column (csv) or array (npz, `y` if not given) that y comes from
    columns  the features, by name, in the order wanted; the others are not looked at

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "prices.csv").write_text("size,age,price\\n50,3,210\\n80,?,350\\n")
    ...     stream = read(Path(folder, "prices.csv"), target="price", columns=["size"])
    ...     print(stream.names, [(X.tolist(), y.tolist()) for X, y in stream])
    ('size',) [([[50.0], [80.0]], [210.0, 350.0])]
    """
    if not isinstance(block, Integral) or isinstance(block, bool) or block < 1:
        raise InputError(f"block must be a whole number of rows, at least 1, got {block!r}")
    if isinstance(columns, str) or (columns is not None and not all(isinstance(name, str) for name in columns)):
        raise InputError(f"columns must be a list of names, got {columns!r}")
    if target is not None and not isinstance(target, str):
        raise InputError(f"target must be a name, got {target!r}")
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must name a file, got {path!r}")
    path = Path(path)
    with _reading(path):
        _check_file(path)
        readers = {".csv": _open_csv, ".npz": _open_npz}
        if path.suffix.lower() not in readers:
            raise FileError(f"{path}: cannot tell the format from {path.suffix!r}; the name must end in {' or '.join(readers)}")
        return readers[path.suffix.lower()](path, target, int(block), columns)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise FileError(f"{path} does not exist; check the path (relative ones start at {Path.cwd()})")
    if not path.is_file():
        raise FileError(f"{path} is not a regular file; copy its contents to one")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty; write the data again")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; check the disk and the permissions") from error
    except MemoryError as error:
        raise FileError(f"{path} needs more memory than there is; choose a smaller block") from error


def _features(path: Path, known: Sequence[str], target: str | None, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The features: `columns`, or every known name but the target's."""
    if twice := _repeated(known):
        raise InputError(f"{path}: two columns are named {twice!r}; rename one")
    names = tuple(name for name in known if name != target) if columns is None else tuple(columns)
    if "" in names and "" in known:
        raise InputError(f"{path}: column {known.index('') + 1} has no name; name it, or choose the features with columns=[...]")
    if absent := set(names) - set(known):
        raise InputError(_unknown(path, "column", min(absent), known))
    if target in names or _repeated(names):
        raise InputError(f"columns must name each feature once and not the target, got {_listed(names)}")
    if not names:
        raise InputError(f"{path}: there are no feature columns; give at least one")
    return names


def _repeated(names: Sequence[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _unknown(path: Path, what: str, name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{path} has no {what} {name!r}; {hint}choose one of: {_listed(known)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(map(repr, names[:NAMES_SHOWN])) or "(none)") + more


def _check_size(path: Path, block: int, dim: int) -> None:
    if block * dim * 8 > LARGEST_BLOCK:
        raise InputError(
            f"{path}: a block of {block} rows and {dim} columns takes {block * dim * 8 / 1e9:.1f} GB; "
            f"choose block={max(1, LARGEST_BLOCK // (8 * dim))} or less"
        )


class _Record(NamedTuple):
    fields: list[str]
    first: int  # the lines it came from, counted as an editor does
    last: int


def _open_csv(path: Path, target: str | None, block: int, columns: Sequence[str] | None) -> Stream:
    with closing(_records(path)) as records:
        header = next(records, None)
        if header is None:
            raise FileError(f"{path} is empty: it has only blank lines; write the data again")
        known = _header(path, header)
        if target is None:
            raise InputError(f"{path}: choose the target, one of: {_listed(known)}")
        if len(known) == 1:
            raise InputError(f"{path}: there are no feature columns, only {_shown(known[0])}; are its fields separated by commas?")
        if not target or target not in known:
            raise InputError(_unknown(path, "column", target, known))
        names = _features(path, known, target, columns)
        if next(records, None) is None:
            raise FileError(f"{path} has a header but no rows; write the data again")
    _check_size(path, block, len(names) + 1)
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
    with _reading(path):
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
    remedy = "correct it or drop the line" + ("" if j == at[-1][1] else ", or leave the column out with columns=[...]")
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


_CSR = ("data", "indices", "indptr", "shape")
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OverflowError, UnicodeError,
    RuntimeError,  # a password, an unknown compression
)  # fmt: skip


def _open_npz(path: Path, target: str | None, block: int, columns: Sequence[str] | None) -> Stream:
    label = "y" if target is None else target
    with _unpacking(path) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if "X" not in held and not set(_CSR) <= set(held):
            raise FileError(f"{path} has neither X nor {', '.join(_CSR)}; it holds: {_listed(held)}")
        taken = {"X", *_CSR, "format", "feature_names"}
        if label not in held or label in taken:
            raise InputError(_unknown(path, "array of labels", label, [name for name in held if name not in taken]))
        for name in taken.union({label}).intersection(held):
            _check_sum(archive, name)
        shape = _matrix(path, archive).shape
        if len(shape) != 2:
            raise InputError(f"{path}: X must have two dimensions, (rows, features), got shape {shape}")
        if (labels := _array(path, archive, label).shape) != shape[:1]:
            raise InputError(f"{path}: {label} must hold one number for each of the {shape[0]} rows of X, got shape {labels}")
        if shape[0] == 0:
            raise FileError(f"{path} has no rows; write the data again")
        _check_size(path, block, shape[1])
        known = _feature_names(path, archive, shape[1]) if "feature_names" in held else [f"x{j}" for j in range(shape[1])]
    names = _features(path, known, None, columns)
    place = {name: j for j, name in enumerate(known)}
    keep = [place[name] for name in names]
    return Stream(path, label, names, shape[0], lambda: _npz_blocks(path, label, shape, names, keep, block))


def _npz_blocks(
    path: Path, target: str, shape: tuple[int, ...], names: tuple[str, ...], keep: list[int], block: int
) -> Iterator[Block]:
    with _unpacking(path) as archive:
        matrix, labels = _matrix(path, archive), _array(path, archive, target)
        if matrix.shape != shape or labels.shape != shape[:1]:
            raise FileError(f"{path} changed since it was opened; read it again")
        for start in range(0, shape[0], block):
            count = min(block, shape[0] - start)
            X, y = np.take(_float(matrix.take(count)), keep, axis=1), _float(labels.take(count))
            for table, columns in ((X, names), (y[:, None], (target,))):
                _check_finite(path, table, columns, start)
            yield X, y


def _float(values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # of a wider type: becomes infinite, and is then refused
        return values.astype(np.float64)


def _check_finite(path: Path, table: Matrix, columns: Sequence[str], start: int) -> None:
    if not np.isfinite(table).all():
        row, j = np.argwhere(~np.isfinite(table))[0]
        place = f"{path}, row {start + row} (counted from 0), column {columns[j]!r}"
        raise InputError(f"{place}: {table[row, j]} is not a finite number; correct it or drop the row")


@contextmanager
def _unpacking(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        # a ZipFile given a path would leave it open as long as one of its members is
        with _reading(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield archive
    except _DAMAGE as error:
        raise FileError(f"{path} is damaged or not an npz file ({error}); write it again with np.savez") from error


def _check_sum(archive: zipfile.ZipFile, name: str) -> None:
    with archive.open(f"{name}.npy") as file:
        while file.read(PIECE):  # zipfile compares the checksum at the end
            pass


@dataclass
class _Array:
    """An array in an npz file, read row by row from its first."""

    file: IO[bytes]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    whole: NDArray[Any] | None = None  # used where the rows do not lie one after the other
    done: int = 0

    def take(self, count: int) -> NDArray[Any]:
        """The next `count` rows."""
        if self.by_columns:
            if self.whole is None:
                self.whole = self._next(math.prod(self.shape)).reshape(self.shape, order="F")
            self.done += count
            return self.whole[self.done - count : self.done]
        return self._next(count * math.prod(self.shape[1:])).reshape(count, *self.shape[1:])

    def _next(self, count: int) -> NDArray[Any]:
        data = self.file.read(count * self.dtype.itemsize)
        if len(data) != count * self.dtype.itemsize:
            raise EOFError("an array ends early")
        return np.frombuffer(data, self.dtype)


def _array(path: Path, archive: zipfile.ZipFile, name: str, kinds: str = "fiub", what: str = "numbers") -> _Array:
    """Open an array whose dtype is of one of the `kinds`; its size must be that of its file."""
    file = archive.open(f"{name}.npy")
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        shape, by_columns, dtype = header[np.lib.format.read_magic(file)](file)
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise FileError(f"{path}: array {name} has an unknown format ({error}); write it again with np.savez") from error
    if dtype.hasobject:
        raise FileError(f"{path}: array {name} holds Python objects, which are never unpickled; save it as an array of {what}")
    if dtype.kind not in kinds or dtype.itemsize == 0:
        raise InputError(f"{path}: array {name} holds {dtype}, not {what}; convert it before saving")
    size = archive.getinfo(f"{name}.npy").file_size - file.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size:
        raise FileError(f"{path}: array {name} claims the shape {shape}, which does not fit its {size} bytes; write it again")
    return _Array(file, shape, dtype, by_columns and len(shape) > 1)


def _feature_names(path: Path, archive: zipfile.ZipFile, dim: int) -> list[str]:
    array = _array(path, archive, "feature_names", "US", "text")
    if array.shape != (dim,):
        raise InputError(f"{path}: feature_names must have shape {(dim,)}, one name a column of X, got {array.shape}")
    try:
        return [str(name) for name in array.take(dim).astype(np.str_)]
    except UnicodeError as error:
        raise FileError(f"{path}: feature_names are not ASCII bytes; save them as an array of str") from error


@dataclass
class _Csr:
    """A csr matrix in an npz file, made dense some rows at a time."""

    path: Path
    shape: tuple[int, int]
    data: _Array
    indices: _Array
    indptr: _Array
    done: int = 0  # entries

    def take(self, count: int) -> Matrix:
        ends = self.indptr.take(count).astype(np.int64)
        sizes = np.diff(ends, prepend=self.done)
        if sizes.min() < 0 or ends[-1] > self.data.shape[0]:
            raise FileError(f"{self.path}: indptr does not rise from 0 to the number of entries; save the matrix again")
        entries = int(ends[-1]) - self.done
        self.done += entries
        column = self.indices.take(entries).astype(np.int64)
        if np.any((column < 0) | (column >= self.shape[1])):
            raise FileError(f"{self.path}: indices point outside the {self.shape[1]} columns; save the matrix again")
        X = np.zeros((count, self.shape[1]))
        np.add.at(X, (np.repeat(np.arange(count), sizes), column), _float(self.data.take(entries)))  # repeated entries add up
        return X


def _matrix(path: Path, archive: zipfile.ZipFile) -> _Array | _Csr:
    if "X.npy" in archive.namelist():
        return _array(path, archive, "X")
    if "format.npy" in archive.namelist():
        kind = _array(path, archive, "format", "US", "text")
        if kind.shape != () or str(kind.take(1).astype(np.str_)[0]) != "csr":
            raise FileError(f"{path}: the matrix is not stored as csr; save matrix.tocsr()")
    size = _array(path, archive, "shape", "iu", "whole numbers")
    rows, dim = (int(n) for n in size.take(2)) if size.shape == (2,) else (-1, -1)
    data, indices, indptr = (_array(path, archive, name, kinds) for name, kinds in zip(_CSR, ("fiub", "iu", "iu"), strict=False))
    fits = indptr.shape == (rows + 1,) and len(data.shape) == 1 and indices.shape == data.shape
    if min(rows, dim) < 0 or not fits or indptr.take(1)[0] != 0:
        raise FileError(
            f"{path}: data, indices, indptr and shape do not make a csr matrix; save it again with scipy.sparse.save_npz"
        )
    return _Csr(path, (rows, dim), data, indices, indptr)
