"""Upper bounds on the regret R = Σ(y − ŷ)² − min_f [Σ(y − f)² + λ‖f‖²] of the ridge family.

`largest` is B, a bound on |y|; if it is None, B is the largest |y| of the stream. n is the number of rows, κ² the largest k(x, x).

JGR: Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS.
Departs from the paper: Theorem 9 is printed with λ instead of λ², and without λ‖f‖²; Proposition 5 with a smaller β and fewer
points than its source proves (`oversampling`, `kors`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._types import Matrix, Vector
from onkel.dictionary import Kors
from onkel.errors import InputError
from onkel.features import Nystroem, Taylor
from onkel.kernels import Gaussian, Kernel
from onkel.measure.bounds.calandriello2017 import row_sampling
from onkel.measure.bounds.conditions import ROUNDING, check_sampling
from onkel.measure.regret import Space, effective_dimension, embed, log_det, positive, projection_error, spectrum


def kernel_awv(kernel: Space, X: ArrayLike, y: ArrayLike, lam: float, largest: float | None = None) -> float:
    """B² ln det(I + K/λ), for `KernelAWV` against every f of the kernel's space, and for `PKAWV` on features against every f of
    their span.

    K is the kernel matrix of X, B is `largest` (None: the largest |y|). JGR Proposition 1. Conditions: |y| ≤ B. It holds for all
    inputs, in any order.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> learner = onkel.KernelAWV(kernel=onkel.Gaussian(width=1.0))
    >>> onkel.regret(learner, X, y).total < kernel_awv(learner.kernel, X, y, lam=1.0)
    True
    """
    return _largest(X, y, largest) ** 2 * log_det(kernel, X, lam)


def kernel_awv_by_dimension(kernel: Kernel, X: ArrayLike, y: ArrayLike, lam: float, largest: float | None = None) -> float:
    """B² d_eff(λ) ln(e + enκ²/λ), the bound of `kernel_awv` in terms of the effective dimension.

    n is the number of rows, κ² the largest k(x, x), B is `largest` (None: the largest |y|).
    JGR Propositions 1 and 2. Conditions: |y| ≤ B.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> kernel = onkel.Gaussian(width=1.0)
    >>> kernel_awv(kernel, X, y, lam=1.0) < kernel_awv_by_dimension(kernel, X, y, lam=1.0)
    True
    """
    return _largest(X, y, largest) ** 2 * _dimension_term(kernel, check_block("X", X), lam)


def clipped_ridge(kernel: Kernel, X: ArrayLike, y: ArrayLike, lam: float, clip: float) -> float:
    """4B² ln det(I + K/λ), for `KernelRidge` whose scores are clipped to [−B, B].

    K is the kernel matrix of X. Zhdanov & Kalnishkan (2013), An identity for kernel ridge regression. Conditions: |y| ≤ clip = B.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> learner = onkel.KernelRidge(kernel=onkel.Gaussian(width=1.0), clip=4.0)
    >>> onkel.regret(learner, X, y).total < clipped_ridge(learner.kernel, X, y, lam=1.0, clip=4.0)
    True
    """
    return 4.0 * _largest(X, y, clip) ** 2 * log_det(kernel, X, lam)


def fixed_span(kernel: Kernel, features: Space, X: ArrayLike, y: ArrayLike, lam: float, largest: float | None = None) -> float:
    """B² ln det(I + K/λ) + (μ + λ)nμB²/λ² with μ = ‖(I − P)C^½‖², for `PKAWV` on features against every f of the *kernel's* space.

    K is the kernel matrix of the n rows, B is `largest` (None: the largest |y|); P and C as in `onkel.measure.projection_error`,
    which computes μ. JGR Theorem 3. Conditions: |y| ≤ B; the features are orthonormal in the kernel's space.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> kernel = onkel.Gaussian(width=2.0)
    >>> for degree in (2, 4, 8):  # features that capture the kernel nearly have its own bound
    ...     print(f"{fixed_span(kernel, onkel.Taylor(degree, width=2.0), X, y, lam=1.0) / kernel_awv(kernel, X, y, lam=1.0):.1f}")
    75.3
    8.3
    1.2
    """
    B, mu = _largest(X, y, largest), projection_error(kernel, X, features)
    return B**2 * (log_det(kernel, X, lam) + (mu + lam) * len(check_block("X", X)) * mu / lam**2)


def taylor_degree(n: int, lam: float, radius: float, width: float) -> int:
    """The degree M = ⌈max(8R²/σ², 2 ln(n/min(λ, 1)))⌉ that JGR Theorem 4 requires; R is the `radius`, σ the `width`.

    >>> taylor_degree(n=1000, lam=1.0, radius=1.0, width=1.0)
    14
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    radius, width, lam = positive("radius", radius), positive("width", width), positive("lam", lam)
    return math.ceil(max(8.0 * radius**2 / width**2, 2.0 * math.log(n / min(lam, 1.0))))


