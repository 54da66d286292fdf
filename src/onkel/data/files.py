"""Streams from files: `.csv` and `.npz`, block by block, in bounded memory, every number checked before it is handed on.

    stream = read("prices.csv", target="price")
    for X, y in stream: ...                        # float64, at most `block` rows; iterate again to read again

What each format may hold is said in `csv_file` and `npz_file`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path

from onkel.data.csv_file import open_csv
from onkel.data.npz_file import open_npz
from onkel.data.stream import Stream, check_file, reading
from onkel.errors import FileError, InputError

__all__ = ["Stream", "read"]


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
    with reading(path):
        check_file(path)
        readers = {".csv": open_csv, ".npz": open_npz}
        if path.suffix.lower() not in readers:
            raise FileError(f"{path}: cannot tell the format from {path.suffix!r}; the name must end in {' or '.join(readers)}")
        return readers[path.suffix.lower()](path, target, int(block), columns)
