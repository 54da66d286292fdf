"""ExponentialWeights: weights that fall exponentially with each expert's loss, and a learning rate that adapts (AdaHedge).

    ŷ = Σ w_k p_k,   w_k ∝ e^(ηG_k),   G_k ← G_k + m − ℓ_k,   m = −(1/η) ln Σ w_k e^(−ηℓ_k),   ℓ_k = (y − p_k)²

p_k is the score of expert k of K, w_k its weight, ℓ_k its loss, ŷ the mixture, y the label, and m the *mix loss* of the round. G_k
starts at 0: it is the sum of the mix losses minus the loss of expert k. For the logistic loss ŷ is the log-odds of the mean
probability Σ w_k/(1 + e^(−p_k)), and η = 1 by default, which is Bayes' rule.

`rate=None` means η = ln K/Δ, which never rises:

1.  The mixability gap D = Σ (ℓ(ŷ) − m), summed over the rounds, is the loss of the mixture minus the mix losses.
2.  Δ is the largest D so far. In the first round in which the experts' losses differ, Δ starts as the largest of these losses minus
    the smallest. Until then all weights are equal.
3.  Let E be the largest residual |y − p_k| of an expert. D cannot rise when η is below 1/2E². So the regret is at most
    2(1 + 2 ln K)E² on every stream, and far less on an easy one. This is AdaHedge, improved by the curvature of the loss.

Vovk (1998), A game of prediction with expert advice. de Rooij, van Erven, Grünwald & Koolen (2014), Follow the leader if you can,
hedge if you must (AdaHedge). Freund, Schapire, Singer & Warmuth (1997), Using and combining predictors that specialize (sleeping
experts).

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=(500, 1))
>>> P = y[:, :, None] + rng.normal(size=(500, 1, 3)) * [0.3, 1.0, 2.0]
>>> rule = onkel.ExponentialWeights()
>>> state = rule.init(experts=3)
>>> mixture = rule.learn(state, P, y, np.ones(500), np.ones((500, 3), dtype=bool))
>>> rule.weights(state).round(2)
array([[1., 0., 0.]])
"""

from __future__ import annotations

import math

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.combine.rules.rule import SAME, Awake, Rule, check_loss, first_span
from onkel.errors import InputError
from onkel.losses import SQUARE, Logistic, Loss, Square, value
from onkel.mixing import check_span, counted, cut_mean, extend, mean_log_odds
from onkel.state import memory
from onkel.turns import Steps

LARGEST_RATE = 1e300  # limits ln K/Δ, because Δ can be tiny


@memory
class State:
    gain: Matrix  # (outputs, experts)  G
    gap: Vector  # (outputs,)  D
    largest: Vector  # (outputs,)  Δ; 0 until experts differ
    span: Matrix  # (outputs, 3)  the span of the labels (`onkel.mixing`)


@config
class ExponentialWeights(Rule):
    """Exponential weights with an adaptive learning rate and constant regret.

    rate  η > 0, the learning rate; None: 1 for the logistic loss, else adapted to the mixability gap so far. Default: None.
    loss  Square(), or Logistic() for labels ±1 and scores that are log-odds. Default: Square().
    """

    rate: float | None = None
    loss: Loss = Square()

    def __post_init__(self) -> None:
        real(self, "rate", least=1e-100, most=1e100, optional=True)
        check_loss(self)

    def start(self, experts: int, outputs: int) -> State:
        return State(np.zeros((outputs, experts)), np.zeros(outputs), np.zeros(outputs), first_span(self.loss, outputs))

    def step(self, own: State, P: Matrix, Y: Matrix, weight: Vector, awake: Awake, below: list[Matrix], steps: Steps) -> Matrix:
        mixture = np.empty(Y.shape)
        arrays = own.gain, own.gap, own.largest, own.span
        steps.add(_learn, *arrays, P, Y, weight, awake, self.loss.code, own_rate(self), log_count(P.shape[2]), mixture)
        return mixture

    def count(self, own: State, below: list[Matrix], awake: Awake) -> Matrix:
        w = np.empty(own.gain.shape)
        for gain, rate, weights in zip(own.gain, self.rate_now(own), w, strict=True):
            _weigh(gain, rate, awake, weights)
        return w

    def rate_now(self, own: State) -> Vector:
        """η of each output in the next round; 0 until experts have differed."""
        logs = log_count(own.gain.shape[1])
        return np.array([_rate_now(own_rate(self), logs, largest) for largest in own.largest])

    def check_own(self, own: State) -> None:
        if np.any(own.largest < 0.0) or np.any(own.gap > own.largest):
            raise InputError("its gap is larger than its largest gap so far")
        check_span(own.span)


