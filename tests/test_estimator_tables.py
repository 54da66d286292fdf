"""Estimators take tables with names: strings, categories, booleans, numbers that may be missing, dates; in any order of columns."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from tests.laws.cases import bits

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.once

ROWS = 150
SMALL = onkel.PKAWV(onkel.Fourier(count=10) + onkel.Identity() + onkel.Constant())


def mixed() -> Any:
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "town": rng.choice(["Bonn", "Köln", "Ulm"], ROWS),
            "kind": pandas.Categorical(rng.choice(["flat", "house"], ROWS)),
            "rooms": pandas.array(rng.integers(1, 9, ROWS), dtype="Int64"),
            "lift": rng.random(ROWS) > 0.5,
            "garden": pandas.array(rng.random(ROWS) > 0.5, dtype="boolean"),
            "size": rng.normal(80.0, 20.0, ROWS),
            "height": pandas.array(rng.normal(3.0, 0.2, ROWS), dtype="Float64"),
            "sold": pandas.date_range("2026-01-01", periods=ROWS, freq="7h"),
        }
    )
    for row, (name, gap) in enumerate(
        {"rooms": pandas.NA, "garden": pandas.NA, "size": np.nan, "town": None, "sold": pandas.NaT}.items()
    ):
        frame.loc[10 * row, name] = gap
    return frame


FRAME = mixed()
PRICE = FRAME["size"].fillna(80.0).to_numpy() + 50.0 * (FRAME["town"] == "Bonn").to_numpy()
DEAR = np.where(FRAME["town"] == "Bonn", "dear", "cheap")
ESTIMATORS = {"regressor": (onkel.Regressor(SMALL), PRICE), "classifier": (onkel.Classifier(SMALL), DEAR)}
both = pytest.mark.parametrize(("estimator", "labels"), ESTIMATORS.values(), ids=ESTIMATORS)

SHAPES: dict[str, Callable[[Any], Any]] = {
    "polars": polars.from_pandas,
    "pyarrow": pyarrow.Table.from_pandas,
    "columns in another order": lambda frame: frame[frame.columns[::-1]],
    "another index": lambda frame: frame.set_axis(range(1000, 1000 + len(frame))),
    "strings for categories": lambda frame: frame.astype({"kind": str}),
}


@both
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_same_table_in_another_shape_gives_the_same_answers(estimator: Any, labels: Any, shape: Callable[[Any], Any]) -> None:
    model = clone(estimator).fit(FRAME, labels)
    assert np.array_equal(model.predict(shape(FRAME)), model.predict(FRAME))
    assert clone(estimator).fit(shape(FRAME), labels).score(FRAME, labels) == pytest.approx(model.score(FRAME, labels), abs=0.02)


@both
def test_tables_are_learnt_and_lists_of_dicts_and_single_rows_are_tables(estimator: Any, labels: Any) -> None:
    model = clone(estimator).fit(FRAME[:100], labels[:100])
    assert model.score(FRAME[100:], labels[100:]) > 0.8
    rows = FRAME.to_dict("records")
    assert np.array_equal(model.predict(rows), model.predict(FRAME))
    assert model.predict_one(rows[7]) == pytest.approx(model.predict(FRAME[7:8])[0])
    began = clone(estimator).fit(rows[:100], labels[:100])
    assert began.score(FRAME[100:], labels[100:]) == began.score(rows[100:], labels[100:]) > 0.8


def test_a_missing_number_is_the_mean_of_its_column() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = onkel.Regressor(SMALL).fit(rows, rows.sum(axis=1))
    assert model.predict([[np.nan, 0.5]])[0] == pytest.approx(model.predict([[rows[:, 0].mean(), 0.5]])[0])
    rows[5, 0] = np.nan
    assert onkel.Regressor(SMALL).fit(rows, rows[:, 1]).state_.encoder.width == 3, "one column says where the value was missing"
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.0]])


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a column is missing": (lambda frame: frame.drop(columns="size"), "yet now missing:\n- size"),
    "a column is new": (lambda frame: frame.assign(new=1.0), "unseen at fit time:\n- new"),
    "words among numbers": (lambda frame: frame.assign(size="large"), "column 'size' must hold numbers, got .*'large'"),
    "infinite": (lambda frame: frame.assign(size=np.inf), "column 'size': inf is not finite"),
    "an array": (lambda frame: np.zeros((len(frame), 8)), "strings or dates, which an array cannot hold; give a DataFrame"),
    "an array of words": (lambda frame: frame.to_numpy(), "give a DataFrame or a list of dicts"),
}


@both
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_other_tables_are_refused_and_change_nothing(estimator: Any, labels: Any, change: Any, message: str) -> None:
    model = clone(estimator).fit(FRAME, labels)
    before = bits(model.state_.inner), model.state_.rows
    for call in (model.predict, lambda X: model.partial_fit(X, labels)):
        with pytest.raises(ValueError, match=message):
            call(change(FRAME))
    assert (bits(model.state_.inner), model.state_.rows) == before


@both
def test_frames_without_names_are_arrays_that_may_hold_words(estimator: Any, labels: Any) -> None:
    frame = FRAME.set_axis(range(8), axis=1)
    model = clone(estimator).fit(frame, labels)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(frame), clone(estimator).fit(FRAME, labels).predict(FRAME))
    with pytest.raises(ValueError, match="X has 7 features, but"):
        model.predict(frame[range(7)])


# --- what scikit-learn's checks ask of arrays, of a table


def same(found: Any, expected: Any) -> bool:
    """Equal labels, or numbers within `cut_tolerance`: the BLAS may round by the place of a row in its block."""
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    return np.allclose(found, expected, rtol=onkel.PKAWV.cut_tolerance, atol=0.0)


@both
def test_fit_describes_repeats_and_forgets(estimator: Any, labels: Any) -> None:
    model = clone(estimator)
    params = model.get_params()
    assert model.fit(FRAME, labels) is model
    assert model.n_features_in_ == 8
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    first = model.predict(FRAME)
    assert np.array_equal(model.fit(FRAME, labels).predict(FRAME), first)
    few = FRAME[["size", "town"]]
    assert np.array_equal(model.fit(few, labels).predict(few), clone(estimator).fit(few, labels).predict(few))
    assert (model.n_features_in_, model.feature_names_in_.tolist()) == (2, ["size", "town"])
    assert model.get_params() == clone(model).get_params() == params
    assert not hasattr(clone(model), "state_")


@both
def test_answers_of_rows_depend_on_these_rows_alone(estimator: Any, labels: Any) -> None:
    frame = FRAME.copy()
    model = clone(estimator).fit(frame, labels)
    whole, order = model.predict(FRAME), np.random.default_rng(0).permutation(ROWS)
    permuted, parts = model.predict(FRAME.iloc[order]), [model.predict(FRAME[k : k + 50]) for k in range(0, ROWS, 50)]
    assert same(permuted, whole[order])
    assert same(np.concatenate(parts), whole)
    pandas.testing.assert_frame_equal(frame, FRAME)


@both
def test_parts_of_a_table_go_on_and_pickles_and_files_too(estimator: Any, labels: Any, tmp_path: Any) -> None:
    model = clone(estimator).partial_fit(FRAME[:60], labels[:60])
    model.save(tmp_path / "m.onkel")
    others = [pickle.loads(pickle.dumps(model)), type(model).load(tmp_path / "m.onkel")]
    for each in (model, *others):
        each.partial_fit(FRAME[60:], labels[60:])
    for other in others:
        assert bits(other.state_.inner) == bits(model.state_.inner)
        assert np.array_equal(other.predict(FRAME), model.predict(FRAME))
        assert other.feature_names_in_.tolist() == FRAME.columns.tolist()


@both
def test_column_transformers_and_searches(estimator: Any, labels: Any) -> None:
    scale = ColumnTransformer([("numbers", StandardScaler(), ["size", "height"])], remainder="passthrough")
    model = make_pipeline(scale.set_output(transform="pandas"), clone(estimator))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(model, FRAME, labels, cv=3).min() > 0.6
        search = GridSearchCV(clone(estimator), {"learner__lam": [0.1, 1.0]}, cv=2).fit(FRAME, labels)
    assert search.best_estimator_.feature_names_in_.tolist() == FRAME.columns.tolist()


def test_features_of_a_transformer_have_names() -> None:
    numbers = FRAME[["size", "height"]].fillna(80.0)
    features = onkel.Transformer(onkel.Fourier(count=2)).set_output(transform="pandas").fit(numbers)
    assert features.transform(numbers).columns.tolist() == ["z0", "z1", "z2", "z3"]
    assert np.array_equal(features.transform(numbers[["height", "size"]]), features.transform(numbers))
    assert onkel.Regressor(SMALL).fit(features.transform(numbers), PRICE).n_features_in_ == 4
