"""The estimators say what their learners would have said, whatever shape the rows and labels come in."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import onkel
from onkel.combine import Auto, Calibrated, Intervals, Lagged, OneVsRest, Scaled
from onkel.combine.probabilities import nearest_on_simplex
from onkel.features.compose import as_features
from tests.laws.cases import bits

pytestmark = pytest.mark.once

Array = NDArray[np.float64]

X, Y = onkel.data.friedman(700, seed=3)
KINDS = np.array(["c", "b", "a"])[(Y > 12).astype(int) + (Y > 17)]
NAMES = [f"x{j}" for j in range(X.shape[1])]
SMALL = onkel.PKAWV(onkel.Fourier(count=10) + onkel.Identity() + onkel.Constant())
TUBE = onkel.TubeProjection()


def dicts(rows: Array = X) -> list[dict[str, float]]:
    return [dict(zip(NAMES, map(float, row), strict=True)) for row in rows]


def learnt(model: Any, rows: Any, labels: Any) -> Any:
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    return model


def standardized(rows: Array) -> Array:
    Z = np.empty(rows.shape)
    onkel.Standardize().write(onkel.Standardize().init(rows.shape[1]), rows, np.ones(len(rows)), Z, 0)
    return Z


# --- the bare learner, and the estimator around it


@pytest.mark.parametrize("learner", [SMALL, TUBE], ids=["PKAWV", "TubeProjection"])
def test_a_regressor_is_the_scaled_learner(learner: Any) -> None:
    bare = Intervals(Scaled(learner))
    state = bare.init(X.shape[1])
    bare.learn(state, X[:500], Y[:500])
    model = onkel.Regressor(learner).partial_fit(X[:500], Y[:500])
    assert np.array_equal(model.predict(X[500:]), bare.predict(state, X[500:]))
    assert bits(model.state_.inner) == bits(state)


def test_without_scales_a_regressor_is_the_bare_learner() -> None:
    state = TUBE.init(X.shape[1])
    TUBE.learn(state, X[:500], Y[:500])
    model = onkel.Regressor(TUBE, standardize=False, scale_target=False).partial_fit(X[:500], Y[:500])
    assert np.array_equal(model.predict(X[500:]), TUBE.predict(state, X[500:]))


def test_two_classes_are_one_learner_on_signs() -> None:
    labels = KINDS[:500] == "a"
    learner = onkel.Perceptron()
    state = learner.init(X.shape[1])
    learner.learn(state, standardized(X[:500]), np.where(labels, 1.0, -1.0))
    model = onkel.Classifier(learner).partial_fit(X[:500], labels)
    last = np.array([standardized(np.vstack([X[:500], row]))[-1] for row in X[500:520]])
    assert np.array_equal(model.decision_function(X[500:520]), learner.predict(state, last))
    assert model.classes_.tolist() == [False, True]


def test_the_ridge_family_learns_zeros_and_ones_on_one_matrix() -> None:
    codes = (KINDS[:, None] == np.array(["a", "b", "c"])).astype(float)
    state = SMALL.init(X.shape[1], 3)
    Z = standardized(X)
    SMALL.learn(state, Z[:699], codes[:699])
    model = onkel.Classifier(SMALL).partial_fit(X[:699], KINDS[:699])
    assert np.allclose(model.decision_function(X[699:]), SMALL.predict(state, Z[699:]), rtol=0.0, atol=1e-9)
    assert model.predict(X[:5]).dtype == KINDS.dtype


def test_single_rows_and_blocks_are_one_stream() -> None:
    blocks = onkel.Classifier(onkel.MarginProjection()).partial_fit(X[:300], KINDS[:300])
    rows = onkel.Classifier(onkel.MarginProjection()).partial_fit(X[:1], KINDS[:1], classes=["a", "b", "c"])
    learnt(rows, X[1:300], KINDS[1:300])
    assert np.array_equal(blocks.decision_function(X[300:]), rows.decision_function(X[300:]))


def test_a_score_knows_neither_its_label_nor_later_rows() -> None:
    one, other = onkel.Regressor(TUBE), onkel.Regressor(TUBE)
    for t in range(300):
        late = Y[t] if t < 299 else 1e6
        assert one.predict_one(X[t]) == other.predict_one(X[t])
        one.learn_one(X[t], Y[t])
        other.learn_one(X[t], late)
    assert one.predict_one(X[300]) != other.predict_one(X[300])


def test_several_targets_at_once() -> None:
    both = np.column_stack([Y, -3.0 * Y + 1e5])
    model = onkel.Regressor(SMALL).fit(X[:500], both[:500])
    assert model.predict(X[500:]).shape == (200, 2)
    assert np.allclose(model.predict(X[500:])[:, 1], -3.0 * model.predict(X[500:])[:, 0] + 1e5, rtol=1e-9)
    assert np.allclose(model.predict(X[500:])[:, 0], onkel.Regressor(SMALL).fit(X[:500], Y[:500]).predict(X[500:]), rtol=1e-9)
    assert model.predict_one(X[0]).shape == (2,)
    with pytest.raises(ValueError, match="1d array"):
        onkel.Regressor(TUBE).fit(X, both)


@pytest.mark.parametrize(
    "learner", [TUBE, onkel.NewtonFeatures(onkel.Identity() + onkel.Constant()), SMALL], ids=lambda kind: type(kind).__name__
)
def test_nobody_has_to_scale_the_target(learner: Any) -> None:
    """Neither its size nor its zero matters."""
    plain = onkel.Regressor(learner).fit(X[:500], Y[:500]).predict(X[500:])
    moved = onkel.Regressor(learner).fit(X[:500], 1e5 * Y[:500] - 7e6).predict(X[500:])
    assert np.allclose((moved + 7e6) / 1e5, plain, rtol=0.0, atol=1e-7)
    assert np.mean((plain - Y[500:]) ** 2) < 0.5 * np.var(Y)


def test_a_target_that_was_constant_gets_its_scale_late() -> None:
    labels = np.concatenate([np.full(300, 5.0), 5.0 + 1e4 * (Y[300:] - 14.0)])
    model = learnt(onkel.Regressor(onkel.NewtonFeatures()), X[:300], labels[:300])
    assert model.predict_one(X[0]) == 5.0
    learnt(model, X[300:], labels[300:])
    assert np.mean((model.predict(X[400:]) - labels[400:]) ** 2) < 0.5 * np.var(labels[400:])


def test_labels_far_from_the_first_are_told() -> None:
    model = onkel.Regressor(SMALL).fit(X[:300], Y[:300])
    assert model.notes_ == []
    model.partial_fit(X[:3], 1e6 + Y[:3])
    assert any("3 labels lay more than 10 deviations" in note for note in model.notes_)


# --- classes


@pytest.mark.parametrize(
    "learner", [SMALL, onkel.Perceptron(), onkel.FOGD(onkel.Fourier(count=10))], ids=lambda kind: type(kind).__name__
)
def test_a_class_that_comes_late_might_as_well_have_been_known(learner: Any) -> None:
    order = np.concatenate([np.flatnonzero(KINDS[:350] != "b"), np.arange(350, 700)])  # the first b after half of the rows
    arrived = list(dict.fromkeys(KINDS[order].tolist()))
    assert arrived[2] == "b"
    known = onkel.Classifier(learner).partial_fit(X[order][:1], KINDS[order][:1], classes=arrived)
    known.partial_fit(X[order][1:], KINDS[order][1:])
    met = learnt(onkel.Classifier(learner), X[order], KINDS[order])
    assert met.classes_.tolist() == known.classes_.tolist() == ["a", "b", "c"]
    assert np.allclose(met.decision_function(X), known.decision_function(X), rtol=0.0, atol=1e-9 if learner.multi_output else 0.0)
    assert np.mean(met.predict(X[350:]) == KINDS[350:]) > 0.55


def test_one_learner_sees_no_class_so_that_new_ones_start_exactly() -> None:
    codes = np.where(KINDS[:, None] == np.array(["a", "c", "b"]), 1.0, -1.0)
    order = np.argsort(KINDS == "b", kind="stable")
    rows, labels, first = X[order], codes[order], int(np.sum(KINDS != "b"))
    learner = OneVsRest(onkel.PassiveAggressive())
    whole, late = learner.init(10, 3), learner.init(10, 1)
    expected = learner.learn(whole, rows, labels)
    learner.widen(late, 2)
    learner.learn(late, rows[:first], labels[:first, :2])
    learner.widen(late, 3)
    assert np.array_equal(learner.learn(late, rows[first:], labels[first:]), expected[first:])
    assert bits(late) == bits(whole)


def test_columns_follow_the_order_of_the_classes_not_of_arrival() -> None:
    model = learnt(onkel.Classifier(SMALL), X, KINDS)
    assert KINDS[0] != "a"
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, KINDS) > 0.7
    one = model.predict_proba_one(X[5])
    assert list(one) == ["a", "b", "c"]
    assert np.allclose(list(one.values()), model.predict_proba(X[5:6])[0], rtol=0.0, atol=1e-12)
    assert model.predict_one(X[5]) == model.predict(X[5:6])[0]


def test_labels_of_many_kinds() -> None:
    model = learnt(onkel.Classifier(SMALL), X[:4], [3, "three", (3, 3), 3])
    assert model.classes_.tolist() == [3, "three", (3, 3)]
    for wrong in (None, np.nan):
        with pytest.raises(onkel.InputError, match="no label"):
            model.learn_one(X[0], wrong)


def test_before_the_first_row() -> None:
    assert onkel.Regressor().predict_one(X[0]) == 0.0
    assert onkel.Classifier().predict_one(X[0]) is None
    assert onkel.Classifier().predict_proba_one({}) == {}
    for verb in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(onkel.Classifier(), verb)(X)


def test_one_class_alone() -> None:
    model = onkel.Classifier(onkel.Perceptron()).fit(X[:20], np.full(20, "a"))
    assert (model.predict(X) == "a").all()
    assert (onkel.Classifier(SMALL).fit(X[:20], np.full(20, "a")).predict_proba(X) == 1.0).all()


@pytest.mark.parametrize("labels", [("low", "high"), ("high", "low"), ("b", "a", "c")])
def test_a_tie_is_decided_as_by_the_model(labels: tuple[str, ...]) -> None:
    rows, x = np.eye(len(labels), 4), np.zeros(4)  # nothing is known about x, so all classes have the same score
    model = onkel.Classifier(learner=onkel.Perceptron(kernel=onkel.Linear()), standardize=False)
    model.partial_fit(rows, labels)
    assert not np.any(model.decision_function(x[None]))
    (decided,) = model.model_.predict(model.state_, x[None])
    assert model.predict(x[None])[0] == decided == model.predict_one(x)


def test_scores_of_a_square_loss_go_to_the_nearest_probabilities() -> None:
    rng = np.random.default_rng(0)
    for scores in rng.normal(size=(50, 4)):
        nearest = nearest_on_simplex(scores[None])[0]
        assert nearest.min() >= 0.0
        assert nearest.sum() == pytest.approx(1.0, abs=1e-12)
        others = rng.dirichlet(np.full(4, 0.5), size=200)
        assert np.sum((nearest - scores) ** 2) <= np.sum((others - scores) ** 2, axis=1).min() + 1e-12


def test_scores_of_a_logistic_loss_go_through_the_logistic_function() -> None:
    learner = onkel.NewtonFeatures(onkel.Identity() + onkel.Constant(), onkel.Logistic(), clip=2.0)
    model = onkel.Classifier(learner).fit(X, KINDS == "a")
    assert np.allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-12)
    losses = np.where(KINDS == "a", model.predict_proba(X)[:, 1], model.predict_proba(X)[:, 0])
    assert -np.mean(np.log(losses)) < 0.8 * np.log(2.0)


# --- rows with names


def test_keys_may_come_in_any_order() -> None:
    turned = [dict(reversed(list(x.items()))) for x in dicts()]
    one, other = learnt(onkel.Regressor(SMALL), dicts(), Y), learnt(onkel.Regressor(SMALL), turned, Y)
    assert bits(one.state_.inner) == bits(other.state_.inner)
    assert one.predict_one(turned[3]) == other.predict_one(dicts()[3])
    assert one.feature_names_in_.tolist() == NAMES


def test_a_missing_value_is_the_mean_and_moves_nothing() -> None:
    model = learnt(onkel.Regressor(SMALL), dicts(), Y)
    mean = model.state_.inner.inner.known[0][NAMES.index("x3")]
    x = dicts()[9]
    without = {name: value for name, value in x.items() if name != "x3"}
    assert model.predict_one(without) == pytest.approx(model.predict_one(x | {"x3": mean}), rel=1e-9)
    assert model.predict_one(x | {"x3": None, "new": None}) == model.predict_one(without)
    seen = model.state_.inner.inner.known[2].copy()
    model.learn_one(x | {"x3": None}, 1.0)
    assert model.state_.inner.inner.known[0][NAMES.index("x3")] == mean
    assert (model.state_.inner.inner.known[2] - seen).tolist() == [name != "x3" for name in NAMES]


@pytest.mark.parametrize("learner", [TUBE, SMALL], ids=["TubeProjection", "PKAWV"])
def test_a_key_that_comes_within_the_first_rows_might_as_well_have_been_known(learner: Any) -> None:
    rows = [{name: value for name, value in x.items() if t >= 40 or name not in ("x0", "x4")} for t, x in enumerate(dicts())]
    met = learnt(onkel.Regressor(learner), rows, Y)
    known = onkel.Regressor(learner)
    known.model_ = known._model()
    known.state_ = known.model_.init((dicts()[0], Y[0]))
    known._describe()
    learnt(known, rows, Y)
    assert met.n_features_in_ == 10
    assert np.allclose([met.predict_one(x) for x in dicts()], [known.predict_one(x) for x in dicts()], rtol=1e-9)
    if learner is TUBE:
        assert bits(met.state_.inner.inner) == bits(known.state_.inner.inner)


def test_a_key_that_comes_later_is_passed_over_and_told_unless_a_column_is_spare() -> None:
    late = [x if t >= 400 else {name: value for name, value in x.items() if name != "x3"} for t, x in enumerate(dicts())]
    without = learnt(onkel.Regressor(SMALL), late, Y)
    assert "x3" not in without.feature_names_in_
    assert any("300 values of 'x3' were not used: too late for a column of their own" in note for note in without.notes_)
    spare = learnt(onkel.Regressor(SMALL, spare=1), late, Y)
    assert spare.notes_ == ["'x3' came late and took a spare column"]
    assert spare.feature_names_in_.tolist()[-1] == "x3"
    error = [
        np.mean([(model.predict_one(x) - y) ** 2 for x, y in zip(late[500:], Y[500:], strict=True)]) for model in (spare, without)
    ]
    assert error[0] < 0.7 * error[1]


def test_values_that_are_no_numbers_are_named_and_leave_no_trace() -> None:
    model = learnt(onkel.Classifier(SMALL), dicts()[:10], KINDS[:10])
    before = bits(model.state_.inner), model.feature_names_in_.tolist(), model.classes_.tolist()
    for value, message in (
        ("red", r"key 'x3': 'red' is not a number; .*declare the column as text"),
        (np.inf, "column 'x3': inf is not finite"),
        ("3.5", "key 'x3': '3.5' is not a number"),
        (b"3", "key 'x3'.* is not a number"),
    ):
        with pytest.raises(onkel.InputError, match=message):
            model.learn_one(dicts()[0] | {"x3": value}, "new")
        with pytest.raises(onkel.InputError, match=message):
            model.predict_one(dicts()[0] | {"x3": value})
    with pytest.raises(onkel.InputError, match="key 'x3'"):
        model.learn_one({"new": 1.0, "x3": "red"}, "a")
    with pytest.raises(onkel.InputError, match="x3"):
        model.predict_one({"x3": "red"}, id=1)
    assert not model.learn_late(1, "a")
    assert (bits(model.state_.inner), model.feature_names_in_.tolist(), model.classes_.tolist()) == before


def test_arrays_and_dicts_cannot_be_mixed_without_names() -> None:
    model = onkel.Regressor(SMALL).fit(X, Y)
    with pytest.raises(onkel.InputError, match="arrays without names"):
        model.predict_one(dicts()[0])
    with pytest.raises(onkel.InputError, match=r"x has 3 values.*had 10"):
        model.predict_one(X[0, :3])
    with pytest.raises(onkel.InputError, match="one dimension"):
        model.learn_one(X[:2], 1.0)
    with pytest.raises(onkel.InputError, match="no keys"):
        onkel.Regressor().learn_one({}, 1.0)


def test_frames_have_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    model = onkel.Regressor(SMALL).fit(frame[:500], pandas.Series(Y[:500]))
    assert np.array_equal(model.predict(frame[500:]), onkel.Regressor(SMALL).fit(X[:500], Y[:500]).predict(X[500:]))
    assert model.predict_one(dicts()[600]) == pytest.approx(model.predict(frame[600:601])[0], rel=1e-12)


def test_sparse_rows_are_dense_rows() -> None:
    thin = np.where(X > 0.6, X, 0.0)
    dense, sparse = onkel.Regressor(SMALL).fit(thin, Y), onkel.Regressor(SMALL).fit(scipy.sparse.csr_matrix(thin), Y)
    assert bits(dense.state_.inner) == bits(sparse.state_.inner)
    assert np.array_equal(dense.predict(thin), sparse.predict(scipy.sparse.csr_array(thin)))


# --- weights


def test_a_learner_with_weights_gets_them() -> None:
    weight = np.random.default_rng(0).integers(0, 3, size=500) * 0.7
    bare = Scaled(SMALL)
    state = bare.init(10)
    bare.learn(state, X[:500], Y[:500], weight)
    model = onkel.Regressor(SMALL).partial_fit(X[:500], Y[:500], sample_weight=weight)
    assert np.allclose(model.predict(X), bare.predict(state, X), rtol=1e-9)


def test_a_learner_without_weights_learns_a_row_of_weight_three_three_times() -> None:
    weight = np.arange(300) % 4
    repeated = np.repeat(np.arange(300), weight)
    one = onkel.Classifier(onkel.Perceptron()).partial_fit(X[:300], KINDS[:300], sample_weight=weight)
    other = onkel.Classifier(onkel.Perceptron()).partial_fit(X[repeated], KINDS[repeated])
    assert bits(one.state_.inner) == bits(other.state_.inner)
    arrived = list(dict.fromkeys(KINDS[repeated].tolist()))
    single = onkel.Classifier(onkel.Perceptron()).partial_fit(X[repeated[:1]], KINDS[repeated[:1]], classes=arrived)
    weight[repeated[0]] -= 1
    for x, kind, w in zip(X[:300], KINDS[:300], weight.tolist(), strict=True):
        single.learn_one(x, kind, w)
    assert bits(single.state_.inner) == bits(one.state_.inner)
    with pytest.raises(onkel.InputError, match=r"has no row weights.*0\.5"):
        one.partial_fit(X[:2], KINDS[:2], sample_weight=[1.0, 0.5])


def test_rows_of_weight_zero_are_nothing() -> None:
    model = learnt(onkel.Classifier(SMALL), dicts()[:50], KINDS[:50])
    before = bits(model.state_.inner), model.classes_.tolist(), model.n_features_in_
    model.learn_one({"x0": 1.0, "new": 2.0}, "new", w=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names
        model.partial_fit(X[:5], ["new"] * 5, sample_weight=np.zeros(5))
    assert (bits(model.state_.inner), model.classes_.tolist(), model.n_features_in_) == before
    for kind in (onkel.Classifier(SMALL), onkel.Regressor(SMALL)):
        with pytest.raises(onkel.InputError, match="all weights are zero"):
            kind.fit(X, np.arange(700) % 3, np.zeros(700))


# --- labels that come later


def test_a_label_may_come_later() -> None:
    now, late = onkel.Classifier(SMALL), onkel.Classifier(SMALL)
    for t, x in enumerate(dicts()[:200]):
        late.predict_one(x, id=t)
        if t >= 30:
            assert late.learn_late(t - 30, KINDS[t - 30])
            now.learn_one(dicts()[t - 30], KINDS[t - 30])
    assert bits(now.state_.inner) == bits(late.state_.inner)
    assert not late.learn_late(5, "a"), "it was learnt already"
    assert bits(now.state_.inner) == bits(late.state_.inner)


def test_the_oldest_row_gives_way() -> None:
    model = onkel.Regressor(SMALL, waiting=3)
    for t in range(5):
        model.predict_one(X[t], id=f"row {t}")
    assert list(model.waiting_) == ["row 2", "row 3", "row 4"]
    assert not model.learn_late("row 0", 1.0)
    assert model.learn_late("row 3", 1.0)
    assert model.state_.rows == 1
    model.predict_one(X[5], id="row 2")  # again: it is the newest now
    model.predict_one(X[6], id="row 6")
    model.predict_one(X[7], id="row 7")
    assert list(model.waiting_) == ["row 2", "row 6", "row 7"]


def test_a_row_that_waits_is_a_copy_and_survives_a_bad_label() -> None:
    model, x = onkel.Regressor(SMALL), dicts()[0]
    model.predict_one(x, id=1)
    x["x0"] = 1e9
    with pytest.raises(ValueError, match="y is nan, which is no label"):
        model.learn_late(1, np.nan)
    assert model.learn_late(1, 2.0)
    assert model.state_.inner.inner.known[0, 0] == dicts()[0]["x0"]


# --- calls that fail, and calls that follow others


def test_fit_forgets_the_classes_of_an_earlier_fit() -> None:
    for first, second in (("abc", "def"), ("abc", "cba")):
        names = [dict(zip("abc", letters, strict=True)) for letters in (first, second)]
        labels = [np.array([to[kind] for kind in KINDS.tolist()]) for to in names]
        twice = onkel.Classifier(onkel.Perceptron()).fit(X, labels[0]).fit(X, labels[1])
        once = onkel.Classifier(onkel.Perceptron()).fit(X, labels[1])
        assert twice.classes_.tolist() == once.classes_.tolist()
        assert np.array_equal(twice.predict(X), once.predict(X))


def test_a_first_call_that_fails_leaves_an_estimator_that_knows_nothing() -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda model: model.partial_fit(X, KINDS, sample_weight=[1.0]),
        lambda model: model.learn_one(dicts()[0], "a", w=-1.0),
        lambda model: model.learn_one(dicts()[0], ["a"]),
        lambda model: model.learn_one(dicts()[0], None),
    ]
    for call in calls:
        model = onkel.Classifier(SMALL)
        with pytest.raises(onkel.InputError):
            call(model)
        assert set(vars(model)) == set(vars(onkel.Classifier(SMALL)))
    fitted = onkel.Classifier(SMALL).fit(X, KINDS)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.fit(X, KINDS[:3])
    with pytest.raises(onkel.InputError, match="weight must have shape"):
        fitted.partial_fit(X, KINDS, classes=["new"], sample_weight=[1.0])
    assert np.array_equal(fitted.predict(X), before)
    assert sorted(fitted.state_.labels) == fitted.classes_.tolist() == ["a", "b", "c"]


def test_a_row_that_waits_must_fit_the_rows_that_came() -> None:
    model = onkel.Regressor(SMALL)
    model.predict_one({"a": 1.0}, id=1)
    model.learn_one([1.0, 2.0], 1.0)
    with pytest.raises(onkel.InputError, match="arrays without names"):
        model.learn_late(1, 2.0)


def test_waiting_rows_with_gaps_and_dates_are_saved(tmp_path: Path) -> None:
    model = onkel.Regressor(SMALL)
    when = datetime.datetime(2026, 11, 18, 12, 30)
    model.learn_one({"a": 1.0, "when": when}, 1.0)
    model.predict_one({"a": float("nan"), "when": when}, id="b")
    model.save(tmp_path / "m.onkel")
    again = onkel.Regressor.load(tmp_path / "m.onkel")
    assert again.waiting_["b"].row == {"a": None, "when": when}
    assert all(each.learn_late("b", 2.0) for each in (model, again))
    assert bits(again.state_.inner) == bits(model.state_.inner)


def test_keys_that_are_not_used_are_noted() -> None:
    model = onkel.Regressor(SMALL)
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": 1.0, "new": ["nested"]}, 2.0)
    assert any("the key 'new', which first appears in row 1 (counted from 0), is not used" in note for note in model.notes_)
    with pytest.raises(onkel.InputError, match="the same when written as strings"):
        model.learn_one({"a": 1.0, 1: 1.0, "1": 2.0}, 1.0)


# --- scikit-learn's tools


def test_a_grid_search_finds_the_better_ridge() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 30))
    noisy = rows[:, 0] + 3.0 * rng.normal(size=60)
    search = GridSearchCV(onkel.Regressor(onkel.PKAWV(onkel.Identity())), {"learner__lam": [1e-6, 100.0]}, cv=3).fit(rows, noisy)
    assert search.best_params_ == {"learner__lam": 100.0}
    assert search.best_estimator_.model_.learner.lam == 100.0
    grid = {"learner__lam": [1.0], "learner__features__0__count": [5, 6]}
    search = GridSearchCV(onkel.Classifier(onkel.PKAWV()), grid, cv=2).fit(X, KINDS)
    assert search.best_estimator_.model_.learner.features.parts[0].count in (5, 6)


def test_settings_inside_the_learner_have_long_names() -> None:
    model = onkel.Classifier(onkel.NORMA(step=0.5, lam=0.5))
    assert model.get_params()["learner__kernel__width"] is None
    model.set_params(learner__kernel__width=2.0, learner__step=2.0, learner__lam=0.4)  # step 2 alone would not go with lam 0.5
    assert model.learner == onkel.NORMA(onkel.Gaussian(2.0), step=2.0, lam=0.4)
    model.set_params(learner=onkel.NOGD(), learner__budget=30)
    assert model.learner == onkel.NOGD(budget=30)
    assert onkel.Regressor().set_params(learner__seed=3).learner == Auto(seed=3)
    kernel = onkel.Gaussian(1.0) + onkel.Linear()
    assert onkel.Classifier(onkel.Perceptron(kernel)).set_params(learner__kernel__0__width=5.0).learner.kernel.parts[0].width == 5.0
    for wrong, message in (
        ("learner__lamb", "no setting 'lamb'"),
        ("lerner__lam", "begin with learner__"),
        ("lam", "[Ii]nvalid parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            onkel.Regressor().set_params(**{wrong: 1.0})


def test_settings_are_checked_when_they_are_used() -> None:
    wrong: Any = 1
    for model, message in (
        (onkel.Regressor(onkel.Perceptron()), "learns classification, but this is regression; choose another"),
        (onkel.Classifier(TUBE), "learns regression, but this is classification; choose another"),
        (onkel.Regressor(onkel.NORMA(loss=onkel.Logistic())), r"this is regression; give it another loss, such as loss=Square\(\)"),
        (onkel.Regressor("PKAWV"), "must be one of onkel's learners"),
        (onkel.Regressor(onkel.PKAWV), "must be one of onkel's learners"),
        (onkel.Regressor(standardize=wrong), "standardize must be True or False"),
        (onkel.Regressor(spare=-1), "spare must be at least 0"),
    ):
        with pytest.raises(onkel.InputError, match=message):
            model.fit(X, Y)


def test_only_scores_that_are_probabilities_are_called_so() -> None:
    for learner in (None, SMALL, onkel.FOGD(loss=onkel.Logistic())):
        assert hasattr(onkel.Classifier(learner), "predict_proba")
    for of_margins in (onkel.Perceptron(), onkel.FOGD(), onkel.MarginProjection()):
        assert not hasattr(onkel.Classifier(of_margins), "predict_proba")
        assert not hasattr(onkel.Classifier(of_margins), "predict_proba_one")


def test_a_loss_that_nobody_chose_suits_the_task() -> None:
    own = onkel.FOGD(step=0.01)
    model = onkel.Regressor(own).fit(X, Y)
    assert model.learner is own
    assert bits(model.state_.inner) == bits(onkel.Regressor(onkel.FOGD(step=0.01, loss=onkel.Square())).fit(X, Y).state_.inner)


def test_clone_and_pickle() -> None:
    model = learnt(onkel.Classifier(onkel.Perceptron()), dicts()[:300], KINDS[:300])
    assert not hasattr(clone(model), "state_")
    assert clone(model).learner == model.learner
    again = pickle.loads(pickle.dumps(model))
    learnt(again, dicts()[300:], KINDS[300:])
    learnt(model, dicts()[300:], KINDS[300:])
    assert bits(again.state_.inner) == bits(model.state_.inner)


def test_the_users_learner_is_not_touched() -> None:
    learner = onkel.PKAWV(onkel.Fourier(count=5))
    before = pickle.dumps(learner)
    onkel.Regressor(learner).fit(X, Y)
    assert pickle.dumps(learner) == before


def test_pipelines() -> None:
    model = make_pipeline(MinMaxScaler(), onkel.Classifier(SMALL)).fit(X[:500], KINDS[:500])
    assert model.score(X[500:], KINDS[500:]) > 0.6
    features = onkel.Fourier(count=5) + onkel.Constant()
    made = onkel.Transformer((onkel.Standardize(), features)).fit(X[:300])
    chain = as_features((onkel.Standardize(), features))
    Z = np.empty((300, 11))
    state = chain.write(chain.init(10), X[:300], np.ones(300), Z, 0)
    chain.write(state, X[300:600], np.zeros(300), Z, 0)
    assert np.array_equal(made.transform(X[300:600]), Z)
    assert made.get_feature_names_out().tolist() == [f"z{k}" for k in range(11)]
    assert onkel.Transformer().set_params(features__count=7).fit_transform(X).shape == (700, 14)
    with pytest.raises(onkel.InputError, match="features must be a feature map"):
        onkel.Transformer("Fourier").fit(X)


# --- files


@pytest.mark.parametrize("learner", [SMALL, onkel.Perceptron()], ids=["PKAWV", "Perceptron"])
@pytest.mark.parametrize("stop", [100, 300])
def test_save_load_go_on(learner: Any, stop: int, tmp_path: Path) -> None:
    model = onkel.Classifier(learner, spare=1)
    for x, kind in zip(dicts()[:stop], KINDS[:stop].tolist(), strict=True):
        model.learn_one(x, kind)
    for t in range(3):
        model.predict_one(dicts()[t] | {"else": 1.0}, id=t)
    model.save(tmp_path / "model.onkel")
    again = onkel.Classifier.load(tmp_path / "model.onkel")
    assert again.get_params(deep=False) == model.get_params(deep=False)
    for each in (model, again):
        each.learn_late(1, "new")
        learnt(each, dicts()[stop:], KINDS[stop:])
    assert bits(again.state_.inner) == bits(model.state_.inner)
    assert again.classes_.tolist() == model.classes_.tolist() == ["a", "b", "c", "new"]
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.waiting_ == model.waiting_
    assert again.predict_one(dicts()[0]) == model.predict_one(dicts()[0])


def test_a_file_of_an_estimator_is_one_of_a_model_too(tmp_path: Path) -> None:
    model = onkel.Regressor().fit(X[:50], Y[:50])
    model.predict_one(X[0], id="a")
    model.save(tmp_path / "model.onkel")
    inside, state = onkel.load(tmp_path / "model.onkel")
    assert np.array_equal(inside.predict(state, X), model.predict(X))
    again = onkel.Regressor.load(tmp_path / "model.onkel")
    assert again.learner is None
    assert np.array_equal(again.waiting_["a"].row, X[0])
    assert np.array_equal(again.predict(X), model.predict(X))


def test_what_a_file_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    onkel.Regressor(SMALL).fit(X, Y).save(path)
    with pytest.raises(onkel.FileError, match="it holds a 'Regressor', not a Classifier"):
        onkel.Classifier.load(path)
    onkel.save(path, SMALL, SMALL.init(3))
    with pytest.raises(onkel.FileError, match="a bare learner"):
        onkel.Regressor.load(path)
    with pytest.raises(NotFittedError):
        onkel.Regressor().save(path)
    model = learnt(onkel.Classifier(SMALL), X[:3], [(1, 2), "b", "c"])
    with pytest.raises(onkel.InputError, match=r"label \(1, 2\) is tuple"):
        model.save(path)


@pytest.mark.parametrize(
    "change",
    [
        {"too_late": None},
        {"settings": {"standardize": False}},
        {"settings": {"learner": "PKAWV"}},
        {"settings": {"waiting": -1}},
        {"settings": {"unknown": 1}},
        {"default": True},
        {"waiting": [[1, {"x0": 1.0}]]},
        {"waiting": [[1, {"x0": 1.0}, [3.0]]]},
        {"waiting": None},
    ],
    ids=str,
)
def test_a_forged_file_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "model.onkel"
    model = learnt(onkel.Classifier(SMALL), dicts()[:20], KINDS[:20].tolist())
    model.save(path)
    onkel.Classifier.load(path)
    _, _, extra = onkel.persist.checkpoint.read(path)
    assert extra is not None
    extra.about |= {**change, "settings": extra.about["settings"] | change.get("settings", {})}
    onkel.persist.checkpoint.save(path, model.model_, model.state_, extra)
    with pytest.raises(onkel.FileError):
        onkel.Classifier.load(path)


def test_importing_onkel_does_not_import_scikit_learn() -> None:
    before = "import sys, onkel; assert not [name for name in sys.modules if name.startswith(('sklearn', 'river'))]"
    subprocess.run([sys.executable, "-c", f"{before}; onkel.Regressor; assert 'sklearn' in sys.modules"], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Regresor'"):
        onkel.Regresor  # noqa: B018


# --- the learner that needs no tuning, earlier labels, intervals

AUTO = Auto(cost_limit=10.0)


def wave(rows: int) -> tuple[Array, Array]:
    """A series that goes on as it went; the inputs say nothing of it."""
    return np.random.default_rng(1).normal(size=(rows, 2)), 20.0 * np.sin(np.arange(rows) / 4.0) + 1000.0


def test_without_a_learner_it_is_auto_and_nothing_is_scaled_twice() -> None:
    for model, labels in ((onkel.Regressor(), Y), (onkel.Classifier(), KINDS)):
        model.fit(X[:40], labels[:40])
        scaled = model.state_.learner.learner if isinstance(model, onkel.Regressor) else model.state_.learner
        inside = Auto() if isinstance(model, onkel.Regressor) else Calibrated(Auto())
        assert scaled == Scaled(inside, inputs=False, targets=False, first_rows=0)
        params = model.get_params()
        assert params["learner"] is None
        assert params["learner__lags"] == 0


def test_auto_takes_rows_with_gaps_and_keys_that_come_late() -> None:
    rows = [{name: value for j, (name, value) in enumerate(x.items()) if (t + j) % 9} for t, x in enumerate(dicts()[:300])]
    for row in rows[:40]:
        row.pop("x3", None)
    model = learnt(onkel.Regressor(AUTO), rows, Y[:300])
    assert model.feature_names_in_.tolist() == NAMES
    mean = np.mean([row["x3"] for row in rows if "x3" in row])
    x = {name: value for name, value in dicts()[299].items() if name != "x3"}
    assert model.predict_one(x) == pytest.approx(model.predict_one(x | {"x3": mean}), rel=1e-9)
    assert np.mean([(model.predict_one(x) - y) ** 2 for x, y in zip(dicts()[300:360], Y[300:360], strict=True)]) < 0.5 * np.var(Y)


def test_one_row_is_the_next_and_many_may_come_at_any_time() -> None:
    rows, labels = wave(400)
    model = onkel.Regressor(Auto(lags=3, cost_limit=10.0)).fit(rows[:-1], labels[:-1])
    assert abs(model.predict_one(rows[-1]) - labels[-1]) < 2.0
    learner, state = model.state_.learner.learner, model.state_.inner.inner
    assert np.array_equal(model.predict(rows[:9]), learner.predict_any(state, rows[:9]))
    assert np.std(model.predict(rows[-50:])) < 10.0, "without the labels before them nobody can tell"
    low, high = model.predict_interval_one(rows[-1], level=0.5)
    assert (low + high) / 2.0 == pytest.approx(model.predict_one(rows[-1]))


def test_sparse_rows_stay_sparse_and_give_what_dense_ones_give(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((300, 5000), density=0.01, rng=rng, format="csr")
    number, labels = X @ rng.normal(size=5000), rng.choice(["a", "b", "c"], size=300)
    for kind, y in ((onkel.Regressor, number), (onkel.Classifier, labels)):
        sparse, dense = kind().partial_fit(X, y), kind().partial_fit(X.toarray(), y)
        assert np.array_equal(sparse.predict(X), dense.predict(X.toarray()))
        sparse.save(tmp_path / "model.onkel")
        assert np.array_equal(kind.load(tmp_path / "model.onkel").predict(X[:9]), sparse.predict(X[:9]))


@pytest.mark.parametrize("learner", [Auto(lags=2, cost_limit=5.0), Lagged(SMALL, 2)], ids=["Auto", "Lagged"])
def test_a_late_label_is_learnt_with_the_labels_that_were_known_then(learner: Any, tmp_path: Path) -> None:
    rows, labels = wave(60)
    model = onkel.Regressor(learner, scale_target=False, standardize=False)
    inner, state = learner, learner.init(2)
    known = []
    for t in range(60):
        known.append(inner.remember(state))
        model.predict_one(rows[t], id=t)
        if t == 40:
            model.save(tmp_path / "m.onkel")
            model = onkel.Regressor.load(tmp_path / "m.onkel")
        if t >= 5:
            late = t - 5
            inner.learn(state, rows[late : late + 1], labels[late : late + 1], lagged=known[late][None])
            assert model.learn_late(late, labels[late])
    assert bits(model.state_.inner.inner.inner) == bits(state)


def test_classes_are_remembered_from_the_first() -> None:
    names = np.array(["a", "b", "c"])[np.arange(300) % 3]
    model = learnt(onkel.Classifier(Auto(lags=3, cost_limit=5.0)), X[:299], names[:299])
    assert model.predict_one(X[299]) == names[299]
    assert model.predict_proba_one(X[299])[names[299]] > 0.8
    assert np.max(model.predict_proba(X[:50])) < 0.8, "at any time it may be each"


def test_intervals_hold_their_labels() -> None:
    model = onkel.Regressor(SMALL).fit(X[:500], Y[:500])
    for level in (0.5, 0.8, 0.9, 0.95):
        ends = model.predict_interval(X[500:], level)
        assert ends.shape == (200, 2)
        assert np.mean((ends[:, 0] <= Y[500:]) & (Y[500:] <= ends[:, 1])) == pytest.approx(level, abs=0.2)
        assert model.predict_interval_one(X[500], level) == pytest.approx(ends[0])
    assert np.allclose(ends.mean(axis=1), model.predict(X[500:]))
    with pytest.raises(onkel.InputError, match=r"level must be one of 0\.5, 0\.8, 0\.9, 0\.95"):
        model.predict_interval(X, 0.7)
    both = onkel.Regressor(SMALL).fit(X[:500], np.column_stack([Y, -Y])[:500])
    assert both.predict_interval(X[500:]).shape == (200, 2, 2)
    assert both.predict_interval_one(X[500]).shape == (2, 2)
    assert onkel.Regressor().predict_interval_one(X[0]) == (-np.inf, np.inf)


# --- what a model can do, and the command line


def mixed(rows: int = 60) -> list[dict[str, Any]]:
    return [{"id": k, "zip": 1000 + k % 3, "town": "abcdefgh"[k % 8], "hour": float(k % 24), "x": float(k)} for k in range(rows)]


SETTINGS: dict[str, Any] = {"without": ["id"], "text": ["zip"], "hashed": ["town"], "cycles": {"x": 24}}


@pytest.mark.parametrize("as_frame", [False, True])
def test_settings_of_columns_are_those_of_the_model(as_frame: bool, tmp_path: Path) -> None:
    import pandas as pd

    rows: Any = pd.DataFrame(mixed()) if as_frame else mixed()
    y = np.arange(60.0)
    estimator = onkel.Regressor(onkel.PKAWV(), shuffle=False, **SETTINGS).fit(rows, y)
    kinds = {column.name: type(column).__name__ for column in estimator.state_.encoder.columns}
    assert kinds == {"hour": "Number", "town": "Hashed", "x": "Cycle", "zip": "OneHot"}
    model = onkel.Model(learner=onkel.PKAWV(), task="regression", **SETTINGS)
    state = model.fit((rows, y), seed=None)
    assert estimator.predict(rows).tolist() == model.predict(state, rows).tolist()
    again = clone(estimator).partial_fit(rows, y).partial_fit(rows[:5], y[:5])
    assert [type(column) for column in again.state_.encoder.columns] == [type(c) for c in estimator.state_.encoder.columns]
    estimator.save(tmp_path / "e.onkel")
    loaded = onkel.Regressor.load(tmp_path / "e.onkel")
    assert loaded.predict(rows).tolist() == estimator.predict(rows).tolist()
    assert loaded.predict_one(mixed()[3]) == estimator.predict_one(mixed()[3])


def test_settings_that_an_estimator_cannot_have_say_why() -> None:
    for setting in ("columns", "without", "text", "dates", "hashed"):
        named: dict[str, Any] = {setting: ["x0"]}
        with pytest.raises(onkel.InputError, match=f"{setting} names columns, and an array has no names; give a DataFrame"):
            onkel.Regressor(**named).fit([[1.0], [2.0]], [1.0, 2.0])
        with pytest.raises(onkel.InputError, match=f"{setting} names columns"):
            onkel.Regressor(**named).learn_one([1.0, 2.0], 1.0)
    with pytest.raises(onkel.InputError, match="missing='drop' would leave rows without an answer"):
        onkel.Regressor(missing="drop").fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(onkel.InputError, match="the value is missing"):
        onkel.Regressor(missing="refuse").learn_one({"a": None, "b": 1.0}, 1.0)


def test_columns_of_dicts_may_be_chosen() -> None:
    chosen, alone = onkel.Regressor(onkel.PKAWV(), columns=["x"]), onkel.Regressor(onkel.PKAWV())
    for row in mixed():
        chosen.learn_one(row, row["x"] ** 2)
        alone.learn_one({"x": row["x"]}, row["x"] ** 2)
    assert chosen.predict_one(mixed()[9]) == pytest.approx(alone.predict_one({"x": 9.0}), abs=1e-6)


def test_two_labels_may_be_named(tmp_path: Path) -> None:
    """A learner of two classes is then not copied for each."""
    rows, labels = [{"a": float(k % 2)} for k in range(60)], [("yes", "no")[k % 2] for k in range(60)]
    both, one = onkel.Classifier(onkel.Perceptron()), onkel.Classifier(onkel.Perceptron(), labels=("yes", "no"))
    for row, label in zip(rows, labels, strict=True):
        both.learn_one(row, label)
        one.learn_one(row, label)
    assert one.predict(rows[:2]).tolist() == both.predict(rows[:2]).tolist() == ["yes", "no"]
    assert one.classes_.tolist() == ["no", "yes"]
    assert (one.state_.inner.outputs, both.state_.inner.outputs) == (1, 2)
    assert (one.decision_function(rows[:2]) > 0.0).tolist() == [True, False]
    one.save(tmp_path / "c.onkel")
    assert onkel.Classifier.load(tmp_path / "c.onkel").predict_one(rows[0]) == "yes"
    with pytest.raises(onkel.InputError, match="maybe"):
        one.learn_one(rows[0], "maybe")


def test_an_error_says_which_row_it_was() -> None:
    """A single row has the number that it has in the stream, a row among others that in its block."""
    model = onkel.Regressor(onkel.PKAWV())
    for k in range(7):
        model.learn_one({"a": float(k)}, 1.0)
    for value, said in (("x", "key 'a': 'x' is not a number"), (1e60, "column 'a': 1e\\+60 is too large"), (np.inf, "not finite")):
        with pytest.raises(onkel.InputError, match=rf"row 7 \(counted from 0\), .*{said}"):
            model.learn_one({"a": value}, 1.0)
        block = [{"a": 1.0}] * 5000 + [{"a": value}]
        with pytest.raises(onkel.InputError, match=rf"row 5000 \(counted from 0\), .*{said}"):
            onkel.Regressor(onkel.PKAWV()).partial_fit(block, np.zeros(5001))
    with pytest.raises(onkel.InputError, match=r"row 7 \(counted from 0\), column 'y': 1e\+60 is too large"):
        model.learn_one({"a": 1.0}, 1e60)
    arrays = onkel.Regressor(onkel.PKAWV()).partial_fit(np.ones((3, 2)), np.ones(3))
    with pytest.raises(onkel.InputError, match=r"row 3 \(counted from 0\), column 'x1': inf is not finite"):
        arrays.learn_one([1.0, np.inf], 1.0)


def test_a_row_has_a_weight_as_in_river() -> None:
    heavy, twice = onkel.Regressor(onkel.TubeProjection()), onkel.Regressor(onkel.TubeProjection())
    for k in range(20):
        heavy.learn_one({"a": k % 3.0}, float(k % 3), w=2.0)
        for _ in range(2):
            twice.learn_one({"a": k % 3.0}, float(k % 3))
    assert heavy.predict_one({"a": 1.0}) == twice.predict_one({"a": 1.0})
