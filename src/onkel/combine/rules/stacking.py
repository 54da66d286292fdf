"""Stacking: regression on the experts' scores around the mixture of another rule; its regret to every affine combination is
bounded.

    v_k = p_k − q,   ŷ = q + vᵀ(A + v vᵀ)⁻¹b,   A ← A + v vᵀ,   b ← b + (y − q)v                    A₀ = λs²I, b₀ = 0

p_k is the score of expert k, y the label, ŷ the mixture, q the prior rule's mixture of the same round, s² the variance of the
labels, and λ the field `lam`. Without the term v vᵀ, ŷ would be q + θᵀv with θ = A⁻¹b: θ = 0 gives the prior rule, and every affine
combination of the experts is given by some θ. The regret against the best combination is that of the Azoury-Warmuth-Vovk forecaster
with the v_k as features (`onkel.measure.bounds.stacking`). With `forgetting` past rows lose weight. The loss is always the square
loss. For K experts a row costs O(K²).

Vovk (2001), Competitive on-line statistics. Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for
adversarial large scale problems, NeurIPS. Breiman (1996), Stacked regressions.

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=(500, 1))
>>> P = np.stack([y + 1.0, y + 2.0], axis=2) + 0.1 * rng.normal(size=(500, 1, 2))
>>> everyone = np.ones((500, 2), dtype=bool)
>>> for rule in onkel.MLPoly(), onkel.Stacking(prior=onkel.MLPoly()):
...     mixture = rule.learn(rule.init(experts=2), P, y, np.ones(500), everyone)
...     print(round(float(np.mean((mixture - y)[100:] ** 2)), 2))
0.98
0.12
"""

from __future__ import annotations

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine.rules import regression
from onkel.combine.rules.fixed_share import FixedShare
from onkel.combine.rules.regression import MEAN, ROWS, Fit
from onkel.combine.rules.rule import Awake, Rule, check_rule
from onkel.turns import Steps


@config
class Stacking(Rule):
    """Ridge regression on the experts' scores, around another rule's mixture.

    prior       The rule whose mixture the regression corrects. Default: FixedShare().
    lam         λ > 0, the ridge, in units of the labels' variance. A larger one stays closer to the prior's mixture. Default:
                1.0.
    forgetting  μ in [0.5, 1]: in each round the weight of past rows is multiplied by it. 1 never forgets; try 0.999 for a
                stream that changes. Default: 1.0.
    """

    prior: Rule = FixedShare()
    lam: float = 1.0
    forgetting: float = 1.0

    def __post_init__(self) -> None:
        check_rule(self, "prior", self.prior)
        regression.check_settings(self)

    @property
    def below(self) -> tuple[Rule, ...]:
        return (self.prior,)

    def start(self, experts: int, outputs: int) -> Fit:
        return regression.start(experts, outputs, 0.0, self.lam)

    def step(self, own: Fit, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        return regression.step(steps, own, P, Y, weight, awake, below[0], self.lam, self.forgetting, False)

    def count(self, own: Fit, below: list[Matrix], awake: Awake) -> Matrix:
        theta = regression.coefficients(own) * awake
        return np.asarray(below[0] * (1.0 - theta.sum(axis=1, keepdims=True)) + theta)

    def acquaint(self, fresh: Fit, own: Fit, label: float) -> None:
        super().acquaint(fresh, own, label)
        fresh.about[:, ROWS] = own.about[0, ROWS]
        fresh.about[:, MEAN] = label if own.about[0, ROWS] > 0.0 else 0.0

    def check_own(self, own: Fit) -> None:
        regression.check(own, self.lam, self.forgetting)
