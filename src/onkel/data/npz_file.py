"""Tables from npz files, dense or sparse, which are read some rows at a time.

An npz file has `X` and `y`, or `data, indices, indptr, shape` (SciPy's csr matrix, made dense block by block) and `y`, and perhaps
`feature_names`. Only arrays of numbers and of strings are read: nothing is ever unpickled.

NumPy can memory-map an array that is a file of its own, but an array inside an archive it would load completely. So each array is
first extracted to a temporary file (in the folder that TMPDIR names), which also verifies its checksum. NumPy's `open_memmap` then
maps the file, which is deleted at once, so that its space is freed together with the source. The rest of this module chooses the
arrays that make a table, and raises errors that say what is wrong with them.
"""

from __future__ import annotations

import lzma
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Matrix
from onkel.data.byte_streams import file_errors
from onkel.data.columns import AllBut, choose, listed, numbers_only, unknown
from onkel.data.table import BYTES_AT_ONCE, Kind, Origin, Source, Table, rows_at_once, strings
from onkel.errors import FileError, InputError

_CSR = ("data", "indices", "indptr", "shape")
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OverflowError, UnicodeError,
    RuntimeError,  # such as for a password or an unknown compression
)  # fmt: skip


@dataclass(frozen=True)
class _Csr:
    """A csr matrix; the rows of a slice are returned as a dense matrix."""

    path: Path
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    def __getitem__(self, rows: slice) -> Matrix:
        start, stop, _ = rows.indices(self.shape[0])
        ends = self.indptr[start : stop + 1].astype(np.int64)
        if (np.diff(ends) < 0).any() or not 0 <= ends[0] <= ends[-1] <= len(self.data):
            raise FileError(f"{self.path}: indptr does not rise from 0 to the number of entries; save the matrix again")
        column = self.indices[ends[0] : ends[-1]].astype(np.int64)
        if ((column < 0) | (column >= self.shape[1])).any():
            raise FileError(f"{self.path}: indices point outside the {self.shape[1]} columns; save the matrix again")
        values = _float(self.data[ends[0] : ends[-1]])
        part = np.zeros((stop - start, self.shape[1]))
        np.add.at(part, (np.repeat(np.arange(len(part)), np.diff(ends)), column), values)  # repeated entries add up
        return part


@dataclass(frozen=True, kw_only=True)
class NpzSource(Source):
    path: Path
    written: tuple[int, int]  # the file's time of change and size when it was opened
    X: NDArray[Any] | _Csr
    y: NDArray[Any] | None
    columns: Mapping[str, int]  # the column of X that has each name
    label: str

    def tables(self, sample: bool = False) -> Generator[Table]:
        names = [name for name in self.kinds if name in self.columns]
        keep = [self.columns[name] for name in names]
        labels = self.y if self.label in self.kinds else None
        at_once = rows_at_once(self.X.shape[1])
        for start in range(0, self.X.shape[0], at_once):
            with file_errors(self.path):
                if _written(self.path) != self.written:
                    raise FileError(f"{self.path} changed since it was opened; read it again")
            rows = slice(start, start + at_once)
            numbers, words = np.take(_float(self.X[rows]), keep, axis=1), {}
            known = tuple(names)
            if labels is not None and self.kinds[self.label] is Kind.TEXT:
                words = {self.label: strings(labels[rows].tolist())}
            elif labels is not None:
                numbers, known = np.column_stack([numbers, _float(labels[rows])]), (*names, self.label)
            yield Table(known, numbers, words, {}, (Origin(len(numbers), start, self._place),))

    def _place(self, row: int) -> str:
        return f"{self.path}, row {row} (counted from 0)"


