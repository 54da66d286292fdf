"""FixedShare: exponential weights, a share of which is redistributed in each round, to track a best expert that changes.

    ŷ = Σ v_k p_k,    v_k ← (1 − α) v_k e^(−ηℓ_k)/Σ v e^(−ηℓ) + α/K           ℓ_k = (y − p_k)²

p_k, v_k and ℓ_k are score, weight and loss of expert k of K, ŷ is the mixture, y the label, η the field `rate` and α the field
`share`. For the logistic loss ŷ is the log-odds of the mean probability, and η = 1 by default. If some experts sleep, their weights
do not change: the share α is then taken of the total weight of those awake, and redistributed among these.

`rate=None` means η = 0.5/s, where s is the running mean square of the mixture's residuals, including this round's, with forgetting
factor 0.998. That is about the largest rate at which residuals of this size leave no mixability gap (see `exponential_weights`). η
rises again when residuals become small. Of all rates tried on 30 real sets, this one had the least error. The price is that the
bound grows with the total rise of s (`onkel.measure.bounds.fixed_share`), so the bound is not known before the stream.

Herbster & Warmuth (1998), Tracking the best expert, Machine Learning 32. Freund, Schapire, Singer & Warmuth (1997), Using and
combining predictors that specialize (sleeping experts).

>>> y = np.random.default_rng(0).normal(size=(400, 1))
>>> P = np.stack([y, np.zeros((400, 1))], axis=2)
>>> P[200:] = P[200:, :, ::-1]  # from here on the second expert is right
>>> for rule in onkel.FixedShare(rate=1.0, share=1e-9), onkel.FixedShare(rate=1.0, share=1e-3):
...     mixture = rule.learn(rule.init(experts=2), P, y, np.ones(400), np.ones((400, 2), dtype=bool))
...     print(round(float(np.sum((mixture - y)[200:] ** 2)), 1))
26.4
7.7
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.combine.rules.exponential_weights import lose, mix, own_rate
from onkel.combine.rules.rule import LEAST_LOSS, Awake, Rule, check_loss, first_span
from onkel.errors import InputError
from onkel.losses import Loss, Square, value
from onkel.mixing import check_span, counted, extend
from onkel.state import memory
from onkel.turns import Steps

MEMORY = 0.998  # forgetting factor of the mixture's mean square
PART = 0.5  # η is this number divided by the mean square


@memory
class State:
    shares: Matrix  # (outputs, experts)  v
    squares: Matrix  # (outputs, 2)  sums of the mixture's losses and of the rows' weights, with forgetting factor MEMORY
    span: Matrix  # (outputs, 3)  the span of the labels (`onkel.mixing`)


@config
class FixedShare(Rule):
    """Exponential weights for a stream on which the best expert changes.

    rate   η > 0, the learning rate; None: 1 for the logistic loss, else adapted to the mixture's recent residuals. Default: None.
    share  α in (0, 1], the weight redistributed in each round. Raise it if the best expert changes often. Default: 0.001.
    loss   Square(), or Logistic() for labels ±1 and scores that are log-odds. Default: Square().
    """

    rate: float | None = None
    share: float = 1e-3
    loss: Loss = Square()

    def __post_init__(self) -> None:
        real(self, "rate", least=1e-100, most=1e100, optional=True)
        real(self, "share", least=1e-12, most=1.0)
        check_loss(self)

    def start(self, experts: int, outputs: int) -> State:
        return State(np.full((outputs, experts), 1.0 / experts), np.zeros((outputs, 2)), first_span(self.loss, outputs))

    def step(self, own: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        mixture = np.empty(Y.shape)
        steps.add(_learn, own.shares, own.squares, own.span, P, Y, weight, awake, *self._settings, mixture)
        return mixture

    @cached_property
    def _settings(self) -> tuple[int, float, float]:
        return self.loss.code, own_rate(self), self.share

    def count(self, own: State, below: list[Matrix], awake: Awake) -> Matrix:
        shares = own.shares * awake
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def acquaint(self, fresh: State, own: State, label: float) -> None:
        super().acquaint(fresh, own, label)
        fresh.squares[:, 1] = own.squares[0, 1]

    def rate_last(self, own: State) -> Vector:
        """η of each output in the last round; 0 while the mixture's loss is 0."""
        if own_rate(self) > 0.0:
            return np.full(len(own.shares), own_rate(self))
        lost = own.squares[:, 0] >= LEAST_LOSS
        return np.where(lost, PART * own.squares[:, 1] / np.where(lost, own.squares[:, 0], 1.0), 0.0)

    def check_own(self, own: State) -> None:
        if np.any(own.shares <= 0.0) or np.any(own.squares < 0.0):
            raise InputError("its shares are not positive")
        check_span(own.span)


@hot
def _learn(
    shares: Matrix, squares: Matrix, span: Matrix, P: Matrix, Y: Matrix, weight: Vector, awake: Awake,
    code: int, rate: float, share: float, mixture: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    w, scores, losses = np.empty(experts), np.empty(experts), np.empty(experts)
    for o in range(outputs):
        v = shares[o]
        for t in range(n):
            mass, count = 0.0, 0
            for k in range(experts):
                w[k] = v[k] if awake[t, k] else 0.0
                mass += w[k]
                count += awake[t, k]
            for k in range(experts):
                w[k] /= mass
            mixture[t, o] = mix(code, w, P[t, o], awake[t], span[o], scores)
            if weight[t] == 0.0:
                continue
            y = counted(span[o], Y[t, o])
            least, _ = lose(code, weight[t], scores, y, awake[t], losses)
            extend(span[o], Y[t, o])
            squares[o, 0] = MEMORY * squares[o, 0] + weight[t] * value(code, 0.0, mixture[t, o], y)
            squares[o, 1] = MEMORY * squares[o, 1] + weight[t]
            eta = rate
            if rate == 0.0:
                if squares[o, 0] < LEAST_LOSS:
                    continue
                eta = PART * squares[o, 1] / squares[o, 0]
            total = 0.0
            for k in range(experts):
                if awake[t, k]:
                    # losses count relative to the least one, so that the largest factor is 1
                    w[k] *= math.exp(-eta * (losses[k] - least))
                total += w[k]
            kept, back = (1.0 - share) * mass / total, share * mass / count  # the total weight of the experts awake does not change
            for k in range(experts):
                if awake[t, k]:
                    v[k] = kept * w[k] + back
