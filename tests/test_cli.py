"""`onkel run` as a person meets it: tables, JSON, files, and one clear line when something is wrong."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.cli import main
from onkel.cli import run as run_module

pytestmark = pytest.mark.once


def write_csv(path: Path, X: Any, y: Any, target: str = "price") -> Path:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*(f"x{k}" for k in range(X.shape[1])), target])
        rows.writerows(np.column_stack([X, y]).tolist())
    return path


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "prices.csv", *onkel.data.friedman(1500, dim=5, seed=0))


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of `onkel run …`."""
    monkeypatch.setattr(sys, "argv", ["onkel", "run", *map(str, arguments)])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert call(monkeypatch, *arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_the_table_shows_error_cost_and_reference(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, prices, "--target", "price") == 0
    out = capsys.readouterr().out
    assert "1,500 rows, 5 inputs, regression of price" in out
    assert "PKAWV" in out
    assert "the running mean" in out
    assert "µs a row" in out


def test_json_agrees_with_the_library(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "PKAWV(features=(Standardize(), Taylor(degree=2) + Constant()), lam=0.5)"
    found = result(monkeypatch, capsys, prices, "--target", "price", "--learner", text)
    X, y = onkel.data.friedman(1500, dim=5, seed=0)
    trace = onkel.prequential(onkel.parse(text), (X, y))
    assert found["square"] == pytest.approx(trace.mean("square"), rel=1e-9)
    assert found["rows"] == 1500
    assert found["bytes"] == trace.nbytes
    assert onkel.parse(found["learner"]) == onkel.parse(text)
    guess = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, 1500)])
    assert found["running_mean"]["square"] == pytest.approx(float(np.mean((guess - y) ** 2)), rel=1e-9)


def test_save_writes_a_model_that_goes_on(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(monkeypatch, capsys, prices, "--target", "price", "--save", tmp_path / "m.onkel")
    learner, state = onkel.load(found["saved"])
    assert state.ridge.rows == 1500
    assert learner.predict(state, np.full((1, 5), 0.5)).shape == (1,)


def test_columns_choose_the_inputs(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, prices, "--target", "price", "--columns", "x1, x3") == 0
    assert "2 inputs" in capsys.readouterr().out


def test_plot_writes_a_picture(prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, prices, "--target", "price", "--plot", tmp_path / "curve.png") == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_two_labels_are_a_classification(
    low: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = onkel.data.rings(800, seed=0)
    np.savez(tmp_path / "rings.npz", X=X, y=np.where(y > 0, 1.0, low))
    found = result(monkeypatch, capsys, tmp_path / "rings.npz", "--learner", "PKAWV(Taylor(degree=4, width=1.0))")
    assert found["task"] == "classification"
    assert found["mistakes"] == onkel.prequential(onkel.PKAWV(onkel.Taylor(4, 1.0)), (X, y)).mean("mistakes")


def test_the_task_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = onkel.data.rings(100, seed=0)
    np.savez(tmp_path / "rings.npz", X=X, y=y)
    assert result(monkeypatch, capsys, tmp_path / "rings.npz", "--task", "regression")["task"] == "regression"


def test_a_late_third_label_is_refused_by_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = onkel.data.rings(9000, seed=0)
    y[8000] = 2.0
    np.savez(tmp_path / "rings.npz", X=X, y=y)
    assert call(monkeypatch, tmp_path / "rings.npz", "--save", tmp_path / "m.onkel") == 1
    assert "row 8000 (counted from 0), column 'y': the label 2 is neither -1 nor 1" in capsys.readouterr().err
    assert not (tmp_path / "m.onkel").exists()


def test_notes_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = onkel.data.friedman(200, dim=5, seed=0)
    path = write_csv(tmp_path / "large.csv", 1e7 * X, y)
    assert call(monkeypatch, path, "--target", "price", "--learner", "PKAWV(Identity() + Constant())") == 0
    assert "note: features too large" in capsys.readouterr().out.replace("\n", " ")


WRONG = [
    (["missing.csv", "--target", "price"], r"missing\.csv does not exist"),
    (["prices.csv", "--target", "prize"], r"no column 'prize'; did you mean 'price'"),
    (["prices.csv"], r"target"),
    (["prices.csv", "--target", "price", "--learner", "PKAVW"], r"did you mean PKAWV"),
    (["prices.csv", "--target", "price", "--learner", "Taylor"], r"is not a learner"),
    (["prices.csv", "--target", "price", "--learner", "PKAWV(lam=-1)"], r"lam must be at least"),
    (["prices.csv", "--target", "price", "--learner", "PKAWV(lam="], r"cannot read"),
    (["prices.csv", "--target", "price", "--save", "nowhere/m.onkel"], r"cannot write nowhere/m.onkel.*name a file"),
    (["prices.csv", "--target", "price", "--save", "."], r"cannot write \..*name a file"),
    (["prices.csv", "--target", "price", "--plot", "curve.xyz"], r"must end in \.png"),
    (["prices.csv", "--target", "price", "--task", "classification"], r"is neither -1 nor 1"),
    (["prices.txt", "--target", "price"], r"cannot tell the format"),
    (["text.csv", "--target", "y"], r"text\.csv.*line 3.*'a'"),
    (["empty.csv", "--target", "y"], r"empty"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(wrong[0]) for wrong in WRONG])
def test_one_clear_line_when_something_is_wrong(
    arguments: list[str],
    message: str,
    prices: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(prices.parent)
    Path("prices.txt").write_text("x,price\n1,2\n")
    Path("text.csv").write_text("a,y\n1,2\nred,3\n")
    Path("empty.csv").write_text("")
    assert call(monkeypatch, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("onkel: ")
    assert captured.err.count("\n") == 1
    assert __import__("re").search(message, captured.err)


def test_progress_in_a_pipe_is_plain_lines(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN_LINES", 0.0)
    assert call(monkeypatch, prices, "--target", "price", "--json") == 0
    captured = capsys.readouterr()
    assert "1,500 rows, " in captured.err
    assert "\x1b" not in captured.err
    assert json.loads(captured.out)["rows"] == 1500


def test_ctrl_c_ends_with_130(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "prequential", interrupted)
    assert call(monkeypatch, prices, "--target", "price") == 130
    assert "stopped" in capsys.readouterr().err


def test_help_has_examples(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "--help") == 0
    assert "onkel run prices.csv --target price" in capsys.readouterr().out
