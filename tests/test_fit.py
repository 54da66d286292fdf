"""`fit` has all rows: it learns by the scales of all of them, in a random order; what it measures is measured on new rows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.datasets
from sklearn.model_selection import cross_val_score

import onkel
from onkel.combine import Auto, Calibrated, Intervals, OneVsRest, Scaled
from tests.laws.cases import bits

pytestmark = pytest.mark.once

X, Y = onkel.data.friedman(600, seed=3)
ORDER = np.argsort(Y)  # the worst order for a stream
SORTED, LABELS = X[ORDER], Y[ORDER]
SMALL = onkel.PKAWV(onkel.Fourier(count=10) + onkel.Identity() + onkel.Constant())
TUBE = onkel.TubeProjection()
FEW_EXPERTS = Auto(cost_limit=5.0)


# --- all rows


@pytest.mark.parametrize("learner", [SMALL, TUBE], ids=["PKAWV", "TubeProjection"])
def test_scales_are_those_of_all_rows_and_go_on_with_later_ones(learner: Any) -> None:
    model = onkel.Regressor(learner).fit(SORTED[:400], LABELS[:400])
    scaled = model.state_.inner.inner
    assert np.allclose(scaled.known[0], SORTED[:400].mean(axis=0), rtol=1e-12)
    assert scaled.centre[0] == pytest.approx(LABELS[:400].mean(), rel=1e-12)
    assert scaled.scale[0] == pytest.approx(LABELS[:400].std(), rel=1e-9)
    model.partial_fit(SORTED[400:], LABELS[400:])
    scaled = model.state_.inner.inner
    assert np.allclose(scaled.known[0], SORTED.mean(axis=0), rtol=1e-12)
    assert np.allclose(np.sqrt(scaled.known[1] / scaled.known[2]), SORTED.std(axis=0), rtol=1e-12)
    assert scaled.centre[0] == pytest.approx(LABELS[:400].mean(), rel=1e-12), "the scale of the target is fixed"


@pytest.mark.parametrize("learner", [Intervals(Scaled(SMALL)), FEW_EXPERTS], ids=["Scaled", "Auto"])
def test_rows_may_be_surveyed_and_learnt_in_parts(learner: Any) -> None:
    learner = learner if isinstance(learner, Intervals) else Intervals(Scaled(learner, inputs=False, targets=False, first_rows=0))
    states = []
    for parts in ([0, 600], [0, 1, 7, 300, 600]):
        state = learner.init(10)
        for verb in (learner.survey, learner.learn):
            for start, stop in itertools.pairwise(parts):
                verb(state, SORTED[start:stop], LABELS[start:stop])
        learner.check(state)
        states.append(state)
    one, other = (learner.predict(state, X) for state in states)
    assert np.allclose(one, other, rtol=1e-9)
    again, state = onkel.unpack(onkel.pack(learner, states[0]))
    assert bits(state) == bits(states[0])
    with pytest.raises(onkel.InputError, match="before the first one is learnt"):
        again.survey(state, X, Y)


def test_a_target_that_is_constant_gets_its_scale_late() -> None:
    model = onkel.Regressor(SMALL).fit(X, np.full(600, 0.1))
    assert model.predict(X).tolist() == [0.1] * 600
    model.partial_fit(X, Y)
    assert np.corrcoef(model.predict(X), Y)[0, 1] > 0.7


def test_sparse_rows_and_rows_with_gaps_are_surveyed_too() -> None:
    thin = np.where(SORTED > 0.6, SORTED, 0.0)
    dense, sparse = onkel.Regressor(SMALL).fit(thin, LABELS), onkel.Regressor(SMALL).fit(scipy.sparse.csr_array(thin), LABELS)
    assert bits(dense.state_.inner) == bits(sparse.state_.inner)
    gaps = np.where(SORTED > 0.9, np.nan, SORTED)
    model = onkel.Regressor(SMALL).fit(gaps, LABELS)
    assert np.allclose(model.state_.inner.inner.known[0, 0], np.nanmean(gaps[:, 0]), rtol=1e-9)
    wide = scipy.sparse.random_array((200, 3000), density=0.01, rng=np.random.default_rng(4), format="csr")
    number = wide @ np.random.default_rng(5).normal(size=3000)
    auto = onkel.Regressor().fit(wide, number)
    assert np.array_equal(auto.predict(wide), onkel.Regressor().fit(wide.toarray(), number).predict(wide))


# --- in random order


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_rows_sorted_by_class_are_learnt(name: str) -> None:
    rows, kinds = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    assert (np.diff(kinds) >= 0).all()
    assert onkel.Classifier().fit(rows, kinds).score(rows, kinds) >= 0.95
    assert cross_val_score(onkel.Classifier(), rows, kinds, cv=5).mean() >= 0.95


def test_the_order_is_that_of_the_seed() -> None:
    kinds = np.where(LABELS > 14.0, "high", "low")
    one, same, other = (onkel.Classifier(onkel.NORMA(), seed=seed).fit(SORTED, kinds) for seed in (1, 1, 2))
    assert bits(one.state_.inner) == bits(same.state_.inner)
    assert not np.array_equal(one.decision_function(X), other.decision_function(X))
    in_order = onkel.Classifier(onkel.NORMA(), shuffle=False).fit(SORTED, kinds)
    assert one.score(SORTED, kinds) > 0.8 > in_order.score(SORTED, kinds)


def test_rows_with_earlier_labels_as_inputs_keep_their_order() -> None:
    wave = 20.0 * np.sin(np.arange(400) / 4.0)
    for learner in (Auto(lags=3, cost_limit=5.0), onkel.combine.Lagged(SMALL, 3)):
        shuffled, ordered = (onkel.Regressor(learner, shuffle=shuffle).fit(X[:400, :2], wave) for shuffle in (True, False))
        assert bits(shuffled.state_.inner) == bits(ordered.state_.inner)
    with pytest.raises(onkel.InputError, match="3 lags learns rows in their order, once"):
        onkel.Regressor(Auto(lags=3), epochs=2).fit(X, Y)


def test_weights_go_with_their_rows() -> None:
    wrong = np.arange(600) % 3 == 0
    labels = np.where(wrong, -1e3, LABELS)
    for learner in (SMALL, TUBE):
        model = onkel.Regressor(learner).fit(SORTED, labels, sample_weight=(~wrong).astype(float))
        assert model.score(SORTED[~wrong], LABELS[~wrong]) > 0.5
        assert model.state_.inner.inner.centre[0] == pytest.approx(LABELS[~wrong].mean())


def test_a_model_fits_tables_files_and_dicts(tmp_path: Path) -> None:
    rows = [{"x": float(k), "kind": ("a", "b")[k % 2], "y": 2.0 * k + 30.0 * (k % 2)} for k in range(400)]
    path = tmp_path / "rows.csv"
    path.write_text("x,kind,y\n" + "".join(f"{row['x']},{row['kind']},{row['y']}\n" for row in rows))
    model = onkel.Model(target="y", learner=SMALL)
    for given in (rows, str(path)):
        state = model.fit(given)
        assert np.mean(np.abs(model.predict(state, rows) - [row["y"] for row in rows])) < 20.0
        model.check(state)


# --- more than once


def test_simple_learners_gain_by_learning_rows_again() -> None:
    kinds = np.array(["a", "b", "c"])[(Y > 12).astype(int) + (Y > 17)]
    once, often = (onkel.Classifier(onkel.Perceptron(), epochs=epochs).fit(X, kinds) for epochs in (1, 8))
    assert often.score(X, kinds) > once.score(X, kinds) + 0.05
    often.model_.check(often.state_)


def test_intervals_and_probabilities_are_those_of_new_rows(tmp_path: Path) -> None:
    once, often = (onkel.Regressor(onkel.KernelAWV(lam=1e-3), epochs=epochs).fit(X, Y) for epochs in (1, 3))
    width, later = (np.diff(model.predict_interval(X), axis=1) for model in (once, often))
    assert np.allclose(width, later, rtol=1e-9)
    assert np.mean(np.abs(often.predict(X) - Y)) < np.mean(np.abs(once.predict(X) - Y))
    often.save(tmp_path / "m.onkel")
    loaded = onkel.Regressor.load(tmp_path / "m.onkel")
    for model in (often, loaded):
        model.partial_fit(X[:50], Y[:50])
    assert bits(loaded.state_.inner) == bits(often.state_.inner)
    assert often.state_.inner.bands.rows == 650
    calibrated = Calibrated(OneVsRest(onkel.Perceptron()))
    state = calibrated.init(10)
    signs = np.where(Y > 14.0, 1.0, -1.0)
    calibrated.learn(state, X, signs)
    means = state.means.copy()
    calibrated.learn_again(state, X, signs)
    assert np.array_equal(state.means, means)
    calibrated.learn(state, X[:100], signs[:100])
    assert state.seen.sum() == 700
    calibrated.check(state)


def test_a_function_that_has_just_started_anew_is_not_handed_out() -> None:
    rows, y = onkel.data.rings(1001, seed=0)
    for kinds in (y, np.where(y > 0, 2, np.arange(1001) % 2)):
        learner = onkel.FORKS(onkel.Gaussian(1.0), buffer=50, restart=True)
        before, after = (onkel.Classifier(learner).fit(rows[:count], kinds[:count]).score(rows, kinds) for count in (1000, 1001))
        assert after > before - 0.05
        stream = onkel.Classifier(learner).partial_fit(rows, kinds)
        assert stream.score(rows, kinds) < after - 0.1, "as a stream it has just started anew"
    kinds = np.where(Y > 14.0, 1, -1)
    for restart in (True, False):
        model = onkel.Classifier(onkel.ProsNKONS(restart=restart)).fit(X, kinds)
        assert model.score(X, kinds) > 0.85
        model.model_.check(model.state_)


@pytest.mark.parametrize(
    "fresh",
    [
        onkel.Regressor(onkel.MercerProjection()),
        onkel.Regressor(onkel.FunctionalSGD()),
        onkel.Classifier(onkel.MercerProjection()),
        onkel.Classifier(onkel.KONS(onkel.Additive(onkel.Spline()))),  # one learner for each class
    ],
)
def test_fit_sets_open_domains_by_all_rows_so_that_few_rows_are_enough(fresh: Any, tmp_path: Path) -> None:
    """Otherwise the first 100 rows would score 0, and a fit on fewer rows would be a constant."""
    x = np.random.default_rng(0).random(80)
    is_classifier = isinstance(fresh, onkel.Classifier)
    y = np.where(x > 0.6, "right", np.where(x < 0.3, "left", "middle")) if is_classifier else np.sin(6.0 * x)
    fitted = fresh.fit(x[:, None], y)
    assert fitted.score(x[:, None], y) > 0.7
    assert not any("outside their domain" in note for note in fitted.notes_)
    fitted.save(tmp_path / "m.onkel")
    again = type(fresh).load(tmp_path / "m.onkel")
    np.testing.assert_array_equal(again.predict(x[:, None]), fitted.predict(x[:, None]))
