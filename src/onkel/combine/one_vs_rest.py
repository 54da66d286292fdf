"""OneVsRest: many classes with learners for two classes, one ±1 learner for each class.

    f_k learns +1 for rows of class k and −1 for all others;  the predicted class of a row is argmax_k f_k(x)

Labels have one column for each class, +1 in that of the row's class and −1 in the others. The first class is learnt with its sign
reversed ("not the first"), so that two classes need only one learner: f_1 = −f_2. One additional learner sees −1 in every row. The
learner of a class that appears later starts as a copy of this additional learner, exactly as if the class had been known from the
start.

Memory and time are those of the learner, multiplied by the number of classes plus one (by two for two classes). But results that do
not depend on labels, such as features, are computed only once for all classes (`onkel.updates.common`).

>>> X, y = onkel.data.rings(600, seed=0)
>>> thirds = np.where(y > 0, 0, np.where(X[:, 0] > 0, 1, 2))
>>> labels = np.where(thirds[:, None] == np.arange(3), 1.0, -1.0)
>>> learner = onkel.combine.OneVsRest(onkel.Perceptron())
>>> scores = learner.learn(learner.init(dim=2, outputs=3), X, labels)
>>> float(np.mean((scores.argmax(axis=1) == thirds)[300:])) > 0.9
True
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from onkel._inputs import check_signs, place
from onkel._types import Cube, Matrix, Vector
from onkel._validate import config
from onkel.combine.wrapper import same
from onkel.errors import InputError
from onkel.learners import Perceptron
from onkel.protocol import Learner, is_learner, tasks_of
from onkel.state import copied, memory
from onkel.turns import Call
from onkel.updates.common import Common
from onkel.updates.gradient import may_diverge

ROWS_AT_ONCE = 1024  # rows that one learner learns before the next learner learns the same rows


@memory
class State:
    parts: tuple[Any, ...]  # the states of −f_1, f_2, …; only one for two classes
    rest: Any  # the state of the learner that sees −1 in every row
    dim: int
    outputs: int


@config
class OneVsRest(Learner[State]):
    """One learner for two classes for each class.

    learner  The learner inside, for two classes; there is one state for each class.
    """

    learner: Any = Perceptron()

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    multi_output: ClassVar[bool] = True
    absent: ClassVar[float] = -1.0  # the label in the columns of the classes to which a row does not belong
    bounded = same("bounded")
    cut_tolerance = same("cut_tolerance")

    def __post_init__(self) -> None:
        if not is_learner(self.learner) or "classification" not in tasks_of(self.learner):
            raise InputError(f"OneVsRest: learner must be a classifier, such as Perceptron(), got {self.learner!r:.200}")

    @property
    def _may_fail_late(self) -> bool:
        """Whether the learner of one class may fail on rows that the learner of another class has already learnt: a gradient
        descent may diverge, a user's function may raise. Then rows are learnt on a copy of the state."""
        spaces = (getattr(self.learner, name, None) for name in ("kernel", "_map", "system"))
        diverges = hasattr(self.learner, "loss") and may_diverge(self.learner.loss)
        return diverges or any(getattr(space, "fallible", False) for space in spaces)

    def _init(self, dim: int, outputs: int) -> State:
        return State(tuple(self.learner.init(dim) for _ in range(_parts(outputs))), self.learner.init(dim), dim, outputs)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        for k in range(state.outputs):
            check_signs(Y[:, k : k + 1])
        if state.outputs > 1 and (wrong := np.flatnonzero((Y > 0.0).sum(axis=1) != 1)).size:
            raise InputError(f"the label of row {wrong[0]} must be +1 in one column, that of its class, and -1 in all others")
        self.learner._hooks._admit(state.rest, Y[:, :1], weight)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        work, call = (copied(state), Call()) if self._may_fail_late else (state, call)
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            labels = np.hstack([_first_negated(Y[now])[:, : len(work.parts)], np.full((len(X[now]), 1), self.absent)])
            each = np.empty((labels.shape[1], len(labels), 1))
            rows = X[now], labels, weight[now]
            call.defer(partial(self._learn, call, work, self._learnt(work), rows, each, scores[now], self._common()))
            call.complete()
        vars(state).update(vars(work))

    def _learn(
        self, call: Call, state: State, before: int, rows: tuple[Matrix, Matrix, Vector], each: Cube, scores: Matrix, common: Any
    ) -> None:  # fmt: skip
        """Let every learner learn the rows that it has not learnt yet; `before` is the number of rows before this block."""
        X, Y, weight = rows
        for part, labels, own in zip((*state.parts, state.rest), Y.T, each, strict=True):
            done = place(weight, self.learner._hooks._learnt(part) - before)
            if done < len(X):
                self.learner._hooks._take(call, part, X[done:], labels[done:, None].copy(), weight[done:], own[done:], **common)
        scores[:] = _first_negated(each[:-1, :, 0].T, state.outputs)

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        each = np.empty((len(state.parts), len(X), 1))
        for start in range(0, len(X), ROWS_AT_ONCE):
            now, common = slice(start, start + ROWS_AT_ONCE), self._common()
            for part, own in zip(state.parts, each, strict=True):
                self.learner._hooks._score(part, X[now], own[now], **common)
        scores[:] = _first_negated(each[:, :, 0].T, state.outputs)

    def _common(self) -> dict[str, Any]:
        """The keyword argument through which the learners share results about one block of rows; empty if they cannot share."""
        return {"common": Common()} if self.learner._hooks.takes_common else {}

    def _settle(self, state: State) -> None:
        for part in (*state.parts, state.rest):
            self.learner._hooks._settle(part)

    def _learnt(self, state: State) -> int:
        return int(self.learner._hooks._learnt(state.rest))

    def _survey(self, state: State, X: Any, Y: Matrix, there: Any = None) -> None:
        for part in (*state.parts, state.rest):
            self.learner._hooks._survey(part, X, Y[:, :1], there)

    def _take_again(self, state: State, X: Matrix, Y: Matrix, weight: Vector, **more: Any) -> None:
        for part, labels in zip(state.parts, _first_negated(Y).T, strict=False):
            self.learner._hooks._take_again(part, X, labels[:, None].copy(), weight)
        self.learner._hooks._take_again(state.rest, X, np.full((len(X), 1), self.absent), weight)

    def _rows_to_repeat(self, state: State) -> int:
        rows = [self.learner._hooks._rows_to_repeat(part) for part in (*state.parts, state.rest)]
        return min(filter(None, rows), default=0)

    def _widen(self, state: State, outputs: int) -> None:
        """Add classes. Each new class starts exactly as if it had been known from the start, but had no row yet."""
        if state.outputs <= 2 < outputs:  # until now "not the first" has meant the second class
            state.parts = (state.parts[0], copied(state.parts[0] if state.outputs == 2 else state.rest))
        state.parts += tuple(copied(state.rest) for _ in range(_parts(outputs) - len(state.parts)))
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        return int((_parts(outputs) + 1) * self.learner.footprint(dim) + 8 * 2)

    def _check(self, state: State) -> None:
        for part in (*state.parts, state.rest):
            if (part.dim, part.outputs) != (state.dim, 1) or self.learner._hooks._learnt(part) != self._learnt(state):
                raise InputError("the columns or outputs of its parts differ in number")
            self.learner._hooks._check(part)

    def _notes(self, state: State) -> list[str]:
        return [f"learner {k + 1}: {note}" for k, part in enumerate(state.parts) for note in self.learner._hooks._notes(part)]


def _parts(outputs: int) -> int:
    """The number of learners for `outputs` classes, without the one that sees −1 in every row."""
    return 1 if outputs <= 2 else outputs


def _first_negated(columns: Matrix, outputs: int = 0) -> Matrix:
    """The columns with the first one negated. For two outputs, of which only one column is given, both columns."""
    negated = columns.copy()
    negated[:, 0] *= -1.0
    return np.column_stack([negated[:, 0], columns[:, 0]]) if outputs == 2 else negated
