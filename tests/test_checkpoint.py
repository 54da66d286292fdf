"""Files: learner and state come back to the bit, a failed save costs nothing, and no file, however hostile, is believed."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import errno
import hashlib
import io
import json
import os
import pickle
import random
import re
import resource
import threading
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import PKAWV, Basis, Constant, FileError, Fourier, Identity, Standardize, Taylor, _writing
from onkel.features import Chain
from onkel.persist import Extra, checkpoint, read
from onkel.state import owned
from tests.laws.cases import bits

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
Entries = dict[str, bytes]
Header = dict[str, Any]

HEADER, SUMS = "onkel.json", "SHA256SUMS"


def wave(X: Array) -> Array:
    total = X.sum(axis=1, keepdims=True)
    return np.hstack([np.cos(total), np.sin(total)])


def slope(X: Array) -> Array:
    return X[:, :1] - X[:, -1:]


BASES = {"wave": wave, "slope": slope}


def stream(rows: int, dim: int = 3, outputs: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(rows, dim))
    y = np.sin(X[:, :1]) + rng.normal(size=(rows, outputs))
    return X, y[:, 0] if outputs == 1 else y


def taught(learner: PKAWV, rows: int = 100, dim: int = 3, outputs: int = 1) -> Any:
    X, y = stream(rows, dim, outputs)
    state = learner.init(dim, outputs)
    learner.learn(state, X, y)
    return state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onkel"


# there and back


LEARNERS = {
    "default": PKAWV(),
    "chain": PKAWV((Standardize(), Taylor(2))),
    "sum": PKAWV(Taylor(1) + Identity() + Constant()),
    "sum in chain in sum": PKAWV(Chain((Standardize(), Fourier(3) + Chain((Identity(), Taylor(1))))) + Constant()),
    "two of a kind": PKAWV(Standardize() + Standardize() + Taylor(2) + Taylor(2)),
    "basis": PKAWV(Basis(wave, [[2.0, 0.3], [0.3, 1.0]])),
    "bases": PKAWV((Standardize(), Basis(wave, [[2.0, 0.3], [0.3, 1.0]]) + Basis(slope, [[4.0]]) + Identity())),
    "factor, tiny ridge": PKAWV(Identity() + Constant(), lam=1e-9),
    "factor, forgetting": PKAWV(Identity() + Constant(), forgetting=0.9),
    "no features to speak of": PKAWV(Taylor(0)),
}


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_round_trip(name: str, outputs: int, path: Path) -> None:
    learner = LEARNERS[name]
    state = taught(learner, outputs=outputs)
    onkel.save(path, learner, state)
    read, resumed = onkel.load(path, bases=BASES)
    assert read == learner
    assert bits(resumed) == bits(state)
    assert type(resumed) is type(state)
    X, y = stream(150, outputs=outputs)
    assert read.predict(resumed, X).tobytes() == learner.predict(state, X).tobytes()
    assert read.learn(resumed, X[100:], y[100:]).tobytes() == learner.learn(state, X[100:], y[100:]).tobytes()
    assert bits(resumed) == bits(state)


def test_round_trip_in_the_middle_of_a_change(path: Path) -> None:
    """After `widen`, and after the move to the factor form."""
    learner = PKAWV(Identity() + Constant(), lam=1e-3)
    state = taught(learner)
    learner.widen(state, 3)
    huge = np.full((20, 3), 1e9)
    learner.learn(state, huge, np.ones((20, 3)))
    assert state.ridge.moved == 1
    onkel.save(path, learner, state)
    read, resumed = onkel.load(path)
    assert bits(resumed) == bits(state)
    assert resumed.outputs == 3
    assert read.learn(resumed, huge, np.ones((20, 3))).tobytes() == learner.learn(state, huge, np.ones((20, 3))).tobytes()


def test_a_loaded_state_is_its_own_and_can_be_written_to(path: Path) -> None:
    learner = PKAWV(Taylor(1))
    onkel.save(path, learner, taught(learner))
    _, first = onkel.load(path)
    _, second = onkel.load(path)
    learner.learn(first, *stream(10))
    assert first.ridge.matrix.flags.writeable
    assert first.ridge.matrix.flags.c_contiguous
    assert bits(second) == bits(onkel.load(path)[1])


def test_same_state_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = LEARNERS["bases"]
    onkel.save(tmp_path / "a", learner, taught(learner))
    monkeypatch.setattr(time, "localtime", lambda *_: time.struct_time((2031, 2, 3, 4, 5, 6, 0, 34, 0)))
    onkel.save(tmp_path / "b", learner, taught(learner))
    onkel.save(tmp_path / "c", *onkel.load(tmp_path / "a", bases=BASES))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_saving_at_any_row_changes_no_later_prediction(path: Path) -> None:
    learner = PKAWV((Standardize(), Fourier(5)), forgetting=0.99)
    X, y = stream(300)
    saved_at = set(random.Random(1).sample(range(300), 100))
    state, undisturbed = learner.init(3), learner.init(3)
    for t in range(300):
        row = slice(t, t + 1)
        if t in saved_at:
            before = bits(state)
            onkel.save(path, learner, state)
            assert bits(state) == before
            state = onkel.load(path)[1] if t % 2 else state
        assert learner.learn(state, X[row], y[row]).tobytes() == learner.learn(undisturbed, X[row], y[row]).tobytes()
    assert bits(state) == bits(undisturbed)


def test_a_large_gram_matrix_can_be_loaded_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lives in the header, which then is larger than the arrays."""
    monkeypatch.setattr(checkpoint, "LARGEST_JSON", 1000)
    gram = np.eye(40) + np.outer(np.sin(np.arange(40)), np.sin(np.arange(40))) / 40

    def many(X: Array) -> Array:
        return np.repeat(X, 40, axis=1)

    learner = PKAWV(Basis(many, gram))
    state = learner.init(1)
    onkel.save(path, learner, state)
    assert len(unpacked(path)[HEADER]) > path.stat().st_size / 2
    assert bits(onkel.load(path, bases={"many": many})[1]) == bits(state)


