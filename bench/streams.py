"""The streams of the benchmarks: generated ones, and real ones from the folder that ONKEL_DATA names."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from growth import console
from numpy.typing import NDArray

import onkel

Array = NDArray[np.float64]

NARROW = 8  # columns of a generated stream
COD_RNA_ROWS = 59_535


def stream(rows: int, dim: int = NARROW) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, dim))
    return X, np.where(np.sin(X[:, 0]) + 0.1 * rng.normal(size=rows) < 0.0, -1.0, 1.0)


def folder() -> Path | None:
    """The folder with the real sets, where there is one."""
    named = os.environ.get("ONKEL_DATA")
    return Path(named) if named and Path(named).is_dir() else None


def stored(name: str) -> tuple[Any, Array] | None:
    """A stored set as it is in its file: the matrix, dense or sparse, and the labels; None if the file is missing."""
    file = (folder() or Path()) / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as arrays:
        y = arrays["y"].astype(float)
        return (arrays["X"] if "X" in arrays.files else scipy.sparse.load_npz(file)), y


def real(name: str) -> tuple[Array, Array] | None:
    """A stored set, permuted (some are sorted by class) and standardised by the rows so far; None if the file is missing."""
    found = stored(name)
    if found is None:
        return None
    X, y = found
    order = np.random.default_rng(0).permutation(len(y))
    X = _dense(X[order])
    scale, scaled = onkel.Standardize(), np.empty_like(X)
    scale.write(scale.init(X.shape[1]), X, np.ones(len(X)), scaled, 0)
    return scaled, y[order]


IN_ORDER = frozenset({"elec2", "bike", "airlines07", "household_power", "mackey_glass", "mg"})  # in order of time
WIDEST = 2000  # columns that may be made dense


@dataclass(frozen=True)
class Rows:
    """Rows of a set, in the order in which every system gets them."""

    name: str
    X: Array
    y: Array  # ±1, or numbers
    ordered: bool  # as in the file; otherwise permuted

    @property
    def classify(self) -> bool:
        return bool(np.isin(self.y, (-1.0, 1.0)).all())

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.X.tobytes() + self.y.tobytes()).hexdigest()[:16]


def names() -> list[str]:
    """The names of the sets in the folder; without a folder, of some sets that need no file."""
    there = folder()
    return sorted(file.stem for file in there.glob("*.npz")) if there else ["bananas", "friedman", "phishing-river"]


def rows_of(name: str, most: int) -> Rows | None:
    """The first rows of a set, in the file's order if that is the order of time, otherwise in one fixed permutation; dense.

    None if the set has more than WIDEST columns.
    """
    found = stored(name) if folder() else _generated(name)
    if found is None:
        raise SystemExit(f"there is no set {name}; there are {', '.join(names())}")
    X, y = found
    if X.shape[1] > WIDEST:
        return None
    ordered = name in IN_ORDER
    first = (np.arange(len(y)) if ordered else np.random.default_rng(0).permutation(len(y)))[:most]
    return Rows(name, _dense(X[first]), y[first], ordered)


def _generated(name: str) -> tuple[Array, Array] | None:
    if name == "friedman":
        return onkel.data.friedman(10_000, seed=0)
    from river import datasets

    sets = {"bananas": datasets.Bananas, "phishing-river": datasets.Phishing}
    if name not in sets:
        return None
    rows = [(list(x.values()), 1.0 if label else -1.0) for x, label in sets[name]()]
    return np.array([x for x, _ in rows], dtype=float), np.array([label for _, label in rows])


def _dense(X: Any) -> Array:
    return np.ascontiguousarray(X.toarray() if scipy.sparse.issparse(X) else X, dtype=float)


def cod_rna() -> tuple[str, Array, Array]:
    """The stream and its name; if the file is missing, a generated stream of the same shape."""
    found = real("cod-rna")
    if found is None:
        console.print("cod-rna.npz is not there (ONKEL_DATA=folder): a generated stream of its shape takes its place\n")
        return "the stand-in for cod-rna", *stream(COD_RNA_ROWS)
    return "cod-rna", *found
