"""BOGD: gradient descent on the hinge loss with a budget; a full set evicts a random point, and the others compensate for it.

    f ← (1 − ηλ) f;   if y f(x) < 1 and there are fewer than B points:  f ← f + η y k(x, ·)
    if y f(x) < 1 and there are B points: draw one with probabilities p_i, remove it, divide each other a_i by 1 − p_i (so that the
    expected f is unchanged), add the new point, and shrink f until no coefficient exceeds η·cap

Here f = Σ a_i k(x_i, ·). p_i = 1/B; if `weighted`, p_i = (1 − s_i)/(B − 1) with s_i ∝ |a_i| √k(x_i, x_i) (BOGD++). Regret O(√T) in
expectation. A row costs O(B).

Zhao, Wang, Wu, Jin & Hoi (2012), Fast bounded online gradient descent algorithms for scalable kernel-based online learning, ICML.
The default settings are not those of public toolboxes: with 100 points and a cap of 10 the evictions, which the other coefficients
compensate for, are so noisy that f has several times the errors of a ridge (`bench/defaults.py`). `BOGD.as_published` has them.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for weighted in (False, True):
...     learner = onkel.BOGD(weighted=weighted)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
18
18
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Vector
from onkel._validate import config, flag, instance, real, whole
from onkel.functions.row_block import RowBlock
from onkel.functions.support import SupportTerms, add, evaluate, is_full, put, shrink
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.losses import HINGE, slope
from onkel.random import uniform
from onkel.updates.gradient import check_step
from onkel.updates.kernel_expansion import ExpansionLearner, State

BogdSettings = tuple[float, float, float, bool, int]  # η, 1 − ηλ, η·cap, weighted, seed


@final
@config
class BOGD(ExpansionLearner[State]):
    """Bounded online gradient descent (hinge loss): when the budget is full, a random point is removed.

    kernel    The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
              Gaussian().
    budget    B, the largest number of points kept. The cost of a row is proportional to it, and more points mean fewer
              errors. Default: 1000.
    step      η > 0, the size of a gradient step. A larger one learns faster and follows noise more. Default: 0.5.
    lam       λ ≥ 0: in each step the function shrinks by the factor 1 − step · λ. Default: 1e-06.
    cap       γ > 0: when the budget is full, no coefficient is larger than step · cap. With 1 no coefficient grows beyond its
              first size, so f is less noisy than with a larger cap. Default: 1.0.
    weighted  True: BOGD++, which prefers to remove points with small coefficients; False: all points are equally likely.
              Default: False.
    seed      The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as a baseline with a budget for regularised gradient descent"
    cost: ClassVar[str] = "O(B)"
    memory: ClassVar[str] = "O(B·dim)"
    paper: ClassVar[str] = "Zhao et al. 2012"

    kernel: Kernel = Gaussian()
    budget: int = 1000
    step: float = 0.5
    lam: float = 1e-6
    cap: float = 1.0
    weighted: bool = False
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        whole(self, "budget", 2)
        check_step(self)
        real(self, "cap", least=1e-30, most=1e30)
        flag(self, "weighted")
        whole(self, "seed", 0)

    @classmethod
    def as_published(cls, rows: int) -> BOGD:
        """BOGD with 100 points and the λ, step and cap of public toolboxes, for a stream of this many rows.

        >>> onkel.BOGD.as_published(1000).cap
        10.0
        """
        return cls(budget=100, step=0.2, lam=1.0 / max(rows, 1) ** 2, cap=10.0)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        settings = (self.step, 1.0 - self.step * self.lam, self.step * self.cap, self.weighted, self.seed)
        return _learn(block, state.support.compiled, settings, scores)


@hot
def _learn(block: RowBlock, f: SupportTerms, settings: BogdSettings, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    step, fade, largest, weighted, seed = settings
    k, lengths = np.empty(f.coef.size), np.sqrt(f.own)
    for i in range(X.shape[0]):
        scores[i] = evaluate(kernel, f, X[i], k)
        if weight[i] > 0.0:
            g = slope(HINGE, 0.0, scores[i], y[i])
            shrink(f, fade)
            if g != 0.0 and is_full(f):
                coin = uniform(seed, learnt[0], 0)
                slot = _evict_weighted(f, lengths, coin, k) if weighted else _evict(f, coin)
                put(f, slot, X[i], own[i], -step * g, learnt[0])
                lengths[slot] = np.sqrt(own[i])
                now = f.scale[0] * _largest(f.coef)
                if now > largest:
                    shrink(f, largest / now)
            elif g != 0.0:
                lengths[f.size[0]] = np.sqrt(own[i])
                add(f, X[i], own[i], -step * g, learnt[0])
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _evict(f: SupportTerms, coin: float) -> int:
    """The slot of the point to evict, drawn uniformly; the coefficients of the others are scaled up to compensate."""
    count = f.coef.size
    shrink(f, count / (count - 1.0))
    return int(coin * count)


@hot
def _evict_weighted(f: SupportTerms, lengths: Vector, coin: float, parts: Vector) -> int:
    """As `_evict`, but points with a large |a_i| √k(x_i, x_i) have a smaller probability. `parts` is scratch memory, one number per
    point."""
    count, total = f.coef.size, 0.0
    for i in range(count):
        parts[i] = abs(f.coef[i]) * lengths[i]
        total += parts[i]
    scale = 1.0 / total if total > 0.0 else 0.0
    rest = count - 1.0 if total > 0.0 else float(count)
    slot, so_far = 0, 0.0  # so_far: Σ p_i · rest over the points before the slot; first eight points are passed at a time
    while slot + 8 < count:
        a, b = (parts[slot] + parts[slot + 1]) + (parts[slot + 2] + parts[slot + 3]), parts[slot + 4] + parts[slot + 5]
        eight = 8.0 - scale * ((a + b) + (parts[slot + 6] + parts[slot + 7]))
        if coin * rest < so_far + eight:
            break
        so_far += eight
        slot += 8
    while slot < count - 1:
        so_far += 1.0 - scale * parts[slot]
        if coin * rest < so_far:
            break
        slot += 1
    kept = f.coef[slot]
    for i in range(count):
        f.coef[i] *= rest / (rest - 1.0 + scale * parts[i])  # 1/(1 − p_i)
    f.coef[slot] = kept
    return slot


@hot
def _largest(coef: Vector) -> float:
    """The largest |a_i|. There are four running maxima, so that a comparison need not wait for the one before."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = coef.size // 4 * 4
    for i in range(0, whole, 4):
        a, b = max(a, abs(coef[i])), max(b, abs(coef[i + 1]))
        c, d = max(c, abs(coef[i + 2])), max(d, abs(coef[i + 3]))
    for i in range(whole, coef.size):
        a = max(a, abs(coef[i]))
    return max(max(a, b), max(c, d))
