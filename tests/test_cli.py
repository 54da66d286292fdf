"""`onkel run` as a person meets it: tables, JSON, files, and one clear line when something is wrong."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.cli import main
from onkel.cli import watch as watch_module
from onkel.combine import Intervals, Scaled
from onkel.combine.settings import reseeded
from onkel.model import Model, stream
from onkel.model.encodings import State as EncoderState
from onkel.persist import Extra
from onkel.persist.run import loaded
from onkel.state import leaves

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]


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
    trace = onkel.prequential(Intervals(Scaled(onkel.parse(text), inputs=False)), (X, y))
    assert found["square"] == pytest.approx(float(np.mean(trace.losses["square"])), rel=1e-9)
    assert found["rmse"] == pytest.approx(found["square"] ** 0.5, rel=1e-12)
    assert found["absolute"] == pytest.approx(float(np.mean(np.abs(trace.scores - y))), rel=1e-9)
    assert found["coverage"] == {str(level): share for level, share in trace.learner.coverage(trace.state).items()}
    assert (found["rows"], found["lags"]) == (1500, 0)
    assert found["bytes"] == trace.nbytes + onkel.nbytes(EncoderState({}, {}))
    assert onkel.parse(found["learner"]) == onkel.parse(text)
    mean = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, 1500)])
    assert found["running_mean"]["square"] == pytest.approx(float(np.mean((mean - y) ** 2)), rel=1e-9)
    later = float(np.sum(trace.losses["square"][1:]) / np.sum((mean - y)[1:] ** 2))  # in the first row there is no mean
    assert found["explained"] == pytest.approx(1.0 - later, rel=1e-9)
    assert found["last_label"]["square"] == pytest.approx(float(np.mean(np.diff(y, prepend=0.0) ** 2)), rel=1e-9)


def test_save_writes_a_model_that_goes_on(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(monkeypatch, capsys, prices, "--target", "price", "--save", tmp_path / "m.onkel")
    model, state = onkel.load(found["saved"])
    assert (state.inner.inner.inner.ridge.rows, state.rows) == (1500, 1500)
    assert model.predict(state, [{f"x{k}": 0.5 for k in range(5)}]).shape == (1,)


def test_columns_choose_the_inputs(prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, prices, "--target", "price", "--columns", "x1, x3") == 0
    assert "2 inputs" in capsys.readouterr().out


def test_plot_writes_a_picture(prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, prices, "--target", "price", "--plot", tmp_path / "curve.png") == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_the_metric_of_the_table_and_the_baselines(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(monkeypatch, capsys, prices, "--target", "price", "--plot", tmp_path / "curve.svg")
    texts = " ".join(re.findall(r"<!-- (.*?) -->", (tmp_path / "curve.svg").read_text()))
    shown = {"PKAWV": found, "the running mean": found["running_mean"], "the last label": found["last_label"]}
    assert "rms error in windows of" in texts
    assert [name for name, means in shown.items() if f"{name}: {means['rmse']:.4g}" not in texts] == []


def test_a_run_that_had_nothing_left_to_learn_has_no_time_of_a_row(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (prices, "--target", "price", "--save", tmp_path / "m.onkel")
    assert result(monkeypatch, capsys, *options)["microseconds_per_row"] > 0.0
    again = result(monkeypatch, capsys, *options, "--resume")
    assert (again["rows"], again["microseconds_per_row"]) == (1500, None)


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_two_labels_are_a_classification(
    low: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = onkel.data.rings(800, seed=0)
    np.savez(tmp_path / "rings.npz", X=X, y=np.where(y > 0, 1.0, low))
    found = result(monkeypatch, capsys, tmp_path / "rings.npz", "--raw", "--learner", "PKAWV(Taylor(degree=4, width=1.0))")
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
    assert call(monkeypatch, path, "--target", "price", "--raw", "--learner", "PKAWV(Identity() + Constant())") == 0
    assert "note: features are too large" in capsys.readouterr().out.replace("\n", " ")


def mixed_row(k: int) -> str:
    size, town, sold = "" if k % 7 == 2 else k % 50, ["Bonn", "Ulm", "Kiel"][k * k % 3], ["no", "yes"][k % 50 > 24]
    return f"{size},{town},2026-0{1 + k % 9}-11 {k % 24:02}:00,{sold}\n"


MIXED = "size,town,when,sold\n" + "".join(map(mixed_row, range(3000)))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    (tmp_path / "mixed.csv").write_text(MIXED)
    return tmp_path / "mixed.csv"


def onkel_call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of `onkel …`."""
    monkeypatch.setattr(sys, "argv", ["onkel", *map(str, arguments)])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_texts_dates_gaps_and_labels_are_learnt_and_predicted(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.onkel"
    assert call(monkeypatch, mixed, "--target", "sold", "--missing", "refuse", "--save", model) == 1
    assert "line 4, column 'size': the value is missing" in capsys.readouterr().err
    found = result(monkeypatch, capsys, mixed, "--target", "sold", "--save", model)
    assert found["task"] == "classification"
    assert found["mistakes"] < 0.2
    assert found["notes"][0].startswith("when: a date: the trend in days since 2026-01-11, and its place in the day")
    how = "missing='refuse' (--missing refuse) stops at the first"
    assert found["notes"][1] == f"429 missing values of 'size' were filled in; {how}"
    assert "the last label alone does better" in found["notes"][2]
    moved = tmp_path / "moved.csv"  # other columns, another order, no target
    rows = [line.split(",") for line in MIXED.splitlines()]
    moved.write_text("\n".join(",".join([row[2], "0" if k else "more", row[0], row[1]]) for k, row in enumerate(rows)))
    assert onkel_call(monkeypatch, "predict", model, moved, "--probabilities") == 0
    captured = capsys.readouterr()
    said = list(csv.DictReader(captured.out.splitlines()))
    assert captured.err == "onkel: 429 missing values of 'size' were filled in\n"
    assert len(said) == 3000
    assert np.mean([row["sold"] != line[3] for row, line in zip(said, rows[1:], strict=True)]) < 0.1
    assert all((float(row["P(yes)"]) > 0.5) == (row["sold"] == "yes") for row in said)
    assert onkel_call(monkeypatch, "predict", model, mixed, "--probabilities", "--out", tmp_path / "p.jsonl") == 0
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [float(f"{line['P(no)']:.6g}") for line in lines] == [float(row["P(no)"]) for row in said]
    assert onkel_call(monkeypatch, "predict", model, write_csv(tmp_path / "other.csv", np.ones((3, 2)), np.ones(3))) == 1
    assert "has no column 'size'" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["PKAWV", "Auto"])
