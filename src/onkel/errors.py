"""The two errors a user meets. Both are `ValueError`s; both say what is wrong, where, and what to do about it."""

from __future__ import annotations


class InputError(ValueError):
    """A value, row, label, column or setting that cannot be used. Nothing was learnt from the call that raised it."""


class FileError(ValueError):
    """A file that cannot be read or trusted. Nothing was loaded from it."""
