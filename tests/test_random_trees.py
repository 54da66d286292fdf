"""RandomTrees: several outputs, what it does not learn, and states that no rows can have made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import onkel
from onkel.learners.random_trees import State
from tests.oracle import neighbours, random_trees

SMALL = onkel.RandomTrees(count=3, splits=6, leaves=30, gain=4.0)


def _stream(rows: int) -> tuple[random_trees.Array, random_trees.Array]:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(rows, 4))
    return X, np.column_stack([X[:, 0] > 0.3, X[:, 1] * X[:, 0], X[:, 3]]) + 0.05 * rng.normal(size=(rows, 3))


def test_several_outputs_agree_with_the_oracle() -> None:
    X, Y = _stream(250)
    state = SMALL.init(4, 3)
    assert np.allclose(SMALL.learn(state, X, Y), random_trees.scores(SMALL, X, Y), atol=1e-9)
    assert state.leaves.min() > 5
    nearest = onkel.Neighbours(budget=60, neighbours=3)
    assert np.allclose(nearest.learn(nearest.init(4, 3), X, Y), neighbours.scores(nearest, X, Y), atol=1e-9)


@pytest.mark.parametrize("label", [0.1, -1e9])
def test_labels_that_never_change_split_nothing(label: float) -> None:
    X, _ = _stream(300)
    eager = onkel.RandomTrees(count=3, splits=6, gain=0.0)
    state = eager.init(4)
    scores = eager.learn(state, X, np.full(300, label))
    assert (state.leaves == 1).all()
    assert np.allclose(scores[1:], label)


def test_a_step_is_found() -> None:
    X = np.linspace(-1.0, 1.0, 400)[np.random.default_rng(0).permutation(400), None]
    y = np.where(X[:, 0] > 0.2, 5.0, -5.0)
    learner = onkel.RandomTrees()
    state = learner.init(1)
    scores = learner.learn(state, X, y)
    far = np.abs(X[200:, 0] - 0.2) > 0.1
    assert np.max(np.abs(scores - y)[200:][far]) < 0.5


def test_full_trees_are_noted() -> None:
    X, Y = _stream(250)
    learner = onkel.RandomTrees(count=3, splits=6, leaves=4, gain=4.0)
    state = learner.init(4, 3)
    assert learner.notes(state) == []
    learner.learn(state, X, Y)
    assert learner.notes(state) == ["3 of 3 trees have all their 4 leaves and no longer grow"]


def _a_circle(state: State) -> None:
    state.child[0, 1] = 0


def _a_leaf_of_nowhere(state: State) -> None:
    state.child[1, 2] = -100


def _a_column_of_nowhere(state: State) -> None:
    state.column[0, 0] = 4


def _a_candidate_of_nowhere(state: State) -> None:
    state.choice[0, 0, 0] = -6


def _too_many_leaves(state: State) -> None:
    state.leaves[0] += 1


@pytest.mark.once
@pytest.mark.parametrize("forge", [_a_circle, _a_leaf_of_nowhere, _a_column_of_nowhere, _a_candidate_of_nowhere, _too_many_leaves])
def test_a_state_that_rows_cannot_have_made_is_refused(forge: Callable[[State], None]) -> None:
    X, Y = _stream(120)
    state = SMALL.init(4, 3)
    SMALL.learn(state, X, Y)
    SMALL.check(state)
    forge(state)
    with pytest.raises(onkel.InputError, match="its trees are not"):
        SMALL.check(state)
