"""KORS: a point joins with a probability proportional to its leverage score, so that few points approximate the whole covariance.

    L Lᵀ = S K S + μI,   S = diag(1/√p_i)
    l = L⁻¹(s∘k(x)),   q = (k(x, x) − l·l)/μ,   τ̃ = (1 + ε) q/(1 + q),   p = min(β τ̃, 1)
    taken with probability p; then append (l/√p, √(μ (1 + q/p))) to L, and 1/√p to s

The reasons, step by step:

1.  With A^I as in step 2, q = φᵀ(A^I)⁻¹φ by the Woodbury identity. So q/(1 + q) = φᵀ(A^I + φφᵀ)⁻¹φ by Sherman-Morrison: the
    leverage score of the point if it joined.
2.  For β ≥ 3 ln(T/δ)/ε², with probability 1 − δ, in every round:  (1 − ε)A ⪯ A^I ⪯ (1 + ε)A, with A = Σφφᵀ + μI and A^I the same
    sum over the points taken, each divided by its p.
3.  With ε = ½ also ‖(I − P)C^½‖² ≤ μ, and about d_eff(μ) ln² T points are taken. A row costs O(m²).

Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. Algorithm 2.
Departs from the paper: τ̃ of its eq. 4 is computed in closed form, without a temporary border; the pivot is at least √μ and cannot
fail.

>>> X, _ = onkel.data.rings(5000, seed=0)
>>> [len(onkel.Kors(mu=mu).choose(onkel.Gaussian(width=1.0), X)) for mu in (10.0, 1.0, 0.1)]
[87, 173, 261]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from onkel._types import Vector
from onkel._validate import real
from onkel.dictionary.dictionary import KORS, Dictionary, State, probability, remember
from onkel.linalg.cholesky import packed


@final
@dataclass(frozen=True)
class Kors(Dictionary):
    """Sampling by online leverage scores."""

    mu: float = 1.0  # μ: the ridge of the leverage scores, not the learner's λ; a smaller one keeps more points
    accuracy: float = 0.5  # ε
    oversampling: float = 1.0  # β; the theory requires 3 ln(T/δ)/ε²

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
