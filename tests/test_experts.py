"""Experts: what its learners say, mixed; whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import PKAWV, Experts, FixedShare, InputError, KernelRidge, Logistic, MLPoly, Perceptron
from onkel.combine import OneVsRest, Scaled
from tests.laws.cases import bits, default_stream

Array = NDArray[np.float64]

LINE = onkel.Identity() + onkel.Constant()
PAIR = Experts((PKAWV(LINE, lam=0.01), PKAWV(LINE, lam=100.0)), MLPoly())


def stream(rows: int = 120) -> tuple[Array, Array]:
    X, y, _ = default_stream(PAIR, rows=rows)
    return X, y


def test_its_scores_are_the_rules_mixture_of_what_its_learners_say() -> None:
    X, y = stream()
    alone = np.stack([learner.learn(learner.init(3), X, y)[:, None] for learner in PAIR.learners], axis=2)
    mixture = PAIR.rule.learn(PAIR.rule.init(2), alone, y[:, None], np.ones(120), np.ones((120, 2), dtype=bool))
    state = PAIR.init(3)
    assert np.array_equal(PAIR.learn(state, X, y), mixture[:, 0])
    assert np.array_equal(PAIR.weights(state), PAIR.rule.weights(state.rule))
    assert PAIR.weights(state).shape == (1, 2)


def test_learners_that_sleep_have_no_say_but_learn() -> None:
    X, y = stream()
    awake = np.ones((120, 2), dtype=bool)
    awake[60:, 1] = False
    state, other = PAIR.init(3), PAIR.init(3)
    PAIR.learn(state, X[:60], y[:60])
    for half in (slice(60), slice(60, 120)):
        PAIR.learn(other, X[half], y[half])
    said = PAIR.scores(state, X[60:61])[0, 0, 0]
    assert PAIR.predict(state, X[60:61], awake=awake[60:61]) == np.clip(said, y[:60].min(), y[:60].max())
    PAIR.learn(state, X[60:], y[60:], awake=awake[60:])
    assert bits(state.learners) == bits(other.learners)
    assert bits(state.rule) != bits(other.rule)
    with pytest.raises(InputError, match="in row 1 no learner is awake"):
        PAIR.learn(state, X[:2], y[:2], awake=[[True, False], [False, False]])
    with pytest.raises(InputError, match=r"of shape \(2, 2\), got int64 of \(2, 2\)"):
        PAIR.predict(state, X[:2], awake=[[1, 0], [0, 1]])


@pytest.mark.once
def test_where_one_learner_refuses_nobody_has_learnt() -> None:
    X, y = stream()
    learner = Experts((PKAWV(LINE), KernelRidge(onkel.Polynomial(degree=9))))
    state = learner.init(3)
    learner.learn(state, X[:20], y[:20])
    before = bits(state)
    with pytest.raises(InputError, match="would overflow"):
        learner.learn(state, 1e40 * X[20:], y[20:])
    assert bits(state) == before


def test_tasks_outputs_and_limits_are_those_that_all_have() -> None:
    signs = Experts((PKAWV(LINE), Perceptron()))
    assert signs.tasks == {"classification"}
    assert not signs.multi_output
    assert signs.cut_tolerance == 1e-9
    assert Experts((Perceptron(), onkel.BPAS())).cut_tolerance == 0.0
    assert PAIR.multi_output
    assert not Experts((PKAWV(LINE), KernelRidge())).bounded
    assert Experts((PKAWV(LINE),), FixedShare(loss=Logistic())).tasks == {"classification"}
    assert not Experts((PKAWV(LINE), OneVsRest())).multi_output  # classes are coded 0 or 1 here, −1 or 1 there
    with pytest.raises(InputError, match="no task that all learners and the rule support"):
        Experts((Perceptron(), onkel.TubeProjection()))
    with pytest.raises(InputError, match="learners must be one or more"):
        Experts(())
    with pytest.raises(InputError, match="rule must be a mixing rule"):
        Experts(rule=PKAWV())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"label of row 1 is 0.5"):
        signs.learn(signs.init(3), np.ones((2, 3)), [1.0, 0.5])


def test_a_class_that_appears_late() -> None:
    X, y = stream()
    labels = np.column_stack([y > 0, y <= 0, np.zeros(120)]).astype(float)
    known, state = PAIR.init(3, 3), PAIR.init(3, 2)
    PAIR.learn(known, X, labels)
    PAIR.learn(state, X, labels[:, :2])
    PAIR.widen(state, 3)
    assert bits(state) == bits(known)


def test_inside_others_and_through_a_file(tmp_path: Path) -> None:
    X, y = stream()
    learner = Scaled(Experts((PAIR, PKAWV(LINE, forgetting=0.9))), first_rows=30)
    state = learner.init(3)
    learner.learn(state, X, 1e4 * y)
    onkel.save(tmp_path / "m.onkel", learner, state)
    again, loaded = onkel.load(tmp_path / "m.onkel")
    assert again == learner
    assert bits(loaded) == bits(state)
    assert onkel.parse(repr(learner)) == learner
