"""The terms of the regret bound of an online Newton step: R_G from the gradients, and R_D from additions to its matrix beyond what
the curvature of the loss allows.

    2 (Σ ℓ(ŷ_t) − Σ ℓ(f(x_t)))  ≤  α‖f‖² + R_G + R_D            for every f with |f(x_t)| ≤ C in every round
    R_G = Σ g_t² φ_tᵀA_t⁻¹φ_t,      R_D = Σ (w_t − σ g_t²)(ŷ_t − f(x_t))²,      A_t = αI + Σ_{s≤t} w_s φ_sφ_sᵀ

φ_t is row t in the kernel's space (or its features), g_t = ℓ'(ŷ_t), σ is the loss's curvature on [−C, C], and w_t is the weight
with which the learner adds φ_tφ_tᵀ to its matrix: η g_t² in the exact step, η g_t² times a random number in the sketched one. For
the exact step R_D ≤ 0 if η ≤ σ.

Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. Proposition 1.
Luo, Agarwal, Cesa-Bianchi & Langford (2016), Efficient second order online learning by sketching, NeurIPS.
Departs from the paper, which prints the bound without the factor 2.

>>> X, y = onkel.data.rings(300, seed=0)
>>> learner = onkel.KONS(kernel=onkel.Gaussian(width=1.0), loss=onkel.SquaredHinge())
>>> parts = newton_regret(learner, X, y)
>>> bool(parts.regret <= parts.allowed)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.learners.kons import KONS, SketchedKONS
from onkel.learners.newton_features import NewtonFeatures
from onkel.measure.hindsight import Best, best_within
from onkel.measure.leverage import gram_of, online_quadratic_forms
from onkel.measure.regret import Space
from onkel.updates.newton import step_size, weight_of_gradient

Learner = KONS | SketchedKONS | NewtonFeatures


@dataclass(frozen=True)
class Rounds:
    """What a learner did in each round."""

    scores: Vector  # ŷ
    slopes: Vector  # g
    added: Vector  # w_t, the weight of φφᵀ in the learner's matrix


@dataclass(frozen=True)
class NewtonRegret:
    """The regret against one function, and the parts of its bound."""

    regret: float  # Σ ℓ(ŷ_t) − Σ ℓ(f(x_t))
    norm: float  # α‖f‖²
    gradients: float  # R_G
    drift: float  # R_D

    @property
    def allowed(self) -> float:
        """The bound on the regret."""
        return 0.5 * self.printed

    @property
    def printed(self) -> float:
        """The bound as printed in the paper, α‖f‖² + R_G + R_D, which is twice `allowed`."""
        return self.norm + self.gradients + self.drift


def space_of(learner: Learner) -> Space:
    """The learner's kernel, or its features."""
    return learner.features if isinstance(learner, NewtonFeatures) else learner.kernel


def play(learner: Learner, X: ArrayLike, y: ArrayLike) -> Rounds:
    """Learn a stream from its start, one row at a time, and record the rounds."""
    if not isinstance(learner, Learner):
        raise InputError(f"play is for KONS, SketchedKONS and NewtonFeatures, got {type(learner).__name__}")
    rows = check_block("X", X)
    _, labels, _ = check_labelled(rows, y, rows.shape[1], 1)
    state: Any = learner.init(rows.shape[1])
    scores, coins = np.empty(len(rows)), np.ones(len(rows))
    for t in range(len(rows)):
        scores[t] = learner.learn(state, rows[t : t + 1], labels[t])[0]
        if isinstance(learner, SketchedKONS):
            taken = int(np.sum(coins[:t] > 0.0))
            counted_up = learner.weighted and learner.floor < 1.0  # then φφᵀ is added with the factor 1/p
            coins[t] = np.sum(state.weights[taken : state.taken] ** 2) if counted_up else state.taken - taken
    slopes = learner.loss.derivative(scores, labels[:, 0])
    return Rounds(scores, slopes, coins * etas(learner, len(rows)) * slopes**2)


def etas(learner: Learner, rounds: int) -> Vector:
    """The factor η of each round: the learner adds η g² φφᵀ to its matrix."""
    return np.array([weight_of_gradient(step_size(learner), t) for t in range(1, rounds + 1)])


def newton_regret(learner: Learner, X: ArrayLike, y: ArrayLike, against: Best | None = None) -> NewtonRegret:
    """Learn a stream and compute the regret against a function (None: the minimiser of Σℓ + ½α‖f‖²), and the parts of its bound."""
    rows = check_block("X", X)
    played = play(learner, rows, y)
    labels: Vector = np.asarray(y, dtype=float).reshape(-1)
    check_within(learner, labels)
    f = against or best_within(space_of(learner), rows, labels, learner.loss, 0.5 * learner.alpha, learner.clip)
    cost = float(np.sum(learner.loss(played.scores, labels)))
    return NewtonRegret(
        regret=cost - f.cost,
        norm=learner.alpha * f.squared_norm,
        gradients=gradient_part(learner, rows, played),
        drift=drift_part(learner, played, f),
    )


def gradient_part(learner: Learner, X: Matrix, played: Rounds) -> float:
    """R_G = Σ g_t² φ_tᵀA_t⁻¹φ_t, the part of the bound that comes from the gradients."""
    return float(played.slopes**2 @ online_quadratic_forms(gram_of(space_of(learner), X), played.added, learner.alpha))


def drift_part(learner: Learner, played: Rounds, against: Best) -> float:
    """R_D (see the header), the part of the bound that comes from what the matrix gains beyond the curvature."""
    sigma = learner.loss.curvature(learner.clip, learner.clip)
    return float((played.added - sigma * played.slopes**2) @ (played.scores - against.values) ** 2)


def check_within(learner: Learner, labels: Vector) -> None:
    """Refuse labels outside [−C, C], where C is the learner's `clip`: the loss's curvature σ is known only for labels inside."""
    largest = float(np.max(np.abs(labels), initial=0.0))
    if "regression" in learner.loss.tasks and largest > learner.clip:
        raise InputError(f"the bound is for |y| ≤ clip = {learner.clip:g}, but a label is {largest:g}")