def own_rate(rule: Rule) -> float:
    """The rate that was given, or 1 for the logistic loss; 0 if it is adaptive."""
    rate = getattr(rule, "rate", None)
    if rate is None:
        return 1.0 if isinstance(getattr(rule, "loss", None), Logistic) else 0.0
    return float(rate)


def log_count(experts: int) -> float:
    return math.log(max(experts, 2))


@hot
def _learn(
    gain: Matrix, gap: Vector, largest: Vector, span: Matrix, P: Matrix, Y: Matrix, weight: Vector, awake: Awake,
    code: int, rate: float, logs: float, mixture: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    w, scores, losses = np.empty(experts), np.empty(experts), np.empty(experts)
    for o in range(outputs):
        G = gain[o]
        for t in range(n):
            total = _weigh(G, _rate_now(rate, logs, largest[o]), awake[t], w)
            mixture[t, o] = mix(code, w, P[t, o], awake[t], span[o], scores)
            if weight[t] == 0.0:
                continue
            y = counted(span[o], Y[t, o])
            least, most = lose(code, weight[t], scores, y, awake[t], losses)
            extend(span[o], Y[t, o])
            if largest[o] == 0.0 and most - least > SAME * most:
                largest[o] = most - least
            eta = _rate_now(rate, logs, largest[o])
            if eta == 0.0:
                continue
            mixed = _mixed_loss(G, losses, eta, total, awake[t])
            for k in range(experts):
                if awake[t, k]:
                    G[k] += mixed - losses[k]
            gap[o] += weight[t] * value(code, 0.0, mixture[t, o], y) - mixed
            largest[o] = max(largest[o], gap[o])


@hot_inline
def _mixed_loss(gain: Vector, losses: Vector, eta: float, total: float, awake: Awake) -> float:
    """m = −(1/η) ln (Σ e^(η(G − ℓ)) / Σ e^(ηG)) over the experts awake, accurate also for tiny weights. `total` is what `_weigh`
    has returned."""
    before, after = -np.inf, -np.inf
    for k in range(gain.size):
        if awake[k]:
            before, after = max(before, gain[k]), max(after, gain[k] - losses[k])
    new = 0.0
    for k in range(gain.size):
        if awake[k]:
            new += math.exp(eta * (gain[k] - losses[k] - after))
    return before - after + math.log(total / new) / eta


@hot_inline
def _rate_now(rate: float, logs: float, largest: float) -> float:
    if rate > 0.0 or largest == 0.0:
        return rate
    return min(logs / largest, LARGEST_RATE)


@hot_inline
def _weigh(gain: Vector, eta: float, awake: Awake, w: Vector) -> float:
    """Write the weights of the experts awake, which sum to 1. Returns the sum that they would have if the largest weight were 1."""
    most, total = -np.inf, 0.0
    for k in range(w.size):
        if awake[k]:
            most = max(most, gain[k])
    for k in range(w.size):
        w[k] = math.exp(eta * (gain[k] - most)) if awake[k] else 0.0
        total += w[k]
    for k in range(w.size):
        w[k] /= total
    return total


@hot_inline
def mix(code: int, w: Vector, P: Vector, awake: Awake, span: Vector, scores: Vector) -> float:
    """The mixture of the experts' scores, which are clipped to the span and stored in `scores`."""
    mean = cut_mean(w, P, awake, span, scores)
    return mean if code == SQUARE else mean_log_odds(w, scores)


@hot_inline
def lose(code: int, weight: float, scores: Vector, y: float, awake: Awake, losses: Vector) -> tuple[float, float]:
    """losses ← each expert's loss times the row's weight. Returns the smallest and the largest loss of the experts awake."""
    least, most = np.inf, 0.0
    for k in range(scores.size):
        losses[k] = weight * value(code, 0.0, scores[k], y)
        if awake[k]:
            least, most = min(least, losses[k]), max(most, losses[k])
    return least, most
