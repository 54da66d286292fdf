"""scikit-learn's and River's own checks, for every learner in its tasks; nothing here knows a learner's name but the exceptions."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
import sklearn.base
from sklearn.utils.estimator_checks import check_estimator

import onkel
from onkel.data.table import Kind
from tests.repetition import others_are_long

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

ORDER = "an online learner sees a row of weight 2 once, not twice, and its rows in an order that depends on their number"
FEW = "200 rows in 10 dimensions, seen once, are too few for its first steps; of 4,000 rows it explains what the others do"

LESS: dict[tuple[type, type], dict[str, str]] = {
    (onkel.Regressor, onkel.FunctionalSGD): {"check_regressors_train": FEW},
    (onkel.Regressor, onkel.ProsNKONS): {"check_regressors_train": FEW},
    (onkel.Regressor, onkel.SketchedKONS): {"check_regressors_train": FEW},
}
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": ORDER for kind in ("dense", "sparse")}


def every() -> Iterator[Any]:
    """Each learner, in each of its tasks."""
    for name in onkel.learners.names:
        learner = getattr(onkel, name)()
        if "classification" in learner.tasks:
            yield onkel.Classifier(learner)
        if "regression" in learner.tasks:
            yield onkel.Regressor(learner)


FEW_ESTIMATORS = [
    onkel.Regressor(),
    onkel.Classifier(),
    onkel.Classifier(onkel.MarginProjection()),
    onkel.Regressor(onkel.TubeProjection()),
]
TRANSFORMERS = [
    onkel.Transformer(),
    onkel.Transformer((onkel.Standardize(), onkel.Taylor(degree=2))),
    onkel.Transformer((onkel.Ranks(), onkel.Hats() + onkel.Products() + onkel.Project())),
]


def name_of(estimator: Any) -> str:
    return f"{type(estimator).__name__}-{next(iter(estimator.get_params(deep=False).values()))!r:.30}"


def test_every_learner_has_an_estimator_and_few_have_exceptions() -> None:
    assert {type(estimator.learner) for estimator in every()} == {getattr(onkel, name) for name in onkel.learners.names}
    assert len({check for less in LESS.values() for check in less}) <= 1


def check_all(estimator: Any) -> None:
    """scikit-learn's checks: those that are excused fail, and no others."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 40
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    weights = {} if isinstance(estimator, onkel.Transformer) else WEIGHTS
    excused = LESS.get((type(estimator), type(getattr(estimator, "learner", None))), {})
    assert failed.keys() - weights.keys() == excused.keys(), failed


@pytest.mark.parametrize("estimator", FEW_ESTIMATORS + TRANSFORMERS, ids=name_of)
def test_scikit_learns_checks(estimator: Any) -> None:
    check_all(estimator)


@pytest.mark.long
@pytest.mark.parametrize("estimator", list(every()), ids=name_of)
def test_scikit_learns_checks_for_every_learner(estimator: Any) -> None:
    check_all(estimator)


class Worded:
    """Turns some of the numbers that scikit-learn and River check with into strings: the first column of an array, or in a dict
    the values of a third of the keys."""

    def _checked(self, X: Any, first: bool = False) -> Any:
        X = super()._checked(X, first)  # type: ignore[misc]
        if isinstance(X, list):
            return list(map(worded, X))
        if isinstance(X, np.ndarray):
            X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        return X.assign(**{X.columns[0]: list(map(word, X.iloc[:, 0]))}) if isinstance(X, pd.DataFrame) else X

    def learn_one(self, x: Any, *rest: Any) -> None:
        super().learn_one(worded(x), *rest)  # type: ignore[misc]

    def predict_one(self, x: Any, *rest: Any) -> Any:
        return super().predict_one(worded(x), *rest)  # type: ignore[misc]


class WordedRegressor(Worded, onkel.Regressor):
    """A `Regressor` that sees strings."""


class WordedClassifier(Worded, onkel.Classifier):
    """A `Classifier` that sees strings."""

    def predict_proba_one(self, x: Any, *rest: Any) -> Any:
        return super().predict_proba_one(worded(x), *rest)


def worded(row: dict[Any, Any]) -> dict[Any, Any]:
    return {
        key: word(value) if isinstance(value, float) and crc32(str(key).encode()) % 3 == 0 else value for key, value in row.items()
    }


def word(number: float) -> str:
    return f"about {number:.1f}"


WORDED = [WordedRegressor(onkel.PKAWV()), WordedClassifier(onkel.PKAWV())]