def test_a_functions_own_name_is_asked_for(path: Path) -> None:
    learner = PKAWV((Standardize(), Basis(wave, np.eye(2)) + Basis(slope, np.eye(1))))
    onkel.save(path, learner, learner.init(2))
    expect_refusal(path, r"the function 'wave' is your own: pass it by name.*load\(path, bases={'wave': \.\.\.}\)")
    with pytest.raises(FileError, match=r"the function 'slope' is your own"):
        onkel.load(path, bases={"wave": wave})
    assert onkel.load(path, bases=BASES)[0] == learner
    assert onkel.load(path, kernels={"wave": wave}, bases={"slope": slope})[0] == learner


def test_a_state_that_load_would_refuse_is_not_written(path: Path) -> None:
    learner = PKAWV(Taylor(1))
    good = learner.init(2)
    onkel.save(path, learner, good)
    for spoil in (np.nan, np.inf):
        for name in ("matrix", "scale"):
            bad = copy.deepcopy(good)
            getattr(bad.ridge, name).fill(spoil)
            with pytest.raises(FileError, match=r"cannot write .*ridge\.(matrix|scale) holds NaN or infinity.*old file.*untouched"):
                onkel.save(path, learner, bad)
            assert bits(onkel.load(path)[1]) == bits(good)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# the old file survives


class Failing(io.FileIO):
    """A file on a disk that has room for so many bytes."""

    left = 0

    def write(self, data: Any) -> int:
        if Failing.left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = super().write(memoryview(data)[: Failing.left])
        Failing.left -= written
        return written


