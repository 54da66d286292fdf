"""The front door as a newcomer tries it: what is typed first works, and what is mistyped is answered with a remedy."""

from __future__ import annotations

import csv
import dataclasses
import importlib.metadata
import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
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


PLAIN = bool | int | float | str | None
PUBLIC = [thing for name in onkel.__all__ if callable(thing := getattr(onkel, name)) and thing not in (InputError, onkel.FileError)]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_help_explains_every_setting_with_its_default(thing: Any) -> None:
    said = explained(thing)
    parameters = inspect.signature(thing).parameters
    assert parameters.keys() <= said.keys()
    plain = [name for name, one in parameters.items() if thing is not onkel.Trace and isinstance(one.default, PLAIN)]
    assert [name for name in plain if not re.search(r"Default: |\bNone\b", " ".join(said[name].split()))] == []
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
    assert onkel_call(monkeypatch, "run", flats, "price") == 1
    assert "if price is the column to predict: --target price" in capsys.readouterr().err


def test_an_estimator_is_pickled_after_single_rows() -> None:
    for row in ({"a": 1.0}, {"a": 1.0, "b": 2.0}):
        model = onkel.Regressor(onkel.PKAWV(onkel.Identity() + onkel.Constant()))
        for k in range(5):
            model.predict_one(row)
            model.learn_one(row, float(k))
        assert pickle.loads(pickle.dumps(model)).predict_one(row) == model.predict_one(row)


def test_models_are_explained() -> None:
    rows, labels = onkel.data.friedman(100, seed=0)
    estimator = onkel.Regressor().fit(rows, labels)
    assert onkel.explain(estimator.model_, estimator.state_).rows == 100
    with pytest.raises(InputError, match=r"explain\(estimator\.model_, estimator\.state_\)"):
        onkel.explain(estimator, estimator.state_)


def test_equal_states_are_equal() -> None:
    learner = onkel.PKAWV(onkel.Taylor())
    one, other = learner.init(dim=3), learner.init(dim=3)
    learner.learn(one, X, y)
    assert one != other
    learner.learn(other, X, y)
    assert one == other


