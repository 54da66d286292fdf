"""NOGD: gradient descent with kernels until there are B points, then in the leading coordinates of their span.

    stage 1     f ← f − η g k(x, ·),   g = ℓ'(f(x), y)           where g ≠ 0, until B points are there         (KOGD)
    switch      K = VΛVᵀ, the k leading eigenpairs:   M = Λ^{−½}Vᵀ,   w = Λ^{½}Vᵀa         f goes on as a function on the span
    stage 2     z = M k(x),   w ← w − η g z

Regret ‖f‖²/(2η) + ηL²T/2, and a term that grows with ‖K − K̂‖₂, K̂ what the k coordinates see of the kernel matrix. O(B·dim + Bk) a
row and in memory.

Lu, Hoi, Wang, Zhao & Liu (2016), Large scale online kernel learning, JMLR.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for rank in 5, 20:
...     learner = onkel.NOGD(rank=rank)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
623
29
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import instance, real, whole
from onkel.dictionary import support
from onkel.dictionary.support import Support, values
from onkel.errors import InputError
from onkel.features.sketch import embed
from onkel.kernels import Gaussian, Kernel
from onkel.learners.descent import Descending, Rule, check_loss, descend, descent_round, rule
from onkel.learners.domains import on_domains
from onkel.learners.protocol import check_sizes
from onkel.learners.supported import Block
from onkel.linalg.eigen import leading
from onkel.losses import Hinge, Loss
from onkel.state import Counted, counter

SMALLEST_EIGENVALUE = 1e-10  # relative to the largest; a coordinate below it would be rounding
LARGEST_MISMATCH = 1e-6  # of ZᵀKZ against the identity


@dataclass
class State(Counted):
    support: Support
    map: Matrix  # (k, B)  M; zeros in stage 1
    weights: Vector  # (k,)  w; zeros in stage 1
    learnt: Counts = counter()
    switched: int = 0  # 1 in stage 2
    dim: int = 1
    outputs: int = 1


@final
@on_domains
@dataclass(frozen=True)
class NOGD(Descending):
    """Gradient descent on Nyström features of the first points that lost something."""

    kernel: Kernel = Gaussian()  # of X as it is; scale it first
    loss: Loss = Hinge()
    budget: int = 100  # B: points
    rank: int = 20  # k: coordinates, in stage 2
    step: float = 0.2  # η

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        check_loss(self)
        whole(self, "budget", 1)
        whole(self, "rank", 1)
        real(self, "step", least=1e-30, most=1e30)
        if self.rank > self.budget:
            raise InputError(f"NOGD: rank must be at most budget, {self.budget}, got {self.rank}")

    def _init(self, dim: int, outputs: int) -> State:
        dim, outputs = check_sizes(self, dim, outputs)
        return State(support.with_room(dim, self.budget), np.zeros((self.rank, self.budget)), np.zeros(self.rank), dim=dim)

    def _learn(self, state: Any, block: Block, scores: Vector) -> int:
        descent = rule(self.loss, self.step)
        if state.support.size[0] == self.budget:
            return follow(block, state.support.points, self.budget, state.map, state.weights, descent, -1, scores)
        return descend(block, state.support.sum, descent, self.budget, True, scores)

    def _after(self, state: Any) -> None:
        """Stage 2 begins as soon as there are enough points."""
        if state.switched or state.support.size[0] < self.budget:
            return
        points = state.support.known
        V, eigenvalues = leading(self.kernel.values(points, points), self.rank)
        roots = np.sqrt(np.where(eigenvalues > SMALLEST_EIGENVALUE * eigenvalues[0], eigenvalues, 0.0))
        map = (V * np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)).T
        weights = roots * (V.T @ state.support.coef)
        vars(state).update(map=np.ascontiguousarray(map), weights=weights, switched=1)

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return super().footprint(dim) + 8 * (self.rank * (self.budget + 1) + 1)

    def _check(self, state: Any) -> None:
        super()._check(state)
        if state.switched != (state.support.size[0] == self.budget):
            raise InputError("it is in another stage than its points say")
        points, seen = state.support.known, np.zeros((self.rank, self.rank))
        if len(points) == self.budget:
            seen = state.map @ self.kernel.values(points, points) @ state.map.T
        present = np.diag(np.where(np.diag(seen) > 0.5, 1.0, 0.0))
        if not np.max(np.abs(seen - present)) <= LARGEST_MISMATCH or (len(points) < self.budget and np.any(state.map)):
            raise InputError("its coordinates are not those of its points")
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are beyond what can be learnt")


@hot
def follow(block: Block, points: Matrix, width: int, M: Matrix, w: Vector, rule: Rule, due: int, scores: Vector) -> int:
    """Score, then learn, rows in the coordinates φ = Mk of the first `width` points, in columns, up to the row of the round
    that is `due`, which is scored alone: how many."""
    k, phi, learnt = np.zeros(width), np.empty(w.size), block.learnt
    for i in range(block.X.shape[0]):
        learn = block.weight[i] > 0.0
        values(block.kernel, points, width, block.X[i], k)
        embed(k, width, M, phi)
        is_due = learn and learnt[0] == due
        scores[i] = descent_round(w, phi, block.y[i], learn and not is_due, rule)
        if is_due:
            return i + 1
        if learn:
            learnt[0] += 1
    return int(block.X.shape[0])
