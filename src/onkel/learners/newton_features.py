"""NewtonFeatures: the online Newton step on any fixed features; logarithmic regret for every curved loss.

    A ← A + η g² z zᵀ,   u ← Π(u − g A⁻¹z)        z = features(x),  g = ℓ'(ŷ, y),  Π onto |f(x)| ≤ clip   (`onkel.updates.newton`)

Regret against every f in the features' span with |f(x_t)| ≤ C, for a loss of curvature σ and η = σ:
α‖f‖² + Σ g² zᵀA⁻¹z ≤ α‖f‖² + ln det(I + Σ σ g² z zᵀ/α)/σ. For r features a row costs O(r²), and memory is O(r²).

Hazan, Agarwal & Kale (2007), Logarithmic regret algorithms for online convex optimization, Machine Learning.
Luo, Agarwal, Cesa-Bianchi & Langford (2016), Efficient second order online learning by sketching, NeurIPS: the projection.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for loss in onkel.Logistic(), onkel.SquaredHinge(), onkel.Square():
...     learner = onkel.NewtonFeatures(loss=loss)
...     print(int(np.sum(np.sign(learner.learn(learner.init(dim=2), X, y)) != y)))
12
10
10
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onkel._inputs import refuse_weights
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config
from onkel.features import Constant, Features, Fourier, Identity
from onkel.features.compose import check_features
from onkel.groups import Group
from onkel.linalg.factor import check_factor
from onkel.linalg.loops import dot
from onkel.linalg.rank_one import workspace
from onkel.losses import Loss, Square
from onkel.state import Counted, counter, memory
from onkel.updates.explicit_features import FeatureLearner
from onkel.updates.newton import NewtonSettings, check_met, check_newton, label_notes, newton_round, newton_settings, no_labels


@memory
class State(Counted):
    features: Any  # the state of the features
    matrix: Matrix  # (r, r)  R, upper triangular
    coef: Matrix  # (1, r)  R u
    met: Vector  # (2,)  statistics of the labels: the number beyond clip, and the largest absolute value
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@config
class NewtonFeatures(FeatureLearner[State]):
    """The online Newton step on explicit features, for any loss.

    features   The map z(x), a tuple for a chain of maps. X is not scaled here: scale it first, as with (Standardize(),
               Taylor()). Default: Fourier(count=100) + Identity() + Constant().
    loss       The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
               Default: Square().
    alpha      α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip       C > 0: scores stay within [−C, C]. Set it to the largest label that you expect; labels beyond it are counted in
               a note. Default: 1.0.
    curvature  The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the curvature of the
               loss, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension  d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    """

    group: ClassVar[Group] = Group.FEATURES
    when: ClassVar[str] = "for probabilities (loss=Logistic()) or another loss than the square, as exact as PKAWV"
    cost: ClassVar[str] = "O(r²)"
    memory: ClassVar[str] = "O(r²)"
    paper: ClassVar[str] = "Hazan et al. 2007"

    features: Features | tuple[Features, ...] = Fourier(count=100) + Identity() + Constant()
    loss: Loss = Square()
    alpha: float = 1.0
    clip: float = 1.0
    curvature: float | None = None
    dimension: float = 1.0

    multi_output: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_features(self)
        check_newton(self)

    def _init(self, dim: int, outputs: int) -> State:
        r = self._map.size(dim)
        return State(self._map.init(dim), np.sqrt(self.alpha) * np.eye(r), np.zeros((1, r)), no_labels(), dim=dim)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        self.loss.admit(Y)

    def _learn(self, state: State, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        _learn(Z, Y[:, 0], weight, state.matrix, state.coef, state.met, state.learnt, newton_settings(self), scores[:, 0])

    def _footprint(self, dim: int, outputs: int) -> int:
        r = self._map.size(dim)
        return self._map.footprint(dim) + 8 * (r * r + r + 5)

    def _check(self, state: State) -> None:
        check_factor(state.matrix, state.coef, self._map.size(state.dim), self.alpha)
        check_met(state.met, self.clip, state.rows)

    def _notes(self, state: State) -> list[str]:
        return super()._notes(state) + label_notes(state.met, self.clip)


@hot
def _learn(
    Z: Matrix,
    y: Vector,
    weight: Vector,
    R: Matrix,
    c: Matrix,
    met: Vector,
    learnt: Counts,
    settings: NewtonSettings,
    scores: Vector,
) -> None:
    """Score, then learn, each row of Z."""
    z, work = np.empty(Z.shape[1]), workspace(Z.shape[1])
    for i in range(Z.shape[0]):
        learn = weight[i] > 0.0
        z[:] = Z[i]  # a copy, because the round overwrites it
        scores[i] = newton_round(R, c, z, dot(z, z), y[i], learn, settings, learnt[0] + 1, met, work)
        if learn:
            learnt[0] += 1
