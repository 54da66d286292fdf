"""The files of compiled code (`_jit.py`): their names, their folder, and which of them can be trusted.

A file is named by a hash of the source that its code can depend on: the function's module and all modules of onkel that it imports.
Code is executed as it is, so it is read only from files that belong to the user, and only if their checksum is right. If several
processes need the same code, one compiles it and the others wait for its file.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

if sys.platform != "win32":  # Windows has no such locks: there every process compiles for itself
    import fcntl

SECONDS_UNUSED_CODE_IS_KEPT = 30 * 24 * 3600
# the longest wait for another process that compiles the same function; no function takes nearly as long
SECONDS_ANOTHER_IS_WAITED_FOR = 60.0
SECONDS_BETWEEN_LOOKS = 0.01
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
IMPORT = re.compile(r"^[ ]*from (onkel(?:[.]\w+)*) import ([(][^)]*[)]|.*)$", re.MULTILINE)


def trusted(path: str) -> bytes | None:
    """The content of the file without its checksum; None if the checksum is wrong, or if other users could have written the
    file."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if _is_ours(os.fstat(file.fileno())):
            data = checked(file)
            with contextlib.suppress(OSError):
                os.utime(path)  # so that `forget_unused` keeps it
            return data
    return None


def checked(file: IO[bytes]) -> bytes | None:
    digest, data = file.read(hashlib.sha256().digest_size), file.read()
    return data if hashlib.sha256(data).digest() == digest else None


def lock_of(path: str) -> str:
    return f"{path}.lock"


def claim(path: str) -> int | None:
    """Lock this path against other processes that would compile the same code. Returns the handle of the lock's file, or None if it
    cannot be locked.

    The system releases the locks of a process that ends, however it ends.
    """
    if sys.platform == "win32":
        return None
    try:
        lock = os.open(lock_of(path), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None
    until = time.monotonic() + SECONDS_ANOTHER_IS_WAITED_FOR
    while time.monotonic() < until:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        except OSError:  # a file system without locks
            break
        else:
            return lock
    os.close(lock)
    return None


def write_whole(path: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@functools.cache
def source_hash(module: str) -> str:
    """A hash of the source of a module and of all modules of onkel that it imports, directly or not."""
    found, new = {module}, {module}
    while new:
        new = set().union(*map(imported, new)) - found
        found |= new
    return hashlib.sha256("".join(_digest(name) for name in sorted(found)).encode()).hexdigest()[:16]


@functools.cache
def imported(module: str) -> set[str]:
    """The modules of onkel that this one imports."""
    found = set()
    for whole, names in IMPORT.findall(_source(module)):
        found |= {whole, *(f"{whole}.{name}" for name in re.findall(r"\w+", names))}
    # a name that is not a module has no source; onkel itself only lists the public names
    return {name for name in found - {"onkel"} if _source(name)}


def _digest(module: str) -> str:
    return hashlib.sha256(_source(module).encode()).hexdigest()


@functools.cache
def _source(module: str) -> str:
    path = Path(__file__).parent.joinpath(*module.split(".")[1:])
    with contextlib.suppress(OSError):
        return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    return ""


@functools.cache
def cache_folder() -> str | None:
    """The folder for compiled code, in the first usable root; None if no root is usable."""
    for root in _roots():
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(root.stat()):
                continue
            folder = root / "compiled"
            folder.mkdir(mode=0o700, exist_ok=True)
            if _is_ours(folder.lstat()) and os.access(folder, os.W_OK | os.X_OK):
                return str(folder)
    return None


def _roots() -> list[Path]:
    """The places for the cache, best first: NUMBA_CACHE_DIR if it is set, the user's cache folder, and a folder of our own in the
    system's temporary folder."""
    numbas = os.environ.get("NUMBA_CACHE_DIR")
    theirs = [Path(numbas, "onkel")] if numbas else []
    with contextlib.suppress(RuntimeError):  # there may be no home folder
        theirs.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "onkel"))
    user = os.getuid() if os.name == "posix" else "user"
    return [root.absolute() for root in (*theirs, Path(tempfile.gettempdir(), f"onkel-{user}"))]


def _is_ours(about: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it."""
    return os.name != "posix" or (about.st_uid == os.getuid() and not about.st_mode & OTHERS_MAY_WRITE)


@functools.cache
def forget_unused(folder: str) -> None:
    """Delete the files that no process has read or written for a long time. Runs at most once in a process."""
    for file in Path(folder).iterdir():
        with contextlib.suppress(OSError):  # another process may be deleting it too
            if time.time() - file.stat().st_mtime > SECONDS_UNUSED_CODE_IS_KEPT:
                file.unlink()
