"""The views of `Auto`: raw inputs, standardised inputs, ranks, and earlier labels. They are computed once for all families.

X    the raw inputs
Z    (x − mean)/deviation, clipped to ±8. Mean and deviation stay as they are between two checks (see `Views`), and include the row
N    Z, or a random projection of it to 64 columns if it has more; for kernels and neighbours
U    ranks of X (of N, if that is a projection) among the rows so far, by 33 quantiles
L    earlier labels, as in `Lagged`, standardised; several outputs are mapped to the plane, each along a direction of its own
S    Z, or (`SparseViews`) the nonzero values of X divided by the root mean square of the nonzero values so far in their column,
     clipped to ±8; columns that are nonzero in nine of ten rows are standardised instead. A 1 is appended for the intercept. S is
     for families with one coefficient for each column

`Views` computes all views, S only if a family needs it. `SparseViews` is for rows with too many columns for a dense matrix; it
computes only S and L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from onkel._inputs import no_weight
from onkel._jit import hot, hot_lean
from onkel._sparse import Rows, to_dense, to_sparse
from onkel._types import Counts, Matrix, Vector
from onkel.combine.lagged import MEMORIES, lag
from onkel.features import Project, Ranks, Standardize
from onkel.features.scale import moments, standardized
from onkel.one_row import Step, stop_before
from onkel.state import Counted, copied, counter, memory
from onkel.turns import Steps

CUT = 8.0  # largest standardised value, in deviations
STANDARDIZE, RANKS = Standardize(CUT), Ranks()
NEAR, WIDER = (
    0.5,
    2.0,
)  # a column has moved if its mean has by more than NEAR deviations, or if the deviation is WIDER times as large
CANCELLED = 1e-12  # smaller projections count as 0
DENSE = 0.9  # in S, a column that is nonzero in this share of the rows is standardised
NARROW = 64  # largest number of columns for kernels and neighbours
PLANE = 2  # dimension of the space that the labels of a row are mapped to
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))  # between the directions of two outputs, so that no two nearly coincide
NO_ROWS = Rows(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))


class View(NamedTuple):
    """A block of rows as the families see it."""

    X: Matrix
    Z: Matrix
    N: Matrix
    U: Matrix
    L: Matrix
    S: Rows
    lagged: Matrix  # L before it is standardised


@memory
class Lags(Counted):
    first: Vector
    last: Matrix
    means: Matrix
    standardized: Any
    learnt: Counts = counter()


@memory
class State:
    running: Any  # mean and deviation of all rows so far
    standardized: Any  # the mean and deviation that Z uses; before the first rows they are those of `running`
    projected: Any
    ranked: Any
    lags: Any  # Lags, or None


@dataclass(frozen=True)
class Views:
    """The feature maps of all views, for rows with `dim` columns.

    If Z followed mean and deviation in every row, a rising input would have nearly the same z in all rows, and a family would learn
    many labels at one place. So the scales of Z are fixed by `settled`; `rescaled` changes those of columns that have moved.
    """

    dim: int
    seed: int
    lags: int  # number of earlier labels
    by_column: bool  # whether S is needed

    @property
    def narrow(self) -> int:
        """The number of columns of N."""
        return min(self.dim, NARROW)

    @cached_property
    def _project(self) -> Project:
        return Project(NARROW, self.seed)

    @property
    def _is_projected(self) -> bool:
        return self.dim > NARROW

    def init(self) -> State:
        projected = self._project.init(self.dim) if self._is_projected else None
        return State(
            STANDARDIZE.init(self.dim), STANDARDIZE.init(self.dim), projected, RANKS.init(self.narrow), _no_lags(self.lags)
        )

    def footprint(self) -> int:
        projected = self._project.footprint(self.dim) if self._is_projected else 0
        return 2 * STANDARDIZE.footprint(self.dim) + projected + RANKS.footprint(self.narrow) + _lags_footprint(self.lags)

    def write(
        self, state: State, rows: Matrix | Rows, Y: Matrix, weight: Vector, lagged: Matrix | None = None, steps: Steps | None = None
    ) -> tuple[View, State]:  # fmt: skip
        """The views of each row, just before it is learnt, and the state after the rows.

        `lagged` are the earlier labels that were known when the rows were predicted; they are used instead of the labels just
        before the rows. `steps` collects work that must not be done yet.
        """
        X = to_dense(rows, self.dim)
        Z, N, U = np.empty(X.shape), X, np.empty((len(X), self.narrow))
        running = STANDARDIZE.write(state.running, X, weight, Z, 0)
        if state.standardized.rows:
            STANDARDIZE.write(state.standardized, X, np.zeros(len(X)), Z, 0)
        if self._is_projected:
            N = np.empty((len(X), NARROW))
            self._narrowed(state, Z, N).run()
        ranked = RANKS.write(state.ranked, N, weight, U, 0)
        raw, L, lags = _lags(state.lags, self.lags, Y, weight, lagged)
        S = _with_intercept(Z) if self.by_column else NO_ROWS
        after = State(running, state.standardized, state.projected, ranked, lags)
        return View(X, Z, N if self._is_projected else Z, U, L, S, raw), after

    def settled(self, state: State) -> State:
        """The state in which Z uses the mean and the deviation of all rows so far."""
        return replace(state, standardized=copied(state.running))

    def rescaled(self, state: State) -> State | None:
        """The state in which Z uses the mean and the deviation of all rows so far, in columns where they have moved. None if they
        have not moved in any column."""
        now, used = state.running, state.standardized
        deviation, before = np.sqrt(now.spread / max(1, now.rows)), np.sqrt(used.spread / max(1, used.rows))
        moved = np.abs(now.mean - used.mean) > NEAR * before
        moved |= (deviation > WIDER * before) | (before > WIDER * deviation)
        if not moved.any():
            return None
        mean, spread = np.where(moved, now.mean, used.mean), np.where(moved, deviation**2 * used.rows, used.spread)
        return replace(state, standardized=replace(used, mean=mean, spread=spread))

    def buffers(self, X: Matrix) -> View:
        """Room for the views of one row, whose inputs are in X."""
        Z, U, L = np.empty(X.shape), np.empty((1, self.narrow)), np.empty((1, lag_columns(self.lags)))
        return View(X, Z, np.empty((1, NARROW)) if self._is_projected else Z, U, L, NO_ROWS, L.copy())

    def has_steps(self, state: State) -> bool:
        """Whether there are calls of compiled code that write the views of a single row: not in the first rows, nor for S."""
        return RANKS.has_steps(state.ranked) and not self.by_column

    def limits(self, state: State, weight: Vector) -> list[Step]:
        """The calls that set the weight of a single row to 0 if `in_place` cannot learn it."""
        refresh = RANKS.next_refresh(state.ranked)
        return [] if refresh is None else [partial(stop_before, state.ranked.learnt, refresh, weight)]

    def in_place(self, state: State, view: View, Y: Matrix, weight: Vector) -> list[Step]:
        """The calls of compiled code that do what `write` does for one row, but change the given state."""
        steps = [STANDARDIZE.in_place(state.running, view.X, weight, view.Z, 0)]
        if state.standardized.rows:
            steps.append(STANDARDIZE.in_place(state.standardized, view.X, no_weight(1), view.Z, 0))
        if self._is_projected:
            steps += self._narrowed(state, view.Z, view.N).steps
        steps += RANKS.in_place(state.ranked, view.N if self._is_projected else view.X, weight, view.U, 0)
        if self.lags:
            steps.append(_lag_steps(state.lags, Y, weight, view.lagged))
            steps.append(STANDARDIZE.in_place(state.lags.standardized, view.lagged, weight, view.L, 0))
        return steps

    def _narrowed(self, state: State, Z: Matrix, N: Matrix) -> Steps:
        """The steps that write N, the projection of Z."""
        steps = Steps([self._project.step(state.projected, Z, N, 0)])
        steps.add(_cancel, N)
        return steps


@hot_lean
def _cancel(N: Matrix) -> None:
    """Otherwise ranks would differ by the rounding errors of sums that cancel."""
    for t in range(N.shape[0]):
        for j in range(N.shape[1]):
            if abs(N[t, j]) < CANCELLED:
                N[t, j] = 0.0


@memory
class SparseState:
    mean: Vector  # (dim,)  mean of a column's nonzero values
    spread: Vector  # (dim,)  sum of the squared deviations of nonzero values from this mean
    seen: Counts  # (dim,)  number of nonzero values
    lags: Any  # Lags, or None
    rows: int = 0


@dataclass(frozen=True)
class SparseViews:
    """The views S and L only. The cost of a row is proportional to its number of nonzero values, not to the number of columns."""

    dim: int
    lags: int  # number of earlier labels

    def init(self) -> SparseState:
        return SparseState(np.zeros(self.dim), np.zeros(self.dim), np.zeros(self.dim, np.int64), _no_lags(self.lags))

    def footprint(self) -> int:
        return 8 * (3 * self.dim + 1) + _lags_footprint(self.lags)

    def write(
        self, state: SparseState, rows: Matrix | Rows, Y: Matrix, weight: Vector, lagged: Matrix | None = None,
        steps: Steps | None = None,
    ) -> tuple[View, SparseState]:  # fmt: skip
        """As `Views.write`, but the statistics of columns are updated in place, since a copy would cost more than the rows. The
        step that does so also writes S. If `steps` is None, it runs at once."""
        sparse = to_sparse(rows)
        size = int(sparse.start[-1] - sparse.start[0]) + len(Y)
        S = Rows(np.empty(len(Y) + 1, np.int64), np.empty(size, np.int64), np.empty(size))
        scale, learnt = (state.mean, state.spread, state.seen, state.rows, sparse, weight, S), int(np.count_nonzero(weight))
        if steps is None:
            _scale(*scale)
        else:
            steps.add(_scale, *scale)
        raw, L, lags = _lags(state.lags, self.lags, Y, weight, lagged)
        nothing, after = np.empty((len(Y), 0)), SparseState(state.mean, state.spread, state.seen, lags, state.rows + learnt)
        return View(nothing, nothing, nothing, nothing, L, S, raw), after

    def settled(self, state: SparseState) -> SparseState:
        """The state itself: the scales of S always follow the rows."""
        return state


def standardized_rows(state: State, X: Matrix) -> Matrix:
    """These rows, standardised by all rows so far, as if each came next."""
    Z = np.empty(X.shape)
    STANDARDIZE.write(state.running, X, np.zeros(len(X)), Z, 0)
    return Z


def restarted(views: Any, state: Any, X: Matrix) -> Any:
    """A state of the views that has seen only these rows, but with the earlier labels of `state`."""
    _, again = views.write(views.init(), X, np.zeros((len(X), 1)), np.ones(len(X)))
    return replace(views.settled(again), lags=state.lags)


def lag_columns(lags: int) -> int:
    """The number of columns of L."""
    return PLANE * (lags + len(MEMORIES)) if lags else 0


def _no_lags(lags: int) -> Lags | None:
    """The state of L before the first row; None if there are no lags."""
    if not lags:
        return None
    nothing = np.zeros(PLANE), np.zeros((PLANE, lags)), np.zeros((PLANE, len(MEMORIES)))
    return Lags(*nothing, STANDARDIZE.init(lag_columns(lags)))


def _lags_footprint(lags: int) -> int:
    columns = lag_columns(lags)
    return 8 * (PLANE + columns + 1) + STANDARDIZE.footprint(columns) if lags else 0


def _lags(before: Lags | None, lags: int, Y: Matrix, weight: Vector, lagged: Matrix | None) -> tuple[Matrix, Matrix, Any]:
    """L before it is standardised, L after it is standardised, and the state of L after the rows."""
    inputs = np.empty((len(Y), lag_columns(lags)))
    if before is None:
        return inputs, inputs, None
    after = copied(before)
    _lag_steps(after, Y, weight, inputs)()
    inputs, L = inputs if lagged is None else lagged, np.empty_like(inputs)
    STANDARDIZE.in_place(after.standardized, inputs, weight, L, 0)()
    return inputs, L, after


def _lag_steps(lags: Lags, Y: Matrix, weight: Vector, inputs: Matrix) -> Step:
    """The call that writes each row's earlier labels into `inputs`, then appends its own."""
    angles = GOLDEN_ANGLE * np.arange(Y.shape[1])
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return partial(_lag, lags.first, lags.last, lags.means, lags.learnt, directions, Y, weight, inputs)