def open_npz(path: Path, wanted: Sequence[str] | None, kinds: Mapping[str, Kind], label: str) -> NpzSource:
    with _opened(path) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if "X" not in held and not set(_CSR) <= set(held):
            raise FileError(f"{path} has neither X nor {', '.join(_CSR)}; it holds: {listed(held)}")
        taken = {"X", *_CSR, "format", "feature_names"}
        if (isinstance(wanted, AllBut | None) or label in wanted) and (label not in held or label in taken):
            others = [name for name in held if name not in taken]
            remedy = f"save it with them, as in np.savez({path.name!r}, X=X, y=y)"
            raise InputError(unknown(str(path), "array of labels", label, others) if others else f"{path} has no labels; {remedy}")
        written = _written(path)
        X = _array(path, archive, "X") if "X" in held else _csr(path, archive, "format" in held)
        if len(X.shape) != 2:
            raise InputError(f"{path}: X must have two dimensions, (rows, features), got shape {X.shape}")
        rows, dim = X.shape
        y = _array(path, archive, label, "fiubU", "numbers or strings") if label in held else None
        if y is not None and y.shape != (rows,):
            raise InputError(f"{path}: {label} must hold one label for each of the {rows} rows of X, got shape {y.shape}")
        if rows == 0:
            raise FileError(f"{path} has no rows; write the data again")
        if dim * 8 > BYTES_AT_ONCE:
            raise InputError(f"{path}: a row of {dim} columns takes {dim * 8 / 1e9:.1f} GB; choose fewer columns")
        names = _feature_names(path, archive, dim) if "feature_names" in held else [f"x{j}" for j in range(dim)]
    own = {label: Kind.TEXT if y is not None and y.dtype.kind == "U" else Kind.NUMBER}
    numbers_only(str(path), {name: kind for name, kind in kinds.items() if own.get(name) is not Kind.TEXT})
    known = [*names, label]
    return NpzSource(
        name=str(path),
        kinds={name: own.get(name, Kind.NUMBER) for name in choose(str(path), known, wanted)},
        known=known,
        rows=rows,
        path=path,
        written=written,
        X=X,
        y=y,
        columns={name: j for j, name in enumerate(names)},
        label=label,
    )


def _float(values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # a value too large for float64 becomes infinite, and is refused later
        return np.asarray(values, dtype=np.float64)


def _written(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        # ZipFile gets an open file: given a path, it would keep the file open as long as one of its members is open
        with file_errors(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield archive
    except _DAMAGE as error:
        raise FileError(f"{path} is damaged or not an npz file ({error}); write it again with np.savez") from error


def _array(path: Path, archive: zipfile.ZipFile, name: str, kinds: str = "fiub", what: str = "numbers") -> NDArray[Any]:
    """An array of the archive, memory-mapped from a temporary file that is already deleted. Its dtype must be one of `kinds`."""
    with tempfile.TemporaryDirectory(prefix="onkel-") as folder:
        copy = Path(folder, "array.npy")
        with archive.open(f"{name}.npy") as member, copy.open("wb") as file:
            shutil.copyfileobj(member, file, 1 << 20)  # zipfile compares the checksum at the end
        try:
            with np.errstate(over="raise"):
                found = np.lib.format.open_memmap(copy, mode="r")
            if found.offset + found.nbytes != copy.stat().st_size:
                raise ValueError(f"its shape {found.shape} does not fit its size")
        except (ValueError, TypeError, ArithmeticError, SyntaxError) as error:  # an array of objects, or a wrong header
            raise FileError(f"{path}: array {name} cannot be read ({error}); save it as an array of {what}") from error
    if found.dtype.kind not in kinds or found.dtype.itemsize == 0:
        raise InputError(f"{path}: array {name} holds {found.dtype}, not {what}; convert it before saving")
    return found


def _feature_names(path: Path, archive: zipfile.ZipFile, dim: int) -> list[str]:
    found = _array(path, archive, "feature_names", "US", "strings")
    if found.shape != (dim,):
        raise InputError(f"{path}: feature_names must have shape {(dim,)}, one name a column of X, got {found.shape}")
    try:
        return [str(name) for name in found.astype(np.str_)]
    except UnicodeError as error:
        raise FileError(f"{path}: feature_names are not ASCII bytes; save them as an array of str") from error


def _csr(path: Path, archive: zipfile.ZipFile, has_format: bool) -> _Csr:
    if has_format:
        form = _array(path, archive, "format", "US", "strings")
        if form.shape != () or str(form.astype(np.str_)) != "csr":
            raise FileError(f"{path}: the matrix is not stored as csr; save matrix.tocsr()")
    size = _array(path, archive, "shape", "iu", "whole numbers")
    rows, dim = map(int, size) if size.shape == (2,) else (-1, -1)
    data, indices, indptr = (_array(path, archive, name, kinds) for name, kinds in zip(_CSR, ("fiub", "iu", "iu"), strict=False))
    fits = indptr.shape == (rows + 1,) and data.ndim == 1 and indices.shape == data.shape
    if min(rows, dim) < 0 or not fits or indptr[0] != 0:
        raise FileError(
            f"{path}: data, indices, indptr and shape do not make a csr matrix; save it again with scipy.sparse.save_npz"
        )
    return _Csr(path, data, indices, indptr, (rows, dim))
