"""Confidence bands of a least-squares curve: a fit with more functions than predict best, and the variance that residuals show.

With as many functions as predict best, what these functions cannot represent is about as large as the noise of the fit, and a band
of the noise alone misses the curve. So a band has a fit of its own, by five steps. Below, c = R⁻ᵀb and z = R⁻ᵀψ with RᵀR = A,
so that the curve is z·c, and the first N entries of c and z are the fit with the first N functions alone.

1.  The ridge is multiplied by the noise's share of Σy². Its bias is then small beside the standard error, whatever the units of y.
2.  The functions that predict best: N₁ = argmin Σ_{j ≤ N} (2.2 v_j − c_j²), with v_j the variance of c_j. (This is Mallows' C_p
    with 2.2 in the place of 2, so that few rows mislead less often.) The band has 1.7 times as many levels, and one more.
3.  The covariance of c is the sandwich Σ w s² z zᵀ, with the rows' weights w, so the noise may depend on x. s² are squared
    residuals of a sample of m rows, divided by one minus their leverages, and averaged over neighbours: row j counts for row i by
    the square of the reproducing kernel of the first m^(1/3) functions.
4.  Bias that is left shows in what the last half of the functions adds, d, where these add in phase, as at the ends of a domain.
    With var(d) from step 3, the squared standard error is  zᵀ cov(c) z + ½ max(d² − 2 var(d), 0). A band for all places at once
    is missed where bias is largest, so it has max(d² − var(d), 0). If there are too few functions for step 2, the last ones
    (instead of half) are those after N₁.
5.  Quantiles are those of Student's t with (rows − functions) degrees of freedom. For a band that holds everywhere at once, the
    quantile is that of the maximum over the sample of the Gaussian process with this covariance, by simulation (fixed draws).

Hall (1992), Effect of bias estimation on coverage accuracy of bootstrap confidence intervals for a probability density. Calonico,
Cattaneo & Farrell (2018), On the effect of bias estimation on coverage accuracy in nonparametric inference. MacKinnon & White
(1985), Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample properties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from onkel import _student as student
from onkel._types import Counts, Matrix, Vector
from onkel.linalg.blas import solve_upper_transposed
from onkel.random import fill_normal

PENALTY = 2.2  # of a function, in variances of its coefficient
MORE_LEVELS, EXTRA_LEVELS = 1.7, 1
LEAST_ROWS = 3.0  # rows for each function, at least
MOST_LEVERAGE = 0.9
AT_ONE_PLACE, EVERYWHERE = (0.5, 2.0), (1.0, 1.0)  # the factors of d² and var(d)
ROUNDING = 1e-12, 1e-9, 1e-6, 1e-3, 1.0  # relative, added to the diagonal of A: the first that makes it positive definite
DRAWS = 2000


class Problem(NamedTuple):
    """Least squares for one output, and a sample of its rows."""

    A: Matrix  # (r, r)  Σ w ψψᵀ + the ridge
    ridge: Vector  # (r,)
    b: Vector  # (r,)  Σ w y ψ
    y: Vector  # (m,)  the labels of the sample
    widths: Counts  # (levels,)  number of functions of each level
    rows: float  # the effective number of rows
    Psi: Matrix  # (m, r)  the functions of the sample
    weight: Vector  # (m,)
    fading: Vector  # (m,)  what is left of each row's weight by forgetting; 1 if nothing is forgotten
    counts: Vector  # (m,)  for how many rows, each with its squared fading, a row of the sample stands


@dataclass(frozen=True)
class Undersmoothed:
    """The fit of a band. Its rows Psi may be any linear functionals of the functions, such as a difference of two rows."""

    R: Matrix  # (N, N)  upper triangular
    coef: Vector  # (N,)  c
    root: Matrix  # (N, N)  S with SSᵀ = cov(c)
    half: int  # the functions from here on are the last half
    freedom: float

    def curve(self, Psi: Matrix) -> Vector:
        return np.asarray(self._solved(Psi) @ self.coef)

    def error(self, Psi: Matrix, everywhere: bool = False) -> Vector:
        """The standard error at each row, with what shows of bias."""
        share, variances = EVERYWHERE if everywhere else AT_ONE_PLACE
        Z = self._solved(Psi)
        variance, late = np.sum((Z @ self.root) ** 2, axis=1), slice(self.half, None)
        added, noise = Z[:, late] @ self.coef[late], np.sum((Z[:, late] @ self.root[late]) ** 2, axis=1)
        return np.asarray(np.sqrt(variance + share * np.maximum(added**2 - variances * noise, 0.0)))

    def quantile(self, confidence: float) -> float:
        """How many standard errors a band reaches to each side at one place."""
        return student.quantile(NormalDist().inv_cdf(0.5 + 0.5 * confidence), self.freedom)

    def quantile_everywhere(self, confidence: float, Psi: Matrix) -> float:
        """The same for a band that holds at all these rows at once."""
        W = self._solved(Psi) @ self.root
        sizes = np.sqrt(np.sum(W * W, axis=1))
        W = W[sizes > 0.0] / sizes[sizes > 0.0, None]
        if len(W) == 0:
            return self.quantile(confidence)
        draws = np.empty((DRAWS, W.shape[1]))
        fill_normal(0, 0, draws)
        largest = float(np.quantile(np.max(np.abs(draws @ W.T), axis=1), confidence))
        return student.quantile(largest, self.freedom)

    def _solved(self, Psi: Matrix) -> Matrix:
        return _solved(self.R, Psi[:, : len(self.R)])


def fitted(given: Problem) -> Undersmoothed | None:
    """The fit of a band; None if there are not more rows than the first level has functions."""
    widths = given.widths[given.widths <= max(given.rows / LEAST_ROWS, given.widths[0])]
    if given.rows <= widths[0] or len(given.y) == 0:
        return None
    # 1. Less ridge
    top = int(widths[-1])
    pilot = _factored(given, np.zeros(top))
    squares = _squares(given, pilot, top)
    labels = float(given.weight @ given.y**2)
    share = min(1.0, float(squares.sum()) / labels) if labels > 0.0 else 1.0
    full = _factored(given, (1.0 - share) * given.ridge[:top])
    # 2. The number of functions
    squares = _squares(given, full, top)
    gains = full.c**2 - PENALTY * ((given.counts * given.weight * squares) @ full.Z**2)
    best = 1 + int(np.argmax(np.cumsum(gains)[widths - 1]))
    wanted = math.ceil(MORE_LEVELS * best) + EXTRA_LEVELS
    level, half = (wanted, wanted // 2) if wanted <= len(widths) else (len(widths), max(len(widths) // 2, best))
    N, half = int(widths[level - 1]), int(widths[half - 1])
    # 3. The noise
    Z = np.ascontiguousarray(full.Z[:, :N])
    smooth = Z[:, : min(max(round(len(Z) ** (1.0 / 3.0)), int(widths[0])), N)]
    near = (smooth @ smooth.T) ** 2
    total = near.sum(axis=1)
    noise = np.where(total > 0.0, near @ _squares(given, full, N) / np.where(total > 0.0, total, 1.0), 0.0)
    covariance = (Z * (given.counts * given.weight * noise)[:, None]).T @ Z
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return Undersmoothed(np.ascontiguousarray(full.R[:N, :N]), full.c[:N], root, half, max(given.rows - N, 1.0))


class _Factored(NamedTuple):
    R: Matrix
    c: Vector
    Z: Matrix  # (m, top)


def _factored(given: Problem, less: Vector) -> _Factored:
    """The fit with the first functions, with this much less ridge."""
    r = len(less)
    A = given.A[:r, :r] - np.diag(less)
    for rounding in ROUNDING:
        try:
            R = np.ascontiguousarray(np.linalg.cholesky(A + np.diag(rounding * np.diag(given.A)[:r])).T)
            break
        except np.linalg.LinAlgError:  # A has no inverse to working precision: use more
            continue
    return _Factored(R, _solved(R, given.b[None, :r])[0], _solved(R, given.Psi[:, :r]))


def _solved(R: Matrix, rows: Matrix) -> Matrix:
    Z = np.array(rows, order="C")
    solve_upper_transposed(R, Z)
    return Z


def _squares(given: Problem, full: _Factored, N: int) -> Vector:
    """The squared residual of each row of the sample with the first N functions, times its weight, so that it is the noise of a
    row of weight 1."""
    Z = full.Z[:, :N]
    leverage = given.weight * given.fading * np.sum(Z * Z, axis=1)
    return np.asarray(given.weight * (given.y - Z @ full.c[:N]) ** 2 / (1.0 - np.minimum(leverage, MOST_LEVERAGE)))
