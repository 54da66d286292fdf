"""The errors a user meets. All are `ValueError`s; all say what is wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A value, row, label, column or setting that cannot be used. Of the rows of the call that raised it, none or only the first
    ones were learnt; the state is sound either way.

    >>> try:
    ...     onkel.PKAWV(lam=-1.0)
    ... except onkel.InputError as error:
    ...     print(error)
    PKAWV: lam must be at least 1e-30, got -1
    """


class FileError(ValueError):
    """A file that cannot be read, trusted or written. No model was loaded from it; the first rows of a data file may have been
    learnt.

    >>> try:
    ...     onkel.unpack(b"not a model")
    ... except onkel.FileError as error:
    ...     print(error)
    cannot unpack this: it is not a whole .onkel file (File is not a zip file); it may be truncated or altered
    """


class MissingPackage(InputError, ImportError):
    """Something that needs a package which is not installed."""


def did_you_mean(word: str, known: Iterable[str], most: int = 3) -> str:
    """The hint "did you mean 'lam'? ", with the known words that are spelt almost like this one; "" if there are none."""
    names = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word[:60].casefold(), names, n=most, cutoff=0.6)
    return f"did you mean {' or '.join(repr(names[name]) for name in close)}? " if close else ""
