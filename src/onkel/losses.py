"""Losses ℓ(f, y) of a score f against a label y: value, derivative in f, Lipschitz constant and curvature.

    square                    (f − y)²
    hinge                     (1 − yf)₊
    squared hinge             (1 − yf)₊²
    logistic                  ln(1 + e^{−yf})
    ε-insensitive             (|f − y| − ε)₊
    squared ε-insensitive     (|f − y| − ε)₊²

For scores in [−C, C] (C is `clip`) and |y| ≤ Y (`largest_label`), with g = dℓ/df:

    lipschitz     L     |g| ≤ L
    curvature     σ     ℓ(b) ≥ ℓ(a) + g(a)(b − a) + (σ/2)(g(a)(b − a))²   for all a, b in [−C, C]

A loss is passed to compiled code as its `code` and its one `parameter`; `value` and `slope` are the arithmetic of all losses.

>>> Logistic()([2.0, -1e6], [1.0, 1.0])
array([1.26928011e-01, 1.00000000e+06])
>>> Square().curvature(clip=1.0)
0.125
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import check_signs
from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.errors import InputError

__all__ = ["EpsilonInsensitive", "Hinge", "Logistic", "Square", "SquaredEpsilonInsensitive", "SquaredHinge"]

SQUARE, HINGE, SQUARED_HINGE, LOGISTIC, EPSILON_INSENSITIVE, SQUARED_EPSILON_INSENSITIVE = range(6)

# The slope of the hinge loss is not 0 if yf < 1 − KINK, and that of the ε-insensitive loss if |f − y| > ε + KINK. Without KINK,
# rounding would decide for scores clipped to 1, which are exactly where the hinge bends.
KINK = 1e-9


class Loss(ABC):
    """The cost of a wrong score. Called with scores and labels of the same shape, it returns the loss of each score.

    >>> for loss in onkel.Hinge(), onkel.SquaredHinge(), onkel.Logistic(), onkel.Square():
    ...     print(loss([-1.0, 0.0, 1.0], [1.0, 1.0, 1.0]).round(2), loss.derivative([-1.0, 0.0, 1.0], [1.0, 1.0, 1.0]).round(2))
    [2. 1. 0.] [-1. -1.  0.]
    [4. 1. 0.] [-4. -2. -0.]
    [1.31 0.69 0.31] [-0.73 -0.5  -0.27]
    [4. 1. 0.] [-4. -2.  0.]
    """

    code: ClassVar[int]
    tasks: ClassVar[frozenset[str]]

    def admit(self, labels: Matrix) -> None:
        """Refuse labels other than ±1, if the loss is for classification only."""
        if "regression" not in self.tasks:
            check_signs(labels)

    @property
    def parameter(self) -> float:
        """The loss's only field, or 0 if it has none."""
        return float(next(iter(vars(self).values()), 0.0))

    def __call__(self, scores: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        f, labels = self._pair(scores, y)
        out = np.empty_like(f)
        _values(self.code, self.parameter, f.ravel(), labels.ravel(), out.ravel())
        return out

    def derivative(self, scores: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """dℓ/df of each score."""
        f, labels = self._pair(scores, y)
        out = np.empty_like(f)
        _slopes(self.code, self.parameter, f.ravel(), labels.ravel(), out.ravel())
        return out

    @abstractmethod
    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        """The largest |dℓ/df| over scores in [−clip, clip] and labels in [−largest_label, largest_label]."""

    @abstractmethod
    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        """The largest σ with ℓ(b) ≥ ℓ(a) + g(b − a) + (σ/2)(g(b − a))² for all scores a, b in [−clip, clip], where g = ℓ'(a). It is
        0 for a piecewise linear loss."""

    def _pair(self, scores: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        f, labels = np.array(scores, np.float64, order="C", ndmin=1), np.array(y, np.float64, order="C", ndmin=1)
        if f.shape != labels.shape:
            raise InputError(f"{self!r}: scores have shape {f.shape} and y has {labels.shape}; give each score its label")
        if "regression" not in self.tasks and not np.all(np.abs(labels) == 1.0):
            bad = np.argwhere(np.abs(labels) != 1.0)[0]
            raise InputError(f"{self!r}: y is {labels[tuple(bad)]:g} in row {bad[0]}; labels must be -1 or +1")
        return f, labels


@final
@config
class Square(Loss):
    """(f − y)² for a score f and a label y"""

    code = SQUARE
    tasks = frozenset({"classification", "regression"})

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 2.0 * _reach(clip, largest_label)

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        return 0.5 / _reach(clip, largest_label) ** 2


@final
@config
class Hinge(Loss):
    """(1 − yf)₊ for a score f and a label y = ±1"""

    code = HINGE
    tasks = frozenset({"classification"})

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 1.0

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        return 0.0


@final
@config
class SquaredHinge(Loss):
    """(1 − yf)₊² for a score f and a label y = ±1"""

    code = SQUARED_HINGE
    tasks = frozenset({"classification"})

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 2.0 * _reach(clip, 1.0)

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        """1/(2(1 + C)²) for C ≤ 1, else (3C − 1)/(8C²(1 + C)). The inequality in the file's header is tightest from the score −yC
        to yC."""
        return _one_sided_curvature(_reach(clip, 1.0), 2.0 * clip)


@final
@config
class Logistic(Loss):
    """ln(1 + e^{−yf}) for a score f and a label y = ±1"""

    code = LOGISTIC
    tasks = frozenset({"classification"})

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 1.0

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        """e^{−C}. On [−C, C] ℓ'' is smallest at both ends, and there it is e^{−C} times the largest g², which is that of the score
        −yC. So this σ holds everywhere, and no larger one holds near that score."""
        _reach(clip, 1.0)
        return math.exp(-clip)


@config
class _Tube(Loss):
    """The base of the two ε-insensitive losses.

    epsilon  ε ≥ 0, half the width of the tube inside which the loss is 0, in units of the label. Default: 0.1.
    """

    epsilon: float = 0.1
    tasks = frozenset({"regression"})

    def __post_init__(self) -> None:
        real(self, "epsilon", least=0.0)


@final
@config
class EpsilonInsensitive(_Tube):
    """(|f − y| − ε)₊ for a score f and a label y

    epsilon  ε ≥ 0, half the width of the tube inside which the loss is 0, in units of the label. Default: 0.1.

    >>> onkel.EpsilonInsensitive(epsilon=0.5)([0.0, 1.0, 3.0], [0.2, 0.2, 0.2])
    array([0. , 0.3, 2.3])
    """

    code = EPSILON_INSENSITIVE

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 1.0

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        return 0.0


@final
@config
class SquaredEpsilonInsensitive(_Tube):
    """(|f − y| − ε)₊² for a score f and a label y

    epsilon  ε ≥ 0, half the width of the tube inside which the loss is 0, in units of the label. Default: 0.1.

    >>> onkel.SquaredEpsilonInsensitive(epsilon=0.5)([0.0, 1.0, 3.0], [0.2, 0.2, 0.2]).round(2)
    array([0.  , 0.09, 5.29])
    """

    code = SQUARED_EPSILON_INSENSITIVE

    def lipschitz(self, clip: float, largest_label: float = 1.0) -> float:
        return 2.0 * max(_reach(clip, largest_label) - self.epsilon, 0.0)

    def curvature(self, clip: float, largest_label: float = 1.0) -> float:
        """The inequality in the file's header is tightest for the residual C + Y and the farthest score from it, at a distance of
        2C: inside the tube, or beyond it if Y < C − ε."""
        r, tube = _reach(clip, largest_label), self.epsilon
        if r <= tube:
            raise InputError(f"{self!r}: no residual exceeds clip + largest_label = {r:g}, so the loss is always 0; lower epsilon")
        excess = r - tube
        if 2.0 * clip <= r + tube:
            return _one_sided_curvature(excess, 2.0 * clip)
        return ((clip - tube) ** 2 + tube * excess) / (2.0 * (clip * excess) ** 2)


def _one_sided_curvature(largest: float, move: float) -> float:
    """The curvature of max(e, 0)² as a function of e ≤ `largest`, if e changes by at most `move`.

    From e > 0 to e − Δ the loss is Δ² above its tangent, or Δ² − (Δ − e)² if Δ > e. That is (σ/2)(2eΔ)² with σ = 1/(2e²), or
    (2Δ − e)/(2eΔ²). Both fall in e, and the second falls in Δ.
    """
    shift = max(move, largest)
    return (2.0 * shift - largest) / (2.0 * largest * shift**2)


def _reach(clip: float, largest_label: float) -> float:
    """C + Y, the largest residual."""
    if not 0.0 < clip < math.inf:
        raise InputError(f"clip must be positive and finite, got {clip:g}")
    if not 0.0 <= largest_label < math.inf:
        raise InputError(f"largest_label must be finite and not negative, got {largest_label:g}")
    return float(clip + largest_label)


@hot
def value(code: int, parameter: float, f: float, y: float) -> float:
    """ℓ(f, y)."""
    if code == SQUARE:
        return (f - y) * (f - y)
    if code == LOGISTIC:
        return max(-y * f, 0.0) + math.log1p(math.exp(-abs(y * f)))
    excess = 1.0 - y * f if code in (HINGE, SQUARED_HINGE) else abs(f - y) - parameter
    excess = max(excess, 0.0)
    return excess if code in (HINGE, EPSILON_INSENSITIVE) else excess * excess


@hot_inline
def slope(code: int, parameter: float, f: float, y: float) -> float:
    """dℓ/df (f, y)."""
    if code == SQUARE:
        return 2.0 * (f - y)
    if code == HINGE:
        return -y if y * f < 1.0 - KINK else 0.0
    if code == SQUARED_HINGE:
        return -2.0 * y * max(1.0 - y * f, 0.0)
    if code == LOGISTIC:
        small = math.exp(-abs(y * f))  # never above 1, so nothing overflows
        return -y * (small if y * f > 0.0 else 1.0) / (1.0 + small)
    excess = abs(f - y) - parameter
    if excess <= (KINK if code == EPSILON_INSENSITIVE else 0.0):
        return 0.0
    size = 1.0 if code == EPSILON_INSENSITIVE else 2.0 * excess
    return size if f > y else -size


@hot
def _values(code: int, parameter: float, f: Vector, y: Vector, out: Vector) -> None:
    for i in range(f.size):
        out[i] = value(code, parameter, f[i], y[i])


@hot
def _slopes(code: int, parameter: float, f: Vector, y: Vector, out: Vector) -> None:
    for i in range(f.size):
        out[i] = slope(code, parameter, f[i], y[i])
