"""The learners that the tables and figures of this folder compare, with the settings of section 5 and appendix H, and how one is
run.

All have the hinge loss and the step 0.2 unless told otherwise. FORKS and SkeGD have a buffer of B̃ points, a sketch of s_p columns,
s_m = 0.2 s_p landmarks and k = 0.1 B coordinates. Where the text is silent, settings are those of the authors' code: the width of
the Gaussian kernel is 50 for SkeGD and FORKS and 8 for all others, NOGD has the buffer of SkeGD and FORKS, PROS-N-KONS takes at
most 100 points, with η = 1/16. The paper's step of FOGD is for features without the factor 1/√D. onkel's features have this factor,
so onkel's step is the paper's times D, the number of frequencies. SkeGD is regularised by λ = 0.01; FORKS is not, neither in
Algorithm 1 nor in the code. BOGD, SkeGD and FORKS start from their `as_published`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import onkel
from onkel.losses import Loss

Array = NDArray[np.float64]

STEP = 0.2
PROS_N_KONS_POINTS = 100
FREQUENCIES = 4  # of FOGD, times B

threadpool_limits(1)  # NumPy's too: two threads on two busy cores take ten times the processor time


@dataclass(frozen=True)
class Setting:
    """The settings of the learners for a stream of `rows` rows."""

    rows: int  # N
    budget: int  # B
    period: int  # ρ
    buffer: float = 2.0  # B̃/B
    sketch: float = 1.0  # s_p/B
    width: float = 8.0
    sketched_width: float = 50.0  # of SkeGD and FORKS
    loss: Loss = onkel.Hinge()

    @property
    def kernel(self) -> onkel.Gaussian:
        return onkel.Gaussian(width=self.width)

    @property
    def stored(self) -> int:
        """B̃: the points of a first stage."""
        return int(self.buffer * self.budget)

    @property
    def rank(self) -> int:
        """k."""
        return max(1, self.budget // 10)

    @property
    def sketching(self) -> dict[str, Any]:
        """What SkeGD and FORKS share."""
        columns = int(self.sketch * self.budget)
        return {
            "kernel": onkel.Gaussian(width=self.sketched_width),
            "loss": self.loss,
            "budget": self.budget,
            "buffer": self.stored,
            "sketch": columns,
            "landmarks": max(1, columns // 5),
            "rank": self.rank,
            "period": self.period,
            "max_updates": (self.rows - 1) // self.period,  # as many as there are
        }


def rbp(at: Setting, seed: int = 0) -> Any:
    return onkel.RBP(at.kernel, budget=at.budget, seed=seed)


def bpas(at: Setting, seed: int = 0) -> Any:
    return onkel.BPAS(at.kernel, budget=at.budget)


def projectron(at: Setting, seed: int = 0) -> Any:
    return onkel.Projectron(at.kernel, budget=at.budget)


def bogd(at: Setting, seed: int = 0) -> Any:
    return replace(onkel.BOGD.as_published(at.rows), kernel=at.kernel, budget=at.budget, seed=seed)


def fogd(at: Setting, seed: int = 0) -> Any:
    count = FREQUENCIES * at.budget
    return onkel.FOGD(onkel.Fourier(count=count, width=at.width, seed=seed), loss=at.loss, step=STEP * count)


def nogd(at: Setting, seed: int = 0) -> Any:
    return onkel.NOGD(at.kernel, at.loss, budget=at.stored, rank=at.rank, step=STEP)


def pros_n_kons(at: Setting, seed: int = 0) -> Any:
    return onkel.ProsNKONS(at.kernel, at.loss, curvature=1.0 / 16.0, restart=True, budget=PROS_N_KONS_POINTS, seed=seed)


def skegd(at: Setting, seed: int = 0) -> Any:
    return replace(onkel.SkeGD.as_published(at.rows), **at.sketching, seed=seed)


def forks(at: Setting, seed: int = 0) -> Any:
    return replace(onkel.FORKS.as_published(at.rows), **at.sketching, seed=seed)


PAPER: dict[str, Callable[[Setting, int], Any]] = {
    "RBP": rbp,
    "BPAS": bpas,
    "Projectron": projectron,
    "BOGD": bogd,
    "FOGD": fogd,
    "NOGD": nogd,
    "ProsNKONS": pros_n_kons,
    "SkeGD": skegd,
    "FORKS": forks,
}


@dataclass(frozen=True)
class Played:
    mistakes: Array  # 1 where a row's label was wrong
    stage_1: int | None = None  # rows of the first stage, where there are two
    seconds: float | None = None
    nbytes: int = 0

    @property
    def rate(self) -> float:
        """Mistakes divided by rows, over all rounds."""
        return float(np.mean(self.mistakes))

    @property
    def late_rate(self) -> float | None:
        """Mistakes after the first stage over *all* rows, which is what the authors' code prints."""
        return None if self.stage_1 is None else float(np.sum(self.mistakes[self.stage_1 :]) / len(self.mistakes))


def play(learner: Any, X: Array, y: Array) -> Played:
    state = learner.init(X.shape[1])
    before = time.thread_time()
    scores = learner.learn(state, X, y)
    seconds = time.thread_time() - before
    return Played(onkel.measure.mistakes(scores, y), _first_stage(learner, state, len(y)), seconds, onkel.nbytes(state))


def last_label(X: Array, y: Array) -> Played:
    """The mistakes of predicting the last label."""
    return Played(onkel.measure.mistakes(onkel.measure.last_label(y), y))


def majority(X: Array, y: Array) -> Played:
    """The mistakes of predicting the more frequent label so far."""
    return Played(onkel.measure.mistakes(onkel.measure.running_mean(y), y))


def _first_stage(learner: Any, state: Any, rows: int) -> int | None:
    """The rows of the first stage, which ends with the round in which the last point of the buffer is stored."""
    if not isinstance(learner, onkel.NOGD | onkel.SkeGD | onkel.FORKS):
        return None
    stored = learner.budget if isinstance(learner, onkel.NOGD) else int(learner.buffer or 2 * learner.budget)
    return int(state.support.born[stored - 1]) + 1 if state.support.size[0] >= stored else rows