@pytest.mark.parametrize("estimator", WORDED, ids=name_of)
def test_scikit_learns_checks_where_columns_are_strings(estimator: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    assert sklearn.base.clone(estimator).fit(X, y).state_.encoder.columns[0].kind is Kind.TEXT
    check_all(estimator)


needs_river = pytest.mark.skipif(importlib.util.find_spec("river") is None, reason="River is not installed")


def rivers_checks(estimator: Any) -> Iterator[Callable[[Any], None]]:
    from river.checks import yield_checks

    yield from yield_checks(onkel.to_river(estimator))


@needs_river
@pytest.mark.parametrize("estimator", others_are_long(FEW_ESTIMATORS, FEW_ESTIMATORS[::2]), ids=name_of)
def test_rivers_checks(estimator: Any) -> None:
    run_rivers_checks(estimator)


def run_rivers_checks(estimator: Any, *excused: str) -> None:
    seen = 0
    for check in rivers_checks(estimator):
        if check.__name__ not in ("check_bounded_memory_growth", *excused):  # 2,000 rows each: with the long ones
            check(onkel.to_river(estimator).clone())
            seen += 1
    assert seen >= 20


@needs_river
@pytest.mark.parametrize("estimator", WORDED, ids=name_of)
def test_rivers_checks_where_values_are_strings(estimator: Any) -> None:
    river_model = onkel.to_river(sklearn.base.clone(estimator))
    river_model.learn_one({f"x{j}": 1.0 for j in range(9)}, 1.0)
    assert {column.kind for column in river_model.estimator.state_.encoder.columns} == {Kind.TEXT, Kind.NUMBER}
    # all rows of the first frame decide how its strings are encoded, but only the first row of a stream
    run_rivers_checks(estimator, "check_learn_many_matches_learn_one")


@needs_river
@pytest.mark.long
@pytest.mark.parametrize("estimator", list(every()), ids=name_of)
def test_rivers_checks_for_every_learner(estimator: Any) -> None:
    for check in rivers_checks(estimator):
        check(onkel.to_river(estimator).clone())


@needs_river
def test_a_river_pipeline_learns_in_the_estimator_itself() -> None:
    from river import compose, evaluate, metrics, preprocessing

    X, y = onkel.data.friedman(500, seed=0)
    rows = [({f"x{j}": value for j, value in enumerate(row)}, target) for row, target in zip(X.tolist(), y.tolist(), strict=True)]
    own = onkel.Regressor(onkel.TubeProjection(), standardize=False)
    model = compose.Pipeline(preprocessing.StandardScaler(), onkel.to_river(own))
    error = evaluate.progressive_val_score(rows, model, metrics.RMSE())
    assert error.get() < 4.0
    assert own.state_.rows == 500
    with pytest.raises(AttributeError, match=r"in a pipeline of River: onkel.to_river\(onkel.Regressor\(onkel.PKAWV\(\)\)\)"):
        (preprocessing.StandardScaler() | onkel.PKAWV()).learn_one(*rows[0])
    with pytest.raises(onkel.InputError, match="to_river takes"):
        onkel.to_river(onkel.Taylor())


@needs_river
def test_river_takes_the_estimators_themselves() -> None:
    from river import compose, evaluate, metrics, preprocessing

    X, y = onkel.data.friedman(300, seed=0)
    rows: list[Any] = [({f"x{j}": value for j, value in enumerate(row)}, float(y[k])) for k, row in enumerate(X.tolist())]
    own, learner = onkel.Regressor(onkel.TubeProjection()), onkel.TubeProjection()
    error = evaluate.progressive_val_score(rows, own, metrics.MAE())
    assert error.get() == evaluate.progressive_val_score(rows, onkel.to_river(onkel.Regressor(learner)), metrics.MAE()).get()
    assert own.state_.rows == 300
    assert own._raw_memory_usage == onkel.nbytes(own.state_)
    labelled = [(x, target > 14.0) for x, target in rows]
    score = evaluate.progressive_val_score(labelled, onkel.Classifier(onkel.PKAWV()), metrics.LogLoss() + metrics.Accuracy())
    assert score.data[1].get() > 0.7
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), own.clone({"standardize": False}))
    evaluate.progressive_val_score(rows, pipeline, metrics.MAE())
    assert own.clone(include_attributes=True).predict_one(rows[0][0]) == own.predict_one(rows[0][0])
    assert pipeline.clone().predict_one(rows[0][0]) == 0.0
    weighed = onkel.Regressor(onkel.PKAWV())
    evaluate.progressive_val_score([(x, target, {"w": 0.0}) for x, target in rows], weighed, metrics.MAE())
    assert not hasattr(weighed, "state_")


