"""Reads bytes in chunks from a file, a pipe, or a file that is still growing, and decompresses gzip, xz, bzip2 and zstandard.

The compression is detected by the first bytes, not by the name, so that this works for a pipe too. An empty chunk means that a
growing file has no new bytes at the moment.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from onkel._extras import extra
from onkel.errors import FileError, InputError, did_you_mean

CHUNK = 1 << 20  # bytes
MAGIC = 6  # bytes by which compressed files are recognised
BOM = b"\xef\xbb\xbf"
SECONDS_BETWEEN_LOOKS = 0.1  # the pause before a growing file is read again


class ByteStream(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int | None:
        """The number of bytes before decompression; None if it is not known."""

    @property
    def is_whole(self) -> bool:
        """Whether all of its bytes are there and can be read any number of times."""

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        """Yield the bytes from the start. The caller reads them within `file_errors`.

        Chunks that are read as a `sample` are kept until the whole stream is read, so that they are not fetched twice.
        """

    def notes(self) -> list[str]:
        """What the user should know about the bytes that were read, one sentence each."""


def check_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.exists():
        hint = did_you_mean(path.name, (file.name for file in path.parent.iterdir())) if path.parent.is_dir() else ""
        raise FileError(f"{path} does not exist; {hint}check the path (relative ones start at {Path.cwd()})")
    if not path.is_file():
        raise FileError(f"{path} is not a regular file; copy its contents to one, or pipe them in and name the input -")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty; write the data again")


@contextmanager
def file_errors(name: object) -> Iterator[None]:
    """Turn errors of the operating system and of decompressors into `FileError`s that name the file."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # an error of the system, not of a decompressor
            raise FileError(f"{name} cannot be read: {error.strerror}; check the disk and the permissions") from error
        reason = str(error).split("\n")[0]
        raise FileError(f"{name} cannot be decompressed: {reason}; it may be truncated or altered, copy it again") from error
    except MemoryError as error:
        remedy = "read fewer rows at a time, as in onkel.read(…, block=1000), leave out columns, or free memory"
        raise FileError(f"{name} needs more memory than there is; {remedy}") from error


@dataclass
class File:
    """A file, read from its start each time. The bytes of a sample are kept, so that they are not read a second time."""

    path: Path
    kept: list[bytes] = field(default_factory=list)
    is_all_kept: bool = False
    is_ended: bool = True  # whether its last line has a line end; True if compressed: the decompressor notices a truncated file
    is_whole: bool = True

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int | None:
        return self.path.stat().st_size

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        if not sample:
            self.forget()
        yield from (known := list(self.kept))
        if self.is_all_kept:
            return
        count = len(known)
        with self.path.open("rb") as file:
            self.is_ended = _decompressor_of(file.peek(MAGIC)) is not None or _ends_a_line(file)
            with closing(_decompressing(file)) as plain:
                _skip(plain, sum(map(len, known)))
                while chunk := plain.read(CHUNK):
                    if sample and count == len(self.kept):  # otherwise another iterator has already kept this chunk
                        self.kept.append(chunk)
                    count += 1
                    yield chunk
        self.is_all_kept = sample

    def forget(self) -> None:
        """Discard the chunks that were kept for the sample."""
        self.kept.clear()
        self.is_all_kept = False

    def notes(self) -> list[str]:
        return [] if self.is_ended else ["the last line has no line end; if the file was cut short, so was its last value"]


def _ends_a_line(file: IO[bytes]) -> bool:
    file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
    last = file.read()
    file.seek(0)
    return last in b"\r\n"


def _skip(file: IO[bytes], count: int) -> None:
    while count and (passed := len(file.read(min(count, CHUNK)))):
        count -= passed


@dataclass
class Growing:
    """A file that is still being written. At its end we wait for more, until nothing has come for `patience` seconds."""

    path: Path
    patience: float = math.inf
    size: None = None
    is_whole: bool = False

    def __post_init__(self) -> None:
        self.so_far = File(self.path)  # what the file contains now, from which the sample is read

    @property
    def name(self) -> str:
        return str(self.path)

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        if sample:
            yield from self.so_far.chunks(sample)
            return
        self.so_far.forget()
        with self.path.open("rb") as file:
            if _decompressor_of(file.peek(MAGIC)):
                raise InputError(
                    f"{self.path} is compressed, and compressed files cannot be followed as they grow; follow the plain file"
                )
            last = time.monotonic()
            while True:
                if chunk := file.read(CHUNK):
                    yield chunk
                    last = time.monotonic()
                    continue
                yield b""
                if time.monotonic() - last > self.patience:
                    return
                self._check(file)
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def _check(self, file: IO[bytes]) -> None:
        """Raise an error if the path is another file now, or the file is shorter. (In a renaming there may briefly be no file.)"""
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return
        own = os.fstat(file.fileno())
        if (now.st_dev, now.st_ino) != (own.st_dev, own.st_ino):
            remedy = f"name both, the old one first: onkel run OLD {self.path} … --resume, or read([OLD, {str(self.path)!r}], …)"
            raise FileError(f"{self.path} was renamed while it was followed, and a new file has its name; {remedy}")
        if now.st_size < file.tell():
            raise FileError(f"{self.path} became shorter while it was followed; start again on the new file")

    def notes(self) -> list[str]:
        return []  # a last line without a line end means nothing: it may still be written


