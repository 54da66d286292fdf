"""Perceptron: a misclassified row is added to the sum with its label.

    f(x) = Σ y_i k(x_i, x),   ŷ = f(x);   if sign(ŷ) ≠ y:  f ← f + y k(x, ·)

Compare with any function u: let U be its norm, L its total hinge loss, and κ² the largest k(x, x). The number of mistakes is at
most L + κ²U² + κU√L. The m misclassified rows are stored; a row costs O(m), and memory is O(m).

Rosenblatt (1958), The perceptron, Psychological Review; with kernels: Freund & Schapire (1999), Machine Learning.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> learner = onkel.Perceptron()
>>> state = learner.init(dim=2)
>>> scores = learner.learn(state, X, y)
>>> int(state.support.size[0]) == int(np.sum(onkel.measure.mistakes(scores, y)))
True
"""

from __future__ import annotations

from typing import Any, ClassVar, final

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, instance
from onkel.functions.representations import add, evaluate, has_room, prepare
from onkel.functions.row_block import RowBlock
from onkel.functions.support import is_mistake
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.updates.kernel_expansion import ExpansionLearner, State


@final
@config
class Perceptron(ExpansionLearner[State]):
    """The kernel perceptron, without a budget.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as the simplest baseline of classes; memory grows with its mistakes"
    cost: ClassVar[str] = "O(m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Rosenblatt 1958"

    kernel: Kernel = Gaussian()

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, scores)


@hot
def _learn(block: RowBlock, f: Any, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not has_room(f):
            return i
        scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            if is_mistake(scores[i], y[i]):
                add(kernel, f, X[i], own[i], y[i], learnt[0])
            learnt[0] += 1
    return int(X.shape[0])
