"""Learners made of learners keep the laws, and say what their parts would have said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel.combine import OneVsRest, Scaled
from onkel.persist import from_json, to_json
from tests.laws import test_numbers, test_protocol, test_state
from tests.laws.cases import Case

Array = NDArray[np.float64]

LEARNERS = [
    OneVsRest(),
    OneVsRest(onkel.FOGD()),
    Scaled(),
    Scaled(onkel.NewtonFeatures(), first_rows=100),
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


@pytest.fixture(params=LEARNERS, ids=lambda learner: repr(learner)[:60])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(repr(request.param), request.param, sys.modules[__name__], small=True)


LAWS = [
    test_protocol.test_1_predict_changes_nothing,
    test_protocol.test_2_learn_returns_what_predict_would_have,
    test_protocol.test_6_the_callers_arrays_are_neither_changed_nor_kept,
    test_protocol.test_7_same_seed_same_stream_same_bits,
    test_protocol.test_14_rows_of_weight_0_change_nothing,
    test_state.test_4_bytes_are_foretold_and_never_grow_for_bounded_learners,
    test_state.test_11_config_is_frozen,
    test_numbers.test_8_works_before_the_first_row,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_laws_of_learners_hold(case: Case, law: Any) -> None:
    law(case)


@pytest.mark.parametrize("size", [1, 33, 100])
def test_the_cut_of_the_stream_changes_nothing(case: Case, size: int) -> None:
    test_protocol.test_3_the_cut_of_the_stream_changes_nothing(case, size)


@pytest.mark.parametrize("stop", [0, 1, 20, 133, 399])
def test_save_load_continue_equals_never_stopped(case: Case, stop: int, tmp_path: Path) -> None:
    test_state.test_5_save_load_continue_equals_never_stopped(case, stop, tmp_path)


def test_the_config_survives_json_and_repr(case: Case) -> None:
    assert from_json(to_json(case.learner)) == case.learner == onkel.parse(repr(case.learner))
