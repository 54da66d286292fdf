"""A run goes on only with the rows and the options that its model was made from."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from onkel.model import read, stream
from onkel.persist.fingerprint import Fingerprint
from onkel.persist.run import loaded
from tests.test_cli import MIXED, call, result

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]

Patch = pytest.MonkeyPatch
Captured = pytest.CaptureFixture[str]

HEAD, *LINES = MIXED.splitlines(keepends=True)
OPTIONS = ("--target", "sold", "--missing", "mean", "--learner", "PKAWV(Identity() + Constant())")


def write(name: str, start: int, end: int) -> str:
    Path(name).write_text("".join([HEAD, *LINES[start:end]]))
    return name


@pytest.fixture
def half(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> bytes:
    """m.onkel has learnt the first half of a file; the bytes that it should have after all of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stream, "BLOCK", 500)
    result(monkeypatch, capsys, write("whole.csv", 0, 2000), *OPTIONS, "--save", "whole.onkel")
    result(monkeypatch, capsys, write("half.csv", 0, 1000), *OPTIONS, "--save", "m.onkel")
    write("rest.csv", 1000, 2000)
    return Path("whole.onkel").read_bytes()


def as_pipe(monkeypatch: Patch, data: bytes) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return "-"


@pytest.mark.parametrize("form", ["grown", "moved and packed", "several", "parquet", "pipe"])
def test_the_same_rows_are_known_in_every_form(form: str, half: bytes, monkeypatch: Patch, capsys: Captured) -> None:
    whole = Path("whole.csv").read_bytes()
    files = ["whole.csv"]
    if form == "moved and packed":
        Path("folder").mkdir()
        files = ["folder/other.csv.gz"]
        Path(files[0]).write_bytes(gzip.compress(whole))
    elif form == "several":
        files = ["half.csv", "rest.csv"]
    elif form == "parquet":
        files = ["whole.parquet"]
        table = pyarrow.csv.read_csv("whole.csv", convert_options=pyarrow.csv.ConvertOptions(column_types={"size": "float64"}))
        pyarrow.parquet.write_table(table, files[0], row_group_size=300)
    elif form == "pipe":
        files = [as_pipe(monkeypatch, whole)]
    assert result(monkeypatch, capsys, *files, *OPTIONS, "--save", "m.onkel", "--resume")["rows"] == 2000
    assert Path("m.onkel").read_bytes() == half


def test_arrays_are_known_again(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(400, 3))
    for name, rows in {"half": 200, "whole": 400}.items():
        np.savez(f"{name}.npz", X=X[:rows], y=X[:rows, 0])
        assert result(monkeypatch, capsys, f"{name}.npz", "--save", "m.onkel", "--resume")["rows"] == rows
    np.savez("whole.npz", X=X + 1e-9, y=X[:, 0])
    assert call(monkeypatch, "whole.npz", "--save", "m.onkel", "--resume") == 1
    assert "the first 400 rows of whole.npz are not those that m.onkel has learnt" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["a number", "a text", "a date", "a label", "a gap", "the order"])
def test_other_rows_are_refused_and_nothing_changes(change: str, half: bytes, monkeypatch: Patch, capsys: Captured) -> None:
    before = Path("m.onkel").read_bytes()
    lines = LINES[:2000]
    row = lines[900].split(",")
    at = {"a number": (0, "7"), "a text": (1, "Aue"), "a date": (2, "2026-01-11 00:01"), "a label": (3, "yes\n"), "a gap": (0, "")}
    if change == "the order":
        lines[900], lines[901] = lines[901], lines[900]
    else:
        column, cell = at[change]
        assert row[column] != cell
        lines[900] = ",".join([*row[:column], cell, *row[column + 1 :]])
    Path("whole.csv").write_text("".join([HEAD, *lines]))
    assert call(monkeypatch, "whole.csv", *OPTIONS, "--save", "m.onkel", "--resume") == 1
    captured = capsys.readouterr()
    assert "the first 1,000 rows of whole.csv are not those that m.onkel has learnt; name the files" in captured.err
    assert captured.out == ""
    assert Path("m.onkel").read_bytes() == before


def test_rows_that_are_appended_again_are_noted_and_new_rows_have_errors_of_their_own(
    half: bytes, monkeypatch: Patch, capsys: Captured
) -> None:
    first = result(monkeypatch, capsys, "rest.csv", "--save", "m.onkel", "--append")
    assert not any("learnt before" in note for note in first["notes"])
    Path("longer.csv").write_text(Path("rest.csv").read_text() + "".join(LINES[:50]))
    again = result(monkeypatch, capsys, "longer.csv", "--save", "m.onkel", "--append")
    twice = "the first 1,000 rows of longer.csv had been learnt before; the model has now learnt them once more"
    assert twice in again["notes"]
    assert (again["rows"], again["new_rows"]["rows"]) == (3050, 1050)
    for name in ("mistakes", "accuracy"):
        assert again["new_rows"][name] * 1050 + first[name] * 2000 == pytest.approx(again[name] * 3050)
    assert call(monkeypatch, "half.csv", "--save", "m.onkel", "--append") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "all 1,000 rows of half.csv had been learnt before" in printed
    assert "the 1,000 new rows alone:" in printed


