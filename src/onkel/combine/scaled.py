"""Scaled: a learner that sees rows and targets of a common size, whatever size they have.

    inputs    z = (x − mean)/deviation, both of the rows so far and this one, as `Standardize` has it
    targets   u = (y − centre)/scale;   score = centre + scale · f(z)

No score depends on a later row or on its own label. What was learnt is a function of z: when mean and deviation move, old rows stay
where they were put. Targets cannot do so, for f itself would mean something else. So the first FIRST_ROWS rows are kept; after 1,
2, 4, 8 … of them centre and scale become their labels' mean and deviation and the learner begins again from them, exactly as if it
had known. Then the rows are dropped and the target's scale is settled. (A target that has not varied by then gets its scale from
the first label that does: all that was learnt until then is 0.) A learner with a `clip` sees deviations of clip/2.

A value may be missing: `there` says which are not. A missing one gives z = 0, or where inputs are not standardised the mean of its
column so far, and moves nothing.

Where the learner looks at earlier labels, `lagged` goes to it, and `predict_any` and `remember` are its own. Rows that are learnt
again, while the first ones are kept, get the labels just before them.

>>> X, y = onkel.data.friedman(1000, seed=0)
>>> for learner in onkel.KONS(onkel.Gaussian(3.0)), onkel.combine.Scaled(onkel.KONS(onkel.Gaussian(3.0))):
...     scores = learner.learn(learner.init(dim=10), 1000.0 * X, 1e6 * y)
...     print(round(float(np.mean((scores / 1e6 - y)[500:] ** 2)), 1))
230.4
4.1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import LARGEST_NUMBER, check_block, place
from onkel._sparse import Rows
from onkel._types import Counts, Matrix, Vector
from onkel._validate import flag, whole
from onkel.combine.inner import Around, takes_sparse
from onkel.errors import InputError
from onkel.features.scale import standardize_present
from onkel.learners import PKAWV
from onkel.protocol import is_learner
from onkel.state import copied, owned, shallow
from onkel.turns import Call, turn
from onkel.updates import first_rows
from onkel.updates.first_rows import FirstRows

FIRST_ROWS = 256
WITHIN_CLIP = 2.0  # deviations of the target that a learner's clip stands for
FAR = 10.0  # scales from its centre: a label beyond them is counted

There = NDArray[np.bool_]


class GappyRows(NamedTuple):
    X: Matrix
    there: There
    y: Matrix
    weight: Vector
    lagged: Matrix | None = None  # what the learner is told of earlier labels, in place of those just before

    def part(self, start: int, stop: int) -> GappyRows:
        now = slice(start, stop)
        lagged = None if self.lagged is None else self.lagged[now]
        return GappyRows(self.X[now], self.there[now], self.y[now], self.weight[now], lagged)


@dataclass
class State:
    inner: Any
    mean: Vector  # (dim,)
    spread: Vector  # (dim,)  sum of squared deviations from the mean
    seen: Counts  # (dim,)  values that were there
    centre: Vector  # (outputs,)
    scale: Vector  # (outputs,)  0 as long as the target has not varied
    first: FirstRows  # 0 altogether once the scale is settled
    rows: int = 0  # learnt so far
    far: int = 0  # labels beyond FAR scales, once the scale is settled
    dim: int = 1
    outputs: int = 1


@dataclass(frozen=True)
class Scaled(Around):
    """A learner on standardised inputs and targets."""

    learner: Any = PKAWV()
    inputs: bool = True  # standardise x
    targets: bool = True  # standardise y; False for labels of classes
    first_rows: int = FIRST_ROWS  # rows that settle the target's scale, and may still get new columns

    def __post_init__(self) -> None:
        if not is_learner(self.learner):
            raise InputError(f"Scaled: learner must be a learner, such as PKAWV(), got {self.learner!r:.200}")
        flag(self, "inputs")
        flag(self, "targets")
        whole(self, "first_rows", least=1 if self.targets else 0, most=2**20)

    @property
    def takes_sparse(self) -> bool:
        """Where it leaves rows and targets as they are, and its learner takes them."""
        return takes_sparse(self.learner) and not (self.inputs or self.targets or self.first_rows)

    def learn(  # type: ignore[override]
        self, state: State, X: Any, y: ArrayLike, weight: ArrayLike | None = None,
        there: ArrayLike | None = None, lagged: ArrayLike | None = None,
    ) -> Vector:  # fmt: skip
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        return super().learn(state, X, y, weight, there=there, lagged=lagged)

    def predict(self, state: State, X: Any, there: ArrayLike | None = None, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next; changes nothing."""
        return super().predict(state, X, there=there, lagged=lagged)

    def predict_any(self, state: State, X: Any, there: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of rows that may come at any time, as the learner's own `predict_any` has it."""
        return self._predicted(self._score_any, state, X, there=there)

    def keeps_rows(self, state: State) -> bool:
        """Whether every row so far is kept: then columns may still be added."""
        return state.rows < self.first_rows

    def rearrange(self, state: State, dim: int, places: ArrayLike) -> None:
        """More columns: old column j becomes column places[j] of `dim`, the others were missing until now. As if from the start."""
        with turn(self, state, True):
            vars(state).update(vars(self.rearranged(state, dim, places)))

    def rearranged(self, state: State, dim: int, places: ArrayLike) -> State:
        """The state with more columns, as `rearrange` makes it."""
        if not self.keeps_rows(state):
            raise InputError(f"columns can be added during the first {self.first_rows} rows alone, this state has {state.rows}")
        wide: State = self.init(dim, state.outputs)
        wide.centre, wide.scale = state.centre, state.scale
        wide.first.y, wide.first.weight = state.first.y, state.first.weight
        wide.first.X[:, np.asarray(places, dtype=int)] = state.first.X
        wide.first.present[:, np.asarray(places, dtype=int)] = state.first.present
        self._learn_kept(wide, state.rows)
        return wide

    def _init(self, dim: int, outputs: int) -> State:
        first = first_rows.empty(self.first_rows, dim, outputs, gaps=True)
        nothing = np.zeros(dim), np.zeros(dim), np.zeros(dim, dtype=np.int64)
        return State(
            self.learner.init(dim, outputs), *nothing, np.zeros(outputs), np.zeros(outputs), first, dim=dim, outputs=outputs
        )

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix,
        there: ArrayLike | None = None, lagged: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        if isinstance(X, Rows):
            self._take_as_they_are(call, state, X, Y, weight, scores, _given(there, lagged))
            return
        block = GappyRows(X, _present(there, X), Y, weight, None if lagged is None else check_block("lagged", lagged))
        if self._is_settled(state) or (not self.targets and self._at_once(state, block) == len(X)):
            self._learn_scaled(call, state, block, scores)
            return
        work = copied(state)  # the learner is called more than once: one call may fail
        self._rounds(Call(), work, block, scores)
        vars(state).update(vars(work))

    def _take_as_they_are(
        self, call: Call, state: State, X: Rows, Y: Matrix, weight: Vector, scores: Matrix, more: dict[str, Any]
    ) -> None:  # fmt: skip
        """Sparse rows, which move no means that fill gaps."""

        def follow() -> None:
            state.rows = self._inside._learnt(state.inner)

        call.owe(follow)
        self._inside._take(call, state.inner, X, Y, weight, scores, **more)
        call.pay()

    def _score(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        self._score_scaled(self._inside._score, state, X, scores, **more)

    def _score_any(self, state: State, X: Any, scores: Matrix, **more: Any) -> None:
        self._score_scaled(self._inside._score_any, state, X, scores, **more)

    def _score_scaled(
        self, score: Any, state: State, X: Any, scores: Matrix, there: ArrayLike | None = None, lagged: ArrayLike | None = None
    ) -> None:  # fmt: skip
        if isinstance(X, Rows):
            score(state.inner, X, scores, **_given(there, lagged))
            return
        Z = self._standardised(state, X, _present(there, X), np.zeros(len(X)))[0]
        score(state.inner, Z, scores, **_given(None, lagged))
        scores[:] = state.centre + _divisor(state) * scores

    def _learnt(self, state: State) -> int:
        return state.rows

    def _widen(self, state: State, outputs: int) -> None:
        self._inside._widen(state.inner, outputs)
        more = outputs - state.outputs
        state.first = state.first.with_outputs(outputs, self._kept(state), self.absent)
        state.centre, state.scale = np.pad(state.centre, (0, more)), np.pad(state.scale, (0, more))
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold."""
        kept = first_rows.footprint(self.first_rows, dim, outputs, gaps=True)
        return int(self.learner.footprint(dim, outputs) + kept + 8 * (3 * dim + 2 * outputs + 4))

    def _check(self, state: State) -> None:
        if not state.first.holds_exactly(self._kept(state)):
            raise InputError("other first rows are kept than it has seen")
        if np.any(state.spread < 0.0) or np.any(state.seen < 0) or np.any(state.seen > state.rows) or np.any(state.scale < 0.0):
            raise InputError("its scales are none")
        if (state.inner.dim, state.inner.outputs) != (state.dim, state.outputs):
            raise InputError("its sizes do not agree")
        if state.rows != self._inside._learnt(state.inner):
            raise InputError("its learner has learnt other rows")
        self._inside._check(state.inner)

    def _notes(self, state: State) -> list[str]:
        notes = super()._notes(state)
        if state.far:
            labels = "1 label" if state.far == 1 else f"{state.far} labels"
            far = f"{labels} lay more than {FAR:g} deviations of the first {self.first_rows} from their mean"
            notes.append(f"{far}; if the target has moved for good, begin again")
        return notes

    @property
    def _stretch(self) -> float:
        """The target's scale, in deviations."""
        return WITHIN_CLIP / (getattr(self.learner, "clip", None) or WITHIN_CLIP)

    def _kept(self, state: State) -> int:
        return state.rows if self.keeps_rows(state) else 0

    def _is_settled(self, state: State) -> bool:
        return not self.keeps_rows(state) and not (self.targets and not state.scale.all())

    def _rounds(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        start = 0
        while start < len(scores):
            stop = start + self._at_once(state, block.part(start, len(scores)))
            now, written = block.part(start, stop), scores[start:stop]
            if self.targets and not self.keeps_rows(state) and now.weight[0] > 0.0 and self._is_news(state, now.y[0]).any():
                self._learn_news(call, state, now, written)
            else:
                self._learn_scaled(call, state, now, written)
            start = stop

    def _at_once(self, state: State, block: GappyRows) -> int:
        """How many rows can be learnt before the target's scale changes."""
        learnt = block.weight > 0.0
        if not self.keeps_rows(state):
            ends = np.flatnonzero(learnt & self._is_news(state, block.y).any(axis=1))  # a row alone
            return max(1, int(ends[0])) if ends.size else len(learnt)
        boundary = min(1 << state.rows.bit_length(), self.first_rows) if self.targets else self.first_rows
        ends = np.flatnonzero(np.cumsum(learnt) == boundary - state.rows)  # the row included
        return int(ends[0]) + 1 if ends.size else len(learnt)

    def _is_news(self, state: State, y: Matrix) -> There:
        """Labels that are the first to differ from all of their column."""
        return np.asarray((state.scale == 0.0) & (y != state.centre))

    def _learn_news(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        """The row whose label is the first to say how large labels are; its score must not know."""
        before = np.empty(scores.shape)
        self._score(state, block.X, before, there=block.there)
        news = self._is_news(state, block.y[0])
        state.scale = np.where(news, self._stretch * np.abs(block.y[0] - state.centre), state.scale)
        self._learn_scaled(call, state, block, scores)
        scores[:] = before

    def _learn_scaled(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        """Rows up to the next change of scale."""
        Z, *after = self._standardised(state, block.X, block.there, block.weight)
        divisor = _divisor(state)
        u = (block.y - state.centre) / divisor
        largest = np.abs(u).max(initial=0.0)
        if not largest <= LARGEST_NUMBER:
            raise InputError(f"y is beyond {LARGEST_NUMBER:g} times the deviation of its first labels; rescale it")
        inner, rows = np.empty(u.shape), int(np.count_nonzero(block.weight))
        call.owe(partial(self._follow, state, state.rows, rows, block, after, divisor, largest, inner, scores))
        self._inside._take(call, state.inner, Z, u, block.weight, inner, **_given(None, block.lagged))
        call.pay()

    def _follow(
        self, state: State, before: int, rows: int, block: GappyRows, after: list[Any], divisor: Vector, largest: float,
        inner: Matrix, scores: Matrix,
    ) -> None:  # fmt: skip
        """Bring means, counts and kept rows up to what the learner has learnt: all rows of the block, or its first ones."""
        if state.rows > before:
            return
        learnt = self._inside._learnt(state.inner)
        if learnt - before < rows:
            block = block.part(0, place(block.weight, learnt - before))
            after = list(self._standardised(state, block.X, block.there, block.weight)[1:])
        scores[: len(block.y)] = state.centre + divisor * inner[: len(block.y)]
        if learnt > before:
            work = shallow(state)
            work.mean, work.spread, work.seen = after
            work.rows = learnt
            if largest > FAR / self._stretch:
                work.far += self._far(state, block)
            if self.keeps_rows(state):
                self._keep(work, state.first.with_more(state.rows, block.X, block.y, block.weight, block.there))
            vars(state).update(vars(work))  # as one step

    def _keep(self, state: State, kept: FirstRows) -> None:
        """These are the first rows so far: they may say how large the target is, and be the last ones that are kept."""
        state.first = kept
        if self.targets and state.rows in (1 << state.rows.bit_length() >> 1, self.first_rows):
            self._rebase(state)
        if not self.keeps_rows(state):
            state.first = kept.dropped()

    def _far(self, state: State, block: GappyRows) -> int:
        """Labels far from those that settled the scale."""
        if not self.targets or self.keeps_rows(state):
            return 0
        far = np.abs(block.y - state.centre) > FAR / self._stretch * state.scale
        return int(np.count_nonzero(far[block.weight > 0.0]))

    def _standardised(self, state: State, X: Matrix, there: There, weight: Vector) -> tuple[Matrix, Vector, Vector, Counts]:
        """z of each row; and mean, spread and counts after the last one."""
        return standardize_present(self.inputs, state.mean, state.spread, state.seen, X, there, weight)

    def _rebase(self, state: State) -> None:
        """The target's mean and deviation so far; and the learner again, from the first row."""
        y = state.first.y[: state.rows]
        steady = y.min(axis=0) == y.max(axis=0)
        state.centre = np.where(steady, y[0], y.mean(axis=0))
        state.scale = np.where(steady, 0.0, self._stretch * y.std(axis=0))
        self._learn_kept(state, state.rows)

    def _learn_kept(self, state: State, rows: int) -> None:
        first = state.first.first(rows)
        state.inner = owned(self.learner, self._inside._init(state.dim, state.outputs))
        nothing = np.zeros(state.dim), np.zeros(state.dim)
        state.mean, state.spread, state.seen, state.rows = *nothing, np.zeros(state.dim, dtype=np.int64), rows
        Z, state.mean, state.spread, state.seen = self._standardised(state, first.X, first.present, first.weight)
        u = (first.y - state.centre) / _divisor(state)
        self._inside._take(Call(), state.inner, Z, u, first.weight, np.empty(u.shape))


def _given(there: ArrayLike | None, lagged: ArrayLike | None) -> dict[str, Any]:
    """What the learner is told besides."""
    return {name: value for name, value in (("there", there), ("lagged", lagged)) if value is not None}


def _divisor(state: State) -> Vector:
    return np.asarray(state.scale + (state.scale == 0.0))


def _present(there: ArrayLike | None, X: Matrix) -> There:
    if there is None:
        return np.ones(X.shape, dtype=bool)
    mask = np.ascontiguousarray(there)
    if mask.shape != X.shape or mask.dtype != bool:
        raise InputError(f"there must say True or False for each value of X, shape {X.shape}, got {mask.dtype} {mask.shape}")
    return mask
