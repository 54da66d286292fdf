"""Every learner with odd settings, on an awkward stream: scores are finite, and the state is sound on the way and in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onkel
from onkel import learners
from tests.odd import awkward, odd

QUADRATIC = {"KONS", "KernelAWV", "KernelRidge", "PKAWVNystroem", "SketchedKONS"}  # O(t²) a row, or nearly so at first
GROWING = {
    "NORMA",
    "Perceptron",
    "PassiveAggressive",
    "FunctionalSGD",
    "KernelAdatron",
    "MarginProjection",
    "ROMMA",
    "TubeProjection",
}
CUTS = 50


def rounds(name: str) -> int:
    return 2_000 if name in QUADRATIC else 30_000 if name in GROWING else 100_000


def play(learner: Any, rows: int) -> None:
    """A descent whose steps are too long may refuse to go on; its state is sound then too."""
    X, y = awkward(learner, rows)
    state = learner.init(X.shape[1])
    for part in np.array_split(np.arange(rows), CUTS):
        try:
            scores = learner.learn(state, X[part], y[part])
        except onkel.InputError as error:
            if "too long for such rows" not in str(error):
                raise
            learner.check(state)
            return
        assert np.isfinite(scores).all()
        learner.check(state)


@pytest.mark.once
@pytest.mark.parametrize(
    "learner",
    [onkel.PKAWV(forgetting=0.001), onkel.MercerProjection(count=400, forgetting=0.001)],
    ids=lambda learner: type(learner).__name__,
)
def test_a_ridge_that_fades_away_before_it_returns_is_held(learner: Any) -> None:
    X, y = awkward(learner, 900)
    state = learner.init(3)
    for part in np.array_split(np.arange(900), 90):
        before = learner.predict(state, X[part[:1]])
        scores = learner.learn(state, X[part], y[part])
        assert np.isfinite(scores).all()
        assert scores[0] == pytest.approx(before[0], rel=1e-9, abs=1e-9)
        learner.check(state)
    assert any("fade to nothing" in note for note in learner.notes(state))
    assert not any("fade to nothing" in note for note in learner.notes(learner.init(3)))


@pytest.mark.long
@pytest.mark.parametrize("name", learners.names)
def test_a_hundred_thousand_rounds_with_odd_settings(name: str) -> None:
    for learner in odd(getattr(onkel, name)):
        play(learner, rounds(name))
