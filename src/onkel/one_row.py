"""Single rows: for a state, the calls of compiled code that score and learn one row are prepared once.

A row that is learnt as a block of one passes through some twenty functions of Python, which take longer than its arithmetic. If a
learner needs the same few calls of compiled code for every row, it returns them once (`Learner._single`). They read the row from
buffers, and write to buffers. `SingleRow` then only fills the buffers and runs the calls.

1.  The numbers are those of a block of one, since the same compiled functions compute them.
2.  The calls run one after the other without Python (`onkel._native`), so an interrupt finds none or all of them done. (With the
    compiler off it may come in between; the calls are registered as pending: see `onkel.turns`.)
3.  If one of the calls finds that the row cannot be learnt in this way, it sets the row's weight to 0, so that nothing is learnt.
    The row is then learnt as a block of one, which also finds errors in it.
4.  The calls refer to arrays of the state, which other calls may replace. So `onkel.turns` forgets them when a call of another kind
    begins to change the state, and a copy of the state prepares its own.
5.  A row is often predicted, and then learnt. What the score left in buffers need not be computed again if no other row came in
    between: a learner may give shorter calls for this case (`learn_scored`). The row is the same if all its bits are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from onkel._inputs import is_sound
from onkel._jit import hot_lean
from onkel._native import Known, in_sequence, run_all
from onkel._types import Counts, Matrix, Vector
from onkel.state import ROW
from onkel.turns import Call, Steps

Step = Callable[[], Any]
_FLOAT64 = np.dtype(np.float64)


class Row(NamedTuple):
    """The buffers of a row."""

    X: Matrix  # (1, dim)
    Y: Matrix  # (1, outputs)
    weight: Vector  # (1,)  1, or 0 if the row turns out to be one that cannot be learnt in this way
    scores: Matrix  # (1, outputs)

    @classmethod
    def empty(cls, dim: int, outputs: int) -> Row:
        return cls(np.empty((1, dim)), np.empty((1, outputs)), np.ones(1), np.empty((1, outputs)))


class RowSteps(NamedTuple):
    """Calls of compiled code on the buffers of a row and the arrays of a state."""

    row: Row
    score: list[Step]  # write the row's score
    # the calls that write the score and, if the weight is 1, learn the row; or that set the weight to 0 and change nothing
    learn: list[Step]
    learn_scored: list[Step] | None = None  # the same if `score` has just been called for this row; None: those of `learn`

    def around(self, row: Row, before: list[Step], score: list[Step], learn: list[Step], after: list[Step]) -> RowSteps:
        """These calls with others around them: `before` and `score` for a score, `learn` and `after` for learning."""
        scored = None if self.learn_scored is None else [*learn, *self.learn_scored, *after]
        return RowSteps(row, [*before, *self.score, *score], [*learn, *self.learn, *after], scored)


@hot_lean
def stop_before(learnt: Counts, last: int, weight: Vector) -> None:
    """The row that is number `last` cannot be learnt in this way: its weight becomes 0."""
    if weight[0] > 0.0 and learnt[0] + 1 == last:
        weight[0] = 0.0


class SingleRow:
    """One row at a time on one state: fill the buffers of `row`, then `score` or `learn`, and read `scores`."""

    def __init__(self, steps: RowSteps) -> None:
        self.steps, self.row, self._known = steps, steps.row, Known()
        self.scored: bytes | None = None  # the row that was scored last, if nothing was learnt since
        self.shapes = ((1,), (1, 1)) if steps.row.Y.size == 1 else (steps.row.Y.shape,)  # that labels may have

    @cached_property
    def _scoring(self) -> list[Step]:
        return in_sequence(self.steps.score, self._known)

    @cached_property
    def _learning(self) -> Steps:
        return Steps(in_sequence(self.steps.learn, self._known))

    @cached_property
    def _learning_scored(self) -> Steps:
        return self._learning if self.steps.learn_scored is None else Steps(in_sequence(self.steps.learn_scored, self._known))

    def reads(self, X: Any) -> bool:
        """Fill in X and return True, if X is a block of one row in the usual format."""
        if type(X) is not np.ndarray or X.dtype is not _FLOAT64 or X.shape != self.row.X.shape:
            return False
        np.copyto(self.row.X, X)
        return True

    def reads_label(self, y: Any) -> bool:
        """Fill in y and return True, if y is the label of one row in the usual format."""
        if type(y) is not np.ndarray or y.dtype is not _FLOAT64 or y.shape not in self.shapes:
            return False
        self.row.Y[0] = y
        return True

    def score(self) -> bool:
        """Score the row; False if it cannot be scored in this way."""
        self.scored = None
        if not is_sound(self.row.X, self.row.X):
            return False
        run_all(self._scoring)
        self.scored = self.row.X.tobytes()
        return True

    def learn(self, call: Call) -> bool:
        """Score the row, and learn it; False if it must be learnt in another way, and nothing was learnt."""
        row = self.row
        steps = self._learning_scored if row.X.tobytes() == self.scored else self._learning
        self.scored = None
        if not is_sound(row.X, row.Y):
            return False
        row.weight[0] = 1.0
        steps.done.clear()
        call.defer(steps.run)
        call.complete()
        return bool(row.weight[0])

    @property
    def scores(self) -> Vector:
        """The scores of the row: (1,), or (1, outputs) if there are several."""
        scores = self.row.scores
        return scores.copy() if scores.shape[1] > 1 else scores[0].copy()

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of a state prepares its own


def prepared(learner: Any, state: Any) -> SingleRow | None:
    """The `SingleRow` for this state; None if the learner has no such steps for it."""
    steps = learner._hooks._single(state)
    return None if steps is None else SingleRow(steps)


def single_row(learner: Any, state: Any) -> SingleRow | None:
    """The `SingleRow` for this state, prepared only once as long as no other call changes the state."""
    found: SingleRow | None = vars(state).get(ROW)
    if found is None and (found := prepared(learner, state)) is not None:
        vars(state)[ROW] = found
    return found
