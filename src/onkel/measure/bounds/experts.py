"""Upper bounds on the regret of the mixing rules: R = Σℓ(ŷ, y) − Σℓ(c, y), where c are the scores of an expert, a sequence of
experts, or a combination of experts.

The experts' scores P have shape (rows, experts) and the labels y have shape (rows,): there is one output, rows have weight 1, and
all experts are awake.

The bounds are for the scores that the rule uses, which are clipped to the span of the labels before the row (`onkel.mixing`); the
scores of the first row are not clipped. The regret to experts with unclipped scores is larger by at most `cutting(y)`. A label y
that is outside the span by more than the span's width is replaced by a nearer y'. This costs at most 2|y − y'||ŷ − c|; all bounds
include this cost.

The bounds depend on the stream: each function runs the rule on it and uses its rates, gaps and squares. If a bound does not need a
run, its docstring says so. `so_far` runs nothing: it uses the sums in a rule's state.

The papers are named in the files of the rules (`onkel.combine.rules`).

>>> rng = np.random.default_rng(0)
>>> y = rng.normal(size=500)
>>> P = y[:, None] + rng.normal(size=(500, 3)) * [0.5, 1.0, 2.0]  # three experts, the first is the best
>>> [round(bound) for bound in (ml_poly(onkel.MLPoly(), P, y), layered(onkel.Layered(), P, y))]
[-8, -2]
>>> round(exponential_weights(onkel.ExponentialWeights(), P, y))
-3
>>> [round(fixed_share(onkel.FixedShare(), P, y, switches)) for switches in (0, 1, 10)]  # against experts that take turns
[11, 20, 103]
>>> half = [0.5, 0.5, 0.0]  # against a combination
>>> round(stacking(onkel.Stacking(), P, y, half)), round(ridge(onkel.Ridge(), P, y, half))
(5, 310)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_labelled
from onkel._types import Matrix, Vector
from onkel.combine.rules import BOA, ExponentialWeights, FixedShare, Layered, MLPoly, Ridge, Rule, Stacking
from onkel.combine.rules.exponential_weights import log_count
from onkel.combine.rules.regression import LEFT, PAID, UNIT, Fit
from onkel.combine.rules.regrets import Regrets
from onkel.combine.rules.rule import State
from onkel.errors import InputError
from onkel.losses import Square
from onkel.mixing import counted, ends
from onkel.state import copied

WEIGHTS_TOLERANCE = 1e-9  # allowed difference between the sum of a combination's weights and 1


def exponential_weights(rule: ExponentialWeights, P: ArrayLike, y: ArrayLike) -> float:
    """The bound on the regret against the best of K experts: D + ln K/η, where D is the mixability gap and η the last rate.

    D, Δ and E are defined in `onkel.combine.rules.exponential_weights`. If the rate is adaptive, η = ln K/Δ, so this is D + Δ,
    which is at most 2(1 + 2 ln K)E² if K ≥ 2 and all residuals |y' − p| of experts are at most E (y' as in the header). If the rate
    is fixed, D ≤ 0 for η ≤ 1/2E² (square loss) or η ≤ 1 (logistic loss).
    """
    return _against_best(rule, P, y)


def fixed_share(rule: FixedShare, P: ArrayLike, y: ArrayLike, switches: int = 0) -> float:
    """The bound on the regret against the best sequence of experts with at most this many switches:

        ln K h_1 + ln(K/α) [Σ (h_{t+1} − h_t)₊ + switches · max h] + ln(1/(1 − α)) Σ h_t + Σ δ_t

    where η_t is the rate in round t, h_t = 1/η_t, α is the rule's `share`, and δ_t is the mixability gap of round t. If the rate is
    fixed, this is Herbster & Warmuth's bound, which does not depend on the stream: h is constant, and all δ_t ≤ 0 for η ≤ 1/2E² (E
    as in `exponential_weights`).

    Proof for a rate that varies: let v_k be the weight of expert k, ℓ_t the loss of this expert, and m_t that of the mixture minus
    δ_t. Since v_k ≥ α/K in every round, Σ η_t(m_t − ℓ_t) ≤ ln(K/α) + n ln(1/(1 − α)) over any n consecutive rounds. Σ (m_t − ℓ_t)
    is the integral over u of such sums over the rounds with h_t > u. These rounds form intervals, and a new interval begins
    whenever h rises above u.
    """
    if switches < 0:
        raise InputError(f"switches must be at least 0, got {switches}")
    return _against_best(rule, P, y, switches)


def ml_poly(rule: MLPoly, P: ArrayLike, y: ArrayLike) -> float:
    """The bound on the regret against the best expert: √(S(b² + V)) + b − Σ(ŷ − p)².

    p and V are this expert's scores and the sum of its squared regrets, b and V as in `onkel.combine.rules.ml_poly`; ŷ are the
    scores of the mixture.

    The last term is for the square loss. For another loss it is the regret minus the regret for the linearised loss. S = Σ_t Σ_k
    r̃_k²/(b² + V_k) with b and V_k before the round, and r̃_k, the regret to expert k in the round, as in the file of the rule. It
    is at most Σ_k ln(1 + V_k/b_1²)/ln 2, where b_1 is the first b that is not 0.
    """
    return _against_best(rule, P, y)


def boa(rule: BOA, P: ArrayLike, y: ArrayLike) -> float:
    """The bound on the regret against the best expert: (ln K + ln(1 + C/eK))/η + Σ η_t r̃_t² + b − Σ(ŷ − p)².

    η, r̃ and p are this expert's rate, regrets and scores, and b is the largest |regret| of a round so far, all as in
    `onkel.combine.rules.boa`; the last term is as in `ml_poly`. e is Euler's number. C = Σ_k Σ_t (η_{k,t}/η_{k,t+1} − 1) is the
    total relative decrease of all rates.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=500)
    >>> P = y[:, None] + rng.normal(size=(500, 3)) * [0.5, 1.0, 2.0]  # three experts, the first is the best
    >>> bound = onkel.measure.bounds.boa(onkel.BOA(), P, y)
    >>> rule = onkel.BOA()
    >>> mixture = rule.learn(rule.init(experts=3), P[:, None, :], y[:, None], np.ones(500), np.ones((500, 3), dtype=bool))
    >>> bool(np.sum((mixture[:, 0] - y) ** 2) - np.sum((P[:, 0] - y) ** 2) <= bound)
    True
    """
    return _against_best(rule, P, y)


def ridge(rule: Ridge, P: ArrayLike, y: ArrayLike, weights: ArrayLike) -> float:
    """The bound on the regret against Pθ, for fixed weights θ that need not sum to 1: λ‖θ‖² + B² ln det(I + PᵀP/λ).

    B is the largest |y|. The rule is not run. Conditions: forgetting = 1.
    """
    scores, labels = _stream(P, y)
    _never_forgets(rule)
    theta = _weights(weights, scores)
    log_det = float(np.linalg.slogdet(np.eye(len(theta)) + scores.T @ scores / rule.lam)[1])
    return rule.lam * float(theta @ theta) + float(np.max(labels**2, initial=0.0)) * log_det


def stacking(rule: Stacking, P: ArrayLike, y: ArrayLike, weights: ArrayLike) -> float:
    """The bound on the regret against Σ θ_k p_k, for fixed weights θ that sum to 1: λs²‖θ‖² + Σ (y' − q)²x/(1 + x) + (y_1 − q_1)².

    y' is the label that the rule uses (see the header), q is the prior's mixture, and s² is the rule's last estimate of the
    variance of the labels. x = vᵀA⁻¹v, where v_k = p_k − q, and A contains the rows before and the ridge of that round. If s² never
    grew, the second term is at most B² ln det(I + Σ v vᵀ/λs²) with B the largest |y' − q|, as in Proposition 1 of Jézéquel,
    Gaillard & Rudi (2019). The last term is the loss of the first row, before which nothing is known. Conditions: forgetting = 1.
    """
    scores, labels = _stream(P, y)
    theta = _affine(weights, scores)
    _never_forgets(rule)
    return float(_stacking(rule, _learnt(rule, scores, labels)[1].parts[-1], 0)(theta))


def layered(rule: Layered, P: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> float:
    """The bound on the regret against the best expert; if `weights` are given, which must sum to 1, against this fixed combination.

    The bound is the minimum, over all inner rules, of the outer rule's bound against the inner rule plus the inner rule's own
    bound. If the mixtures of an inner rule can leave the span of the labels, as those of stacking can, `cutting(y)` is added. The
    bound is infinite if no inner rule has one.
    """
    scores, labels = _stream(P, y)
    theta = None if weights is None else _affine(weights, scores)
    return _layered(rule, scores, labels, _best(rule, scores, labels) if theta is None else -1, theta)


def cutting(y: ArrayLike) -> float:
    """Σ δ², where δ is the distance of a label from the span of the labels before it. It is at most (largest − smallest)².

    In the square loss, clipping scores to the span of the labels adds at most this to the total loss.

    >>> onkel.measure.bounds.cutting([1.0, 2.0, 0.0, 1.5])  # 2 is 1 above the span of those before it, 0 is 1 below
    2.0
    """
    labels = np.asarray(y, dtype=float)
    high, low = np.maximum.accumulate(labels)[:-1], np.minimum.accumulate(labels)[:-1]
    return float(np.sum(np.maximum(np.maximum(labels[1:] - high, low - labels[1:]), 0.0) ** 2))


@dataclass(frozen=True)
class Quadratic:
    """ridge ‖θ‖² + tilt·θ + constant: an upper bound on a rule's regret to the combination θ."""

    ridge: float
    tilt: Vector  # (experts,)
    constant: float

    def __call__(self, theta: Vector) -> float:
        return float(self.ridge * (theta @ theta) + self.tilt @ theta + self.constant)

    def plus(self, more: float) -> Quadratic:
        return replace(self, constant=self.constant + more)


@dataclass(frozen=True)
class SoFar:
    """Bounds on the regret of one output of a rule, for the square loss and rows of any weight."""

    experts: Vector  # (experts,)  regret to each expert that was awake in every row; infinite if no bound is known
    # bounds on the regret to fixed combinations of these experts, with weights of sum 1; each of them holds
    combinations: tuple[Quadratic, ...] = ()


def so_far(rule: Rule, state: State, output: int = 0) -> SoFar:
    """The bounds of `ml_poly`, `stacking` and `layered`, computed only from sums in the state.

    Stacking with forgetting, and all other rules, have no such sums in their states, so their bounds are infinite. The outer rule
    clips the mixture of a stacking to the span; the cost of this is included in `Quadratic.constant`.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=500)
    >>> P = y[:, None] + rng.normal(size=(500, 3)) * [0.5, 1.0, 2.0]
    >>> rule = onkel.MLPoly()
    >>> state = rule.init(experts=3)
    >>> mixture = rule.learn(state, P[:, None, :], y[:, None], np.ones(500), np.ones((500, 3), dtype=bool))
    >>> bool(np.sum((mixture[:, 0] - y) ** 2) - np.sum((P[:, 0] - y) ** 2) <= so_far(rule, state).experts[0])
    True
    """
    return _so_far(rule, dict(zip(rule.order, state.parts, strict=True)), state.experts, output)


def _so_far(rule: Rule, parts: dict[Rule, Any], experts: int, o: int) -> SoFar:
    own = parts[rule]
    if isinstance(rule, Layered):
        outer, each = so_far(rule.outer, own, o).experts, [_so_far(inner, parts, experts, o) for inner in rule.rules]
        combinations = tuple(one.plus(float(more)) for more, inner in zip(outer, each, strict=True) for one in inner.combinations)
        return SoFar(np.min([more + inner.experts for more, inner in zip(outer, each, strict=True)], axis=0), combinations)
    if isinstance(rule, MLPoly) and isinstance(rule.loss, Square):
        return SoFar(_poly(own, o))
    if isinstance(rule, Stacking) and rule.forgetting == 1.0:
        found = _stacking(rule, own, o).plus(float(own.about[o, LEFT]))
        return SoFar(np.array([found(theta) for theta in np.eye(experts)]), (found,))
    return SoFar(np.full(experts, np.inf))


def _poly(own: Regrets, o: int) -> Vector:
    b = own.largest[o]
    return np.asarray(np.sqrt(own.paid[o].sum() * (b**2 + own.squares[o])) + b + own.curved[o])


def _stacking(rule: Stacking, own: Fit, o: int) -> Quadratic:
    return Quadratic(float(rule.lam * own.about[o, UNIT]), own.beyond[o], float(own.about[o, PAID]))


@dataclass(frozen=True)
class _Played:
    """The rounds of a rule: its inputs, its mixtures, and its own part of the state before each round and after the last one."""

    scores: Matrix  # (rows, experts), clipped
    labels: Vector
    counts: Vector  # the labels y' that the rule uses
    mixture: Vector
    weights: Matrix  # (rows, experts)
    parts: list[Any]


def _play(rule: Rule, P: Matrix, y: Vector) -> _Played:
    state = rule.init(P.shape[1])
    cut, counts, mixture, weights, parts = P.copy(), y.copy(), np.empty(len(y)), np.empty(P.shape), []
    one, everybody = np.ones(1), np.ones((1, P.shape[1]), dtype=bool)
    for t in range(len(y)):
        own = copied(state.parts[-1])
        parts.append(own)
        if hasattr(own, "span"):
            cut[t] = np.clip(P[t], *ends(own.span[0]))
            counts[t] = counted(own.span[0], y[t])
        weights[t] = rule.weights(state)[0]
        mixture[t] = rule.learn(state, P[t : t + 1, None], y[t : t + 1, None], one, everybody)[0, 0]
    return _Played(cut, y, counts, mixture, weights, [*parts, state.parts[-1]])


def _learnt(rule: Rule, P: Matrix, y: Vector) -> tuple[Vector, State]:
    """The mixture of each row, and the state after the last row."""
    state, everybody = rule.init(P.shape[1]), np.ones(P.shape, dtype=bool)
    return rule.learn(state, np.ascontiguousarray(P[:, None]), y[:, None].copy(), np.ones(len(y)), everybody)[:, 0], state


def _best(rule: Rule, P: Matrix, y: Vector) -> int:
    """The index of the expert with the least loss. Scores are clipped as by the first rule in `order`; all rules clip them
    alike."""
    first = rule.order[0]
    return int(np.argmin(_losses(first, _play(first, P, y))))


def _losses(rule: Any, played: _Played) -> Vector:
    return np.array([float(np.sum(_loss(rule)(scores, played.labels))) for scores in played.scores.T])


def _loss(rule: Any) -> Any:
    return getattr(rule, "loss", Square())


def _against_best(rule: Rule, P: ArrayLike, y: ArrayLike, switches: int = 0) -> float:
    scores, labels = _stream(P, y)
    if not len(labels):
        return 0.0
    played = _play(rule, scores, labels)
    return _convex(rule, played, int(np.argmin(_losses(rule, played))), switches)


def _convex(rule: Any, played: _Played, k: int, switches: int = 0) -> float:
    """The bound of a rule with convex weights, against expert k; if there are `switches`, against any sequence of experts."""
    return _TERMS[type(rule)](rule, played, k, switches)


def _beyond(played: _Played, k: int, switches: int) -> float:
    """The cost of labels that the rule replaces by nearer ones."""
    excess = 2.0 * np.abs(played.labels - played.counts)[:, None] * np.abs(played.mixture[:, None] - played.scores)
    return float(np.sum(excess.max(axis=1) if switches else excess[:, k]))


def _exponential_term(rule: ExponentialWeights, played: _Played, k: int, switches: int) -> float:
    own, experts = played.parts[-1], played.scores.shape[1]
    rate = float(rule.rate_now(own)[0])
    return float(own.gap[0]) + (math.log(experts) / rate if rate > 0.0 else 0.0) + _beyond(played, k, switches)


def _share_term(rule: FixedShare, played: _Played, k: int, switches: int) -> float:
    rates = np.array([rule.rate_last(own)[0] for own in played.parts[1:]])
    moves = rates > 0.0
    if not moves.any():
        return _beyond(played, k, switches)
    h, w, K, alpha = 1.0 / rates[moves], played.weights[moves], played.scores.shape[1], rule.share
    losses = np.stack([_loss(rule)(scores[moves], played.counts[moves]) for scores in played.scores.T], axis=1)
    least = losses.min(axis=1)
    mixed = least - h * np.log(np.sum(w * np.exp(-(losses - least[:, None]) / h[:, None]), axis=1))
    gaps = _loss(rule)(played.mixture[moves], played.counts[moves]) - mixed
    rises = float(np.sum(np.maximum(np.diff(h), 0.0))) + switches * float(h.max())
    kept = float(np.sum(h)) * -math.log1p(-alpha) if alpha < 1.0 else math.inf
    return math.log(K) * float(h[0]) + math.log(K / alpha) * rises + kept + float(np.sum(gaps)) + _beyond(played, k, switches)


def _squares(played: _Played) -> tuple[Vector, Matrix]:
    """b and V before each round and after the last one."""
    return np.array([own.largest[0] for own in played.parts]), np.array([own.squares[0] for own in played.parts])


def _poly_term(rule: MLPoly, played: _Played, k: int, switches: int) -> float:
    return float(_poly(played.parts[-1], 0)[k])


def _boa_term(rule: BOA, played: _Played, k: int, switches: int) -> float:
    b, V = _squares(played)
    known = b > 0.0
    own = played.parts[-1]
    if not known.any():
        return float(own.curved[0, k])
    b, V, K = b[known], V[known], V.shape[1]
    root = np.sqrt(log_count(K) / np.where(V > 0.0, V, 1.0))
    eta = np.minimum(0.5 / b[:, None], np.where(V > 0.0, root, np.inf))
    fallen = float(np.sum(eta[:-1] / eta[1:] - 1.0)) / (math.e * K)
    still = (math.log(K) + math.log1p(fallen)) / float(eta[-1, k])
    return still + float(own.paid[0, k] + b[-1] + own.curved[0, k])


def _layered(rule: Layered, P: Matrix, y: Vector, k: int, theta: Vector | None) -> float:
    mixtures = np.stack([_learnt(inner, P, y)[0] for inner in rule.rules], axis=1)
    each = enumerate(rule.rules)
    return min(_against(rule.outer, mixtures, y, i, None) + _against(inner, P, y, k, theta) for i, inner in each)


def _against(rule: Rule, P: Matrix, y: Vector, k: int, theta: Vector | None) -> float:
    """The bound of the rule's mixtures, clipped to the span: against the combination θ if it is given, otherwise against expert
    k."""
    if isinstance(rule, Layered):
        return _layered(rule, P, y, k, theta)
    if isinstance(rule, Stacking) and rule.forgetting == 1.0:
        return stacking(rule, P, y, np.eye(P.shape[1])[k] if theta is None else theta) + cutting(y)
    if theta is None and type(rule) in _TERMS:
        return _convex(rule, _play(rule, P, y), k)
    return math.inf


_TERMS: dict[Any, Callable[[Any, _Played, int, int], float]] = {
    ExponentialWeights: _exponential_term,
    FixedShare: _share_term,
    MLPoly: _poly_term,
    BOA: _boa_term,
}


def _stream(P: ArrayLike, y: ArrayLike) -> tuple[Matrix, Vector]:
    scores = np.asarray(P)
    if scores.ndim != 2:
        raise InputError(f"P must have two dimensions (rows, experts), got shape {scores.shape}")
    rows, labels, _ = check_labelled(scores, y, scores.shape[1], 1)
    return rows, labels[:, 0]


def _weights(weights: ArrayLike, P: Matrix) -> Vector:
    theta = np.asarray(weights, dtype=float)
    if theta.shape != (P.shape[1],) or not np.isfinite(theta).all():
        raise InputError(f"there must be one finite weight for each of the {P.shape[1]} experts, got {weights!r:.200}")
    return theta


def _affine(weights: ArrayLike, P: Matrix) -> Vector:
    theta = _weights(weights, P)
    if abs(theta.sum() - 1.0) > WEIGHTS_TOLERANCE:
        raise InputError(f"the weights must sum to 1, got {theta.sum():g}")
    return theta


def _never_forgets(rule: Ridge | Stacking) -> None:
    if rule.forgetting < 1.0:
        raise InputError(f"the bound is for a rule that never forgets (forgetting=1), got {rule.forgetting:g}")
