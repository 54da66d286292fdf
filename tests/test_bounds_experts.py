"""The mixing rules lose no more than their bounds say, on streams that are easy, that change, and that are chosen against them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import onkel
from onkel import BOA, ExponentialWeights, FixedShare, Layered, Logistic, MLPoly, Ridge, Square, Stacking
from onkel.measure import bounds
from onkel.mixing import counted, extend
from tests.repetition import others_are_long

pytestmark = pytest.mark.once

Array = NDArray[np.float64]

RULES: list[tuple[Any, Any]] = [
    (ExponentialWeights(), bounds.exponential_weights),
    (ExponentialWeights(rate=2.0), bounds.exponential_weights),
    (FixedShare(), bounds.fixed_share),
    (FixedShare(rate=0.5, share=0.002), bounds.fixed_share),
    (MLPoly(), bounds.ml_poly),
    (BOA(), bounds.boa),
    (Layered((FixedShare(), BOA(), Stacking(MLPoly())), outer=MLPoly()), bounds.layered),
    (ExponentialWeights(loss=Logistic()), bounds.exponential_weights),
    (FixedShare(loss=Logistic()), bounds.fixed_share),
    (MLPoly(Logistic()), bounds.ml_poly),
    (BOA(Logistic()), bounds.boa),
]
KINDS = ("plain", "change", "chosen", "rising", "absurd")
SEEDS = 200 // len(KINDS)
some_seeds = pytest.mark.parametrize("seeds", others_are_long([range(8), range(8, SEEDS)], [range(8)]))


def stream(kind: str, seed: int, rule: Any, rows: int = 40) -> tuple[Array, Array]:
    """The scores of two to five experts, and labels; those that are `chosen` lie where the rule does not expect them."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    experts = int(rng.integers(2, 6))
    y = rng.normal(size=rows) * rng.choice([0.1, 1.0, 30.0]) + rng.choice([0.0, 5.0])
    P = y[:, None] * rng.uniform(0.3, 1.2, experts) + rng.normal(size=(rows, experts)) * rng.uniform(0.1, 2.0, experts)
    if kind == "change":
        P[rows // 2 :] = P[rows // 2 :, rng.permutation(experts)]
        y[rows // 2 :] += 3.0
    if kind == "rising":
        P, y = P + np.arange(rows)[:, None], y * 1.1 ** np.arange(rows) + np.arange(rows)
    if kind == "absurd":
        y[rng.integers(rows, size=2)] *= 1e3
    if "regression" not in rule.tasks:
        y = np.where(y > np.median(y), 1.0, -1.0)
    if kind == "chosen":
        state, P = rule.init(experts), rng.uniform(-1.0, 1.0, size=(rows, experts))
        for t in range(rows):
            row, everybody = P[t : t + 1, None], np.ones((1, experts), dtype=bool)
            y[t] = -1.0 if rule.predict(state, row, everybody)[0, 0] > 0.0 else 1.0
            rule.learn(state, row, y[t : t + 1, None].copy(), np.ones(1), everybody)
    return P, y


def mixture(rule: Any, P: Array, y: Array) -> Array:
    ones, everybody = np.ones(len(y)), np.ones(P.shape, dtype=bool)
    scores: Array = rule.learn(rule.init(P.shape[1]), P[:, None].copy(), y[:, None].copy(), ones, everybody)[:, 0]
    return scores


def cut(rule: Any, P: Array, y: Array) -> Array:
    """The scores as the rule sees them."""
    if "regression" not in rule.tasks:
        return np.clip(P, -14.0, 14.0)
    low, high = np.minimum.accumulate(y)[:-1, None], np.maximum.accumulate(y)[:-1, None]
    return np.vstack([P[:1], np.clip(P[1:], low, high)])


def loss_of(rule: Any) -> Any:
    return getattr(rule, "loss", Square())


def best_sequence(losses: Array, switches: int) -> float:
    """The least that a sequence of experts loses that changes so many times at most."""
    least = np.full((switches + 1, losses.shape[1]), np.inf)
    least[0] = 0.0
    for row in losses:
        changed = np.vstack([np.full(losses.shape[1], np.inf), np.repeat(least[:-1].min(axis=1)[:, None], losses.shape[1], axis=1)])
        least = np.minimum(least, changed) + row
    return float(least.min())


def slack(*numbers: float) -> float:
    return 1e-8 * (1.0 + max(map(abs, numbers)))


@some_seeds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rule", "bound"), RULES, ids=[f"{r!r:.40}" for r, _ in RULES])
def test_regret_to_the_best_expert(rule: Any, bound: Any, kind: str, seeds: range) -> None:
    for seed in seeds[:: 4 if isinstance(rule, Layered) else 1]:
        P, y = stream(kind, seed, rule)
        loss = loss_of(rule)
        own = float(np.sum(loss(mixture(rule, P, y), y)))
        losses = np.stack([loss(scores, y) for scores in cut(rule, P, y).T], axis=1)
        best, term = float(losses.sum(axis=0).min()), bound(rule, P, y)
        assert own <= best + term + slack(own, best)
        if isinstance(rule, FixedShare):
            assert own <= best_sequence(losses, 3) + bounds.fixed_share(rule, P, y, switches=3) + slack(own, best)
        if rule == ExponentialWeights():
            assert term <= known_beforehand(P, y) + slack(own, best)
        if "regression" in rule.tasks:
            raw = float(np.sum((P - y[:, None]) ** 2, axis=0).min())
            assert own <= raw + term + bounds.cutting(y) + slack(own, best, raw)
            assert bounds.cutting(y) <= np.ptp(y) ** 2 * (1.0 + 1e-12)


def known_beforehand(P: Array, y: Array) -> float:
    """2(1 + 2 ln K)E², and what labels that count as less cost."""
    span, counts = np.zeros(3), y.copy()
    for t, label in enumerate(y):
        counts[t] = counted(span, label)
        extend(span, label)
    scores = cut(ExponentialWeights(), P, y)
    far = float(np.max(np.abs(scores - counts[:, None])))
    beyond = 2.0 * np.abs(y - counts) @ np.ptp(scores, axis=1)
    return 2.0 * (1.0 + 2.0 * math.log(P.shape[1])) * far**2 + float(beyond)


@some_seeds
@pytest.mark.parametrize("kind", KINDS)
def test_regret_to_the_best_fixed_combination(kind: str, seeds: range) -> None:
    for seed in seeds:
        for rule in (Ridge(lam=0.3), Stacking(MLPoly(), lam=0.1), Stacking(FixedShare(), lam=10.0)):
            P, y = stream(kind, seed, rule)
            own, scores = float(np.sum((mixture(rule, P, y) - y) ** 2)), P if isinstance(rule, Ridge) else cut(rule, P, y)
            for theta in combinations(scores, y, affine=not isinstance(rule, Ridge)):
                bound: Any = bounds.ridge if isinstance(rule, Ridge) else bounds.stacking
                theirs = float(np.sum((scores @ theta - y) ** 2))
                assert own <= theirs + bound(rule, P, y, theta) + slack(own, theirs)


def combinations(P: Array, y: Array, affine: bool) -> list[Array]:
    """The best, with a little ridge and with much; and the best expert."""
    found = [np.eye(P.shape[1])[np.argmin(np.sum((P - y[:, None]) ** 2, axis=0))]]
    for ridge in (1e-6, 1.0):
        base, V = (P[:, 0], P[:, 1:] - P[:, :1]) if affine else (np.zeros(len(y)), P)
        theta = np.linalg.solve(V.T @ V + ridge * np.eye(V.shape[1]), V.T @ (y - base))
        found.append(np.concatenate([[1.0 - theta.sum()], theta]) if affine else theta)
    return found


def test_regret_of_layers_to_a_combination() -> None:
    rule = Layered((FixedShare(), Stacking(FixedShare()), Layered((Stacking(MLPoly(), lam=0.1), MLPoly()))), outer=BOA())
    for kind in KINDS:
        P, y = stream(kind, 1, rule)
        own, scores = float(np.sum((mixture(rule, P, y) - y) ** 2)), cut(rule, P, y)
        for theta in combinations(scores, y, affine=True):
            theirs = float(np.sum((scores @ theta - y) ** 2))
            assert own <= theirs + bounds.layered(rule, P, y, theta) + slack(own, theirs)


PROMISING = [*RULES[:7], (Stacking(MLPoly()), bounds.stacking)]


@pytest.mark.parametrize(("rule", "bound"), PROMISING, ids=[f"{rule!r:.40}" for rule, _ in PROMISING])
def test_the_bounds_promise_something(rule: Any, bound: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.uniform(-1.0, 1.0, size=1500)
    P = y[:, None] + rng.normal(size=(1500, 3)) * [0.05, 0.7, 0.7]
    scores = cut(rule, P, y)
    best, mean = float(np.sum((scores[:, 0] - y) ** 2)), float(np.sum((scores.mean(axis=1) - y) ** 2))
    term = bound(rule, P, y, *([[1.0, 0.0, 0.0]] if isinstance(rule, Stacking) else []))
    assert best + term < mean


def test_what_has_no_bound() -> None:
    P, y = stream("plain", 0, MLPoly())
    forgetful: list[tuple[Any, Any]] = [(Ridge(forgetting=0.9), bounds.ridge), (Stacking(forgetting=0.9), bounds.stacking)]
    for rule, bound in forgetful:
        with pytest.raises(onkel.InputError, match="never forgets"):
            bound(rule, P, y, np.eye(P.shape[1])[0])
    with pytest.raises(onkel.InputError, match="sum to 1"):
        bounds.stacking(Stacking(), P, y, np.ones(P.shape[1]))
    with pytest.raises(onkel.InputError, match="one finite weight for each"):
        bounds.layered(Layered(), P, y, [1.0])
    assert bounds.layered(Layered((Ridge(), Stacking(forgetting=0.9))), P, y) == math.inf
    assert bounds.ml_poly(MLPoly(), P[:0], y[:0]) == 0.0