def taylor(features: Taylor, X: ArrayLike, y: ArrayLike, lam: float, radius: float, largest: float | None = None) -> float:
    """1.5 B² ln det(I + K/λ), for `PKAWV` on Taylor features of high degree against every f of the Gaussian kernel's space.

    K is the kernel matrix of X, R is `radius`, B is `largest` (None: the largest |y|).
    JGR Theorem 4. Conditions: |y| ≤ B; ‖x‖ ≤ R; degree ≥ `taylor_degree`.

    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    >>> bound = taylor(onkel.Taylor(degree=16, width=1.0), X, X[:, 0], lam=1.0, radius=1.0)
    >>> round(bound / kernel_awv(onkel.Gaussian(width=1.0), X, X[:, 0], lam=1.0), 2)
    1.5
    """
    rows = check_block("X", X)
    width = math.sqrt(rows.shape[1]) if features.width is None else features.width
    _within(rows, radius)
    degree = taylor_degree(len(rows), lam, radius, width)
    if features.degree < degree:
        raise InputError(f"the theorem requires degree {degree} or more, got {features.degree}")
    return 1.5 * _largest(X, y, largest) ** 2 * log_det(Gaussian(width), rows, lam)


def gaussian_dimension(n: int, dim: int, lam: float, radius: float, width: float) -> float:
    """d_eff(λ) ≤ 3(6 + 41R²/(2dσ²) + 3 ln(n/λ)/d)^d, for the Gaussian kernel.

    n is the number of rows, d is `dim`, R is `radius`, σ is `width`.
    Altschuler, Bach, Rudi & Weed (2018), quoted by JGR after Theorem 4. Conditions: ‖x‖ ≤ R, λ ≤ n.

    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    >>> measured = onkel.effective_dimension(onkel.Gaussian(width=1.0), X, lam=1.0)
    >>> measured < gaussian_dimension(n=200, dim=2, lam=1.0, radius=1.0, width=1.0)
    True
    """
    if not 0.0 < lam <= n:
        raise InputError(f"lam must be positive and at most n = {n}, got {lam:g}")
    radius, width, dim = positive("radius", radius), positive("width", width), int(positive("dim", dim))
    return 3.0 * (6.0 + 41.0 / dim * radius**2 / (2.0 * width**2) + 3.0 / dim * math.log(n / lam)) ** dim


def kors(kernel: Kernel, X: ArrayLike, dictionary: Kors, delta: float) -> tuple[float, float]:
    """μ and 9β d_onl(μ): bounds on ‖(I − P)C^½‖² and on the number of points, in all rounds with probability 1 − δ.

    μ is `mu` of the dictionary, n the number of rows, ‖(I − P)C^½‖² the `onkel.measure.projection_error` of the span of the points.

    JGR Proposition 5; d_onl is `onkel.measure.online_dimension`. For the number of points the paper prints 9 d_eff(μ) ln²(2n/δ),
    which does not hold (see papers/jezequel2019); this is Theorem 2 of Calandriello et al. (2017), `row_sampling`, for ε = ½.
    Conditions: accuracy ½, oversampling β ≥ 12 ln(4n²/δ); d_onl(μ) ≥ 1.

    >>> X, _ = onkel.data.rings(200, seed=0)
    >>> dictionary = onkel.Kors(mu=1.0, oversampling=onkel.measure.bounds.oversampling(200, delta=0.1))
    >>> mu, points = kors(onkel.Gaussian(width=1.0), X, dictionary, delta=0.1)
    >>> len(dictionary.choose(onkel.Gaussian(width=1.0), X)) < points
    True
    """
    rows = check_block("X", X)
    _theory(dictionary, len(rows), delta)
    return dictionary.mu, row_sampling(kernel, rows, dictionary, delta)[0]


