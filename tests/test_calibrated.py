"""Probabilities that hold: against the oracle, the bound, and what the labels bear out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.combine import Calibrated, OneVsRest, calibrated
from onkel.combine.probabilities import probabilities
from onkel.measure import log_loss, mistakes, reliability
from onkel.report import draw_reliability
from tests.laws.cases import Case, agree, bits
from tests.laws.wrapped import cases, check_config, check_cut, check_saved, every_law
from tests.oracle import calibrated as oracle
from tests.repetition import others_are_long

Array = NDArray[np.float64]

LINE = onkel.PKAWV(onkel.Identity() + onkel.Constant())
LEARNERS = [
    Calibrated(),
    Calibrated(LINE),
    Calibrated(onkel.Projectron(budget=20)),
    Calibrated(OneVsRest(onkel.Projectron(budget=20))),
]


def classes_of(X: Array, seed: int = 0) -> NDArray[np.int64]:
    """Three classes that overlap; the third is rare, and no row's before the hundredth."""
    noise = np.random.default_rng(seed).normal(size=X.shape)
    third = (X[:, 1] + 0.3 * noise[:, 1] > 1.2) & (np.arange(len(X)) >= 100)
    return np.where(third, 2, (X[:, 0] + 0.5 * noise[:, 0] > 0.0).astype(int))


def stream(learner: Any) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    X, weight = rng.normal(size=(400, 2)), np.where(rng.random(400) < 0.1, 0.0, 1.0)
    if learner.absent < 0.0:
        return X, coded(learner, classes_of(X)), weight
    return X, np.where(classes_of(X) == 1, 1.0, -1.0), weight


def coded(learner: Any, classes: NDArray[np.int64], outputs: int = 3) -> Array:
    return np.where(classes[:, None] == np.arange(outputs), 1.0, learner.absent)


case = cases(LEARNERS, __name__)


@every_law
def test_the_laws_of_learners_hold(case: Case, law: Any) -> None:
    law(case)


@pytest.mark.parametrize("size", [1, 33])
def test_the_cut_of_the_stream_changes_nothing(case: Case, size: int) -> None:
    check_cut(case, size)


@pytest.mark.parametrize("stop", [0, 1, 133])
def test_save_load_continue_equals_never_stopped(case: Case, stop: int, tmp_path: Path) -> None:
    check_saved(case, stop, tmp_path)


def test_the_config_survives_json_and_repr(case: Case) -> None:
    check_config(case)


# --- the arithmetic


def tracked(guesses: Array, own: NDArray[np.int64], weight: Array) -> Array:
    state, out = Calibrated(LINE).init(1, guesses.shape[1]), np.empty(guesses.shape)
    arrays = state.means, state.counts, state.shares, state.seen, state.evidence
    calibrated.track(calibrated.PLACES, *arrays, guesses, own, weight, out)
    return out


