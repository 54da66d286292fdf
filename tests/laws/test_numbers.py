"""Laws 8, 9, 10, 12: the numbers are finite, right, the same with the compiler off, and they learn."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from onkel._jit import compiler_off
from onkel.learners.protocol import tasks_of
from onkel.measure import mistakes
from onkel.persist import to_json
from onkel.state import leaves
from tests.laws.cases import CASES, Array, Case, fewer, fresh, is_finite_or_refused, near


def test_8_works_before_the_first_row(case: Case) -> None:
    X, y, _ = case.stream()
    state = fresh(case.learner, X, y)
    assert np.isfinite(case.learner.predict(state, X[:5])).all()
    assert case.learner.predict(state, X[:0]).shape == y[:0].shape
    assert case.learner.learn(state, X[:0], y[:0]).shape == y[:0].shape


ROWS = 60 if compiler_off else 120  # beyond the small budgets, and beyond the 50 rows after which inputs are suddenly huge


def _awkward(kind: str, rows: int) -> Array:
    X = np.random.default_rng(3).normal(size=(rows, 3))
    kinds: dict[str, Array] = {
        "constant": np.ones((rows, 3)),
        "zero": np.zeros((rows, 3)),
        "repeated": np.repeat(X[:4], rows // 4, axis=0),
        "collinear": X[:, :1] * np.array([1.0, -2.0, 3.0]),
        "tiny": 1e-8 * X,
        "huge": 1e8 * X,
        "suddenly huge": X * np.where(np.arange(rows) < 50, 1.0, 1e8)[:, None],
        "growing": X * 3.0 ** np.arange(rows).clip(max=100)[:, None],
        "the largest": np.where(X > 0.0, 1e50, -1e50),
        "the least": 5e-324 * X,
    }
    return kinds[kind]


@pytest.mark.parametrize(
    "kind", ["constant", "zero", "repeated", "collinear", "tiny", "huge", "suddenly huge", "growing", "the largest", "the least"]
)
@pytest.mark.parametrize("size", [ROWS] if compiler_off else [1, ROWS])
def test_8_finite_on_awkward_inputs(case: Case, kind: str, size: int) -> None:
    X = _awkward(kind, ROWS)
    y = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
    state = case.learner.init(3)
    for t in range(0, len(X), size):
        assert is_finite_or_refused(case, state, case.learner.learn, X[t : t + size], y[t : t + size])
    assert is_finite_or_refused(case, state, case.learner.predict, X)
    assert all(np.isfinite(value).all() for _, value, _ in leaves(state))


@pytest.mark.parametrize("power", [-166, 160])  # of two, so that labels keep their bits: from 1e-50 to 1e48
def test_8_labels_of_any_size_are_learnt(case: Case, power: int) -> None:
    """Scores scale with the labels, and with a tube for them. Where they do not, a note says what is in the labels' unit."""
    if not case.small and "regression" in tasks_of(case.learner):
        unit, (X, y, weight) = 2.0**power, case.stream()
        tube = {"epsilon": unit * case.learner.epsilon} if hasattr(case.learner, "epsilon") else {}
        learner = dataclasses.replace(case.learner, **tube)
        state = fresh(learner, X, y)
        scores = learner.learn(state, X, unit * y, weight)
        learner.check(state)
        assert np.isfinite(scores).all()
        assert near(scores / unit, case.run()[1], 1e-9) or any("clip" in note for note in learner.notes(state))


@pytest.fixture(scope="session")
def other_mode(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The scores of every case from another process, with the compiler off where it is on here, and the other way round.

    Where several workers share the tests, the first to ask computes for all.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "replay"
    done = folder / "done"
    try:
        folder.mkdir()
    except FileExistsError:
        while not done.exists():
            time.sleep(0.2)
        return folder
    try:
        for case in CASES:
            X, y, weight = case.stream()
            np.savez(folder / f"{case.name}.npz", X=X, y=y, weight=weight)
            (folder / f"{case.name}.json").write_text(json.dumps(to_json(case.learner)))
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if compiler_off else "1"}
        subprocess.run([sys.executable, Path(__file__).parent / "replay.py", folder], check=True, env=environment)
    finally:
        done.touch()  # where it failed, every test that asks fails for want of its file
    return folder


@pytest.mark.once
def test_9_compiled_and_uncompiled_agree(case: Case, other_mode: Path) -> None:
    _, scores = case.run()
    assert near(np.load(other_mode / f"{case.name}.npy"), scores, 1e-9)


def test_10_agrees_with_its_oracle(case: Case) -> None:
    X, y, weight = case.stream()
    _, scores = case.run()
    assert near(scores, case.oracle.scores(case.learner, X, y, weight), 1e-9)


@fewer
def test_12_learns(case: Case) -> None:
    X, y = case.learnable()
    scores = case.learner.learn(fresh(case.learner, X, y), X, y)
    if "regression" in tasks_of(case.learner):
        assert np.mean((scores - y) ** 2) <= 0.8 * np.mean(y**2)
    else:
        assert np.mean(mistakes(scores, y)) <= 0.8 * np.mean(mistakes(np.zeros(len(y)), y))
