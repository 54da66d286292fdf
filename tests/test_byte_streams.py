"""Bytes from compressed files, pipes and files that grow arrive as from a plain file; what ends early is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from onkel.data import byte_streams
from onkel.data.byte_streams import Growing, Pipe
from onkel.data.csv_file import open_csv
from onkel.data.table import Origin, Table, recut
from onkel.errors import FileError, InputError
from onkel.model import read

pytestmark = pytest.mark.once

TEXT = "a,b,y\n" + "".join(f"{k},{k % 7}.5,{-k}\n" for k in range(3000))
COMPRESS: dict[str, Any] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pyarrow.Codec("zstd").compress(data, asbytes=True),
}


def numbers(tables: Any) -> Any:
    return np.concatenate([np.empty((0, 3)), *(table.numbers for table in tables)])


EXPECTED = np.array([[k, k % 7 + 0.5, -k] for k in range(3000)])


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("chunk", [100, 1 << 20])
def test_compressed_files(tmp_path: Path, suffix: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "CHUNK", chunk)
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](TEXT.encode()))
    stream = read(path, "y", block=1000)
    for _ in range(2):
        blocks = list(stream)
        np.testing.assert_array_equal(np.concatenate([X for X, _ in blocks]), EXPECTED[:, :2])
        np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), EXPECTED[:, 2])
    path.rename(tmp_path / "plain.csv")  # the bytes tell, not the name
    assert read(tmp_path / "plain.csv", "y").names == ("a", "b")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_that_end_early_or_were_altered(tmp_path: Path, suffix: str) -> None:
    content = COMPRESS[suffix](TEXT.encode())
    path = tmp_path / f"t.csv{suffix}"
    rng = random.Random(0)
    refused = 0
    for k in range(40):
        altered = bytearray(content)
        if k % 2:
            altered[rng.randrange(6, len(altered))] ^= 1 << rng.randrange(8)
        else:
            del altered[rng.randrange(6, len(altered)) :]
        path.write_bytes(altered)
        try:
            found = numbers(open_csv(byte_streams.File(path), None, {}).tables())
        except (FileError, InputError) as error:
            refused += str(path) in str(error)
            continue
        if suffix != ".zst":  # whose frames need no checksum
            np.testing.assert_array_equal(found, EXPECTED)
    assert refused >= 20


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_damage_in_a_later_stream_of_a_compressed_file(tmp_path: Path, suffix: str) -> None:
    half = TEXT.index("\n1500,") + 1
    first, second = (COMPRESS[suffix](part.encode()) for part in (TEXT[:half], TEXT[half:]))
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(first + second + b"\0" * 512)
    np.testing.assert_array_equal(numbers(open_csv(byte_streams.File(path), None, {}).tables()), EXPECTED)
    for at in range(len(second) // 20, len(second), len(second) // 10):
        path.write_bytes(first + second[:at])
        with pytest.raises(FileError, match=r"cannot be decompressed: .+; it may be truncated or altered, copy it again"):
            list(open_csv(byte_streams.File(path), None, {}).tables())
        path.write_bytes(first + second[:at] + bytes([second[at] ^ 1]) + second[at + 1 :])
        with pytest.raises(FileError, match=r"cannot be decompressed: .+; it may be truncated or altered, copy it again"):
            list(open_csv(byte_streams.File(path), None, {}).tables())


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_pipe_is_sampled_and_then_read_once(chunk: int, compressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "CHUNK", chunk)
    content = "".join(TEXT.splitlines(keepends=True)[: 2000 if chunk > 1 else 60]).encode()
    pipe = Pipe(io.BytesIO(gzip.compress(content) if compressed else content))
    source = open_csv(pipe, None, {})
    expected = numbers(open_csv(Pipe(io.BytesIO(content)), None, {}).tables(sample=True))
    np.testing.assert_array_equal(numbers(source.tables(sample=True))[:10], expected[:10])
    np.testing.assert_array_equal(numbers(source.tables()), expected)
    assert not pipe.kept
    with pytest.raises(InputError, match="the standard input can be read only once; save it to a file first"):
        list(source.tables())


def test_the_standard_input() -> None:
    code = "import onkel; print(sum(len(y) for _, y in onkel.read('-', 'y')))"
    for content in (TEXT.encode(), gzip.compress(TEXT.encode())):
        done = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True, check=True)
        assert done.stdout == b"3000\n"


def test_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "SECONDS_BETWEEN_LOOKS", 0.001)
    path = tmp_path / "t.csv"
    lines = TEXT.splitlines(keepends=True)
    path.write_text("".join(lines[:50]))

    def write() -> None:
        with path.open("a") as file:
            for line in lines[50:400]:
                file.write(line[: len(line) // 2])
                file.flush()
                time.sleep(0.0005)
                file.write(line[len(line) // 2 :])
                file.flush()

    writer = threading.Thread(target=write)
    sizes = []
    parts: list[Any] = []
    for X, y in read(path, "y", follow=0.5):
        if not parts:
            writer.start()
        if len(y):
            parts.append((X, y))
            sizes.append(len(y))
    writer.join()
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), EXPECTED[:399, 2])
    assert sizes[0] == 49  # what was there is given before more is waited for
    assert len(sizes) > 5


@pytest.mark.parametrize(("name", "line"), [("t.jsonl", '{{"a": {0}, "y": {0}}}\n'), ("t.svm", "{0} 1:{0}\n")])
def test_lines_that_grow(tmp_path: Path, name: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "SECONDS_BETWEEN_LOOKS", 0.001)
    path = tmp_path / name
    path.write_text(line.format(1) + line.format(2))
    sizes, labels = [], []
    for _, y in read(path, "y", follow=0.3):
        sizes.append(len(y))
        labels += y.tolist()
        if len(sizes) == 1:
            with path.open("a") as file:
                file.write(line.format(3))
    assert labels == [1, 2, 3]
    assert sizes[0] == 2


def test_following_what_cannot_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(InputError, match="compressed files cannot be followed as they grow"):
        list(read(path, "y", follow=0.0))
    path.write_text(TEXT)
    chunks = Growing(path, math.inf).chunks()
    assert next(chunks) == TEXT.encode()
    assert next(chunks) == b""
    path.write_text("a,b")
    with pytest.raises(FileError, match="became shorter while it was followed; start again"):
        next(chunks)
    with pytest.raises(InputError, match="follow must be a number of seconds"):
        read(path, "y", follow=-1.0)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        '"a, b; c",y\n1,2\n3,4\n'.replace('",', f'"{separator}').replace("1,", f"1{separator}").replace("3,", f"3{separator}")
    )
    stream = read(path, "y")
    assert stream.names == ("a, b; c",)
    np.testing.assert_array_equal(next(iter(stream))[1], [2, 4])


def test_tabs_alone_separate_a_tsv(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a,b,c\ty\n1\t2\n")
    assert read(path, "y").names == ("a,b,c",)
    assert read(path.rename(tmp_path / "table.txt"), "y", format="tsv").names == ("a,b,c",)


def test_an_empty_table_flushes_what_waits() -> None:
    full = Table(("a",), np.zeros((5, 1)), {}, {}, (Origin(5, 0, str),))
    assert [len(part) for part in recut([full, full, full[:0], full], 4)] == [4, 4, 2, 0, 4, 1]


def test_a_file_that_is_replaced_while_it_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "SECONDS_BETWEEN_LOOKS", 0.001)
    path, old = tmp_path / "t.csv", tmp_path / "t.csv.1"
    path.write_text(TEXT)
    chunks = Growing(path, math.inf).chunks()
    assert [next(chunks), next(chunks)] == [TEXT.encode(), b""]
    path.rename(old)
    with old.open("a") as file:
        file.write("1,2,3\n")
    assert [next(chunks), next(chunks)] == [b"1,2,3\n", b""]  # it has no name now, but is still written to
    path.write_text(TEXT)
    with pytest.raises(
        FileError, match=r"t\.csv was renamed while it was followed, and a new file has its name; name both, the old"
    ):
        next(chunks)


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were opened, in order."""
    found: list[Path] = []
    plain = Path.open

    def noted(path: Path, *arguments: Any, **more: Any) -> Any:
        found.append(path)
        return plain(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", noted)
    return found


@pytest.mark.parametrize("wide", [False, True])  # a sample that fills one chunk, or several
@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_a_csv_is_opened_once_to_look_at_it_and_once_for_its_rows(
    tmp_path: Path, opens: list[Path], suffix: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_streams, "CHUNK", 5000 if wide else 1 << 20)
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](TEXT.encode()) if suffix else TEXT.encode())
    opens.clear()
    stream = read(path, "y")
    assert opens == [path]
    assert sum(len(y) for _, y in stream) == 3000
    assert opens == [path, path]
    assert sum(len(y) for _, y in stream) == 3000
    assert opens == [path] * 3