def guessed(rng: np.random.Generator, rows: int, classes: int) -> tuple[Array, NDArray[np.int64]]:
    """Guesses of any quality, many of them exactly 0 or 1, that change their meaning in the middle."""
    power = rng.choice([0.2, 1.0, 5.0])
    truth = rng.dirichlet(np.full(classes, 0.5), size=rows)
    own = np.array([rng.choice(classes, p=p) for p in truth])
    guesses = truth**power / (truth**power).sum(axis=1, keepdims=True)
    guesses = np.clip(1.2 * guesses - 0.1, 0.0, 1.0) if rng.random() < 0.5 else guesses + 0.1 * rng.normal(size=guesses.shape)
    if rng.random() < 0.5:
        guesses[rows // 2 :] = np.roll(guesses[rows // 2 :], 1, axis=1)
    return np.ascontiguousarray(guesses), own


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_it_is_the_oracle(classes: int) -> None:
    rng = np.random.default_rng(classes)
    guesses, own = guessed(rng, 600, classes)
    own[:200] = np.where(own[:200] == classes - 1, 0, own[:200])  # the last class comes late
    weight = rng.choice([0.0, 1.0, 2.5], size=600)
    expected, _ = oracle.probabilities(guesses, own, weight)
    assert np.allclose(tracked(guesses, own, weight), expected, rtol=1e-9, atol=1e-12)
    assert np.allclose(expected.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "learner", [Calibrated(LINE), Calibrated(OneVsRest(LINE)), Calibrated(OneVsRest(onkel.Perceptron()))], ids=repr
)
def test_scores_are_the_oracles_probabilities_in_the_coding_of_the_labels(learner: Any) -> None:
    X, _, weight = stream(learner)
    own = classes_of(X)
    y = coded(learner, own)
    scores = learner.learn(learner.init(2, 3), X, y, weight)
    inner = learner.learner.learn(learner.learner.init(2, 3), X, y, weight)
    margins = learner == Calibrated(OneVsRest(onkel.Perceptron()))
    guesses = 1.0 / (1.0 + np.exp(-inner)) if margins else (inner - learner.absent) / (1.0 - learner.absent)
    expected, _ = oracle.probabilities(guesses, own, weight)
    assert np.allclose((scores - learner.absent) / (1.0 - learner.absent), expected, rtol=0.0, atol=1e-9)
    assert np.allclose(probabilities(learner, scores, learner.absent < 0.0), expected, rtol=0.0, atol=1e-9)  # the identity


@pytest.mark.once
@pytest.mark.parametrize("seed", others_are_long(range(20), range(4)))
def test_log_loss_is_at_most_that_of_the_best_maps_in_turn_and_the_proven_term(seed: int) -> None:
    rng, rows = np.random.default_rng(seed), 300
    guesses, own = guessed(rng, rows, int(rng.integers(2, 5)))
    _, alone = oracle.probabilities(guesses, own, np.ones(rows))
    mixed = -np.log(tracked(guesses, own, np.ones(rows))[np.arange(rows), own])
    losses = -np.log(alone[np.arange(rows), :, own])
    best = np.full((3, 4), np.inf)  # of sequences with 1, 2 and 3 pieces that end with each map
    best[0] = 0.0
    for row in losses:
        switched = np.vstack([np.full(4, np.inf), np.repeat(best[:-1].min(axis=1, keepdims=True), 4, axis=1)])
        best = np.minimum(best, switched) + row
    wait = np.log(5 * guesses.shape[1])
    assert (mixed.sum() <= best.min(axis=1) + np.array([1, 2, 3]) * np.log(4 * rows) + wait + 1e-9).all()


def test_classes_may_change_places() -> None:
    learner = Calibrated(LINE)
    X, y, weight = stream(learner)
    one, other = learner.init(2), learner.init(2)
    assert np.allclose(learner.learn(one, X, y, weight), -learner.learn(other, X, -y, weight), rtol=0.0, atol=1e-12)
    three = coded(learner, classes_of(X))
    scores = [learner.learn(learner.init(2, 3), X, labels, weight) for labels in (three, three[:, ::-1].copy())]
    assert np.allclose(scores[0], scores[1][:, ::-1], rtol=0.0, atol=1e-9)


# --- what it is for


def overconfident(rows: int = 3000) -> tuple[Array, NDArray[np.int64]]:
    """Guesses that saturate, of labels of which one in ten is wrong."""
    rng = np.random.default_rng(3)
    margin = rng.normal(size=rows)
    own = np.where((margin > 0) ^ (rng.random(rows) < 0.1), 0, 1)
    guess = np.clip(0.5 + 5.0 * margin, 0.0, 1.0)
    return np.column_stack([guess, 1.0 - guess]), own


def test_saturated_scores_become_probabilities() -> None:
    guesses, own = overconfident()
    p = tracked(guesses, own, np.ones(len(own)))[:, 0]
    least = -0.9 * np.log(0.9) - 0.1 * np.log(0.1)
    assert log_loss(p, own == 0) < 1.1 * least < 0.5 * log_loss(guesses[:, 0], own == 0)
    assert (
        reliability(p[500:], own[500:] == 0).calibration_error
        < 0.03
        < 0.08
        < reliability(guesses[:, 0], own == 0).calibration_error
    )


@pytest.mark.once
@pytest.mark.parametrize("classes", [2, 4])
def test_decisions_of_scores_that_are_right_are_given_up_in_one_stream_of_five_at_most(classes: int) -> None:
    """Counted from the row that has brought the last class."""
    rng, streams, rows, given_up = np.random.default_rng(classes), 40, 200, 0
    for _ in range(streams):
        truth = rng.dirichlet(np.full(classes, 5.0), size=rows)  # close to even, where maps of few rows err
        own = np.array([rng.choice(classes, p=p) for p in truth])
        start = max(int(np.argmax(own == k)) for k in range(classes)) + 1
        said = tracked(truth, own, np.ones(rows)).argmax(axis=1)
        given_up += bool((said != truth.argmax(axis=1))[start:].any())
    assert given_up <= streams / 5


@pytest.mark.once
@pytest.mark.parametrize("outputs", [1, 2])
def test_short_noisy_streams_cost_no_more_mistakes_than_the_bare_learner(outputs: int) -> None:
    """Counted from the row that has brought the second class; in four streams of five at least, where decisions are kept."""
    learners: list[Any] = [Calibrated(LINE), LINE]
    streams, worse = 20, 0
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 5))
        y = np.where(X[:, 0] + 1.5 * rng.normal(size=300) > -0.5, 1.0, -1.0)
        start = int(np.argmax(y != y[0])) + 1
        labels = y if outputs == 1 else np.column_stack([y > 0, y < 0]).astype(float)
        wrong = []
        for learner in learners:
            scores = learner.learn(learner.init(5, outputs), X, labels)
            wrong.append(mistakes(scores if outputs == 1 else scores[:, 0] - scores[:, 1], y)[start:].sum())
        worse += int(wrong[0] > wrong[1])
    assert worse <= streams / 5


