"""KORS: a point joins with a probability proportional to its leverage score, so that few points approximate the whole covariance.

    L Lᵀ = S K S + μI,   S = diag(1/√p_i)
    l = L⁻¹(s∘k(x)),   q = (k(x, x) − l·l)/μ,   τ̃ = (1 + ε) q/(1 + q),   p = min(β τ̃, 1)
    x joins with probability p; then append (l/√p, √(μ (1 + q/p))) to L, and 1/√p to s

Here K is the kernel matrix of the points that joined, k(x) their kernel values with x, and s = (1/√p_i). The reasons, step by step,
with φ = φ(x) the feature vector of the kernel:

1.  Let A = Σφφᵀ + μI over all points so far, and A^I = Σφφᵀ/p + μI over those that joined. By the Woodbury identity,
    q = φᵀ(A^I)⁻¹φ. By Sherman-Morrison, q/(1 + q) = φᵀ(A^I + φφᵀ)⁻¹φ, which is the leverage score that the point would have after
    joining.
2.  For T rows and β ≥ 3 ln(4T²/δ)/ε², with probability 1 − δ, in every round:  (1 − ε)A ⪯ A^I ⪯ (1 + ε)A. The paper prints
    3 ln(T/δ)/ε², which its proof does not support (`onkel.measure.bounds.oversampling`). The rows must not depend on the draws.
3.  For ε = ½ also ‖(I − P)C^½‖² ≤ μ, where C = Σφφᵀ and P projects onto the span of the points that joined. The number of points
    is of the order d_eff(μ) ln² T, where d_eff is the effective dimension. A row costs O(m²) for m points.

Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. Algorithm 2.
Departs from the paper: τ̃ of its eq. 4 is computed in closed form, without adding the point to L first; the pivot is at least √μ,
so the factorisation cannot fail.

>>> X, _ = onkel.data.rings(5000, seed=0)
>>> [len(onkel.Kors(mu=mu).choose(onkel.Gaussian(width=1.0), X)) for mu in (10.0, 1.0, 0.1)]
[87, 173, 261]
"""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._types import Vector
from onkel._validate import config, real
from onkel.dictionary.dictionary import KORS, Dictionary, State, probability, remember
from onkel.linalg.cholesky import packed


@final
@config
class Kors(Dictionary):
    """Points join with a probability proportional to their online leverage score.

    mu            μ > 0, the ridge of the leverage scores (not the learner's λ). A smaller one keeps more points. Default: 1.0.
    accuracy      ε in (0, 1): leverage scores are raised by the factor 1 + ε, and the oversampling that theory requires grows
                  like 1/ε². Default: 0.5.
    oversampling  β > 0: a point joins with β times its leverage score as probability. A larger one samples more points; for
                  T rows and a failure probability of δ the theory requires 3 ln(4T²/δ)/ε², with ε the accuracy. Default: 1.0.
    """

    mu: float = 1.0
    accuracy: float = 0.5
    oversampling: float = 1.0

    code = KORS
    remembers = True

    def __post_init__(self) -> None:
        real(self, "mu", least=1e-12, most=1e30)
        real(self, "accuracy", least=0.0, most=1.0)
        real(self, "oversampling", least=1e-12, most=1e30)

    def params(self) -> Vector:
        return np.array([self.mu, self.accuracy, self.oversampling])

    def joined(self, state: State, k: Vector, own: float) -> State:
        m = len(k)
        l, after = np.empty(m), State(np.empty(m + 1), np.empty(packed(m + 1)))
        after.weights[:m], after.factor[: packed(m)] = state.weights, state.factor
        remember(after.weights, after.factor, m, l, own, self.mu, probability(self.sampling(state, m), k, own, l))
        return after
