"""FunctionalSGD: averaged gradient descent on the square loss in the whole space of a kernel.

    f̃_n = f̃_(n−1) + γ_n (y_n − f̃_(n−1)(x_n)) k(x_n, ·),    f̃_0 = 0,    γ_n = `step` · n^(−`decay`)
    f̄_n = (f̃_0 + … + f̃_n) / (n + 1)

f̃ follows the noise of every row, which the mean f̄ averages out. Scores are those of f̄, or of f̃ if `averaging` is False. A
coefficient a_i = γ_i (y_i − f̃_(i−1)(x_i)) never changes afterwards, so the mean follows from two sums:

    f̄_n = S0 − S1 / (n + 1),    S0 = Σ a_i k(x_i, ·) = f̃_n,    S1 = Σ i a_i k(x_i, ·), the moment of f̃_n

Let the j-th eigenvalue of the kernel fall like j^(−b), and the rows be independent, with labels f(x) plus noise for an f in the
kernel's space. Then decay = 1 / (b + 1) gives the best rate, E (f̄ − f)² = O(n^(−b/(b + 1))). This decay is ⅓ for `Brownian` and ⅕
for `Spline()`. Steps with γ k(x, x) ≤ 1 cannot diverge (‖f̃‖² grows by at most γ y² in a row). Longer ones may; rows in which they
do are refused.

After n rows, a row costs O(n); for an additive kernel O(log n) for each input, for `Linear()` O(dim). Memory is O(n).

Dieuleveut & Bach (2016), Nonparametric stochastic approximation with large step-sizes, Annals of Statistics.

>>> X, y = onkel.data.friedman(10_000, seed=0)
>>> for averaging in True, False:
...     learner = onkel.FunctionalSGD(onkel.Additive(onkel.Exponential()), step=0.1, decay=0.0, averaging=averaging)
...     print(round(float(np.mean((learner.learn(learner.init(dim=10), X, y) - y) ** 2)), 1))
3.3
5.8
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, flag, instance, real
from onkel.functions import representations
from onkel.functions.function import Function
from onkel.functions.learnt import Learnt
from onkel.functions.representations import add, evaluate, has_room, prepare, with_moment
from onkel.functions.row_block import RowBlock
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.updates.kernel_expansion import ExpansionLearner, State


@final
@config
class FunctionalSGD(ExpansionLearner[State]):
    """Averaged stochastic gradient descent in the whole space of a kernel.

    kernel     The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
               Gaussian().
    step       γ_1 > 0, the first step. With at most 1/k(x, x) the descent cannot diverge. Default: 1.0.
    decay      In [0, 1]: the n-th step is step · n^(−decay). ⅓ suits Brownian(), ⅕ Spline(); with 0 all steps are equal.
               Default: 0.5.
    averaging  Whether scores are those of the mean of all iterates, which averages noise out; False: those of the last
               iterate. Default: True.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for a smooth regression from independent rows, with the proven best rate"
    cost: ClassVar[str] = "O(n)"
    memory: ClassVar[str] = "O(n)"
    paper: ClassVar[str] = "Dieuleveut & Bach 2016"

    kernel: Kernel = Gaussian()
    step: float = 1.0
    decay: float = 0.5
    averaging: bool = True

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        real(self, "step", least=1e-30, most=1e30)
        real(self, "decay", least=0.0, most=1.0)
        flag(self, "averaging")

    def _nothing(self, dim: int) -> Function:
        return representations.empty(self.kernel, dim, moment=self.averaging)

    def _may_run_away(self, state: State, own: Vector) -> bool:
        """False if γ k(x, x) ≤ 1 in all of these rows, because ‖f̃‖² then grows by at most γy² in a row."""
        return not _step(state.rows + 1, self.step, self.decay) * np.max(own, initial=0.0) <= 1.0

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, self.step, self.decay, self.averaging, scores)

    def _function(self, state: State) -> Learnt:
        return state.support.learnt(self.kernel, state.rows if self.averaging else None)

    def _merge(self, state: State, most: int) -> None:
        if not self.averaging:  # the mean depends on the round of each point
            super()._merge(state, most)

    def _footprint(self, dim: int, outputs: int) -> int:
        return representations.footprint(self.kernel, dim, moment=self.averaging) + 8 * 3


@hot
def _learn(block: RowBlock, f: Any, step: float, decay: float, averaging: bool, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not has_room(f):
            return i
        if averaging:
            last, moment = with_moment(kernel, f, X[i], work)
            scores[i] = last - moment / (learnt[0] + 1.0)
        else:
            last = scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            a = _step(learnt[0] + 1, step, decay) * (y[i] - last)
            if a != 0.0:
                add(kernel, f, X[i], own[i], a, learnt[0])
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _step(n: int, step: float, decay: float) -> float:
    """γ_n"""
    return float(step * float(n) ** -decay)
