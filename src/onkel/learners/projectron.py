"""Projectron: a perceptron that does not store a misclassified row if its projection onto the span of the points is close to it.

    if sign(f(x)) ≠ y:   d = K⁻¹k(x),   Δ² = k(x, x) − k(x)·d        the squared distance of k(x, ·) from the span of the points
        if Δ ≤ η, or there are B points:  a ← a + y d         else:  x joins with a = y           η = `threshold`, B = `budget`
    Projectron++, also if 0 < y f(x) < 1:   ℓ = 1 − y f(x),   p = k(x)·d,   a ← a + τ y d
        η > 0:  τ = min(ℓ/p, 2(ℓ − Δ/η)/p, 1), if this is positive, otherwise 0                  the rule of 2009
        η = 0:  τ = min(ℓ/p, 1), if τ(2ℓ − τp − 2UΔ) ≥ 0, otherwise 0                            U = ¼√((B + 1)/ln(B + 1))

With `budget=None` B is not limited, as in the papers: η > 0 alone keeps the number of points finite on a bounded set of rows.

Here f = Σ a_i k(x_i, ·), K is the kernel matrix of the points, and k(x) are their kernel values with x. If k(x, x) ≤ 1 and the
budget is not reached, the Projectron makes at most (‖u‖² + 2 Σ hinge(u))/(1 − 2η‖u‖) mistakes for every function u with η‖u‖ < ½. A
row costs O(B), a misclassified row O(B²), besides O(B·dim) for the kernel values. Memory is O(B² + B·dim).

Orabona, Keshet & Caputo (2008), The Projectron: a bounded kernel-based perceptron, ICML; (2009), Bounded kernel-based online
learning, JMLR. Departs from the papers: by default there is a budget (as in public toolboxes); the Cholesky factor of K instead of
its inverse; a point that is in the span up to rounding (`onkel.linalg.cholesky`) is always projected.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for kind in onkel.Projectron, onkel.ProjectronPP:
...     learner = kind(budget=30)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
17
12
"""

from __future__ import annotations

import math
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Vector
from onkel._validate import config, instance, real, whole
from onkel.errors import InputError
from onkel.functions import support
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support, SupportTerms, add, evaluate, holds, is_full, is_mistake
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.cholesky import append, is_factor, packed, solve, solve_transposed, stands_out
from onkel.linalg.loops import dot
from onkel.state import Counted, counter, growing, grown, memory, shallow
from onkel.updates.gradient import UNLIMITED
from onkel.updates.kernel_expansion import ExpansionLearner


@memory
class State(Counted):
    support: Support
    factor: Vector = growing(0)  # (B(B + 1)/2,)  L, packed, where L Lᵀ = K of the points
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@config
class _Projectron(ExpansionLearner[State]):
    kernel: Kernel = Gaussian()  # X is not scaled here; scale it first
    budget: int | None = 100  # B: the most points; None: no limit
    threshold: float = 0.0  # η: rows whose distance from the span of the points is at most this are projected

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    margins: ClassVar[bool]  # whether correct rows within the margin are learnt too

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        whole(self, "budget", 1, optional=True)
        real(self, "threshold", least=0.0, most=1e30)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.budget is not None

    def _init(self, dim: int, outputs: int) -> State:
        return State(self._nothing(dim), np.zeros(packed(self.budget or 0)), dim=dim)

    def _nothing(self, dim: int) -> Support:
        return support.with_room(dim, self.budget or 0)  # a sum over points for every kernel, since K of the points is factored

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        most = UNLIMITED if self.budget is None else self.budget
        largest = 0.25 * math.sqrt((most + 1.0) / math.log(most + 1.0))
        return _learn(block, state.support.compiled, state.factor, most, self.threshold, self.margins, largest, scores)

    def _after(self, state: State) -> None:
        """Make room for more points, and for their rows of the factor, in one step."""
        if self.budget is None and not state.support.has_room:
            larger = shallow(state.support)
            larger.make_room(self.kernel)
            vars(state).update(support=larger, factor=grown(state.factor, packed(len(larger.coef))))

    def _footprint(self, dim: int, outputs: int) -> int:
        return support.bytes_of(dim, self.budget or 0) + 8 * (packed(self.budget or 0) + 3)

    def _check(self, state: State) -> None:
        super()._check(state)
        points, size = state.support.known, int(state.support.size[0])
        own = state.support.own[:size]
        if np.any(state.factor[packed(size) :]) or not is_factor(
            state.factor, size, own, lambda a, b: self.kernel.values(points[a:b], points)
        ):
            raise InputError("the stored factor does not match the kernel matrix of the stored points")


