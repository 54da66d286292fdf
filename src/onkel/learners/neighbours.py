"""Neighbours: the weighted mean label of the rows nearest to x among the last B rows.

    N = the k nearest to x of the last B rows,   d_i = ‖x_i − x‖²,   D = max_{i in N} d_i

    ŷ = Σ_{i in N} v_i y_i / Σ_{i in N} v_i,   v_i = w_i / (d_i + D/10)²                                        k = `neighbours`

x_i is row i, y_i its label, w_i its weight, and B the field `budget`. If rows are at equal distance, the more recent ones are used.
Before the first row ŷ = 0. A row costs O(B·dim), and memory is O(B·dim).

Points are stored in single precision, which makes the search twice as fast. x is clipped to ±1e15 and converted to single
precision. d_i is summed in single precision, column by column, so that the same rows are chosen in every run. Points are stored in
groups of 128, and in each group column by column. The most recent group is searched first. The rest of a group is skipped as soon
as the sums over its first columns show that none of the 128 points is among the k nearest.

Fix & Hodges (1951), Discriminatory analysis, nonparametric discrimination: consistency properties. Weights by distance: Shepard, A
two-dimensional interpolation function for irregularly-spaced data (1968); here with exponent 4, and D/10 is added against noise.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for budget in (10, 50, 1000):
...     learner = onkel.Neighbours(budget=budget)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
497
52
10
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline, hot_strict
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, whole
from onkel.errors import InputError
from onkel.groups import Group
from onkel.protocol import Learner
from onkel.state import memory, zeros
from onkel.turns import Call

Points = NDArray[np.float32]  # (groups, dim, GROUP)

GROUP = 128  # points in a group
COLUMNS_AT_ONCE = 8  # columns between two checks whether the rest of a group can be skipped
LARGEST = 1e15  # inputs are clipped to this, so that sums of squares are in the range of single precision
SHARE = 0.1  # part of D that is added to each d_i: if it were 0, a very near row would outweigh all others
LEAST = 1e-60  # added to each d_i, far smaller than any nonzero one: if all d_i are 0, all rows count equally


@memory
class State:
    points: Points  # (⌈B/128⌉, dim, 128)  a ring buffer: row t is stored at place t mod B
    labels: Matrix  # (B, outputs)
    weights: Vector  # (B,)  0 in unused places
    rows: Counts  # (1,)  learnt so far
    dim: int = 1
    outputs: int = 1


@config
class Neighbours(Learner[State]):
    """The weighted mean of the labels of the nearest rows.

    budget      B, the number of rows kept, always the latest ones. Lower it for a stream that changes. Default: 4000.
    neighbours  k ≥ 1, the number of nearest rows whose labels are averaged. Raise it for noisy labels. Default: 8.
    """

    group: ClassVar[Group] = Group.CHANGING
    when: ClassVar[str] = "for local patterns and streams that change: only the last rows count"
    cost: ClassVar[str] = "O(B·dim)"
    memory: ClassVar[str] = "O(B·dim)"
    paper: ClassVar[str] = "Fix & Hodges 1951"

    budget: int = 4000
    neighbours: int = 8

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        whole(self, "budget", 1)
        whole(self, "neighbours", 1, 1000)

    def _init(self, dim: int, outputs: int) -> State:
        points = zeros((_groups(self.budget), dim, GROUP), np.float32)
        return State(points, np.zeros((self.budget, outputs)), np.zeros(self.budget), np.zeros(1, np.int64), dim, outputs)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        points, labels, weights, rows = state.points, state.labels, state.weights, state.rows
        learn_block(points, labels, weights, rows, X, Y, weight, self.neighbours, 0, scores[None])

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        predict_block(state.points, state.labels, state.weights, state.rows, X, self.neighbours, 0, scores[None])

    def _learnt(self, state: State) -> int:
        return int(state.rows[0])

    def _widen(self, state: State, outputs: int) -> None:
        labels = np.hstack([state.labels, np.zeros((self.budget, outputs - state.outputs))])
        vars(state).update(labels=labels, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        return 4 * _groups(self.budget) * dim * GROUP + 8 * (self.budget * (outputs + 1) + 3)

    def _check(self, state: State) -> None:
        used = np.arange(self.budget) < state.rows[0]
        if state.rows[0] < 0 or not np.array_equal(state.weights > 0.0, used) or state.weights.min() < 0.0:
            raise InputError("its weights do not fit its number of rows")
        if np.abs(state.points).max() > LARGEST:
            raise InputError(f"it has inputs larger than {LARGEST:g}")


def _groups(budget: int) -> int:
    return -(-budget // GROUP)


@hot
def learn_block(
    points: Points, labels: Matrix, weights: Vector, rows: Counts, X: Matrix, Y: Matrix, W: Vector, k: int, extra: int, scores: Any
) -> None:
    """Score, then store, each row; rows of weight 0 are only scored.

    `scores` is (1, n, outputs). If `extra` > 0, it is (2, n, outputs) and receives two sets of scores from one search: without the
    last `extra` columns, and with all columns.
    """
    search = _room(X.shape[1], k, extra)
    for t in range(X.shape[0]):
        _score(points, labels, weights, rows[0], X[t], search, scores[:, t])
        if W[t] > 0.0:
            _store(points, labels, weights, rows, X[t], Y[t], W[t])


@hot
def store_block(points: Points, labels: Matrix, weights: Vector, rows: Counts, X: Matrix, Y: Matrix, W: Vector) -> None:
    """Store each row of positive weight."""
    for t in range(X.shape[0]):
        if W[t] > 0.0:
            _store(points, labels, weights, rows, X[t], Y[t], W[t])


@hot_inline
def _store(points: Points, labels: Matrix, weights: Vector, rows: Counts, x: Vector, y: Vector, w: float) -> None:
    place = rows[0] % weights.size
    for j in range(x.size):
        points[place // GROUP, j, place % GROUP] = _limited(x[j])
    for o in range(y.size):
        labels[place, o] = y[o]
    weights[place] = w
    rows[0] += 1


@hot_inline
def _limited(x: float) -> float:
    return min(max(x, -LARGEST), LARGEST)


@hot
def predict_block(
    points: Points, labels: Matrix, weights: Vector, rows: Counts, X: Matrix, k: int, extra: int, scores: Any
) -> None:
    """Score each row as if it came next; `extra` and `scores` are as in `learn_block`."""
    search = _room(X.shape[1], k, extra)
    for t in range(X.shape[0]):
        _score(points, labels, weights, rows[0], X[t], search, scores[:, t])


@hot
def _room(dim: int, k: int, extra: int) -> tuple[Points, Points, Points, Counts, int]:
    """Scratch memory of a search: x, the sums of a group, the k smallest sums and their rows for each set of scores; and
    `extra`."""
    layers = 2 if extra else 1
    x, sums = np.empty(dim, np.float32), np.empty(GROUP, np.float32)
    return x, sums, np.empty((layers, k), np.float32), np.empty((layers, k), np.int64), extra


@hot_inline
def _score(points: Points, labels: Matrix, weights: Vector, rows: int, row: Vector, search: Any, scores: Matrix) -> None:
    x, sums, near, who, extra = search
    for j in range(x.size):
        x[j] = _limited(row[j])
    near[:] = np.inf
    if rows > 0:
        _search(points, weights.size, rows, x, sums, near, who, extra)
    for layer in range(near.shape[0]):
        _mean(labels, weights, near[layer], who[layer], scores[layer])


@hot_inline
def _search(points: Points, budget: int, rows: int, x: Points, sums: Points, near: Points, who: Counts, extra: int) -> None:
    """Write the distances and places of the nearest rows to `near` and `who`. Groups are searched from the most recent to the
    oldest."""
    newest = (rows - 1) % budget
    groups, own = points.shape[0], newest // GROUP
    for step in range(own + 1 if rows <= budget else groups + 1):
        g = own - step if step <= own else own - step + groups
        first, after = 0, min(GROUP, budget - g * GROUP)
        if step == 0:
            after = newest % GROUP + 1
        elif g == own:
            first = newest % GROUP + 1
        _search_group(points[g], first, after, g * GROUP, x, sums, near, who, extra)


@hot_inline
def _search_group(
    group: Points, first: int, after: int, number: int, x: Points, sums: Points, near: Points, who: Counts, extra: int
) -> None:
    sums[:] = 0.0
    last, done = near.shape[1] - 1, 0
    for layer in range(near.shape[0]):
        end = x.size - extra if layer == 0 else x.size
        while done < end:
            # distances, and so the limit, are largest in the search with all columns
            if done > 0 and not _any_below(sums, near[-1, last]):
                return
            until = min(done + COLUMNS_AT_ONCE, end)
            _add_squares(group[done:until], x[done:until], sums)
            done = until
        if _any_below(sums, near[layer, last]):
            for i in range(after - 1, first - 1, -1):
                if sums[i] < near[layer, last]:
                    _insert(near[layer], who[layer], sums[i], number + i)


@hot_strict
def _add_squares(columns: Points, x: Points, sums: Points) -> None:
    for j in range(x.size):
        for i in range(GROUP):
            away = columns[j, i] - x[j]
            sums[i] += away * away


@hot_strict
def _any_below(sums: Points, limit: float) -> bool:
    """Whether any sum is below the limit. No early exit, so that the loop vectorises."""
    found = False
    for i in range(GROUP):
        found |= bool(sums[i] < limit)
    return found


@hot_inline
def _insert(near: Points, who: Counts, d: float, place: int) -> None:
    """Insert a row into the sorted list of nearest rows, after those at equal distance."""
    j = near.size - 1
    while j > 0 and near[j - 1] > d:
        near[j], who[j] = near[j - 1], who[j - 1]
        j -= 1
    near[j], who[j] = d, place


@hot_strict
def _mean(labels: Matrix, weights: Vector, near: Points, who: Counts, score: Vector) -> None:
    score[:] = 0.0
    found = near.size
    while found > 0 and near[found - 1] == np.inf:
        found -= 1
    if found == 0:
        return
    total, farther = 0.0, SHARE * float(near[found - 1]) + LEAST
    for j in range(found):
        v = weights[who[j]] / (float(near[j]) + farther) ** 2
        total += v
        for o in range(score.size):
            score[o] += v * labels[who[j], o]
    for o in range(score.size):
        score[o] /= total
