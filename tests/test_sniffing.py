"""Numbers and dates as people write them: decimal commas are read, and what is not is named as what it looks like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from onkel.data.columns import in_thousands
from onkel.errors import FileError, InputError
from onkel.model import Number, Stream, read

pytestmark = pytest.mark.once

COMMAS = "a;k\n1,167;2,5\n3;-1e2\n;,5\n-0,25;7\n"


def stream(folder: Path, content: str, *arguments: Any, name: str = "t.csv", **options: Any) -> Stream:
    (folder / name).write_text(content)
    return read(folder / name, *arguments, **options)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("text", ["", "red"])  # plain numbers and mixed columns go different ways
@pytest.mark.parametrize("quote", ["", '"'])
def test_decimal_commas(tmp_path: Path, separator: str, text: str, quote: str) -> None:
    lines = [line.split(";") for line in COMMAS.split()]
    rows = [[*(quote + cell + quote for cell in line), *([text] if text else [])] for line in lines]
    found = stream(tmp_path, "\n".join(map(separator.join, rows)), "k", columns=["a"], missing="mean")
    ((X, y),) = found
    np.testing.assert_array_equal(X[:, 0], [1.167, 3, (1.167 + 3) / 2, -0.25])
    np.testing.assert_array_equal(y, [2.5, -100, 0.5, 7])
    assert found.notes()[0] == "numbers have decimal commas: '1,167' of 'a' was taken as 1.167"


def test_decimal_commas_without_a_header(tmp_path: Path) -> None:
    found = stream(tmp_path, "1,5;2,5\n3,5;4,5\n", "c1", header=False)
    np.testing.assert_array_equal(next(iter(found))[0], [[1.5], [3.5]])
    with pytest.raises(FileError, match=r"line 1: no header, only numbers \('1,5;2,5'\)"):
        read(tmp_path / "t.csv", "c1")


def test_a_comma_is_never_ambiguous(tmp_path: Path) -> None:
    both = "a;b;y\n1,5;1.5;1\n2,5;2.5;2\n"
    with pytest.raises(InputError, match=r"'1,5' of column 'a' has a decimal comma and '1.5' of column 'b' a point; .*--text b"):
        stream(tmp_path, both, "y")
    assert stream(tmp_path, both, "y", without=["b"]).encoder.columns == (Number("a"),)
    assert stream(tmp_path, both, "y", text=["a"], without=["a"]).encoder.columns == (Number("b"),)
    thousands = "a\ty\n1,250\t1\n2,500\t2\n"
    assert stream(tmp_path, thousands, "y", name="t.tsv").sample.strings.keys() == {"a"}
    np.testing.assert_array_equal(stream(tmp_path, thousands.replace("\t", ";"), "y").sample.numbers[:, 0], [1.25, 2.5])
    with pytest.raises(
        InputError, match=r"line 3, column 'a': '1.250,5' is not a number; write it without marks between the thous"
    ):
        list(stream(tmp_path, "a;y\n1;1,5\n1.250,5;2\n", "y"))


@pytest.mark.parametrize(
    ("cell", "is_one"),
    [("1,000", True), ("-1,000,000.5", True), ("1.000,5", True), ("1.000.000", True), ("1 000", True), ("1'000.5", True),
     ("1.000", False), ("1000,5", False), ("1,00", False), ("1,0000", False), ("a,000", False), ("", False)],
)  # fmt: skip
def test_marks_between_thousands(cell: str, is_one: bool) -> None:
    assert in_thousands(cell) is is_one


def test_texts_that_look_like_numbers_or_dates(tmp_path: Path) -> None:
    found = stream(tmp_path, 'a,d,t,y\n"1,000.5",01/02/2024,x,1\n"2,000.5",02/02/2024,y,2\n', "y")
    first, second = found.notes()
    assert first == "'a' was taken as text: '1,000.5' has marks between its thousands; write numbers without them"
    assert second.startswith("'d' was taken as text: '01/02/2024' looks like a date, but which part is the day, ")
    assert read(tmp_path / "t.csv", "y", text=["a", "d"]).notes() == []
    with pytest.raises(
        InputError, match=r"line 2, column 'd': '01/02/2024' is not a date; write it as 2026-11-16, 2026-11-16 14:05"
    ):
        list(read(tmp_path / "t.csv", "y", dates=["d"]))


def test_dates_where_nothing_stood_at_first(tmp_path: Path) -> None:
    remedy = r"'2024-01-01' is not a number; .*declare the column as dates \(dates=\['d'\], or --dates d\), or .*--text d"
    with pytest.raises(InputError, match=r"line 1002, column 'd': " + remedy):
        list(stream(tmp_path, "d,y\n" + ",1\n" * 1000 + "2024-01-01,2\n", "y", missing="mean"))
    lines = '{"d": null, "y": 1}\n' * 1000 + '{"d": "2024-01-01", "y": 2}\n'
    with pytest.raises(InputError, match=r"line 1001, key 'd': " + remedy):
        list(stream(tmp_path, lines, "y", name="t.jsonl", missing="mean"))
    assert len(next(iter(read(tmp_path / "t.jsonl", "y", missing="mean", dates=["d"])))[1]) == 1001


def test_nan_in_json_lines_is_missing(tmp_path: Path) -> None:
    lines = '{"a": NaN, "t": NaN, "y": 1}\n{"a": 3, "t": "u", "y": 2}\n'
    ((X, _),) = stream(tmp_path, lines, "y", name="t.jsonl", missing="mean")
    np.testing.assert_array_equal(X, [[0, 1, 0, 0, 0, 0, 1], [3, 0, 1, 0, 0, 0, 0]])
    with pytest.raises(InputError, match=r"line 1, column 'a': the value is missing; fill it"):
        list(stream(tmp_path, lines, "y", name="t.jsonl"))
    with pytest.raises(InputError, match=r"line 2: it is not JSON \(-Infinity is not a JSON number\); correct it or drop the line"):
        list(stream(tmp_path, lines.replace("3", "-Infinity"), "y", name="t.jsonl", missing="mean"))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_blanks_around_texts_do_not_count(tmp_path: Path, name: str) -> None:
    labels, path = ["yes", " yes", "no", "yes\t", "\u00a0no", " "], tmp_path / name
    if name == "t.parquet":
        pyarrow.parquet.write_table(pyarrow.table({"a": range(6), "y": labels}), path)
    elif name == "t.csv":
        path.write_text("a,y\n" + "".join(f'{k},"{label}"\n' for k, label in enumerate(labels)))
    else:
        path.write_text("\n".join(json.dumps({"a": k, "y": label}) for k, label in enumerate(labels)))
    np.testing.assert_array_equal(next(iter(read(path, "y", missing="drop")))[1], [1, 1, -1, 1, -1])


def test_codes_that_begin_with_0(tmp_path: Path) -> None:
    content = "zip,share,y\n01000,0.5,1\n,,2\n20095,07.5,3\n"
    found = stream(tmp_path, content, "y", missing="mean")
    assert found.notes() == ["'zip' was taken as numbers, so that '01000' is 1000; if it is a code: text=['zip'], or --text zip"]
    assert read(tmp_path / "t.csv", "y", text=["zip"], missing="mean").notes() == []


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("town,y\nKöln,1\n".encode("latin1"))
    with pytest.raises(
        FileError, match=r"line 2, column 'town': b'K\\xf6ln' is not UTF-8 text; save the file as UTF-8, as in: iconv"
    ):
        read(tmp_path / "t.csv", "y")


def test_a_target_of_as_many_labels_as_rows(tmp_path: Path) -> None:
    note = "the target 'k' was taken as labels, 40 different ones in the first 40 rows, because '0 EUR' is not a number; "
    rows = "".join(f"{k},{k} EUR\n" for k in range(40))
    assert stream(tmp_path, "a,k\n" + rows, "k").notes() == [note + "to predict a number, write it like 1234.5"]
    assert stream(tmp_path, "a,k\n" + rows * 3, "k").notes() == []
    assert stream(tmp_path, "a,k\n" + rows, "k", text=["k"]).notes() == []
