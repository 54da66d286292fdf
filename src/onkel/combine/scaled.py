"""Scaled: a learner on standardised inputs and targets.

    inputs    z = (x − mean)/deviation of the rows up to and including this one, as in `Standardize`
    targets   u = (y − centre)/scale;   score = centre + scale · f(z)

No score depends on a later row or on its own label. The learner learns a function f of z. When mean and deviation change, the z of
earlier rows stay what they were. The target's scale cannot change like that, since it would change the meaning of f. So the first
FIRST_ROWS rows are stored. After 1, 2, 4, 8 … of them, centre and scale are set to the mean and deviation of their labels, and the
learner is trained again on them, exactly as if the scale had been known. After FIRST_ROWS rows the scale is fixed, and the stored
rows are removed. (If the target has been constant until then, the first label that differs gives the scale; the function learnt
until then is 0.) If the learner has a `clip`, the target's deviation is scaled to clip/2.

Values may be missing: `there` is the mask of the values that are present. A missing value gives z = 0, or the mean of its column so
far if inputs are not standardised, and does not change the column's mean.

If the learner uses earlier labels, `lagged`, `predict_any` and `remember` are passed on to it. When the first rows are learnt
again, each row has the labels just before it as earlier labels.

>>> X, y = onkel.data.friedman(1000, seed=0)
>>> for learner in onkel.KONS(onkel.Gaussian(3.0)), onkel.combine.Scaled(onkel.KONS(onkel.Gaussian(3.0))):
...     scores = learner.learn(learner.init(dim=10), 1000.0 * X, 1e6 * y)
...     print(round(float(np.mean((scores / 1e6 - y)[500:] ** 2)), 1))
230.4
4.1
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import LARGEST_NUMBER, check_block, no_weight, place
from onkel._sparse import Rows
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, flag, whole
from onkel.combine import scales
from onkel.combine.scales import GappyRows
from onkel.combine.wrapper import Wrapper, takes_sparse
from onkel.errors import InputError
from onkel.learners import PKAWV
from onkel.one_row import RowSteps
from onkel.protocol import is_learner
from onkel.state import Counted, copied, counter, memory
from onkel.turns import Call, turn
from onkel.updates import first_rows
from onkel.updates.first_rows import FirstRows

FIRST_ROWS = 256
WITHIN_CLIP = 2.0  # if the learner has a clip, the target's scale is such that the clip is this many deviations
TOO_FAR = f"y exceeds {LARGEST_NUMBER:g} times the deviation of its first labels; rescale it"
FAR = 10.0  # labels that are more than this many deviations from the centre are counted

There = NDArray[np.bool_]


@memory
class State(Counted):
    inner: Any
    known: Matrix  # (3, dim)  mean, sum of squared deviations from it, and count of the values that were not missing
    centre: Vector  # (outputs,)
    scale: Vector  # (outputs,)  0 as long as the target is constant
    first: FirstRows  # the stored first rows; zeros when the scale is fixed
    learnt: Counts = counter()
    far: Counts = counter()  # number of labels more than FAR deviations from the centre, since the scale is fixed
    surveyed: int = 0  # number of rows that `survey` has seen; the scales do not change while these rows are learnt
    dim: int = 1
    outputs: int = 1


@config
class Scaled(Wrapper):
    """A learner on standardised inputs and targets.

    learner     The learner inside.
    inputs      Standardise x. Default: True.
    targets     Standardise y; False for class labels. Default: True.
    first_rows  Rows that determine the target's scale, and during which columns may be added.
    """

    learner: Any = PKAWV()
    inputs: bool = True
    targets: bool = True
    first_rows: int = FIRST_ROWS

    def __post_init__(self) -> None:
        if not is_learner(self.learner):
            raise InputError(f"Scaled: learner must be a learner, such as PKAWV(), got {self.learner!r:.200}")
        flag(self, "inputs", "targets")
        whole(self, "first_rows", least=1 if self.targets else 0, most=2**20)

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be a scipy.sparse matrix: only if nothing is scaled, no rows are stored, and the learner takes sparse X."""
        return takes_sparse(self.learner) and not (self.inputs or self.targets or self.first_rows)

    def learn(  # type: ignore[override]
        self, state: State, X: Any, y: ArrayLike, weight: ArrayLike | None = None,
        there: ArrayLike | None = None, lagged: ArrayLike | None = None,
    ) -> Vector:  # fmt: skip
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and changes nothing."""
        return super().learn(state, X, y, weight, **_given(there, lagged))

    def predict(self, state: State, X: Any, there: ArrayLike | None = None, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next; changes nothing."""
        return super().predict(state, X, **_given(there, lagged))

    def predict_any(self, state: State, X: Any, there: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of rows that may come at any time, by the inner learner's `predict_any`."""
        return self._predicted(self._score_any, state, X, there=there)

    def keeps_rows(self, state: State) -> bool:
        """Whether every row so far is stored, so that columns may still be added."""
        return state.rows < self.first_rows and not state.surveyed

    def rearrange(self, state: State, dim: int, places: ArrayLike, until_now: ArrayLike | None = None) -> None:
        """Add columns until there are `dim`; the present column j becomes column places[j]. The state is then exactly as if the new
        columns had been there from the start, and column i had had the value until_now[i] in every row so far (NaN: it was
        missing). If `until_now`, (dim,), is None, all these values were missing."""
        with turn(self, state, True):
            vars(state).update(vars(self.rearranged(state, dim, places, until_now)))

    def rearranged(self, state: State, dim: int, places: ArrayLike, until_now: ArrayLike | None = None) -> State:
        """The state with more columns, as `rearrange` makes it."""
        if not self.keeps_rows(state):
            raise InputError(f"columns can be added only during the first {self.first_rows} rows, this state has {state.rows}")
        wide: State = self.init(dim, state.outputs)
        wide.centre, wide.scale = state.centre, state.scale
        wide.first.y, wide.first.weight = state.first.y, state.first.weight
        values = np.full(dim, np.nan) if until_now is None else np.asarray(until_now, dtype=float)
        wide.first.present[: state.rows] = ~np.isnan(values)
        wide.first.X[: state.rows] = np.nan_to_num(values)
        wide.first.X[:, np.asarray(places, dtype=int)] = state.first.X
        wide.first.present[:, np.asarray(places, dtype=int)] = state.first.present
        wide.learnt = state.learnt.copy()
        none = wide.first.first(0)
        self._learn_stored(Call(), wide, GappyRows(none.X, none.y, none.weight, none.present), none.y, again=True)
        return wide

    def _init(self, dim: int, outputs: int) -> State:
        first = first_rows.empty(self.first_rows, dim, outputs, gaps=True)
        inner, scale = self._begun(dim, outputs), np.zeros(outputs)
        return State(inner, np.zeros((3, dim)), np.zeros(outputs), scale, first, dim=dim, outputs=outputs)

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix,
        there: ArrayLike | None = None, lagged: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        if isinstance(X, Rows):
            self._take_unscaled(call, state, X, Y, weight, scores, _given(there, lagged))
            return
        block = GappyRows(X, Y, weight, scales.present(there, X), None if lagged is None else check_block("lagged", lagged))
        if self._is_settled(state):
            self._learn_scaled(call, state, block, scores)
            return
        if not self.targets:  # no scale is set by the stored rows, so the learner need not start again, and nothing is copied
            room, rows = self.first_rows - state.rows, len(scores)
            last = place(weight, room) if np.count_nonzero(weight) > room else rows
            self._learn_scaled(call, state, block.part(0, last), scores[:last])
            if last < rows:
                self._learn_scaled(call, state, block.part(last, rows), scores[last:])
            return
        work, own = copied(state), Call()  # the learner is called more than once, and a later call may fail
        done = self._learn_stored(own, work, block, scores) if self.keeps_rows(state) else 0
        self._learn_rest(own, work, block.part(done, len(scores)), scores[done:])
        vars(state).update(vars(work))

    def _take_unscaled(
        self, call: Call, state: State, X: Rows, Y: Matrix, weight: Vector, scores: Matrix, more: dict[str, Any]
    ) -> None:  # fmt: skip
        """Pass sparse rows to the learner. They do not change the means that replace missing values."""
        call.defer(lambda: vars(state).update(learnt=np.array([self._inside._learnt(state.inner)])))
        self._inside._take(call, state.inner, X, Y, weight, scores, **more)
        call.complete()

    def _survey(self, state: State, X: Any, Y: Matrix, there: ArrayLike | None = None) -> None:
        Z, ones = X, np.ones(len(Y))
        if not isinstance(X, Rows):
            present = scales.present(there, X)
            state.known = scales.standardise(self.inputs, state.known, X, present, ones)[1]
            Z = scales.standardise(self.inputs, state.known, X, present, no_weight(len(X)))[0]  # as they will be learnt
        if self.targets:
            squares = state.surveyed * (state.scale / self._stretch) ** 2
            known = np.stack([state.centre, squares, np.full(state.outputs, float(state.surveyed))])
            state.centre, squares, count = scales.standardise(True, known, Y, scales.present(None, Y), ones)[1]
            state.scale = self._stretch * np.sqrt(squares / count)
        state.surveyed += len(Y)
        self._inside._survey(state.inner, Z, Y)

    def _take_again(self, state: State, X: Any, Y: Matrix, weight: Vector, there: ArrayLike | None = None, **more: Any) -> None:
        Z, u = X, Y
        if not isinstance(X, Rows):
            Z, after, u = np.empty(X.shape), np.empty(state.known.shape), np.empty(Y.shape)
            known = state.known, state.centre, state.scale
            scales.prepare(self.inputs, *known, X, scales.present(there, X), Y, no_weight(len(X)), Z, after, u)
        self._inside._take_again(state.inner, Z, u, weight, **more)
        # the learner has now learnt rows that are not stored, so training cannot start again: the scale is fixed
        if self.keeps_rows(state):
            state.first, state.surveyed = state.first.dropped(), state.rows
        state.learnt = np.array([self._inside._learnt(state.inner)])

    def _single(self, state: State) -> RowSteps | None:
        if not self._is_settled(state) or state.rows < state.surveyed:
            return None
        inner = self._inside._single(state.inner)
        return inner and scales.row_steps(self.inputs, self._far_away, state, inner)

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
        Z, _ = scales.standardise(self.inputs, state.known, X, scales.present(there, X), no_weight(len(X)))
        if lagged is None:
            score(state.inner, Z, scores)
        else:
            score(state.inner, Z, scores, lagged=lagged)
        scales.unscale(state.centre, state.scale, scores, scores)

    def _learnt(self, state: State) -> int:
        return state.rows

    def _widen(self, state: State, outputs: int) -> None:
        self._inside._widen(state.inner, outputs)
        more = outputs - state.outputs
        state.first = state.first.with_outputs(outputs, self._kept(state), self.absent)
        state.centre, state.scale = np.pad(state.centre, (0, more)), np.pad(state.scale, (0, more))
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        kept = first_rows.footprint(self.first_rows, dim, outputs, gaps=True)
        return int(self._inside._footprint(dim, outputs) + kept + 8 * (3 * dim + 2 * outputs + 5))

    def _check(self, state: State) -> None:
        if not state.first.holds_exactly(self._kept(state)):
            raise InputError("its first rows do not fit its number of rows")
        (spread, seen), most = state.known[1:], max(state.rows, state.surveyed)
        if spread.min() < 0.0 or seen.min() < 0.0 or seen.max() > most or np.any(state.scale < 0.0):
            raise InputError("its means, deviations or scales are impossible")
        if (state.inner.dim, state.inner.outputs) != (state.dim, state.outputs):
            raise InputError("the columns or outputs of its parts differ in number")
        if state.rows != self._inside._learnt(state.inner):
            raise InputError("its learner has learnt another number of rows")
        self._inside._check(state.inner)

    def _notes(self, state: State) -> list[str]:
        notes = super()._notes(state)
        if count := int(state.far[0]):
            labels = "1 label" if count == 1 else f"{count} labels"
            far = f"{labels} lay more than {FAR:g} deviations from the mean of the first {state.surveyed or self.first_rows}"
            notes.append(f"{far}; if the target has changed for good, start a new state")
        return notes

    @cached_property
    def _stretch(self) -> float:
        """The target's scale divided by its deviation."""
        return WITHIN_CLIP / (getattr(self.learner, "clip", None) or WITHIN_CLIP)

    @cached_property
    def _far_away(self) -> float:
        """The distance of FAR deviations, in units of the target's scale."""
        return FAR / self._stretch

    def _kept(self, state: State) -> int:
        return state.rows if self.keeps_rows(state) else 0

    def _is_settled(self, state: State) -> bool:
        return not self.keeps_rows(state) and not (self.targets and 0.0 in state.scale.tolist())

    def _learn_stored(self, call: Call, state: State, block: GappyRows, scores: Matrix, again: bool = False) -> int:
        """Learn rows until FIRST_ROWS are stored. Returns the number of rows done. The state is a copy that no other call can see.

        When the target's scale changes, a fresh learner begins: it learns all rows so far again, together with those that come
        next. With `again` it begins as if the scale had just changed.
        """
        rows = state.rows
        fresh = partial(self._begun, state.dim, state.outputs) if rows else partial(copied, copied(state.inner))
        counts = np.append(rows, rows + np.cumsum(block.weight > 0.0))
        end = min(int(np.searchsorted(counts, self.first_rows)), len(scores))
        new, old = block.part(0, end), rows if again or counts[end] >= self._boundary(rows) else 0
        X, y, weight, there = state.first.followed_by(old, *new[:4])
        Z, after = scales.standardise(self.inputs, np.zeros(state.known.shape) if old else state.known, X, there, weight)
        state.known, state.first = after, state.first.with_more(rows, *new[:4])
        begin, start = 0 if again else old, old  # the learner has learnt the rows before `begin`; those from `start` on are new
        while begin < len(y):
            boundary = self._boundary(rows)
            stop = old + min(int(np.searchsorted(counts, boundary)), end)
            lagged = None if new.lagged is None else new.lagged[start - old : stop - old]
            if lagged is not None and begin < start:  # not stored: rows that are learnt again take the labels before them
                stop, lagged = start, None
            u, inner = self._scaled_labels(state, y[begin:stop]), np.empty((stop - begin, state.outputs))
            self._inside._take(call, state.inner, Z[begin:stop], u, weight[begin:stop], inner, **_given(None, lagged))
            scales.unscale(state.centre, state.scale, inner[start - begin :], scores[start - old : stop - old])
            before, rows = rows, int(counts[stop - old])
            begin = start = stop
            if self.targets and rows == boundary > before:
                self._rescale(state, rows)
                state.inner, begin = fresh(), 0
        state.learnt = np.array([rows])
        if rows == self.first_rows:
            state.first = state.first.dropped()
        return end

    def _boundary(self, rows: int) -> int:
        """The number of stored rows at which the target's scale changes next, or at which no more rows are stored."""
        return min(1 << rows.bit_length(), self.first_rows) if self.targets else self.first_rows

    def _scaled_labels(self, state: State, y: Matrix) -> Matrix:
        u = (y - state.centre) / np.where(state.scale == 0.0, 1.0, state.scale)
        if not np.all(np.abs(u) <= LARGEST_NUMBER):
            raise InputError(TOO_FAR)
        return np.asarray(u)

    def _rescale(self, state: State, rows: int) -> None:
        """Set the target's centre and scale from the stored rows."""
        y = state.first.y[:rows]
        constant = y.min(axis=0) == y.max(axis=0)
        state.centre = np.where(constant, y[0], y.mean(axis=0))
        state.scale = np.where(constant, 0.0, self._stretch * y.std(axis=0))

    def _learn_rest(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        """Learn rows that are not stored, some of which may be the first to differ from a target that was constant until then."""
        start = 0
        while start < len(scores):
            stop, learn = len(scores), self._learn_scaled
            if not self._is_settled(state):
                differs = (block.weight[start:] > 0.0) & self._differs_first(state, block.y[start:]).any(axis=1)
                if differs[0]:
                    stop, learn = start + 1, self._learn_first_different
                elif differs.any():
                    stop = start + int(differs.argmax())
            learn(call, state, block.part(start, stop), scores[start:stop])
            start = stop

    def _differs_first(self, state: State, y: Matrix) -> There:
        """Which labels are the first to differ from all earlier labels of their output."""
        return np.asarray((state.scale == 0.0) & (y != state.centre))

    def _learn_first_different(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        """Learn the row whose label is the first to differ. This label sets the scale, which the row's own score must not use."""
        before = np.empty(scores.shape)
        self._score(state, block.X, before, there=block.there)
        differs = self._differs_first(state, block.y[0])
        state.scale = np.where(differs, self._stretch * np.abs(block.y[0] - state.centre), state.scale)
        self._learn_scaled(call, state, block, scores)
        scores[:] = before

    def _learn_scaled(self, call: Call, state: State, block: GappyRows, scores: Matrix) -> None:
        """Learn rows in which the scale does not change; if rows are still stored, these are at most as many as there is room
        for."""
        Z, after, u = np.empty(block.X.shape), np.empty(state.known.shape), np.empty(block.y.shape)
        known, weight = (state.known, state.centre, state.scale), self._moving(state, block.weight)
        if not scales.prepare(self.inputs, *known, block.X, block.there, block.y, weight, Z, after, u) <= LARGEST_NUMBER:
            raise InputError(TOO_FAR)
        inner = np.empty(u.shape)
        call.defer(partial(self._follow, state, state.rows, block, after, inner, scores))
        self._inside._take(call, state.inner, Z, u, block.weight, inner, **_given(None, block.lagged))
        call.complete()

    def _follow(self, state: State, before: int, block: GappyRows, after: Matrix, inner: Matrix, scores: Matrix) -> None:
        """Update means and counts by the rows that the learner has learnt: all rows of the block, or only the first ones after an
        interrupt."""
        if state.rows > before:
            return
        learnt = self._inside._learnt(state.inner)
        if learnt - before < len(inner) and learnt - before < np.count_nonzero(block.weight):
            block = block.part(0, place(block.weight, learnt - before))
            after = scales.standardise(self.inputs, state.known, block.X, block.there, self._moving(state, block.weight))[1]
        if self.keeps_rows(state):
            kept = state.first.with_more(before, *block[:4])
            state.first = kept.dropped() if learnt == self.first_rows else kept
        rows = block.y, block.weight, inner, scores[: len(block.y)]
        scales.follow(state.centre, state.scale, self._far_away, *rows, state.known, after, state.learnt, state.far)

    def _moving(self, state: State, weight: Vector) -> Vector:
        """The weights of the rows in the running scales: 0 for rows that were surveyed."""
        if not state.surveyed or state.rows >= state.surveyed:
            return weight
        return np.where(state.rows + np.cumsum(weight > 0.0) > state.surveyed, weight, 0.0)


def _given(there: ArrayLike | None, lagged: ArrayLike | None) -> dict[str, Any]:
    """The keyword arguments that are passed on to the learner."""
    given = {} if there is None else {"there": there}
    return given if lagged is None else given | {"lagged": lagged}
