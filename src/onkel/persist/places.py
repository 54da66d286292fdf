"""Checks of output paths: an output never overwrites an input, a model overwrites only models, and a page only pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from onkel._writing import replaceable
from onkel.data.named import FOLDER, find
from onkel.data.reading import STANDARD_INPUT, is_name
from onkel.errors import InputError
from onkel.persist.checkpoint import is_ours

GENERATOR = b'<meta name="generator" content="onkel">'  # near the beginning of each page
HEAD = 1000  # bytes


def check_place(option: str, place: Path, inputs: Sequence[str | Path]) -> None:
    """Refuse an output file that cannot be written, or that is one of the inputs."""
    replaceable(place)
    if not place.parent.is_dir():
        raise InputError(f"cannot write {place}: there is no folder {place.parent}; name another file, or make the folder")
    if any(_is(place, file) for file in inputs):
        raise InputError(f"{option} {place} would overwrite a file that is read; name another file")


def check_model(place: Path) -> None:
    """Refuse to overwrite a file that is not a model."""
    if place.exists() and place.stat().st_size and not is_ours(place):
        raise InputError(f"--save {place} would overwrite a file that onkel did not write; name another file, or remove it first")


def check_page(option: str, place: Path) -> None:
    """Refuse to overwrite a file that is not a page of onkel."""
    if place.exists() and place.stat().st_size and GENERATOR not in place.read_bytes()[:HEAD]:
        raise InputError(f"{option} {place} would overwrite a file that onkel did not write; name another file, or remove it first")


def _is(place: Path, file: str | Path) -> bool:
    with suppress(OSError):  # one of the two does not exist, or the standard input is not a file
        here = place.stat()
        return any(os.path.samestat(here, there) for there in _found(file))
    return False


def _found(file: str | Path) -> Iterator[os.stat_result]:
    if file == STANDARD_INPUT:
        yield os.fstat(sys.stdin.fileno())
    elif not is_name(file):
        yield Path(file).stat()
    elif (named := find(str(file))).origin == FOLDER:
        yield Path(named.open()[0]).stat()