@pytest.mark.parametrize(("call", "message"), [
    (lambda: onkel.parse(5),  # type: ignore[arg-type]
     "parse takes a config as text"),
    (lambda: onkel.parse("Foo"), "the learners are Auto, BOGD"),
    (lambda: onkel.budget_for(onkel.BOGD, 1000, 3),  # type: ignore[arg-type]
     "make must be a function of the budget"),
    (lambda: onkel.components(onkel.PKAWV().init(2), onkel.PKAWV()), "a learner and its state, in this order"),
    (lambda: onkel.prequential(onkel.PKAWV(), "diabetes"), r"onkel.read\('diabetes'\)"),
    (lambda: onkel.read("https://example.com/a.csv", target="y"), "download it first: curl -O https://example.com/a.csv"),
    (lambda: onkel.read("model.onkel", target="y", format="onkel"), "is a saved model, not data"),
    (lambda: onkel.read(pandas.Series([1.0, 2.0]), target="y"), r"row\.to_dict\(\)"),
])  # fmt: skip
def test_what_cannot_be_used_is_answered_with_a_remedy(
    call: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onkel").write_bytes(b"PK")
    with pytest.raises((InputError, onkel.FileError), match=message):
        call()


def test_a_name_of_the_package_is_spell_checked() -> None:
    with pytest.raises(AttributeError, match="did you mean 'PKAWV'"):
        _ = onkel.pkawv
    assert onkel.__version__ == importlib.metadata.version("onkel")


FRAME = pandas.DataFrame({"town": ["Bonn", "Ulm"] * 10, "size": np.arange(20.0), "price": np.arange(20.0)})


@pytest.mark.parametrize(("call", "message"), [
    (lambda: onkel.Regressor().fit(FRAME), r"requires y to be passed.*fit\(table.drop\(columns='price'\), table\['price'\]\)"),
    (lambda: onkel.Regressor().fit(FRAME, "size"), r"not the name of a column.*table.drop\(columns='size'\), table\['size'\]\)"),
    (lambda: onkel.Regressor().fit(FRAME, FRAME["town"]), "Regressor learns numbers; Classifier learns labels"),
    (lambda: onkel.Regressor().learn_one({"size": 1.0}, "Bonn"), "Regressor learns numbers; Classifier learns labels"),
    (lambda: onkel.Regressor().fit(FRAME, FRAME["size"]).predict(FRAME.iloc[0]), r"give a row as a dict: row.to_dict\(\)"),
    (lambda: onkel.Regressor().fit(FRAME, FRAME["size"]).predict({"size": 1.0}), "give it to learn_one or predict_one"),
    (lambda: onkel.Classifier("Auto").fit(FRAME, FRAME["town"]), r"one of onkel's learners, such as onkel.PKAWV\(\), got 'Auto'"),
    (lambda: onkel.prequential(onkel.Regressor(), X, y), r"prequential takes a learner, such as onkel.PKAWV\(\), got Regressor"),
    (lambda: onkel.prequential(onkel.PKAWV(), FRAME, "price"), r"onkel.read\(table, 'price'\)"),
    (lambda: onkel.prequential(onkel.PKAWV(), FRAME, y[:20]), "onkel.read and onkel.Model encode text, dates and categories"),
])  # fmt: skip
def test_what_scikit_learn_users_type_first_is_answered_with_a_remedy(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_first_value_of_a_key_decides_what_it_holds() -> None:
    for nothing in ("", None):
        model = onkel.Regressor(onkel.PKAWV())
        for town in (nothing, "Bonn", None, "Ulm"):
            model.learn_one({"town": town, "size": 1.0}, 2.0)
        assert model.state_.encoded.values["town"] == ["Bonn", "Ulm"]
    model = onkel.Regressor(onkel.PKAWV())
    model.learn_one({"town": 5, "size": 1.0}, 2.0)
    with pytest.raises(InputError, match=r"row 1 .*'Bonn' is not a number; .* the first values of a key decide what it holds"):
        model.learn_one({"town": "Bonn", "size": 1.0}, 2.0)
    assert model.state_.rows == 1


def test_a_learner_asked_for_fit_names_the_estimators() -> None:
    with pytest.raises(AttributeError, match=r"PKAWV is a learner, .* onkel.Regressor\(onkel.PKAWV\(\)\) has fit"):
        getattr(onkel.PKAWV(), "fit")(X, y)  # noqa: B009
    with pytest.raises(AttributeError, match=r"onkel.Classifier\(onkel.Perceptron\(\)\) has predict_proba"):
        getattr(onkel.Perceptron(), "predict_proba")  # noqa: B009
    with pytest.raises(AttributeError, match="'Auto' object has no attribute 'lern'"):
        getattr(onkel.Auto(), "lern")  # noqa: B009
    with pytest.raises(AttributeError) as raised:
        _ = onkel.Classifier(onkel.Perceptron()).predict_proba
    assert "the scores of Perceptron are no probabilities" in str(raised.value.__cause__)


@pytest.mark.parametrize(("words", "message"), [
    (("run", "flats.csv", "--target", "price", "--learner", "Gaussian"), "such as PKAWVNystroem(kernel=Gaussian(width=None))"),
    (("run", "flats.csv", "--target", "price", "--learner", "Square"), "see: onkel learners"),
    (("run", "rows.json", "--target", "price"), "jq -c '.[]' rows.json > rows.jsonl"),
    (("predict", "model.onkel", "flats.csv", "--out", "flats.parquet"), "let the name end in .csv or .jsonl"),
])  # fmt: skip
def test_options_that_cannot_be_used_are_answered_with_a_remedy(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    Path("rows.json").write_text('[{"size": 1, "price": 2}]')
    assert onkel_call(monkeypatch, *words) == 1
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("cheap_default")
def test_columns_that_rise_and_numbers_with_signs_are_noted_and_f1_names_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{3 * k},{k % 7},{k % 11}%,{'yes' if k % 7 > 3 else 'no'}" for k in range(150)]
    path = tmp_path / "flats.csv"
    path.write_text("\n".join(["row count,size,share,sold", *rows]))
    assert onkel_call(monkeypatch, "run", path, "--target", "sold") == 0
    said = capsys.readouterr().out
    assert "'row count' rises along the rows, so predictions for rows earlier than the last ones learnt may be far off" in said
    assert "--without 'row count'" in said  # as a shell takes it
    assert "'share' was taken as text: '0%' is a number with a sign beside it" in said
    assert "F1 of yes" in said
