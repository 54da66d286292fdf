"""A checksum of the rows that a model has learnt, by which a resumed run recognises them.

It is computed from values, not from the bytes of a file. So the file may have grown, moved, been compressed or be one of several,
and its rows may be divided into tables at any place.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.data.table import Strings, Table

BYTES = 16


class Fingerprint:
    def __init__(self, names: Sequence[str]) -> None:
        """The checksum covers the columns with these names."""
        self.names = names
        self.rows = 0
        self._sum = hashlib.blake2b(digest_size=BYTES)

    def add(self, table: Table) -> None:
        self._sum.update(_words(table, self.names).data)
        self.rows += len(table)

    @property
    def value(self) -> str:
        return self._sum.hexdigest()


def _words(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """One 64-bit word for each cell, row by row."""
    at = {name: j for j, name in enumerate(table.names)}
    parts: list[NDArray[Any]] = [np.take(table.numbers, [at[name] for name in names if name in at], axis=1).view(np.int64)]
    parts += [_checksums(table.strings[name])[:, None] for name in names if name in table.strings]
    parts += [table.dates[name].astype("datetime64[us]").view(np.int64)[:, None] for name in names if name in table.dates]
    if (labels := table.labels) is not None:
        parts.append((_checksums(labels) if isinstance(labels, Strings) else labels.view(np.int64)).reshape(len(table), -1))
    return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.hstack(parts))


def _checksums(column: Strings) -> NDArray[np.int64]:
    of_values = [zlib.crc32(value.encode("utf-8", "surrogatepass")) for value in column.values]
    return np.array([*of_values, -1], dtype=np.int64)[column.codes]  # code -1, a missing value, selects the last entry
