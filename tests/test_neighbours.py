"""Neighbours: two answers of one search, and what the rows kept are."""

from __future__ import annotations

import numpy as np
import pytest

import onkel
from onkel.learners.neighbours import GROUP, learn_block, predict_block


def _stream(rows: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(rows, dim)), rng.normal(size=(rows, 2))


@pytest.mark.parametrize("extra", [1, 4])
def test_two_answers_of_one_search_are_those_of_two_learners(extra: int) -> None:
    X, Y = _stream(170, 11)
    learner = onkel.Neighbours(budget=GROUP + 3, neighbours=4)
    state, without = learner.init(11, 2), learner.init(11 - extra, 2)
    arrays = state.points, state.labels, state.weights, state.rows
    scores, after = np.empty((2, 160, 2)), np.empty((2, 10, 2))
    learn_block(*arrays, X[:160], Y[:160], np.ones(160), 4, extra, scores)
    predict_block(*arrays, X[160:], 4, extra, after)
    assert np.array_equal(scores[1], learner.learn(again := learner.init(11, 2), X[:160], Y[:160]))
    assert np.array_equal(scores[0], learner.learn(without, X[:160, :-extra], Y[:160]))
    assert np.array_equal(after[1], learner.predict(again, X[160:]))
    assert np.array_equal(after[0], learner.predict(without, X[160:, :-extra]))


def test_a_row_seen_before_has_the_mean_label_of_its_copies() -> None:
    X, Y = _stream(40, 3)
    learner = onkel.Neighbours(neighbours=3)
    state = learner.init(3, 2)
    learner.learn(state, X, Y)
    learner.learn(state, np.repeat(X[:1], 2, axis=0), Y[1:3], np.array([1.0, 2.0]))
    assert np.allclose(learner.predict(state, X[:1]), (Y[0] + Y[1] + 2 * Y[2]) / 4)


def test_only_the_last_rows_count() -> None:
    X, Y = _stream(200, 3)
    learner = onkel.Neighbours(budget=50)
    long, short = learner.init(3, 2), learner.init(3, 2)
    learner.learn(long, X, Y)
    learner.learn(short, X[150:], Y[150:])
    assert np.array_equal(learner.predict(long, X), learner.predict(short, X))


def test_a_state_with_other_weights_than_rows_is_refused() -> None:
    learner = onkel.Neighbours(budget=5)
    state = learner.init(2)
    learner.learn(state, np.ones((3, 2)), np.ones(3))
    state.rows[0] = 4
    with pytest.raises(onkel.InputError, match="weights"):
        learner.check(state)
