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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_on_or_off, check_signs
from onkel._types import Matrix, Vector
from onkel.combine.inner import same
from onkel.errors import InputError
from onkel.learners import Perceptron
from onkel.learners.descent import may_diverge
from onkel.learners.protocol import check_sizes, check_wider, is_learner, tasks_of
from onkel.state import copied


@dataclass
class State:
    parts: tuple[Any, ...]  # of f_1 (its sign turned round), f_2, …; one alone for two classes
    rest: Any  # of the learner that has seen −1 in every row
    dim: int
    outputs: int


@dataclass(frozen=True)
class OneVsRest:
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
        """Whether one learner can refuse rows that another has learnt: where a descent may run away."""
        return hasattr(self.learner, "loss") and may_diverge(self.learner.loss)

    def init(self, dim: int, outputs: int = 1) -> State:
        """A state that has seen nothing, for rows of `dim` inputs and so many classes."""
        dim, outputs = check_sizes(self, dim, outputs)
        return State(tuple(self.learner.init(dim) for _ in range(_parts(outputs))), self.learner.init(dim), dim, outputs)

    def learn(self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The scores of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, state.outputs)
        weights = check_on_or_off(self.learner, weight, len(rows))
        for k in range(state.outputs):
            check_signs(labels[:, k : k + 1])
        if state.outputs > 1 and (wrong := np.flatnonzero((labels > 0.0).sum(axis=1) != 1)).size:
            raise InputError(f"the label of row {wrong[0]} must be +1 in one column, its class's, and -1 in all others")
        # any other error strikes the first learner, for they all see the same rows, before anything was learnt
        work = copied(state) if self._may_fail_late else state
        signs = _turned(labels)
        scores = np.stack(
            [self.learner.learn(part, rows, signs[:, k].copy(), weights) for k, part in enumerate(work.parts)], axis=1
        )
        self.learner.learn(work.rest, rows, np.full(len(rows), self.absent), weights)
        vars(state).update(vars(work))
        return _turned(scores, state.outputs).reshape(shape)

    def predict(self, state: State, X: ArrayLike) -> Vector:
        """The scores of each row as if it came next; changes nothing."""
        rows = check_inputs(X, state.dim)
        scores = _turned(np.stack([self.learner.predict(part, rows) for part in state.parts], axis=1), state.outputs)
        return scores if state.outputs > 1 else scores[:, 0]

    def widen(self, state: State, outputs: int) -> None:
        """Add classes in mid-stream; each starts exactly as if it had been known, and no row's, from the start."""
        outputs = check_wider(self, state, outputs)
        if state.outputs <= 2 < outputs:  # until now "not the first" was the second
            state.parts = (state.parts[0], copied(state.parts[0] if state.outputs == 2 else state.rest))
        state.parts += tuple(copied(state.rest) for _ in range(_parts(outputs) - len(state.parts)))
        state.outputs = outputs

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return int((_parts(outputs) + 1) * self.learner.footprint(dim) + 8 * 2)

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        for part in (*state.parts, state.rest):
            if (part.dim, part.outputs) != (state.dim, 1):
                raise InputError("its sizes do not agree")
            self.learner.check(part)

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        return [f"learner {k + 1}: {note}" for k, part in enumerate(state.parts) for note in self.learner.notes(part)]


def _parts(outputs: int) -> int:
    """How many learners so many classes have, the one that sees no class aside."""
    return 1 if outputs <= 2 else outputs


def _turned(columns: Matrix, outputs: int = 0) -> Matrix:
    """The first column's sign turned round; where one column stands for two (`outputs`), both."""
    turned = columns.copy()
    turned[:, 0] *= -1.0
    return np.column_stack([turned[:, 0], columns[:, 0]]) if outputs == 2 else turned
