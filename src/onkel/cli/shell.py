"""The process around a command: streams that are closed, full, without a reader or without our letters; and Ctrl-C."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import errno
import io
import os
import signal
import sys
import unicodedata
from collections.abc import Iterator
from types import FrameType
from typing import Any

from onkel.cli import STOPPED
from onkel.errors import FileError

PLAINER = "onkel.plainer"  # signs that a stream's encoding lacks become some that it has
PLAIN = {
    "µ": "u", "μ": "u", "−": "-", "–": "-", "±": "+-", "×": "x", "·": "*", "≤": "<=", "≥": ">=", "²": "^2", "³": "^3", "→": "->",
}  # fmt: skip


class Unread(Exception):
    """Whoever reads our output has enough, as `head` has: no error."""


class Output(io.FileIO):
    """The standard output, whose troubles can be told from those of other files. It fails once, and is silent from then on:
    when Python ends it tries again to write what is left."""

    has_failed = False

    def write(self, data: Any) -> int:
        if self.has_failed:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self.has_failed = True
            raise Unread from None
        except OSError as error:
            self.has_failed = True
            remedy = "its end is missing; write to another place"
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise FileError(f"cannot write to the standard output: {reason}; {remedy}") from error


class ErrorStream(io.FileIO):
    """The error stream. Where it fails nobody can be told, and the command goes on."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)
        return len(data)


@contextlib.contextmanager
def shell() -> Iterator[None]:
    """Around a command: streams that it can use, and a Ctrl-C that ends it with one line at any moment."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else whoever started us wants it ignored
        signal.signal(signal.SIGINT, _press)
    _open_closed()
    codecs.register_error(PLAINER, _plainer)
    sys.stdout, sys.stderr = _wrapped(sys.stdout, sys.__stdout__, Output, 1), _wrapped(sys.stderr, sys.__stderr__, ErrorStream, 2)
    try:
        yield
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the last one registered runs first
        signal.signal(signal.SIGINT, before)


def _press(number: int, frame: FrameType | None) -> None:
    """An exception inside an import may be swallowed there, or become another one: then leave at once."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with contextlib.suppress(OSError):
                os.write(2, b"onkel: stopped\n")
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _open_closed() -> None:
    """A file opened later must not get the number of a standard stream. Reading from a closed input, or writing to a closed output,
    is an error as it should be, because they are opened the wrong way round; what goes to closed errors is dropped."""
    for handle, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, way)  # gets the lowest number that is free
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


def _wrapped(stream: Any, own: Any, kind: type[io.FileIO], handle: int) -> Any:
    """In place of the process's own stream; one that somebody put in its place stays."""
    if stream is not own:
        return stream
    encoding = "utf-8" if own is None else own.encoding
    raw = kind(handle, "w", closefd=False)
    is_direct = kind is ErrorStream or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, PLAINER, line_buffering=is_direct)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(sign: str) -> str:
    """In ASCII: what stands for it, its letters without their marks, or as Python writes it."""
    kind = unicodedata.name(sign, "")
    if kind.startswith("BOX DRAWINGS"):
        return "+" if " AND " in kind else "-" if kind.endswith(" HORIZONTAL") else "|"
    if kind.startswith("BRAILLE"):
        return "*"  # a spinner
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(letter))
    return PLAIN.get(sign) or (letters if letters.isascii() else sign.encode("ascii", "backslashreplace").decode())