@hot
def _lag(
    first: Vector, last: Matrix, means: Matrix, learnt: Counts, directions: Matrix, Y: Matrix, weight: Vector, inputs: Matrix
) -> None:  # fmt: skip
    """`lag` for labels mapped to the plane: output k along directions[k]."""
    points = np.zeros((Y.shape[0], PLANE))
    for t in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            for k in range(PLANE):
                points[t, k] += Y[t, o] * directions[o, k]
    learnt[0] = lag(first, last, means, learnt[0], points, weight, inputs)


def _with_intercept(Z: Matrix) -> Rows:
    n, dim = Z.shape
    values = np.hstack([Z, np.ones((n, 1))])
    return Rows(np.arange(0, values.size + 1, dim + 1), np.tile(np.arange(dim + 1), n), values.ravel())


@hot
def _scale(mean: Vector, spread: Vector, seen: Counts, rows_seen: int, rows: Rows, weight: Vector, out: Rows) -> None:
    """Write S, and learn the rows. A stored 0 is skipped, so that it makes no difference whether zeros are stored."""
    at = 0
    out.start[0] = 0
    for t in range(weight.size):
        for i in range(rows.start[t], rows.start[t + 1]):
            x, j = rows.value[i], rows.column[i]
            if x * x > 0.0:
                centre, total = moments(x, mean[j], spread[j], seen[j])
                z, count = 0.0, seen[j] + 1
                if count < DENSE * (rows_seen + 1):
                    z = x / np.sqrt(centre * centre + total / count)
                else:
                    z = standardized(x, centre, total, count)
                out.column[at], out.value[at] = j, min(max(z, -CUT), CUT)
                at += 1
                if weight[t] > 0.0:
                    mean[j], spread[j], seen[j] = centre, total, count
        out.column[at], out.value[at] = mean.size, 1.0
        at += 1
        out.start[t + 1] = at
        if weight[t] > 0.0:
            rows_seen += 1
