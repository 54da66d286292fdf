"""Forgetron: the perceptron with a budget; before the oldest point is evicted, f shrinks until the eviction does little harm.

    if sign(f(x)) ≠ y:  M ← M + 1,  f ← f + y k(x, ·);   if there are now B + 1 points, evict the oldest, r:
    δ = |a_r|,   μ = y_r f(x_r),   φ ∈ (0, 1] the largest with  Ψ(φ) = (δφ)² + 2δφ(1 − φμ) ≤ (15/32)M − Q
    f ← φ f − φ a_r k(x_r, ·),   Q ← Q + Ψ(φ)

Here f = Σ a_i k(x_i, ·). If k(x, x) ≤ 1 and B ≥ 83, the number of mistakes M is at most 2‖u‖² + 4 Σ hinge(u) for every function u
with ‖u‖ ≤ ¼√((B+1)/ln(B+1)), where hinge(u) is its hinge loss in a row. A row costs O(B) besides its kernel values; memory is
O(B²).

Dekel, Shalev-Shwartz & Singer (2008), The Forgetron: a kernel-based perceptron on a budget, SIAM Journal on Computing. Self-tuned.
Departs from the paper: φ has a closed form, −2c/(b + √(b² − 4Ac)) with A = δ² − 2δμ, b = 2δ, c = Q − (15/32)M, for every sign of A.
The Gram matrix of the points is stored, because f(x_r) is computed from it.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> learner = onkel.Forgetron(budget=50)
>>> int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y)))
17
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, instance, whole
from onkel.errors import InputError
from onkel.functions import support
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support, SupportTerms, add, evaluate, is_full, is_mistake, oldest, put, shrink
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.loops import dot
from onkel.state import Counted, counter, memory
from onkel.updates.kernel_expansion import ExpansionLearner

ALLOWANCE = 15.0 / 32.0  # the largest Q divided by the number of mistakes M
LARGEST_MISMATCH = 1e-9  # between a stored k(x, z) and the one computed again, relative to √(k(x, x) k(z, z))


@memory
class State(Counted):
    support: Support
    gram: Matrix  # (B, B)  k(x_i, x_j) of the points
    spent: Vector  # (2,)  M and Q
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class Forgetron(ExpansionLearner[State]):
    """The self-tuned Forgetron: a perceptron with a budget that shrinks f before it removes the oldest point.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    budget  B, the largest number of points kept. The cost of a row is proportional to it, and more points mean fewer
            errors. Default: 100.
    """

    group: ClassVar[Group] = Group.BASELINES
    when: ClassVar[str] = "as a baseline with a budget and a mistake bound: forgets the oldest point"
    cost: ClassVar[str] = "O(B)"
    memory: ClassVar[str] = "O(B² + B·dim)"
    paper: ClassVar[str] = "Dekel et al. 2008"

    kernel: Kernel = Gaussian()
    budget: int = 100

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        whole(self, "budget", 1)

    def _init(self, dim: int, outputs: int) -> State:
        return State(support.with_room(dim, self.budget), np.zeros((self.budget, self.budget)), np.zeros(2), dim=dim)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, state.gram, state.spent, scores)

    def _footprint(self, dim: int, outputs: int) -> int:
        return support.bytes_of(dim, self.budget) + 8 * (self.budget**2 + 2 + 3)

    def _check(self, state: State) -> None:
        state.support.check(self.kernel, state.rows, self.budget)
        size = int(state.support.size[0])
        points = state.support.known
        gram = np.zeros_like(state.gram)
        gram[:size, :size] = self.kernel.values(points, points)
        sizes = np.sqrt(state.support.own)
        if not np.all(np.abs(gram - state.gram) <= LARGEST_MISMATCH * np.outer(sizes, sizes)):
            raise InputError("its kernel values are not those of its points")
        mistakes, spent = state.spent
        if not (size <= mistakes <= state.rows and -np.inf < spent <= ALLOWANCE * mistakes):
            raise InputError("its number of mistakes is not between its points and its rows, or its Q is impossible")


@hot
def _learn(block: RowBlock, f: SupportTerms, gram: Matrix, spent: Vector, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    k = np.empty(f.coef.size)
    for i in range(X.shape[0]):
        scores[i] = evaluate(kernel, f, X[i], k)
        if weight[i] > 0.0:
            if is_mistake(scores[i], y[i]):
                spent[0] += 1.0
                slot = f.size[0]
                if is_full(f):
                    slot = oldest(f)
                    phi = _shrinking(f, gram[slot], spent, slot, y[i] * k[slot])
                    shrink(f, phi)
                    put(f, slot, X[i], own[i], phi * y[i], learnt[0])
                else:
                    add(f, X[i], own[i], y[i], learnt[0])
                k[slot] = own[i]
                n = f.size[0]
                for j in range(n):
                    gram[slot, j] = gram[j, slot] = k[j]
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _shrinking(f: SupportTerms, values: Vector, spent: Vector, oldest: int, added: float) -> float:
    """Returns φ and updates Q ← Q + Ψ(φ). `values` are k(x_r, ·) at all points, `added` is the new point's part of f(x_r)."""
    delta = f.scale[0] * abs(f.coef[oldest])
    mu = f.scale[0] * dot(f.coef, values) + added
    if f.coef[oldest] < 0.0:
        mu = -mu
    a, b, c = delta * delta - 2.0 * delta * mu, 2.0 * delta, spent[1] - ALLOWANCE * spent[0]
    phi = 1.0 if a + b + c <= 0.0 else -2.0 * c / (b + np.sqrt(b * b - 4.0 * a * c))
    spent[1] = min(spent[1] + phi * (a * phi + b), ALLOWANCE * spent[0])  # rounding must not overspend
    return phi
