"""Files read back to the bit, in bounded memory; every bad file is one of our two errors, with place and remedy."""

from __future__ import annotations

import csv
import io
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel._types import Matrix, Vector
from onkel.data import byte_streams, csv_records, smooth
from onkel.data.table import Origin, Table, recut
from onkel.errors import FileError, InputError
from onkel.model import Stream, read

pytestmark = pytest.mark.once

GOOD = "a,b,y\n1,2,3\n4,5,6\n7,8,9\n"
INTO_NEXT_PIECE = 60_000  # lines that fill more than one of pyarrow's pieces


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def joined(stream: Stream) -> tuple[Matrix, Vector]:
    blocks = list(stream)
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def bits(values: Any) -> bytes:
    return np.ascontiguousarray(values, np.float64).tobytes()


# the cells a person or a program may write for a number; repr() is exact
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.one_of(finite.map(repr), finite.map(lambda v: f"{v:+.17e}"), st.integers(-(2**53), 2**53).map(str))


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(2, 5))
    return draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=30))


@settings(max_examples=120, deadline=None, database=None)
@given(
    table=tables(),
    block=st.integers(1, 40),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    bom=st.booleans(),
    data=st.data(),
)
def test_csv_reads_back_to_the_bit(
    table: list[list[str]], block: int, quoting: Any, end: str, bom: bool, data: st.DataObject
) -> None:
    target = data.draw(st.integers(0, len(table[0]) - 1))
    names = [f"column {j}, with ümläut" for j in range(len(table[0]))]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([names, *table])
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), text.getvalue().encode("utf-8-sig" if bom else "utf-8"))
        stream = read(path, names[target], block=block)
        blocks = list(stream)
    values = np.array([[float(cell) for cell in row] for row in table])
    assert stream.names == tuple(np.delete(names, target))
    assert [len(y) for _, y in blocks] == [len(table[i : i + block]) for i in range(0, len(table), block)]
    assert bits(np.concatenate([X for X, _ in blocks])) == bits(np.delete(values, target, axis=1))
    assert bits(np.concatenate([y for _, y in blocks])) == bits(values[:, target])
    for X, y in blocks:
        assert X.dtype == y.dtype == np.float64
        assert X.flags.c_contiguous
        assert X.flags.owndata


@settings(max_examples=60, deadline=None, database=None)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12))
def test_recut_keeps_every_row_in_order(sizes: list[int], block: int) -> None:
    rows = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    starts = np.cumsum([0, *sizes])
    tables = [
        Table(("a", "b"), rows[i:j], {}, {}, (Origin(int(j - i), int(i), "row {}".format),))
        for i, j in itertools.pairwise(starts)
        if i < j
    ]
    cut = list(recut(tables, block))
    assert all(len(piece) == block for piece in cut[:-1])
    assert all(0 < len(piece) <= block for piece in cut)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 2)), *(piece.numbers for piece in cut)]), rows)
    places = [piece.place(k) for piece in cut for k in range(len(piece))]
    assert places == [f"row {k}" for k in range(len(rows))]


@pytest.mark.parametrize("block", [1, 1000, 4096, 10**6])
def test_csv_of_many_pieces(tmp_path: Path, block: int) -> None:
    X, y = smooth(20_000, dim=3)
    path = tmp_path / "t.csv"
    np.savetxt(path, np.column_stack([y, X]), fmt="%.17g", delimiter=",", header="y,p,q,r", comments="")
    assert path.stat().st_size > byte_streams.CHUNK
    stream = read(path, "y", block=block)
    for _ in range(2):  # a stream can be read again
        read_X, read_y = joined(stream)
        assert bits(read_X) == bits(X)
        assert bits(read_y) == bits(y)
    assert (stream.name, stream.target.name, stream.names, stream.rows) == (str(path), "y", ("p", "q", "r"), None)


