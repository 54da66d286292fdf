"""RBP: the perceptron with a budget; a full set evicts a random point.

    if sign(f(x)) ≠ y:  if there are B points, evict one of them, each with probability 1/B;  f ← f + y k(x, ·)

The expected number of mistakes is at most a constant factor times the hinge loss of any function of norm O(√B), or of a sequence of
such functions that changes slowly. A row costs O(B).

Cavallanti, Cesa-Bianchi & Gentile (2007), Tracking the best hyperplane with a simple budget perceptron, Machine Learning.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for budget in (10, 50):
...     learner = onkel.RBP(budget=budget)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
150
17
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, instance, whole
from onkel.functions.row_block import RowBlock
from onkel.functions.support import SupportTerms, add, evaluate, is_full, is_mistake, put
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.random import uniform
from onkel.updates.kernel_expansion import ExpansionLearner, State


@final
@config
class RBP(ExpansionLearner[State]):
    """The randomized budget perceptron: when the budget is full, a random point is removed.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    budget  B, the largest number of points kept. The cost of a row is proportional to it, and more points mean fewer
            errors. Default: 100.
    seed    The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as the simplest baseline with a budget: forgets a random point"
    cost: ClassVar[str] = "O(B)"
    memory: ClassVar[str] = "O(B·dim)"
    paper: ClassVar[str] = "Cavallanti et al. 2007"

    kernel: Kernel = Gaussian()
    budget: int = 100
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        whole(self, "budget", 1)
        whole(self, "seed", 0)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, self.seed, scores)


@hot
def _learn(block: RowBlock, f: SupportTerms, seed: int, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    k = np.empty(f.coef.size)
    for i in range(X.shape[0]):
        scores[i] = evaluate(kernel, f, X[i], k)
        if weight[i] > 0.0:
            if is_mistake(scores[i], y[i]):
                if is_full(f):
                    put(f, int(uniform(seed, learnt[0], 0) * k.size), X[i], own[i], y[i], learnt[0])
                else:
                    add(f, X[i], own[i], y[i], learnt[0])
            learnt[0] += 1
    return int(X.shape[0])