@pytest.mark.once
def test_decisions_are_given_up_where_the_labels_are_against_them() -> None:
    """A threshold that is wrong: rows of scores between 0.5 and 0.7 are mostly of the other class."""
    rng = np.random.default_rng(0)
    truth = rng.random(2000)
    own = np.where(rng.random(2000) < truth, 0, 1)
    guess = np.clip(truth + 0.2, 0.0, 1.0)
    said = tracked(np.column_stack([guess, 1.0 - guess]), own, np.ones(2000)).argmax(axis=1)
    between = (guess > 0.53) & (guess < 0.67)
    assert said[2:50].tolist() == (guess[2:50] < 0.5).astype(int).tolist()
    assert np.mean(said[1000:][between[1000:]] == 1) > 0.9


@pytest.mark.once
@pytest.mark.parametrize("seed", range(3))
def test_mistakes_do_not_suffer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 3))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=2000) * 0.5 > 1.0 * (seed > 0), 1.0, -1.0)
    bare, learner = onkel.PKAWV(), Calibrated(onkel.PKAWV())
    raw, scores = bare.learn(bare.init(3), X, y), learner.learn(learner.init(3), X, y)
    assert mistakes(scores, y).sum() <= mistakes(raw, y).sum() + 0.001 * len(y)
    assert log_loss((1 + scores) / 2, y > 0) < log_loss((1 + raw) / 2, y > 0)


def test_margins_become_probabilities() -> None:
    learner = Calibrated(onkel.Perceptron())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0.0, 1.0, -1.0)
    p = (1.0 + learner.learn(learner.init(2), X, y)) / 2.0
    assert reliability(p[500:], y[500:] > 0).calibration_error < 0.05


def test_a_class_that_has_not_come_is_rare_and_not_impossible() -> None:
    learner = Calibrated(LINE)
    state = learner.init(1, 3)
    assert np.allclose(learner.predict(state, [[0.0]]), 1.0 / 3.0)
    learner.learn(state, np.ones((97, 1)), np.tile([1.0, 0.0, 0.0], (97, 1)))
    assert np.allclose(learner.predict(state, [[5.0]]), [[0.98, 0.01, 0.01]])
    assert state.means.tobytes() == learner.init(1, 3).means.tobytes()


# --- the learner


@pytest.mark.parametrize("inner", [LINE, OneVsRest(onkel.Projectron(budget=20))], ids=["PKAWV", "OneVsRest"])
@pytest.mark.parametrize("before", [1, 2])
def test_classes_can_be_added(inner: Any, before: int) -> None:
    """As if they had been there from the start."""
    learner, rows = Calibrated(inner), {1: 20, 2: 100}[before]
    X, _, weight = stream(learner)
    own = classes_of(X)
    own[:20] = 0
    y = coded(learner, own)
    known, met = learner.init(2, 3), learner.init(2, before)
    expected = learner.learn(known, X, y, weight)
    learner.learn(met, X[:rows], y[:rows, :before] if before > 1 else y[:rows, 0], weight[:rows])
    learner.widen(met, 3)
    assert agree(learner, learner.learn(met, X[rows:], y[rows:], weight[rows:]), expected[rows:])
    assert met.seen.tobytes() == known.seen.tobytes()


