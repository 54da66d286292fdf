"""Bytes in chunks, from a file, a pipe, or a file that still grows; unpacked where they are packed (gzip, xz, bzip2, zstandard).

The packing is told by the first bytes, not by the name, so that it works for a pipe too. An empty chunk says: nothing more for now.
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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from onkel.errors import FileError, InputError

CHUNK = 1 << 20  # bytes
BOM = b"\xef\xbb\xbf"
SECONDS_BETWEEN_LOOKS = 0.1  # at a file that grows


class Input(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int | None:
        """Bytes in all, as they are packed; None where nobody knows."""

    def chunks(self, sample: bool = False) -> Generator[bytes]: ...


def check_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise FileError(f"{path} does not exist; check the path (relative ones start at {Path.cwd()})")
    if not path.is_file():
        raise FileError(f"{path} is not a regular file; copy its contents to one, or give them to the standard input, named -")
    if path.stat().st_size == 0:
        raise FileError(f"{path} is empty; write the data again")


@contextmanager
def reading(name: object) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system, not of a decompressor
            raise FileError(f"{name} cannot be read: {error.strerror}; check the disk and the permissions") from error
        reason = str(error).split("\n")[0]
        raise FileError(f"{name} cannot be unpacked: {reason}; it may be truncated or altered, copy it again") from error
    except MemoryError as error:
        raise FileError(f"{name} needs more memory than there is; choose a smaller block") from error


@dataclass(frozen=True)
class File:
    """A file, read from its start each time."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int | None:
        return self.path.stat().st_size

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        with reading(self.path), self.path.open("rb") as file, _unpacked(file) as plain:
            while chunk := plain.read(CHUNK):
                yield chunk


@dataclass(frozen=True)
class Growing:
    """A file that somebody writes to: at its end it is waited for more, until nothing came for `patience` seconds."""

    path: Path
    patience: float = math.inf

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int | None:
        return None

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        if sample:  # what is there now
            yield from File(self.path).chunks()
            return
        with reading(self.path), self.path.open("rb") as file:
            if _packing(file.read(6)):
                raise InputError(f"{self.path} is packed, and packed files cannot be followed as they grow; follow the plain file")
            file.seek(0)
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
        """Whether its name still stands for it; between an old and a new file there may be none."""
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


@dataclass
class Pipe:
    """The standard input, or another open file: it can be read once, but for the sample at its start."""

    file: IO[bytes]
    name: str = "the standard input"
    size: None = None
    kept: list[bytes] = field(default_factory=list)
    plain: Any = None
    gone: bool = False

    def chunks(self, sample: bool = False) -> Generator[bytes]:
        if self.gone:
            raise InputError(f"{self.name} can be read only once; save it to a file first")
        self.gone = not sample
        with reading(self.name):
            if self.plain is None:
                self.plain = _unpacking(io.BufferedReader(_Ahead(self.file)))
            yield from list(self.kept)
            if not sample:
                self.kept.clear()
            while chunk := self.plain.read1(CHUNK):
                if sample:
                    self.kept.append(chunk)
                yield chunk


def standard_input() -> Pipe:
    return Pipe(sys.stdin.buffer)


class _Ahead(io.RawIOBase):
    """An open file as a raw one, so that its first bytes can be looked at; `close` leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = getattr(self.file, "read1", self.file.read)
        data = read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _packing(head: bytes) -> Callable[[io.BufferedReader], Any] | None:
    packings: dict[bytes, Callable[[io.BufferedReader], Any]] = {
        b"\x1f\x8b": gzip.open,
        b"\xfd7zXZ\x00": lambda file: io.BufferedReader(_Streams(file, lzma.LZMADecompressor)),
        b"BZh": lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor)),
        b"\x28\xb5\x2f\xfd": _zstandard,
    }
    return next((opened for magic, opened in packings.items() if head.startswith(magic)), None)


class _Streams(io.RawIOBase):
    """Compressed streams, one after the other. The open() of bz2 and lzma take a damaged stream, and all after it, for padding."""

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
        """How the next stream begins, after any padding with zeros; nothing at the end of the file."""
        data: bytes = self.current.unused_data.lstrip(b"\0")
        while not data and (more := self.file.read1(CHUNK)):
            data = more.lstrip(b"\0")
        return data


def _zstandard(file: IO[bytes]) -> Any:
    import pyarrow

    return io.BufferedReader(_Ahead(pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")))


def _unpacking(file: io.BufferedReader) -> Any:
    opened = _packing(file.peek(6)[:6])
    return file if opened is None else opened(file)


@contextmanager
def _unpacked(file: io.BufferedReader) -> Iterator[Any]:
    plain = _unpacking(file)
    try:
        yield plain
    finally:
        plain.close()


def as_file(chunks: Iterable[bytes]) -> io.BufferedReader:
    """Chunks as a file to read from."""
    return io.BufferedReader(_Chunks(iter(chunks)), CHUNK)


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks, self.rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest:
            if (chunk := next(self.chunks, None)) is None:
                return 0
            self.rest = chunk
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def unended(source: Input) -> list[str]:
    """A remark on a file whose last line has no end. Of a compressed file the decompressor knows that it is whole."""
    if not isinstance(source, File):
        return []
    with source.path.open("rb") as file:
        if _packing(file.read(6)):
            return []
        file.seek(-1, os.SEEK_END)
        return [] if file.read() in b"\r\n" else ["the last line has no line end; if the file was cut short, so was its last value"]


def without_bom(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Without the mark that some programs put in front of UTF-8."""
    chunks, head = iter(chunks), b""
    while len(head) < len(BOM) and (chunk := next(chunks, None)) is not None:
        head += chunk
    if head := head.removeprefix(BOM):
        yield head
    yield from chunks


LONGEST_LINE = 1 << 24  # bytes


def whole_lines(name: str, chunks: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Lines without their ends, some at a time, with the number of the first; none where nothing more is there for now."""
    number, rest = 1, b""
    for chunk in without_bom(chunks):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise FileError(f"{name}, line {number + len(lines)} is longer than {LONGEST_LINE} bytes; is it a file of lines?")
        if lines or not chunk:
            yield number, lines
        number += len(lines)
    if rest:
        yield number, [rest]
