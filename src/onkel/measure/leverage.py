"""Leverage scores with a ridge α: how much of a row is not explained by all other rows, or, online, by the rows before it.

    τ_i = w_i φ_iᵀA⁻¹φ_i,   A = αI + Σ_s w_s φ_sφ_sᵀ over all rows:     Σ τ_i = d_eff(α), the effective dimension
    τ_t = w_t φ_tᵀA_t⁻¹φ_t,   A_t the same sum over the rows up to t:    Σ τ_t = d_onl(α), the online effective dimension

φ_i is row i in the kernel's space (or its features), and A_t contains row t itself. The weights w are 1 by default. With
w_t = η g_t², where g_t is the slope of the loss in round t, A is the matrix of the Newton family. With w_t = 1/p_t for points that
were sampled with probability p_t, and w_t = 0 for all others, A is an estimate of the unweighted matrix from the sample. The kernel
matrix of the rows must fit into memory.

Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. Definition 1.

>>> X = np.array([[0.0], [0.0], [5.0]])
>>> leverage_scores(onkel.Gaussian(width=1.0), X, alpha=1.0).round(3)
array([0.333, 0.333, 0.5  ])
>>> online_leverage_scores(onkel.Gaussian(width=1.0), X, alpha=1.0).round(3)
array([0.5  , 0.333, 0.5  ])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.features import Nystroem
from onkel.kernels import Kernel
from onkel.linalg.triangular import solved_lower
from onkel.measure.regret import Space, embed, gram, positive


def leverage_scores(space: Space, X: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> Vector:
    """The leverage score τ_i = w_i φ_iᵀA⁻¹φ_i of every row, with A = αI + Σ w_s φ_sφ_sᵀ over all rows."""
    values, vectors = np.linalg.eigh(_rescaled(space, X, weights))
    values = np.maximum(values, 0.0)
    return np.asarray(vectors**2 @ (values / (values + positive("alpha", alpha))))


def online_leverage_scores(space: Space, X: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> Vector:
    """The online leverage score τ_t = w_t φ_tᵀA_t⁻¹φ_t of every row, with A_t = αI + Σ w_s φ_sφ_sᵀ over the rows up to t."""
    K, w = _weighted(space, X, weights)
    return w * online_quadratic_forms(K, w, positive("alpha", alpha))


def online_dimension(space: Space, X: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> float:
    """d_onl(α) = Σ τ_t, the online effective dimension.

    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 2))
    >>> round(online_dimension(onkel.Gaussian(width=1.0), X, alpha=1.0), 1)
    24.8
    """
    return float(np.sum(online_leverage_scores(space, X, alpha, weights)))


def rescaled_spectrum(space: Space, X: ArrayLike, weights: ArrayLike | None = None) -> Vector:
    """The eigenvalues of the kernel matrix of X, multiplied by √w on both sides; those that rounding made negative are 0."""
    return np.asarray(np.maximum(np.linalg.eigvalsh(_rescaled(space, X, weights)), 0.0))


def online_quadratic_forms(K: Matrix, weights: Vector, alpha: float) -> Vector:
    """φ_tᵀA_t⁻¹φ_t of every row of a kernel matrix K, with A_t = αI + Σ_{s≤t} w_s φ_sφ_sᵀ."""
    root = np.sqrt(weights)
    try:
        L = np.linalg.cholesky(root[:, None] * K * root + alpha * np.eye(len(K)))
    except np.linalg.LinAlgError:
        raise InputError(f"alpha = {alpha:g} is too small relative to the kernel's values; raise it, or rescale X") from None
    seen = np.triu(solved_lower(L, root[:, None] * K), 1) if len(K) else K
    before = np.maximum(K.diagonal() - np.sum(seen**2, axis=0), 0.0) / alpha  # φᵀA_{t−1}⁻¹φ
    return np.asarray(before / (1.0 + weights * before))


def spectral_bounds(
    space: Space, X: ArrayLike, alpha: float, weights: ArrayLike, others: ArrayLike | None = None
) -> tuple[float, float]:
    """The largest a and the smallest b with a A' ⪯ A ⪯ b A', where A has the weights `weights` and A' has `others` (None: 1).

    a and b measure how well a sample represents all rows: KORS promises a ≥ 1 − ε and b ≤ 1 + ε for weights 1/p of the points taken
    and 0 of the others.

    >>> X, _ = onkel.data.rings(500, seed=0)
    >>> kernel, sampled = onkel.Gaussian(width=1.0), np.zeros(500)
    >>> sampled[np.random.default_rng(0).choice(500, 250, replace=False)] = 2.0  # every second row, with weight 2
    >>> [round(bound, 1) for bound in onkel.measure.spectral_bounds(kernel, X, 1.0, sampled)]
    [0.6, 1.3]
    """
    rows, alpha = check_block("X", X), positive("alpha", alpha)
    w, v = _checked(weights, len(rows)), _checked(others, len(rows))
    if not len(rows):
        return 1.0, 1.0
    Z = embed(Nystroem(space, rows), rows) if isinstance(space, Kernel) else embed(space, rows)
    ridge = alpha * np.eye(Z.shape[1])
    L = np.linalg.cholesky(Z.T @ (v[:, None] * Z) + ridge)
    values = np.linalg.eigvalsh(solved_lower(L, solved_lower(L, Z.T @ (w[:, None] * Z) + ridge).T))
    return min(float(values[0]), 1.0), max(float(values[-1]), 1.0)  # in directions without rows A and A' are both αI


def gram_of(space: Space, X: Matrix) -> Matrix:
    """The kernel matrix of a block, by a kernel or by features."""
    if isinstance(space, Kernel):
        return gram(space, X)
    Z = embed(space, X)
    return np.asarray(Z @ Z.T)


def _weighted(space: Space, X: ArrayLike, weights: ArrayLike | None) -> tuple[Matrix, Vector]:
    rows = check_block("X", X)
    return gram_of(space, rows), _checked(weights, len(rows))


def _rescaled(space: Space, X: ArrayLike, weights: ArrayLike | None) -> Matrix:
    K, w = _weighted(space, X, weights)
    return np.asarray(np.sqrt(w)[:, None] * K * np.sqrt(w))


def _checked(weights: ArrayLike | None, rows: int) -> Vector:
    if weights is None:
        return np.ones(rows)
    w = np.asarray(weights, dtype=float)
    if w.shape != (rows,) or not np.all((w >= 0.0) & (w < np.inf)):
        raise InputError(f"weights must be {rows} finite numbers, none negative, got shape {w.shape}")
    return w
