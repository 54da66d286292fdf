"""The front door as a newcomer tries it: what is typed first works, and what is mistyped is answered with a remedy."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import InputError, _names
from tests.test_cli import onkel_call

pytestmark = pytest.mark.once

X = np.random.default_rng(0).normal(size=(40, 3))
y = X @ np.array([1.0, -2.0, 0.5])


def test_prequential_takes_rows_and_labels_as_two_arguments() -> None:
    assert np.array_equal(onkel.prequential(onkel.PKAWV(), X, y).scores, onkel.prequential(onkel.PKAWV(), (X, y)).scores)
    with pytest.raises(InputError, match=r"write prequential\(learner, X, y\)"):
        onkel.prequential(onkel.PKAWV(), X)


def test_regret_takes_a_learner() -> None:
    learner = onkel.KernelAWV(onkel.Gaussian(2.0), lam=0.5)
    scores = learner.learn(learner.init(dim=3), X, y)
    assert np.array_equal(onkel.regret(learner, X, y).curve, onkel.regret(scores, X, y, learner.kernel, 0.5).curve)
    with pytest.raises(InputError, match="Auto does not say with what it is compared: give space and lam"):
        onkel.regret(onkel.Auto(), X, y)
    with pytest.raises(InputError, match="scores alone do not say with what they are compared"):
        onkel.regret(scores, X, y)


@pytest.mark.parametrize(("kind", "setting", "message"), [
    (onkel.PKAWV, "lamda", r"PKAWV has no setting 'lamda'; did you mean 'lam'\? it has features, lam"),
    (onkel.Gaussian, "wdith", r"did you mean 'width'\?"),
    (onkel.Hinge, "epsilon", r"Hinge has no setting 'epsilon'; it has none"),
    (onkel.Model, "tagret", r"did you mean 'target'"),
    (onkel.Classifier, "lam", r"Classifier has no setting 'lam'; .*learner=PKAWV\(lam=0\.1\)"),
])  # fmt: skip
def test_a_misspelt_setting_is_named_with_what_to_type(kind: Any, setting: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kind(**{setting: 1})


def test_a_reserved_word_as_a_setting_is_answered_like_any_other() -> None:
    with pytest.raises(InputError, match=r"PKAWV has no setting 'lambda'; did you mean 'lam'\?"):
        onkel.parse("PKAWV(lambda=0.1)")


def test_a_state_and_its_parts_print_in_one_line() -> None:
    learner = onkel.PKAWV(onkel.Taylor())
    state = learner.init(dim=3)
    learner.learn(state, X, y)
    assert repr(state) == f"<State of PKAWV: 40 rows, 3 inputs, 1 output, {onkel.nbytes(state):,} bytes>"
    assert all(len(repr(part)) < 100 for part in vars(state).values() if dataclasses.is_dataclass(part))
    model = onkel.Model(target="price", learner=learner)
    assert repr(model.init([{"size": 1.0, "price": 2.0}])).startswith("<State of Model: 0 rows, 1 input, 1 output, ")


def test_what_measures_return_prints_in_one_line() -> None:
    """Numbers that a user wants first, and no arrays."""
    rows, labels = onkel.data.friedman(300, seed=0)
    auto, curves = onkel.Auto(), onkel.TubeProjection(onkel.Additive(onkel.Spline()))
    states = auto.init(10), curves.init(10)
    auto.learn(states[0], rows, labels)
    curves.learn(states[1], rows, labels)
    regret, explanation = onkel.regret(onkel.PKAWV(), rows, labels), onkel.explain(auto, states[0])
    components = onkel.components(curves, states[1])
    trace = onkel.prequential(onkel.PKAWV(), rows, labels, metrics=(onkel.measure.R2(),))
    points = onkel.KernelRidge().function(onkel.KernelRidge().init(dim=2))
    reliability = onkel.measure.reliability([0.2, 0.7], [False, True])
    parts = [regret, explanation, explanation.history, explanation.to_expert, components, components.curves[0], trace.curve]
    for one in [*parts, curves.function(states[1]), points, reliability]:
        assert re.fullmatch(rf"<{type(one).__name__} [^\n]{{1,400}}>|<{type(one).__name__}: [^\n]{{1,400}}>", repr(one)), repr(one)
    assert f"{regret.total:.5g}" in repr(regret)
    assert explanation.sentences[0] in repr(explanation)


def test_dir_shows_what_is_public() -> None:
    assert {name for name in dir(onkel) if not name.startswith("__")} == set(onkel.__all__)


def written(folder: Path) -> Path:
    """A csv of 60 rows, with a column `id` that is no number."""
    rows = [f"{k:03},{k % 7},{'yes' if k % 7 > 3 else 'no'},{2 * (k % 7)}" for k in range(60)]
    (folder / "flats.csv").write_text("\n".join(["id,size,sold,price", *rows]))
    return folder / "flats.csv"


def test_predict_keeps_columns_and_adds_intervals_and_probabilities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flats, model = written(tmp_path), tmp_path / "m.onkel"
    for target, other in (("price", "sold"), ("sold", "price")):
        options = ("--target", target, "--without", f"id,{other}", "--learner", "PKAWV", "--save", model)
        assert onkel_call(monkeypatch, "run", flats, *options) == 0
        capsys.readouterr()
        if target == "price":
            assert onkel_call(monkeypatch, "predict", model, flats, "--keep", "id,size", "--interval", 0.9) == 0
            rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
            assert [(row["id"], row["size"]) for row in rows] == [(f"{k:03}", str(k % 7)) for k in range(60)]
            assert all(float(row["low(0.9)"]) < float(row["price"]) < float(row["high(0.9)"]) for row in rows)
            assert onkel_call(monkeypatch, "predict", model, flats, "--probabilities") == 1
            assert "predicts a number, 'price', which has no probabilities; ask for --interval 0.9" in capsys.readouterr().err
    assert onkel_call(monkeypatch, "predict", model, flats, "--keep", "all", "--probabilities", "--out", tmp_path / "p.jsonl") == 0
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert list(lines[0]) == ["id", "size", "sold", "price", "predicted sold", "P(no)", "P(yes)"]
    assert all((line["P(yes)"] > 0.5) == (line["predicted sold"] == "yes") for line in lines)
    assert onkel_call(monkeypatch, "predict", model, flats, "--keep", "idd") == 1
    assert "has no column 'idd'; did you mean 'id'?" in capsys.readouterr().err
    assert onkel_call(monkeypatch, "predict", flats, model) == 1
    assert f"{model} is one, so name it first" in capsys.readouterr().err


def explained(thing: Any) -> dict[str, str]:
    """The names that a docstring explains, each at the beginning of a line, and the first line of what it says."""
    doc = inspect.getdoc(thing) or ""
    return dict(re.findall(r"^(\w+)  +(\S.*(?:\n +\S.*)*)", doc, re.M))


PUBLIC = [thing for name in onkel.__all__ if callable(thing := getattr(onkel, name)) and thing not in (InputError, onkel.FileError)]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_help_explains_every_setting_with_its_default(thing: Any) -> None:
    said = explained(thing)
    assert inspect.signature(thing).parameters.keys() <= said.keys()
    for name, sentence in said.items():
        default = re.search(r"Default: (.*)\.$", " ".join(sentence.split()))
        if default is not None:
            assert repr(eval(default[1], vars(_names))) == repr(inspect.signature(thing).parameters[name].default)


def test_learners_are_listed_in_groups_that_say_when_to_take_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onkel_call(monkeypatch, "learners", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [name for name, about in listed.items() if not about["take it"] or about["group"] == "others"] == []
    assert onkel_call(monkeypatch, "learners") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("\nStart here:")
    assert all(shown.count(f"\n{name} ") == 1 for name in listed)


def test_a_misspelt_file_is_answered_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flats = written(tmp_path)
    assert onkel_call(monkeypatch, "run", tmp_path / "flat.csv", "--target", "price") == 1
    assert "does not exist; did you mean 'flats.csv'? check the path" in capsys.readouterr().err
    flats.write_text("size,price\n1,2\n")
    assert onkel_call(monkeypatch, "run", flats, "--target", "price", "--learner", "PKAWV") == 0
    assert "flats.csv: 1 row, 1 input, " in capsys.readouterr().out
