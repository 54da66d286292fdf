"""RandomTrees: a mean of online regression trees with random candidate splits.

A leaf stores the mean m and the variance s² of its labels, and the sum r of the weights of its rows, which forgetting lowers. A
leaf also has up to `splits` candidates for a split, x_c > cut with a random column c. Each candidate has, since it was drawn,
counted rows and summed their labels: n and S on the left side, n' and S' on the right.

    ŷ = mean over trees of m,   r ← μr + 1,   m ← m + (y − m)/r                                              μ = `forgetting`

    a leaf is split if   n n'/(n + n') ‖S/n − S'/n'‖² > `gain` · s²   for the best candidate with n, n' ≥ 3

1.  The left side of the inequality is the amount by which the split reduces the sum of squares.
2.  Each child starts with the mean and the number of rows of its side of the candidate.
3.  Each of the first rows in a leaf draws one candidate: a column, and a cut between the value of this row in the column and that
    of the next row with another value.

Trees differ only in their random columns and cuts; every tree learns every row. A row of weight w counts as w rows. Several outputs
share the leaves, and squares are summed over outputs. A tree with `leaves` leaves no longer grows, but the means of its leaves are
still updated. Columns may have any scale.

For T trees and J candidates in a leaf, a row costs O(T·J) for each output. Memory is O(T·J) for each output and each of the
`leaves`, allocated at the start.

Saffari, Leistner, Santner, Godec & Bischof (2009), On-line random forests, OLCV workshop at ICCV.
Departs from the paper: regression and 0/1 outputs by the square loss; no bagging, which was worse on most sets; leaves forget.

>>> X, y = onkel.data.friedman(5000, seed=0)
>>> for count in (1, 10):
...     learner = onkel.RandomTrees(count=count)
...     scores = learner.learn(learner.init(dim=10), X, y)
...     print(round(float(np.mean((scores - y)[4000:] ** 2)), 1))
8.6
4.8
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline, hot_strict
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, real, whole
from onkel.errors import InputError
from onkel.groups import Group
from onkel.protocol import Learner
from onkel.random import below, uniform
from onkel.state import memory, zeros
from onkel.turns import Call

Short = NDArray[np.int32]
Cube = NDArray[np.float64]

LEAST_ROWS = 3.0  # the least number of rows on each side of a split
ROUNDING = 1e-20  # a gain smaller than this part of the sum of squared labels in a leaf is only rounding
CUT, LEFT, RIGHT, SUMS = 0, 1, 2, 3  # lines of a leaf's table: cut, n, n'; from SUMS on, S and S' of each output in turn


class Forest(NamedTuple):
    """The arrays of T trees with at most L leaves each and J candidates a leaf, for compiled code."""

    column: Short  # (T, 2L)        of an inner node: a row with x[column] > cut goes to the right
    cut: Matrix  # (T, 2L)
    child: Short  # (T, 2L)        inner node: index of the left child, the right one is next; leaf: ~index of the leaf
    leaves: Counts  # (T,)          number of leaves
    mean: Cube  # (T, L, outputs)
    recent: Matrix  # (T, L)         r
    rows: Matrix  # (T, L)         number of rows in `spread`
    spread: Matrix  # (T, L)         rows · s²
    drawn: Counts  # (T, L)         number of candidates
    choice: Short  # (T, L, J)      column of a candidate; ~column as long as it has no cut
    table: Cube  # (T, L, 3 + 2 outputs, J)
    seen: Counts  # (1,)           rows learnt


@memory
class State:
    column: Short
    cut: Matrix
    child: Short
    leaves: Counts
    mean: Cube
    recent: Matrix
    rows: Matrix
    spread: Matrix
    drawn: Counts
    choice: Short
    table: Cube
    seen: Counts
    dim: int = 1
    outputs: int = 1

    @property
    def forest(self) -> Forest:
        return Forest(*[getattr(self, name) for name in Forest._fields])


def plant(trees: int, leaves: int, splits: int, outputs: int) -> Forest:
    """Trees with one leaf each."""
    nodes = trees, 2 * leaves
    column, cut, child = np.zeros(nodes, np.int32), np.zeros(nodes), np.full(nodes, -1, np.int32)
    recent, rows, spread = np.zeros((3, trees, leaves))
    mean, drawn = np.zeros((trees, leaves, outputs)), np.zeros((trees, leaves), np.int64)
    choice, table = np.zeros((trees, leaves, splits), np.int32), zeros((trees, leaves, SUMS + 2 * outputs, splits))
    alone = np.ones(trees, np.int64)
    return Forest(column, cut, child, alone, mean, recent, rows, spread, drawn, choice, table, np.zeros(1, np.int64))


@config
class RandomTrees(Learner[State]):
    """The mean of online regression trees, whose splits are the best of a few random candidates.

    count       T, the number of trees. The cost of a row is proportional to it. Default: 10.
    splits      J, the number of candidate splits in a leaf. Default: 32.
    leaves      L, the largest number of leaves of a tree, which limits the memory. Default: 256.
    gain        A leaf is split if this reduces its sum of squares by more than `gain` times its variance. A larger gain
                gives smaller trees. Default: 9.0.
    forgetting  μ in (0, 1]: each row that reaches a leaf multiplies the weight of the earlier rows there by μ; 1 never
                forgets. Default: 0.9.
    seed        The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.CHANGING
    when: ClassVar[str] = "for inputs of any scale, jumps and interactions; leaves forget the past"
    cost: ClassVar[str] = "O(T·J)"
    memory: ClassVar[str] = "O(T·J·leaves)"
    paper: ClassVar[str] = "Saffari et al. 2009"

    count: int = 10
    splits: int = 32
    leaves: int = 256
    gain: float = 9.0
    forgetting: float = 0.9
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        whole(self, "count", 1, 10_000)
        whole(self, "splits", 1, 10_000)
        whole(self, "leaves", 1, 1_000_000)
        real(self, "gain", least=0.0, most=1e30)
        real(self, "forgetting", least=0.0, most=1.0)
        whole(self, "seed", 0)

    def _init(self, dim: int, outputs: int) -> State:
        return State(*plant(self.count, self.leaves, self.splits, outputs), dim, outputs)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        learn_block(state.forest, X, Y, weight, self.gain, self.forgetting, self.seed, scores)

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        predict_block(state.forest, X, scores)

    def _learnt(self, state: State) -> int:
        return int(state.seen[0])

    def _widen(self, state: State, outputs: int) -> None:
        more = outputs - state.outputs
        mean = np.pad(state.mean, ((0, 0), (0, 0), (0, more)))
        table = np.pad(state.table, ((0, 0), (0, 0), (0, 2 * more), (0, 0)))
        vars(state).update(mean=mean, table=table, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        leaf = 16 * 2 + 8 * (outputs + 4) + self.splits * (4 + 8 * (SUMS + 2 * outputs))
        return self.count * (8 + self.leaves * leaf) + 8 * 3

    def _check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made: compiled code uses its numbers as indices without checks."""
        number = np.arange(2 * self.leaves)
        inner, used = state.child >= 0, number < 2 * state.leaves[:, None] - 1
        columns = np.where(state.choice < 0, ~state.choice, state.choice)
        sound = (
            (state.leaves.min() >= 1 and state.leaves.max() <= self.leaves)
            and np.all((state.child > number) & (state.child < 2 * state.leaves[:, None] - 2) | ~inner)
            and np.all(~state.child < state.leaves[:, None])
            and np.array_equal(np.sum(inner & used, axis=1), state.leaves - 1)
            and (state.column.min() >= 0 and state.column.max() < state.dim and columns.max() < state.dim)
            and (state.drawn.min() >= 0 and state.drawn.max() <= self.splits)
            and min(state.recent.min(), state.rows.min(), state.spread.min(), state.seen[0]) >= 0
        )
        if not sound:
            raise InputError("its trees are not valid")

    def _notes(self, state: State) -> list[str]:
        full = int(np.sum(state.leaves == self.leaves))
        return [f"{full} of {self.count} trees have all their {self.leaves} leaves and no longer grow"] if full else []


@hot
def learn_block(forest: Forest, X: Matrix, Y: Matrix, W: Vector, gain: float, forgetting: float, seed: int, scores: Matrix) -> None:
    """Score, then learn, each row; rows of weight 0 are only scored."""
    node = np.empty(forest.leaves.size, np.int64)
    beyond, gains = np.empty(forest.choice.shape[2]), np.empty(forest.choice.shape[2])
    for t in range(X.shape[0]):
        _score(forest, X[t], node, scores[t])
        if W[t] > 0.0:
            for a in range(node.size):
                leaf = ~forest.child[a, node[a]]
                _update_leaf(forest, a, leaf, Y[t], W[t], forgetting)
                if forest.leaves[a] < forest.mean.shape[1]:  # a full tree needs no candidates
                    found = _best(forest, a, leaf, X[t], Y[t], W[t], gain, seed, beyond, gains)
                    if found >= 0:
                        _split(forest, a, node[a], leaf, found, gains[found])
            forest.seen[0] += 1


@hot
def predict_block(forest: Forest, X: Matrix, scores: Matrix) -> None:
    """Score each row as if it came next."""
    node = np.empty(forest.leaves.size, np.int64)
    for t in range(X.shape[0]):
        _score(forest, X[t], node, scores[t])


@hot_strict
def _score(forest: Forest, x: Vector, node: Counts, score: Vector) -> None:
    """score ← the mean over trees; node ← the leaf of x in each tree."""
    score[:] = 0.0
    for a in range(node.size):
        at = 0
        while forest.child[a, at] >= 0:
            at = forest.child[a, at] + (x[forest.column[a, at]] > forest.cut[a, at])
        node[a] = at
        mean = forest.mean[a, ~forest.child[a, at]]
        for o in range(score.size):
            score[o] += mean[o]
    for o in range(score.size):
        score[o] /= node.size


@hot_inline
def _update_leaf(forest: Forest, a: int, leaf: int, y: Vector, w: float, forgetting: float) -> None:
    """Update the mean of a leaf, which forgets, and its sum of squared deviations, which does not."""
    mean, total = forest.mean[a, leaf], forgetting * forest.recent[a, leaf] + w
    forest.recent[a, leaf] = total
    forest.rows[a, leaf] += w
    for o in range(y.size):
        away = y[o] - mean[o]
        mean[o] += away * (w / total)
        forest.spread[a, leaf] += w * (away * (y[o] - mean[o]))


@hot_inline
def _best(
    forest: Forest, a: int, leaf: int, x: Vector, y: Vector, w: float, gain: float, seed: int, beyond: Vector, gains: Vector
) -> int:
    """Add the row to the candidates of a leaf; returns the candidate to split by, or -1."""
    table, choice = forest.table[a, leaf], forest.choice[a, leaf]
    drawn = forest.drawn[a, leaf]
    # 1. Candidates without a cut get one, or another column. Then the row is added to the sums of all candidates.
    _draw_cuts(table, choice, drawn, x, seed, forest.seen[0], a)
    _count(table[:, :drawn], choice[:drawn], x, y, w, beyond[:drawn], gains[:drawn])
    # 2. The best gain must exceed the leaf's variance times `gain`, and also the rounding error of the sum of squares.
    squares = 0.0
    for o in range(y.size):
        squares += forest.mean[a, leaf, o] ** 2
    limit = gain * (forest.spread[a, leaf] / forest.rows[a, leaf]) + ROUNDING * squares * forest.rows[a, leaf]
    found = _first_largest(gains[:drawn], limit)
    # 3. The row draws a new candidate, whose cut is drawn by the next row with another value in its column.
    if drawn < choice.size:
        c = below(seed, forest.seen[0], 2 * (a * choice.size + drawn), x.size)
        choice[drawn] = ~c
        table[:, drawn] = 0.0
        table[CUT, drawn] = x[c]
        forest.drawn[a, leaf] += 1
    return found


@hot_inline
def _draw_cuts(table: Matrix, choice: Short, drawn: int, x: Vector, seed: int, round: int, tree: int) -> None:
    """Draw a cut for each candidate without one, between the value that it was drawn with and that of x. If these are equal, draw
    another column."""
    for j in range(drawn):
        if choice[j] < 0:
            c, lane = ~choice[j], 2 * (tree * choice.size + j)
            if x[c] != table[CUT, j]:
                low, high = min(x[c], table[CUT, j]), max(x[c], table[CUT, j])
                table[:, j] = 0.0
                table[CUT, j] = low + uniform(seed, round, lane + 1) * (high - low)
                choice[j] = c
            else:
                c = below(seed, round, lane, x.size)
                choice[j] = ~c
                table[CUT, j] = x[c]


@hot_inline
def _count(table: Matrix, choice: Short, x: Vector, y: Vector, w: float, beyond: Vector, gains: Vector) -> None:
    """Add a row to each candidate's sums, and compute the gains. The loops are short and use few arrays, so that they vectorise."""
    for j in range(beyond.size):
        c = choice[j]
        beyond[j] = 1.0 if x[c if c >= 0 else ~c] > table[CUT, j] else 0.0
    _share(table[LEFT], table[RIGHT], beyond, w)
    gains[:] = 0.0
    for o in range(y.size):
        left, right = table[SUMS + 2 * o], table[SUMS + 2 * o + 1]
        _share(left, right, beyond, w * y[o])
        _add_gaps(left, right, table[LEFT], table[RIGHT], gains)
    _weigh_gaps(table[LEFT], table[RIGHT], gains)


@hot_inline
def _share(left: Vector, right: Vector, beyond: Vector, value: float) -> None:
    for j in range(beyond.size):
        right[j] += value * beyond[j]
        left[j] += value * (1.0 - beyond[j])


@hot_inline
def _add_gaps(left: Vector, right: Vector, n: Vector, m: Vector, gains: Vector) -> None:
    for j in range(gains.size):
        gap = left[j] / max(n[j], LEAST_ROWS) - right[j] / max(m[j], LEAST_ROWS)
        gains[j] += gap * gap


@hot_inline
def _weigh_gaps(n: Vector, m: Vector, gains: Vector) -> None:
    for j in range(gains.size):
        gains[j] *= n[j] * (m[j] / (n[j] + m[j])) if min(n[j], m[j]) >= LEAST_ROWS else 0.0


@hot_inline
def _first_largest(gains: Vector, limit: float) -> int:
    """The index of the largest gain, if it exceeds the limit; else -1."""
    some = False
    for j in range(gains.size):
        some |= bool(gains[j] > limit)
    found = -1
    if some:
        for j in range(gains.size):
            if gains[j] > limit:
                found, limit = j, gains[j]
    return found


@hot_inline
def _split(forest: Forest, a: int, node: int, leaf: int, j: int, gain: float) -> None:
    """Split a leaf by candidate j. The left child keeps the leaf's index, the right one gets a new index. Both start without
    candidates."""
    new, table = forest.leaves[a], forest.table[a, leaf]
    forest.column[a, node], forest.cut[a, node] = forest.choice[a, leaf, j], table[CUT, j]
    forest.child[a, node] = 2 * new - 1
    forest.child[a, 2 * new - 1], forest.child[a, 2 * new] = ~leaf, ~new
    forest.leaves[a] += 1
    variance = max(forest.spread[a, leaf] / forest.rows[a, leaf] - gain / (table[LEFT, j] + table[RIGHT, j]), 0.0)
    for side in range(2):
        part, n = (new, table[RIGHT, j]) if side else (leaf, table[LEFT, j])
        forest.recent[a, part], forest.rows[a, part], forest.spread[a, part] = n, n, n * variance
        forest.drawn[a, part] = 0
        for o in range(forest.mean.shape[2]):
            forest.mean[a, part, o] = table[SUMS + 2 * o + side, j] / n
