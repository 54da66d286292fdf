"""Malformed data files: a clear error that names the file, or what the csv and json modules and NumPy read; no silent change."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse

from onkel.data import byte_streams
from onkel.data.columns import MISSING
from onkel.data.csv_file import CsvSource
from onkel.data.table import Kind, Source
from onkel.errors import FileError, InputError
from onkel.model import read

SECONDS_TO_CALL_IT_A_HANG = 60
SPICE = [
    b'"', b'""', b",", b";", b"\t", b"|", b"\r", b"\n", b"\r\n", b"\0", b"\xff", b"\xc3", "é".encode(), b" ", b"_", b"'", b"\\",
    b"1e999", b"-inf", b"nan", b"NA", b"NaN", b"null", b"0x1f", b"1_000", "٣".encode(), b"+5", b".", b"-", b"e", b"1e-400",
    b"99999999999999999999999", b"2026-02-30", b"2026-11-16 10:00", b"true", b"{", b"}", b"[", b"]", b":", b'{"a":', b"#",
    b": NaN,", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x1a", b"1:2", b"\\ud800",
]  # fmt: skip
WORDS = ["red", "green", "x,y", 'say "hi"', "Köln", "", "two\nlines", "NA", "a;b", "7 or 8"]


@contextmanager
def no_hang(what: object) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise AssertionError(f"it hangs: {what}")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_TO_CALL_IT_A_HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def sound_rows(rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for _ in range(rng.randint(1, 25)):
        row = {
            "n": rng.choice([rng.gauss(0, 1), rng.randint(-9, 9), 10.0 ** rng.randint(-300, 300)]),
            "t": rng.choice(WORDS),
            "d": datetime(rng.randint(1900, 2100), rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23)).isoformat(" "),
            "y": rng.random(),
        }
        rows.append({key: value for key, value in row.items() if rng.random() > 0.03 or key == "y"})
    return rows


def csv_bytes(rng: random.Random) -> bytes:
    text = io.StringIO(newline="")
    quoting: Any = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    end = rng.choice(["\n", "\r\n", "\r"])
    plain = rng.random() < 0.5  # numbers alone go another way
    columns, quoting = (["n", "y"], csv.QUOTE_MINIMAL) if plain else (["n", "t", "d", "y"], quoting)
    delimiter = rng.choice(",,,;\t|")
    writer = csv.DictWriter(text, columns, quoting=quoting, lineterminator=end, delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    rows = sound_rows(rng)
    if delimiter != "," and rng.random() < 0.3:  # decimal commas
        rows = [{key: str(value).replace(".", ",") if key in "ny" else value for key, value in row.items()} for row in rows]
    writer.writerows(rows)
    return text.getvalue().encode(rng.choice(["utf-8", "utf-8", "utf-8-sig"]))


def jsonl_bytes(rng: random.Random) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in sound_rows(rng)).encode()


def libsvm_bytes(rng: random.Random) -> bytes:
    lines = []
    for _ in range(rng.randint(1, 25)):
        indices = sorted(rng.sample(range(1, 12), rng.randint(0, 5)))
        lines.append(" ".join([str(rng.choice([-1, 1])), *(f"{index}:{rng.gauss(0, 1)!r}" for index in indices)]))
    return "\n".join(lines).encode()


def spoiled(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0 | 1:
                data[at:at] = rng.choice(SPICE)
            case 2:
                del data[at : at + rng.randint(1, 5)]
            case 3:
                data[at : at + 1] = rng.choice(SPICE)
            case 4:
                start = rng.randrange(len(data) + 1)
                data[at:at] = data[start : start + rng.randint(1, 60)]
            case 5 if rng.random() < 0.3:
                del data[at:]
    return bytes(data)


def csv_cells(content: bytes, source: Source) -> dict[str, list[str]]:
    assert isinstance(source, CsvSource)
    text = content.decode("utf-8-sig")
    records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=source.separator, strict=True) if record]
    assert {len(record) for record in records} == {len(records[0])}
    return {name: [record[j] for record in records[1:]] for j, name in enumerate(records[0])}


def json_cells(content: bytes, source: Source) -> dict[str, list[Any]]:
    rows = [json.loads(line) for line in content.decode("utf-8-sig").split("\n") if line.strip()]
    return {name: [row.get(name) for row in rows] for name in source.kinds}


def libsvm_cells(content: bytes, source: Source) -> dict[str, list[Any]]:
    rows = []
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        words = line.decode(errors="replace").split("#")[0].split()
        if words:
            rows.append({"y": words[0], **{f"x{int(word.split(':')[0])}": word.split(":")[1] for word in words[1:]}})
    return {name: [row.get(name, "0") for row in rows] for name in source.kinds}


def npz_bytes(rng: random.Random) -> bytes:
    """Arrays of any type and order, or a sparse matrix."""
    rows, dim = rng.randint(1, 25), rng.randint(1, 5)
    X = np.array([[rng.choice([0.0, rng.gauss(0, 1), rng.randint(-9, 9)]) for _ in range(dim)] for _ in range(rows)])
    X = np.asarray(X, rng.choice(["f8", "f8", "f4", ">f8", "i8", "u1", "?"]), order="C" if rng.random() < 0.5 else "F")
    y = np.array([rng.random() for _ in range(rng.choice([rows, rows, rows, rows + 1]))])
    buffer = io.BytesIO()
    save = rng.choice([np.savez, np.savez_compressed])
    if rng.random() < 0.3:
        sparse = scipy.sparse.csr_matrix(X.astype(float))
        save(buffer, data=sparse.data, indices=sparse.indices, indptr=sparse.indptr, shape=np.array(sparse.shape), y=y)
    else:
        save(buffer, X=X, y=y)
    return buffer.getvalue()


def npz_cells(content: bytes, source: Source) -> dict[str, list[Any]]:
    with np.lib.npyio.NpzFile(io.BytesIO(content)) as found:  # np.load asks for the first bytes, a zip is found by its end
        if "X" in found:
            X = found["X"]
        else:
            X = scipy.sparse.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=found["shape"]).toarray()
        columns = [*X.astype(float).T, found["y"].astype(float)]
    assert len(source.kinds) == len(columns)
    return {name: list(column) for name, column in zip(source.kinds, columns, strict=True)}


def as_number(cell: Any, mark: str) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip() in MISSING):
        return math.nan
    if mark != ".":
        assert "." not in cell
        cell = cell.replace(mark, ".")
    return float(cell)


def as_text(cell: Any) -> str | None:
    return None if cell is None or cell != cell else cell.strip() or None  # NaN is missing


def as_date(cell: Any) -> np.datetime64:
    if cell is None or cell != cell or cell.strip() in MISSING:
        return np.datetime64("NaT", "us")
    moment = datetime.fromisoformat(cell.strip())
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment, "us")


def compare(source: Source, cells: dict[str, list[Any]]) -> None:
    """The whole of a source against plain cells."""
    tables = list(source.tables())
    assert sum(map(len, tables)) == len(next(iter(cells.values())))
    for name, kind in source.kinds.items():
        if kind is Kind.NUMBER:
            found = np.concatenate([table.numbers[:, table.names.index(name)] for table in tables])
            expected = np.array([as_number(cell, getattr(source, "mark", ".")) for cell in cells[name]])
            np.testing.assert_array_equal(found, expected, strict=True)
            assert np.signbit(found[~np.isnan(found)]).tolist() == np.signbit(expected[~np.isnan(found)]).tolist()
        elif kind is Kind.TEXT:
            values = [
                None if code < 0 else table.strings[name].values[code] for table in tables for code in table.strings[name].codes
            ]
            assert values == [as_text(cell) for cell in cells[name]]
        else:
            moments = np.concatenate([table.dates[name] for table in tables])
            np.testing.assert_array_equal(moments, np.array([as_date(cell) for cell in cells[name]], "datetime64[us]"))


FORMATS: dict[str, tuple[Any, Any]] = {
    ".csv": (csv_bytes, csv_cells),
    ".jsonl": (jsonl_bytes, json_cells),
    ".svm": (libsvm_bytes, libsvm_cells),
    ".npz": (npz_bytes, npz_cells),
}


def trial(rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), rng)


def play(folder: Path, rng: random.Random) -> str:
    """One spoiled file: its ending, and whether it was read or refused."""
    ending = rng.choice([".csv", ".csv", ".jsonl", ".svm", ".npz"])
    make, cells = FORMATS[ending]
    content = spoiled(rng, make(rng))
    compressed = ending != ".npz" and rng.random() < 0.1
    path = folder / f"t{ending}{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(content) if compressed else content)
    target = None if ending == ".npz" else "y"
    chunk = rng.choice([7, 40, 300, 1 << 20])
    with no_hang(content), mock.patch.object(byte_streams, "CHUNK", chunk):
        try:
            stream = read(path, target, missing=rng.choice(["mean", "drop", "refuse"]), block=rng.choice([1, 5, 100]))
            for X, y in stream:
                assert np.isfinite(X).all()
                assert np.isfinite(y).all()
        except (InputError, FileError) as error:
            said = str(error)
            assert str(path) in said or re.search(r"^the (first|target|labels)", said), said
            assert re.search(r"[;:?] \S", said), said
            return f"{ending} refused"
        compare(stream.source, cells(content, stream.source))
        return f"{ending} read"
