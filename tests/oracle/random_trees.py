"""RandomTrees from its definition: nodes and candidates as objects, one row and one tree at a time.

gain = n n'/(n + n') ‖mean of the left − mean of the right‖²,   split where it exceeds `gain` · (spread/rows) of the leaf
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.random import below, uniform

Array = NDArray[np.float64]
Row = tuple[Array, Array, float]  # inputs, labels, weight


@dataclass
class Side:
    rows: float = 0.0
    labels: Any = 0.0  # their sum

    @property
    def mean(self) -> Any:
        return self.labels / self.rows


@dataclass
class Candidate:
    column: int
    cut: float
    waits: bool = True  # for a second value: the cut is the first one
    left: Side = field(default_factory=Side)
    right: Side = field(default_factory=Side)

    @property
    def gain(self) -> float:
        n, m = self.left.rows, self.right.rows
        return float(n * m / (n + m) * np.sum((self.left.mean - self.right.mean) ** 2)) if min(n, m) >= 3 else 0.0


@dataclass
class Node:
    mean: Array
    recent: float = 0.0
    rows: float = 0.0
    spread: float = 0.0
    candidates: list[Candidate] = field(default_factory=list)
    column: int = 0
    cut: float = 0.0
    children: tuple[Node, Node] | None = None


def leaf_of(node: Node, x: Array) -> Node:
    return node if node.children is None else leaf_of(node.children[int(x[node.column] > node.cut)], x)


def leaves_of(node: Node) -> int:
    return 1 if node.children is None else sum(map(leaves_of, node.children))


def scores(learner: onkel.RandomTrees, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    Y = y.reshape(len(X), -1)
    trees = [Node(np.zeros(Y.shape[1])) for _ in range(learner.count)]
    out, round = np.zeros(Y.shape), 0
    for t in range(len(X)):
        out[t] = np.mean([leaf_of(tree, X[t]).mean for tree in trees], axis=0)
        if w[t] != 0:
            for number, tree in enumerate(trees):
                learn(learner, number, tree, (X[t], Y[t], float(w[t])), round)
            round += 1
    return out.reshape(y.shape)


def learn(learner: onkel.RandomTrees, number: int, tree: Node, row: Row, round: int) -> None:
    x, y, w = row
    leaf = leaf_of(tree, x)
    before = leaf.mean
    leaf.recent = learner.forgetting * leaf.recent + w
    leaf.mean = before + w / leaf.recent * (y - before)
    leaf.rows += w
    leaf.spread += w * float((y - before) @ (y - leaf.mean))
    if leaves_of(tree) == learner.leaves:
        return
    for j, candidate in enumerate(leaf.candidates):
        show(candidate, row, (learner.seed, round, 2 * (number * learner.splits + j)))
    best = max(leaf.candidates, key=lambda candidate: candidate.gain, default=None)
    if best and best.gain > learner.gain * leaf.spread / leaf.rows + 1e-20 * leaf.rows * leaf.mean @ leaf.mean:
        split(leaf, best)
    elif len(leaf.candidates) < learner.splits:
        column = below(learner.seed, round, 2 * (number * learner.splits + len(leaf.candidates)), len(x))
        leaf.candidates.append(Candidate(column, x[column]))


def show(candidate: Candidate, row: Row, draw: tuple[int, int, int]) -> None:
    """A row to a candidate: it may give it its cut, or another column, and counts on one of its sides."""
    x, seed, round, lane = row[0], *draw
    if candidate.waits:
        ends = sorted((candidate.cut, x[candidate.column]))
        if ends[0] == ends[1]:
            candidate.column = below(seed, round, lane, len(x))
            candidate.cut = x[candidate.column]
        else:
            candidate.cut = ends[0] + uniform(seed, round, lane + 1) * (ends[1] - ends[0])
            candidate.waits = False
    if not candidate.waits:
        side = candidate.right if x[candidate.column] > candidate.cut else candidate.left
        side.rows, side.labels = side.rows + row[2], side.labels + row[2] * row[1]


def split(leaf: Node, best: Candidate) -> None:
    variance = max(leaf.spread / leaf.rows - best.gain / (best.left.rows + best.right.rows), 0.0)
    left, right = (Node(side.mean, side.rows, side.rows, side.rows * variance) for side in (best.left, best.right))
    leaf.column, leaf.cut, leaf.children = best.column, best.cut, (left, right)


FULL = onkel.RandomTrees(count=2, splits=3, leaves=6, gain=4.0, seed=1)
GROWING = onkel.RandomTrees(count=3, splits=8, leaves=200, gain=5.0, forgetting=1.0, seed=2)
COARSE = onkel.RandomTrees(count=2, splits=5, leaves=50, gain=3.0, forgetting=0.8, seed=3)  # of inputs with few values
SMALL = (FULL, GROWING, COARSE)


def stream(config: onkel.RandomTrees) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0."""
    rng = np.random.default_rng(2009)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    if config == COARSE:
        X = np.round(X) * np.array([1.0, 1.0, 0.0])
    return X, y, rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)


def reached(config: onkel.RandomTrees, state: Any) -> bool:
    """Whether trees have grown, and are full where they should be; and candidates wait only where a column is constant."""
    waiting = np.any(state.choice[state.drawn == config.splits] < 0)
    return bool(
        (state.leaves == config.leaves).all() == (config == FULL) and state.leaves.min() > 4 and waiting == (config == COARSE)
    )
