"""Scores that one half of `make test` computes and the other needs: the oracles', and those of the compiled half.

They are files in the folder of the compiled code, under a hash of the package's and the tests' source: after any edit they are
computed again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

import onkel
from onkel._code_files import cache_folder

Array = NDArray[np.float64]


def is_kept(name: str) -> bool:
    return _file(name).exists()


def kept(name: str) -> Array:
    scores: Array = np.load(_file(name))
    return scores


def keep(name: str, scores: Array) -> None:
    handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=_folder())
    with open(handle, "wb") as file:
        np.save(file, scores)
    os.replace(temporary, _file(name))


def _file(name: str) -> Path:
    return _folder() / f"{name}.npy"


@functools.cache
def _folder() -> Path:
    digest = hashlib.sha256(repr((sys.version, np.__version__, scipy.__version__)).encode())
    for tree in Path(__file__).parents[1], Path(onkel.__file__).parent:
        for file in sorted(tree.rglob("*.py")):
            digest.update(file.read_bytes())
    found = Path(cache_folder() or tempfile.gettempdir(), f"scores-{digest.hexdigest()[:16]}")
    found.mkdir(mode=0o700, exist_ok=True)
    return found
