"""The laws that wrappers (learners around a learner) keep too, for the test file of each wrapper.

Such a file defines `stream(learner)`, which the cases use, and its own fixture `case = cases(LEARNERS, __name__)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import onkel
from onkel._jit import compiler_off
from onkel.persist import from_json, to_json
from tests.laws import test_numbers, test_protocol, test_state, test_whole
from tests.laws.cases import Case
from tests.laws.test_protocol import check_cut as check_cut
from tests.laws.test_state import check_saved as check_saved

LAWS: list[Callable[[Case], None]] = [
    test_protocol.test_1_predict_changes_nothing,
    test_protocol.test_2_learn_returns_what_predict_would_have,
    test_protocol.test_6_the_callers_arrays_are_neither_changed_nor_kept,
    test_protocol.test_7_same_seed_same_stream_same_bits,
    test_protocol.test_14_rows_of_weight_0_change_nothing,
    test_state.test_4_bytes_are_foretold_and_never_grow_for_bounded_learners,
    test_state.test_11_config_is_frozen,
    test_numbers.test_8_works_before_the_first_row,
    test_whole.test_16_two_threads_take_turns,
]
if not compiler_off:  # interrupts need compiled code, which runs as one step
    LAWS.append(test_whole.test_15_an_interrupt_leaves_the_state_after_some_of_the_rows)

every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)


def cases(learners: Sequence[Any], module: str) -> Any:
    """A fixture with one case for each learner, on the streams of the test file `module`."""

    @pytest.fixture(params=learners, ids=lambda learner: repr(learner)[:60])
    def case(request: pytest.FixtureRequest) -> Case:
        return Case(repr(request.param), request.param, sys.modules[module], small=True)

    return case


def check_config(case: Case) -> None:
    assert from_json(to_json(case.learner)) == case.learner == onkel.parse(repr(case.learner))