@pytest.mark.parametrize(
    "text",
    [
        "\n\r\n" + GOOD,
        GOOD.replace("\n", "\r\n") + "\r\n\r\n",
        GOOD.replace("4,5,6\n", "\n\n4,5,6\n"),
        GOOD.rstrip("\n"),
        GOOD.replace("5", '"5"').replace("b", '"b"'),
        GOOD.replace("5", " 5\t"),
        GOOD.replace("5", '" +5.0"').replace("8", "8e0").replace("9", "09."),
        GOOD.replace("5", '"\n5"'),  # pyarrow refuses, the csv module does not
        GOOD.replace("7", "7.0000000000000000000000000000001"),
    ],
)
def test_csv_dialects(tmp_path: Path, text: str) -> None:
    X, y = joined(read(written(tmp_path, text), "y"))
    np.testing.assert_array_equal(X, [[1, 2], [4, 5], [7, 8]])
    np.testing.assert_array_equal(y, [3, 6, 9])


def test_numbers_at_the_ends_of_float64(tmp_path: Path) -> None:
    cells = ["5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "-0", "1e-999", "9007199254740993", "0.1e1"]
    X, _ = joined(read(written(tmp_path, "a,y\n" + "".join(f"{cell},1\n" for cell in cells)), "y"))
    assert bits(X[:, 0]) == bits([float(cell) for cell in cells])


@pytest.mark.parametrize("times", [1, 2, 3, 5, 10, 2**30, 2**64])
@pytest.mark.parametrize("form", ["{}", "-{}", "00{}", "{}.5", "{}e-3"])
def test_whole_numbers_that_wrap_around_in_64_bits(tmp_path: Path, times: int, form: str) -> None:
    cell = form.format(times * 2**64)
    X, _ = joined(read(written(tmp_path, f"a,y\n{cell},1\n"), "y"))
    assert X[0, 0] == float(cell)


def test_suffix_in_capitals_and_path_as_text(tmp_path: Path) -> None:
    assert read(str(written(tmp_path, GOOD, "T.CSV")), "y").names == ("a", "b")


def test_columns_choose_features_and_their_order(tmp_path: Path) -> None:
    path = written(tmp_path, "name,a,b,y,\nann,1,2,3,\nbob,4,5,6,\n")
    stream = read(path, "y", columns=["b", "a"])
    assert stream.names == ("b", "a")
    np.testing.assert_array_equal(joined(stream)[0], [[2, 1], [5, 4]])
    np.testing.assert_array_equal(joined(read(path, "b", columns=("y",)))[1], [2, 5])


def test_line_longer_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "CHUNK", 64)
    path = written(tmp_path, GOOD.replace("5", "5." + "0" * 200))
    np.testing.assert_array_equal(joined(read(path, "y", block=1))[0], [[1, 2], [4, 5], [7, 8]])
    monkeypatch.setattr(csv_records, "LONGEST_LINE", 100)
    with pytest.raises(FileError, match=r"a line is longer than 100 characters; is it a csv file\?"):
        joined(read(path, "y"))


LEAVE_OUT = (
    r"; correct it or drop the line, leave the column out, if it is an input \(without=\['b'\], or --without b\), or"
    r" declare the column as text \(text=\['b'\], or --text b\)$"
)
UNCLOSED = r"is not closed at the end of a cell; close it or remove it; a quote that belongs to a quoted cell is written twice$"
GAP = (
    r": the value is missing; fill it, leave the column out \(without=\['\w+'\], or --without \w+\), "
    r"or say what to do: missing='mean' or 'drop'"
)