def test_a_row_without_a_label_is_dropped_and_counted_and_never_invented(
    learner: str, mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result is that of the file without these rows, whether the target is a number or a label."""
    lines = [line.split(",") for line in MIXED.splitlines()]
    for target, place in (("size", 0), ("sold", 3)):
        blank, less = tmp_path / "blank.csv", tmp_path / "less.csv"
        rows = [[*row[:place], "" if 1500 <= k < 1600 else row[place], *row[place + 1 :]] for k, row in enumerate(lines)]
        blank.write_text("\n".join(map(",".join, rows)) + "\n")
        less.write_text("\n".join(",".join(row) for row in rows if row[place]) + "\n")
        options = ("--target", target, "--learner", learner)
        found, expected = (result(monkeypatch, capsys, file, *options) for file in (blank, less))
        lost = sum(not row[place] for row in rows)
        assert found["rows"] == expected["rows"] == 3000 - lost
        assert (found["rmse"], found["window"]) == (expected["rmse"], expected["window"]) if target == "size" else True
        assert found.get("mistakes") == expected.get("mistakes")
        dropped = f"{lost} rows were dropped because the label was missing"
        assert dropped in found["notes"]
        assert not any("dropped" in note for note in expected["notes"])
        assert call(monkeypatch, blank, *options, "--missing", "refuse") == 1
        assert "is missing" in capsys.readouterr().err


def test_a_row_with_a_gap_has_no_prediction_where_such_rows_were_dropped(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.onkel"
    found = result(monkeypatch, capsys, mixed, "--target", "sold", "--missing", "drop", "--save", model)
    assert found["rows"] == 2571
    assert onkel_call(monkeypatch, "predict", model, mixed) == 0
    captured = capsys.readouterr()
    said = list(csv.DictReader(captured.out.splitlines()))
    assert [k for k, row in enumerate(said) if row["sold"] == ""] == [k for k in range(3000) if k % 7 == 2]
    assert "429 rows have a missing value and no prediction" in captured.err


def test_predictions_are_those_of_the_library(
    prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result(monkeypatch, capsys, prices, "--target", "price", "--save", tmp_path / "m.onkel")
    assert onkel_call(monkeypatch, "predict", tmp_path / "m.onkel", prices, "--json") == 0
    said = [json.loads(row)["price"] for row in capsys.readouterr().out.splitlines()]
    model, state = onkel.load(tmp_path / "m.onkel")
    assert said == state.learner.predict(state.inner, onkel.data.friedman(1500, dim=5, seed=0)[0]).tolist()
    assert said == model.predict(state, prices).tolist()


@pytest.mark.parametrize("learner", ["PKAWV(forgetting=0.99)", "NORMA"])
def test_a_run_goes_on_as_if_it_had_never_stopped(
    learner: str, mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, parts = tmp_path / "whole.onkel", tmp_path / "parts.onkel"
    options = ("--target", "sold", "--missing", "mean", "--learner", learner)
    result(monkeypatch, capsys, mixed, *options, "--save", whole)
    monkeypatch.setattr(stream, "BLOCK", 700)
    lines = MIXED.splitlines(keepends=True)
    for rows in (0, 1500, 1500, 3000):  # the file grows between the runs
        mixed.write_text("".join(lines[: 1 + max(rows, 1500)]))
        result(monkeypatch, capsys, mixed, *options, "--save", parts, "--resume")
    _, state = onkel.load(parts)
    _, expected = onkel.load(whole)
    assert (state.encoder, state.encoded, state.rows) == (expected.encoder, expected.encoded, expected.rows)
    for (name, one, _), (_, other, _) in zip(leaves(state.inner), leaves(expected.inner), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)
    assert call(monkeypatch, mixed, "--save", parts, "--resume", "--learner", "FOGD") == 1
    assert "leave out --learner to continue with this model" in capsys.readouterr().err
    assert call(monkeypatch, mixed, "--save", parts, "--resume", "--target", "town") == 1
    assert "predicts 'sold', not 'town'" in capsys.readouterr().err
    mixed.write_text("".join(lines[:100]))
    assert call(monkeypatch, mixed, "--save", parts, "--resume") == 1
    assert "has 99 rows, not the 3,000 that" in capsys.readouterr().err


def test_ctrl_c_keeps_a_checkpoint_and_says_how_to_go_on(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stream, "BLOCK", 500)
    learn, calls = Model.answer, []

    def interrupted(self: Model, state: Any, rows: Any, *more: Any) -> Any:
        if len(rows) == 500:  # else it is the warm-up
            calls.append(rows)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return learn(self, state, rows, *more)

    monkeypatch.setattr(Model, "answer", interrupted)
    options = ("--target", "sold", "--missing", "mean", "--save", tmp_path / "m.onkel")
    assert call(monkeypatch, mixed, *options) == 130
    said = capsys.readouterr().err
    assert "stopped after 1,500 rows" in said
    assert said.strip().endswith(f"--save {shlex.quote(str(tmp_path / 'm.onkel'))} --resume")
    assert loaded(tmp_path / "m.onkel")[1].rows == 1500
    monkeypatch.setattr(Model, "answer", learn)
    found = result(monkeypatch, capsys, mixed, *options, "--resume")
    assert found["rows"] == 3000
    whole = result(monkeypatch, capsys, mixed, *options[:-1], tmp_path / "whole.onkel")
    assert (tmp_path / "whole.onkel").read_bytes() == (tmp_path / "m.onkel").read_bytes()
    assert whole["mistakes"] == found["mistakes"]


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_target_without_labels_is_an_error_that_says_so(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,y\n" + "1,\n" * 30)
    assert onkel_call(monkeypatch, command, file, *["PKAWV"][: command == "compare"], "--target", "y") == 1
    assert "no row has a label in 'y'; choose another column to predict (--target)" in capsys.readouterr().err


def test_rows_that_a_relative_error_leaves_out_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,y\n" + "".join(f"{k},{k % 4}\n" for k in range(80)))
    run = (monkeypatch, "run", file, "--target", "y", "--learner", "PKAWV", "--task", "regression")
    note = "relative error leaves out rows whose y is 0, 20 of 80"
    assert onkel_call(*run, "--metrics", "mape") == 0
    assert note in capsys.readouterr().out
    assert onkel_call(*run, "--metrics", "r2") == 0
    assert note not in capsys.readouterr().out


def test_a_growing_file_is_followed(mixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = MIXED.splitlines(keepends=True)
    mixed.write_text("".join(lines[:1000]))

    def write() -> None:
        with mixed.open("a") as file:
            file.writelines(lines[1000:])

    threading.Timer(0.2, write).start()
    found = result(monkeypatch, capsys, mixed, "--target", "sold", "--missing", "drop", "--follow", "--idle", "2")
    assert found["rows"] == 2571


def test_learners_are_compared_on_the_same_rows(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("compare", prices, "PKAWV(Identity() + Constant())", "PKAWV", "--target", "price", "--seeds", 3)
    assert onkel_call(monkeypatch, *arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["learner"], row["runs"]) for row in found["learners"]] == [("PKAWV(Identity() + Constant())", 1), ("PKAWV", 3)]
    assert len(set(found["learners"][1]["square"])) == 3  # seeds differ
    assert found["learners"][0]["square"] == [
        result(monkeypatch, capsys, prices, "--target", "price", "--learner", arguments[2])["square"]
    ]
    assert onkel_call(monkeypatch, *arguments, "--shuffle", 0) == 0
    assert "±" in capsys.readouterr().out
    for wrong, message in {
        ("compare", prices, "PKAWV", "PKAWV", "--target", "price"): "named twice",
        ("compare", prices, "Perceptron", "--target", "price"): "learns classification, but this is regression",
        ("compare", prices, "PKAWV", "--target", "price", "--seeds", 0): "--seeds must be at least 1",
    }.items():
        assert onkel_call(monkeypatch, *wrong) == 1
        assert message in capsys.readouterr().err


def test_seeds_are_found_wherever_they_are() -> None:
    learner = onkel.PKAWV(features=(onkel.Standardize(), onkel.Fourier(count=3, seed=5) + onkel.Identity()))
    assert reseeded(learner, 2) == onkel.PKAWV(features=(onkel.Standardize(), onkel.Fourier(count=3, seed=7) + onkel.Identity()))
    assert reseeded(onkel.RBP(seed=1), 2) == onkel.RBP(seed=3)
    kernel = onkel.Gaussian() + onkel.Linear() * onkel.Gaussian(2.0)
    assert reseeded(onkel.NORMA(kernel=kernel), 2) == onkel.NORMA(kernel=kernel)
    for name in onkel.learners.names:
        assert reseeded(getattr(onkel, name)(), 0) == getattr(onkel, name)()


def test_the_learners_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert onkel_call(monkeypatch, "learners", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert set(rows) == {*onkel.learners.names, "Auto", "Experts"}
    for name, row in rows.items():
        assert row["memory"].endswith("fixed" if getattr(onkel, name)().bounded else "grows")
    for name in onkel.learners.names:
        row = rows[name]
        assert row["a row costs"].startswith("O("), name
        assert row["memory"].startswith("O("), name
        assert re.search(r"(19|20)\d\d$", row["paper"]), name
    assert rows["PKAWV"]["paper"] == "Jézéquel et al. 2019"
    assert {name: rows[name]["a row costs"] for name in ("Perceptron", "FunctionalSGD", "PKAWVNystroem", "Projectron")} == {
        "Perceptron": "O(m)", "FunctionalSGD": "O(n)", "PKAWVNystroem": "O(m² dim)", "Projectron": "O(B), a wrong one O(B²)",
    }  # fmt: skip
    symbols = {
        symbol
        for row in rows.values()
        for symbol in re.findall(r"[A-Za-z]+", re.sub(r"O\(|log|a wrong one", "", row["a row costs"]))
    }
    assert onkel_call(monkeypatch, "learners") == 0
    shown = capsys.readouterr().out
    assert "PKAWVNystroem" in shown
    legend = re.findall(r"([A-Za-z, ]+):", next(line for line in shown.splitlines() if line.startswith("m, B:")))
    assert {letter for symbol in symbols for letter in (symbol if symbol != "dim" else ["dim"])} <= set(
        re.findall(r"\w+", " ".join(legend))
    )


def test_data_is_listed_and_described(mixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert onkel_call(monkeypatch, "data", "--json") == 0
    assert {"friedman", "diabetes"} <= {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert onkel_call(monkeypatch, "data") == 0
    assert "onkel run NAME" in capsys.readouterr().out
    assert onkel_call(monkeypatch, "data", mixed, "--json") == 0
    found = json.loads(capsys.readouterr().out)["columns"]
    assert found["size"] == {"kind": "a number", "columns of X": 1, "missing": 143, "least": 0.0, "largest": 49.0}
    assert found["town"] | {"columns of X": 0} == {
        "kind": "text", "columns of X": 0, "missing": 0, "values": 2, "first values": ["Bonn", "Ulm"],
    }  # fmt: skip
    assert (found["when"]["least"], found["when"]["largest"]) == ("2026-01-11T00:00:00", "2026-09-11T23:00:00")
    assert {name: column["kind"] for name, column in found.items()} == {
        "size": "a number", "town": "text", "when": "a date", "sold": "text",
    }  # fmt: skip
    assert onkel_call(monkeypatch, "data", "diabetes") == 0
    assert "bmi" in capsys.readouterr().out


def test_a_model_saved_from_python_says_so(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learner = onkel.PKAWV()
    onkel.save(tmp_path / "m.onkel", learner, learner.init(3))
    assert onkel_call(monkeypatch, "predict", tmp_path / "m.onkel", mixed) == 1
    assert "holds a bare learner without an encoder for its inputs; use onkel.load in Python" in capsys.readouterr().err
    model = onkel.Model(target="sold", learner=learner)
    onkel.save(tmp_path / "m.onkel", model, model.init(mixed), Extra({"run": {"errors": 3}}, {}))
    assert onkel_call(monkeypatch, "predict", tmp_path / "m.onkel", mixed) == 0
    assert call(monkeypatch, mixed, "--save", tmp_path / "m.onkel", "--resume") == 1
    assert "cannot load" in capsys.readouterr().err


WRONG = [
    (["missing.csv", "--target", "price"], r"missing\.csv does not exist"),
    (["prices.csv", "--target", "prize"], r"no column 'prize'; did you mean 'price'"),
    (["prices.csv"], r"target"),
    (["prices.csv", "--target", "price", "--learner", "PKAVW"], r"did you mean .PKAWV."),
    (["prices.csv", "--target", "price", "--learner", "Taylor"], r"is not a learner"),
    (["prices.csv", "--target", "price", "--learner", "PKAWV(lam=-1)"], r"lam must be at least"),
    (["prices.csv", "--target", "price", "--learner", "PKAWV(lam="], r"cannot read"),
    (["prices.csv", "--target", "price", "--save", "nowhere/m.onkel"], r"cannot write nowhere/m.onkel: there is no folder nowhere"),
    (["prices.csv", "--target", "price", "--save", "."], r"cannot write \..*name a file"),
    (["prices.csv", "--target", "price", "--plot", "curve.xyz"], r"must end in \.png"),
    (
        ["prices.csv", "--target", "price", "--task", "classification"],
        r"line 502, .*more than 500 different labels; say --task regression",
    ),
    (["prices.txt", "--target", "price"], r"cannot tell the format"),
    (["text.csv", "--target", "y"], r"text\.csv.*line 3.*'a'"),
    (["empty.csv", "--target", "y"], r"empty"),
    (["prices.csv", "--target", "price", "--resume"], r"name it: --save model\.onkel --resume"),
    (["prices.csv", "--target", "price", "--idle", "3"], r"use it together with --follow"),
    (["prices.csv", "--target", "price", "--shuffle", "1", "--follow"], r"--shuffle needs all rows at once, --follow learns"),
    (
        ["prices.csv", "--target", "price", "--shuffle", "1", "--save", "m", "--resume"],
        r"--shuffle needs all rows at once, --resume",
    ),
    (["prices.csv", "--target", "price", "--shuffle", "-1"], r"--shuffle must be at least 0, got -1"),
    (["prices.csv", "--target", "price", "--rows", "0"], r"--rows must be at least 1, got 0"),
    (["prices.csv", "--target", "price", "--lags", "-1"], r"--lags must be at least 0, got -1"),
    (["prices.csv", "--target", "price", "--learner", "Perceptron"], r"learns classification, but this is regression"),
    (["prices.csv", "--target", "price", "--labels", "a"], r"--labels takes two labels"),
    (["prices.csv", "--target", "price", "--names", "a,b"], r"line 1: 2 columns are named, but the first line has 6 fields"),
    (["text.csv", "--target", "a", "--text", "a", "--task", "regression"], r"'a' has labels, not numbers"),
    (["bare.csv", "--target", "b"], r"bare\.csv, line 1: no header, only numbers .*--no-header.*--names a,b,c"),
    (["named.csv", "--target", "b"], r"no column 'b'.*the first line was taken for the names .*'1', '2' among them.*--no-header"),
    (["prices.csv", "text.csv", "--target", "price"], r"text\.csv has no column 'price'"),
    (["text.csv", "slip.csv", "--target", "y", "--text", "a"], r"slip\.csv, line 2, column 'y': 'three' is not a number"),
    (["text.csv", "kind.csv", "--target", "y"], r"column 'a' is a number in text\.csv and text in kind\.csv; .*--text a"),
    (
        ["text.csv", "lacks.csv", "--target", "y", "--text", "a", "--missing", "refuse"],
        r"text\.csv has no column 'b', but another file has; .*--missing mean",
    ),
    (["text.csv", "lacks.csv", "--target", "y", "--columns", "c"], r"text\.csv has no column 'c'"),
    (["nonsense", "--target", "price"], r"nonsense does not exist, and no data has this name"),
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
    Path("bare.csv").write_text("1,2\n3,4\n")
    Path("named.csv").write_text("1,2,red\n3,4,blue\n")
    Path("slip.csv").write_text("y,a\nthree,1\n4,1\n")
    Path("kind.csv").write_text("y,a\n3,red\n")
    Path("lacks.csv").write_text("y,b\n3,1\n4,1\n")
    assert call(monkeypatch, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("onkel: ")
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)


def test_progress_in_a_pipe_is_plain_lines(
    prices: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch_module, "SECONDS_BETWEEN_LINES", 0.0)
    assert call(monkeypatch, prices, "--target", "price", "--json") == 0
    captured = capsys.readouterr()
    assert "1,500 rows, " in captured.err
    assert "\x1b" not in captured.err
    assert json.loads(captured.out)["rows"] == 1500


def test_help_has_examples(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for command, example in {
        "run": "onkel run prices.csv --target price",
        "compare": "onkel compare rings FORKS NOGD Projectron --seeds 20",
        "predict": "onkel predict model.onkel new.csv",
        "data": "onkel data prices.csv",
    }.items():
        monkeypatch.setattr(sys, "argv", ["onkel", command, "--help"])
        with pytest.raises(SystemExit):
            main()
        shown = " ".join(capsys.readouterr().out.split())
        assert example in shown
        assert shown.count("onkel run friedman") <= 1  # those of all commands stand elsewhere
        assert "A command ends with 0" not in shown
    monkeypatch.setattr(sys, "argv", ["onkel", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert "onkel run prices.csv --target price" in " ".join(capsys.readouterr().out.split())


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "onkel", "data", "nonsense"]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=path)
    assert said.returncode == 1
    assert said.stderr.startswith("onkel: nonsense does not exist")
