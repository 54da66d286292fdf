"""BPAS: passive-aggressive with a budget; a full set replaces the point whose replacement changes the function least.

    ℓ = (1 − y f(x))₊,   τ = min(C, ℓ/k(x, x));   if there are fewer than B points:  f ← f + τ y k(x, ·)
    else  r = argmin_r a_r² (k(x_r, x_r) − k(x_r, x)²/k(x, x)),   and x replaces x_r with a = a_r k(x_r, x)/k(x, x) + τ y

Here f = Σ a_i k(x_i, ·). A row costs O(B). The replacement minimises ½‖f − f_t‖² + C · hinge, where f_t is the function before the
row, over all f in which x replaces one of the points and the other coefficients stay the same.

Wang & Vucetic (2010), Online passive-aggressive algorithms on a budget, AISTATS. BPA-S.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> learner = onkel.BPAS(budget=30)
>>> int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y)))
10
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, instance, real, whole
from onkel.functions.row_block import RowBlock
from onkel.functions.support import SupportTerms, add, evaluate, is_full, put
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.updates.kernel_expansion import ExpansionLearner, State
from onkel.updates.projection import passive_aggressive


@final
@config
class BPAS(ExpansionLearner[State]):
    """Passive-aggressive steps (PA-I) on a budget: when it is full, a new point replaces another one.

    kernel          The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                    Default: Gaussian().
    budget          B, the largest number of points kept. The cost of a row is proportional to it, and more points mean
                    fewer errors. Default: 100.
    aggressiveness  C > 0, the largest step. A smaller one is better with noisy labels; 1e30 means no limit. Default: 1.0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as a baseline with a budget: replaces the point that costs least"
    cost: ClassVar[str] = "O(B)"
    memory: ClassVar[str] = "O(B·dim)"
    paper: ClassVar[str] = "Wang & Vucetic 2010"

    kernel: Kernel = Gaussian()
    budget: int = 100
    aggressiveness: float = 1.0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        whole(self, "budget", 1)
        real(self, "aggressiveness", least=1e-30, most=1e30)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, self.aggressiveness, scores)


@hot
def _learn(block: RowBlock, f: SupportTerms, aggressiveness: float, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    k = np.empty(f.coef.size)
    for i in range(X.shape[0]):
        scores[i] = evaluate(kernel, f, X[i], k)
        if weight[i] > 0.0:
            step = passive_aggressive(scores[i], y[i], own[i], aggressiveness)
            if step != 0.0 and is_full(f):
                r = _least_missed(f, k, own[i])
                put(f, r, X[i], own[i], f.scale[0] * f.coef[r] * k[r] / own[i] + step, learnt[0])
            elif step != 0.0:
                add(f, X[i], own[i], step, learnt[0])
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _least_missed(f: SupportTerms, k: Vector, own: float) -> int:
    """The point that x can replace with the least change of f."""
    least, found = np.inf, 0
    for r in range(f.coef.size):
        missed = f.coef[r] * f.coef[r] * max(f.own[r] - k[r] * k[r] / own, 0.0)
        if missed < least:
            least, found = missed, r
    return found
