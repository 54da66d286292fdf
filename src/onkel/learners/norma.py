"""NORMA: gradient descent on the loss plus ½λ‖f‖², in the whole space of a kernel.

    g = ℓ'(f(x), y),   f ← (1 − ηλ) f − η g k(x, ·)                                              η = `step`, λ = `lam`

Regret O(√T) for η ∝ 1/√T. If λ = 0, it is KOGD. If there is a `budget`, only the latest terms are kept; the sum of the evicted ones
has a norm of at most (1 − ηλ)^budget Lκ/λ, where L is the largest slope and κ² the largest k(x, x). A row costs O(m) for the m rows
kept, those whose slope g was not 0; memory is O(m).

Kivinen, Smola & Williamson (2004), Online learning with kernels, IEEE Transactions on Signal Processing.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for loss in onkel.Hinge(), onkel.Logistic(), onkel.Square():
...     learner = onkel.NORMA(loss=loss)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
29
59
11
"""

from __future__ import annotations

from typing import ClassVar, final

from onkel._types import Vector
from onkel._validate import config, instance, whole
from onkel.functions.row_block import RowBlock
from onkel.kernels import Gaussian, Kernel
from onkel.losses import Hinge, Loss
from onkel.updates.gradient import UNLIMITED, check_loss, check_step, descend, gradient_settings, may_run_away
from onkel.updates.kernel_expansion import ExpansionLearner, State


@final
@config
class NORMA(ExpansionLearner[State]):
    """Online gradient descent in the whole space of a kernel."""

    cost: ClassVar[str] = "O(m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Kivinen et al. 2004"

    kernel: Kernel = Gaussian()  # X is not scaled here; scale it first
    loss: Loss = Hinge()
    step: float = 0.2  # η
    lam: float = 0.01  # λ; 0 = KOGD
    budget: int | None = None  # how many of the latest terms are kept; None: all

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        check_loss(self)
        check_step(self)
        whole(self, "budget", 1, optional=True)

    @property
    def _room(self) -> int | None:
        return self.budget

    def _may_run_away(self, state: State, own: Vector) -> bool:
        return may_run_away(self, own, self.lam)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        most = UNLIMITED if self.budget is None else self.budget
        return descend(block, state.support.compiled, gradient_settings(self.loss, self.step, self.lam), most, False, scores)
