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
from onkel.measure import mistakes
from onkel.persist import to_json
from onkel.protocol import tasks_of
from onkel.state import leaves
from tests.laws.cases import CASES, Array, Case, fewer, fresh, is_finite_or_refused, near
from tests.laws.kept import is_kept, keep, kept


def test_8_works_before_the_first_row(case: Case) -> None:
    X, y, _ = case.stream()
    state = fresh(case.learner, X, y)
    assert np.isfinite(case.learner.predict(state, X[:5])).all()
    assert case.learner.predict(state, X[:0]).shape == y[:0].shape
    assert case.learner.learn(state, X[:0], y[:0]).shape == y[:0].shape


ROWS = 60  # beyond the small budgets, and beyond the 50 rows after which inputs are suddenly huge


def _awkward(rows: int) -> dict[str, Array]:
    X = np.random.default_rng(3).normal(size=(rows, 3))
    return {
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


@pytest.mark.parametrize(("size", "rows"), [(ROWS, ROWS)] if compiler_off else [(1, ROWS), (2 * ROWS, 2 * ROWS)])
def test_8_finite_on_awkward_inputs(case: Case, size: int, rows: int) -> None:
    """All rows are predicted; with the compiler off, only every fifth."""
    for kind, X in _awkward(rows).items():
        y = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
        state = case.learner.init(3)
        for t in range(0, len(X), size):
            assert is_finite_or_refused(case, state, case.learner.learn, X[t : t + size], y[t : t + size]), kind
        assert is_finite_or_refused(case, state, case.learner.predict, X[:: 5 if compiler_off else 1]), kind
        assert all(np.isfinite(value).all() for _, value, _ in leaves(state)), kind


@pytest.mark.parametrize("power", [-166, 160])  # powers of two, so that labels keep their bits: from 1e-50 to 1e48
def test_8_labels_of_any_size_are_learnt(case: Case, power: int) -> None:
    """Scores scale with the labels (and with the tube `epsilon`). If they do not, a note names the setting in the labels' unit."""
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
def compiled_scores(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> None:
    """The scores of every case with the compiler on are kept: they were when the tests ran with it, or they are computed now.

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
        return
    try:
        missing = [case for case in CASES if not is_kept(f"compiled-{case.name}")]
        for case in missing:
            X, y, weight = case.whole_stream()
            np.savez(folder / f"{case.name}.npz", X=X, y=y, weight=weight)
            (folder / f"{case.name}.json").write_text(json.dumps(to_json(case.learner)))
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
        if missing:
            subprocess.run([sys.executable, Path(__file__).parent / "replay.py", folder], check=True, env=environment)
        for case in missing:
            keep(f"compiled-{case.name}", np.load(folder / f"{case.name}.npy"))
    finally:
        done.touch()  # also after a failure: every test that needs the scores then fails, because its file is missing


if compiler_off:

    def test_9_compiled_and_uncompiled_agree(case: Case, compiled_scores: None) -> None:
        _, scores = case.run()
        assert near(scores, kept(f"compiled-{case.name}")[: len(scores)], 1e-9)

else:

    def test_9_scores_are_kept_to_be_compared(case: Case) -> None:
        _, scores = case.run()
        keep(f"compiled-{case.name}", scores)
        assert np.array_equal(kept(f"compiled-{case.name}"), scores)


def test_10_agrees_with_its_oracle(case: Case) -> None:
    _, scores = case.run()
    if not is_kept(name := f"oracle-{case.name}"):
        keep(name, case.oracle.scores(case.learner, *case.whole_stream()))
    assert near(scores, kept(name)[: len(scores)], 1e-9)


@fewer
def test_12_learns(case: Case) -> None:
    """The learner has learnt by the end of the stream. With the compiler off the test stops earlier, once enough is learnt."""
    X, y = case.learnable()
    state, scores = fresh(case.learner, X, y), y[:0]
    for rows in [len(X) // 3, len(X)] if compiler_off else [len(X)]:
        now = slice(len(scores), rows)
        scores = np.concatenate([scores, case.learner.learn(state, X[now], y[now])])
        if enough := _has_learnt(case, scores, y[:rows]):
            break
    assert enough


def _has_learnt(case: Case, scores: Array, y: Array) -> bool:
    if "regression" in tasks_of(case.learner):
        return bool(np.mean((scores - y) ** 2) <= 0.8 * np.mean(y**2))
    return bool(np.mean(mistakes(scores, y)) <= 0.8 * np.mean(mistakes(np.zeros(len(y)), y)))