def fault(what: str, error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    fail.__name__ = what
    return fail


LEARNER = PKAWV(Taylor(1))
OLD, NEW = taught(LEARNER, rows=10), taught(LEARNER, rows=20)


def untouched(path: Path) -> bool:
    """The old file is whole and alone in its folder."""
    return bits(onkel.load(path)[1]) == bits(OLD) and [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.fixture
def old(path: Path) -> Path:
    onkel.save(path, LEARNER, OLD)
    return path


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("what", ["open", "fsync", "replace"])
def test_a_failed_save_leaves_the_old_file(what: str, code: int, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        failing = fault(what, OSError(code, os.strerror(code)))
        if what == "open":
            patch.setattr(_writing, "open", failing, raising=False)
        else:
            patch.setattr(os, what, failing)
        with pytest.raises(
            FileError, match=rf"cannot write {re.escape(str(old))}: {os.strerror(code)}; the old file is untouched$"
        ):
            onkel.save(old, LEARNER, NEW)
    assert untouched(old)
    onkel.save(old, LEARNER, NEW)
    assert bits(onkel.load(old)[1]) == bits(NEW)


def test_a_disk_that_is_full_after_any_byte_leaves_the_old_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(file: Path, mode: str, opener: Any) -> io.BufferedWriter:
        return io.BufferedWriter(Failing(file, mode.replace("b", ""), opener=opener))

    monkeypatch.setattr(_writing, "open", failing, raising=False)
    size = len(onkel.pack(LEARNER, NEW))
    for room in (*range(0, size, max(1, size // 50)), size - 1):
        Failing.left = room
        with pytest.raises(FileError) as caught:
            onkel.save(old, LEARNER, NEW)
        assert str(caught.value).startswith(f"cannot write {old}: No space left on device; the old file")
        assert untouched(old)
    Failing.left = size
    onkel.save(old, LEARNER, NEW)
    assert bits(onkel.load(old)[1]) == bits(NEW)


@pytest.mark.parametrize("what", ["fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_file(what: str, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, what, fault(what, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            onkel.save(old, LEARNER, NEW)
    assert untouched(old)


def test_a_folder_that_cannot_be_flushed_is_said_and_the_new_file_is_whole(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.fsync, []

    def second_fails(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", second_fails)
        with pytest.raises(FileError, match=r"is written but may not survive a power cut: Input/output error"):
            onkel.save(old, LEARNER, NEW)
    assert bits(onkel.load(old)[1]) == bits(NEW)
    assert [file.name for file in old.parent.iterdir()] == [old.name]


def test_flushed_before_it_is_renamed(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    for what in ("fsync", "replace"):
        real = getattr(os, what)

        def spied(*given: Any, name: str = what, real: Callable[..., Any] = real) -> Any:
            order.append(name)
            return real(*given)

        monkeypatch.setattr(os, what, spied)
    onkel.save(old, LEARNER, NEW)
    assert order == ["fsync", "replace", "fsync"]


def test_a_path_that_cannot_be_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in ("missing/model", "file/model", "folder", "a" * 300):
        with pytest.raises(FileError, match=r"cannot write .*(no file was written|name a file)$"):
            onkel.save(tmp_path / path, LEARNER, NEW)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_save_follows_a_link_keeps_a_mode_and_refuses_a_pipe(old: Path) -> None:
    old.chmod(0o600)
    link, pipe = old.parent / "link", old.parent / "pipe"
    link.symlink_to(old)
    os.mkfifo(pipe)
    onkel.save(link, LEARNER, NEW)
    assert link.is_symlink()
    assert bits(onkel.load(old)[1]) == bits(NEW)
    assert old.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileError, match=r"pipe: it is a pipe; name a file$"):
        onkel.save(pipe, LEARNER, NEW)
    assert pipe.is_fifo()


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    onkel.save(tmp_path / ("a" * 255), LEARNER, NEW)
    assert bits(onkel.load(str(tmp_path / ("a" * 255)))[1]) == bits(NEW)


def test_saves_at_the_same_time_do_not_disturb_each_other(old: Path) -> None:
    errors: list[BaseException] = []
    states = {bytes(str(bits(state)), "ascii") for state in (OLD, NEW)}

    def work(state: Any) -> None:
        try:
            for _ in range(15):
                onkel.save(old, LEARNER, state)
                assert bytes(str(bits(onkel.load(old)[1])), "ascii") in states
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(state,)) for state in (OLD, NEW, OLD, NEW)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [file.name for file in old.parent.iterdir()] == [old.name]


# damage


def expect_refusal(path: Path, message: str = "", **own: Any) -> str:
    """The file is refused with a FileError that says which file; what it says."""
    with pytest.raises(FileError) as caught:
        onkel.load(path, **own)
    said = str(caught.value)
    assert said.startswith(f"cannot load {path}: ")
    assert re.search(message, said), said
    return said


def believed(path: Path) -> Any:
    """The state of a file, or None where it is refused as it should be."""
    try:
        return onkel.load(path)[1]
    except FileError as error:
        return None if str(error).startswith(f"cannot load {path}: ") else error


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small file with every kind of thing in it: numbers, arrays, tables that the config determines."""
    path = tmp_path_factory.mktemp("small") / "model.onkel"
    onkel.save(path, LEARNER, taught(LEARNER, dim=1))
    return path.read_bytes()


def test_every_truncation_is_refused(small: bytes, path: Path) -> None:
    for length in range(len(small)):
        path.write_bytes(small[:length])
        expect_refusal(path)
    path.write_bytes(small)
    assert bits(onkel.load(path)[1]) == bits(taught(LEARNER, dim=1))


def wrongly_believed(path: Path, small: bytes, alterations: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """The (position, new byte) after which the file is believed and gives another state, or fails in another way."""
    path.write_bytes(small)
    right, wrong = bits(onkel.load(path)[1]), []
    for position, value in alterations:
        path.write_bytes(small[:position] + bytes([value]) + small[position + 1 :])
        state = believed(path)
        if state is not None and (isinstance(state, Exception) or bits(state) != right):
            wrong.append((position, value))
    return wrong


def test_no_altered_byte_is_believed(small: bytes, path: Path) -> None:
    other = random.Random(2)
    anywhere = ((k, (small[k] + other.randrange(1, 256)) % 256) for k in range(len(small)))
    assert wrongly_believed(path, small, anywhere) == []


def test_no_flipped_bit_is_believed(small: bytes, path: Path) -> None:
    assert wrongly_believed(path, small, ((k, small[k] ^ 1 << k % 8) for k in range(len(small)))) == []


@pytest.mark.long
def test_no_altered_byte_is_believed_whatever_its_value(small: bytes, path: Path) -> None:
    everything = ((k, value) for k in range(len(small)) for value in range(256) if value != small[k])
    assert wrongly_believed(path, small, everything) == []


@pytest.mark.long
def test_no_random_damage_is_believed(small: bytes, path: Path) -> None:
    """Pieces cut out, doubled, swapped, overwritten."""
    dice = random.Random(3)
    path.write_bytes(small)
    right = bits(onkel.load(path)[1])
    for _ in range(20_000):
        a, b, c = sorted(dice.randrange(len(small) + 1) for _ in range(3))
        damaged = dice.choice(
            [
                small[:a] + small[b:],
                small[:b] + small[a:],
                small[:a] + small[b:c] + small[a:b] + small[c:],
                small[:a] + dice.randbytes(b - a) + small[b:],
                small[:a] + dice.randbytes(3) + small[a:],
                small[:a] + bytes(b - a) + small[b:],
            ]
        )
        path.write_bytes(damaged)
        state = believed(path)
        assert state is None or bits(state) == right


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"PK", b"PK\5\6" + bytes(18), random.Random(4).randbytes(1000), b"{}", b"hello\n" * 99]
)
def test_what_is_no_file_of_ours_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    expect_refusal(path)


def test_a_missing_file_a_folder_and_links(path: Path, old: Path) -> None:
    folder = old.parent
    expect_refusal(folder / "nowhere", "there is no such file")
    expect_refusal(folder, "a folder or a device")
    expect_refusal(folder / "nowhere" / "model", "there is no such file")
    expect_refusal(old / "model", "directory")
    (folder / "dangling").symlink_to(folder / "nowhere")
    expect_refusal(folder / "dangling", "there is no such file")
    (folder / "loop").symlink_to(folder / "loop")
    expect_refusal(folder / "loop", "symbolic links")
    (folder / "zeros").symlink_to("/dev/zero")
    expect_refusal(folder / "zeros", "a folder or a device")
    os.mkfifo(folder / "pipe")
    expect_refusal(folder / "pipe", "a folder or a device")
    (folder / "link").symlink_to(old)
    assert bits(onkel.load(folder / "link")[1]) == bits(OLD)


# hostile files: everything below has right zip sums and right SHA-256 sums


def unpacked(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def summed(entries: Entries) -> bytes:
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in entries.items() if name != SUMS).encode()


def packed(path: Path, entries: Entries, method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in {**entries, SUMS: summed(entries)}.items():
            archive.writestr(name, data)


def npy(array: Any, **change: Any) -> bytes:
    """An array as .npy, with something of its header changed, or the header itself."""
    buffer = io.BytesIO()
    values = np.asarray(array)
    fields = {"descr": values.dtype.str, "fortran_order": False, "shape": values.shape, **change}
    text = fields.pop("header", None) or repr(fields)
    header = text.encode("latin1") + b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    buffer.write(b"\x93NUMPY" + fields.pop("version", b"\1\0") + len(header).to_bytes(2, "little") + header)
    return buffer.getvalue() + (values.tobytes() if values.dtype != object else pickle.dumps(array))


@contextlib.contextmanager
def small_memory() -> Iterator[None]:
    """Fails where the block within takes 100 MB or more, as Python and NumPy count it, or as the system does."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert max(peak, grown) < 100e6, f"{peak / 1e6:.0f} MB allocated, {grown / 1e6:.0f} MB resident"


class Canary:
    """Unpickling it would leave a file behind."""

    def __init__(self, at: Path) -> None:
        self.at = at

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.at,)


@pytest.fixture
def entries(path: Path) -> Entries:
    """Those of a sound file of a learner with Standardize, Taylor and Fourier; `path` itself is free."""
    onkel.save(path, HOST, taught(HOST, dim=2))
    found = unpacked(path)
    path.unlink()
    return found


HOST = PKAWV((Standardize(), Taylor(2) + Fourier(2)))
MATRIX = "ridge.matrix.npy"  # (10, 10)
LAST = "features.1.0.last.npy"


def test_the_files_made_by_hand_are_sound(entries: Entries, path: Path) -> None:
    packed(path, entries)
    assert bits(onkel.load(path)[1]) == bits(taught(HOST, dim=2))
    for name, data in entries.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(data))
            packed(path, {**entries, name: npy(array)})
            assert bits(onkel.load(path)[1]) == bits(taught(HOST, dim=2))
            packed(path, {**entries, name: npy(np.ascontiguousarray(array.T), shape=array.shape, fortran_order=True)})
            assert bits(onkel.load(path)[1]) == bits(taught(HOST, dim=2))


def altered(entries: Entries, change: Callable[[Header], Any]) -> Entries:
    header = json.loads(entries[HEADER])
    other = change(header)
    return {**entries, HEADER: json.dumps(header if other is None else other).encode()}


HUGE = np.eye(10)

ARRAYS: dict[str, tuple[bytes, str]] = {
    "shape of 2^60": (npy(HUGE, shape=(2**60,)), r"ridge.matrix is float64 \(1152921504606846976,\)"),
    "shape of 2^30 by 2^30": (npy(HUGE, shape=(2**30, 2**30)), r"ridge.matrix is float64"),
    "shape of 2^33": (npy(HUGE, shape=(2**33,)), r"ridge.matrix is float64"),
    "shape beyond any integer": (npy(HUGE, shape=(10**30,)), r"ridge.matrix is"),
    "negative shape": (npy(HUGE, shape=(-10, -10)), r"ridge.matrix is"),
    "another shape": (npy(np.eye(9)), r"ridge.matrix is float64 \(9, 9\), its learner has float64 \(10, 10\)"),
    "flat": (npy(np.ones(100)), r"ridge.matrix is"),
    "no shape": (npy(HUGE, shape=()), r"ridge.matrix is float64 \(\)"),
    "float32": (npy(np.eye(10, dtype=np.float32)), r"ridge.matrix is float32"),
    "the other byte order": (npy(np.eye(10).astype(">f8")), r"ridge.matrix is >f8"),
    "integers": (npy(np.eye(10, dtype=np.int64)), r"ridge.matrix is int64"),
    "complex": (npy(np.eye(10, dtype=complex)), r"ridge.matrix is complex128"),
    "text": (npy(np.full((10, 10), "a")), r"ridge.matrix is <U1"),
    "a record": (npy(HUGE, descr=[("a", "<f4"), ("b", "<f4")]), r"ridge.matrix is"),
    "void": (npy(HUGE, descr="|V8"), r"ridge.matrix is"),
    "NaN": (npy(np.where(np.eye(10) == 1, np.nan, 0.0)), r"ridge.matrix holds NaN"),
    "infinity": (npy(np.where(np.eye(10) == 1, -np.inf, 0.0)), r"ridge.matrix holds NaN or infinity"),
    "cut short": (npy(HUGE)[:-8], r""),
    "cut within a number": (npy(HUGE)[:-3], r""),
    "too long": (npy(HUGE) + bytes(8), r""),
    "much too long": (npy(HUGE) + bytes(10**6), r""),
    "empty": (b"", r""),
    "header cut short": (npy(HUGE)[:30], r""),
    "no header": (npy(HUGE)[:8], r""),
    "not npy": (b"hello" * 100, r""),
    "header length of 2^16": (b"\x93NUMPY\1\0\xff\xff" + bytes(900), r""),
    "header length of 2^32": (b"\x93NUMPY\2\0\xff\xff\xff\xff" + bytes(900), r"npy version"),
    "version 3": (npy(HUGE, version=b"\3\0"), r"npy version"),
    "version 255": (npy(HUGE, version=b"\xff\xff"), r"npy version"),
    "header too long": (npy(HUGE, header="{" + " " * 6000 + "}"), r""),
    "header is a call": (npy(HUGE, header="__import__('os').system('touch CANARY')"), r""),
    "header left open": (npy(HUGE, header="{'descr': ("), r""),
    "header badly indented": (npy(HUGE, header="  {\n 1\n  2"), r""),
    "header nested deeply": (npy(HUGE, header="(" * 2000 + ")" * 2000), r""),
    "header with a huge number": (npy(HUGE, header="{'shape': (" + "9" * 4500 + ",)}"), r""),
    "header with other keys": (npy(HUGE, more=1), r""),
    "header with keys of two kinds": (npy(HUGE, header="{1: 2, 'descr': 3}"), r""),
    "header with a false order": (npy(HUGE, fortran_order=2), r""),
    "a dtype that is none": (npy(HUGE, descr="<q9"), r""),
    "a dtype of lists": (npy(HUGE, descr=[[[[]]]]), r""),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_a_hostile_array_is_refused(name: str, entries: Entries, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    data, message = ARRAYS[name]
    packed(path, {**entries, MATRIX: data})
    with small_memory():
        expect_refusal(path, message)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_pickle_is_never_opened(entries: Entries, path: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    trap = np.full((10, 10), Canary(canary), dtype=object)
    pickle.loads(pickle.dumps(trap[:1, :1]))
    assert canary.exists(), "the trap works"
    canary.unlink()
    for data in (npy(trap), npy(np.array(Canary(canary), dtype=object)), pickle.dumps(trap)):
        for name in (MATRIX, LAST, HEADER):
            packed(path, {**entries, name: data})
            expect_refusal(path)
    for extra in ("evil.pkl", "data.pkl", "__init__.py", "evil.npy"):
        packed(path, {**entries, extra: pickle.dumps(trap)})
        expect_refusal(path, "does not have")
    packed(path, {**entries, MATRIX: npy(trap, descr="<f8")})
    expect_refusal(path)
    path.write_bytes(pickle.dumps(trap))
    expect_refusal(path)
    assert not canary.exists()


def test_the_source_knows_no_way_to_run_a_file() -> None:
    package = Path(onkel.__file__).parent
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names} | {(getattr(node, "module", "") or "").split(".")[0]}
                assert not names & {"pickle", "joblib", "dill", "cloudpickle", "marshal", "shelve", "yaml"}, file
            if isinstance(node, ast.Call):
                assert getattr(node.func, "id", "") not in {"eval", "exec", "compile", "__import__"}, file
                assert not any(k.arg == "allow_pickle" and getattr(k.value, "value", True) for k in node.keywords), file


@pytest.mark.parametrize("bad", [[-1, 0, 1], [0, 0, 2], [0, 2**62, 1], [0, 0, -(2**63)], [0, 0, 0]])
def test_a_table_that_points_elsewhere_is_refused(bad: list[int], entries: Entries, path: Path) -> None:
    """Compiled code would follow it out of the array."""
    assert np.load(io.BytesIO(entries[LAST])).tolist() == [0, 0, 1]
    packed(path, {**entries, LAST: npy(np.array(bad))})
    expect_refusal(path, r"features\.1\.0\.last differs from what its learner computes")
    packed(path, {**entries, "features.1.0.power.npy": npy(np.array(bad))})
    expect_refusal(path, r"features\.1\.0\.power differs from what its learner computes")


def test_other_frequencies_are_refused_but_another_machines_rounding_is_not(entries: Entries, path: Path) -> None:
    name = "features.1.1.frequencies.npy"
    frequencies = np.load(io.BytesIO(entries[name]))
    for factor in (1.0001, -1.0, 0.0):
        packed(path, {**entries, name: npy(frequencies * factor)})
        expect_refusal(path, r"features\.1\.1\.frequencies differs from what its learner computes")
    rounded = np.nextafter(frequencies, 0.0)
    packed(path, {**entries, name: npy(rounded)})
    assert onkel.load(path)[1].features[1][1].frequencies.tobytes() == rounded.tobytes()


def test_another_machines_rounding_of_what_should_be_0(path: Path) -> None:
    learner = PKAWV(Basis(wave, [[2.0, 0.0], [0.0, 3.0]]))
    onkel.save(path, learner, learner.init(2))
    entries, name = unpacked(path), "features.whitening.npy"
    whitening = np.load(io.BytesIO(entries[name]))
    packed(path, {**entries, name: npy(whitening + 1e-17 * np.array([[0.0, 1.0], [-1.0, 0.0]]))})
    assert onkel.load(path, bases=BASES)[0] == learner
    packed(path, {**entries, name: npy(whitening + 1e-6 * np.array([[0.0, 1.0], [1.0, 0.0]]))})
    expect_refusal(path, "whitening differs from what its learner computes", bases=BASES)


NUMBERS: dict[str, tuple[str, Any, str]] = {
    "negative": ("ridge.factored", -1, r"ridge.factored is -1, which no state can have"),
    "huge": ("ridge.factored", 2**62, r"ridge.factored is 4611686018427387904, which no state can have"),
    "of 4000 digits": ("ridge.factored", int("9" * 4000), r"ridge.factored is 9{50,60}, which"),
    "a float": ("ridge.factored", 3.0, r"ridge.factored is 3.0, not int"),
    "text": ("ridge.factored", "3", r"ridge.factored is '3', not int"),
    "long text": ("ridge.factored", "3" * 10**5, r"ridge.factored is '3{50,60}, not int"),
    "true": ("ridge.factored", True, r"ridge.factored is True, not int"),
    "null": ("ridge.factored", None, r"ridge.factored is None, not int"),
    "a list": ("ridge.factored", [3], r"ridge.factored is \[3\], not int"),
    "NaN": ("features.1.0.mass", float("nan"), r"features.1.0.mass is nan, which no state can have"),
    "infinity": ("features.1.0.mass", float("inf"), r"features.1.0.mass is inf"),
    "negative float": ("features.1.0.mass", -0.5, r"features.1.0.mass is -0.5, which no state can have"),
    "an int for a float": ("features.1.0.mass", 1, r"features.1.0.mass is 1, not float"),
    "mass of a feature": ("features.1.0.mass", float("-inf"), r"features.1.0.mass is -inf"),
    "dim 0": ("dim", 0, r"dim must be at least 1"),
    "dim -1": ("dim", -1, r"dim is -1"),
    "dim 3": ("dim", 3, r""),
    "dim 10^12": ("dim", 10**12, r"needs more memory than the file's arrays hold"),
    "dim 2^62 - 1": ("dim", 2**62 - 1, r"needs more memory"),
    "dim 2^70": ("dim", 2**70, r"dim is .*no state can have"),
    "dim as text": ("dim", "2", r"dim is '2', not int"),
    "dim 2.0": ("dim", 2.0, r"dim is 2.0, not int"),
    "outputs 0": ("outputs", 0, r"outputs, got 0"),
    "outputs 2": ("outputs", 2, r""),
    "outputs 10^12": ("outputs", 10**12, r"needs more memory"),
    "an unknown one": ("ridge.colour", 3, r"numbers that its learner does not have"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_hostile_number_is_refused(name: str, entries: Entries, path: Path) -> None:
    where, value, message = NUMBERS[name]
    packed(path, altered(entries, lambda header: header["numbers"].update({where: value})))
    with small_memory():
        expect_refusal(path, message)


def test_a_hostile_count_of_rows_is_refused(entries: Entries, path: Path) -> None:
    packed(path, {**entries, "features.0.learnt.npy": npy(np.array([-5]))})
    expect_refusal(path, r"features.0.learnt.* is -5")


def test_a_missing_number_or_array_is_refused(entries: Entries, path: Path) -> None:
    header = json.loads(entries[HEADER])
    for name in header["numbers"]:
        numbers = {other: value for other, value in header["numbers"].items() if other != name}
        packed(path, {**entries, HEADER: json.dumps({**header, "numbers": numbers}).encode()})
        assert name in expect_refusal(path)
    for name in entries:
        if name not in (HEADER, SUMS):
            packed(path, {other: data for other, data in entries.items() if other != name})
            expect_refusal(path)


def taylors(depth: int) -> Any:
    return {"type": "PKAWV", "features": [{"type": "Taylor", "degree": 1000}] * depth}


CONFIGS: dict[str, tuple[Any, str]] = {
    "count 10^12": ({"type": "PKAWV", "features": {"type": "Fourier", "count": 10**12}}, r"needs more memory"),
    "count 2^63 - 1": ({"type": "PKAWV", "features": {"type": "Fourier", "count": 2**63 - 1}}, r"needs more memory"),
    "count 2^63": ({"type": "PKAWV", "features": {"type": "Fourier", "count": 2**63}}, r"count must be at most"),
    "degree 1000": ({"type": "PKAWV", "features": {"type": "Taylor", "degree": 1000}}, r"needs more memory"),
    "degree 1000, twice": (taylors(2), r"needs more memory"),
    "degree 1000, ten times": (taylors(10), r"needs more memory"),
    "degree 1000, then a constant": ({"type": "PKAWV", "features": [*taylors(3)["features"], {"type": "Constant"}]}, r"needs more"),
    "a thousand copies": ({"type": "PKAWV", "features": {"+": [{"type": "Fourier"}] * 1000}}, r"needs more memory"),
    "a hundred thousand parts": ({"type": "PKAWV", "features": {"+": [{"type": "Constant"}] * 10**5}}, r"needs|too large"),
    "an unknown learner": ({"type": "PKAVW"}, r"no 'PKAVW' in onkel; did you mean .PKAWV."),
    "an unknown type": ({"type": "PKAWV", "features": {"type": "os.system"}}, r"no 'os.system' in onkel"),
    "an unknown field": ({"type": "PKAWV", "command": "rm"}, r"PKAWV has no setting 'command'"),
    "features are a learner": ({"type": "PKAWV", "features": {"type": "PKAWV"}}, r"features must be a Features"),
    "a feature map": ({"type": "Taylor"}, r"do not describe a learner"),
    "a kernel": ({"type": "Gaussian"}, r"do not describe a learner"),
    "a number": (3, r"do not describe a learner"),
    "text": ("PKAWV()", r"do not describe a learner"),
    "null": (None, r"do not describe a learner"),
    "a list": ([{"type": "PKAWV"}], r"do not describe a learner"),
    "a function": ({"function": "print"}, r"the function 'print' is your own"),
    "a negative ridge": ({"type": "PKAWV", "lam": -1.0}, r"lam must be at least"),
    "a ridge that is not a number": ({"type": "PKAWV", "lam": float("nan")}, r"lam must be a finite number"),
    "a ridge of 400 digits": ({"type": "PKAWV", "lam": 10**400}, r"lam must be a finite number, got 1000"),
    "a ridge that is text": ({"type": "PKAWV", "lam": "1"}, r"lam must be a finite number, got '1'"),
    "multiplied text": ({"*": ["a", 10**12]}, r"cannot join"),
    "a type that is a list": ({"type": ["PKAWV"]}, r"no \['PKAWV'\] in onkel"),
    "a gram of text": (
        {"type": "PKAWV", "features": {"type": "Basis", "fn": {"function": "wave"}, "gram": "x"}},
        r"gram must hold",
    ),
}


@pytest.mark.parametrize("dim", [1, 2, 1000, 10**9])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_hostile_config_is_refused(name: str, dim: int, entries: Entries, path: Path) -> None:
    config, message = CONFIGS[name]

    def change(header: Header) -> None:
        header["learner"] = config
        header["numbers"]["dim"] = dim

    packed(path, altered(entries, change))
    if name == "degree 1000" and dim == 1:
        message = ""  # 1001 features only
    with small_memory():
        expect_refusal(path, message, bases=BASES)


HEADERS: dict[str, tuple[bytes, str]] = {
    "nested deeply": (b"[" * 100_000 + b"]" * 100_000, r""),
    "objects nested deeply": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, r""),
    "nested deeply within": (b'{"format": 5, "numbers": {}, "learner": ' + b"[" * 900 + b"]" * 900 + b"}", r""),
    "a list": (b"[1, 2]", r"it has format \[1, 2\], this onkel reads format 5"),
    "a number": (b"1", r"it has format 1, this"),
    "null": (b"null", r"format None"),
    "text": (b'"onkel"', r"format 'onkel'"),
    "long text": (b'"' + b"x" * 10**6 + b'"', r"format 'x{50,60}, this"),
    "empty": (b"", r""),
    "not JSON": (b"{'format': 2}", r""),
    "cut short": (b'{"format": 3', r""),
    "not UTF-8": (b'{"format": "\xff\xfe"}', r""),
    "a number of 5000 digits": (b'{"format": ' + b"9" * 5000 + b"}", r""),
    "an empty object": (b"{}", r"format None"),
    "no learner": (b'{"format": 5, "numbers": {}}', r"learner"),
    "no numbers": (b'{"format": 5, "learner": {"type": "PKAWV"}}', r"numbers"),
    "numbers are a list": (b'{"format": 5, "learner": {"type": "PKAWV"}, "numbers": [1]}', r"do not describe"),
    "numbers are text": (b'{"format": 5, "learner": {"type": "PKAWV"}, "numbers": "dim"}', r"do not describe"),
    "numbers are null": (b'{"format": 5, "learner": {"type": "PKAWV"}, "numbers": null}', r"do not describe"),
    "much too large": (b'{"format": 5, "learner": [' + b"[]," * 2 * 10**6 + b"[]]}", r"onkel.json is too large"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_hostile_header_is_refused(name: str, entries: Entries, path: Path) -> None:
    data, message = HEADERS[name]
    packed(path, {**entries, HEADER: data})
    with small_memory():
        expect_refusal(path, message)


@pytest.mark.parametrize("found", [3, 99, 0, -1, "2", None, [2], 2.5])
def test_another_format_is_refused_with_a_remedy(found: Any, entries: Entries, path: Path) -> None:
    packed(path, altered(entries, lambda header: header.update(format=found)))
    expect_refusal(path, rf"it has format {re.escape(repr(found))}, this onkel reads format 5; update onkel")


def test_a_zip_bomb_is_refused_unopened(entries: Entries, path: Path) -> None:
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed(path, {**entries, MATRIX: bytes(120_000_000)} if method == zipfile.ZIP_DEFLATED else entries, method)
        with small_memory():
            expect_refusal(path, "compressed or duplicate entries")


def test_entries_that_claim_to_be_larger_than_the_file_are_refused(entries: Entries, path: Path) -> None:
    packed(path, entries)
    whole = path.read_bytes()
    central = whole.index(b"PK\1\2")
    size = whole[central + 20 : central + 24]
    for claim in (2**31, 2**32 - 2, len(whole) + 1):
        path.write_bytes(whole[: central + 20] + 2 * claim.to_bytes(4, "little") + whole[central + 28 :])
        with small_memory():
            expect_refusal(path, "claim more bytes than the file has")
    path.write_bytes(whole[: central + 24] + (2**31).to_bytes(4, "little") + whole[central + 28 :])
    expect_refusal(path, "compressed or duplicate entries")
    path.write_bytes(whole[: central + 20] + 2 * (int.from_bytes(size, "little") - 1).to_bytes(4, "little") + whole[central + 28 :])
    expect_refusal(path)


def test_doubled_entries_are_refused(entries: Entries, path: Path) -> None:
    for name in entries:
        with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for other, data in entries.items():
                archive.writestr(other, data)
            archive.writestr(name, entries[name])
        expect_refusal(path, "compressed or duplicate entries")


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc/passwd",
        "..\\x",
        "x.npy",
        "ridge.matrix",
        "ridge.matrix.npy.npy",
        "folder/",
        "C:x",
        "ridge/matrix.npy",
        "é.npy",
    ],
)
def test_extra_entries_are_refused_and_nothing_is_extracted(name: str, entries: Entries, path: Path) -> None:
    matrix = entries[MATRIX]
    packed(path, {**entries, name: b"" if name.endswith("/") else matrix})
    expect_refusal(path, "does not have")
    packed(path, {**{other: data for other, data in entries.items() if other != MATRIX}, name: matrix})
    expect_refusal(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_missing_entries_are_refused(entries: Entries, path: Path) -> None:
    packed(path, {name: data for name, data in entries.items() if name != HEADER})
    expect_refusal(path, "it has no onkel.json and SHA256SUMS")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, entries[HEADER])
    expect_refusal(path, "it has no onkel.json and SHA256SUMS")
    packed(path, {HEADER: entries[HEADER]})
    expect_refusal(path)
    packed(path, {})
    expect_refusal(path, "not an .onkel file")


def test_wrong_sums_are_refused(entries: Entries, path: Path) -> None:
    sums = summed(entries)
    lines = sums.splitlines(keepends=True)
    for wrong in (b"", sums[:-1], sums + b"\n", sums.upper(), b"".join(lines[::-1]), b"".join(lines[1:]), sums * 2, b"\xff" * 40):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in {**entries, SUMS: wrong}.items():
                archive.writestr(name, data)
        expect_refusal(path, "checksum does not match")


def test_entries_that_are_locked_or_of_another_zip_version_are_refused(entries: Entries, path: Path) -> None:
    packed(path, entries)
    whole = path.read_bytes()
    local, central = whole.index(b"PK\3\4"), whole.index(b"PK\1\2")
    locked = bytearray(whole)
    locked[local + 6] |= 1
    locked[central + 8] |= 1
    path.write_bytes(locked)
    expect_refusal(path, "encrypted")
    newer = bytearray(whole)
    newer[central + 6] = 200
    path.write_bytes(newer)
    expect_refusal(path)


def test_what_stands_before_or_after_changes_nothing(entries: Entries, path: Path) -> None:
    """A zip is found by its end; what is loaded is still what was summed."""
    packed(path, entries)
    whole = path.read_bytes()
    for junk in (b"#!/bin/sh\n", bytes(1000)):
        path.write_bytes(junk + whole)
        assert bits(onkel.load(path)[1]) == bits(taught(HOST, dim=2))


def test_a_state_of_another_learner_is_not_saved(path: Path) -> None:
    with pytest.raises(onkel.InputError, match="belongs to"):
        onkel.save(path, PKAWV(Taylor(3)), taught(PKAWV(Taylor(2))))
    assert not path.exists()


GROWING = [onkel.KernelAWV(lam=0.5), onkel.PKAWVNystroem(lam=0.5), onkel.PKAWVNystroem(keep_history=False), onkel.KONS()]


@pytest.mark.parametrize("learner", GROWING, ids=lambda learner: f"{learner!r:.20}")
class TestGrowingStates:
    def test_a_state_of_another_learner_is_not_saved(self, learner: Any, path: Path) -> None:
        for other in (PKAWV(), *GROWING):
            if type(other) is not type(learner):
                with pytest.raises(onkel.InputError, match="belongs to"):
                    onkel.save(path, other, taught(learner))

    def test_a_state_that_load_would_refuse_is_not_saved(self, learner: Any, path: Path) -> None:
        onkel.save(path, learner, taught(learner))
        before = path.read_bytes()
        other = dataclasses.replace(learner, kernel=onkel.Gaussian(width=0.1))
        with pytest.raises(onkel.InputError, match=r"factor|whitening|dictionary"):
            onkel.save(path, other, owned(other, taught(learner)))
        assert path.read_bytes() == before

    def test_an_axis_that_does_not_grow_is_held_to_its_length(self, learner: Any, path: Path) -> None:
        onkel.save(path, learner, taught(learner))
        found = unpacked(path)
        name = next(name for name in found if name.endswith("points.npy"))
        points = np.load(io.BytesIO(found[name]))
        packed(path, {**found, name: npy(points[:, :2])})
        with pytest.raises(FileError, match=r"points is float64 \(\d+, 2\), its learner has float64 \(0, 3\)"):
            onkel.load(path)
        packed(path, {**found, name: npy(points.ravel())})
        with pytest.raises(FileError, match="points is float64"):
            onkel.load(path)

    def test_lengths_that_do_not_belong_together_are_refused(self, learner: Any, path: Path) -> None:
        """Every array in turn one row shorter, or empty: no such state can be, and nothing breaks."""
        onkel.save(path, learner, taught(learner))
        found = unpacked(path)
        cut = 0
        for name, data in found.items():
            array = np.load(io.BytesIO(data)) if name.endswith(".npy") else np.empty(0)
            for shorter in (array[:-1], array[:0], array[..., :-1]) if array.size else ():
                if shorter.shape == array.shape:
                    continue
                packed(path, {**found, name: npy(shorter)})
                try:
                    _, state = onkel.load(path)
                except FileError:
                    cut += 1
                else:  # spare room is nobody's
                    assert np.array_equal(learner.predict(state, np.eye(3)), learner.predict(taught(learner), np.eye(3)))
                    learner.learn(state, np.eye(3), np.ones(3))  # nor is it missed
        assert cut >= 4

    def test_a_shape_beyond_memory_is_refused(self, learner: Any, path: Path) -> None:
        onkel.save(path, learner, taught(learner))
        found = unpacked(path)
        name = next(name for name in found if name.endswith("points.npy"))
        for shape in ((2**60, 3), (2**40, 3), (-1, 3), (10**30, 3)):
            packed(path, {**found, name: npy(np.zeros((1, 3)), shape=shape)})
            with small_memory(), pytest.raises(FileError, match="cannot load"):
                onkel.load(path)


@pytest.mark.parametrize("lam", [1.0, 1e-9])
@pytest.mark.parametrize("change", [("scale", np.zeros(1)), ("matrix", -np.eye(4)), ("diagonal", np.zeros(4))])
def test_a_state_that_no_stream_can_make_is_refused(path: Path, lam: float, change: tuple[str, Any]) -> None:
    learner = PKAWV(Identity() + Constant(), lam=lam)
    state = taught(learner)
    setattr(state.ridge, *change)
    onkel.save(path, learner, state)
    with pytest.raises(FileError, match=r"cannot load .* positive"):
        onkel.load(path)


def test_two_functions_of_one_name_are_not_saved(path: Path) -> None:
    learner = PKAWV(Basis(lambda X: X, np.eye(3)) + Basis(lambda X: X**2, np.eye(3)))
    with pytest.raises(onkel.InputError, match="two of your functions have the same name"):
        onkel.save(path, learner, taught(learner))
    shared = PKAWV(Basis(slope, [[1.0]]) + Basis(slope, [[2.0]]))
    onkel.save(path, shared, taught(shared))
    assert onkel.load(path, bases=BASES)[0] == shared


def test_a_class_that_is_not_ours_is_not_saved(path: Path) -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine(Identity):
        pass

    learner = PKAWV(Mine())
    with pytest.raises(onkel.InputError, match="Mine is not one of onkel's classes"):
        onkel.save(path, learner, taught(learner))
    assert not path.exists()


def test_arguments_in_the_wrong_order_are_said_to_be(path: Path) -> None:
    learner = PKAWV(Identity())
    with pytest.raises(onkel.InputError, match="give a model or a learner, and its state; got State and PKAWV"):
        onkel.save(path, taught(learner), learner)


def test_more_is_kept_beside_a_model(tmp_path: Path) -> None:
    learner, path = onkel.PKAWV(), tmp_path / "m.onkel"
    onkel.save(path, learner, learner.init(2))
    assert read(path)[2] is None
    onkel.save(path, learner, learner.init(2), Extra({"columns": ["ä", 1.1]}, {"there": np.array([True, False])}))
    again, _, extra = read(path)
    assert again == learner == onkel.load(path)[0]
    assert extra is not None
    assert extra.about == {"columns": ["ä", 1.1]}
    assert extra.arrays["there"].tolist() == [True, False]
    path.write_bytes(path.read_bytes().replace(b"1.1", b"1.2"))
    with pytest.raises(onkel.FileError, match=r"cannot load .*(checksum|CRC)"):
        read(path)
    before = path.read_bytes()
    with pytest.raises(onkel.FileError, match=r"settings and strings take 20.0 MB, which load would refuse"):
        onkel.save(path, learner, learner.init(2), Extra({"long": "x" * 20_000_000}, {}))
    assert path.read_bytes() == before
