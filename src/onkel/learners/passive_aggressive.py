"""PassiveAggressive: the smallest change of f that reaches the margin of the row, with a step of at most C.

    ℓ = (1 − y f(x))₊,   τ = min(C, ℓ/k(x, x)),   f ← f + τ y k(x, ·)                           (PA-I)

If C = ∞, Σ ℓ_t² ≤ ‖u‖² κ² for every function u with a margin of 1 on all rows, where κ² is the largest k(x, x). The m rows that
missed their margin are stored; a row costs O(m), and memory is O(m).

Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Online passive-aggressive algorithms, JMLR.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> learner = onkel.PassiveAggressive()
>>> int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y)))
10
"""

from __future__ import annotations

from typing import Any, ClassVar, final

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, instance, real
from onkel.functions.representations import add, evaluate, has_room, prepare
from onkel.functions.row_block import RowBlock
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.updates.kernel_expansion import ExpansionLearner, State
from onkel.updates.projection import passive_aggressive


@final
@config
class PassiveAggressive(ExpansionLearner[State]):
    """Passive-aggressive steps (PA-I) in the space of a kernel, without a budget.

    kernel          The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                    Default: Gaussian().
    aggressiveness  C > 0, the largest step. A smaller one is better with noisy labels; 1e30 means no limit. Default: 1.0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as a baseline of classes with a margin; memory grows"
    cost: ClassVar[str] = "O(m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Crammer et al. 2006"

    kernel: Kernel = Gaussian()
    aggressiveness: float = 1.0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        real(self, "aggressiveness", least=1e-30, most=1e30)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, self.aggressiveness, scores)


@hot
def _learn(block: RowBlock, f: Any, aggressiveness: float, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not has_room(f):
            return i
        scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            step = passive_aggressive(scores[i], y[i], own[i], aggressiveness)
            if step != 0.0:
                add(kernel, f, X[i], own[i], step, learnt[0])
            learnt[0] += 1
    return int(X.shape[0])
