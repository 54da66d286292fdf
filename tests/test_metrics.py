"""Metrics equal scikit-learn's on random and awkward streams, over all rows and in windows; cuts change no bit."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sklearn_metrics

import onkel
from onkel import InputError, measure
from onkel.combine import conformal
from onkel.measure.engine import as_json
from onkel.measure.errors import ClassErrors, Errors, HalfWidths, NumberErrors, baselines, curve_of, errors_for, restored, saved
from onkel.measure.metrics import named
from onkel.measure.roc_auc import MOST_RANKED
from onkel.measure.sums import MOST, SHORTEST, WINDOW
from onkel.model import Answers
from onkel.state import leaves

pytestmark = pytest.mark.once

Array = NDArray[Any]
ROWS = 3 * MOST * SHORTEST + 37  # pieces have become longer twice

RNG = np.random.default_rng(0)
NUMBERS: dict[str, tuple[Array, Array]] = {
    "plain": (RNG.normal(size=ROWS), RNG.normal(size=ROWS)),
    "far from 0, after a 0": (1e8 + RNG.normal(size=ROWS), np.append(0.0, 1e8 + RNG.normal(size=ROWS - 1))),
    "constant": (RNG.normal(size=ROWS), np.full(ROWS, 0.1)),
    "constant and right": (np.full(100, 0.1), np.full(100, 0.1)),
    "many zeros": (RNG.normal(size=500), np.where(RNG.random(500) < 0.3, 0.0, RNG.normal(size=500))),
    "heavy tails": (RNG.standard_cauchy(ROWS), RNG.standard_cauchy(ROWS)),
    "two rows": (np.array([0.0, 1.0]), np.array([2.0, 5.0])),
}


def of_numbers(scores: Array, y: Array, parts: int = 1) -> NumberErrors:
    errors = NumberErrors()
    for rows in np.array_split(np.arange(len(y)), parts):
        errors.add(Answers(scores[rows], None, y[rows], np.ones(len(rows), dtype=bool)))
    return errors


def probabilities_of(y: Array, classes: int, seed: int = 0) -> Array:
    """Probabilities with some skill; a class has none before its first row."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), size=len(y)) + 0.7 * (y[:, None] == np.arange(classes)) * rng.random((len(y), 1))
    first = np.array([np.argmax(y == k) if (y == k).any() else len(y) for k in range(classes)])
    p *= np.arange(len(y))[:, None] > first
    return np.asarray(p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300))


def of_classes(p: Array, y: Array, parts: int = 1, signs: bool = False) -> ClassErrors:
    """Fed as a model feeds it: with columns for the classes that have come so far, or for two given ones."""
    errors = ClassErrors()
    predicted = np.where(p.any(axis=1), p.argmax(axis=1), -1.0)
    for rows in np.array_split(np.arange(len(y)), parts):
        width = 2 if signs else int(y[: rows[-1] + 1].max()) + 1 if len(rows) else 0
        errors.add(Answers(predicted[rows], p[rows, :width], y[rows].astype(float), np.ones(len(rows), dtype=bool)))
    return errors


