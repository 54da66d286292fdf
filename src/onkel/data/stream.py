"""A stream, the blocks (X, y) of a file, and what every format needs to open one: the checks of file, names and size.

A format is a function `(path, target, block, columns) -> Stream`; see `csv_file` and `npz_file`.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from onkel._types import Matrix, Vector
from onkel.errors import FileError, InputError

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


def check_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise FileError(f"{path} does not exist; check the path (relative ones start at {Path.cwd()})")
    if not path.is_file():
        raise FileError(f"{path} is not a regular file; copy its contents to one")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty; write the data again")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; check the disk and the permissions") from error
    except MemoryError as error:
        raise FileError(f"{path} needs more memory than there is; choose a smaller block") from error


def features(path: Path, known: Sequence[str], target: str | None, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The features: `columns`, or every known name but the target's."""
    if twice := _repeated(known):
        raise InputError(f"{path}: two columns are named {twice!r}; rename one")
    names = tuple(name for name in known if name != target) if columns is None else tuple(columns)
    if "" in names and "" in known:
        raise InputError(f"{path}: column {known.index('') + 1} has no name; name it, or choose the columns without it")
    if absent := set(names) - set(known):
        raise InputError(unknown(path, "column", min(absent), known))
    if target in names or _repeated(names):
        raise InputError(f"columns must name each feature once and not the target, got {listed(names)}")
    if not names:
        raise InputError(f"{path}: there are no feature columns; give at least one")
    return names


def _repeated(names: Sequence[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def unknown(path: Path, what: str, name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{path} has no {what} {name!r}; {hint}choose one of: {listed(known)}"


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(map(repr, names[:NAMES_SHOWN])) or "(none)") + more


def check_size(path: Path, block: int, dim: int) -> None:
    if block * dim * 8 > LARGEST_BLOCK:
        raise InputError(
            f"{path}: a block of {block} rows and {dim} columns takes {block * dim * 8 / 1e9:.1f} GB; "
            f"choose block={max(1, LARGEST_BLOCK // (8 * dim))} or less"
        )
