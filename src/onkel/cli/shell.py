"""The process around a command: Ctrl-C, and standard streams that are closed, full, without a reader, or in another encoding."""

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

PLAINER = "onkel.plainer"  # replaces characters that a stream's encoding lacks
PLAIN = {
    "µ": "u", "μ": "u", "−": "-", "–": "-", "±": "+-", "×": "x", "·": "*", "≤": "<=", "≥": ">=", "²": "^2", "³": "^3", "→": "->",
}  # fmt: skip


class Unread(Exception):
    """The reader of the output has stopped reading, as `head` does. This is not an error."""


class Output(io.FileIO):
    """Standard output whose write errors can be distinguished from those of other files.

    After the first error it discards everything, because Python flushes again at exit.
    """

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
            remedy = "the output is incomplete; write to another place"
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise FileError(f"cannot write to the standard output: {reason}; {remedy}") from error


class ErrorStream(io.FileIO):
    """The error stream. Its own write errors cannot be reported, so they are ignored and the command continues."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)
        return len(data)


@contextlib.contextmanager
def shell() -> Iterator[None]:
    """Give a command usable streams, and let Ctrl-C end it with one line at any moment."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # otherwise the process that started this one has set SIGINT to be ignored
        signal.signal(signal.SIGINT, _press)
    _open_closed()
    codecs.register_error(PLAINER, _plainer)
    sys.stdout, sys.stderr = _wrapped(sys.stdout, sys.__stdout__, Output, 1), _wrapped(sys.stderr, sys.__stderr__, ErrorStream, 2)
    try:
        yield
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # called first at exit: ignore Ctrl-C
        signal.signal(signal.SIGINT, before)


def _press(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; but exit at once inside an import, where an exception may be swallowed or replaced."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with contextlib.suppress(OSError):
                os.write(2, b"onkel: stopped\n")
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _open_closed() -> None:
    """Open closed standard streams on /dev/null, so that no file opened later gets the descriptor 0, 1 or 2.

    A closed input is opened for writing and a closed output for reading, so that reading from the one and writing to the other
    remain errors. What is written to a closed error stream is dropped.
    """
    for handle, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, way)  # gets the lowest number that is free
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


def _wrapped(stream: Any, own: Any, kind: type[io.FileIO], handle: int) -> Any:
    """The stream to use instead of `stream`: a new one if `stream` is the process's `own`. Otherwise the caller has already
    replaced it, and it stays."""
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
    """In ASCII: a replacement from PLAIN, the letter without its accents, or a Python escape."""
    kind = unicodedata.name(sign, "")
    if kind.startswith("BOX DRAWINGS"):
        return "+" if " AND " in kind else "-" if kind.endswith(" HORIZONTAL") else "|"
    if kind.startswith("BRAILLE"):
        return "*"  # a spinner
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(letter))
    return PLAIN.get(sign) or (letters if letters.isascii() else sign.encode("ascii", "backslashreplace").decode())