@pytest.mark.parametrize(
    ("error", "text", "message"),
    [
        (FileError, "", r"t\.csv is empty; write the data again"),
        (FileError, "\n\r\n\n", r"t\.csv is empty: it has only blank lines"),
        (FileError, "a,b,y\n\n", r"t\.csv has a header but no rows"),
        (FileError, "1,2,3\n4,5,6\n", r"t\.csv, line 1: no header, only numbers \('1,2,3'\); put a line of column names first"),
        (FileError, "\n1,,3\n4,5,6\n", r"line 2: no header"),
        (FileError, b"a,b\xff,y\n1,2,3\n", r"line 1: the header is not UTF-8 text; save the file as UTF-8"),
        (FileError, "a,b,y\n1,2,3\n".encode("utf-16"), r"line 1: the header is not UTF-8 text; save the file as UTF-8"),
        (FileError, b"a,b,y\n1,2,3\n1,\xe92,3\n", r"line 3, column 'b': b'\\xe92' is not UTF-8 text; save the file as UTF-8"),
        (InputError, "a,b,a,y\n1,2,3,4\n", r"two columns are named 'a'; rename one"),
        (InputError, "y\n1\n", r"there are no feature columns, only 'y'; give at least one"),
        (InputError, "a:b:y\n1:2:3\n", r"has no column 'y'; choose one of: 'a:b:y'"),
        (InputError, "a;b;y\n1;2;3;4\n", r"line 2: 4 fields, but the header has 3; quote the fields that contain semicolons"),
        (InputError, GOOD.replace("5", "five"), r"t\.csv, line 3, column 'b': 'five' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "x" * 99), r"line 3, column 'b': 'x{40}…' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "1_000"), r"line 3, column 'b': '1_000' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "٥"), r"line 3, column 'b': '٥' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", '"5,0"'), r"line 3, column 'b': '5,0' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "0x5"), r"line 3, column 'b': '0x5' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("5", ""), r"line 3, column 'b'" + GAP),
        (InputError, GOOD.replace("5", " "), r"line 3, column 'b'" + GAP),
        (InputError, GOOD.replace("5", "nan"), r"line 3, column 'b'" + GAP),
        (InputError, GOOD.replace("5", "NULL"), r"line 3, column 'b'" + GAP),
        (InputError, GOOD.replace("5", "-inf"), r"line 3, column 'b': '-inf' is not finite" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "1e999"), r"line 3, column 'b': '1e999' is not finite" + LEAVE_OUT),
        (InputError, GOOD.replace("5", "NAN"), r"line 3, column 'b': 'NAN' is not a number" + LEAVE_OUT),
        (InputError, GOOD.replace("6", "yes"), r"line 3, column 'y': 'yes' is not a number; correct it or drop the line"),
        (InputError, GOOD.replace("6", ""), r"line 3, column 'y': the label is missing; fill it, or leave such rows out"),
        (InputError, GOOD + "a,b,y\n", r"line 5, column 'a': 'a' is not a number; this line repeats the header; drop it$"),
        (InputError, GOOD.replace("4,5,6", "none,5,six"), r"line 3, column 'a': 'none' is not a number"),
        (InputError, GOOD.replace("4,5,6", "4,5"), r"line 3: 2 fields, but the header has 3; complete the line or drop it"),
        (InputError, GOOD.replace("4,5,6", "4,5,6,6"), r"line 3: 4 fields, but the header has 3; quote the fields"),
        (InputError, GOOD.replace("4,5,6", " "), r"line 3: 1 field, but the header has 3; complete the line or drop it"),
        (InputError, GOOD.replace("\n", "\r\n").replace("8", "!"), r"line 4, column 'b': '!' is not a number"),
        (InputError, GOOD.replace("\n", "\r").replace("8", "!"), r"line 4, column 'b': '!' is not a number"),
        (InputError, GOOD.replace("4,5", "\n\n4,!"), r"line 5, column 'b': '!' is not a number"),
        (InputError, GOOD.replace("2", '"\n2\n"').replace("5", "!"), r"line 5, column 'b': '!' is not a number"),
        (InputError, '"a\nname",b,y\n1,!,3\n2,2,2\n', r"line 3, column 'b': '!' is not a number"),
        (InputError, GOOD.replace("5,6", '"5,6"').replace("9", "9!"), r"line 3: 2 fields, but the header has 3; complete the line"),
        (InputError, GOOD.replace("5", '"\n5').replace("9", '9"'), r"line 5: 2 fields \(the record begins on line 3: is a quote"),
        (InputError, GOOD.replace("4", '"\n4"').replace("6", '"6').replace("9", '9"'), r"line 5, .*is the quote on line 4 left"),
        (InputError, GOOD.replace("5", '"5'), r"line 3: the quote before '5,6\\n7,8,9\\n' " + UNCLOSED),
        (InputError, GOOD.replace("6", '"6'), r"line 3: the quote before '6\\n7,8,9\\n' " + UNCLOSED),
        (InputError, GOOD.replace("4", '"\n4"').replace("6", '"6'), r"line 4: the quote before '6\\n7,8,9\\n' " + UNCLOSED),
        (InputError, GOOD + '"', r"line 5: the quote before '' " + UNCLOSED),
        (InputError, GOOD.replace("5", '"5" 5'), r"line 3: the quote before '5\" 5,6\\n' " + UNCLOSED),
        (InputError, GOOD.replace("b", '"b'), r"line 1: the quote before 'b,y\\n1,2,3\\n4,5,6\\n7,8,9\\n' " + UNCLOSED),
        (InputError, GOOD.replace("6", '"6' + "\n" * 140_000), r"line 3: a cell is longer than .*; is the quote before '6.* left"),
        (InputError, GOOD.replace("6", "6" * 140_000), r"line 3: a cell is longer than 131,072 characters; shorten it$"),
        (FileError, GOOD.replace("5", "5\0"), r"line 3, column 'b': '5\\x00' has a NUL byte in it; save the file as UTF-8, or"),
        (FileError, GOOD.replace("b", "b\0"), r"line 1: the header has NUL bytes in it; save the file as UTF-8, or remove such"),
        (FileError, GOOD.encode("utf-16-le"), r"line 1: the header has NUL bytes in it; save the file as UTF-8"),
        (InputError, GOOD + "8,9" + "\0" * 600, r"line 5: 2 fields, but the header has 3; complete the line or drop it"),
    ],
)  # fmt: skip
def test_bad_csv(tmp_path: Path, error: type[Exception], text: str | bytes, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        joined(read(written(tmp_path, text), "y"))
    assert str(tmp_path / "t.csv") in str(caught.value)


@pytest.mark.parametrize("block", [100, 4096, 10**6])
@pytest.mark.parametrize("bad", [INTO_NEXT_PIECE, 2 * INTO_NEXT_PIECE])
def test_bad_cell_deep_in_a_file(tmp_path: Path, block: int, bad: int) -> None:
    lines = [f"{t}.0000,{t}.5000" for t in range(2 * INTO_NEXT_PIECE + 7)]
    lines[bad] = "none,1"
    path = written(tmp_path, "a,y\n" + "\n".join(lines))
    seen: list[float] = []

    def read_all() -> None:
        for X, _ in read(path, "y", block=block):
            seen.extend(X[:, 0])

    with pytest.raises(InputError, match=rf"line {bad + 2}, column 'a': 'none' is not a number"):
        read_all()
    assert bad - 2 * block < len(seen) <= bad
    assert seen == list(range(len(seen)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": None}, r"t\.csv: choose the target, one of: 'first', 'second', 'price'"),
        ({"target": "prise"}, r"has no column 'prise'; did you mean 'price'\? choose one of: 'first', 'second', 'price'"),
        ({"target": "zzz"}, r"has no column 'zzz'; choose one of: 'first', 'second', 'price'"),
        ({"target": ""}, r"has no column ''; choose one of"),
        ({"target": 2}, r"has no column '2'; choose one of"),
        ({"target": [1, 2, 3]}, r"target must be the name of a column of .*, got list; name it, as in 'price'"),
        ({"columns": ["frist"]}, r"has no column 'frist'; did you mean 'first'\?"),
        ({"columns": "first"}, r"columns must be a list of names, got 'first'"),
        ({"columns": [0.5]}, r"columns must be a list of names, got \[0.5\]"),
        ({"columns": []}, r"there are no feature columns, only '.+'; give at least one"),
        ({"columns": ["first", "price"]}, r"columns must name each feature once and not the target"),
        ({"columns": ["first", "first"]}, r"columns must name each feature once and not the target"),
        ({"block": 0}, r"block must be a whole number of rows, at least 1, got 0"),
        ({"block": 1.5}, r"block must be a whole number of rows, at least 1, got 1\.5"),
        ({"block": True}, r"block must be a whole number of rows"),
        ({"block": 10**9}, r"a block of 1000000000 rows and 3 columns takes 24\.0 GB; choose block=44739242 or less"),
        ({"path": 3}, r"path must name a file or be a table, an array or dicts, got a int; convert it"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    path = written(tmp_path, "first,second,price\n1,2,3\n")
    with pytest.raises(InputError, match=message):
        read(**{"path": path, "target": "price", **arguments})


GAPS = ["", " ", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "nil", ".", "-", "--"]


@pytest.mark.parametrize("quote", ["", '"'])  # with a quote at an odd place the csv module reads the file
def test_words_for_a_missing_value(tmp_path: Path, quote: str) -> None:
    """They are missing among numbers, dates and times; in a column of strings they are strings, such as NA for Namibia."""
    rows = "".join(f"{gap},{gap},{gap},x{quote},1\n1,2026-01-02,14:05,{gap},2\n" for gap in GAPS)
    found = read(written(tmp_path, "n,d,t,s,y\n" + rows), "y", missing="mean", hashed=["s"])
    assert [column.kind.name for column in found.encoder.columns] == ["NUMBER", "DATE", "TIME", "TEXT"]
    list(found)
    counts = {"n": len(GAPS), "d": len(GAPS), "t": len(GAPS), "s": 2}
    assert found.state.filled == counts
    assert {name for name, value in found.sample.strings.items() if len(value.values) == len(GAPS) - 1} == {"s"}


def test_columns_without_a_name(tmp_path: Path) -> None:
    """Row numbers, as pandas and R write them, are no input unless they are asked for; another unnamed column gets a name."""
    numbered = written(tmp_path, ",b,,y\n" + "".join(f"{k},{k % 3},{k * k},{k % 2}\n" for k in range(7, 30)))
    found = read(numbered, "y")
    assert found.names == ("b", "column 3")
    assert found.source.notes() == [
        "'column 1', which has no name, only counts the rows and was left out",
        "a column has no name and is called 'column 3'",
    ]
    assert next(iter(found))[0][:, 1].tolist() == [k * k for k in range(7, 30)]
    assert read(numbered, "y", columns=["column 1"]).names == ("column 1",)
    assert read(numbered, "y", without=["column 3"]).names == ("b",)
    quoted = written(tmp_path, '"","b","y"\n' + "".join(f'"{k}","x""","{k % 2}"\n' for k in range(1, 9)), "r.csv")
    assert read(quoted, "y").names == ("b",)
    again = written(tmp_path, "Unnamed: 0,b,y\n" + "".join(f"{k},{k % 3},{k % 2}\n" for k in range(20)), "again.csv")  # by pandas
    assert read(again, "y").names == ("b",)


def test_a_long_list_of_columns_is_cut(tmp_path: Path) -> None:
    path = written(tmp_path, ",".join(f"c{j}" for j in range(50)) + "\n" + ",".join("1" * 50) + "\n")
    with pytest.raises(InputError, match=r"one of: 'c0', .*'c19' and 30 more$"):
        read(path)


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.csv does not exist; check the path \(relative ones start at /"):
        read(tmp_path / "none.csv", "y")
    with pytest.raises(FileError, match=r"is a folder; name a file in it"):
        read(tmp_path, "y")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match=r"is not a regular file; copy its contents to one, or pipe"):
        read(tmp_path / "pipe.csv", "y")
    with pytest.raises(FileError, match=r"cannot be read: .*; check the disk and the permissions"):
        read(tmp_path / ("x" * 300 + ".csv"), "y")


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, GOOD)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileError, match=r"t\.csv cannot be read: Permission denied; check the disk and the permissions"):
        read(path, "y")


def test_a_file_that_changes_after_it_was_opened(tmp_path: Path) -> None:
    stream = read(written(tmp_path, GOOD), "y")
    written(tmp_path, GOOD.replace("b", "c"))
    with pytest.raises(FileError, match=r"the header changed since the file was opened; read it again"):
        joined(stream)
    Path(stream.name).unlink()
    with pytest.raises(FileError, match=r"cannot be read: No such file"):
        joined(stream)
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), y=np.ones(3))
    stream = read(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.ones((3, 1)), y=np.ones(3))
    with pytest.raises(FileError, match=r"changed since it was opened; read it again"):
        joined(stream)


