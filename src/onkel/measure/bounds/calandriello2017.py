"""Upper bounds on the regret R = Σℓ(ŷ) − Σℓ(f) of the Newton family, against a function f with |f(x_t)| ≤ C in every round.

CLV: Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. T is the
number of rows, κ² the largest k(x, x), C the learner's `clip`, L and σ the loss's Lipschitz constant and curvature on [−C, C]; in
round t the learner adds η_t g_t² φ_tφ_tᵀ to its matrix, with g_t the slope of the loss. ε, β and γ are the fields `accuracy`,
`oversampling` and `floor`. `squared_norm` is ‖f‖², ‖K‖ the largest eigenvalue. `onkel.measure.newton_regret` has Proposition 1 with
measured terms, a much tighter bound.

Departs from the paper: the last steps of the paper's proofs need more than its theorems say (a normalised kernel, an α that is not
small, η₁ ≤ 1), and Theorem 3 is printed without the 1/(1 − ε) of its proof. The functions return the proof's expression before that
step. Theorem 2 is printed with a β that its proof does not support (`oversampling`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._types import Matrix
from onkel.dictionary import Kors
from onkel.errors import InputError
from onkel.learners.kons import SketchedKONS
from onkel.measure.bounds.conditions import check_sampling
from onkel.measure.leverage import gram_of, online_dimension, online_leverage_scores, rescaled_spectrum
from onkel.measure.newton_regret import Learner, check_within, etas, play, space_of
from onkel.measure.regret import Space, effective_dimension, positive


def online_effective_dimension(space: Space, X: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> tuple[float, float]:
    """Two upper bounds on the online effective dimension: ln det(I + K/α), and d_eff(α)(1 + ln(1 + ‖K‖/α)).

    CLV Lemma 3. With weights, K is the rescaled kernel matrix. Holds for all inputs, in any order.

    >>> X, _ = onkel.data.rings(500, seed=0)
    >>> kernel = onkel.Gaussian(width=1.0)
    >>> first, second = online_effective_dimension(kernel, X, alpha=1.0)
    >>> onkel.measure.online_dimension(kernel, X, alpha=1.0) < first < second
    True
    """
    values = rescaled_spectrum(space, X, weights) / positive("alpha", alpha)
    dimension = float(np.sum(values / (1.0 + values)))
    return float(np.sum(np.log1p(values))), dimension * (1.0 + math.log1p(float(np.max(values, initial=0.0))))


def kons(learner: Learner, X: ArrayLike, y: ArrayLike, squared_norm: float) -> float:
    """α‖f‖² + d̄_onl(α)/η_T + 4C²L² Σ(η_t − σ)₊, the bound on the regret of `KONS` on this stream.

    d̄_onl is the online effective dimension of the kernel rescaled by the slopes on the stream. CLV Theorem 1. Conditions: |y| ≤ C
    if labels are numbers. It holds for `KONS`, and for `NewtonFeatures` in the span of its features.

    >>> X, y = onkel.data.rings(200, seed=0)
    >>> learner = onkel.KONS(kernel=onkel.Gaussian(width=1.0), loss=onkel.SquaredHinge())
    >>> found = onkel.measure.newton_regret(learner, X, y)
    >>> found.regret < kons(learner, X, y, squared_norm=found.norm / learner.alpha)
    True
    """
    rows = _stream(learner, X, y)
    played, eta = play(learner, rows, y), etas(learner, len(rows))
    sigma, L = _constants(learner)
    gained = online_dimension(space_of(learner), rows, learner.alpha, played.added) / float(eta[-1])
    drift = 4.0 * learner.clip**2 * L**2 * float(np.sum(np.maximum(eta - sigma, 0.0)))
    return learner.alpha * squared_norm + gained + drift


def kons_by_dimension(learner: Learner, X: ArrayLike, y: ArrayLike, squared_norm: float) -> float:
    """The bound of `kons` from the effective dimension of the inputs, so that the learner need not be run.

    σ > 0:   α‖f‖² + d_eff(α/(σL²)) (1 + ln(1 + σL²Tκ²/α))/σ               (printed: α‖f‖² + 2 d_eff(α/(σL²)) ln(2σL²T)/σ)
    σ = 0:   α‖f‖² + LC√T [d_eff(αC/L)(1 + ln(1 + LTκ²/(Cα))) + 8]         (printed: α‖f‖² + 4LC√T d_eff(α/L²) ln(2L²T))

    CLV Theorem 1. Conditions: |y| ≤ C if labels are numbers; `curvature` None and `dimension` 1, so that η is the theorem's.

    >>> X, y = onkel.data.rings(200, seed=0)
    >>> learner = onkel.KONS(kernel=onkel.Gaussian(width=1.0), loss=onkel.SquaredHinge())
    >>> kons(learner, X, y, squared_norm=10.0) < kons_by_dimension(learner, X, y, squared_norm=10.0)
    True
    """
    rows = _stream(learner, X, y)
    _own_steps(learner)
    sigma, L = _constants(learner)
    T, C, norm = len(rows), learner.clip, learner.alpha * squared_norm
    if sigma > 0.0:
        return norm + _dimension_term(learner, rows, sigma * L**2) / sigma
    return norm + L * C * math.sqrt(T) * (_dimension_term(learner, rows, L / C) + 8.0)


def sketched_kons(learner: SketchedKONS, X: ArrayLike, y: ArrayLike, squared_norm: float, delta: float) -> float:
    """α‖f‖² + d̄_onl(α)/((1 − ε)σ max(γ, βτ_min)), the bound on the regret of `SketchedKONS` on this stream, with probability 1 −
    δ.

    d̄_onl (the online effective dimension) and τ_min = min_t τ̄_t (the least leverage score) are those of the kernel rescaled by
    the slopes on the stream; rounds with slope 0 are left out. CLV Theorem 3. Conditions: σ > 0; `curvature` None; unweighted; ε <
    1; β ≥ 3 ln(4T²/δ)/ε² (printed: 3 ln(T/δ)/ε²); |y| ≤ C if labels are numbers. The draws must not influence the rows.

    >>> X, y = onkel.data.rings(200, seed=0)
    >>> beta = onkel.measure.bounds.oversampling(200, delta=0.1)
    >>> learner = onkel.SketchedKONS(kernel=onkel.Gaussian(width=1.0), loss=onkel.SquaredHinge(), oversampling=beta)
    >>> found = onkel.measure.newton_regret(learner, X, y)
    >>> found.regret < sketched_kons(learner, X, y, squared_norm=found.norm / learner.alpha, delta=0.1)
    True
    """
    rows = _stream(learner, X, y)
    _own_steps(learner)
    sigma, _ = _constants(learner)
    if sigma == 0.0 or learner.weighted:
        raise InputError("the theorem is for losses with curvature and points without weights (weighted=False)")
    check_sampling(learner, len(rows), delta)
    played = play(learner, rows, y)
    tau = online_leverage_scores(learner.kernel, rows, learner.alpha, sigma * played.slopes**2)
    least = min(float(np.min(tau[played.slopes != 0.0], initial=1.0)) * learner.oversampling, 1.0)
    share = (1.0 - learner.accuracy) * max(learner.floor, least)
    return learner.alpha * squared_norm + float(np.sum(tau)) / (sigma * share)


def row_sampling(kernel: Space, X: ArrayLike, dictionary: Kors, delta: float) -> tuple[float, float]:
    """3ρβ d_onl(μ) and 3ρβ d_eff(μ)(1 + ln(1 + ‖K‖/μ)): two bounds on the number of points of KORS, with probability 1 − δ.

    CLV Theorem 2 (2), with ρ = (1 + ε)/(1 − ε), and μ = `mu` of the dictionary. d_onl is `onkel.measure.online_dimension`. The
    paper prints the first bound divided by ε², which is not needed, and for the second 6ρ d_eff(μ) ln²(2T/δ)/ε², which does not
    always follow. Conditions: ε < 1; β ≥ 3 ln(4T²/δ)/ε² (printed: 3 ln(T/δ)/ε²); d_onl(μ) ≥ 1.

    >>> X, _ = onkel.data.rings(500, seed=0)
    >>> dictionary = onkel.Kors(mu=1.0, oversampling=onkel.measure.bounds.oversampling(500, delta=0.1))
    >>> taken = len(dictionary.choose(onkel.Gaussian(width=1.0), X))
    >>> taken < min(row_sampling(onkel.Gaussian(width=1.0), X, dictionary, delta=0.1))
    True
    """
    rows = check_block("X", X)
    check_sampling(dictionary, len(rows), delta)
    online = online_dimension(kernel, rows, dictionary.mu)
    if online < 1.0:
        raise InputError(f"the theorem requires an online effective dimension of at least 1, got {online:.3g}; lower mu")
    factor = 3.0 * (1.0 + dictionary.accuracy) / (1.0 - dictionary.accuracy) * dictionary.oversampling
    return factor * online, factor * online_effective_dimension(kernel, rows, dictionary.mu)[1]


def _stream(learner: Learner, X: ArrayLike, y: ArrayLike) -> Matrix:
    rows = check_block("X", X)
    _, labels, _ = check_labelled(rows, y, rows.shape[1], 1)
    if not len(rows):
        raise InputError("X has no rows; the bound is for one or more")
    check_within(learner, labels[:, 0])
    return rows


def _constants(learner: Learner) -> tuple[float, float]:
    """σ and L on [−C, C]."""
    return learner.loss.curvature(learner.clip, learner.clip), learner.loss.lipschitz(learner.clip, learner.clip)


def _own_steps(learner: Learner) -> None:
    if learner.curvature is not None or learner.dimension != 1.0:
        raise InputError("the theorem is for the step sizes of the loss: curvature=None, dimension=1.0")


def _dimension_term(learner: Learner, X: Matrix, scale: float) -> float:
    """d_eff(α/s)(1 + ln(1 + sTκ²/α)) with s = `scale`, an upper bound on d̄_onl(α) if the kernel is rescaled by weights of at most
    s."""
    rescaled = learner.alpha / scale
    kappa2 = float(np.max(gram_of(space_of(learner), X).diagonal()))
    return effective_dimension(space_of(learner), X, rescaled) * (1.0 + math.log1p(len(X) * kappa2 / rescaled))
