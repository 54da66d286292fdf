"""The learners that regret.py and time.py compare, all with the same kernel, loss, C, α and η = σ, and the streams that they
learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import onkel
from onkel.losses import Loss
from onkel.measure import bounds
from papers.plots import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY

Array = NDArray[np.float64]

ALPHA = 1.0
DELTA = 0.05
KERNEL = onkel.Gaussian(width=1.0)
KORS = onkel.Kors(mu=ALPHA, accuracy=0.5, oversampling=1.0)

threadpool_limits(1)  # NumPy's too: two threads on two busy cores take ten times the processor time


@dataclass(frozen=True)
class Setting:
    """What every learner is told."""

    loss: Loss
    clip: float
    rows: int

    @property
    def common(self) -> dict[str, Any]:
        return {"kernel": KERNEL, "loss": self.loss, "clip": self.clip, "alpha": ALPHA}

    @property
    def sigma(self) -> float:
        return self.loss.curvature(self.clip, self.clip)


@dataclass(frozen=True)
class Contender:
    name: str
    make: Callable[[Setting, int], Any]  # the setting and a seed
    colour: str | None = None  # None: in the tables only
    dashes: str = "-"


def sketched(floor: float, oversampling: float = 1.0) -> Callable[[Setting, int], Any]:
    return lambda at, seed: onkel.SketchedKONS(**at.common, floor=floor, oversampling=oversampling, seed=seed)


def by_theory(floor: float) -> Callable[[Setting, int], Any]:
    """A SketchedKONS with the β that Theorem 3 requires."""
    return lambda at, seed: sketched(floor, bounds.oversampling(at.rows, DELTA, KORS.accuracy))(at, seed)


def spanned(restart: bool, share: float = 1.0, budget: int | None = None) -> Callable[[Setting, int], Any]:
    def make(at: Setting, seed: int) -> Any:
        return onkel.ProsNKONS(
            **at.common, curvature=share * at.sigma, dictionary=KORS, restart=restart, budget=budget, seed=seed
        )  # fmt: skip

    return make


def gradient_descent(at: Setting, seed: int) -> Any:
    """Gradient descent: the only learner here whose scores are not clipped to [−C, C]."""
    return onkel.NORMA(KERNEL, at.loss, step=1.0 / math.sqrt(at.rows), lam=0.0)


FIRST_ORDER = "gradient descent (NORMA, λ = 0), step 1/√T"
CONTENDERS = [
    Contender("KONS", lambda at, seed: onkel.KONS(**at.common), BLACK),
    Contender("SketchedKONS, γ = 1", sketched(1.0), BLACK, "o"),
    Contender("SketchedKONS, γ = 0.3", sketched(0.3), BLUE),
    Contender("SketchedKONS, γ = 0.1", sketched(0.1), SKY),
    Contender("SketchedKONS, γ = 0.03", sketched(0.03), GREEN),
    Contender("SketchedKONS, γ = 0.03, the theory's β", by_theory(0.03)),
    Contender("ProsNKONS, restarts", spanned(restart=True), RED),
    Contender("ProsNKONS, no restarts", spanned(restart=False), ORANGE),
    Contender("ProsNKONS, no restarts, η = σ/2", spanned(restart=False, share=0.5)),
    Contender(FIRST_ORDER, gradient_descent, PINK, "--"),
]


def points(state: Any) -> int:
    """The number of points in the learner's matrix; 0 for gradient descent, which has no matrix."""
    return len(state.span.points) if hasattr(state, "span") else int(getattr(state, "taken", 0))


def regression(rows: int, seed: int) -> tuple[Array, Array]:
    """A regression stream: a smooth target in the plane, with noise, and labels within [−1, 1]."""
    X, y = onkel.data.smooth(rows, dim=2, noise=0.3, seed=seed)
    return X, np.clip(y / 3.0, -1.0, 1.0)


def classification(rows: int, seed: int) -> tuple[Array, Array]:
    """Two rings that overlap."""
    return onkel.data.rings(rows, noise=0.3, seed=seed)
