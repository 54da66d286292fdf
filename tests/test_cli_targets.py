"""`onkel run`, `compare` and `predict` on numbers of any size, any number of classes, several files and files without a header."""

from __future__ import annotations

import itertools
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import onkel
from onkel.measure import reliability
from onkel.measure.errors import ClassErrors, baselines
from onkel.model import Answers, Classes, Model, stream
from onkel.model.target import met_before
from onkel.persist.run import loaded
from tests.test_cli import call, onkel_call, result, write_csv

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("cheap_default")]

ROWS = 900
Patch = pytest.MonkeyPatch
Captured = pytest.CaptureFixture[str]


def three_kinds(late: int = 0) -> tuple[Any, list[str]]:
    """Points of the rings and the names of their classes; the third comes only after `late` rows."""
    X, y = onkel.data.rings(ROWS, seed=0)
    right = (X[:, 0] > 0) & (np.arange(ROWS) >= late)
    return X, np.where(y > 0, np.where(right, "right", "left"), "inner").tolist()


def write_kinds(path: Path, X: Any, names: list[str], header: bool = True) -> Path:
    lines = [f"{a!r},{b!r},{name}" for (a, b), name in zip(X.tolist(), names, strict=True)]
    path.write_text("\n".join([*(["a,b,kind"] if header else []), *lines]) + "\n")
    return path


