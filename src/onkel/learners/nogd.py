"""NOGD: kernel gradient descent until there are B points, then gradient descent in the leading coordinates of their span.

    stage 1     f ← f − η g k(x, ·),   g = ℓ'(f(x), y)           if g ≠ 0, until there are B points
    switch      K = VΛVᵀ, the k leading eigenpairs:   M = Λ^{−½}Vᵀ,   w = Λ^{½}Vᵀa         f is projected onto their span
    stage 2     z = M k(x),   w ← w − η g z

K is the kernel matrix of the B points, and a are their coefficients in f.

Regret in T rounds ‖f‖²/(2η) + ηL²T/2, plus a term that grows with ‖K − K̂‖₂, where K̂ is the kernel matrix in the k coordinates,
and L the largest slope of the loss. A row costs O(B·dim + Bk), and memory is O(B·dim + Bk).

Lu, Hoi, Wang, Zhao & Liu (2016), Large scale online kernel learning, JMLR.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for rank in 5, 20:
...     learner = onkel.NOGD(rank=rank)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
623
29
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, whole
from onkel.errors import InputError
from onkel.functions import support
from onkel.functions.learnt import Expansion, Learnt
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.eigen import leading
from onkel.losses import Hinge, Loss
from onkel.state import Counted, counter, memory
from onkel.updates.gradient import check_descent, descend, follow, gradient_settings, may_run_away
from onkel.updates.kernel_expansion import ExpansionLearner

SMALLEST_EIGENVALUE = 1e-10  # relative to the largest; coordinates with a smaller one would be mostly rounding, and are set to 0
LARGEST_MISMATCH = 1e-6  # largest difference of an entry of M K Mᵀ from the identity


@memory
class State(Counted):
    support: Support
    map: Matrix  # (k, B)  M; zeros in stage 1
    weights: Vector  # (k,)  w; zeros in stage 1
    learnt: Counts = counter()
    switched: int = 0  # 1 in stage 2
    dim: int = 1
    outputs: int = 1


@final
@config
class NOGD(ExpansionLearner[State]):
    """Gradient descent on Nyström features of the first B points whose loss had a slope.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    loss    The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
            Default: Hinge().
    budget  B, the number of points of the Nyström features: the first ones with a loss. Default: 100.
    rank    k ≤ B, the number of coordinates. A row costs O(Bk). Default: 20.
    step    η > 0, the size of a gradient step. A larger one learns faster and follows noise more. Default: 0.2.
    """

    group: ClassVar[Group] = Group.POINTS
    when: ClassVar[str] = "for a fixed, small budget and any loss, at O(Bk) a row"
    cost: ClassVar[str] = "O(B·dim + Bk)"
    memory: ClassVar[str] = "O(B·dim + Bk)"
    paper: ClassVar[str] = "Lu et al. 2016"

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    rank: int = 20
    step: float = 0.2

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_descent(self)
        whole(self, "rank", 1)
        if self.rank > self.budget:
            raise InputError(f"NOGD: rank must be at most budget, {self.budget}, got {self.rank}")

    def _init(self, dim: int, outputs: int) -> State:
        return State(support.with_room(dim, self.budget), np.zeros((self.rank, self.budget)), np.zeros(self.rank), dim=dim)

    def _may_run_away(self, state: State, own: Vector) -> bool:
        return may_run_away(self, own)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        descent = gradient_settings(self.loss, self.step)
        if state.support.size[0] == self.budget:
            return follow(block, state.support.points, self.budget, state.map, state.weights, descent, -1, scores)
        return descend(block, state.support.compiled, descent, self.budget, True, scores)

    def _after(self, state: State) -> None:
        """Start stage 2 if there are B points."""
        if state.switched or state.support.size[0] < self.budget:
            return
        points = state.support.known
        V, eigenvalues = leading(self.kernel.values(points, points), self.rank)
        roots = np.sqrt(np.where(eigenvalues > SMALLEST_EIGENVALUE * eigenvalues[0], eigenvalues, 0.0))
        map = (V * np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)).T
        weights = roots * (V.T @ state.support.coef)
        vars(state).update(map=np.ascontiguousarray(map), weights=weights, switched=1)

    def _function(self, state: State) -> Learnt | None:
        return (
            Expansion(self.kernel, state.support.known, state.weights @ state.map) if state.switched else super()._function(state)
        )

    def _footprint(self, dim: int, outputs: int) -> int:
        return super()._footprint(dim, outputs) + 8 * (self.rank * (self.budget + 1) + 1)

    def _check(self, state: State) -> None:
        super()._check(state)
        if state.switched != (state.support.size[0] == self.budget):
            raise InputError("its stage does not fit its number of points")
        points, gram = state.support.known, np.zeros((self.rank, self.rank))
        if len(points) == self.budget:
            gram = state.map @ self.kernel.values(points, points) @ state.map.T
        identity = np.diag(np.where(np.diag(gram) > 0.5, 1.0, 0.0))  # 0 for coordinates that SMALLEST_EIGENVALUE excludes
        if not np.max(np.abs(gram - identity)) <= LARGEST_MISMATCH or (len(points) < self.budget and np.any(state.map)):
            raise InputError("its map M does not belong to its points")
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are not finite")