def test_mutated_csv_reads_as_the_csv_module_reads_it_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    rows = [f'{rng.gauss(0, 1)!r},"{rng.randint(-9, 9)}",{rng.random() * 10.0 ** rng.randint(-300, 300):.17g}' for _ in range(12)]
    valid = ("\ufeff" + "\r\n".join(['a,"b",y', *rows, "", ""])).encode()
    read_well = 0
    for _ in range(300):
        content = bytearray(valid)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(content))
            content[place : place + rng.randint(0, 1)] = bytes(
                rng.choices(b'",\r\n0123456789.eE+-naif \t_;\x00\xc3\xff', k=rng.randint(0, 1))
            )
        path = written(tmp_path, bytes(content))
        monkeypatch.setattr(byte_streams, "CHUNK", rng.choice([100, 1 << 20]))
        try:
            X, y = joined(read(path, "y", block=rng.choice([1, 5, 100])))
        except (InputError, FileError):
            continue
        header, *records = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")) if row]
        values = np.array([[float(cell) for cell in row] for row in records])
        target = header.index("y")
        assert bits(y) == bits(values[:, target])
        assert bits(X) == bits(np.delete(values, target, axis=1))
        read_well += 1
    assert 30 < read_well < 270  # both ways were taken


def sparse(matrix: Any, **more: Any) -> dict[str, Any]:
    fields = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {**fields, "format": np.array(matrix.format.encode()), "y": np.arange(float(matrix.shape[0])), **more}


