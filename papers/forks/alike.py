"""Every learner with the same memory and the same inputs; width and pace of each are chosen by the same rule.

Each learner gets as much memory as FORKS takes with the sizes of the paper; its budget is the largest that fits. If a learner grows
along the stream, the bytes of its full dictionary count. Inputs are standardised by the running mean and deviation of the rows up
to and including the present one. The width is √dim · 2^j with j = −2 … 4. The pace is the setting that decides how fast a learner
adapts (step, aggressiveness, α or λ; the perceptrons have none), times 1, 1/10 or 10. We take the pair of width and pace with the
fewest mistakes on the first rows of a separate stream, which is not counted; of equal pairs, the one nearest to √dim and 1.

SkeGD has no λ here, FOGD has the step for features of unit length, and NOGD one coordinate for every 5 points. FORKS and SkeGD keep
the proportions of the paper. Two more FORKS, and one more ProsNKONS, have the squared hinge, a loss with a curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import onkel
from papers.forks.contenders import Array, Setting, bogd, forks, play, rbp, skegd

WIDTHS = (0, 1, -1, 2, -2, 3, 4)  # powers of 2, those nearest to 1 first
PACES = (1.0, 0.1, 10.0)
FEWEST = 2  # the least number of points: BOGD needs more than one
RATIO = 5  # NOGD: points for each coordinate


@dataclass(frozen=True)
class Learner:
    make: Callable[[Setting, int], Any]  # makes the learner with the pace of its paper and the width of the setting
    pace: str = ""  # the name of the field that is its pace; "" if it has none
    times: tuple[float, ...] = PACES


def nogd(at: Setting, seed: int = 0) -> Any:
    return onkel.NOGD(at.kernel, at.loss, budget=at.budget, rank=max(1, at.budget // RATIO))


def fogd(at: Setting, seed: int = 0) -> Any:
    return onkel.FOGD(onkel.Fourier(count=at.budget, width=at.width, seed=seed), loss=at.loss)


def pros_n_kons(at: Setting, seed: int = 0, restart: bool = True) -> Any:
    return onkel.ProsNKONS(at.kernel, at.loss, curvature=1.0 / 16.0, restart=restart, budget=at.budget, seed=seed)


def con_kons(at: Setting, seed: int = 0) -> Any:
    return pros_n_kons(at, seed, restart=False)


def con_kons_curved(at: Setting, seed: int = 0) -> Any:
    return replace(con_kons(at, seed), loss=onkel.SquaredHinge(), curvature=None)


def unshrunk_skegd(at: Setting, seed: int = 0) -> Any:
    return replace(skegd(at, seed), lam=0.0)


def forks_curved(at: Setting, seed: int = 0) -> Any:
    return replace(forks(at, seed), loss=onkel.SquaredHinge(), curvature=None)


def forks_wide(at: Setting, seed: int = 0) -> Any:
    """More landmarks and coordinates for the same sketch."""
    learner = forks_curved(at, seed)
    return replace(learner, landmarks=max(1, learner.sketch // 2), rank=max(1, learner.sketch // 4))


def ridge_in_span(at: Setting, seed: int = 0) -> Any:
    return onkel.PKAWVNystroem(at.kernel, keep_history=False, budget=at.budget, seed=seed)


def ridge_on_features(at: Setting, seed: int = 0) -> Any:
    return onkel.PKAWV(onkel.Fourier(count=at.budget, width=at.width, seed=seed) + onkel.Constant())


LEARNERS: dict[str, Learner] = {
    "RBP": Learner(rbp),
    "Forgetron": Learner(lambda at, seed: onkel.Forgetron(at.kernel, budget=at.budget)),
    "BPAS": Learner(lambda at, seed: onkel.BPAS(at.kernel, budget=at.budget), "aggressiveness"),
    "Projectron": Learner(lambda at, seed: onkel.Projectron(at.kernel, budget=at.budget)),
    "ProjectronPP": Learner(lambda at, seed: onkel.ProjectronPP(at.kernel, budget=at.budget)),
    "BOGD": Learner(bogd, "step"),
    "FOGD": Learner(fogd, "step"),
    "NOGD": Learner(nogd, "step"),
    "ProsNKONS": Learner(pros_n_kons, "alpha"),
    "ProsNKONS, no restarts": Learner(con_kons, "alpha"),
    "ProsNKONS, no restarts, squared hinge": Learner(con_kons_curved, "alpha"),
    "SkeGD": Learner(unshrunk_skegd, "step"),
    "FORKS": Learner(forks, "alpha"),
    "FORKS, squared hinge": Learner(forks_curved, "alpha"),
    "FORKS, squared hinge, s_m = s_p/2, k = s_p/4": Learner(forks_wide, "alpha"),
    "PKAWVNystroem": Learner(ridge_in_span, "lam"),
    "PKAWV": Learner(ridge_on_features, "lam"),
}


FORGETTING = {  # for streams that change; its pace is how long it remembers: 10, 100 or 2 rows
    "PKAWV, forgetting": Learner(
        lambda at, seed: replace(ridge_on_features(at, seed), forgetting=0.9), "forgetting", (1.0, 1.1, 0.6)
    ),
}


@dataclass(frozen=True)
class Chosen:
    """A learner with its memory, width and pace."""

    learner: Learner
    setting: Setting
    times: float  # the pace, divided by that of the learner's paper

    def make(self, seed: int) -> Any:
        learner = self.learner.make(self.setting, seed)
        name = self.learner.pace
        return replace(learner, **{name: self.times * getattr(learner, name)}) if name else learner


def standardised(X: Array) -> Array:
    scale, Z = onkel.Standardize(), np.empty_like(X)
    scale.write(scale.init(X.shape[1]), X, np.ones(len(X)), Z, 0)
    return Z


def allowance(at: Setting, dim: int) -> int:
    """The bytes of FORKS."""
    return int(forks(at).footprint(dim))


def choose(learner: Learner, at: Setting, X: Array, y: Array, nbytes: int) -> Chosen:
    """The setting with the fewest mistakes on these rows."""
    dim = X.shape[1]

    def full(budget: int) -> _Full:
        return _Full(learner.make(replace(at, budget=max(budget, FEWEST)), 0))

    at = replace(at, budget=onkel.budget_for(full, nbytes, dim))
    widths = [2.0**power * dim**0.5 for power in WIDTHS]
    settings = [replace(at, width=width, sketched_width=width) for width in widths]
    pairs = [Chosen(learner, setting, times) for times in (learner.times if learner.pace else (1.0,)) for setting in settings]
    return min(pairs, key=lambda pair: play(pair.make(0), X, y).rate)  # the first of equals


@dataclass(frozen=True)
class _Full:
    """A learner whose `footprint` is the memory that it holds at the end of the stream."""

    learner: Any

    def footprint(self, dim: int) -> int:
        if self.learner.bounded:
            return int(self.learner.footprint(dim))
        apart = replace(self.learner, kernel=onkel.Gaussian(width=1e-3))  # so narrow that every row joins, until it is full
        state = apart.init(dim)
        rows = np.random.default_rng(0).normal(size=(8 * self.learner.budget, dim))
        apart.learn(state, rows, np.ones(len(rows)))
        if len(state.span.points) < self.learner.budget:
            raise AssertionError("its dictionary is not full")
        return onkel.nbytes(state)
