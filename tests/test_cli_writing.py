"""What a command writes, and what it never overwrites."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import onkel
from tests.test_cli import onkel_call, result, write_csv

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]

Patch = pytest.MonkeyPatch
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_csv(Path("prices.csv"), *onkel.data.friedman(300, dim=5, seed=0))


OVER = {
    "the file": ["run", "prices.csv", "--target", "price", "--save", "prices.csv"],
    "through a link": ["run", "prices.csv", "--target", "price", "--save", "link.csv"],
    "under a second name": ["run", "prices.csv", "--target", "price", "--save", "hard.csv"],
    "a later file": ["run", "other.csv", "prices.csv", "--target", "price", "--save", "prices.csv"],
    "a picture": ["run", "picture.png", "--format", "csv", "--target", "price", "--plot", "picture.png"],
    "to predict": ["predict", "m.onkel", "prices.csv", "--out", "prices.csv"],
    "the model": ["predict", "m.onkel", "prices.csv", "--out", "m.onkel"],
    "data by name": ["predict", "m.onkel", "named", "--out", "folder/named.csv"],
    "the standard input": ["predict", "m.onkel", "-", "--out", "prices.csv"],
}


@pytest.mark.parametrize("arguments", OVER.values(), ids=list(OVER))
def test_what_is_read_is_not_overwritten(arguments: list[str], prices: Path, monkeypatch: Patch, capsys: Captured) -> None:
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--save", "m.onkel") == 0
    before = prices.read_bytes()
    for copy in ("other.csv", "picture.png"):
        Path(copy).write_bytes(before)
    Path("link.csv").symlink_to(prices)
    os.link(prices, "hard.csv")
    Path("folder").mkdir()
    os.link(prices, "folder/named.csv")
    monkeypatch.setenv("ONKEL_DATA", "folder")
    model = Path("m.onkel").read_bytes()
    capsys.readouterr()
    with prices.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert onkel_call(monkeypatch, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{arguments[-2]} {arguments[-1]} would overwrite a file that is read; name another file" in captured.err
    assert (prices.read_bytes(), Path("picture.png").read_bytes(), Path("m.onkel").read_bytes()) == (before, before, model)
    assert Path("link.csv").is_symlink()


def test_a_model_replaces_only_models(prices: Path, monkeypatch: Patch, capsys: Captured) -> None:
    np.savez("arrays.npz", X=np.ones((3, 2)), y=np.ones(3))  # a zip file, too
    for name, contents in {"notes.txt": b"my notes", "arrays.npz": Path("arrays.npz").read_bytes()}.items():
        Path(name).write_bytes(contents)
        assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--save", name) == 1
        assert "would overwrite a file that onkel did not write; name another file, or remove it first" in capsys.readouterr().err
        assert Path(name).read_bytes() == contents
    Path("m.onkel").touch()  # as mktemp makes one
    for _ in range(2):
        assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--save", "m.onkel") == 0
        assert onkel.load("m.onkel")[1].inner.inner.inner.ridge.rows == 300


def test_two_results_do_not_share_a_file(prices: Path, monkeypatch: Patch, capsys: Captured) -> None:
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--save", "x.png", "--plot", "./x.png") == 1
    assert "--save and --plot name the same file" in capsys.readouterr().err


def test_a_gap_in_what_is_to_be_predicted(prices: Path, monkeypatch: Patch, capsys: Captured) -> None:
    rows = [line.split(",") for line in prices.read_text().splitlines()]
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--missing", "refuse", "--save", "m.onkel") == 0
    mean = np.mean([float(row[1]) for row in rows[1:]])
    for name, cell in {"gap.csv": "", "mean.csv": repr(float(mean))}.items():
        Path(name).write_text(
            "".join(",".join([*row[:1], cell if k == 2 else row[1], *row[2:]]) + "\n" for k, row in enumerate(rows))
        )
    capsys.readouterr()
    assert onkel_call(monkeypatch, "predict", "m.onkel", "gap.csv") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    remedy = "fill it, or say what to do: missing='mean' or 'drop' (--missing mean)"
    assert captured.err == f"onkel: gap.csv, line 3, column 'x1': the value is missing; {remedy}\n"
    assert onkel_call(monkeypatch, "predict", "m.onkel", "gap.csv", "--missing", "mean") == 0
    filled = capsys.readouterr().out.splitlines()
    assert onkel_call(monkeypatch, "predict", "m.onkel", "mean.csv") == 0
    np.testing.assert_allclose([*map(float, filled[1:])], [*map(float, capsys.readouterr().out.splitlines()[1:])], rtol=1e-12)
    assert onkel_call(monkeypatch, "predict", "m.onkel", "gap.csv", "--missing", "drop") == 0
    captured = capsys.readouterr()
    head, first, gap, *others = captured.out.splitlines()
    assert (head, gap) == (filled[0], '""')
    np.testing.assert_allclose([float(first), *map(float, others)], [*map(float, filled[1:2]), *map(float, filled[3:])], rtol=1e-12)
    assert "1 row has a missing value and no prediction" in captured.err


def test_a_column_that_the_model_needs_is_named(prices: Path, monkeypatch: Patch, capsys: Captured) -> None:
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--columns", "x0,x1", "--save", "m.onkel") == 0
    Path("new.csv").write_text("x1,size\n1,2\n")
    assert onkel_call(monkeypatch, "predict", "m.onkel", "new.csv") == 1
    needed = "the model needs 'x0', 'x1', the file has 'x1', 'size'"
    assert f"new.csv has no column 'x0': {needed}; add the column, or rename the one that is meant" in capsys.readouterr().err
    assert onkel_call(monkeypatch, "run", "new.csv", "--save", "m.onkel", "--resume") == 1
    assert "the model needs 'x0', 'x1', 'price', the file has 'x1', 'size'" in capsys.readouterr().err


def test_a_model_of_the_command_line_is_no_estimator(prices: Path, monkeypatch: Patch) -> None:
    assert onkel_call(monkeypatch, "run", prices, "--target", "price", "--save", "m.onkel") == 0
    with pytest.raises(onkel.FileError, match=r"a model of the command line, for onkel predict .*, not a Regressor"):
        onkel.Regressor.load("m.onkel")


@pytest.mark.parametrize(("rows", "said"), [(12, False), (300, True)])
def test_notes_on_who_does_better_wait_for_rows(
    rows: int, said: bool, tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    y = np.repeat([1.0, 3.5, 2.0], rows // 3)  # in runs
    write_csv(Path("runs.csv"), np.random.default_rng(0).normal(size=(rows, 2)), y)
    assert onkel_call(monkeypatch, "run", "runs.csv", "--target", "price") == 0
    assert (" better" in capsys.readouterr().out) is said


def test_the_share_of_the_first_row_is_said(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """Numbers far from 0 and close together: the first row, predicted as 0, has nearly all of the square error."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(300, 2))
    for centre, said in ((1000.0, True), (0.0, False)):
        y = centre + X @ np.array([1.0, 0.5])
        write_csv(Path("high.csv"), X, y)
        found = result(monkeypatch, capsys, "high.csv", "--target", "price", "--learner", "PKAWV")
        notes = [note for note in found["notes"] if "of the square error is from the first row" in note]
        assert len(notes) == said
        if said:
            first = y[0] ** 2  # predicted as 0
            later, last = (np.sqrt((300 * error - first) / 299) for error in (found["square"], found["last_label"]["square"]))
            stated = re.search(r"without it the rms error is (\S+) \(the running mean: \S+, the last label: (\S+)\)", notes[0])
            assert stated is not None
            assert [float(one) for one in stated.groups()] == pytest.approx([later, last], rel=0.01)