@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2", "<i8", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_npz(tmp_path: Path, block: int, dtype: str, order: Any) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(30, 4)) * 3 % 7, dtype=dtype, order=order)
    y = np.arange(30).astype(dtype)
    np.savez_compressed(tmp_path / "t.npz", X=X, y=y, other=np.array(["text"]))
    stream = read(tmp_path / "t.npz", block=block)
    assert (stream.rows, stream.names, stream.target.name) == (30, ("x0", "x1", "x2", "x3"), "y")
    blocks = list(stream)
    assert [len(labels) for _, labels in blocks] == [min(block, 30 - i) for i in range(0, 30, block)]
    assert all(part.dtype == np.float64 and part.flags.c_contiguous and part.flags.writeable for pair in blocks for part in pair)
    assert bits(np.concatenate([part for part, _ in blocks])) == bits(X.astype(np.float64))
    assert bits(np.concatenate([part for _, part in blocks])) == bits(y.astype(np.float64))


@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
def test_sparse_npz(tmp_path: Path, block: int, density: float) -> None:
    matrix = scipy.sparse.random(50, 9, density, format="csr", rng=0)
    np.savez(tmp_path / "t.npz", **sparse(matrix, names=np.arange(50) - 3))
    X, y = joined(read(tmp_path / "t.npz", "names", block=block, columns=["x8", "x0"]))
    assert bits(X) == bits(matrix.toarray()[:, [8, 0]])
    np.testing.assert_array_equal(y, np.arange(50) - 3)


