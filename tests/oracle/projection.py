"""The projections from their definitions: f ← the nearest f that agrees with the row, and with a radius the nearest to that with
‖f‖ ≤ r.

    MarginProjection   y f(x) < 1:        f ← f + a k(x, ·),  a = (y − f(x)) / k(x, x)
    TubeProjection     |f(x) − y| > ε:    f ← f + a k(x, ·),  a = (y + s ε − f(x)) / k(x, x),  s = sign(f(x) − y)

    then, where ‖f‖ > r,  f ← (r / ‖f‖) f

Nothing is stored where the row agrees or k(x, x) = 0.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from tests.oracle import passive_aggressive, remembered, supported
from tests.oracle.norma import folded
from tests.oracle.supported import Round, Rule, Run, Term, moved, norm2

Array = NDArray[np.float64]


def target(learner: Any, now: Round) -> float | None:
    """What f(x) is to become; None where it may stay."""
    if isinstance(learner, onkel.MarginProjection):
        return now.y if now.y * now.f < 1 else None
    if abs(now.f - now.y) <= learner.epsilon:
        return None
    return float(now.y + learner.epsilon if now.f > now.y else now.y - learner.epsilon)


def rule(learner: Any) -> Rule:
    def learnt(now: Round) -> tuple[list[Term], str]:
        aim = target(learner, now)
        if aim is None or now.own == 0:
            return now.terms, "passive" if aim is None else "impossible"
        terms = [*now.terms, now.term((aim - now.f) / now.own)]
        norm = sqrt(norm2(now.K, terms))
        if learner.radius is None or norm <= learner.radius:
            return terms, "projected"
        return moved(terms, np.array([term.a * learner.radius / norm for term in terms])), "shrunk"

    return learnt


@remembered
def run(learner: Any, X: Array, y: Array, weight: Array | None = None) -> Run:
    return supported.run(learner.kernel, rule(learner), X, y, weight, learner.start)


def scores(learner: Any, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight).scores


WIDE = (-3.0, 3.0)  # holds most rows of the stream
PERIODIC = onkel.PeriodicSpline(domain=(-1.0, 1.5))
MIXED = onkel.Additive(
    (onkel.Spline(order=2), onkel.Exponential(rate=0.5), PERIODIC, onkel.Brownian(), onkel.Spline(domain=(0.0, 4.0))),
    products=((0, 1), (2, 2)),
)
START = onkel.Start(points=((0.5, 1.0, -1.0), (-1.0, 0.0, -5.0)), coef=(0.3, -0.2))
FADING_TUBE = onkel.TubeProjection(kernel=onkel.Gaussian(width=1.5), radius=0.6)
STAGES: dict[Any, set[str]] = {
    onkel.MarginProjection(kernel=onkel.Additive(onkel.Spline(order=2, domain=WIDE))): {"passive", "projected"},
    onkel.MarginProjection(kernel=onkel.Additive(onkel.Exponential(rate=2.0)), radius=1.1): {"passive", "projected", "shrunk"},
    onkel.MarginProjection(kernel=onkel.Additive(onkel.Spline()), radius=2.5): {"passive", "projected", "shrunk"},
    onkel.MarginProjection(kernel=onkel.Additive(onkel.PeriodicSpline(order=1, domain=(-2.5, 1.5)))): {"passive", "projected"},
    onkel.MarginProjection(kernel=onkel.Additive(onkel.Brownian(domain=(-0.5, 2.0)))): {"passive", "projected", "impossible"},
    onkel.MarginProjection(kernel=onkel.Additive(onkel.Exponential(rate=2.0)), start=START): {"passive", "projected"},
    onkel.MarginProjection(kernel=MIXED + onkel.Delta(0.1), radius=3.0): {"passive", "projected", "shrunk"},
    onkel.MarginProjection(kernel=onkel.Linear(), radius=1.0, start=START): {"passive", "projected", "shrunk", "impossible"},
    onkel.MarginProjection(kernel=onkel.Gaussian(), radius=3.0, start=START): {"passive", "projected", "shrunk"},
    onkel.TubeProjection(kernel=onkel.Additive(onkel.Spline(domain=WIDE)), epsilon=0.2, start=START): {"passive", "projected"},
    onkel.TubeProjection(kernel=onkel.Additive(onkel.Spline(order=0)) + onkel.Delta(0.1), radius=1.2): {
        "passive",
        "projected",
        "shrunk",
    },
    onkel.TubeProjection(kernel=onkel.Additive(onkel.PeriodicSpline(order=3, domain=(-4.0, 4.0)))): {"passive", "projected"},
    onkel.TubeProjection(kernel=onkel.Additive(onkel.Brownian(domain=(-0.5, 2.0))), epsilon=0.05, radius=2.0): {
        "passive",
        "projected",
        "shrunk",
        "impossible",
    },
    onkel.TubeProjection(kernel=MIXED, radius=1.0): {"passive", "projected", "shrunk"},
    onkel.TubeProjection(kernel=onkel.Linear(), start=START): {"passive", "projected", "impossible"},
    FADING_TUBE: {"passive", "projected", "shrunk"},
}
SMALL = tuple(STAGES)
learnable = supported.learnable


def stream(config: Any) -> tuple[Array, Array, Array]:
    """The stream of passive_aggressive.py: copies of earlier rows, rows of weight 0, labels after the task; and some rows are 0."""
    return passive_aggressive.stream(config)


def reached(config: Any, state: Any) -> bool:
    """Whether the stream visited each stage, and the state kept track of ‖f‖, and of a scale that leaves all bounds."""
    ran = run(config, *stream(config))
    scaled = config != FADING_TUBE or folded(supported.inner(state), abs(ran.terms[0].a))
    return supported.counted(state, ran, STAGES[config]) and supported.measured(state, ran) and scaled