@dataclass
class Pipe:
    """The standard input, or another open file. It can be read only once, except for the sample at its start, which is kept."""

    file: IO[bytes]
    name: str = "the standard input"
    size: None = None
    kept: list[bytes] = field(default_factory=list)
    plain: Any = None
    is_used_up: bool = False
    is_whole: bool = False

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        if self.is_used_up:
            raise InputError(f"{self.name} can be read only once; save it to a file first")
        self.is_used_up = not sample
        if self.plain is None:
            self.plain = _decompressing(io.BufferedReader(_Peekable(self.file)))
        yield from list(self.kept)
        if not sample:
            self.kept.clear()
        while chunk := self.plain.read1(CHUNK):
            if sample:
                self.kept.append(chunk)
            yield chunk

    def notes(self) -> list[str]:
        return []


def standard_input() -> Pipe:
    return Pipe(sys.stdin.buffer)


class _Peekable(io.RawIOBase):
    """Makes a raw stream of an open file, so that a BufferedReader can peek at its first bytes. `close` leaves the file open."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = getattr(self.file, "read1", self.file.read)
        data = read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _decompressor_of(head: bytes) -> Callable[[io.BufferedReader], Any] | None:
    known: dict[bytes, Callable[[io.BufferedReader], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"\xfd7zXZ\x00": lambda file: io.BufferedReader(_Streams(file, lzma.LZMADecompressor)),
        b"BZh": lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor)),
        b"\x28\xb5\x2f\xfd": _zstandard,
    }
    return next((opened for magic, opened in known.items() if head.startswith(magic)), None)


class _Streams(io.RawIOBase):
    """Reads the compressed streams that follow one another in a file.

    `bz2.open` and `lzma.open` are not used: they take a damaged stream, and everything after it, for padding.
    """

    def __init__(self, file: io.BufferedReader, decompressor: Callable[[], Any]) -> None:
        self.file, self.new, self.current = file, decompressor, decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        out = b""
        while not out:
            data = b""
            if self.current.eof:
                if not (data := self._next()):
                    return 0
                self.current = self.new()
            elif self.current.needs_input and not (data := self.file.read1(CHUNK)):
                raise EOFError("it ends in the middle of a compressed stream")
            out = self.current.decompress(data, len(buffer))
        buffer[: len(out)] = out
        return len(out)

    def _next(self) -> bytes:
        """The first bytes of the next stream, after any padding with zeros; empty at the end of the file."""
        data: bytes = self.current.unused_data.lstrip(b"\0")
        while not data and (more := self.file.read1(CHUNK)):
            data = more.lstrip(b"\0")
        return data


def _zstandard(file: IO[bytes]) -> Any:
    with extra("arrow", "reading a file compressed by zstd"):
        import pyarrow

    return io.BufferedReader(_Peekable(pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")))


def _decompressing(file: io.BufferedReader) -> Any:
    opened = _decompressor_of(file.peek(MAGIC))
    return file if opened is None else opened(file)


def without_bom(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks without the byte order mark that some programs write at the start of UTF-8."""
    chunks, head = iter(chunks), b""
    while len(head) < len(BOM) and (chunk := next(chunks, None)) is not None:
        head += chunk
    if head := head.removeprefix(BOM):
        yield head
    yield from chunks


LONGEST_LINE = 1 << 24  # bytes


def whole_lines(name: str, chunks: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (number of the first line, lines without their line ends), about a chunk at a time.

    The list is empty if a growing file has no new bytes at the moment.
    """
    number, rest = 1, b""
    for chunk in without_bom(chunks):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise FileError(f"{name}, line {number + len(lines)} is longer than {LONGEST_LINE} bytes; is it a text file?")
        if lines or not chunk:
            yield number, lines
        number += len(lines)
    if rest:
        yield number, [rest]
