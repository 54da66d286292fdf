"""ROMMA from its definition: the least w that still meets its last margin and the one bound that stands for all earlier ones.

    on a mistake, y ≠ sign f(x) (aggressive: where y f(x) < 1):    f ← c f + e k(x, ·), the least g with
    ⟨g, f⟩ = ‖f‖² and g(x) = y:    c = (kN − y f(x)) / D,  e = N (y − f(x)) / D,  D = kN − f(x)²,  N = ‖f‖²,  k = k(x, x)

The first, with f = 0, is y k(x, ·) / k; an aggressive one with y f(x) ≥ kN too, since it meets the bound of all earlier ones by
itself. Nothing is learnt where k = 0, where f and k(x, ·) are parallel, D ≤ 1e-12 kN, or where the relative error of N, as rounding
might have made it, would exceed 1e-10: each step makes it (c²N error + 1e-16 (|c|√N + |e|√k)²)/‖new f‖².
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import passive_aggressive, remembered, supported
from tests.oracle.projection import MIXED, WIDE
from tests.oracle.supported import Round, Rule, Run, Term, moved, norm2

Array = NDArray[np.float64]


def rule(learner: onkel.ROMMA) -> Rule:
    error = 0.0  # of N

    def step(now: Round, N: float, c: float, e: float) -> tuple[list[Term], str]:
        nonlocal error
        terms = [*moved(now.terms, c * now.a), now.term(e)] if c else [now.term(e)]
        after = (c * c * N * error + 1e-16 * (abs(c) * sqrt(N) + abs(e) * sqrt(now.own)) ** 2) / norm2(now.K, terms)
        if after > 1e-10:
            return now.terms, "too uncertain"
        error = after
        return terms, "turned" if c else "first" if N == 0 else "restarted"

    def learnt(now: Round) -> tuple[list[Term], str]:
        if not (now.y * now.f < 1 if learner.aggressive else now.mistaken):
            return now.terms, "passive"
        if now.own == 0:
            return now.terms, "impossible"
        N = norm2(now.K, now.terms)
        if N == 0 or (learner.aggressive and now.y * now.f >= now.own * N):
            return step(now, N, 0.0, now.y / now.own)
        D = now.own * N - now.f**2
        if D / (now.own * N) <= 1e-12:
            return now.terms, "parallel"
        return step(now, N, (now.own * N - now.y * now.f) / D, N * (now.y - now.f) / D)

    return learnt


@remembered
def run(learner: onkel.ROMMA, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight)


def scores(learner: onkel.ROMMA, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


_ALWAYS = {"passive", "first", "turned", "parallel"}
LINEAR = onkel.ROMMA(kernel=onkel.Linear(), aggressive=True)
HOPELESS = onkel.ROMMA(kernel=onkel.Linear())
STAGES = {
    onkel.ROMMA(kernel=onkel.Additive(onkel.Spline(domain=WIDE)), aggressive=True): _ALWAYS | {"restarted"},
    onkel.ROMMA(kernel=onkel.Additive(onkel.Spline(order=0))): _ALWAYS,
    onkel.ROMMA(
        kernel=onkel.Additive(onkel.PeriodicSpline(order=1, domain=(-2.5, 1.5))) + onkel.Delta(0.1), aggressive=True
    ): _ALWAYS,
    onkel.ROMMA(kernel=onkel.Additive(onkel.Brownian(domain=(-0.5, 2.0)))): _ALWAYS | {"impossible"},
    onkel.ROMMA(kernel=MIXED, aggressive=True): _ALWAYS,
    LINEAR: _ALWAYS | {"impossible", "restarted"},
    HOPELESS: _ALWAYS | {"impossible", "too uncertain"},
    onkel.ROMMA(kernel=onkel.Gaussian()): _ALWAYS,
}
SMALL = tuple(STAGES)
learnable = supported.learnable


def stream(config: onkel.ROMMA) -> tuple[Array, Array, Array]:
    """The stream of passive_aggressive.py, but that it begins with a row to learn, the same of the other class, and half of it.

    Where no f tells the classes apart, f grows up to the limit: LINEAR gets labels that some f does.
    """
    X, y, weight = passive_aggressive.stream(config)
    X[:3] = [[1.0], [1.0], [0.5]]
    if config == LINEAR:
        away = np.array([1.0, -2.0, -1.0])
        y = np.where(X @ away >= 0, 1.0, -1.0)
        X += 0.1 * y[:, None] * away * (X != 0)
    y[:3], weight[:3] = [-1.0, 1.0, -1.0], 1.0
    return X, y, weight


def reached(config: onkel.ROMMA, state: Any) -> bool:
    """Whether the stream visited each stage, and the state kept track of ‖f‖ and of the rows passed over."""
    ran = run(config, *stream(config))
    passed = ran.did.count("parallel") + ran.did.count("too uncertain")
    return (
        supported.counted(state, ran, STAGES[config])
        and supported.measured(state, ran)
        and supported.inner(state).skipped == passed
    )
