"""The data sets of the papers, from the folder that the environment variable ONKEL_DATA names: one NAME.npz each, with X and y.
Where most of X is 0, data, indices, indptr and shape of a compressed sparse row matrix may stand in its place.

`load` permutes a set with a fixed seed, because the papers treat their sets as independent draws and some files are sorted by
class. Inputs and labels are then scaled to [-1, 1] by the smallest and largest value of the *whole* set, as the papers did. Such
scaling looks ahead: the range of a stream is not known before its end. It is right for repeating a paper, and wrong for measuring
how a learner would do in practice. Papers do not say how they reach [-1, 1]; `by_largest` is another way, which keeps zeros zero.
`raw` is the set as it is stored, neither permuted nor scaled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Array = NDArray[np.float64]

SEED = 0  # of the permutation


def by_range(values: Array) -> Array:
    """Each column from [smallest, largest] to [-1, 1]; a constant column to 0."""
    low, high = values.min(axis=0), values.max(axis=0)
    half = (high - low) / 2.0
    return np.asarray((values - (low + high) / 2.0) / np.where(half > 0.0, half, 1.0))


def by_largest(values: Array) -> Array:
    """Each column divided by its largest absolute value."""
    largest = np.abs(values).max(axis=0)
    return np.asarray(values / np.where(largest > 0.0, largest, 1.0))


def load(name: str, scale: Callable[[Array], Array] = by_range, seed: int = SEED) -> tuple[Array, Array]:
    """X in [-1, 1]^(n, d) and y in [-1, 1]^n, permuted."""
    X, y = raw(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return scale(X)[order], by_range(y)[order]


def raw(name: str) -> tuple[Array, Array]:
    """X (n, d) and y (n,), as they are stored."""
    with np.load(_file(name)) as file:
        X = (
            file["X"]
            if "X" in file
            else csr_matrix((file["data"], file["indices"], file["indptr"]), tuple(file["shape"])).toarray()
        )
        return X.astype(float), file["y"].astype(float)


def _file(name: str) -> Path:
    folder = os.environ.get("ONKEL_DATA")
    if not folder:
        sys.exit(f"this script reads {name}.npz: set ONKEL_DATA to the folder that has it (ONKEL_DATA=folder python -m papers...)")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        sys.exit(
            f"{path} is missing: put it there, with arrays X (rows, columns) and y (rows), or let ONKEL_DATA name another folder"
        )
    return path
