"""ML-Poly: weights by a polynomial potential of the regrets, with a learning rate for each expert; there is nothing to tune.

    ŷ = Σ w_k p_k,   w_k ∝ (R_k)₊ / (b² + V_k),    all equal if no R_k is positive
    r_k = ℓ'(ŷ, y)(ŷ − p_k),   R_k ← R_k + r̃_k,   V_k ← V_k + r̃_k²,    r̃ = r b/b',   b' = max(b, max_k |r_k|),   b ← b'

p_k is the score of expert k, w_k its weight, ŷ the mixture, y the label, and ℓ' the slope of the loss at ŷ. R_k is the regret to
expert k for the loss linearised at ŷ (`regrets`), which is at least the regret for the loss itself. R_k and V_k start at 0. The
bound is of second order (`onkel.measure.bounds.ml_poly`): the regret is small to an expert whose scores are near the mixture's.

Gaillard, Stoltz & van Erven (2014), A second-order bound with excess losses, COLT. Section 3. Departs from the paper: its losses
lie in [0, 1]; here b is the largest |r_k| so far. In a round in which b grows to b', all r_k are multiplied by b/b' (Cutkosky
2019). This adds at most the last b to the regret in total.

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=(500, 1))
>>> P = y[:, :, None] + rng.normal(size=(500, 1, 3)) * [0.3, 1.0, 2.0]
>>> rule = onkel.MLPoly()
>>> state = rule.init(experts=3)
>>> mixture = rule.learn(state, P, y, np.ones(500), np.ones((500, 3), dtype=bool))
>>> rule.weights(state).round(2)
array([[0.85, 0.1 , 0.06]])
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine.rules.regrets import RegretRule, Regrets, limit_regrets, linear_round
from onkel.combine.rules.rule import Awake
from onkel.turns import Steps


@config
class MLPoly(RegretRule):
    """A polynomial potential with a learning rate for each expert; there is no parameter.

    loss  Square(), or Logistic() for labels ±1 and scores that are log-odds. Default: Square().
    """

    def step(self, own: Regrets, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        mixture, kept = np.empty(Y.shape), (own.regret, own.squares, own.paid, own.curved, own.largest, own.span)
        steps.add(_learn, *kept, P, Y, weight, awake, self.loss.code, mixture)
        return mixture

    def count(self, own: Regrets, below: list[Matrix], awake: Awake) -> Matrix:
        w = np.empty(own.regret.shape)
        for o in range(len(w)):
            _weigh(own.regret[o], own.squares[o], own.largest[o], awake, w[o])
        return w


@hot
def _learn(
    regret: Matrix, squares: Matrix, paid: Matrix, curved: Matrix, largest: Vector, span: Matrix, P: Matrix, Y: Matrix,
    weight: Vector, awake: Awake, code: int, mixture: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    w, scores, r = np.empty(experts), np.empty(experts), np.empty(experts)
    for o in range(outputs):
        R, V = regret[o], squares[o]
        for t in range(n):
            _weigh(R, V, largest[o], awake[t], w)
            mixture[t, o] = linear_round(w, P[t, o], Y[t, o], weight[t], awake[t], code, span[o], scores, r, curved[o])
            if weight[t] > 0.0:
                b = largest[o]
                largest[o] = limit_regrets(r, b)
                if b > 0.0:
                    for k in range(experts):
                        paid[o, k] += (r[k] / b) ** 2 / (1.0 + V[k] / b / b)
                for k in range(experts):
                    R[k] += r[k]
                    V[k] += r[k] * r[k]


@hot_inline
def _weigh(R: Vector, V: Vector, b: float, awake: Awake, w: Vector) -> None:
    """Write the weights of the experts awake, which sum to 1."""
    total, count = 0.0, 0
    for k in range(w.size):
        w[k] = max(R[k] / b, 0.0) / (1.0 + V[k] / b / b) if awake[k] and b > 0.0 else 0.0
        total += w[k]
        count += awake[k]
    for k in range(w.size):
        if total > 0.0:
            w[k] /= total
        else:
            w[k] = 1.0 / count if awake[k] else 0.0
