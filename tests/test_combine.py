"""Learners made of learners keep the laws, and say what their parts would have said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.combine import OneVsRest, Scaled
from tests.laws.cases import Case, bits
from tests.laws.wrapped import cases, check_config, check_cut, check_saved, every_law

Array = NDArray[np.float64]

LEARNERS = [
    OneVsRest(),
    OneVsRest(onkel.FOGD((onkel.Standardize(), onkel.Fourier(count=10)))),
    OneVsRest(onkel.MarginProjection(onkel.Additive(onkel.Spline()))),
    Scaled(),
    Scaled(onkel.NewtonFeatures(onkel.Fourier(count=10)), first_rows=100),
    Scaled(onkel.KernelRidge(), first_rows=40),
    Scaled(onkel.NORMA(onkel.Gaussian(), onkel.Square()), inputs=False),
    Scaled(OneVsRest(onkel.Projectron(budget=20)), targets=False, first_rows=30),
    Scaled(onkel.BPAS(), targets=False, first_rows=0),
]


def labelled(rows: int = 400) -> tuple[Array, NDArray[np.int64]]:
    """Rows of three classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 2))
    return X, (np.arctan2(X[:, 1], X[:, 0]) // (2 * np.pi / 3)).astype(int) % 3


def coded(classes: NDArray[np.int64], outputs: int) -> Array:
    return np.where(classes[:, None] == np.arange(outputs), 1.0, -1.0)


def stream(learner: Any) -> tuple[Array, Array, Array]:
    X, classes = labelled()
    weight = np.where(np.random.default_rng(1).random(len(X)) < 0.1, 0.0, 1.0)
    if isinstance(learner, OneVsRest) or isinstance(learner.learner, OneVsRest):
        return X, coded(classes, 3), weight
    if not learner.targets:
        return X, coded(classes, 1)[:, 0], weight
    y = 1e5 + 300.0 * np.sin(X[:, 0]) + 30.0 * np.random.default_rng(2).normal(size=len(X))
    return 50.0 * X - 7.0, y, weight


case = cases(LEARNERS, __name__)


@every_law
def test_the_laws_of_learners_hold(case: Case, law: Any) -> None:
    law(case)


@pytest.mark.parametrize("size", [33, 100])  # law 2 cuts it row by row
def test_the_cut_of_the_stream_changes_nothing(case: Case, size: int) -> None:
    check_cut(case, size)


@pytest.mark.parametrize("stop", [0, 1, 20, 133, 399])
def test_save_load_continue_equals_never_stopped(case: Case, stop: int, tmp_path: Path) -> None:
    check_saved(case, stop, tmp_path)


def test_the_config_survives_json_and_repr(case: Case) -> None:
    check_config(case)


# --- Scaled


def test_the_first_rows_are_learnt_as_if_the_scale_had_been_known() -> None:
    learner = Scaled(onkel.TubeProjection(), first_rows=64)
    X, y, _ = stream(learner)
    state = learner.init(2)
    learner.learn(state, X[:100], y[:100])
    Z = np.empty((100, 2))
    onkel.Standardize().write(onkel.Standardize().init(2), X[:100], np.ones(100), Z, 0)
    bare = onkel.TubeProjection()
    known = bare.init(2)
    bare.learn(known, Z, (y[:100] - y[:64].mean()) / y[:64].std())
    assert bits(state.inner) == bits(known)
    assert state.centre == y[:64].mean()


def test_scores_are_those_of_the_scale_so_far() -> None:
    learner = Scaled()
    X, y, _ = stream(learner)
    scores = learner.learn(learner.init(2), X, y)
    assert scores[0] == 0.0
    assert scores[1] == pytest.approx(y[0])
    assert abs(scores[2] - y[:2].mean()) <= 3.0 * y[:2].std()
    assert np.mean((scores - y)[100:] ** 2) < 0.3 * np.var(y)


@pytest.mark.once
def test_a_clip_stands_for_two_deviations() -> None:
    learner = Scaled(onkel.NewtonFeatures(clip=0.5), first_rows=64)
    X, y, _ = stream(learner)
    state = learner.init(2)
    scores = learner.learn(state, X, y)
    reach = 2.0 * y[:64].std()
    assert state.scale * 0.5 == pytest.approx(reach)
    assert np.abs(scores[64:] - y[:64].mean()).max() <= reach * (1.0 + 1e-12)


def test_columns_can_be_added_while_the_rows_are_kept() -> None:
    learner = Scaled(onkel.KernelAWV(), first_rows=60)
    X, y, _ = stream(learner)
    there = np.ones(X.shape, dtype=bool)
    there[:40, 1] = False
    known, met = learner.init(2), learner.init(1)
    learner.learn(known, X[:80], y[:80], there=there[:80])
    learner.learn(met, X[:40, :1], y[:40])
    learner.rearrange(met, 2, [0])
    learner.learn(met, X[40:80], y[40:80])
    assert bits(met) == bits(known)
    with pytest.raises(onkel.InputError, match="only during the first 60 rows"):
        learner.rearrange(met, 3, [0, 1])


def test_an_error_leaves_no_trace() -> None:
    """The third row of this block comes after the learner has begun again twice."""
    learner = Scaled(onkel.KernelAWV(onkel.Polynomial(degree=2)), inputs=False)
    state = learner.init(2)
    before = bits(state)
    with pytest.raises(onkel.InputError, match="would overflow"):
        learner.learn(state, np.array([[1.0, 1.0], [2.0, 1.0], [1e49, 1e49]]), np.array([1.0, 2.0, 3.0]))
    assert bits(state) == before


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: Scaled(onkel.PKAWV), "learner must be a learner"),
        (lambda: Scaled(first_rows=0), "first_rows must be at least 1"),
        (lambda: OneVsRest(onkel.TubeProjection()), "must be a classifier"),
    ],
)
def test_configs_check_themselves(config: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        config()


# --- OneVsRest


@pytest.mark.once
@pytest.mark.parametrize(
    "bare",
    [
        onkel.FOGD(),
        onkel.NewtonFeatures((onkel.Standardize(), onkel.Fourier(count=10))),
        onkel.PKAWV(onkel.Identity() + onkel.Constant()),
        onkel.RBP(budget=10),
        onkel.PassiveAggressive(),
        onkel.NORMA(onkel.Additive(onkel.Exponential(rate=400.0))),  # so narrow that points have different anchors
        onkel.ROMMA(onkel.Additive(onkel.Spline()) + onkel.Delta()),
        onkel.KernelAdatron(onkel.Linear()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_each_class_has_the_learner_that_it_would_have_by_itself(bare: Any) -> None:
    """The same bits, whatever the learners of the classes share."""
    X, classes = labelled(1500)
    weight = np.where(np.random.default_rng(1).random(len(X)) < 0.1, 0.0, 1.0)
    learner, labels = OneVsRest(bare), coded(classes, 3)
    state = learner.init(2, 3)
    scores = learner.learn(state, X, labels, weight)
    later = learner.predict(state, X)
    for k, sign in enumerate((-1.0, 1.0, 1.0)):
        alone = bare.init(2)
        assert np.array_equal(scores[:, k], sign * bare.learn(alone, X, sign * labels[:, k], weight))
        assert np.array_equal(later[:, k], sign * bare.predict(alone, X))
        assert bits(alone) == bits(state.parts[k])


@pytest.mark.once
def test_features_are_computed_once_for_all_classes() -> None:
    calls = []

    def line(X: Array) -> Array:
        calls.append(len(X))
        return X

    X, classes = labelled()
    learner = OneVsRest(onkel.FOGD(onkel.Basis(line, np.eye(2))))
    state = learner.init(2, 3)
    calls.clear()
    learner.learn(state, X, coded(classes, 3))
    learner.predict(state, X)
    assert sum(calls) == 2 * len(X)


def test_two_classes_share_one_learner() -> None:
    X, classes = labelled()
    learner = OneVsRest()
    state = learner.init(2, 2)
    scores = learner.learn(state, X, coded(classes % 2, 2))
    assert np.array_equal(scores[:, 0], -scores[:, 1])
    assert len(state.parts) == 1


def test_a_row_is_of_one_class() -> None:
    learner = OneVsRest()
    state = learner.init(2, 3)
    before = bits(state)
    for labels, message in (
        ([1.0, 1.0, -1.0], "row 1 must be"),
        ([-1.0, -1.0, -1.0], "row 1 must be"),
        ([1.0, 0.0, -1.0], "row 1 is 0"),
    ):
        with pytest.raises(onkel.InputError, match=message):
            learner.learn(state, np.ones((2, 2)), [[1.0, -1.0, -1.0], labels])
    assert bits(state) == before


def test_a_descent_that_runs_away_leaves_no_trace_in_any_class() -> None:
    learner = OneVsRest(onkel.NORMA(onkel.Linear(), onkel.SquaredHinge(), step=1.0, lam=0.0))
    state = learner.init(2, 3)
    X = 1e30 * np.ones((8, 2))
    before = bits(state)
    with pytest.raises(onkel.InputError, match="too long"):
        learner.learn(state, X, coded(np.arange(8) % 3, 3))
    assert bits(state) == before


def test_a_missing_value_is_the_mean_so_far_where_inputs_are_not_scaled() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) + 100.0, rng.normal(size=60)
    there = rng.random(X.shape) < 0.7
    there[0] = True
    filled = X.copy()
    for t, j in zip(*np.nonzero(~there), strict=True):
        filled[t, j] = X[:t, j][there[:t, j]].mean()
    bare = onkel.PKAWV(onkel.Identity() + onkel.Constant())
    learner = Scaled(bare, inputs=False, targets=False, first_rows=0)
    state = learner.init(3)
    scores = learner.learn(state, np.where(there, X, 7e9), y, there=there)
    assert np.allclose(scores, bare.learn(bare.init(3), filled, y), rtol=0.0, atol=1e-9)


def test_the_first_rows_of_labels_that_are_not_scaled_are_learnt_without_a_copy() -> None:
    rng = np.random.default_rng(31)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    learner = Scaled(onkel.PKAWV(), targets=False, first_rows=16)
    state, other = learner.init(2), learner.init(2)
    inner, expected = state.inner, learner.learn(other, X, y)
    scores = [learner.learn(state, X[t : t + 1], y[t : t + 1])[0] for t in range(40)]
    assert state.inner is inner
    np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-9)
    learner.check(state)
    assert not state.first.X.any()  # all rows are scaled by now, so none is stored
