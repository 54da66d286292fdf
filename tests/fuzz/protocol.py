"""Any sequence of calls on a state beside a twin that was never saved or copied, and one that learnt row by row."""

from __future__ import annotations

import copy
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import onkel
from onkel.protocol import tasks_of
from onkel.state import copied
from tests.fuzz.isolated import isolated
from tests.fuzz.subjects import Block, block, fresh_state, near, subject
from tests.laws.cases import Case, bits

GAMES = 3  # of one trial, with one learner
STEPS = 25  # of one game
ROWS = 60  # learnt at once, at most
OUTPUTS = 4  # at most

dice = st.integers(0, 2**32).map(random.Random)


def trial(rng: random.Random) -> None:
    case, start = subject(rng), rng.getrandbits(64)
    isolated(lambda: _play(case, start))


def _play(case: Case, start: int) -> None:
    class Game(Calls):
        subject = case

    rules = settings(
        max_examples=GAMES,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(start)(Game), settings=rules)
    except Exception as error:
        raise AssertionError(
            f"{case.name}: {type(error).__name__}: {error}\n" + "\n".join(getattr(error, "__notes__", []))
        ) from error


class Calls(RuleBasedStateMachine):
    subject: Case

    def __init__(self) -> None:
        super().__init__()
        self.learner = self.subject.learner
        self.state, self.twin, self.single = (fresh_state(self.subject) for _ in range(3))

    @rule(dice=dice)
    def learn(self, dice: random.Random) -> None:
        rows = self._widened(block(self.subject, dice, ROWS))
        scores = self.learner.learn(self.state, *rows)
        assert np.isfinite(scores).all()
        assert scores.tobytes() == self.learner.learn(self.twin, *rows).tobytes(), "a twin says something else"
        singly = [self.learner.learn(self.single, *rows.part(t, t + 1)) for t in range(len(rows.X))]
        assert not singly or near(self.subject, scores, np.concatenate(singly)), "row by row the scores are others"

    @rule(dice=dice)
    def predict(self, dice: random.Random) -> None:
        X, before = block(self.subject, dice, 20).X, bits(self.state)
        scores = self.learner.predict(self.state, X)
        assert bits(self.state) == before, "predict has left a trace"
        assert scores.tobytes() == self.learner.predict(self.twin, X).tobytes(), "a twin says something else"
        assert near(self.subject, scores, self.learner.predict(self.single, X)), "row by row the predictions are others"

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            onkel.save(Path(folder, "m.onkel"), self.learner, self.state)
            learner, state = onkel.load(Path(folder, "m.onkel"))
        assert learner == self.learner
        assert bits(state) == bits(self.state)
        self.state = state

    @rule(way=st.sampled_from([copied, copy.deepcopy]))
    def go_on_with_a_copy(self, way: Any) -> None:
        before, self.state = self.state, way(self.state)
        assert bits(before) == bits(self.state) == bits(self.twin)
        self.learner.learn(before, *self._widened(block(self.subject, random.Random(0), 20)))  # the copy has its own memory
        assert bits(self.state) == bits(self.twin)

    @rule(dice=dice)
    def rows_of_weight_0(self, dice: random.Random) -> None:
        rows, before = self._widened(block(self.subject, dice, 20)), bits(self.state)
        self.learner.learn(self.state, rows.X, rows.y, np.zeros(len(rows.X)))
        assert bits(self.state) == before

    @rule(dice=dice, bad=st.sampled_from(["nan", "inf", "narrow", "wide", "short", "weight", "text", "huge", "label"]))
    def bad_input(self, dice: random.Random, bad: str) -> None:
        rows, before = self._widened(block(self.subject, dice, 10, least=2)), bits(self.state)
        try:
            self.learner.learn(self.state, *_spoiled(rows, bad, dice))
        except onkel.InputError:
            assert bits(self.state) == before, "what was refused has left a trace"
        else:
            raise AssertionError(f"{bad}: learnt")

    @precondition(lambda self: self.learner.multi_output and self.state.outputs < OUTPUTS)
    @rule()
    def widen(self) -> None:
        for state in (self.state, self.twin, self.single):
            self.learner.widen(state, state.outputs + 1)

    def _widened(self, rows: Block) -> Block:
        """With labels for as many outputs as there are now, of classes where the first ones are."""
        labels = rows.y if rows.y.ndim == 2 else rows.y[:, None]
        if self.state.outputs <= labels.shape[1]:
            return rows
        absent = getattr(self.learner, "absent", 0.0)
        if labels.shape[1] == 1 and "regression" not in tasks_of(self.learner):
            labels = np.where(labels == [1.0, -1.0], 1.0, absent)  # one column a class: -1 was the second
        more = self.state.outputs - labels.shape[1]
        return Block(rows.X, np.hstack([labels, np.full((len(labels), more), absent)]), rows.weight)


def _spoiled(rows: Block, bad: str, dice: random.Random) -> tuple[Any, Any, Any]:
    X, y, weight = (array.copy() for array in rows)
    at = dice.randrange(len(X)), dice.randrange(X.shape[1])
    match bad:
        case "nan" | "inf":
            X[at] = float(bad)
        case "huge":
            X[at] = 1e60
        case "narrow":
            return X[:, :-1], y, weight
        case "wide":
            return np.hstack([X, X]), y, weight
        case "short":
            return X, y[1:], weight
        case "weight":
            weight[at[0]] = -1.0
        case "text":
            return X.astype(str), y, weight
        case "label":
            y[at[0]] = np.nan
    return X, y, weight
