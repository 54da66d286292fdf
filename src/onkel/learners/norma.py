"""NORMA: gradient descent on the loss plus ½λ‖f‖², in the whole space of a kernel.

    g = ℓ'(f(x), y),   f ← (1 − ηλ) f − η g k(x, ·)                                              η = `step`, λ = `lam`

Regret O(√T) for η ∝ 1/√T. If λ = 0, it is KOGD, kernel online gradient descent. If there is a `budget`, only the latest terms are
kept; the sum of the evicted ones has a norm of at most (1 − ηλ)^budget Lκ/λ, where L is the largest slope and κ² the largest
k(x, x). A row costs O(m) for the m rows kept, those whose slope g was not 0; memory is O(m).

Kivinen, Smola & Williamson (2004), Online learning with kernels, IEEE Transactions on Signal Processing.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for loss in onkel.Hinge(), onkel.Logistic(), onkel.Square():
...     learner = onkel.NORMA(loss=loss)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
29
53
11
"""

from __future__ import annotations

from typing import ClassVar, final

from onkel._types import Vector
from onkel._validate import config, instance, whole
from onkel.functions.row_block import RowBlock
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.losses import Hinge, Loss
from onkel.updates.gradient import UNLIMITED, check_loss, check_step, descend, gradient_settings, may_run_away
from onkel.updates.kernel_expansion import ExpansionLearner, State


@final
@config
class NORMA(ExpansionLearner[State]):
    """Online gradient descent in the whole space of a kernel.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    loss    The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
            Default: Hinge().
    step    η > 0, the size of a gradient step. A larger one learns faster and follows noise more. Default: 0.2.
    lam     λ ≥ 0: in each step the function shrinks by the factor 1 − step · λ; with 0 it never shrinks. A row is
            forgotten after about 1/(step · λ) rows. Default: 0.0001.
    budget  How many of the latest terms are kept; None: all, so memory grows. Default: None.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for any loss and kernel; with Additive(Spline()) millions of points at O(log m) a row"
    cost: ClassVar[str] = "O(m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Kivinen et al. 2004"

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    step: float = 0.2
    lam: float = 1e-4
    budget: int | None = None

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