def test_one_far_label_is_one() -> None:
    learner = onkel.combine.Scaled(onkel.PKAWV(onkel.Identity()), first_rows=4)
    state = learner.init(1)
    learner.learn(state, np.ones((7, 1)), np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1e6]))
    assert state.far == 1
    assert learner.notes(state)[-1].startswith("1 label lay more than")


def test_predictions_are_written_as_the_file_was(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """With its separator and its decimal sign, columns that are kept as they stand, and no digits that mean nothing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sizes, noise = rng.uniform(20.0, 150.0, 200), rng.normal(size=200)
    rows = [f"00{k};{size:.2f};{3.0 * size + noise[k]:.3f}".replace(".", ",") for k, size in enumerate(sizes)]
    Path("german.csv").write_text("\n".join(["id;size;price", *rows]))
    result(monkeypatch, capsys, "german.csv", "--target", "price", "--learner", "PKAWV", "--save", "m.onkel")
    assert onkel_call(monkeypatch, "predict", "m.onkel", "german.csv", "--keep", "all", "--interval", "0.9") == 0
    head, *said = capsys.readouterr().out.splitlines()
    assert head == "id;size;price;predicted price;low(0.9);high(0.9)"
    assert [line.rsplit(";", 3)[0] for line in said] == rows
    assert onkel_call(monkeypatch, "predict", "m.onkel", "german.csv", "--json", "--keep", "size") == 0
    exact = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line, row in zip(said, exact, strict=True):
        written = line.split(";")[3]
        assert len(written.replace(",", "").strip("-0")) <= 6
        assert float(written.replace(",", ".")) == pytest.approx(row["price"], rel=1e-5)
    assert exact[0]["size"] == round(sizes[0], 2)


def test_digits_that_a_large_number_hides_are_written(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """Six digits of 1,000,000,123.4 would say nothing, if the model is right to a tenth."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=500)
    Path("far.csv").write_text("\n".join(["x,y", *(f"{one},{1e9 + one}" for one in x)]))
    learner = "PKAWV(features=Identity() + Constant(), lam=0.001)"
    result(monkeypatch, capsys, "far.csv", "--target", "y", "--learner", learner, "--save", "m.onkel")
    assert onkel_call(monkeypatch, "predict", "m.onkel", "far.csv") == 0
    said = np.array([*map(float, capsys.readouterr().out.splitlines()[1:])])
    assert np.median(np.abs(said - 1e9 - x)) < 0.05
