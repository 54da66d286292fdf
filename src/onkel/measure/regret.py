"""Regret: the loss of the scores minus that of the best function in hindsight; and the quantities used in its bounds.

    R_t = Σ_{s≤t} (y_s − ŷ_s)² − min_f [ Σ_{s≤t} (y_s − f(x_s))² + λ‖f‖² ]

f ranges over the whole space of a kernel (for up to LARGEST_DUAL rows, since the kernel matrix K is factorised) or over the span of
features (any number of rows). One factorisation is enough to compute R_t for all t. For a kernel, with L Lᵀ = K + λI, the minimum
grows by λ(L⁻¹y)_t² in round t. For features it grows by (y_t − m_t)²/(1 + z_tᵀA⁻¹z_t), where z_t are the features of row t, A is
λI + Σ z zᵀ over the rows before it, and m_t is the ridge prediction from these rows. This growth is the squared residual that is
left when the row is rotated into the Cholesky factor of A.

>>> X, y = onkel.data.smooth(300, seed=0)
>>> learner = onkel.KernelAWV(kernel=onkel.Gaussian(width=1.0))
>>> measured = onkel.regret(learner, X, y)
>>> measured.total < onkel.measure.bounds.kernel_awv(learner.kernel, X, y, learner.lam)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.features import Features
from onkel.features.compose import as_features
from onkel.kernels import Kernel
from onkel.linalg.rotations import rotate
from onkel.linalg.triangular import solved_lower
from onkel.protocol import is_learner

LARGEST_DUAL = 10_000  # rows: their kernel matrix takes 800 MB

Space = Kernel | Features | tuple[Features, ...]


@dataclass(frozen=True, repr=False)
class Regret:
    """After each row: the loss of the scores so far, and that of the best function in hindsight, including its norm λ‖f‖².

    loss  The sum of the losses of the scores, after each row.
    best  The least Σ loss + λ‖f‖² of any one function, after each row.
    """

    loss: Vector
    best: Vector

    def __repr__(self) -> str:
        lost, best = (float(sums[-1]) if len(sums) else 0.0 for sums in (self.loss, self.best))
        return f"<Regret after {len(self.loss):,} rows: {self.total:.5g} = {lost:.5g} lost - {best:.5g} of the best function>"

    @property
    def curve(self) -> Vector:
        """The regret after each row."""
        return self.loss - self.best

    @property
    def total(self) -> float:
        """The regret after the last row."""
        return float(self.loss[-1] - self.best[-1]) if len(self.loss) else 0.0


def regret(scores: Any, X: ArrayLike, y: ArrayLike, space: Space | None = None, lam: float | None = None) -> Regret:
    """The regret of a stream's scores in the square loss, against the best f of a kernel's space or of the span of features.

    scores   the score of each row before it was learnt; or a learner, which then makes them from a new state
    X        the rows, in the order in which they were learnt
    y        their labels
    space    the kernel or the features whose functions are compared; None: those of the learner
    lam      λ, the weight of ‖f‖² in the comparison; None: the learner's
    """
    rows, labels, shape = _stream(X, y)
    if is_learner(scores):
        space, lam = _compared(scores, space, lam)
        scores = scores.learn(scores.init(rows.shape[1], labels.shape[1]), rows, labels.reshape(shape))
    elif space is None or lam is None:
        raise InputError(
            "scores alone do not say with what they are compared: give space and lam, as in regret(scores, X, y, Gaussian(), 1.0)"
        )
    given = np.asarray(scores, dtype=float)
    if given.shape != shape or not np.isfinite(given).all():
        raise InputError(f"scores must be finite and have y's shape {shape}, got shape {given.shape}")
    loss = np.sum((given.reshape(labels.shape) - labels) ** 2, axis=1)
    return Regret(np.cumsum(loss), np.cumsum(_growth(rows, labels, space, positive("lam", lam))))


def _compared(learner: Any, space: Space | None, lam: float | None) -> tuple[Space, float]:
    """The space and the λ with which a learner is compared: its own, unless others are given."""
    space = getattr(learner, "kernel", getattr(learner, "features", None)) if space is None else space
    lam = getattr(learner, "lam", None) if lam is None else lam
    if space is None or not lam:
        raise InputError(
            f"{type(learner).__name__} does not say with what it is compared: give space and lam, as in "
            "regret(learner, X, y, Gaussian(), 1.0); for experts see onkel.explain"
        )
    return space, lam


def best_in_hindsight(X: ArrayLike, y: ArrayLike, space: Space, lam: float) -> float:
    """min_f [ Σ (y − f(x))² + λ‖f‖² ].

    >>> X, y = onkel.data.smooth(300, seed=0)
    >>> for space in onkel.Identity() + onkel.Constant(), onkel.Gaussian(width=1.0):
    ...     print(round(onkel.measure.best_in_hindsight(X, y, space, lam=1.0)))
    200
    58
    """
    rows, labels, _ = _stream(X, y)
    return float(np.sum(_growth(rows, labels, space, positive("lam", lam))))


def spectrum(space: Space, X: ArrayLike) -> Vector:
    """The eigenvalues of the kernel matrix of X, largest first; negative ones, due to rounding, are set to 0.

    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
    >>> kernel = onkel.Gaussian(width=1.0)
    >>> values = onkel.measure.spectrum(kernel, X)
    >>> values[:4].round()  # few directions hold nearly everything
    array([117.,  35.,  28.,   8.])
    >>> bool(np.isclose(onkel.measure.log_det(kernel, X, 1.0), np.log(1.0 + values).sum()))
    True
    """
    rows = check_block("X", X)
    if isinstance(space, Kernel):
        values = np.linalg.eigvalsh(gram(space, rows))
    else:
        Z = embed(space, rows)
        values = np.linalg.eigvalsh(Z.T @ Z)
    return np.asarray(np.maximum(values[::-1], 0.0))


def effective_dimension(kernel: Space, X: ArrayLike, lam: float) -> float:
    """d_eff(λ) = Tr K(K + λI)⁻¹: the number of directions of X that matter with a ridge λ.

    kernel   The kernel, or features.
    X        The rows.
    lam      λ > 0, the ridge.

    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 2))
    >>> [round(onkel.effective_dimension(onkel.Gaussian(width=1.0), X, lam), 1) for lam in (10.0, 1.0, 0.1)]
    [5.0, 8.9, 13.4]
    """
    values = spectrum(kernel, X)
    return float(np.sum(values / (values + positive("lam", lam))))


def log_det(kernel: Space, X: ArrayLike, lam: float) -> float:
    """ln det(I + K/λ) = Σ ln(1 + λ_k(K)/λ)."""
    return float(np.sum(np.log1p(spectrum(kernel, X) / positive("lam", lam))))


def projection_error(kernel: Kernel, X: ArrayLike, features: Space) -> float:
    """‖(I − P)C^½‖² = λ_max(K − ZZᵀ): the part of the covariance of X's rows outside the span of the features.

    C = Σ φ(x_t)φ(x_t)ᵀ is this covariance in the kernel's space, not divided by the number of rows; P projects onto the span of the
    features. K is the kernel matrix of X, and the rows of Z are their features.

    The features must be orthonormal in the kernel's space. `Nystroem(kernel, points)` always is; `Taylor(degree, width)` is in the
    space of `Gaussian(width)`.

    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
    >>> for degree in (2, 4, 8):
    ...     print(f"{onkel.measure.projection_error(onkel.Gaussian(width=1.0), X, onkel.Taylor(degree, width=1.0)):.1e}")
    4.0e+00
    2.6e-01
    5.8e-04
    """
    rows = check_block("X", X)
    if not len(rows):
        return 0.0
    Z = embed(features, rows)
    rest = gram(kernel, rows) - Z @ Z.T
    values = np.linalg.eigvalsh(rest)
    if values[0] < -1e-6 * max(values[-1], np.trace(Z @ Z.T) / len(rows)):
        raise InputError(f"{features!r:.200} is not orthonormal in the space of {kernel!r:.200}; give them the same width")
    return max(float(values[-1]), 0.0)


def gram(kernel: Kernel, X: Matrix) -> Matrix:
    """The kernel matrix of a block; too many rows are refused."""
    if len(X) > LARGEST_DUAL:
        raise InputError(f"{len(X):,} rows are too many for a kernel matrix (at most {LARGEST_DUAL:,}); give features instead")
    kernel.diagonal(X)
    return kernel(X, X)


def embed(features: Space, X: Matrix) -> Matrix:
    """The features of each row of X; features that adapt see the rows in order."""
    z = as_features(features)  # type: ignore[arg-type]
    if not isinstance(z, Features):
        raise InputError(f"give features, such as Taylor(degree=2), got {features!r:.200}")
    return z.transformed(z.init(X.shape[1]), X, np.ones(len(X)))[0]


def _stream(X: ArrayLike, y: ArrayLike) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    rows = check_block("X", X)
    return check_labelled(rows, y, rows.shape[1], np.asarray(y).shape[1] if np.ndim(y) == 2 else 1)


def _growth(X: Matrix, Y: Matrix, space: Space, lam: float) -> Vector:
    """The growth of min_f [ Σ (y − f(x))² + λ‖f‖² ] in each round."""
    if isinstance(space, Kernel):
        try:
            L = np.linalg.cholesky(gram(space, X) + lam * np.eye(len(X)))
        except np.linalg.LinAlgError:
            raise InputError(f"lam = {lam:g} is too small relative to the kernel's values; raise it, or rescale X") from None
        return np.asarray(lam * np.sum(solved_lower(L, Y) ** 2, axis=1)) if len(X) else np.empty(0)
    growth = np.empty(len(X))
    _rotate_all(embed(space, X), Y.copy(), lam, growth)
    return growth


@hot
def _rotate_all(Z: Matrix, Y: Matrix, lam: float, growth: Vector) -> None:
    n, r = Z.shape
    outputs = Y.shape[1]
    R, c = np.eye(r) * np.sqrt(lam), np.zeros((outputs, r))
    start, m, s = np.zeros(1, np.int64), np.empty((1, outputs)), np.empty(1)
    for t in range(n):
        rotate(R, c, Z[t : t + 1], Y[t : t + 1], start, m, s)
        growth[t] = np.sum(Y[t] ** 2)


def positive(name: str, value: float) -> float:
    if not 0.0 < value < np.inf:
        raise InputError(f"{name} must be a positive number, got {value!r}")
    return float(value)