def test_repeated_entries_of_a_sparse_row_add_up(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3, 3])), shape=(2, 2))
    np.savez(tmp_path / "t.npz", **sparse(matrix))
    np.testing.assert_array_equal(joined(read(tmp_path / "t.npz"))[0], [[4, 3], [0, 0]])


def test_feature_names_of_an_npz(tmp_path: Path) -> None:
    for names in (np.array(["ä", "b"]), np.array([b"a", b"b"])):
        np.savez(tmp_path / "t.npz", X=np.array([[1.0, 2.0]]), y=np.ones(1), feature_names=names)
        expected = tuple(names.astype(str))
        assert read(tmp_path / "t.npz").names == expected
        np.testing.assert_array_equal(joined(read(tmp_path / "t.npz", columns=[expected[1]]))[0], [[2]])


X32, Y3 = np.arange(6.0).reshape(3, 2), np.arange(3.0)
CSR = scipy.sparse.csr_matrix(X32)


@pytest.mark.parametrize(
    ("error", "arrays", "message"),
    [
        (FileError, {"Z": X32, "y": Y3}, r"t\.npz has neither X nor data, indices, indptr, shape; it holds: 'Z', 'y'"),
        (InputError, {"X": X32, "yy": Y3}, r"has no array of labels 'y'; did you mean 'yy'\? choose one of: 'yy'"),
        (InputError, {"X": X32}, r"has no labels; save it with them, as in np.savez\('.*', X=X, y=y\)"),
        (InputError, {"X": Y3, "y": Y3}, r"X must have two dimensions, \(rows, features\), got shape \(3,\)"),
        (InputError, {"X": X32, "y": Y3[:2]}, r"y must hold one label for each of the 3 rows of X, got shape \(2,\)"),
        (InputError, {"X": X32, "y": X32}, r"y must hold one label for each of the 3 rows of X, got shape \(3, 2\)"),
        (FileError, {"X": X32[:0], "y": Y3[:0]}, r"has no rows; write the data again"),
        (InputError, {"X": X32[:, :0], "y": Y3}, r"there are no feature columns, only '.+'; give at least one"),
        (InputError, {"X": X32, "y": Y3 + 1j}, r"array y holds complex128, not numbers or strings; convert it before saving"),
        (InputError, {"X": X32 + 1j, "y": Y3}, r"array X holds complex128, not numbers; convert it before saving"),
        (InputError, {"X": X32, "y": Y3, "feature_names": np.array(["a"])}, r"feature_names must have shape \(2,\), .* got \(1,\)"),
        (InputError, {"X": X32, "y": Y3, "feature_names": np.array(["a", "a"])}, r"two columns are named 'a'; rename one"),
        (
            InputError,
            {"X": X32, "y": Y3, "feature_names": Y3[:2]},
            r"array feature_names holds float64, not strings; convert it before saving",
        ),
        (FileError, {"X": X32, "y": Y3, "feature_names": np.array([b"a", b"\xff"])}, r"feature_names are not ASCII bytes"),
        (FileError, sparse(CSR, format=np.array(b"csc")), r"the matrix is not stored as csr; save matrix\.tocsr\(\)"),
        (FileError, sparse(CSR, shape=np.array([3])), r"do not make a csr matrix; save it again with scipy\.sparse\.save_npz"),
        (FileError, sparse(CSR, shape=np.array([-1, 2])), r"do not make a csr matrix"),
        (FileError, sparse(CSR, indices=CSR.indices[1:]), r"do not make a csr matrix"),
        (FileError, sparse(CSR, indptr=CSR.indptr + 1), r"do not make a csr matrix"),
        (FileError, sparse(CSR, indptr=np.array([0, 4, 2, 5])), r"indptr does not rise from 0 to the number of entries"),
        (FileError, sparse(CSR, indptr=np.array([0, 2, 4, 2**60])), r"indptr does not rise from 0 to the number of entries"),
        (FileError, sparse(CSR, indices=CSR.indices + 1), r"indices point outside the 2 columns; save the matrix again"),
        (FileError, sparse(CSR, indices=CSR.indices - 1), r"indices point outside the 2 columns; save the matrix again"),
        (InputError, sparse(CSR, indices=CSR.indices * 1.0), r"array indices holds float64, not"),
        (
            InputError,
            sparse(CSR, shape=np.array([3, 2**60])),
            r"a row of \d+ columns takes .* GB; choose fewer columns",
        ),
        (
            InputError,
            sparse(CSR, data=CSR.data * np.nan),
            r"t\.npz, row 0 \(counted from 0\), column 'x1': the value is missing",
        ),
    ],
)
def test_bad_npz(tmp_path: Path, error: type[Exception], arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(error, match=message) as caught:
        joined(read(tmp_path / "t.npz", block=2))
    assert str(tmp_path / "t.npz") in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_in_an_npz_that_is_not_finite(tmp_path: Path, value: float) -> None:
    X, y = np.ones((10, 3)), np.ones(10)
    X[7, 2] = value
    np.savez(tmp_path / "t.npz", X=X, y=y)
    blocks = iter(read(tmp_path / "t.npz", block=3))
    assert len(next(blocks)[1]) + len(next(blocks)[1]) == 6
    wrong = "the (value|label) is missing" if np.isnan(value) else f"{value} is not finite; correct it or drop the row"
    place = rf"row 7 \(counted from 0\), column 'x2': {wrong}"
    with pytest.raises(InputError, match=place):
        next(blocks)
    assert len(joined(read(tmp_path / "t.npz", columns=["x0", "x1"]))[1]) == 10
    y[9] = value
    np.savez(tmp_path / "t.npz", X=np.ones((10, 3)), y=y)
    with pytest.raises(InputError, match=rf"row 9 \(counted from 0\), column 'y': {wrong}"):
        joined(read(tmp_path / "t.npz"))


def test_a_number_beyond_float64(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.full((2, 1), np.longdouble("1e4000")), y=np.ones(2))
    with pytest.raises(InputError, match=r"row 0 \(counted from 0\), column 'x0': inf is not finite"):
        joined(read(tmp_path / "t.npz"))


def test_the_features_cannot_be_the_target(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=X32, y=Y3, label=Y3)
    for name in ("X", "feature_names"):
        with pytest.raises(InputError, match=rf"has no array of labels '{name}'; .*choose one of: 'y', 'label'"):
            read(tmp_path / "t.npz", name)


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("name", ["X", "y", "feature_names"])
def test_nothing_is_unpickled(tmp_path: Path, name: str) -> None:
    arrays: dict[str, Any] = {"X": X32, "y": Y3, "feature_names": np.array(["a", "b"])}
    arrays[name] = np.full(arrays[name].shape, Canary(tmp_path / "woken"), dtype=object)
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(FileError, match=rf"array {name} cannot be read \(.*Python objects in dtype.*\); save it as an array of"):
        joined(read(tmp_path / "t.npz"))
    assert not (tmp_path / "woken").exists()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_truncated_npz(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "t.npz"
    X, y = smooth(40, dim=3)
    save(path, X=X, y=y)
    content = path.read_bytes()
    for size in range(0, len(content), 50):
        path.write_bytes(content[:size])
        with pytest.raises(FileError, match=r"t\.npz is (empty|damaged or not an npz file \(.+\)); write"):
            joined(read(path))


def test_altered_npz_gives_the_same_numbers_or_an_error(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "t.npz"
    X, y = smooth(40, dim=3)
    for save in (np.savez, np.savez_compressed):
        save(path, X=X, y=y)
        content = path.read_bytes()
        refused = 0
        for _ in range(200):
            altered = bytearray(content)
            altered[rng.randrange(len(altered))] ^= 1 << rng.randrange(8)
            path.write_bytes(altered)
            try:
                read_X, read_y = joined(read(path))
            except (InputError, FileError):
                refused += 1
                continue
            assert bits(read_X) == bits(X)
            assert bits(read_y) == bits(y)
        assert refused > 150


@pytest.mark.parametrize("name", ["X", "y"])
def test_checksums_are_verified_before_the_first_block(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.npz"
    arrays: dict[str, Any] = dict(zip(("X", "y"), smooth(20_000, dim=3), strict=True))  # more than one gulp
    np.savez(path, **arrays)
    content = path.read_bytes()
    last = arrays[name][-1:].tobytes()  # a whole row, or a label, near the end of its array
    path.write_bytes(content.replace(last, last[::-1]))
    with pytest.raises(FileError, match=rf"damaged .*Bad CRC-32 for file '{name}\.npy'.*; write it again with np\.savez"):
        read(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976, 4), }", r"\(overflow encountered"),
        ("{'descr': '<f8', 'fortran_order': True, 'shape': (-1, -6), }", r"\(negative dimensions are not allowed\)"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), 'more': 1, }", r"\(Header does not contain the correct keys"),
        ("{'descr': '<q9', 'fortran_order': False, 'shape': (3, 2), }", r"\(descr is not a valid dtype"),
        ("__import__('os').getcwd()", r"\(malformed node"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", r"\(its shape \(2, 2\) does not fit its size\)"),
    ],
)  # fmt: skip
def test_hostile_array_headers(tmp_path: Path, header: str, message: str) -> None:
    np.savez(tmp_path / "t.npz", y=Y3)
    line = header.ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line.encode() + X32.tobytes()
    with zipfile.ZipFile(tmp_path / "t.npz", "a") as archive:
        archive.writestr("X.npy", content)
    with pytest.raises(FileError, match=r"t\.npz: array X cannot be read " + message + r".*; save it as an array of numbers"):
        read(tmp_path / "t.npz")


def test_memory_is_that_of_a_block(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((300_000, 40), np.uint8), y=np.zeros(300_000))
    lines = "1.5,2.5,3.5,4.5\n" * 1_200_000
    path = written(tmp_path, "a,b,c,y\n" + lines)
    import pyarrow.csv  # before we count; it keeps books of its own

    for stream, expected in ((read(tmp_path / "t.npz"), 300_000), (read(path, "y"), 1_200_000)):
        rows = 0
        tracemalloc.start()
        for _, y in stream:
            rows += len(y)
            assert pyarrow.total_allocated_bytes() < 16e6
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows == expected
        assert peak < 16e6, stream  # the whole is 96 MB and 38 MB


def test_importing_the_package_does_not_import_pyarrow() -> None:
    code = "import sys, onkel.data; sys.exit('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0


def test_the_stream_shows_what_it_is(tmp_path: Path) -> None:
    shown = repr(read(written(tmp_path, GOOD), "y"))
    assert re.fullmatch(r"<Stream of .*t\.csv: a, b -> y>", shown)