@needs_river
def test_many_rows_of_river_may_be_a_list_of_dicts() -> None:
    import pandas as pd

    X, y = onkel.data.friedman(60, seed=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    rows = frame.to_dict("records")
    ours, theirs = onkel.to_river(onkel.Regressor(onkel.PKAWV())), onkel.to_river(onkel.Regressor(onkel.PKAWV()))
    ours.learn_many(rows, list(y), w=[1.0] * 60)
    theirs.learn_many(frame, pd.Series(y))
    assert ours.predict_many(rows).tolist() == theirs.predict_many(frame).tolist()
    classes = onkel.to_river(onkel.Classifier(onkel.PKAWV()))
    assert classes.predict_proba_many(rows).shape == (60, 0)
    classes.learn_many(rows, list(y > 14.0))
    assert classes.predict_proba_many(rows[:5]).shape == (5, 2)
    with pytest.raises(onkel.InputError, match="a pandas DataFrame or a list of dicts, got dict"):
        ours.learn_many(rows[0], [1.0])


@needs_river
def test_rivers_model_of_a_bare_learner() -> None:
    assert onkel.to_river(onkel.RBP()).estimator.learner == onkel.RBP()
    assert isinstance(onkel.to_river(onkel.TubeProjection()).estimator, onkel.Regressor)
    with pytest.raises(onkel.InputError, match=r"both numbers and classes; say which: to_river\(onkel.Regressor\(learner\)\)"):
        onkel.to_river(onkel.PKAWV())


def test_the_estimator_of_a_river_model_is_the_one_that_learns(tmp_path: Path) -> None:
    preprocessing = pytest.importorskip("river.preprocessing")
    model = preprocessing.StandardScaler() | onkel.to_river(onkel.Regressor(onkel.PKAWV(), waiting=5))
    for k in range(30):
        model.learn_one({"a": float(k % 7)}, 2.0 * (k % 7))
    own = model[-1].estimator
    assert own.predict_one({"a": 0.5}) == model[-1].predict_one({"a": 0.5})
    own.predict_one({"a": 0.5}, id="late")
    assert own.learn_late("late", 1.0)
    assert own.predict_one({"a": 0.5}) == model[-1].predict_one({"a": 0.5})
    own.save(tmp_path / "model.onkel")
    assert onkel.Regressor.load(tmp_path / "model.onkel").predict_one({"a": 0.5}) == own.predict_one({"a": 0.5})


@needs_river
def test_many_rows_for_river_are_the_rows_one_by_one() -> None:
    X, y = onkel.data.friedman(120, seed=0)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"], index=range(7, 127))
    kinds = pd.Series(np.where(y > 14.0, "high", "low"), index=frame.index)
    numbers = pd.Series(y, index=frame.index)
    for estimator, labels in (
        (onkel.Regressor(onkel.TubeProjection()), numbers),
        (onkel.Classifier(onkel.FOGD(loss=onkel.Logistic())), kinds),
    ):
        many, one = onkel.to_river(sklearn.base.clone(estimator)), onkel.to_river(sklearn.base.clone(estimator))
        assert many.predict_many(frame).index.equals(frame.index)
        many.learn_many(frame[:60].drop(columns="c"), labels[:60])
        many.learn_many(frame[60:], labels[60:])
        for k, (x, label) in enumerate(zip(frame.to_dict("records"), labels.tolist(), strict=True)):
            one.learn_one(x if k >= 60 else {"a": x["a"], "b": x["b"]}, label)
        predicted = many.predict_many(frame)
        assert predicted.index.equals(frame.index)
        assert predicted.tolist() == [one.predict_one(x) for x in frame.to_dict("records")]
    found = many.predict_proba_many(frame)
    assert found.columns.tolist() == ["high", "low"]
    assert found.iloc[3].to_dict() == pytest.approx(one.predict_proba_one(frame.iloc[3].to_dict()))
    with pytest.raises(onkel.InputError, match="many rows are a pandas DataFrame or a list of dicts, got ndarray"):
        many.learn_many(frame.to_numpy(), labels)
    with pytest.raises(NotImplementedError, match="Perceptron are no probabilities"):
        onkel.to_river(onkel.Perceptron()).predict_proba_one({"a": 1.0})
