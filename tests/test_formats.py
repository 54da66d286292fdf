"""One table in every format and from memory gives the same X and y; jsonl, libsvm and Arrow in particular."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse

from onkel.data import jsonl_file
from onkel.data.byte_streams import Pipe
from onkel.data.libsvm_file import open_libsvm
from onkel.data.table import strings
from onkel.errors import FileError, InputError
from onkel.model import Date, Encoder, Hashed, Number, OneHot, Stream, read

pytestmark = pytest.mark.once

TOWNS = ["Bonn", "Ulm", None, "Kiel"]
ROWS: list[dict[str, Any]] = [
    {
        "size": None if k % 11 == 3 else k * 0.1,
        "rooms": k % 5,
        "town": TOWNS[k % 4],
        "when": None if k % 13 == 5 else datetime(2026, 1 + k % 12, 1 + k % 28, k % 24),
        "zoned": datetime(2026, 1, 1, k % 24, tzinfo=timezone(timedelta(hours=1))),
        "opens": None if k % 17 == 2 else time(k % 24, k * 7 % 60, k % 60, k * 1000 % 3000),
        "took": None if k % 19 == 7 else timedelta(hours=k - 30, seconds=k, microseconds=k),
        "sold": ["no", "yes"][k % 3 == 0],
    }
    for k in range(300)
]


def as_csv(path: Path) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(ROWS[0]), *(row.values() for row in ROWS)])
    return path


def as_jsonl(path: Path) -> Path:
    known = ({key: value for key, value in row.items() if value is not None} for row in ROWS)
    path.write_text("\n".join(json.dumps(row, default=str) for row in known))
    return path


def as_parquet(path: Path) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path, row_group_size=70)
    return path


def as_feather(path: Path) -> Path:
    pyarrow.feather.write_feather(pyarrow.Table.from_pylist(ROWS), str(path), chunksize=90)
    return path


def as_ipc(path: Path) -> Path:
    table = pyarrow.Table.from_pylist(ROWS)
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=64)
    return path


def as_pandas(path: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def as_polars(path: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def as_pyarrow(path: Path) -> Any:
    return pyarrow.Table.from_pylist(ROWS)


FORMS: dict[str, Any] = {
    "t.jsonl": as_jsonl, "t.ndjson": as_jsonl, "t.parquet": as_parquet, "t.pq": as_parquet, "t.feather": as_feather,
    "t.arrow": as_ipc, "pandas": as_pandas, "polars": as_polars, "pyarrow": as_pyarrow,
}  # fmt: skip


def joined(stream: Stream) -> tuple[Any, Any]:
    blocks = list(stream)
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_every_format_gives_the_same(tmp_path: Path, form: str, missing: str) -> None:
    plain = read(as_csv(tmp_path / "plain.csv"), "sold", missing=missing, block=64)
    found = read(FORMS[form](tmp_path / form), "sold", missing=missing, block=64)
    assert found.encoder == plain.encoder
    assert found.target == plain.target
    X, y = joined(plain)
    for _ in range(2):
        again, labels = joined(found)
        assert again.tobytes() == X.tobytes()
        assert labels.tobytes() == y.tobytes()
    assert found.state == plain.state
    some: dict[str, Any] = {"target": "rooms", "columns": ["town", "sold"], "missing": missing}
    chosen, plain = read(FORMS[form](tmp_path / form), **some), read(tmp_path / "plain.csv", **some)
    assert joined(chosen)[0].tobytes() == joined(plain)[0].tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_every_format_says_where_a_value_is_missing(tmp_path: Path, form: str) -> None:
    place = r", line 3, column 'town'" if "json" in form else r", row 2 \(counted from 0\), column 'town'"
    with pytest.raises(InputError, match=place + r": the value is missing; fill it"):
        joined(read(FORMS[form](tmp_path / form), "sold"))
    with pytest.raises(InputError, match=r"has no column 'sole'; did you mean 'sold'"):
        read(FORMS[form](tmp_path / form), "sole")
    with pytest.raises(
        InputError, match=r"choose the target, one of: 'size', 'rooms', 'town', 'when', 'zoned', 'opens', 'took', 'sold'"
    ):
        read(FORMS[form](tmp_path / form))


def test_arrow_types() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    columns = {
        "a": pyarrow.array([1, 2**53, None], pyarrow.int64()),
        "b": pyarrow.array([True, False, None]),
        "c": pyarrow.array([Decimal("1.25"), None, Decimal("-2")]),
        "d": pyarrow.array(["x", "y", None]).dictionary_encode(),
        "e": pyarrow.array([3, 4, 3]).dictionary_encode(),
        "f": pyarrow.array([noon, None, noon], pyarrow.timestamp("ns", "Asia/Tokyo")),
        "g": pyarrow.array([1.5, float("nan"), None], pyarrow.float32()),
        "h": pyarrow.nulls(3),
        "y": pyarrow.array([1.0, 2.0, 3.0]),
    }  # fmt: skip
    found = read(pyarrow.table(columns), "y", missing="mean")
    numbers = {name: Number(name, True) for name in "abcgh"}
    others = {"d": OneHot("d", 4, True), "e": OneHot("e", 4), "f": Date("f", "2026-01-01", indicator=True)}
    assert found.encoder.columns == tuple({**numbers, **others}[name] for name in "abcdefgh")
    np.testing.assert_array_equal(found.sample.numbers[:, :3], [[1, 1, 1.25], [2.0**53, 0, np.nan], [np.nan, np.nan, -2]])
    assert found.sample.dates["f"][0] == np.datetime64("2026-01-01T12:00")
    X, _ = joined(found)
    assert found.encoder.names(found.state)[6:9] == ["d=x", "d=y", "d#2"]
    np.testing.assert_array_equal(X[:, 6:8], [[1, 0], [0, 1], [0, 0]])
    with pytest.raises(InputError, match=r"column 'z' holds list<.*>, not numbers, strings or dates; leave the column out"):
        read(pyarrow.table({"z": [[1], [2]], "y": [1, 2]}), "y")
    assert read(pyarrow.table({"z": [[1], [2]], "x": [1, 2], "y": [1, 2]}), "y", columns=["x"]).names == ("x",)
    with pytest.raises(FileError, match=r"the pyarrow Table has no rows"):
        read(pyarrow.table({"x": pyarrow.array([], pyarrow.int64()), "y": pyarrow.array([], pyarrow.int64())}), "y")
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\), column 'x': inf is not finite"):
        joined(read(pyarrow.table({"x": [1.0, float("inf")], "y": [1, 2]}), "y"))
    table = pyarrow.table({"x": ["2026-01-01", "2026-01-02 10:00"], "z": [1, 2], "y": [1, 2]})
    declared = read(table, "y", dates=["x"], text=["z"])
    assert declared.encoder.columns == (Date("x", "2026-01-01"), OneHot("z", 4))
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\), column 'x': 'soon' is not a date"):
        joined(read(pyarrow.table({"x": ["2026-01-01", "soon"], "y": [1, 2]}), "y", dates=["x"]))


@pytest.mark.parametrize("form", ["t.parquet", "t.feather", "t.arrow"])
def test_files_cut_short_or_altered(tmp_path: Path, form: str) -> None:
    path = FORMS[form](tmp_path / form)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for size in [*range(1, len(content), len(content) // 15), len(content) - 1]:
        path.write_bytes(content[:size])
        try:
            y = joined(read(path, "sold", missing="drop", columns=["rooms"]))[1]
        except (FileError, InputError) as error:
            refused = str(path) in str(error) or "rows have one label" in str(error)
            assert refused
        else:
            assert form == "t.arrow"  # a stream may end after any batch
            assert len(y) <= len(ROWS)
    for _ in range(60):
        altered = bytearray(content)
        altered[rng.integers(len(altered))] ^= 1 << int(rng.integers(8))
        path.write_bytes(altered)
        try:
            joined(read(path, "sold", missing="drop"))
        except (FileError, InputError):
            continue


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1, "y": 2', r"line 3: it is not JSON \(Expecting ',' delimiter.*\); correct it or drop the line"),
        ('{"a": Infinity, "y": 2}', r"line 3: it is not JSON \(Infinity is not a JSON number\)"),
        ('{"a": 1, "a": 2, "y": 2}', r"line 3: it is not JSON \(a key appears twice\)"),
        ("[1, 2]", r"line 3: '\[1, 2\]' is not an object; write it like"),
        ('{"a": [1], "y": 2}', r"line 3, key 'a': '\[1\]' is nested; leave the column out \(.*--without a\), or write it flat"),
        ('{"a": "5", "y": 2}', r"line 3, key 'a': '5' is not a number; correct it .* or declare the column as text"),
        ('{"a": 1e999, "y": 2}', r"line 3, column 'a': inf is not finite; correct it or drop the row"),
        ('{"a": 1' + "0" * 400 + ', "y": 2}', r"line 3, key 'a': '10+…' is not finite"),
        ('{"a": 1' + "0" * 5000 + ', "y": 2}', r"line 3: it is not JSON \(Exceeds the limit"),
        ("[" * 100_000, r"line 3: it is nested too deeply"),
        (b'{"a": 1, "\xff": 2}', r"line 3: it is not UTF-8 text; save the file as UTF-8"),
        ('{"a": 1, "b": "\\ud800", "y": 2}', r"line 3, key 'b': '\\ud800' is not text in Unicode"),
        ('{"a": 1, "b": null, "y": 2}', r"line 3, column 'b': the value is missing"),
        ('{"a": 1, "y": 2}', r"line 3, column 'b': the value is missing"),
    ],
)  # fmt: skip
def test_bad_json_lines(tmp_path: Path, line: str | bytes, message: str) -> None:
    path = tmp_path / "t.jsonl"
    good = b'{"a": 1, "b": "x", "y": 2}\n'
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\n" + (line.encode() if isinstance(line, str) else line) + b"\n" + good)
    with pytest.raises((InputError, FileError), match=message) as caught:
        joined(read(path, "y"))
    assert str(path) in str(caught.value)


def test_keys_appear_vanish_and_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    lines = [{"a": k, "b": 2 * k, "y": -k} for k in range(1000)]
    late = [{"y": -1000, "c": 1, "a": 1000}, {"b": 7, "y": -1001, "a": 1001}]
    path.write_text("\n".join(json.dumps(line) for line in [*lines, *late]))
    stream = read(path, "y", missing="mean", block=100)
    X, y = joined(stream)
    np.testing.assert_array_equal(X[1000:], [[1000, 999.0], [1001, 7]])
    np.testing.assert_array_equal(y, -np.arange(1002))
    assert [note for note in stream.notes() if "rise along the rows" not in note] == [
        f"the key 'c', which first appears in {path}, line 1001, is not used; keep columns free for such keys: spare=1 (--spare 1)",
        "1 missing value of 'b' was filled in; missing='refuse' (--missing refuse) stops at the first",
    ]
    monkeypatch.setattr(jsonl_file, "ROWS_AT_ONCE", 6)  # divides 1002: no empty table may end a block early
    blocks = list(stream)
    assert [len(y) for _, y in blocks] == [100] * 10 + [2]
    assert np.concatenate([X for X, _ in blocks]).tobytes() == X.tobytes()


LIBSVM = "+1 1:0.5 3:-2e0 # a comment\n\n-1\n-1 2:1\n"


def libsvm(folder: Path, text: str | bytes) -> Path:
    path = folder / "t.svm"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_libsvm(tmp_path: Path) -> None:
    stream = read(libsvm(tmp_path, LIBSVM))
    X, y = joined(stream)
    np.testing.assert_array_equal(X, [[0.5, 0, -2], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(y, [1, -1, -1])
    assert stream.names == ("x1", "x2", "x3")
    zero = read(libsvm(tmp_path, LIBSVM + "1 0:9\n"), columns=["x3", "x0"])
    np.testing.assert_array_equal(joined(zero)[0], [[-2, 0], [0, 0], [0, 0], [0, 9]])


def test_libsvm_as_scikit_learn_reads_it(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    X = scipy.sparse.random(300, 40, 0.1, format="csr", rng=0)
    y = np.random.default_rng(0).normal(size=300)
    path = tmp_path / "t.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    theirs, labels = load_svmlight_file(str(path), zero_based=False)
    for block in (1, 64, 1000):
        ours = joined(read(path, block=block))
        assert ours[0].tobytes() == theirs.toarray().tobytes()
        assert ours[1].tobytes() == labels.tobytes()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("yes 1:2", r"line 2: 'yes' is not a number; correct it"),
        ("1 2", r"line 2: '2' is not index:value"),
        ("1 qid:3 1:2", r"line 2: 'qid:3' is not index:value"),
        ("1 1:nan", r"line 2: 'nan' is not a number"),
        ("1 1:inf", r"line 2: 'inf' is not finite"),
        ("1 1:2 1:3", r"line 2: the index 1 appears twice"),
        ("1 9999999999:1", r"line 2: the index '9999999999' is beyond"),
        ("1 -1:1", r"line 2: '-1:1' is not index:value"),
        (b"1 1:\xff", r"line 2: '\ufffd' is not a number"),
    ],
)
def test_bad_libsvm(tmp_path: Path, line: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        joined(read(libsvm(tmp_path, b"1 1:1\n" + (line.encode() if isinstance(line, str) else line) + b"\n")))


def test_libsvm_without_rows_or_features_or_through_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no rows"):
        read(libsvm(tmp_path, "\n# nothing\n"))
    with pytest.raises(InputError, match="there are labels but no features"):
        read(libsvm(tmp_path, "1\n-1\n"))
    with pytest.raises(InputError, match="numbers only, but 'x1' was declared as text"):
        read(libsvm(tmp_path, "1 1:1\n"), text=["x1"])
    source = open_libsvm(Pipe(io.BytesIO(b"1 1:1\n" * 300_000 + b"1 2:1\n")), None, {})
    with pytest.raises(InputError, match=r"line 300001: the index 2 is not one of 1 to 1; save the data to a file first"):
        list(source.tables())


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrices_in_memory(form: str) -> None:
    X = scipy.sparse.random(300, 40, 0.1, format=form, rng=0)
    y = np.arange(300.0)
    for block in (7, 1000):
        stream = read(X, y, block=block)
        found, labels = joined(stream)
        assert found.tobytes() == X.toarray().tobytes()
        assert labels.tobytes() == y.tobytes()
    assert stream.rows == 300
    np.testing.assert_array_equal(joined(read(X.toarray(), y, columns=["x3", "x0"]))[0], X.toarray()[:, [3, 0]])
    with pytest.raises(InputError, match=r"y must hold one label for each of the 300 rows, got shape \(2,\)"):
        read(X, y[:2])
    with pytest.raises(InputError, match=r"X must be a matrix of numbers, got shape \(3,\)"):
        read(np.ones(3), y)
    with pytest.raises(InputError, match=r"X, row 2 \(counted from 0\), column 'x1': the value is missing"):
        joined(read(np.array([[1, 2], [3, 4], [5, np.nan]]), np.ones(3)))


def test_wide_rows_are_cut_by_their_bytes(tmp_path: Path) -> None:
    path = libsvm(tmp_path, "".join(f"1 {1 + k}:1 100000:1\n" for k in range(60)))
    stream = read(path, block=50)
    assert len(stream.sample) == 20
    assert [X.shape for X, _ in stream] == [(50, 100_000), (10, 100_000)]
    assert [len(y) for _, y in read(path)] == [20, 20, 20]
    with pytest.raises(InputError, match=r"a block of 4096 rows and 100001 columns takes 3\.3 GB; choose block=1342 or less"):
        read(path, block=4096)


def test_values_are_hashed_by_blake2_of_name_and_value() -> None:
    """A saved model relies on it."""
    X = np.zeros((3, 16))
    towns = ["Bonn", "Ulm", "Köln"]
    Hashed("town", 16).write(strings(towns), Encoder((Number("a"),)).init(), X, True)
    for row, town in zip(X, towns, strict=True):
        digest = hashlib.blake2b(b"town\0" + town.encode(), digest_size=8).digest()
        assert np.flatnonzero(row).tolist() == [digest[-1] % 16]
        assert row.sum() == (1.0 if digest[0] >= 128 else -1.0)
