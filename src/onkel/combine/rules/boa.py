"""BOA, Bernstein online aggregation: exponential weights with a second-order correction and a learning rate for each expert.

    ŷ = Σ w_k p_k,   w_k ∝ η_k e^(η_k S_k),   η_k = min(1/2b, √(ln K/V_k))
    r_k = ℓ'(ŷ, y)(ŷ − p_k),   r̃ = r b/b',   b' = max(b, max_k |r_k|),   b ← b'
    S_k ← S_k + r̃_k − η_k r̃_k²,   V_k ← V_k + r̃_k²

p_k is the score of expert k of K, w_k its weight, η_k its learning rate, ŷ the mixture, y the label, and ℓ' the slope of the loss
at ŷ. r_k is the linearised regret of the round (`regrets`), b is the largest |r_k| so far, and S_k and V_k start at 0. There is
nothing to tune. The regret bound is of second order (`onkel.measure.bounds.boa`). If the rounds are independent, the regret to the
best expert has the optimal rate, with high probability.

Wintenberger (2017), Optimal learning with Bernstein online aggregation, Machine Learning 106. Departs from the paper, which needs
to know the range of the regrets: in a round in which b grows to b', all r_k are multiplied by b/b' (Cutkosky 2019). This adds at
most the last b to the regret in total.

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=(500, 1))
>>> P = y[:, :, None] + rng.normal(size=(500, 1, 3)) * [0.3, 1.0, 2.0]
>>> rule = onkel.BOA()
>>> state = rule.init(experts=3)
>>> mixture = rule.learn(state, P, y, np.ones(500), np.ones((500, 3), dtype=bool))
>>> rule.weights(state).round(2)
array([[0.88, 0.08, 0.04]])
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.combine.rules.exponential_weights import log_count
from onkel.combine.rules.regrets import RegretRule, Regrets, limit_regrets, linear_round
from onkel.combine.rules.rule import Awake
from onkel.turns import Steps


@config
class BOA(RegretRule):
    """Bernstein online aggregation: no parameter.

    loss  Square(), or Logistic() for labels ±1 and scores that are log-odds. Default: Square().
    """

    def step(self, own: Regrets, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        mixture, logs = np.empty(Y.shape), log_count(P.shape[2])
        kept = own.regret, own.squares, own.paid, own.curved, own.largest, own.span
        steps.add(_learn, *kept, P, Y, weight, awake, self.loss.code, logs, mixture)
        return mixture

    def count(self, own: Regrets, below: list[Matrix], awake: Awake) -> Matrix:
        w, rates, logs = np.empty(own.regret.shape), np.empty(own.regret.shape[1]), log_count(own.regret.shape[1])
        for o in range(len(w)):
            _weigh(own.regret[o], own.squares[o], own.largest[o], logs, awake, rates, w[o])
        return w


@hot
def _learn(
    regret: Matrix, squares: Matrix, paid: Matrix, curved: Matrix, largest: Vector, span: Matrix, P: Matrix, Y: Matrix,
    weight: Vector, awake: Awake, code: int, logs: float, mixture: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    w, scores, r, eta = np.empty(experts), np.empty(experts), np.empty(experts), np.empty(experts)
    for o in range(outputs):
        S, V = regret[o], squares[o]
        for t in range(n):
            _weigh(S, V, largest[o], logs, awake[t], eta, w)
            mixture[t, o] = linear_round(w, P[t, o], Y[t, o], weight[t], awake[t], code, span[o], scores, r, curved[o])
            if weight[t] > 0.0:
                largest[o] = limit_regrets(r, largest[o])
                for k in range(experts):
                    S[k] += r[k] - eta[k] * r[k] * r[k]
                    paid[o, k] += eta[k] * r[k] * r[k]
                    V[k] += r[k] * r[k]


@hot_inline
def _weigh(S: Vector, V: Vector, b: float, logs: float, awake: Awake, eta: Vector, w: Vector) -> None:
    """Write the learning rates of all experts, and the weights of those awake, which sum to 1. As long as b is 0, all weights are
    equal."""
    most, total = -np.inf, 0.0
    for k in range(w.size):
        eta[k] = 0.0
        if b > 0.0:
            squares = V[k] / b / b
            eta[k] = math.sqrt(logs / squares) / b if squares > 4.0 * logs else 0.5 / b
        if awake[k]:
            most = max(most, eta[k] * S[k])
    for k in range(w.size):
        rate = eta[k] * b if b > 0.0 else 1.0
        w[k] = rate * math.exp(eta[k] * S[k] - most) if awake[k] else 0.0
        total += w[k]
    for k in range(w.size):
        w[k] /= total
