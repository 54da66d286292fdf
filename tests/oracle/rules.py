"""The mixing rules from their papers' formulas, round by round, one output at a time, with dense matrices and nothing shared.

`mixture(rule, P, Y, weight, awake)` is what `rule.learn` returns from a fresh state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SAME = 1e-11  # relatively: what differs by less is equal
LOG_ODDS = 14.0  # to which log-odds are cut


def mixture(rule: Any, P: Array, Y: Array, weight: Array, awake: Mask) -> Array:
    return np.stack([one(rule, P[:, o], Y[:, o], weight, awake) for o in range(Y.shape[1])], axis=1)


def one(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> Array:
    """The mixtures of one output: p is (n, experts)."""
    by_kind: dict[Any, Any] = {
        onkel.ExponentialWeights: exponential_weights,
        onkel.FixedShare: fixed_share,
        onkel.MLPoly: ml_poly,
        onkel.BOA: boa,
        onkel.Ridge: ridge,
        onkel.Stacking: stacking,
        onkel.Layered: layered,
    }
    return np.array(by_kind[type(rule)](rule, p, y, weight, awake))


def rounds(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> Iterator[tuple[Array, Mask, float, float]]:
    """Of each row: its scores as cut to the labels before it, who is awake, its label as it counts, its weight."""
    known: list[float] = []
    logistic = isinstance(getattr(rule, "loss", None), onkel.Logistic)
    for scores, who, label, w in zip(p, awake, y, weight, strict=True):
        if logistic:
            yield np.clip(scores, -LOG_ODDS, LOG_ODDS), who, label, w
            continue
        low, high = (min(known), max(known)) if known else (-np.inf, np.inf)
        width = high - low if known else 0.0
        yield np.clip(scores, low, high), who, float(np.clip(label, low - width, high + width)) if width > 0 else label, w
        if w > 0:
            known.append(label)


def differs(scores: Array, mean: float) -> Mask:
    return np.abs(mean - scores) > SAME * (abs(mean) + np.abs(scores))


def loss_of(rule: Any, f: Any, label: float) -> Any:
    return np.log1p(np.exp(-label * f)) if isinstance(rule.loss, onkel.Logistic) else (f - label) ** 2


def loss_code(rule: Any, f: float, label: float) -> float:
    return -label / (1 + math.exp(label * f)) if isinstance(rule.loss, onkel.Logistic) else 2 * (f - label)


def mean_of(rule: Any, weights: Array, scores: Array) -> float:
    """The mean score, or the log-odds of the mean probability."""
    if isinstance(rule.loss, onkel.Logistic):
        chance = float(weights @ (1 / (1 + np.exp(-scores))))
        return math.log(chance / (1 - chance))
    return float(scores[0] + weights @ (scores - scores[0]))


def exponential_weights(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """w ∝ e^(ηG) with G the sum of m − ℓ; η given, 1 for the logistic loss, or ln K / max D with D the sum of ℓ(ŷ) − m."""
    K = p.shape[1]
    gain, gap, largest, out = np.zeros(K), 0.0, 0.0, []
    fixed = rule.rate or (1.0 if isinstance(rule.loss, onkel.Logistic) else None)
    for scores, who, label, w in rounds(rule, p, y, weight, awake):
        eta = fixed or (math.log(max(K, 2)) / largest if largest else 0.0)
        raw = np.where(who, np.exp(eta * (gain - gain[who].max())), 0.0)
        weights = raw / raw.sum()
        out.append(mean_of(rule, weights, scores))
        if w == 0:
            continue
        losses = w * loss_of(rule, scores, label)
        if not largest:
            largest = float(np.ptp(losses[who]) if np.ptp(losses[who]) > SAME * losses[who].max() else 0.0)
        eta = fixed or (math.log(max(K, 2)) / largest if largest else 0.0)
        if eta:
            mixed = -math.log(float(weights @ np.exp(-eta * losses))) / eta
            gain = np.where(who, gain + mixed - losses, gain)
            gap += w * loss_of(rule, out[-1], label) - mixed
            largest = max(largest, gap)
    return out


def fixed_share(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """Those awake share what they have, by e^(−ηℓ), and give back α of it; η given, 1, or 0.5 over the fading mean loss."""
    shares, lost, rows, out = np.full(p.shape[1], 1 / p.shape[1]), 0.0, 0.0, []
    fixed = rule.rate or (1.0 if isinstance(rule.loss, onkel.Logistic) else None)
    for scores, who, label, w in rounds(rule, p, y, weight, awake):
        mass = shares[who].sum()
        weights = np.where(who, shares, 0.0) / mass
        out.append(mean_of(rule, weights, scores))
        if w == 0:
            continue
        lost, rows = 0.998 * lost + w * loss_of(rule, out[-1], label), 0.998 * rows + w
        if not fixed and lost == 0:
            continue
        eta = fixed or 0.5 * rows / lost
        raw = weights * np.exp(-eta * w * loss_of(rule, scores, label))
        shares = np.where(who, mass * ((1 - rule.share) * raw / raw.sum() + rule.share / who.sum()), shares)
    return out


def ml_poly(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """w ∝ η (R)₊ with 1/η = b² + Σ r²; a round beyond b counts as one of size b."""
    regret, squares, b, out = np.zeros(p.shape[1]), np.zeros(p.shape[1]), 0.0, []
    for scores, who, label, w in rounds(rule, p, y, weight, awake):
        raw = np.where(who & (regret > 0), regret / (b**2 + squares), 0.0) if b else np.zeros(p.shape[1])
        weights = raw / raw.sum() if raw.any() else who / who.sum()
        out.append(float(scores[0] + weights @ (scores - scores[0])))
        if w > 0:
            r = np.where(who & differs(scores, out[-1]), w * loss_code(rule, out[-1], label) * (out[-1] - scores), 0.0)
            if np.abs(r).max() > b:
                r, b = r * b / np.abs(r).max(), np.abs(r).max()
            regret, squares = regret + r, squares + r**2
    return out


def boa(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """w ∝ η e^(η Σ (r − ηr²)) with η = min(1/2b, √(ln K/Σ r²)); a round beyond b counts as one of size b."""
    K = p.shape[1]
    regret, squares, b, out = np.zeros(K), np.zeros(K), 0.0, []
    for scores, who, label, w in rounds(rule, p, y, weight, awake):
        eta = np.ones(K)
        if b:
            eta = np.array([min(0.5 / b, math.sqrt(math.log(max(K, 2)) / V) if V else np.inf) for V in squares])
        raw = np.where(who, eta * np.exp(eta * regret), 0.0)
        weights = raw / raw.sum()
        out.append(float(scores[0] + weights @ (scores - scores[0])))
        if w > 0:
            r = np.where(who & differs(scores, out[-1]), w * loss_code(rule, out[-1], label) * (out[-1] - scores), 0.0)
            if np.abs(r).max() > b:
                r, b = r * b / np.abs(r).max(), np.abs(r).max()
            regret, squares = regret + r - eta * r**2, squares + r**2
    return out


def ridge(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """ŷ = pᵀ(A + ppᵀ)⁻¹b; after a row A ← μA + λ(1 − μᴷ)e_j e_jᵀ and b ← μb."""
    K, mu = p.shape[1], rule.forgetting
    A, b, t, out = rule.lam * np.eye(K), np.zeros(K), 0, []
    for row, who, label, w in zip(p, awake, y, weight, strict=True):
        v = np.where(who, row, 0.0)
        out.append(float(v @ np.linalg.solve(A + np.outer(v, v), b)))
        if w > 0:
            A, b = mu * (A + w * np.outer(v, v)), mu * (b + w * label * v)
            A[t % K, t % K] += rule.lam * (1 - mu**K)
            t += 1
    return out


def stacking(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> list[float]:
    """The same of y − q on p − q, q the prior's mixture; the ridge is λ times a variance of the labels that follows it upwards."""
    K, mu, prior = p.shape[1], rule.forgetting, one(rule.prior, p, y, weight, awake)
    A, b, unit, out = np.zeros((K, K)), np.zeros(K), 0.0, []
    labels: list[float] = []
    for q, (scores, who, label, w) in zip(prior, rounds(rule, p, y, weight, awake), strict=True):
        v = np.where(who, scores - q, 0.0)
        out.append(q + float(v @ np.linalg.solve(A + np.outer(v, v), b)) if unit else q)
        if w > 0:
            if unit:
                A, b = mu * (A + w * np.outer(v, v)), mu * (b + w * (label - q) * v)
                A[len(labels) % K, len(labels) % K] += rule.lam * unit * (1 - mu**K)
            labels.append(label)
            if np.var(labels) > 2 * unit:
                A, unit = A + rule.lam * (np.var(labels) - unit) * np.eye(K), float(np.var(labels))
    return out


def layered(rule: Any, p: Array, y: Array, weight: Array, awake: Mask) -> Array:
    inner = np.stack([one(part, p, y, weight, awake) for part in rule.rules], axis=1)
    return one(rule.outer, inner, y, weight, np.ones(inner.shape, dtype=bool))