def nystroem(
    kernel: Kernel,
    X: ArrayLike,
    y: ArrayLike,
    lam: float,
    dictionary: Kors,
    points: int,
    delta: float,
    largest: float | None = None,
) -> float:
    """B² d_eff(λ) ln(e + enκ²/λ) + 2B²(m + 1)nμ/λ, for `PKAWVNystroem` whose KORS has taken m points, with probability 1 − δ.

    μ is `mu` of the dictionary, n the number of rows, κ² the largest k(x, x). JGR Theorem 6. Conditions: |y| ≤ B; λ ≥ μ; accuracy
    ½, oversampling ≥ 12 ln(4n²/δ). It holds for the default learner: AWV, no budget, history kept. `points` is m.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> dictionary = onkel.Kors(mu=1.0, oversampling=onkel.measure.bounds.oversampling(200, delta=0.1))
    >>> learner = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.0), dictionary=dictionary)
    >>> state = learner.init(dim=2)
    >>> measured = onkel.regret(learner.learn(state, X, y), X, y, learner.kernel, lam=1.0)
    >>> measured.total < nystroem(learner.kernel, X, y, 1.0, dictionary, points=len(state.span.joined), delta=0.1)
    True
    """
    rows = check_block("X", X)
    if not 0 <= points <= len(rows):
        raise InputError(f"points must lie between 0 and the {len(rows)} rows, got {points}")
    _theory(dictionary, len(rows), delta)
    B = _largest(X, y, largest)
    return B**2 * (_dimension_term(kernel, rows, lam) + 2.0 * (points + 1) * _span_term(len(rows), dictionary.mu, lam))


def known_inputs(
    kernel: Kernel, X: ArrayLike, y: ArrayLike, lam: float, dictionary: Kors, delta: float, largest: float | None = None
) -> float:
    """B² d_eff(λ) ln(e + enκ²/λ) + 2B²nμ/λ, for `PKAWV` on points that KORS chose from all inputs before the first round.

    n is the number of rows, κ² the largest k(x, x), B is `largest` (None: the largest |y|), μ is `mu` of the dictionary.
    JGR Theorem 3 with Proposition 5, as in the proof of Corollary 8; with probability 1 − δ.
    Conditions: |y| ≤ B; λ ≥ μ; accuracy ½, oversampling ≥ 12 ln(4n²/δ).

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> kernel = onkel.Gaussian(width=1.0)
    >>> dictionary = onkel.Kors(mu=1.0, oversampling=onkel.measure.bounds.oversampling(200, delta=0.1))
    >>> points = dictionary.choose(kernel, X)
    >>> learner = onkel.PKAWV(features=onkel.Nystroem(kernel, points))
    >>> measured = onkel.regret(onkel.prequential(learner, X, y).scores, X, y, kernel, lam=1.0)
    >>> measured.total < known_inputs(kernel, X, y, 1.0, dictionary, delta=0.1)
    True
    """
    rows = check_block("X", X)
    _theory(dictionary, len(rows), delta)
    return _largest(X, y, largest) ** 2 * (_dimension_term(kernel, rows, lam) + 2.0 * _span_term(len(rows), dictionary.mu, lam))


def growing_span(
    kernel: Kernel, X: ArrayLike, y: ArrayLike, lam: float, joined: Sequence[int] | Vector, largest: float | None = None
) -> float:
    """Σ y_t² z_tᵀA_t⁻¹z_t + Σ_t (μ_t + λ)tμ_tB²/λ², for `PKAWVNystroem` with any dictionary.

    z_t are the features of row t, A_t is the matrix of the ridge including row t. `joined` are the rows of X that joined the span,
    in order: `state.span.joined[state.span.spanning]` if every row was learnt. μ_t is ‖(P_{t+1} − P_t)C_t^½‖², where P_t projects
    onto the span in round t (with row t, if it joined), P_{n+1} = I, and C_t is the sum of φ(x)φ(x)ᵀ over the first t rows. JGR
    Theorem 9. Conditions: |y| ≤ B; the history is kept.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> learner = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.0))
    >>> state = learner.init(dim=2)
    >>> measured = onkel.regret(learner.learn(state, X, y), X, y, learner.kernel, lam=1.0)
    >>> measured.total < growing_span(learner.kernel, X, y, 1.0, state.span.joined[state.span.spanning])
    True
    """
    B = _largest(X, y, largest)
    rows, labels, lam = check_block("X", X), np.asarray(y, dtype=float).reshape(-1), positive("lam", lam)
    n, joined = len(rows), np.asarray(joined)
    whole = joined.size == 0 or joined.dtype.kind in "iu"
    if not whole or (joined.size and not (np.all(np.diff(joined) > 0) and joined[0] >= 0 and joined[-1] < n)):
        raise InputError(f"joined must be increasing row numbers of X, from 0 to {n - 1}")
    rest = float(spectrum(kernel, rows)[0]) if n else 0.0
    total = 0.0
    if joined.size:
        span = Nystroem(kernel, rows[joined])
        Z = embed(span, rows)
        if Z.shape[1] < joined.size:
            raise InputError(
                "`joined` contains rows that lie in the span of earlier ones; leave these out, as in "
                "state.span.joined[state.span.spanning]"
            )
        rest = projection_error(kernel, rows, span)
        changes = [(int(t), float(Z[:t, j] @ Z[:t, j])) for j, t in enumerate(joined)]
        total = float(labels**2 @ _leverages(Z, joined, lam)) + _moved(changes, lam, B)
    return total + _moved([(n, rest)], lam, B)


