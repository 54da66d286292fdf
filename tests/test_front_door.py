"""The front door as a newcomer tries it: what is typed first works, and what is mistyped is answered with a remedy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import onkel
from onkel import InputError

pytestmark = pytest.mark.once

X = np.random.default_rng(0).normal(size=(40, 3))
y = X @ np.array([1.0, -2.0, 0.5])


def test_prequential_takes_rows_and_labels_as_two_arguments() -> None:
    assert np.array_equal(onkel.prequential(onkel.PKAWV(), X, y).scores, onkel.prequential(onkel.PKAWV(), (X, y)).scores)
    with pytest.raises(InputError, match=r"write prequential\(learner, X, y\)"):
        onkel.prequential(onkel.PKAWV(), X)


def test_regret_takes_a_learner() -> None:
    learner = onkel.KernelAWV(onkel.Gaussian(2.0), lam=0.5)
    scores = learner.learn(learner.init(dim=3), X, y)
    assert np.array_equal(onkel.regret(learner, X, y).curve, onkel.regret(scores, X, y, learner.kernel, 0.5).curve)
    with pytest.raises(InputError, match="Auto does not say with what it is compared: give space and lam"):
        onkel.regret(onkel.Auto(), X, y)
    with pytest.raises(InputError, match="scores alone do not say with what they are compared"):
        onkel.regret(scores, X, y)


@pytest.mark.parametrize(("kind", "setting", "message"), [
    (onkel.PKAWV, "lamda", r"PKAWV has no setting 'lamda'; did you mean 'lam'\? it has features, lam"),
    (onkel.Gaussian, "wdith", r"did you mean 'width'\?"),
    (onkel.Hinge, "epsilon", r"Hinge has no setting 'epsilon'; it has none"),
    (onkel.Model, "tagret", r"did you mean 'target'"),
    (onkel.Classifier, "lam", r"Classifier has no setting 'lam'; .*learner=PKAWV\(lam=0\.1\)"),
])  # fmt: skip
def test_a_misspelt_setting_is_named_with_what_to_type(kind: Any, setting: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kind(**{setting: 1})


def test_a_reserved_word_as_a_setting_is_answered_like_any_other() -> None:
    with pytest.raises(InputError, match=r"PKAWV has no setting 'lambda'; did you mean 'lam'\?"):
        onkel.parse("PKAWV(lambda=0.1)")


def test_a_state_and_its_parts_print_in_one_line() -> None:
    learner = onkel.PKAWV(onkel.Taylor())
    state = learner.init(dim=3)
    learner.learn(state, X, y)
    assert repr(state) == f"<State of PKAWV: 40 rows, 3 inputs, 1 output, {onkel.nbytes(state):,} bytes>"
    assert all(len(repr(part)) < 100 for part in vars(state).values() if dataclasses.is_dataclass(part))
    model = onkel.Model(target="price", learner=learner)
    assert repr(model.init([{"size": 1.0, "price": 2.0}])).startswith("<State of Model: 0 rows, 1 input, 1 output, ")


def test_dir_shows_what_is_public() -> None:
    assert {name for name in dir(onkel) if not name.startswith("__")} == set(onkel.__all__)
