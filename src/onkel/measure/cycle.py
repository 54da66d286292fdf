"""Learn the same rows in several passes, until the scores converge.

If some f agrees with all rows, the projection algorithms converge to such an f (Lemma 1 of Herbster 2001), the perceptron stops
changing after finitely many passes, and the Kernel-Adatron converges to the support vector machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._validate import real, whole
from onkel.turns import turn


@dataclass(frozen=True)
class Cycled:
    """The state after the last pass, and whether it converged.

    >>> X, y = onkel.data.rings(100, noise=0.05, seed=0)
    >>> done = onkel.cycle(onkel.KernelAdatron(kernel=onkel.Gaussian(width=1.0)), X, y)
    >>> done.converged, done.change < 1e-6
    (True, True)
    """

    state: Any
    passes: int
    change: float  # the largest difference, over all rows, between the score during the last pass and the score after it
    converged: bool


def cycle(learner: Any, X: ArrayLike, y: ArrayLike, tolerance: float = 1e-6, passes: int = 1000) -> Cycled:
    """Learn the rows in passes, until a pass changes no row's score by more than the tolerance, but at most `passes` times.

    If no f agrees with all rows, the scores do not converge: f cycles.

    learner     The learner, such as KernelAdatron().
    X           The rows.
    y           Their labels.
    tolerance   The passes end when no score changes by more than this. Default: 1e-06.
    passes      The largest number of passes. Default: 1000.

    >>> X, y = onkel.data.rings(200, seed=0)
    >>> done = onkel.cycle(onkel.MarginProjection(), X, y)
    >>> done.converged, bool(np.min(y * onkel.MarginProjection().predict(done.state, X)) >= 1.0 - 1e-5)
    (True, True)
    """
    settings = _Settings(tolerance, passes)
    rows = np.asarray(X, np.float64)
    state = learner.init(rows.shape[-1])
    change = np.inf
    for done in range(1, settings.passes + 1):
        scores = learner.learn(state, rows, y)
        change = float(np.max(np.abs(learner.predict(state, rows).ravel() - scores.ravel()), initial=0.0))
        with turn(learner, state, True):
            learner._hooks._merge(state, len(rows))
            waiting = learner._hooks._is_waiting(state)
        if change <= settings.tolerance and not waiting:
            return Cycled(state, done, change, True)
    return Cycled(state, settings.passes, change, False)


@dataclass(frozen=True)
class _Settings:
    tolerance: float
    passes: int

    def __post_init__(self) -> None:
        real(self, "tolerance", least=0.0)
        whole(self, "passes", 1)