def labels(name: str) -> tuple[Array, int]:
    rng = np.random.default_rng(1)
    if name == "one class":
        return np.zeros(300, dtype=int), 1
    if name == "late classes":
        y = np.minimum(rng.integers(6, size=ROWS), np.arange(ROWS) // 900)
        code = {label: k for k, label in enumerate(dict.fromkeys(y.tolist()))}  # in the order in which they come
        return np.array([code[label] for label in y.tolist()]), 6
    if name == "rare":
        return (rng.random(ROWS) < 0.01).astype(int) * (np.arange(ROWS) > 0), 2
    return np.append([0, 1], rng.integers(2, size=ROWS - 2)), 2


STREAMS_OF_CLASSES = ("two classes", "rare", "one class", "late classes")


@pytest.mark.parametrize("name", NUMBERS)
def test_metrics_of_numbers_are_those_of_scikit_learn(name: str) -> None:
    scores, y = NUMBERS[name]
    found, there = of_numbers(scores, y).means(), y != 0.0
    assert found["square"] == pytest.approx(sklearn_metrics.mean_squared_error(y, scores), rel=1e-9, abs=1e-12)
    assert found["rmse"] == pytest.approx(sklearn_metrics.root_mean_squared_error(y, scores), rel=1e-9, abs=1e-12)
    assert found["mae"] == found["absolute"] == pytest.approx(sklearn_metrics.mean_absolute_error(y, scores), rel=1e-9, abs=1e-12)
    expected = 1.0 if np.array_equal(scores, y) else 0.0 if np.ptp(y) == 0.0 else sklearn_metrics.r2_score(y, scores)
    assert found["r2"] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert found["mape"] == pytest.approx(
        sklearn_metrics.mean_absolute_percentage_error(y[there], scores[there]), rel=1e-9, abs=1e-12
    )
    assert found["mape_left_out"] == np.count_nonzero(y == 0.0)
    mean = baselines(of_numbers(scores, y))["running mean"]["mae"]
    assert mean == pytest.approx(np.mean(np.abs(y - np.append(0.0, np.cumsum(y)[:-1] / np.arange(1, len(y))))), rel=1e-9)


@pytest.mark.parametrize("name", STREAMS_OF_CLASSES)
def test_metrics_of_classes_are_those_of_scikit_learn(name: str) -> None:
    y, classes = labels(name)
    p = probabilities_of(y, classes)
    predicted, found = np.where(p.any(axis=1), p.argmax(axis=1), -1), of_classes(p, y).means()
    known = sorted({*y.tolist(), *predicted.tolist()} - {-1})
    assert found["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(y, predicted))
    assert found["mistakes"] == pytest.approx(1.0 - found["accuracy"])
    recalls = sklearn_metrics.recall_score(y, predicted, labels=known, average=None, zero_division=np.nan)
    assert found["balanced_accuracy"] == pytest.approx(np.nanmean(recalls))
    several = sklearn_metrics.f1_score(y, predicted, labels=known, average="macro")
    second = sklearn_metrics.f1_score(y == 1, predicted == 1) if classes == 2 else several
    assert found["f1"] == pytest.approx(second)
    own = p[np.arange(len(y)), y]
    assert found["log_loss"] == pytest.approx(-np.mean(np.log(np.clip(own, 1e-6, 1.0))))
    square = np.sum((p - (y[:, None] == np.arange(classes))) ** 2) / len(y)
    first = np.mean((p[:, 1] - (y == 1)) ** 2) if classes == 2 else square
    assert found["brier"] == pytest.approx(first)
    if classes == 1:
        assert math.isnan(found["auc"])
        return
    areas = [sklearn_metrics.roc_auc_score(y == k, p[:, k]) for k in range(classes)]
    assert found["auc_within"] < 0.01
    assert abs(found["auc"] - (areas[1] if classes == 2 else np.mean(areas))) <= found["auc_within"]
    expected = sklearn_metrics.confusion_matrix(y, predicted, labels=range(classes))
    assert of_classes(p, y).confusion == expected.tolist()


def test_two_classes_of_which_one_never_comes() -> None:
    y = np.zeros(50, dtype=int)
    found = of_classes(np.column_stack([np.full(50, 0.7), np.full(50, 0.3)]), y, signs=True).means()
    assert (found["accuracy"], found["balanced_accuracy"]) == (1.0, 1.0)
    assert math.isnan(found["f1"])
    assert math.isnan(found["auc"])
    assert as_json([found])[0]["auc"] is None
    assert json.loads(json.dumps(as_json({"a": [math.nan, 1.0]}))) == {"a": [None, 1.0]}


def test_the_area_is_exact_for_equal_and_certain_probabilities() -> None:
    y, p = np.array([0, 1, 0, 1, 1, 0, 1]), np.array([0.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.0])
    found = of_classes(np.column_stack([1.0 - p, p]), y).means()
    assert found["auc"] == pytest.approx(sklearn_metrics.roc_auc_score(y, p))


def test_of_very_many_classes_no_area_and_no_confusion_is_kept() -> None:
    y = np.arange(200) % 60
    errors = of_classes(probabilities_of(y, 60), y)
    assert len(errors.ranks.own) == MOST_RANKED
    assert math.isnan(errors.means()["auc"])
    assert errors.confusion is None
    p = probabilities_of(y, 60)
    predicted = np.where(p.any(axis=1), p.argmax(axis=1), -1)
    assert errors.means()["f1"] == pytest.approx(sklearn_metrics.f1_score(y, predicted, labels=range(60), average="macro"))


def test_windows_have_the_metrics_of_their_rows() -> None:
    scores, y = NUMBERS["far from 0, after a 0"]
    curve, length = curve_of(of_numbers(scores, y)), 4 * SHORTEST
    assert curve.ends.tolist() == [*range(WINDOW * length, len(y), length), len(y)]
    for end, rows, r2, mae in zip(curve.ends, curve.rows, curve.values["r2"], curve.values["mae"], strict=True):
        part = slice(int(end - rows), int(end))
        assert mae == pytest.approx(np.mean(np.abs(scores[part] - y[part])))
        assert r2 == pytest.approx(sklearn_metrics.r2_score(y[part], scores[part]), rel=1e-5)
    assert curve.last()["rows"] == len(y) - length * ((len(y) - 1) // length - WINDOW + 1)
    kinds, classes = labels("late classes")
    p = probabilities_of(kinds, classes)
    curve = curve_of(of_classes(p, kinds))
    for end, rows, f1 in zip(curve.ends[1:], curve.rows[1:], curve.values["f1"][1:], strict=True):
        part = slice(int(end - rows), int(end))
        assert f1 == pytest.approx(sklearn_metrics.f1_score(kinds[part], p[part].argmax(axis=1), average="macro"))
    assert "auc" not in curve.values
    shown = curve.shown()
    assert shown["rows"][-1] == len(kinds)
    assert {len(line) for line in shown.values()} == {len(shown["rows"])}
    assert set(shown) == {"rows", "mistakes", "most_frequent_label", "last_label"}


def same_bits(one: Errors, other: Errors) -> bool:
    pairs = zip(leaves(one), leaves(other), strict=True)
    return all(np.array_equal(a, b) for (_, a, _), (_, b, _) in pairs)


@pytest.mark.parametrize("parts", [7, 700])
def test_cuts_change_no_bit(parts: int) -> None:
    for scores, y in NUMBERS.values():
        assert same_bits(of_numbers(scores, y), of_numbers(scores, y, parts))
    for name in STREAMS_OF_CLASSES:
        y, classes = labels(name)
        p = probabilities_of(y, classes)
        assert same_bits(of_classes(p, y), of_classes(p, y, parts))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_saved_errors_go_on_to_the_same_bits(task: str) -> None:
    kinds, classes = labels("late classes")
    p, (scores, y) = probabilities_of(kinds, classes), NUMBERS["plain"]
    whole: Errors = of_numbers(scores, y) if task == "regression" else of_classes(p, kinds)
    half: Errors = of_numbers(scores[:2000], y[:2000]) if task == "regression" else of_classes(p[:2000], kinds[:2000])
    numbers, arrays = saved(half)
    again = restored(task, json.loads(json.dumps(numbers)), {name: array.copy() for name, array in arrays.items()})
    all_kept = np.ones(len(y) - 2000, dtype=bool)
    if task == "regression":
        again.add(Answers(scores[2000:], None, y[2000:], all_kept))
    else:
        again.add(Answers(p[2000:].argmax(axis=1) * 1.0, p[2000:], kinds[2000:] * 1.0, all_kept))
    assert same_bits(whole, again)
    for broken in (
        (numbers | {"pieces.rows": -1}, arrays),
        (numbers | {"drift.rows": "1"}, arrays),
        (numbers, arrays | {"drift.count": np.array([10**6, 0])}),
        (numbers, arrays | {"sums": arrays["sums"][:-1]}),
        (numbers, {name: array for name, array in arrays.items() if name != "sums"}),
    ):
        with pytest.raises(InputError, match="its sums of errors"):
            restored(task, *broken)


def test_pinball_losses_are_those_of_the_ends_of_the_intervals() -> None:
    rng = np.random.default_rng(3)
    scores, y, levels = rng.normal(size=400), rng.normal(size=400), (0.5, 0.9)
    half = conformal.learn(conformal.init(levels, 1), (y - scores)[:, None], np.ones(400))[:, 0]
    errors = NumberErrors()
    for rows in (slice(0, 5), slice(5, 400)):
        intervals = HalfWidths(np.array(levels), half[rows])
        errors.add(Answers(scores[rows], None, y[rows], np.ones(len(y[rows]), dtype=bool)), intervals)
    there = np.isfinite(half).all(axis=1)
    ends = [(sign, level) for sign, level in itertools.product((-1.0, 1.0), levels)]
    expected = [
        sklearn_metrics.mean_pinball_loss(
            y[there], scores[there] + sign * half[there, levels.index(level)], alpha=0.5 + sign * level / 2.0
        )
        for sign, level in ends
    ]
    assert 0 < np.count_nonzero(~there) < 20
    assert errors.means()["pinball"] == pytest.approx(np.mean(expected))


def test_prequential_takes_the_same_metrics() -> None:
    X, y = onkel.data.friedman(600, dim=5, seed=0)
    line = onkel.PKAWV((onkel.Standardize(), onkel.Identity() + onkel.Constant()))
    trace = onkel.prequential(line, X, y, metrics=(measure.RMSE(), measure.R2()))
    assert trace.values["r2"] == pytest.approx(sklearn_metrics.r2_score(y, trace.scores))
    assert list(trace.summary())[2:4] == ["rmse", "r2"]
    assert trace.curve is not None
    assert trace.curve.ends[-1] == 600
    signs = np.where(y > np.median(y), 1.0, -1.0)
    trace = onkel.prequential(line, X, signs, metrics=(measure.F1(), measure.AUC(), measure.LogLoss()))
    assert trace.values["f1"] == pytest.approx(sklearn_metrics.f1_score(signs, np.where(trace.scores >= 0.0, 1.0, -1.0)))
    kinds = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    trace = onkel.prequential(line, X, np.eye(3)[kinds], metrics=[measure.Accuracy()])
    assert trace.values == {"accuracy": pytest.approx(sklearn_metrics.accuracy_score(kinds, trace.scores.argmax(axis=1)))}


@pytest.mark.parametrize(
    ("metrics", "labels", "said"),
    [
        ((measure.RMSE(), measure.F1()), np.ones(30), "for numbers .* for classes .* but not both"),
        ((), np.ones(30), "cannot be computed together"),
        ((measure.F1(),), np.arange(30.0), "need y of -1 and 1, or one column of 0 and 1 for each class"),
        ((measure.RMSE(),), np.ones((30, 2)), "need one number to predict for each row"),
    ],
)
def test_metrics_that_do_not_fit_are_refused(metrics: Any, labels: Array, said: str) -> None:
    with pytest.raises(InputError, match=said):
        onkel.prequential(onkel.PKAWV(onkel.Identity()), np.ones((30, 2)), labels, metrics=metrics)


def test_metrics_are_found_by_their_names() -> None:
    assert [metric.name for metric in named("f1, auc", "classification")] == ["mistakes", "f1", "auc"]
    with pytest.raises(InputError, match=r"no metric 'rsme' for regression; did you mean 'rmse'\? there are square, rmse"):
        named("r2,rsme", "regression")
    with pytest.raises(InputError, match="no metric 'f1' for regression; there are"):
        named("f1", "regression")


def test_a_single_row_has_an_error_but_nothing_to_compare_it_with() -> None:
    found = of_numbers(np.array([0.0]), np.array([3.0])).means()
    assert (found["rmse"], found["mae"]) == (3.0, 3.0)
    assert all(math.isnan(found[name]) for name in ("r2", "explained", "pinball"))
    assert errors_for("regression").rows == 0
