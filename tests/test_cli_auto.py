"""`onkel run` and `compare` with nothing said: Auto, and earlier labels as its inputs where rows come in their own order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.combine import Auto, Lagged, Scaled
from onkel.combine.assembly import part
from onkel.measure.errors import ClassErrors, NumberErrors
from onkel.model import Answers
from onkel.persist.run import loaded
from tests.test_cli import call, onkel_call, result, write_csv

pytestmark = pytest.mark.once

Patch = pytest.MonkeyPatch
Captured = pytest.CaptureFixture[str]
ROWS = 300


@pytest.fixture
def wave(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A series that goes on as it went, far from 0; the inputs say nothing of it."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    return write_csv(Path("wave.csv"), X, 500.0 + 20.0 * np.sin(np.arange(ROWS) / 4.0))


def test_auto_learns_with_the_last_labels_and_says_so(wave: Path, monkeypatch: Patch, capsys: Captured) -> None:
    assert call(monkeypatch, wave, "--target", "price", "--save", "m.onkel") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "regression of price; the last 3 labels are inputs too" in shown
    assert "rms error absolute error explained in 90% interval" in shown
    assert "Auto(lags=3)" in shown
    found = result(monkeypatch, capsys, wave, "--target", "price")
    X, y = onkel.read(wave, "price", block=ROWS).__iter__().__next__()
    scores = Auto(lags=3).learn(Auto(lags=3).init(2), X, y)
    assert found["square"] == pytest.approx(np.mean((scores - y) ** 2), rel=1e-9)
    assert (found["lags"], onkel.parse(found["learner"])) == (3, Auto(lags=3))
    assert found["explained"] > 0.8
    assert found["standardised"] == {"inputs": False, "target": False}
    without = result(monkeypatch, capsys, wave, "--target", "price", "--lags", 0)
    assert (without["lags"], onkel.parse(without["learner"])) == (0, Auto())
    assert without["explained"] < 0.5
    assert result(monkeypatch, capsys, wave, "--target", "price", "--learner", "Auto(lags=2)", "--rows", 40)["lags"] == 2

    assert onkel_call(monkeypatch, "predict", "m.onkel", wave, "--json") == 0  # rows at any time: without earlier labels
    said = [json.loads(row)["price"] for row in capsys.readouterr().out.splitlines()]
    learner, state = onkel.load("m.onkel")
    assert said == learner.predict_any(state, X).tolist()
    assert np.max(np.abs(learner.predict(state, X) - said)) > 1.0

    assert call(monkeypatch, wave, "--save", "m.onkel", "--resume", "--learner", "Auto", "--lags", 3) == 0
    capsys.readouterr()
    assert call(monkeypatch, wave, "--save", "m.onkel", "--resume", "--lags", 1) == 1
    assert "was made with --lags 3; leave out --lags" in capsys.readouterr().err


def test_classes_go_on_where_they_were(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    names = np.array(["a", "b", "c"])[np.arange(200) % 3]  # the last one tells the next
    lines = [f"{x!r},{name}" for x, name in zip(np.random.default_rng(0).normal(size=200).tolist(), names, strict=True)]
    for name, rows in {"whole": 200, "first": 1, "more": 90}.items():
        Path(f"{name}.csv").write_text("\n".join(["x,kind", *lines[:rows]]) + "\n")
    options = ("--target", "kind", "--task", "classification", "--learner", "Auto(cost_limit=5)")
    found = result(monkeypatch, capsys, "whole.csv", *options)
    for name in ("first", "more", "whole"):  # after the first row there is one class, and a model of it
        parts = result(monkeypatch, capsys, f"{name}.csv", *options, "--save", "m.onkel", "--resume")
    assert parts["mistakes"] == found["mistakes"] < 0.2
    assert parts["log_loss"] == pytest.approx(found["log_loss"], rel=1e-6)
    assert loaded(Path("m.onkel"))[1].labels == ["a", "b", "c"]


def test_shuffled_rows_are_those_of_numpy_and_have_no_earlier_labels(wave: Path, monkeypatch: Patch, capsys: Captured) -> None:
    head, *lines = wave.read_text().splitlines(keepends=True)
    order = np.random.default_rng(7).permutation(ROWS)[:100]
    Path("other.csv").write_text(head + "".join(lines[row] for row in order))
    cheap = ("--target", "price", "--learner", "PKAWV", "--save", "m.onkel")
    found = result(monkeypatch, capsys, wave, *cheap, "--shuffle", 7, "--rows", 100)
    same = result(monkeypatch, capsys, "other.csv", *cheap, "--resume")  # it knows them again, and all have been learnt
    assert (found["rows"], found["square"]) == (same["rows"], same["square"]) == (100, found["square"])
    assert result(monkeypatch, capsys, "other.csv", *cheap)["square"] == found["square"]
    assert result(monkeypatch, capsys, wave, "--target", "price", "--shuffle", 7, "--rows", 40)["lags"] == 0
    Path("first.csv").write_text(head + "".join(lines[:120]))
    first = result(monkeypatch, capsys, wave, *cheap, "--rows", 120)
    assert first["square"] == result(monkeypatch, capsys, "first.csv", *cheap)["square"]


def test_a_shuffled_file_is_planned_by_all_of_it(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{'early' if k < 1500 else 'late'},{int(k >= 1500)}" for k in range(3000)]
    Path("sorted.csv").write_text("\n".join(["x,when,y", *rows]) + "\n")
    options = ("--target", "y", "--learner", "PKAWV(Identity() + Constant())")
    assert result(monkeypatch, capsys, "sorted.csv", *options, "--shuffle", 0)["mistakes"] < 0.01
    wrong = result(monkeypatch, capsys, "sorted.csv", "sorted.csv", *options, "--shuffle", 0, "--rows", 10)
    assert wrong["rows"] == 10


def test_other_learners_have_earlier_labels_only_where_it_is_said(wave: Path, monkeypatch: Patch, capsys: Captured) -> None:
    options = ("--target", "price", "--learner", "PKAWV", "--save", "m.onkel")
    assert result(monkeypatch, capsys, wave, *options)["lags"] == 0
    found = result(monkeypatch, capsys, wave, *options, "--lags", 2)
    assert (found["lags"], onkel.parse(found["learner"])) == (2, onkel.PKAWV())
    assert found["explained"] > 0.8
    _, state, _ = loaded(Path("m.onkel"))
    assert part(state.learner, Lagged) == Lagged(Scaled(onkel.PKAWV()), 2)
    X, y = onkel.read(wave, "price", block=ROWS).__iter__().__next__()
    bare = Lagged(Scaled(onkel.PKAWV()), 2)
    assert found["square"] == pytest.approx(np.mean((bare.learn(bare.init(2), X, y) - y) ** 2))
    signs = result(monkeypatch, capsys, "rings", "--learner", "Perceptron", "--lags", 1, "--rows", 50)
    assert (signs["lags"], signs["task"]) == (1, "classification")


def test_compare_has_three_learners_and_says_who_knew_earlier_labels(wave: Path, monkeypatch: Patch, capsys: Captured) -> None:
    assert onkel_call(monkeypatch, "compare", wave, "--target", "price", "--json") == 0
    found = json.loads(capsys.readouterr().out)["learners"]
    linear = onkel.PKAWV(features=onkel.Identity() + onkel.Constant())
    assert [onkel.parse(one["learner"]) for one in found] == [Auto(), onkel.PKAWV(), linear]
    assert [one["lags"] for one in found] == [3, 0, 0]
    assert all(list(one["coverage"]) == ["0.5", "0.8", "0.9", "0.95"] for one in found)
    own = result(monkeypatch, capsys, wave, "--target", "price")
    assert found[0]["rmse"] == [own["rmse"]]
    assert found[0]["coverage"] == {level: [share] for level, share in own["coverage"].items()}
    both = ("PKAWV", "FOGD", "--target", "price", "--lags", 1, "--shuffle", 3, "--seeds", 2)
    assert onkel_call(monkeypatch, "compare", wave, *both, "--json") == 0
    lagged = json.loads(capsys.readouterr().out)["learners"]
    assert [(one["lags"], one["runs"]) for one in lagged] == [(1, 2), (1, 2)]
    options = ("--target", "price", "--learner", "FOGD(features=Fourier(count=100, seed=1))", "--lags", 1, "--shuffle", 4)
    assert lagged[1]["square"][1] == result(monkeypatch, capsys, wave, *options)["square"]  # the second seed, the second order


def note_on(tally: Any, scores: Any, labels: Any) -> bool:
    own, all_rows = labels.astype(float), np.ones(len(labels), dtype=bool)
    if isinstance(tally, NumberErrors):
        tally.add(Answers(scores, None, own, all_rows))
    else:
        tally.add(Answers(own, np.full((len(labels), 4), 0.25), own, all_rows))
    return bool(tally.is_sorted)


def test_sorted_files_are_found() -> None:
    rng = np.random.default_rng(0)
    y, kinds = rng.normal(size=2000), rng.integers(4, size=2000)
    nothing = np.zeros(2000)
    assert note_on(NumberErrors(), nothing, np.sort(y))
    assert note_on(NumberErrors(), nothing, np.sort(y)[::-1])
    assert note_on(NumberErrors(), nothing, np.sort(kinds).astype(float))
    assert not note_on(NumberErrors(), nothing, y)
    assert not note_on(NumberErrors(), nothing, np.cumsum(y))
    assert not note_on(NumberErrors(), nothing, np.where(rng.random(2000) < 0.004, 1.0, 0.0))  # rare events
    assert not note_on(NumberErrors(), nothing, nothing + 5.0)
    assert note_on(ClassErrors(), None, np.sort(kinds))
    assert not note_on(ClassErrors(), None, kinds)
    assert not note_on(ClassErrors(), None, (rng.random(2000) < 0.003).astype(int))
    assert not note_on(ClassErrors(), None, np.zeros(2000, dtype=int))


def test_a_sorted_file_is_told(wave: Path, monkeypatch: Patch, capsys: Captured) -> None:
    head, *lines = wave.read_text().splitlines(keepends=True)
    Path("sorted.csv").write_text(head + "".join(sorted(lines, key=lambda line: float(line.split(",")[-1]))))
    options = ("sorted.csv", "--target", "price", "--learner", "PKAWV(Identity() + Constant())")
    said = "the rows are sorted by price: with earlier labels as inputs the error means nothing; use --shuffle 0 if"
    assert any(note.startswith(said) for note in result(monkeypatch, capsys, *options, "--lags", 3)["notes"])
    for more in ((), ("--lags", 3, "--shuffle", 0)):
        assert not any("sorted" in note for note in result(monkeypatch, capsys, *options, *more)["notes"])