@pytest.mark.parametrize(("name", "line", "count"), [("t.jsonl", '{{"a": {0}, "y": {0}}}\n', 2), ("t.svm", "{0} 1:{0}\n", 3)])
def test_how_often_lines_are_opened(tmp_path: Path, opens: list[Path], name: str, line: str, count: int) -> None:
    path = tmp_path / name
    path.write_text("".join(line.format(k) for k in range(100)))
    opens.clear()
    assert sum(len(y) for _, y in read(path, "y")) == 100
    assert opens == [path] * count  # a libsvm file is read once for its largest index, which keeps no sample


def test_each_of_several_files_is_opened_no_more_often(tmp_path: Path, opens: list[Path]) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text(TEXT)
    other.write_text(TEXT.replace("b", "c"))
    opens.clear()
    assert sum(len(y) for _, y in read([one, other], "y", missing="mean")) == 6000
    assert opens == [one, other] * 2


def test_a_pipe_among_several_files_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TEXT)
    code = "import sys, onkel; print(sum(len(y) for _, y in onkel.read([sys.argv[1], '-'], 'y')))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.csv")], input=TEXT.encode(), capture_output=True, check=True
    )
    assert done.stdout == b"6000\n"


def test_a_pipe_is_read_on_from_where_the_sample_ended() -> None:
    class Counted(io.BytesIO):
        taken = 0

        def read1(self, size: int | None = -1, /) -> bytes:
            data = super().read1(size)
            Counted.taken += len(data)
            return data

    content = TEXT.encode() * 400  # the header among the rows is met long after the sample
    source = open_csv(Pipe(Counted(content)), None, {})
    assert Counted.taken <= 2 * byte_streams.CHUNK < len(content)
    next(source.tables(sample=True))
    assert Counted.taken <= 2 * byte_streams.CHUNK
    with pytest.raises(InputError, match="line 3002, column 'a': 'a' is not a number; this line repeats the header"):
        list(source.tables())


def test_a_sample_that_is_kept_goes_on_in_the_file(tmp_path: Path, opens: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "CHUNK", 10)
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    opens.clear()
    file = byte_streams.File(path)
    some = file.chunks(sample=True)
    first = [next(some), next(some)]
    some.close()
    assert b"".join(file.chunks(sample=True)) == TEXT.encode()
    assert len(opens) == 2
    assert b"".join(file.chunks(sample=True)) == TEXT.encode()
    assert len(opens) == 2
    assert first == file.kept[:2]
    assert b"".join(file.chunks()) == TEXT.encode()
    assert file.kept == []