@pytest.mark.once
@pytest.mark.parametrize("inner", [onkel.PKAWV(), onkel.Projectron()], ids=["PKAWV", "Projectron"])
def test_the_classifier_gives_its_probabilities(inner: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 2))
    names = np.array(["a", "b", "c"])[classes_of(X)]
    model, bare = onkel.Classifier(Calibrated(inner)), onkel.Classifier(inner)
    for each in (model, bare):
        for start in range(0, 800, 50):
            each.partial_fit(X[start : start + 50], names[start : start + 50])
    p, plain = model.predict_proba(X[800:]), bare.model_.probabilities(bare.state_, bare._scores(X[800:]))
    own = np.searchsorted(model.classes_, names[800:])
    assert np.allclose(p.sum(axis=1), 1.0)
    assert log_loss(p, own) < log_loss(plain, own)


def test_labels_must_be_classes_and_an_error_leaves_no_trace() -> None:
    learner = Calibrated(LINE)
    state, several = learner.init(2), learner.init(2, 3)
    before = bits(state), bits(several)
    with pytest.raises(onkel.InputError, match="labels must be -1 or \\+1"):
        learner.learn(state, np.eye(2), [1.0, 0.5])
    for wrong in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0]):
        with pytest.raises(onkel.InputError, match="row 1 must be 1 in one column, that of its class, and 0 in all others"):
            learner.learn(several, np.eye(2), [[1.0, 0.0, 0.0], wrong])
    assert (bits(state), bits(several)) == before


def test_a_state_that_cannot_be_is_refused() -> None:
    learner = Calibrated(LINE)
    for name, value, message in (
        ("means", -1.0, "shares or counts of rows"),
        ("counts", -1.0, "shares or counts of rows"),
        ("shares", -1.0, "do not sum to 1"),
        ("evidence", 3.0, "evidence"),
    ):
        state = learner.init(2)
        getattr(state, name)[...] = value
        with pytest.raises(onkel.InputError, match=message):
            learner.check(state)


def test_the_config_checks_itself() -> None:
    with pytest.raises(onkel.InputError, match="must be a classifier"):
        Calibrated(onkel.NORMA(loss=onkel.EpsilonInsensitive(0.1)))


# --- reliability


def test_reliability_by_hand() -> None:
    told = reliability([0.1, 0.3, 0.9, 1.0], [False, True, True, True], bins=2)
    assert np.allclose(told.predicted, [0.2, 0.95])
    assert np.allclose(told.observed, [0.5, 1.0])
    assert told.count.tolist() == [2, 2]
    assert told.calibration_error == pytest.approx(0.5 * 0.3 + 0.5 * 0.05)
    assert told.brier == pytest.approx((0.01 + 0.49 + 0.01) / 4)
    assert told.log_loss == pytest.approx(-np.log([0.9, 0.3, 0.9, 1.0 - 1e-6]).mean())
    assert log_loss([0.0], [True], floor=1e-3) == pytest.approx(-np.log(1e-3))


def test_several_classes_count_each() -> None:
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    told = reliability(p, [0, 1], bins=1)
    assert (told.count.tolist(), told.observed.tolist()) == ([6], [2 / 6])
    assert told.brier == pytest.approx(((0.09 + 0.04 + 0.01) + (0.01 + 0.81 + 0.64)) / 2)
    assert log_loss(p, [0, 1]) == pytest.approx(-np.log([0.7, 0.1]).mean())


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([0.1], [1, 0], "one label for each row"),
        ([np.nan], [1], "contain nan"),
        ([0.1], [-1.0], "give labels > 0"),
        ([[0.1, 0.9]], [2], "indices of classes, 0 to 1"),
    ],
)
def test_reliability_refuses_what_it_cannot_read(p: Any, y: Any, message: str) -> None:
    with pytest.raises(onkel.InputError, match=message):
        reliability(p, y)


def test_reliability_can_be_drawn(tmp_path: Path) -> None:
    guesses, own = overconfident(500)
    told = {
        "raw": reliability(guesses[:, 0], own == 0),
        "calibrated": reliability(tracked(guesses, own, np.ones(500))[:, 0], own == 0),
    }
    picture = draw_reliability(tmp_path / "picture.svg", told, "two of them").read_text()
    assert all(f"<!-- {name}: log loss {one.log_loss:.3g}" in picture for name, one in told.items())
