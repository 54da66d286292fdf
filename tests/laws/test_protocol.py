"""Laws 1, 2, 3, 6, 7, 14: what the three verbs promise."""

from __future__ import annotations

import numpy as np
import pytest

from onkel._jit import compiler_off
from tests.laws.cases import CASES, ROWS_TO_TRY, Case, agree, bits, default_stream, fewer, fresh


@pytest.mark.once
def test_every_stage_was_visited(case: Case) -> None:
    if case.small:
        state, _ = case.run()
        assert case.oracle.reached(case.learner, state)


@pytest.mark.once
def test_rows_that_visit_every_stage_are_counted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows that visit every stage are counted, since the tests with the compiler off learn no more than these."""
    if case.small:
        whole = len(case.whole_stream()[0])
        enough = [rows for rows in ROWS_TO_TRY if rows < whole]
        rows = next((rows for rows in (*enough, whole) if _reaches(case, rows, monkeypatch)), None)
        assert rows is not None, "its stream does not visit every stage"
        case.keep_rows(rows)


def _reaches(case: Case, rows: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    X, y, weight = case.first(rows)
    state = fresh(case.learner, X, y)
    case.learner.learn(state, X, y, weight)
    with monkeypatch.context() as patch:
        patch.setattr(case.oracle, "stream", lambda config: (X, y, weight))
        return bool(case.oracle.reached(case.learner, state))


def test_the_default_and_a_small_configuration_are_there() -> None:
    learners = {type(case.learner) for case in CASES}
    assert learners
    for kind in learners:
        assert {case.small for case in CASES if type(case.learner) is kind} == {True, False}


def test_1_predict_changes_nothing(case: Case) -> None:
    X, _, _ = case.stream()
    state, _ = case.run()
    before = bits(state)
    case.learner.predict(state, X[:50])
    assert bits(state) == before


def test_2_learn_returns_what_predict_would_have(case: Case) -> None:
    X, y, weight = case.stream()
    _, scores = case.run()
    state = fresh(case.learner, X, y)
    learnt, predicted = [], []
    for t in range(len(X)):
        predicted.append(case.learner.predict(state, X[t : t + 1]))
        learnt.append(case.learner.learn(state, X[t : t + 1], y[t : t + 1], weight[t : t + 1]))
    assert agree(case.learner, np.concatenate(learnt), np.concatenate(predicted))
    assert agree(case.learner, np.concatenate(learnt), scores)
    assert agree(case.learner, case.learner.predict(state, X[:50]), case.predicted())


def test_3_the_cut_of_the_stream_changes_nothing(case: Case) -> None:
    for size in [33] if compiler_off else [2, 7, 31, 32, 33, 100]:  # 1 is law 2's; 33 goes across every block of 32
        check_cut(case, size)


def check_cut(case: Case, size: int) -> None:
    X, y, weight = case.stream()
    _, whole = case.run()
    other = fresh(case.learner, X, y)
    cuts = range(0, len(X), size)
    scores = np.concatenate([case.learner.learn(other, X[a : a + size], y[a : a + size], weight[a : a + size]) for a in cuts])
    assert agree(case.learner, scores, whole), f"calls of {size} rows"
    assert agree(case.learner, case.learner.predict(other, X[:50]), case.predicted()), f"calls of {size} rows"


@pytest.mark.once
def test_3_blocks_longer_than_any_internal_one(case: Case) -> None:
    rows, size = 1300, 700  # one call beyond 1024, the longest of blocks, against two below; they are cut in plain Python
    X, y, weight = default_stream(case.learner, rows=rows)
    whole, parts = fresh(case.learner, X, y), fresh(case.learner, X, y)
    scores = case.learner.learn(whole, X, y, weight)
    pieces = [case.learner.learn(parts, X[a : a + size], y[a : a + size], weight[a : a + size]) for a in range(0, rows, size)]
    assert agree(case.learner, np.concatenate(pieces), scores)
    single = np.concatenate([case.learner.predict(whole, X[t : t + 1]) for t in range(0, rows, 97)])
    assert agree(case.learner, case.learner.predict(whole, X)[::97], single)


@fewer
def test_6_the_callers_arrays_are_neither_changed_nor_kept(case: Case) -> None:
    X, y, weight = case.stream()
    given = X.copy(), y.copy(), weight.copy()
    state = fresh(case.learner, X, y)
    case.learner.learn(state, *given)
    case.learner.predict(state, given[0])
    for array, original in zip(given, (X, y, weight), strict=True):
        assert np.array_equal(array, original)
    before = bits(state)
    for array in given:
        array[...] = 12345.0
    assert bits(state) == before


@fewer
def test_7_same_seed_same_stream_same_bits(case: Case) -> None:
    first, scores = case.run()
    second, again = case.run_again()
    assert scores.tobytes() == again.tobytes()
    assert bits(first) == bits(second)


@fewer
def test_14_rows_of_weight_0_change_nothing(case: Case) -> None:
    X, y, weight = case.stream()
    state, scores = case.run()
    kept = weight > 0.0
    assert not kept.all()
    other = fresh(case.learner, X, y)
    without = case.learner.learn(other, X[kept], y[kept], weight[kept])
    assert agree(case.learner, scores[kept], without)
    before = bits(state)
    case.learner.learn(state, X, y, np.zeros(len(X)))
    assert bits(state) == before
