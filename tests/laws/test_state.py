"""Laws 4, 5, 11, 18: memory, files, configs, what has been learnt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel._jit import compiler_off
from onkel.persist import from_json, to_json
from tests.laws.cases import Case, bits, fewer, fresh, near


@fewer
def test_4_bytes_are_foretold_and_never_grow_for_bounded_learners(case: Case) -> None:
    X, y, weight = case.stream()
    state = fresh(case.learner, X, y)
    start = onkel.nbytes(state)
    assert case.learner.footprint(X.shape[1], y.shape[1] if y.ndim == 2 else 1) == start
    largest = start
    for t in range(0, len(X), 16):
        case.learner.learn(state, X[t : t + 16], y[t : t + 16], weight[t : t + 16])
        largest = max(largest, onkel.nbytes(state))
    if case.learner.bounded:
        assert largest == start


@fewer
def test_5_save_load_continue_equals_never_stopped(case: Case, tmp_path: Path) -> None:
    for stop in [1, 133] if compiler_off else [0, 1, 32, 133, 399]:
        check_saved(case, stop, tmp_path)


def check_saved(case: Case, stop: int, folder: Path) -> None:
    X, y, weight = case.stream()
    state = fresh(case.learner, X, y)
    case.learner.learn(state, X[:stop], y[:stop], weight[:stop])
    onkel.save(folder / f"{stop}.onkel", case.learner, state)
    learner, resumed = onkel.load(folder / f"{stop}.onkel")
    assert learner == case.learner
    assert bits(resumed) == bits(state)
    on = case.learner.learn(state, X[stop:], y[stop:], weight[stop:])
    again = learner.learn(resumed, X[stop:], y[stop:], weight[stop:])
    assert on.tobytes() == again.tobytes(), f"stopped after {stop} rows"
    assert bits(resumed) == bits(state)


@fewer
def test_5_every_state_on_the_way_can_be_saved(case: Case, tmp_path: Path) -> None:
    X, y, weight = case.stream()
    state = fresh(case.learner, X, y)
    for part in np.array_split(np.arange(len(X)), 4 if compiler_off else 12):
        case.learner.learn(state, X[part], y[part], weight[part])
        case.learner.check(state)
    onkel.save(tmp_path / "end.onkel", case.learner, state)


def test_11_config_survives_json_and_repr(case: Case) -> None:
    assert from_json(json.loads(json.dumps(to_json(case.learner)))) == case.learner
    assert onkel.parse(repr(case.learner)) == case.learner
    assert eval(repr(case.learner), vars(onkel)) == case.learner
    assert hash(case.learner) == hash(onkel.parse(repr(case.learner)))


def test_11_config_is_frozen(case: Case) -> None:
    with pytest.raises(AttributeError):
        case.learner.lam = 3.0


@fewer
def test_4_widening_is_exact_where_outputs_share_a_matrix(case: Case) -> None:
    if not case.learner.multi_output:
        return
    X, y, weight = case.stream()
    half = len(y) // 2
    both = np.column_stack([y, np.where(np.arange(len(y)) < half, 0.0, y > 0)])
    start = case.learner.init(X.shape[1], 2)
    expected = case.learner.learn(start, X, both, weight)
    state = case.learner.init(X.shape[1], 1)
    case.learner.learn(state, X[:half], y[:half], weight[:half])
    case.learner.widen(state, 2)
    late = case.learner.learn(state, X[half:], both[half:], weight[half:])
    assert np.allclose(late, expected[half:], rtol=0.0, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_18_the_function_that_was_learnt_gives_the_scores(case: Case) -> None:
    """The function agrees with the scores on new rows (there a `Delta` adds nothing), at the end and within the first stage."""
    X, y, weight = case.stream()
    early = fresh(case.learner, X, y)
    case.learner.learn(early, X[:5], y[:5], weight[:5])
    if case.learner._hooks._is_waiting(early):
        with pytest.raises(onkel.InputError, match="rows seen: there are no domains yet"):
            case.learner.function(early)
    late, _ = case.run()
    rows = X[:40] + 0.01 * np.random.default_rng(5).normal(size=X[:40].shape)
    for state in (late,) if case.learner._hooks._is_waiting(early) else (early, late):
        f, before = case.learner.function(state), bits(state)
        if f is not None:
            clip, scores = getattr(case.learner, "clip", None) or np.inf, case.learner.predict(state, rows)
            assert near(f(rows), scores, 1e-7) or near(f(rows).clip(-clip, clip), scores, 1e-7)  # FORKS clips in its second stage
            assert f.additive is None or near(f.curves(f.additive.inputs(rows)).sum(axis=1), f(rows), 1e-9)
            assert f.squared_norm is None or f.squared_norm >= 0.0
        assert bits(state) == before
