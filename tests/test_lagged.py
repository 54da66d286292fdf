"""Earlier labels as inputs: which they are, that they help, and that the laws hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.combine import Lagged, OneVsRest, Scaled
from tests.laws.cases import Case, agree, bits
from tests.laws.wrapped import cases, check_config, check_cut, check_saved, every_law

Array = NDArray[np.float64]

LINE = onkel.PKAWV(onkel.Identity() + onkel.Constant())
LEARNERS = [
    Lagged(LINE),
    Lagged(Scaled(onkel.KernelRidge(), first_rows=40), lags=1),
    Scaled(Lagged(LINE, lags=5), first_rows=64),
    Lagged(OneVsRest(onkel.Projectron(budget=20)), lags=2, outputs=3),
]


def series(rows: int, seed: int = 3) -> Array:
    """Each label is mostly made of the two before it."""
    noise, y = np.random.default_rng(seed).normal(size=rows), np.zeros(rows)
    for t in range(2, rows):
        y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + noise[t]
    return y


def stream(learner: Any) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    X, y, weight = rng.normal(size=(400, 2)), series(400), np.where(rng.random(400) < 0.1, 0.0, 1.0)
    if isinstance(learner.learner, OneVsRest):
        y = np.where(np.digitize(y, [-1.0, 1.0])[:, None] == np.arange(3), 1.0, -1.0)
    return X, y, weight


case = cases(LEARNERS, __name__)


@every_law
def test_the_laws_of_learners_hold(case: Case, law: Any) -> None:
    law(case)


@pytest.mark.parametrize("size", [33, 100])
def test_the_cut_of_the_stream_changes_nothing(case: Case, size: int) -> None:
    check_cut(case, size)


@pytest.mark.parametrize("stop", [0, 1, 133])
def test_save_load_continue_equals_never_stopped(case: Case, stop: int, tmp_path: Path) -> None:
    check_saved(case, stop, tmp_path)


def test_the_config_survives_json_and_repr(case: Case) -> None:
    check_config(case)


def by_hand(y: Array, weight: Array, lags: int) -> Array:
    """The additional inputs of each row, computed for every row from all labels before it."""
    rows = []
    for t in range(len(y)):
        known = y[:t][weight[:t] > 0.0]
        known = known - known[:1]
        means = []
        for memory in (10, 100):
            mean = 0.0
            for n, label in enumerate(known, start=1):
                mean += (label - mean) / min(n, memory)
            means.append(mean)
        rows.append([*known[::-1], *np.zeros(lags)][:lags] + means)
    return np.array(rows)


def test_the_learner_sees_the_labels_before_each_row() -> None:
    learner = Lagged(onkel.KernelRidge(), lags=4)
    X, y, weight = stream(learner)
    X, y, weight = X[:150], y[:150], weight[:150]
    state = learner.init(2)
    scores = learner.learn(state, X, y, weight)
    wide = np.hstack([X, by_hand(y, weight, 4)])
    bare = onkel.KernelRidge()
    known = bare.init(8)
    assert np.array_equal(scores, bare.learn(known, wide, y, weight))
    assert bits(state.inner) == bits(known)


def test_each_of_several_outputs_has_its_columns() -> None:
    one, both = Lagged(LINE, lags=2), Lagged(LINE, lags=2, outputs=2)
    X, y, weight = stream(one)
    Y = np.column_stack([y, y[::-1]])
    state, first, second = both.init(2, 2), one.init(2), one.init(2)
    both.learn(state, X, Y, weight)
    one.learn(first, X, Y[:, 0].copy(), weight)
    one.learn(second, X, Y[:, 1].copy(), weight)
    assert np.array_equal(both.remember(state), np.concatenate([one.remember(first), one.remember(second)]))


@pytest.mark.parametrize(("learner", "offset"), [(Lagged(LINE), 0.0), (Scaled(Lagged(LINE)), 1e3), (Lagged(Scaled(LINE)), 1e3)])
def test_earlier_labels_halve_the_error_of_a_series(learner: Any, offset: float) -> None:
    """Without them nothing is better than its mean: the inputs are noise."""
    X, y, _ = stream(learner)
    scores = learner.learn(learner.init(2), X, y + offset)
    assert np.mean((scores - offset - y)[100:] ** 2) < 0.5 * np.var(y[100:])


def test_late_labels_are_learnt_with_the_lags_known_when_the_row_was_predicted() -> None:
    learner = Lagged(onkel.KernelRidge(), lags=2)
    X, y, _ = stream(learner)
    delay, rows = 3, 40
    state, kept = learner.init(2), []
    inner = onkel.KernelRidge()
    known, lags = inner.init(6), by_hand(y[: rows + 1], np.ones(rows + 1), 2)
    for t in range(rows):
        kept.append(learner.remember(state))
        if (s := t - delay) >= 0:
            seen = lags[max(0, s - delay)]  # when row s was predicted
            assert np.array_equal(kept[s], seen)
            score = learner.learn(state, X[s : s + 1], y[s : s + 1], lagged=kept[s][None, :])
            assert np.array_equal(score, inner.learn(known, np.hstack([X[s : s + 1], seen[None, :]]), y[s : s + 1]))
            assert np.array_equal(
                learner.predict(state, X[:1], lagged=seen[None, :]), inner.predict(known, np.append(X[0], seen)[None])
            )
    assert np.array_equal(learner.remember(state), lags[rows - delay])


def test_an_error_leaves_no_trace() -> None:
    learner = Lagged(onkel.KernelAWV(onkel.Polynomial(degree=2)))
    state = learner.init(2)
    learner.learn(state, np.eye(2), [1.0, 2.0])
    before = bits(state)
    with pytest.raises(onkel.InputError, match="would overflow"):
        learner.learn(state, np.full((2, 2), 1e49), [1.0, 2.0])
    with pytest.raises(onkel.InputError, match=r"lagged must have shape \(2, 5\)"):
        learner.learn(state, np.eye(2), [1.0, 2.0], lagged=np.ones((2, 4)))
    with pytest.raises(onkel.InputError, match="lagged holds nan"):
        learner.learn(state, np.eye(2), [1.0, 2.0], lagged=np.full((2, 5), np.nan))
    assert bits(state) == before


@pytest.mark.parametrize("inner", [LINE, OneVsRest(onkel.FOGD(onkel.Fourier(count=5)))], ids=["PKAWV", "OneVsRest"])
def test_outputs_can_be_added(inner: Any) -> None:
    """As if they had been there from the start, with the label of a class that no row was of."""
    learner = Lagged(inner, outputs=3)
    X, y, weight = stream(LEARNERS[0])
    classes = np.where((y > 2.0) & (np.arange(400) >= 200), 2, y > 0.0)
    labels = np.where(classes[:, None] == np.arange(3), 1.0, learner.absent)
    known, met = learner.init(2, 3), learner.init(2, 2)
    expected = learner.learn(known, X, labels, weight)
    learner.learn(met, X[:200], labels[:200, :2], weight[:200])
    learner.widen(met, 3)
    assert agree(learner, learner.learn(met, X[200:], labels[200:], weight[200:]), expected[200:])
    assert np.array_equal(learner.remember(met), learner.remember(known))


def test_values_of_a_row_may_be_missing() -> None:
    """Its earlier labels never are."""
    learner = Lagged(Scaled(LINE))
    X, y, _ = stream(learner)
    there = np.random.default_rng(0).random(X.shape) < 0.8
    state, other = learner.init(2), learner.init(2)
    scores = learner.learn(state, X, y, there=there)
    assert np.array_equal(learner.learn(other, np.where(there, X, 7.0), y, there=there), scores)
    assert bits(state) == bits(other)
    assert np.array_equal(state.inner.known[2, :2], there.sum(axis=0))
    assert (state.inner.known[2, 2:] == len(X)).all()
    assert np.isfinite(learner.predict(state, X, there=there)).all()


def test_a_state_that_cannot_be_is_refused() -> None:
    learner = Lagged(LINE)
    state = learner.init(2)
    state.means[0, 0] = 1.0
    with pytest.raises(onkel.InputError, match="before the first row"):
        learner.check(state)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: Lagged(onkel.PKAWV), "learner must be a learner"),
        (lambda: Lagged(lags=0), "lags must be at least 1"),
        (lambda: Lagged(outputs=0), "outputs must be at least 1"),
    ],
)
def test_configs_check_themselves(config: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        config()


@pytest.mark.parametrize(
    "learner", [Lagged(onkel.PKAWV(onkel.Identity())), onkel.Auto(), onkel.Auto(lags=2)], ids=lambda learner: repr(learner)[:30]
)
def test_the_largest_labels_of_both_signs_are_learnt(learner: Any) -> None:
    """Labels minus the first one are beyond what a label may be."""
    X, y = np.random.default_rng(6).normal(size=(60, 2)), np.where(np.arange(60) % 2, 1e50, -1e50)
    state = learner.init(2)
    assert np.isfinite(learner.learn(state, X, y)).all()
    learner.check(state)
