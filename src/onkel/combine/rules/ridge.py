"""Ridge: Azoury-Warmuth-Vovk regression on the experts' scores, with prior weights 0.

    ŷ = pᵀ(A + p pᵀ)⁻¹b,   A ← A + p pᵀ,   b ← b + y p                                              A₀ = λI, b₀ = 0

p are the experts' scores for a row, y is its label and ŷ the mixture. The weights θ = A⁻¹b may have any sum and sign. The loss is
always the square loss. λ has the unit of a squared label; the λ of `Stacking`, which starts at a sensible mixture, has no unit. The
regret against every fixed θ is at most λ‖θ‖² + B² ln det(I + Σ p pᵀ/λ), if |y| ≤ B.

Azoury & Warmuth (2001), Relative loss bounds for on-line density estimation. Vovk (2001), Competitive on-line statistics.

>>> y = np.random.default_rng(0).normal(size=(500, 1))
>>> P = np.stack([3.0 * y + 1.0, y + 1.0], axis=2)
>>> rule = onkel.Ridge()
>>> state = rule.init(experts=2)
>>> mixture = rule.learn(state, P, y, np.ones(500), np.ones((500, 2), dtype=bool))
>>> rule.weights(state).round(2)
array([[ 0.5, -0.5]])
"""

from __future__ import annotations

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine.rules import regression
from onkel.combine.rules.regression import ROWS, Fit
from onkel.combine.rules.rule import Awake, Rule
from onkel.turns import Steps


@config
class Ridge(Rule):
    """Ridge regression on the experts' scores.

    lam         λ > 0, the ridge: the weight of ‖θ‖². A larger one keeps the experts' weights closer to 0; raise it for noisy
                labels. Default: 1.0.
    forgetting  μ in [0.5, 1]: in each round the weight of past rows is multiplied by it. 1 never forgets; try 0.999 for a
                stream that changes. Default: 1.0.
    """

    lam: float = 1.0
    forgetting: float = 1.0

    def __post_init__(self) -> None:
        regression.check_settings(self)

    def start(self, experts: int, outputs: int) -> Fit:
        return regression.start(experts, outputs, 1.0, self.lam)

    def step(self, own: Fit, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        return regression.step(steps, own, P, Y, weight, awake, np.zeros(Y.shape), self.lam, self.forgetting, True)

    def count(self, own: Fit, below: list[Matrix], awake: Awake) -> Matrix:
        return regression.coefficients(own) * awake

    def acquaint(self, fresh: Fit, own: Fit, label: float) -> None:
        fresh.about[:, ROWS] = own.about[0, ROWS]

    def check_own(self, own: Fit) -> None:
        regression.check(own, self.lam, self.forgetting)
