"""FOGD: gradient descent on random Fourier features, or on any other features.

    z = features(x),   g = ℓ'(w·z, y),   w ← w − η g z                                                      η = `step`

The regret in T rounds against f = Σ a_i k(x_i, ·) is, with high probability, at most (1 + ε)‖f‖₁²/(2η) + ηL²T/2 + εLT‖f‖₁, where
‖f‖₁ = Σ |a_i|, ε is the error of the features' kernel, and L the largest slope of the loss. For r features a row costs O(r·dim);
memory is O(r·dim).

Lu, Hoi, Wang, Zhao & Liu (2016), Large scale online kernel learning, JMLR.
Departs from the paper: Fourier features have unit length, z·z = 1. Public toolboxes leave out the factor 1/√count, so a step η here
is like a step η/count there.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for step in 0.2, 2.0:
...     learner = onkel.FOGD(step=step)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
31
12
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from onkel._inputs import refuse_weights
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, real
from onkel.errors import InputError
from onkel.features import Features, Fourier
from onkel.features.compose import check_features
from onkel.groups import Group
from onkel.losses import Hinge, Loss
from onkel.state import Counted, counter, memory, shallow
from onkel.turns import Call
from onkel.updates.explicit_features import FeatureLearner
from onkel.updates.gradient import GradientSettings, check_loss, check_scores, descent_round, gradient_settings


@memory
class State(Counted):
    features: Any  # the state of the features
    weights: Vector  # (r,)  w
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class FOGD(FeatureLearner[State]):
    """Gradient descent on explicit features, for any loss.

    features  The map z(x), a tuple for a chain of maps. X is not scaled here: scale it first, as with (Standardize(),
              Taylor()). Default: Fourier(count=100).
    loss      The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
              Default: Hinge().
    step      η > 0, the size of a gradient step. A larger one learns faster and follows noise more. Default: 0.2.
    """

    group: ClassVar[Group] = Group.FEATURES
    when: ClassVar[str] = "for the least time a row on many inputs, if some more errors are acceptable"
    cost: ClassVar[str] = "O(r·dim)"
    memory: ClassVar[str] = "O(r·dim)"
    paper: ClassVar[str] = "Lu et al. 2016"

    features: Features | tuple[Features, ...] = Fourier(count=100)
    loss: Loss = Hinge()
    step: float = 0.2

    multi_output: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_features(self)
        check_loss(self)
        real(self, "step", least=1e-30, most=1e30)

    def _init(self, dim: int, outputs: int) -> State:
        return State(self._map.init(dim), np.zeros(self._map.size(dim)), dim=dim)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        self.loss.admit(Y)

    def _take(
        self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix, common: Any = None
    ) -> None:  # fmt: skip
        work = shallow(state)  # rows are learnt on a copy, because the descent may diverge
        work.weights, work.learnt = state.weights.copy(), state.learnt.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # scores that overflow are refused below
            super()._take(Call(), work, X, Y, weight, scores, common)
        check_scores(self, scores[:, 0])
        vars(state).update(vars(work))

    def _learn(self, state: State, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        _learn(Z, Y[:, 0], weight, state.weights, state.learnt, gradient_settings(self.loss, self.step), scores[:, 0])

    def _footprint(self, dim: int, outputs: int) -> int:
        return self._map.footprint(dim) + 8 * (self._map.size(dim) + 3)

    def _check(self, state: State) -> None:
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are not finite")


@hot
def _learn(Z: Matrix, y: Vector, weight: Vector, w: Vector, learnt: Counts, settings: GradientSettings, scores: Vector) -> None:
    """Score, then learn, each row of Z."""
    for i in range(Z.shape[0]):
        scores[i] = descent_round(w, Z[i], y[i], weight[i] > 0.0, settings)
        learnt[0] += 1 if weight[i] > 0.0 else 0
