"""The streams of the benchmarks: generated ones, and real ones from the folder that ONKEL_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

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


def real(name: str) -> tuple[Array, Array] | None:
    """A stored set, permuted (some are sorted by class) and standardised by the rows so far; None where it is not there."""
    file = Path(os.environ.get("ONKEL_DATA", "")) / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as arrays:
        y = arrays["y"].astype(float)
        X = arrays["X"] if "X" in arrays.files else scipy.sparse.load_npz(file).toarray()
    order = np.random.default_rng(0).permutation(len(y))
    X = np.ascontiguousarray(X[order], dtype=float)
    scale, scaled = onkel.Standardize(), np.empty_like(X)
    scale.write(scale.init(X.shape[1]), X, np.ones(len(X)), scaled, 0)
    return scaled, y[order]


def cod_rna() -> tuple[str, Array, Array]:
    """The stream and its name; where it is not there, a generated one of the same shape."""
    found = real("cod-rna")
    if found is None:
        console.print("cod-rna.npz is not there (ONKEL_DATA=folder): a generated stream of its shape takes its place\n")
        return "the stand-in for cod-rna", *stream(COD_RNA_ROWS)
    return "cod-rna", *found
