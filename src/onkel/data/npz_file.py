"""Tables from npz files, dense or sparse, row by row out of the archive.

An npz file has `X` and `y`, or `data, indices, indptr, shape` (SciPy's csr matrix, made dense block by block) and `y`, and perhaps
`feature_names`. Its checksums are verified first. Only arrays of numbers and of text are read: nothing is ever unpickled. A matrix
stored by columns is first copied to a temporary file, where its rows can be found.
"""

from __future__ import annotations

import lzma
import math
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.data.columns import AllBut, choose, listed, numbers_only, unknown
from onkel.data.input import reading
from onkel.data.table import BYTES_AT_ONCE, Kind, Origin, Table, rows_at_once, texts
from onkel.errors import FileError, InputError

PIECE = 1 << 20  # bytes read at a time to verify a checksum

_CSR = ("data", "indices", "indptr", "shape")
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OverflowError, UnicodeError,
    RuntimeError,  # a password, an unknown compression
)  # fmt: skip


@dataclass(frozen=True)
class NpzSource:
    path: Path
    label: str
    columns: Mapping[str, int]  # of X
    wanted: tuple[str, ...]
    shape: tuple[int, ...]
    in_texts: bool = False  # are the labels

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def kinds(self) -> dict[str, Kind]:
        return {name: Kind.TEXT if self.in_texts and name == self.label else Kind.NUMBER for name in self.wanted}

    def notes(self) -> list[str]:
        return []

    def tables(self, sample: bool = False) -> Generator[Table]:
        keep = [self.columns[name] for name in self.wanted if name != self.label]
        names = [name for name in self.wanted if name != self.label]
        with _unpacking(self.path) as archive, closing(_matrix(self.path, archive)) as matrix:
            labels = _labels(self.path, archive, self.label) if self.label in self.wanted else None
            if matrix.shape != self.shape or (labels is not None and labels.shape != self.shape[:1]):
                raise FileError(f"{self.path} changed since it was opened; read it again")
            at_once = rows_at_once(self.shape[1])
            for start in range(0, self.shape[0], at_once):
                count = min(at_once, self.shape[0] - start)
                numbers = np.take(_float(matrix.take(count)), keep, axis=1)
                words = {}
                if labels is not None and self.in_texts:
                    words = {self.label: texts(labels.take(count).tolist())}
                elif labels is not None:
                    numbers = np.column_stack([numbers, _float(labels.take(count))])
                known = tuple(names if labels is None or self.in_texts else [*names, self.label])
                yield Table(known, numbers, words, {}, (Origin(count, start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.path}, row {row} (counted from 0)"


def open_npz(path: Path, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], label: str) -> NpzSource:
    with _unpacking(path) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if "X" not in held and not set(_CSR) <= set(held):
            raise FileError(f"{path} has neither X nor {', '.join(_CSR)}; it holds: {listed(held)}")
        taken = {"X", *_CSR, "format", "feature_names"}
        if (isinstance(wanted, AllBut | None) or label in wanted) and (label not in held or label in taken):
            others = [name for name in held if name not in taken]
            remedy = f"save it with them, as in np.savez({path.name!r}, X=X, y=y)"
            raise InputError(unknown(str(path), "array of labels", label, others) if others else f"{path} has no labels; {remedy}")
        for name in taken.union({label}).intersection(held):
            _check_sum(archive, name)
        shape = _matrix(path, archive).shape
        if len(shape) != 2:
            raise InputError(f"{path}: X must have two dimensions, (rows, features), got shape {shape}")
        labels = _labels(path, archive, label) if label in held else None
        if labels is not None and labels.shape != shape[:1]:
            raise InputError(f"{path}: {label} must hold one label for each of the {shape[0]} rows of X, got shape {labels.shape}")
        if shape[0] == 0:
            raise FileError(f"{path} has no rows; write the data again")
        if shape[1] * 8 > BYTES_AT_ONCE:
            raise InputError(f"{path}: a row of {shape[1]} columns takes {shape[1] * 8 / 1e9:.1f} GB; choose fewer columns")
        known = _feature_names(path, archive, shape[1]) if "feature_names" in held else [f"x{j}" for j in range(shape[1])]
    in_texts = labels is not None and labels.dtype.kind == "U"
    numbers_only(str(path), {name: kind for name, kind in kinds.items() if name != label or not in_texts})
    names = choose(str(path), [*known, label], wanted)
    return NpzSource(path, label, {name: j for j, name in enumerate(known)}, names, shape, in_texts)


def _float(values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # of a wider type: becomes infinite, and is then refused
        return values.astype(np.float64)


@contextmanager
def _unpacking(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        # a ZipFile given a path would leave it open as long as one of its members is
        with reading(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
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
    copy: IO[bytes] | None = None  # on disk, of a matrix stored by columns
    done: int = 0  # rows of that

    def take(self, count: int) -> NDArray[Any]:
        """The next `count` rows."""
        if self.by_columns:
            return self._take_across(count)
        return self._next(count * math.prod(self.shape[1:])).reshape(count, *self.shape[1:])

    def _take_across(self, count: int) -> NDArray[Any]:
        """The same where each column lies in one place."""
        if self.copy is None:
            self.copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (open until `close`)
            shutil.copyfileobj(self.file, self.copy, PIECE)
        columns = np.empty((self.shape[1], count), self.dtype)
        for j, column in enumerate(columns):
            self.copy.seek((j * self.shape[0] + self.done) * self.dtype.itemsize)
            column[:] = np.frombuffer(self.copy.read(column.nbytes), self.dtype)
        self.done += count
        return columns.T

    def close(self) -> None:
        self.file.close()
        if self.copy is not None:
            self.copy.close()

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


def _labels(path: Path, archive: zipfile.ZipFile, name: str) -> _Array:
    return _array(path, archive, name, "fiubU", "numbers or texts")


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

    def close(self) -> None:
        for array in (self.data, self.indices, self.indptr):
            array.close()


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