def test_more_files_are_learnt_on_top(half: bytes, monkeypatch: Patch, capsys: Captured) -> None:
    before = Path("m.onkel").read_bytes()
    assert call(monkeypatch, "rest.csv", "--save", "m.onkel", "--resume") == 1
    assert "--append instead of --resume" in capsys.readouterr().err
    assert Path("m.onkel").read_bytes() == before
    found = result(monkeypatch, capsys, "rest.csv", "--save", "m.onkel", "--append")
    assert (found["rows"], found["earlier_rows"]) == (2000, 1000)
    (_, state, about), (_, whole, of_all) = loaded(Path("m.onkel")), loaded(Path("whole.onkel"))
    np.testing.assert_array_equal(state.inner.inner.ridge.coef, whole.inner.inner.ridge.coef)
    assert (about["errors"], state.encoded, state.rows, about["earlier"]) == (of_all["errors"], whole.encoded, 2000, 1000)
    assert call(monkeypatch, "rest.csv", "--save", "m.onkel", "--resume") == 0  # it knows the rows that were added
    assert "rest.csv, after 1,000 rows of earlier files: 2,000 rows" in capsys.readouterr().out
    for wrong, message in {
        ("--append",): "name one that exists: --save model.onkel --append",
        ("--append", "--save", "none.onkel"): "name one that exists: --save model.onkel --append",
        ("--append", "--resume", "--save", "m.onkel"): "give only one of them",
    }.items():
        assert call(monkeypatch, "rest.csv", *wrong) == 1
        assert message in capsys.readouterr().err


SAID = {
    ("--missing", "drop"): "was made with --missing mean",
    ("--missing", "refuse"): "was made with --missing mean",
    ("--raw",): "was made without --raw",
    ("--labels", "no,yes"): "knows the labels 'no', 'yes', not these two",
    ("--task", "regression"): "was made for classification, not for regression",
    ("--target", "town"): "predicts 'sold', not 'town'",
    ("--columns", "size,town"): "was made from 'size', 'town', 'when'",
    ("--without", "town"): "was made with 'town'",
    ("--hash", "town"): "was made without --hash town",
    ("--spare", "3"): "was made with --spare 0",
    ("--lags", "2"): "was made with --lags 0",
    ("--text", "size"): "took 'size' for a number",
    ("--dates", "town"): "took 'town' for text",
}


@pytest.mark.parametrize(("said", "has"), SAID.items(), ids=[" ".join(said) for said in SAID])
def test_other_options_are_refused(said: tuple[str, ...], has: str, half: bytes, monkeypatch: Patch, capsys: Captured) -> None:
    assert call(monkeypatch, "half.csv", "--save", "m.onkel", "--resume", *said) == 1
    remedy = f"; leave out {said[0]} to continue with this model, leave out --resume to replace it by a new one"
    assert capsys.readouterr().err == f"onkel: m.onkel {has}{remedy}\n"


def test_options_that_hold_are_taken(half: bytes, monkeypatch: Patch, capsys: Captured) -> None:
    said = (
        "--columns",
        "when,size,town,sold",
        "--without",
        "sold",
        "--text",
        "town",
        "--dates",
        "when",
        "--task",
        "classification",
    )
    assert call(monkeypatch, "half.csv", *OPTIONS, "--save", "m.onkel", "--resume", *said) == 0


def test_a_fingerprint_does_not_know_cuts_and_orders_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(MIXED)
    source = read(tmp_path / "a.csv", "sold", missing="mean").source
    names = ("size", "town", "when", "sold")
    whole, parts, other = Fingerprint(names), Fingerprint(names), Fingerprint(names[::-1])
    for table in source.tables():
        whole.add(table)
        other.add(table)
        for start in range(0, len(table), 7):
            parts.add(table[start : start + 7])
    assert (whole.rows, whole.value) == (parts.rows, parts.value)
    assert whole.value != other.value


@pytest.mark.usefixtures("half")
def test_it_says_when_a_saved_model_was_replaced(monkeypatch: Patch, capsys: Captured) -> None:
    for options, replaces in (("--append",), False), ((*OPTIONS,), True):
        assert call(monkeypatch, "rest.csv", *options, "--save", "m.onkel") == 0
        assert ("it replaced an earlier model in m.onkel" in capsys.readouterr().out) == replaces