@final
@config
class Projectron(_Projectron):
    """The Projectron: a perceptron that projects a mistake near the span of its points, instead of storing it.

    kernel     The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
               Gaussian().
    budget     B, the largest number of points kept; None: no limit, so memory grows. The cost of a row is proportional to it,
               and more points mean fewer errors. Default: 100.
    threshold  η ≥ 0: a row no farther than this from the span of the points is projected instead of kept. Default: 0.0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as a baseline with a budget: projects the points that it cannot keep"
    cost: ClassVar[str] = "O(B), a wrong one O(B²)"
    memory: ClassVar[str] = "O(B² + B·dim)"
    paper: ClassVar[str] = "Orabona et al. 2008"

    margins = False


@final
@config
class ProjectronPP(_Projectron):
    """Projectron++: the Projectron, which also projects correct rows within the margin if this helps.

    kernel     The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
               Gaussian().
    budget     B, the largest number of points kept; None: no limit, so memory grows. The cost of a row is proportional to it,
               and more points mean fewer errors. Default: 100.
    threshold  η ≥ 0: a row no farther than this from the span of the points is projected instead of kept. If it is positive, it
               also decides about rows within the margin, as in the paper of 2009: they are projected if this loses little. If it
               is 0, the budget decides, as in the paper of 2008; without a budget it must be positive. Default: 0.0.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as Projectron, which learns rows inside the margin too"
    cost: ClassVar[str] = "O(B), a wrong one O(B²)"
    memory: ClassVar[str] = "O(B² + B·dim)"
    paper: ClassVar[str] = "Orabona et al. 2008"

    margins = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is None and self.threshold == 0.0:
            raise InputError("ProjectronPP: without a budget threshold must be positive, got 0; try threshold=0.1")


@hot
def _learn(
    block: RowBlock, f: SupportTerms, L: Vector, most: int, threshold: float, margins: bool, largest: float, scores: Vector
) -> int:  # fmt: skip
    """Score, then learn, each row. The scale of f stays 1. Stops before a row for which there is no room."""
    kernel, X, own, y, weight, learnt = block
    k, l, d = np.empty(f.coef.size), np.empty(f.coef.size), np.empty(f.coef.size)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and is_full(f) and not holds(f, most):
            return i
        scores[i] = evaluate(kernel, f, X[i], k)
        if weight[i] > 0.0:
            n = f.size[0]
            wrong = is_mistake(scores[i], y[i])
            if wrong or (margins and 0.0 < y[i] * scores[i] < 1.0):
                for j in range(n):
                    l[j] = k[j]
                solve(L, n, l)
                for j in range(n):
                    d[j] = l[j]
                solve_transposed(L, n, d)
                within = dot(l[:n], l[:n])  # ‖Pk‖² = k·d
                residual = max(own[i] - within, 0.0)  # Δ²
                if not wrong:
                    f.coef[:n] += _gainful(1.0 - y[i] * scores[i], within, np.sqrt(residual), threshold, largest) * y[i] * d[:n]
                elif holds(f, most) or np.sqrt(residual) <= threshold or not stands_out(d[:n], residual, own[i]):
                    f.coef[:n] += y[i] * d[:n]
                else:
                    append(L, n, l, np.sqrt(residual))
                    add(f, X[i], own[i], y[i], learnt[0])
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _gainful(loss: float, within: float, distance: float, threshold: float, largest: float) -> float:
    """τ, where `within` is p, `distance` is Δ, `threshold` is η and `largest` is U."""
    if within == 0.0:
        return 0.0
    tau = min(loss / within, 1.0)
    if threshold > 0.0:
        return max(min(tau, 2.0 * (loss - distance / threshold) / within), 0.0)
    return tau if tau * (2.0 * loss - tau * within - 2.0 * largest * distance) >= 0.0 else 0.0
