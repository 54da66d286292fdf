"""Workbooks: a sheet gives the bits of the same table in csv and in parquet, and says in its own words what is wrong with it."""

from __future__ import annotations

import csv
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import onkel
from onkel.errors import FileError, InputError
from onkel.model import Number, OneHot, Stream, read
from tests.test_cli import onkel_call

pytestmark = pytest.mark.once
pytest.importorskip("python_calamine")
openpyxl = pytest.importorskip("openpyxl")

ROWS: list[dict[str, Any]] = [
    {
        "size": None if k % 11 == 3 else round(k * 0.1, 1),
        "rooms": k % 5,
        "town": ["Bonn", "Ulm", None, "Kiel"][k % 4],
        "new": k % 3 == 0,
        "when": None if k % 13 == 5 else datetime(2026, 1 + k % 12, 1 + k % 28, k % 24, k % 60, 7, 125000),
        "day": date(2026, 1 + k % 12, 1 + k % 28),
        "opens": None if k % 17 == 2 else time(k % 24, k * 7 % 60, k % 60, 250000),
        "took": None if k % 19 == 7 else timedelta(hours=k, seconds=k, milliseconds=500),
        "sold": ["no", "yes"][k % 3 == 0],
    }
    for k in range(300)
]


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {k}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def cells(rows: list[dict[str, Any]]) -> list[list[Any]]:
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def first(stream: Stream) -> tuple[Any, Any]:
    ((X, y),) = stream
    return X, y


@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_a_sheet_gives_the_bits_of_the_same_table_in_csv_and_parquet(tmp_path: Path, missing: str) -> None:
    path = workbook(tmp_path / "t.xlsx", cells(ROWS))
    with (tmp_path / "t.csv").open("w", newline="") as file:  # a csv file has no truth values
        csv.writer(file).writerows(cells([row | {"new": int(row["new"])} for row in ROWS]))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "t.parquet")
    sheet, *others = (read(one, "sold", missing=missing) for one in (path, tmp_path / "t.csv", tmp_path / "t.parquet"))
    X, y = first(sheet)
    assert len(y) == (300 if missing == "mean" else sum(None not in row.values() for row in ROWS))
    for other in others:
        assert sheet.encoder == other.encoder
        again, labels = first(other)
        assert X.tobytes() == again.tobytes()
        assert y.tobytes() == labels.tobytes()
        assert sheet.state == other.state
    chosen = read(path, "rooms", columns=["town", "took"], missing=missing)
    plain = read(tmp_path / "t.csv", "rooms", columns=["town", "took"], missing=missing)
    assert first(chosen)[0].tobytes() == first(plain)[0].tobytes()


def test_columns_of_numbers_and_strings_are_read_as_in_csv(tmp_path: Path) -> None:
    stored = [k if k % 2 else f"{k}.5" for k in range(40)]
    tickets = [["A", "B7", "C", k][k % 4] for k in range(40)]
    rows: list[list[Any]] = [["stored", "ticket", "zip", "y"]]
    rows += [[stored[k], tickets[k], f"0{k % 3}", k] for k in range(40)]
    rows[7][0] = "NA"
    found = read(workbook(tmp_path / "t.xlsx", rows), "y", missing="mean")
    assert found.encoder.columns == (Number("stored", True), OneHot("ticket", 26), OneHot("zip", 6))
    assert found.source.notes() == ["'ticket' contains numbers and words and was taken as text"]
    X, _ = first(found)
    assert X[:4, 0].tolist() == [0.5, 1.0, 2.5, 3.0]
    assert "ticket=7" in found.encoder.names(found.state)


def test_headers_sheets_and_blank_rows(tmp_path: Path) -> None:
    blank: list[Any] = [None, None, None]
    report = [blank, [None, "size", 2024], blank, *([k, 2 * k, 3 * k] for k in range(5)), blank, [5, 10, 15]]
    path = workbook(tmp_path / "t.xlsx", report, [["a", "y"], [1, 2], [3, 4]])
    found = read(path, "2024")
    assert found.names == ("size",)
    assert first(found)[0][:, 0].tolist() == [0, 2, 4, 6, 8, 10]
    notes = found.source.notes()
    assert notes[0] == "the sheet 'sheet 0' was read; --sheet NAME reads another: 'sheet 1'"
    assert "'2024' among them" in notes[1]
    assert notes[2] == "'column 1', which has no name, only counts the rows and was left out"
    other = read(path, "y", sheet="sheet 1")
    assert (other.names, other.source.notes()) == (("a",), [])
    assert first(read(path, "c1", sheet="sheet 1", header=False, text=["c0", "c1"]))[1].tolist() == [0, 1, 2]
    assert read(path, "q", sheet="sheet 1", header=["p", "q"], text=["p", "q"]).names == ("p",)


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a", "y"], [1, 1], [None, None], [2, 2], ["two", 3]], [], [["a"]])
    with pytest.raises(InputError, match=r"t\.xlsx, row 5, .*'a': 'two' is not a number; correct it"):
        list(read(path, "y"))
    with pytest.raises(InputError, match=r"has no sheet 'sheet 11'; did you mean 'sheet 1' or "):
        read(path, "y", sheet="sheet 11")
    with pytest.raises(FileError, match=r"the sheet 'sheet 1' is empty; choose another \(--sheet NAME\)"):
        read(path, "y", sheet="sheet 1")
    with pytest.raises(FileError, match="the sheet has a header but no rows"):
        read(path, "y", sheet="sheet 2")
    with pytest.raises(InputError, match="3 columns are named, but the sheet has 2"):
        read(path, "y", header=["a", "b", "y"])
    with pytest.raises(InputError, match="has no column 'z'"):
        read(path, "z")
    whole = path.read_bytes()
    for length in (2, 500, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"t\.xlsx cannot be read as a workbook: .*; it may be damaged"):
            read(path, "y")


def test_a_workbook_is_learnt_and_predicted_like_a_csv_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path = workbook(tmp_path / "t.xlsx", cells(ROWS), [["a"], [1]])
    model = tmp_path / "m.onkel"
    run = ("run", path, "--target", "rooms", "--sheet", "sheet 0", "--learner", "PKAWV", "--save", model)
    assert onkel_call(monkeypatch, *run) == 0
    assert "300 rows" in capsys.readouterr().out
    assert onkel_call(monkeypatch, "predict", model, path, "--keep", "opens,town", "--sheet", "sheet 0") == 0
    said = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    made, state = onkel.load(model)
    np.testing.assert_allclose([float(row["rooms"]) for row in said], made.predict(state, ROWS), rtol=1e-5)  # six digits
    assert [row["opens"] for row in said[:3]] == ["00:00:00.25", "01:07:01.25", ""]
    assert onkel_call(monkeypatch, "data", path, "--json") == 0
