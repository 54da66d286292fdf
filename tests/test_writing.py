"""How files are replaced: whole or not at all, through links, with their modes, and with nothing left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onkel import FileError
from onkel._writing import replacing

pytestmark = pytest.mark.once

KILLED = """
import os, signal, sys
from onkel._writing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
WAITING = """
import sys
from onkel._writing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"slow")
    print("ready", flush=True)
    sys.stdin.read()
"""


def write(path: Path, content: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(content)


def write_and_raise(path: Path, error: BaseException) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def killed(path: Path) -> None:
    """A writer of this file is killed in the middle."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_killed_writers_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path, other = tmp_path / "model", tmp_path / "other"
    write(path, b"old")
    for target in (path, other):
        killed(target)
    assert path.read_bytes() == b"old"
    assert len(names(tmp_path)) == 3
    write(path)
    assert path.read_bytes() == b"new"
    assert len(names(tmp_path)) == 2  # that of another target stays
    write(other)
    assert names(tmp_path) == ["model", "other"]


def test_a_writer_that_is_alive_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model"
    command = [sys.executable, "-c", WAITING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        assert slow.stdout is not None
        assert slow.stdout.readline() == b"ready\n"
        write(path, b"fast")
        assert path.read_bytes() == b"fast"
        assert len(names(tmp_path)) == 2
        slow.communicate()
    assert slow.returncode == 0
    assert path.read_bytes() == b"slow"
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_file_that_is_swept_before_it_is_locked_is_begun_again(
    is_removed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds it for a moment, in order to remove it; or has done so."""
    real, calls, held = fcntl.flock, [], []

    def late(handle: int, how: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            (found,) = tmp_path.iterdir()
            held.append(found.open("rb"))
            real(held[0], how)
            if is_removed:
                found.unlink()
                held[0].close()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write(tmp_path / "model")
    assert len(calls) == 2
    held[0].close()
    write(tmp_path / "model", b"newer")
    assert (tmp_path / "model").read_bytes() == b"newer"
    assert names(tmp_path) == ["model"]


def test_a_drive_without_locks_is_written_and_nothing_is_removed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(tmp_path / "model")
    left = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", failing(errno.ENOLCK))
        write(tmp_path / "model")
    assert names(tmp_path) == sorted([*left, "model"])


def test_what_another_machine_writes_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network drive may not know its locks."""
    killed(tmp_path / "model")
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    write(tmp_path / "model")
    assert len(names(tmp_path)) == 2


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_mode_and_is_never_more_open(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    with replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    write(tmp_path / "ours")
    (tmp_path / "usual").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, chain = tmp_path / "folder" / "model", tmp_path / "link", tmp_path / "chain"
    link.symlink_to("folder/model")
    chain.symlink_to(link)
    for content, path in {b"made through a dangling link": link, b"replaced through two": chain}.items():
        write(path, content)
        assert target.read_bytes() == content
        assert not target.is_symlink()
    assert (os.readlink(link), os.readlink(chain)) == ("folder/model", str(link))
    assert names(tmp_path) == ["chain", "folder", "link"]
    assert names(tmp_path / "folder") == ["model"]


def test_what_is_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    Path("zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        before = {path: path.lstat() for path in Path().iterdir()}
        kinds = {"pipe": "a pipe", "folder": "a folder", "socket": "a socket", "zero": "a device", "/dev/null": "a device"}
        for name, kind in kinds.items():
            with pytest.raises(FileError, match=f"^cannot write {name}: it is {kind}; name a file$"):
                write(Path(name))
        with pytest.raises(FileError, match=r"^cannot write loop: Too many levels of symbolic links; no file was written$"):
            write(Path("loop"))
        assert {path: path.lstat() for path in Path().iterdir()} == before


def test_a_write_protected_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    write(path, b"old")
    monkeypatch.setattr(os, "access", lambda where, how: where != path)  # root, who may run this, can write any file
    with pytest.raises(FileError, match=r"model: it is write-protected; name another file, or allow it: chmod u\+w"):
        write(path)
    assert path.read_bytes() == b"old"


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("what", ["open", "fsync", "replace", "fchmod"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
def test_a_failure_says_what_is_on_the_disk(what: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "old", b"old")
    for name, left in {"old": "the old file is untouched", "new": "no file was written"}.items():
        if what == "fchmod" and name == "new":
            continue  # a new file has no mode to keep
        with monkeypatch.context() as patch:
            patch.setattr(os, what, failing(code))
            with pytest.raises(FileError, match=rf"cannot write .*{name}: {os.strerror(code)}; {left}$"):
                write(tmp_path / name)
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_a_drive_that_cannot_flush_folders_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def of_files(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", of_files)
    write(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"new"


def test_an_error_of_the_block_is_its_own_and_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "model", b"old")
    for error in (KeyboardInterrupt(), ValueError("mine")):
        with pytest.raises(type(error)) as caught:
            write_and_raise(tmp_path / "model", error)
        assert caught.value is error
    assert (tmp_path / "model").read_bytes() == b"old"
    assert names(tmp_path) == ["model"]
