"""OneVsRest: many classes for a learner of two, one ±1 learner a class.

    f_k learns +1 for rows of class k and −1 for all others;  the class of a row is argmax_k f_k(x)

Labels are one column a class, +1 in the row's own and −1 elsewhere. The first class is learnt with its sign turned round ("not the
first"), so that two classes need one learner: then f_1 = −f_2. One learner more sees −1 in every row; a class that appears later
starts as its copy, which is exactly where it would be had it been known from the start.

A row costs as much as one of the learner for each class and one more; so does the memory.

>>> X, y = onkel.data.rings(600, seed=0)
>>> thirds = np.where(y > 0, 0, np.where(X[:, 0] > 0, 1, 2))
>>> labels = np.where(thirds[:, None] == np.arange(3), 1.0, -1.0)
>>> learner = onkel.combine.OneVsRest(onkel.Perceptron())
>>> scores = learner.learn(learner.init(dim=2, outputs=3), X, labels)
>>> float(np.mean((scores.argmax(axis=1) == thirds)[300:])) > 0.9
True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from onkel._inputs import check_signs, place
from onkel._types import Cube, Matrix, Vector
from onkel.combine.inner import same
from onkel.errors import InputError
from onkel.learners import Perceptron
from onkel.protocol import Learner, is_learner, tasks_of
from onkel.state import copied
from onkel.turns import Call
from onkel.updates.gradient import may_diverge

ROWS_AT_ONCE = 1024  # that all learners learn, before the next


@dataclass
class State:
    parts: tuple[Any, ...]  # of f_1 (its sign turned round), f_2, …; one alone for two classes
    rest: Any  # of the learner that has seen −1 in every row
    dim: int
    outputs: int


@dataclass(frozen=True)
class OneVsRest(Learner[State]):
    """One learner of two classes for each class."""

    learner: Any = Perceptron()

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    multi_output: ClassVar[bool] = True
    absent: ClassVar[float] = -1.0  # the label of a class that a row is not of
    bounded = same("bounded")
    cut_tolerance = same("cut_tolerance")

    def __post_init__(self) -> None:
        if not is_learner(self.learner) or "classification" not in tasks_of(self.learner):
            raise InputError(f"OneVsRest: learner must be one for two classes, such as Perceptron(), got {self.learner!r:.200}")

    @property
    def _may_fail_late(self) -> bool:
        """Whether one learner can refuse rows that another has learnt: where a descent may run away, or a user's function fail."""
        spaces = (getattr(self.learner, name, None) for name in ("kernel", "_map", "system"))
        diverges = hasattr(self.learner, "loss") and may_diverge(self.learner.loss)
        return diverges or any(getattr(space, "fallible", False) for space in spaces)

    def _init(self, dim: int, outputs: int) -> State:
        return State(tuple(self.learner.init(dim) for _ in range(_parts(outputs))), self.learner.init(dim), dim, outputs)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        for k in range(state.outputs):
            check_signs(Y[:, k : k + 1])
        if state.outputs > 1 and (wrong := np.flatnonzero((Y > 0.0).sum(axis=1) != 1)).size:
            raise InputError(f"the label of row {wrong[0]} must be +1 in one column, its class's, and -1 in all others")
        self.learner._hooks._admit(state.rest, Y[:, :1], weight)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        work, call = (copied(state), Call()) if self._may_fail_late else (state, call)
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            labels = np.hstack([_turned(Y[now])[:, : len(work.parts)], np.full((len(X[now]), 1), self.absent)])
            each = np.empty((labels.shape[1], len(labels), 1))
            call.owe(partial(self._learn, call, work, self._learnt(work), X[now], labels, weight[now], each, scores[now]))
            call.pay()
        vars(state).update(vars(work))

    def _learn(
        self, call: Call, state: State, before: int, X: Matrix, Y: Matrix, weight: Vector, each: Cube, scores: Matrix
    ) -> None:  # fmt: skip
        """Let every learner learn the rows that it has not learnt yet, of those that came after so many."""
        for part, labels, own in zip((*state.parts, state.rest), Y.T, each, strict=True):
            done = place(weight, self.learner._hooks._learnt(part) - before)
            if done < len(X):
                self.learner._hooks._take(call, part, X[done:], labels[done:, None].copy(), weight[done:], own[done:])
        scores[:] = _turned(each[:-1, :, 0].T, state.outputs)

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        each = np.empty((len(state.parts), len(X), 1))
        for part, own in zip(state.parts, each, strict=True):
            self.learner._hooks._score(part, X, own)
        scores[:] = _turned(each[:, :, 0].T, state.outputs)

    def _settle(self, state: State) -> None:
        for part in (*state.parts, state.rest):
            self.learner._hooks._settle(part)

    def _learnt(self, state: State) -> int:
        return int(self.learner._hooks._learnt(state.rest))

    def _widen(self, state: State, outputs: int) -> None:
        """Each new class starts exactly as if it had been known, and no row's, from the start."""
        if state.outputs <= 2 < outputs:  # until now "not the first" was the second
            state.parts = (state.parts[0], copied(state.parts[0] if state.outputs == 2 else state.rest))
        state.parts += tuple(copied(state.rest) for _ in range(_parts(outputs) - len(state.parts)))
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold."""
        return int((_parts(outputs) + 1) * self.learner.footprint(dim) + 8 * 2)

    def _check(self, state: State) -> None:
        for part in (*state.parts, state.rest):
            if (part.dim, part.outputs) != (state.dim, 1) or self.learner._hooks._learnt(part) != self._learnt(state):
                raise InputError("its sizes do not agree")
            self.learner._hooks._check(part)

    def _notes(self, state: State) -> list[str]:
        return [f"learner {k + 1}: {note}" for k, part in enumerate(state.parts) for note in self.learner._hooks._notes(part)]


def _parts(outputs: int) -> int:
    """How many learners so many classes have, the one that sees no class aside."""
    return 1 if outputs <= 2 else outputs


def _turned(columns: Matrix, outputs: int = 0) -> Matrix:
    """The first column's sign turned round; where one column stands for two (`outputs`), both."""
    turned = columns.copy()
    turned[:, 0] *= -1.0
    return np.column_stack([turned[:, 0], columns[:, 0]]) if outputs == 2 else turned