def growing_span_rate(n: float, points: float, capacity: float) -> float:
    """The order of the regret of `PKAWVNystroem` with about m points: n^(γ/(1+γ)) if m ≥ n^(2γ/(1−γ²)), else n m^(½−1/(2γ)).

    JGR Corollary 7, up to logarithms and constants, for the best λ and μ = n m^(−1/γ).
    Conditions: d_eff(λ) ≤ (n/λ)^γ for all λ, with γ = `capacity` in (0, 1); 1 ≤ m ≤ n.

    >>> [round(growing_span_rate(n=1e6, points=points, capacity=0.25)) for points in (1e2, 1e3, 1e4)]
    [1000, 32, 16]
    """
    _rates(n, points, capacity)
    if points < n ** (2.0 * capacity / (1.0 - capacity**2)):
        return float(n * points ** (0.5 - 0.5 / capacity))
    return float(n ** (capacity / (1.0 + capacity)))


def known_inputs_rate(n: float, points: float, capacity: float) -> float:
    """The order of the regret if the inputs are known before the first round: n^(γ/(1+γ)) if m ≥ n^(2γ/(1+γ)), else n m^(−1/(2γ)).

    JGR Corollary 8, up to logarithms and constants, for the best λ and μ = n m^(−1/γ). Conditions: as for `growing_span_rate`.

    >>> [round(known_inputs_rate(n=1e6, points=points, capacity=0.25)) for points in (1e1, 1e2, 1e3)]
    [10000, 100, 16]
    """
    _rates(n, points, capacity)
    if points < n ** (2.0 * capacity / (1.0 + capacity)):
        return float(n * points ** (-0.5 / capacity))
    return float(n ** (capacity / (1.0 + capacity)))


def _dimension_term(kernel: Kernel, X: Matrix, lam: float) -> float:
    kappa2 = float(np.max(kernel.diagonal(X), initial=0.0))
    return effective_dimension(kernel, X, lam) * math.log(math.e + math.e * len(X) * kappa2 / lam)


def _span_term(n: int, mu: float, lam: float) -> float:
    if lam < mu:
        raise InputError(f"the theorem requires lam ≥ mu, got lam={lam:g} and mu={mu:g}")
    return n * mu / lam


def _moved(changes: Sequence[tuple[int, float]], lam: float, B: float) -> float:
    return sum((mu + lam) * t * mu * B**2 / lam**2 for t, mu in changes)


def _leverages(Z: Matrix, joined: Vector, lam: float) -> Vector:
    """z_tᵀA_t⁻¹z_t in the coordinates that existed in round t."""
    n, r = Z.shape
    out, S = np.zeros(n), np.zeros((r, r))
    for t in range(n):
        S += np.outer(Z[t], Z[t])
        now = int(np.searchsorted(joined, t, side="right"))
        z = Z[t, :now]
        out[t] = z @ np.linalg.solve(S[:now, :now] + lam * np.eye(now), z) if now else 0.0
    return out


def _largest(X: ArrayLike, y: ArrayLike, largest: float | None) -> float:
    """The bound B on |y|. There must be one label for each row; if there are several outputs, each has a bound of its own."""
    rows = check_block("X", X)
    _, labels, _ = check_labelled(rows, y, rows.shape[1], 1)
    found = float(np.max(np.abs(labels), initial=0.0))
    if largest is None:
        return found
    if not found <= largest < math.inf:
        raise InputError(f"the bound is for |y| ≤ {largest:g}, but a label is {found:g}")
    return float(largest)


def _within(X: Matrix, radius: float) -> None:
    longest = float(np.sqrt(np.max(np.sum(X**2, axis=1), initial=0.0)))
    if longest > radius * (1.0 + ROUNDING):
        raise InputError(f"the bound is for ‖x‖ ≤ {radius:g}, but a row has {longest:g}")


def _theory(dictionary: Kors, n: int, delta: float) -> None:
    """Refuse a dictionary to which JGR Proposition 5 does not apply."""
    check_sampling(dictionary, n, delta)
    if dictionary.accuracy != 0.5:
        raise InputError(f"the bound is for Kors with accuracy 0.5, got {dictionary!r}")


def _rates(n: float, points: float, capacity: float) -> None:
    if not (0.0 < capacity < 1.0 and 1.0 <= points <= n):
        raise InputError(f"the rates are for capacity in (0, 1) and 1 ≤ points ≤ n, got {capacity:g}, {points:g} and {n:g}")
