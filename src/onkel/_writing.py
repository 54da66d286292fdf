"""Atomic file writes: under a temporary name, flushed to disk, then renamed. A reader sees the old file or the new one.

A writer holds a lock on its temporary file, which the system releases when the process ends, however it ends. So a temporary file
that can be locked belongs to a writer that was killed, and the next writer of the same target removes it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import platform
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from onkel.errors import FileError

NO_FLUSH = (
    errno.EINVAL,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EACCES,
)  # errors of drives that cannot flush a folder, or of a user who may not read it


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write, which replaces `path` when the block ends. If an error occurs, `path` is not changed.

    Links are followed. An existing file keeps its mode and, if that is allowed, its owner.
    """
    target = Path(os.path.realpath(path))
    try:
        old = replaceable(path)
        _sweep(target)
        with _temporary(target, old) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()  # Windows cannot rename an open file
            os.replace(file.name, target)
    except OSError as error:
        raise failed(path, error.strerror or error) from error
    try:
        _flush_folder(target.parent)
    except OSError as error:
        raise FileError(f"{path} is written but may not survive a power cut: {error.strerror or error}; save again") from error


def replaceable(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The status of the file that would be replaced; None if there is none. Refuses a path that is write-protected or is not a
    regular file."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed(path, error.strerror or error) from error
    if not stat.S_ISREG(old.st_mode):
        raise FileError(f"cannot write {path}: it is {_kind(old.st_mode)}; name a file")
    if not os.access(path, os.W_OK):
        raise FileError(f"cannot write {path}: it is write-protected; name another file, or allow it: chmod u+w")
    return old


def failed(path: str | os.PathLike[str], reason: object) -> FileError:
    """An error that says the reason, and whether the old file is still there."""
    left = "the old file is untouched" if os.path.exists(path) else "no file was written"
    return FileError(f"cannot write {path}: {reason}; {left}")


def _kind(mode: int) -> str:
    return {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}.get(stat.S_IFMT(mode), "a device")


@contextlib.contextmanager
def _temporary(target: Path, old: os.stat_result | None) -> Iterator[IO[bytes]]:
    """A new file next to the target with the permissions of the old one; it is removed at the end if it has not been renamed."""
    with _create(target, 0o666 if old is None else 0o600) as file:  # a private file must be private at every moment
        try:
            if old is not None:
                _be_like(old, file.fileno())
            yield file
        finally:
            with contextlib.suppress(OSError):
                os.unlink(file.name)


def _create(target: Path, mode: int) -> IO[bytes]:
    """A new file with a unique name, locked until it is closed."""
    while True:
        name = target.parent / f"{_prefix(target)}{secrets.token_hex(8)}.tmp"
        file = open(name, "xb", opener=functools.partial(os.open, mode=mode))  # noqa: SIM115, the caller closes it
        try:
            _lock(file.fileno())
            is_ours = name.exists()
        except BlockingIOError:
            is_ours = False
        except OSError:
            is_ours = True  # on a drive without locks no other process removes the file
        if is_ours:
            return file
        file.close()  # between its creation and the lock, another process took it for the file of a killed writer and removed it


def _sweep(target: Path) -> None:
    """Remove the temporary files of killed writers of this target."""
    with contextlib.suppress(OSError):  # a folder that cannot be read
        for name in os.listdir(target.parent):
            if name.startswith(_prefix(target)):
                _remove_unless_locked(target.parent / name)


def _remove_unless_locked(path: Path) -> None:
    mode = "r+b" if os.access(path, os.W_OK) else "rb"  # network drives lock only what can be written
    with contextlib.suppress(OSError), path.open(mode) as file:  # the file may be locked, gone, or another user's
        _lock(file.fileno())
        path.unlink()


def _prefix(target: Path) -> str:
    """The prefix of temporary files. It includes the machine, because not every network drive shares locks between machines."""
    return ".onkel-" + "".join(hashlib.sha256(os.fsencode(part)).hexdigest()[:8] + "-" for part in (target.name, platform.node()))


if sys.platform == "win32":

    def _lock(handle: int) -> None:
        """Nothing to do on Windows, where an open file cannot be removed."""

    def _be_like(old: os.stat_result, handle: int) -> None:
        """Nothing to do on Windows, where permissions come from the folder."""

    def _flush_folder(folder: Path) -> None:
        """Nothing to do on Windows, where a rename is flushed at once."""

else:
    import fcntl

    def _lock(handle: int) -> None:
        """Raises BlockingIOError if another process has the lock, another OSError if the drive has no locks."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _be_like(old: os.stat_result, handle: int) -> None:
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))

    def _flush_folder(folder: Path) -> None:
        """Make the rename itself survive a power cut."""
        try:
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            if error.errno not in NO_FLUSH:
                raise
