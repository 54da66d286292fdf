"""FOGD: gradient descent on random Fourier features, or on any others.

    z = features(x),   g = ℓ'(w·z, y),   w ← w − η g z                                                      η = `step`

Regret, with high probability, (1 + ε)‖f‖₁²/(2η) + ηL²T/2 + εLT‖f‖₁, with ε the error of the features' kernel and L the largest
slope. O(r·dim) a row and O(r·dim) memory, for r features.

Lu, Hoi, Wang, Zhao & Liu (2016), Large scale online kernel learning, JMLR.
Departs from the paper: features of unit length, z·z = 1. Public toolboxes leave out the 1/√count: their step is ours times count.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for step in 0.2, 2.0:
...     learner = onkel.FOGD(step=step)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
31
12
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import real
from onkel.errors import InputError
from onkel.features import Features, Fourier
from onkel.features.compose import check_features
from onkel.learners.descent import Rule, check_loss, check_scores, descent_round, rule
from onkel.learners.featured import Featured
from onkel.learners.protocol import check_sizes
from onkel.losses import Hinge, Loss


@dataclass
class State:
    features: Any  # the features' own state
    weights: Vector  # (r,)  w
    rows: int = 0  # learnt so far
    dim: int = 1
    outputs: int = 1


@final
@dataclass(frozen=True)
class FOGD(Featured):
    """Gradient descent on explicit features, for any loss."""

    features: Features | tuple[Features, ...] = Fourier(count=100)  # of X as it is; scale it first
    loss: Loss = Hinge()
    step: float = 0.2  # η

    def __post_init__(self) -> None:
        check_features(self)
        check_loss(self)
        real(self, "step", least=1e-30, most=1e30)

    def init(self, dim: int, outputs: int = 1) -> State:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        return State(self._map.init(dim), np.zeros(self._map.size(dim)), dim=dim)

    def learn(self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        work = replace(state, weights=state.weights.copy())
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            scores = super().learn(work, X, y, weight)
        check_scores(self, scores.reshape(-1))
        vars(state).update(vars(work))
        return scores

    def _learn(self, state: Any, Z: Matrix, y: Vector, weight: Vector, scores: Vector) -> None:
        _learn(Z, y, weight, state.weights, rule(self.loss, self.step), scores)

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return self._map.footprint(dim) + 8 * (self._map.size(dim) + 3)

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are beyond what can be learnt")


@hot
def _learn(Z: Matrix, y: Vector, weight: Vector, w: Vector, rule: Rule, scores: Vector) -> None:
    """Score, then learn, each row of Z."""
    for i in range(Z.shape[0]):
        scores[i] = descent_round(w, Z[i], y[i], weight[i] > 0.0, rule)
