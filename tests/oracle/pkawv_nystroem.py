"""PKAWV on a Nyström dictionary from its definitions: the dictionary by the naive leverage, one dense solve per score.

Round t, t = rows learnt so far. First the dictionary, of points x_i taken with probabilities p_i: x_t is taken if u_t < p, with
p = rate (Uniform) or p = min(βτ, 1) (Kors), where the dictionary is bordered with x_t itself at weight 1:

    τ = (1+ε)/μ · (k(x_t, x_t) − (Sk)ᵀ(SKS + μI)⁻¹Sk),    S = diag(…, p_i^(−1/2), …, 1)

Then the score f_t(x_t), over the functions of the span H of the points (a point that was in the span already adds none to it):

    f_t = argmin_{f ∈ H} Σ_{s<t} w_s (y_s − ⟨f, φ_s⟩)² + λ‖f‖²   [+ ⟨f, φ_t⟩² for AWV]

φ_s is k(x_s, ·), or, without history, its projection on the span as that was in round s. In orthonormal coordinates of H,
z = L⁻¹k_I(x) with LLᵀ = K_II, it is a problem of least squares with rows √w z, √λ e_j and, for AWV, z_t. A row of weight 0 is
decided and scored as if it came next, and leaves no trace.

The coordinates and the leverages are computed in extended precision, because K_II is the one ill-conditioned matrix here.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel import random
from tests.oracle import remembered
from tests.oracle.pkawv import solve

Array = NDArray[np.float64]
Wide = NDArray[np.floating[Any]]  # np.longdouble


@dataclass(frozen=True)
class Dictionary:
    """Rows of the stream, by their numbers."""

    points: tuple[int, ...] = ()  # all that are stored
    probabilities: tuple[float, ...] = ()  # with which each was taken
    spanning: tuple[int, ...] = ()  # those that were not in the span of the earlier ones


def decided(learner: onkel.PKAWVNystroem, K: Wide, before: Dictionary, t: int, i: int) -> Dictionary:
    """The dictionary once row i has been considered, as the row of round t."""
    if learner.budget is not None and len(before.points) >= learner.budget:
        return before
    p = probability(learner.dictionary, K, before, i)
    if random.uniform(learner.seed, t, 0) >= p:
        return before
    spanning = before.spanning
    if is_new(K, spanning, i):
        spanning = (*spanning, i)
    elif isinstance(learner.dictionary, onkel.Uniform):
        return before  # Kors keeps it, for its leverages
    return Dictionary((*before.points, i), (*before.probabilities, p), spanning)


def probability(rule: object, K: Wide, before: Dictionary, i: int) -> float:
    """The probability with which row i is taken."""
    if isinstance(rule, onkel.Uniform):
        return rule.rate
    if not isinstance(rule, onkel.Kors):
        raise TypeError(f"the oracle has no definition of {rule!r}")
    rows = [*before.points, i]
    s = np.array([*before.probabilities, 1.0], dtype=np.longdouble) ** -0.5
    SKS, Sk = s[:, None] * K[np.ix_(rows, rows)] * s, (s * K[rows, i])[:, None]
    tau = (1 + rule.accuracy) / rule.mu * (K[i, i] - Sk.T @ solve(SKS + rule.mu * np.eye(len(rows)), Sk))
    return min(rule.oversampling * float(tau.item()), 1.0)


def is_new(K: Wide, spanning: tuple[int, ...], i: int) -> bool:
    """Whether ρ² = k(x, x) − k_Iᵀa, the squared distance of k(x_i, ·) from the span, stands out: a = K_II⁻¹k_I."""
    k = K[np.ix_(spanning, [i])]
    a = solve(K[np.ix_(spanning, spanning)], k)
    return bool((K[i, i] - k.T @ a).item() > 1e-12 * K[i, i] * (1 + (a.T @ a).item()))


def coordinates(K: Wide, spanning: tuple[int, ...]) -> Array:
    """L⁻¹k_I(x) of every row, LLᵀ = K_II: Gram and Schmidt on the spanning points in the order of joining, all rows along."""
    rest = K[:, spanning]
    Z = np.zeros_like(rest)
    for j, i in enumerate(spanning):
        Z[:, j] = rest[:, j] / np.sqrt(rest[i, j])
        rest -= np.outer(Z[:, j], Z[list(spanning), j])  # what the directions so far have not explained
    return Z.astype(np.float64)


@remembered
def run(learner: onkel.PKAWVNystroem, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Dictionary]:
    """The score of each row before it is learnt, and the dictionary in the end."""
    w = np.ones(len(X)) if weight is None else weight
    K, Y = learner.kernel(X, X).astype(np.longdouble), y.reshape(len(X), -1)
    out = np.zeros(Y.shape)
    dictionary, learnt = Dictionary(), list[int]()
    spanning: tuple[int, ...] = ()
    Z, own = np.zeros((len(X), 0)), np.zeros(K.shape)
    for i in range(len(X)):
        after = decided(learner, K, dictionary, len(learnt), i)
        if after.spanning != spanning:
            spanning, Z = after.spanning, coordinates(K, after.spanning)
        m = len(spanning)
        own[i, :m] = Z[i]  # as of its own round
        root = np.sqrt(w[learnt])[:, None]
        past = Z[learnt] if learner.keep_history else own[learnt, :m]
        rows = [root * past, sqrt(learner.lam) * np.eye(m), learner.awv * Z[i : i + 1]]
        theta = np.linalg.lstsq(np.vstack(rows), np.vstack([root * Y[learnt], np.zeros((m + 1, Y.shape[1]))]))[0]
        out[i] = Z[i] @ theta
        if w[i] != 0:
            dictionary, learnt = after, [*learnt, i]
    return out.reshape(y.shape), dictionary


def scores(learner: onkel.PKAWVNystroem, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    return run(learner, X, y, weight)[0]


def predict(learner: onkel.PKAWVNystroem, X: Array, y: Array, weight: Array | None, X_new: Array) -> Array:
    """The score of each new row, as if it came next after the stream: a row of weight 0 is exactly that."""
    w = np.ones(len(X)) if weight is None else weight
    zeros = np.zeros((len(X_new), *y.shape[1:]))
    return scores(learner, np.vstack([X, X_new]), np.concatenate([y, zeros]), np.concatenate([w, np.zeros(len(X_new))]))[len(X) :]


KORS = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=2.0), lam=0.1, dictionary=onkel.Kors(mu=1.0, oversampling=0.5))
FROZEN = onkel.PKAWVNystroem(
    kernel=onkel.Polynomial(degree=2) + onkel.Gaussian(), dictionary=onkel.Kors(mu=0.5), keep_history=False, budget=30, seed=3
)
RANK = onkel.PKAWVNystroem(kernel=onkel.Polynomial(degree=2), dictionary=onkel.Kors(mu=0.5, accuracy=0.1, oversampling=0.5), seed=6)
UNIFORM = onkel.PKAWVNystroem(kernel=onkel.Gaussian(), lam=0.1, dictionary=onkel.Uniform(rate=0.08), awv=False)
COPIES = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.5), lam=0.1, dictionary=onkel.Kors(mu=1.0, oversampling=0.8), seed=2)
_OFTEN = onkel.Uniform(rate=0.2)
REFUSED = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.5), lam=0.1, dictionary=_OFTEN, keep_history=False, budget=12, seed=5)
SMALL = (KORS, FROZEN, RANK, UNIFORM, COPIES, REFUSED)


def stream(config: onkel.PKAWVNystroem) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0; some repeat an earlier row, exactly or 1e-7 beside it.

    For COPIES and REFUSED there are only 12 places, hit exactly, 1e-7 beside or 1e-2 beside; the last is a new direction.
    """
    rng = np.random.default_rng(20190703)
    X = rng.normal([0.0, 0.5, -1.0], 1.0, size=(400, 3))
    X[30::20] = X[23:393:20]
    X[40::20] = X[20:380:20] + 1e-7 * np.array([0.6, 0.0, -0.8])
    if config in (COPIES, REFUSED):
        X = X[rng.integers(0, 12, size=400)] + rng.choice([0.0, 1e-7, 1e-2], p=[0.4, 0.4, 0.2], size=(400, 1)) * [0.6, 0.0, -0.8]
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=400)
    weight = rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)
    return X, y, weight


def reached(config: onkel.PKAWVNystroem, state: Any) -> bool:
    """Whether the stream visited each stage that it was made for, and the dictionary is as large as it should be."""
    X, y, weight = stream(config)
    dictionary = run(config, X, y, weight)[1]
    points, spanning = len(dictionary.points), len(dictionary.spanning)
    filled = int(np.count_nonzero(weight[: dictionary.points[-1] + 1]))  # rounds until the last point was in
    same = len(state.span.points) == points and len(state.span.spanning) == spanning and state.rows == np.count_nonzero(weight)
    full = config.budget is None or points == config.budget
    surplus = config not in (RANK, COPIES) or spanning < points
    refused = config != REFUSED or sum(random.uniform(config.seed, t, 0) < _OFTEN.rate for t in range(filled)) > points
    return bool(same and full and surplus and refused)