@pytest.mark.parametrize("learner", ["PKAWV", "Perceptron"])
def test_classes_are_learnt_as_they_come_and_a_stopped_run_goes_on(
    learner: str, tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    X, names = three_kinds(late=500)
    file = write_kinds(tmp_path / "kinds.csv", X, names)
    monkeypatch.setattr(stream, "BLOCK", 200)
    learn, calls = Model.answer, []

    def interrupted(self: Model, state: Any, rows: Any, *more: Any) -> Any:
        if len(rows) == 200:  # else it is the warm-up
            calls.append(rows)
        if len(calls) == 2:  # only two classes have come
            signal.raise_signal(signal.SIGINT)
        return learn(self, state, rows, *more)

    options = ("--target", "kind", "--learner", learner)
    found = result(monkeypatch, capsys, file, *options, "--save", tmp_path / "whole.onkel")
    monkeypatch.setattr(Model, "answer", interrupted)
    assert call(monkeypatch, file, *options, "--save", tmp_path / "parts.onkel") == 130
    assert "stopped after 400 rows" in capsys.readouterr().err
    assert loaded(tmp_path / "parts.onkel")[1].labels == list(dict.fromkeys(names[:400]))
    monkeypatch.setattr(Model, "answer", learn)
    assert result(monkeypatch, capsys, file, *options, "--save", tmp_path / "parts.onkel", "--resume")["rows"] == ROWS
    assert (tmp_path / "whole.onkel").read_bytes() == (tmp_path / "parts.onkel").read_bytes()

    one_by_one = onkel.Classifier(onkel.parse(learner))
    wrong = 0
    for x, name in zip(X, names, strict=True):
        wrong += one_by_one.predict_one(x) != name
        one_by_one.learn_one(x, name)
    assert (found["task"], found["classes"]) == ("classification", list(dict.fromkeys(names)))
    assert found["mistakes"] == pytest.approx(wrong / ROWS)
    assert found["last_label"]["mistakes"] == pytest.approx((1 + sum(a != b for a, b in itertools.pairwise(names))) / ROWS)

    assert onkel_call(monkeypatch, "predict", tmp_path / "whole.onkel", file, "--probabilities", "--json") == 0
    said = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert [row["kind"] for row in said] == [one_by_one.predict_one(x) for x in X]
    what = "P" if learner == "PKAWV" else "score"
    values = np.array([[float(row[f"{what}({name})"]) for name in found["classes"]] for row in said])
    assert [found["classes"][k] for k in values.argmax(axis=1)] == [row["kind"] for row in said]
    if what == "P":
        order = [found["classes"].index(name) for name in one_by_one.classes_]
        np.testing.assert_allclose(values[:, order], one_by_one.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("parts", [[900], [1] * 30, [7, 400, 493]])
def test_guesses_of_classes_are_counted_as_a_plain_loop_counts_them(parts: list[int]) -> None:
    rng = np.random.default_rng(0)
    rows = sum(parts)
    y = np.minimum(rng.integers(5, size=rows), np.arange(rows) // 4)
    y = np.array([list(dict.fromkeys(y.tolist())).index(k) for k in y.tolist()])  # in the order in which they come
    scores, chances = rng.normal(size=(rows, 5)), rng.dirichlet(np.ones(5), size=rows)
    tally, start, wrong, log_loss = ClassErrors(), 0, 0, 0.0
    for size in parts:
        now = slice(start, start + size)
        met = met_before(y[now], len(set(y[:start].tolist())), 5)
        left = np.where(met, chances[now], 0.0)
        said = Classes("y").predicted_codes(scores[now], met), left / np.maximum(left.sum(axis=1, keepdims=True), 1e-6)
        tally.add(Answers(*said, y[now].astype(float), np.ones(size, dtype=bool)))
        start += size
    counts: Counter[int] = Counter()
    frequent = 0
    told: list[tuple[float, bool]] = []  # the probability of each class that there was, and whether the row was of it
    for t in range(rows):
        known = sorted(counts)
        wrong += not known or max(known, key=lambda k: scores[t, k]) != y[t]
        frequent += not known or max(known, key=lambda k: counts[k]) != y[t]
        chance = chances[t, y[t]] / sum(chances[t, k] for k in known) if y[t] in known else 0.0
        log_loss -= np.log(max(chance, 1e-6))
        total = sum(chances[t, k] for k in known)
        told += [(chances[t, k] / total if k in known else 0.0, k == y[t]) for k in {0, 1, int(y[t]), *known}]
        counts[int(y[t])] += 1
    assert tally.means()["mistakes"] == wrong / rows
    guesses = {name: means["mistakes"] for name, means in baselines(tally).items()}
    assert guesses == {"most frequent label": frequent / rows, "last label": (1 + int(np.count_nonzero(np.diff(y)))) / rows}
    assert tally.means()["log_loss"] == pytest.approx(log_loss / rows)
    assert tally.counts.tolist() == [counts[k] for k in range(5)]
    p, own = np.array(told).T
    assert tally.reliability().brier == pytest.approx(float(np.sum((p - own) ** 2)) / rows)
    assert tally.reliability().calibration_error == pytest.approx(reliability(p, own).calibration_error)


def test_of_two_classes_the_second_is_believed_or_not(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    rng = np.random.default_rng(1)
    p, y = rng.random(500), rng.integers(2, size=500)
    tally = ClassErrors()
    for now in (slice(0, 120), slice(120, 500)):
        own = y[now].astype(float)
        tally.add(Answers(own, np.column_stack([1.0 - p[now], p[now]]), own, np.ones(len(own), dtype=bool)))
    told, expected = tally.reliability(), reliability(p, y == 1)
    assert (told.brier, told.calibration_error) == pytest.approx((expected.brier, expected.calibration_error))
    assert np.array_equal(told.count, expected.count)
    X = rng.normal(size=(300, 2))
    file = write_kinds(tmp_path / "two.csv", X, ["up" if x > 0.0 else "down" for x in X[:, 0]])
    halves = write_kinds(tmp_path / "half.csv", X[:150], ["up" if x > 0.0 else "down" for x in X[:150, 0]])
    picture, model = tmp_path / "two.svg", tmp_path / "two.onkel"
    found = result(monkeypatch, capsys, file, "--target", "kind", "--plot", picture)
    assert 0.0 < found["brier"] < 0.2 > found["calibration_error"] > 0.0
    assert f"<!-- probabilities of {found['classes'][1]}: log loss {found['log_loss']:.3g}" in picture.read_text()
    result(monkeypatch, capsys, halves, "--target", "kind", "--save", model)
    again = result(monkeypatch, capsys, file, "--target", "kind", "--save", model, "--resume")
    names = ("brier", "calibration_error")
    assert [again[name] for name in names] == pytest.approx([found[name] for name in names])


def test_the_size_of_the_target_does_not_matter(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    X, y = onkel.data.friedman(600, dim=5, seed=0)
    small, large = write_csv(tmp_path / "small.csv", X, y), write_csv(tmp_path / "large.csv", X, 1e3 * y + 1e6)
    one, other = (result(monkeypatch, capsys, file, "--target", "price") for file in (small, large))
    assert one["explained"] == pytest.approx(other["explained"], rel=1e-5)
    assert one["explained"] > 0.5
    first = (1e3 * y[0] + 1e6) ** 2  # in the first row nobody knows
    assert 600 * other["square"] - first == pytest.approx(1e6 * (600 * one["square"] - y[0] ** 2), rel=1e-3)
    assert result(monkeypatch, capsys, large, "--target", "price", "--raw")["explained"] < 0.5
    assert onkel_call(monkeypatch, "compare", large, "PKAWV", "PKAWV(lam=0.5)", "--target", "price", "--json") == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["explained"] == [other["explained"]]
    assert onkel_call(monkeypatch, "compare", small, "FOGD", "--target", "price", "--json") == 0
    (alone,) = json.loads(capsys.readouterr().out)["learners"]  # nobody chose a loss: it follows the task
    assert alone["learner"] == "FOGD(loss=Square())"
    assert alone["explained"][0] > 0.4
    assert call(monkeypatch, small, "--target", "price", "--learner", "FOGD(loss=Logistic())") == 1
    assert "give it another loss, such as loss=Square()" in capsys.readouterr().err


CODES = [
    ([], "PKAWV", "regression", "taken as numbers; if they are classes: --task classification"),
    ([], "Perceptron", "classification", ""),
    (["--task", "classification"], "PKAWV", "classification", ""),
    (["--text", "price"], "PKAWV", "classification", ""),
    (["--task", "regression"], "PKAWV", "regression", ""),
]


@pytest.mark.parametrize(("options", "learner", "task", "note"), CODES)
def test_a_column_of_a_few_numbers_is_taken_as_the_user_and_the_learner_say(
    options: list[str], learner: str, task: str, note: str, tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    X, names = three_kinds()
    codes = [["inner", "left", "right"].index(name) + 3 for name in names]
    file = write_csv(tmp_path / "codes.csv", X, codes)
    found = result(monkeypatch, capsys, file, "--target", "price", "--learner", learner, *options)
    assert found["task"] == task
    assert sorted(map(float, found.get("classes", []))) == ([3, 4, 5] if task == "classification" else [])
    assert [note in said for said in found["notes"]] == ([True] if note else [])


def test_classes_are_compared_whatever_the_order_of_the_rows(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    X, names = three_kinds(late=500)
    file = write_kinds(tmp_path / "kinds.csv", X, names)
    arguments = ("compare", file, "PKAWV", "Perceptron", "--target", "kind", "--json")
    assert onkel_call(monkeypatch, *arguments) == 0
    once = json.loads(capsys.readouterr().out)
    assert [one["mistakes"] for one in once["learners"]] == [
        [result(monkeypatch, capsys, file, "--target", "kind", "--learner", learner)["mistakes"]]
        for learner in ("PKAWV", "Perceptron")
    ]
    assert onkel_call(monkeypatch, *arguments, "--shuffle", 0, "--seeds", 2) == 0
    shuffled = json.loads(capsys.readouterr().out)
    assert all(len(one["mistakes"]) == 2 and max(one["mistakes"]) < 0.3 for one in shuffled["learners"])


def test_several_files_are_one_stream(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    X, names = three_kinds()
    whole = write_kinds(tmp_path / "whole.csv", X, names)
    first = write_kinds(tmp_path / "1.csv", X[:250], names[:250])
    moved = {"kind": names[250:600], "more": [1.0] * 350, "b": X[250:600, 1], "a": X[250:600, 0]}
    pyarrow.parquet.write_table(pyarrow.table(moved), tmp_path / "2.parquet")
    last = write_kinds(tmp_path / "3.csv", X[600:], names[600:])
    options = ("--target", "kind", "--columns", "a,b", "--save")
    found = result(monkeypatch, capsys, whole, *options, tmp_path / "whole.onkel")
    files = (first, tmp_path / "2.parquet", last)
    parts = result(monkeypatch, capsys, *files, *options, tmp_path / "parts.onkel")
    assert parts["file"] == f"{first} and 2 more"
    assert (tmp_path / "whole.onkel").read_bytes() == (tmp_path / "parts.onkel").read_bytes()
    assert found["mistakes"] == parts["mistakes"]
    assert onkel_call(monkeypatch, "predict", tmp_path / "parts.onkel", whole) == 0
    said = capsys.readouterr().out
    assert onkel_call(monkeypatch, "predict", tmp_path / "parts.onkel", *files) == 0
    assert capsys.readouterr().out == said
    result(monkeypatch, capsys, *files[:2], *options, tmp_path / "grows.onkel")  # then a file more
    assert result(monkeypatch, capsys, *files, *options, tmp_path / "grows.onkel", "--resume")["rows"] == ROWS
    assert onkel_call(monkeypatch, "compare", *files, "PKAWV", "--target", "kind", "--columns", "a,b", "--json") == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["mistakes"] == [found["mistakes"]]
    filled = result(monkeypatch, capsys, *files, "--target", "kind")  # without --columns `more` is one
    assert filled["inputs"] == 3
    assert filled["notes"] == [
        f"{first} has no column 'more', but another file has",
        f"{last} has no column 'more', but another file has",
        "550 missing values of 'more' were filled in; missing='refuse' (--missing refuse) stops at the first",
    ]


def test_libsvm_files_of_different_width_are_one_stream(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{'+1' if k % 2 else '-1'} {1 + k % 2}:1 {3 + rng.integers(4 if k < 50 else 9)}:1" for k in range(100)]
    for name, part in {"whole.svm": lines, "1.svm": lines[:50], "2.svm": lines[50:]}.items():
        (tmp_path / name).write_text("\n".join(part) + "\n")
    found = result(monkeypatch, capsys, tmp_path / "whole.svm", "--save", tmp_path / "m.onkel")
    parts = result(monkeypatch, capsys, tmp_path / "1.svm", tmp_path / "2.svm")
    assert (found["mistakes"], found["columns"]) == (parts["mistakes"], parts["columns"])
    assert onkel_call(monkeypatch, "predict", tmp_path / "m.onkel", tmp_path / "1.svm") == 0
    assert len(capsys.readouterr().out.splitlines()) == 51


def test_a_file_without_a_header_loses_no_row(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    X, names = three_kinds()
    with_header, without = write_kinds(tmp_path / "with.csv", X, names), write_kinds(tmp_path / "no.data", X, names, header=False)
    found = result(monkeypatch, capsys, with_header, "--target", "kind")
    bare = result(monkeypatch, capsys, without, "--target", "c2", "--no-header", "--save", tmp_path / "m.onkel")
    named = result(monkeypatch, capsys, without, without, "--target", "kind", "--names", "a, b, kind")
    assert (bare["rows"], bare["mistakes"]) == (found["rows"], found["mistakes"])
    assert named["rows"] == 2 * ROWS
    assert onkel_call(monkeypatch, "predict", tmp_path / "m.onkel", without, "--no-header") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + ROWS
    assert onkel_call(monkeypatch, "data", without, "--no-header", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["columns"]) == ["c0", "c1", "c2"]
    odd = result(monkeypatch, capsys, without, "--target", names[0])  # taken for a header, and told
    assert odd["rows"] == ROWS - 1
    assert any("taken for the names of the columns" in note and "--no-header" in note for note in odd["notes"])


def passenger(k: int) -> str:
    ticket = f"PC {k}" if k % 10 < 3 else str(k * 7 % 40)
    return f"passenger {k},{ticket},{['D', '', '11', '2', 'A', 'C'][k % 6]},{k % 2}\n"


def test_columns_of_numbers_and_words_are_text_and_what_helps_nobody_is_told(
    tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    file = tmp_path / "ship.csv"
    file.write_text("name,ticket,boat,survived\n" + "".join(map(passenger, range(200))))
    found = result(monkeypatch, capsys, file, "--target", "survived", "--missing", "mean")
    assert found["notes"][:2] == [f"{name!r} contains numbers and words and was taken as text" for name in ("ticket", "boat")]
    assert any(note.startswith("name: nearly every row has a different value, so it was left out") for note in found["notes"])
    less = result(monkeypatch, capsys, file, "--target", "survived", "--without", "name,boat")
    assert less["inputs"] == 1
    assert less["notes"] == [
        "'ticket' contains numbers and words and was taken as text",
        "ticket: many different strings, hashed into 8 columns, and the mean of survived for each value so far",
    ]
    assert onkel_call(monkeypatch, "data", file, "--without", "name", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["columns"]) == ["ticket", "boat", "survived"]
    file.write_text("drive,price\n" + "4,2\nf,3\nr,5\n" * 40)
    drives = "'drive' contains numbers and words and was taken as text"
    assert drives in result(monkeypatch, capsys, file, "--target", "price")["notes"]
    assert drives in result(monkeypatch, capsys, file, "--target", "drive")["notes"]
    file.write_text("size,price\n" + "1,2\n" * 40 + "12 m,3\n")  # one word is a slip, and is told even where nothing is learnt
    assert call(monkeypatch, file, "--target", "price") == 1
    assert "line 42, column 'size': '12 m' is not a number" in capsys.readouterr().err
    assert onkel_call(monkeypatch, "data", file) == 0
    assert "note: after these rows: " in capsys.readouterr().out
    file.write_text("# a comment\n" + "size,price\n1,2\n")
    assert call(monkeypatch, file, "--target", "price") == 1
    assert "if it is a comment, leave it out" in capsys.readouterr().err
