"""Systems of sines and cosines on [0, 1], orthonormal for the uniform distribution.

Each line has the name of a system, the norm ‖f‖² of its space, its kernel k(s, t), its eigenvalues λ and its eigenfunctions ψ, for
j = 1, 2, … m is the field `order`, f⁽ᵐ⁾ the m-th derivative, B_n a Bernoulli polynomial, and {·} the fractional part.

Sine            f(0) = 0, ∫f'²         min(s, t)                              λ = (2/((2j−1)π))²      √2 sin((2j−1)πx/2)
Cosine          (∫f)² + ∫f'²           4/3 + (s² + t²)/2 − max(s, t)          1, (jπ)⁻²               1, √2 cos jπx
Periodic(m)     (∫f)² + ∫(f⁽ᵐ⁾)²       1 + (−1)^(m−1) B_{2m}({s − t})/(2m)!   1, (2πj)^(−2m) twice   1, √2 cos 2πjx, √2 sin 2πjx
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Vector
from onkel._validate import config, flag, real
from onkel.errors import InputError
from onkel.features.mercer.system import WaveLine
from onkel.features.mercer.waves import Waves
from onkel.kernels.space import Domain, check_domain


@final
@config
class Sine(WaveLine):
    """The eigenfunctions √2 sin((2j−1)πx/2) of the kernel `Brownian`, min(s, t): curves with f(0) = 0.

    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.
    """

    domain: Domain | None = None

    def __post_init__(self) -> None:
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        return (2.0 / ((2.0 * np.arange(1.0, count + 1.0) - 1.0) * math.pi)) ** 2.0

    def waves(self, count: int) -> Waves:
        return _waves(0.5 * math.pi, 2 * np.arange(count) + 1, np.ones(count, bool))


@final
@config
class Cosine(WaveLine):
    """The eigenfunctions 1, √2 cos jπx of the Sobolev space W₁, with ‖f‖² = (∫f)² + ∫f'².

    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.

    >>> onkel.Cosine(domain=(0.0, 1.0)).functions(np.array([[0.0], [0.5], [1.0]]), 3).round(2)
    array([[ 1.  ,  1.41,  1.41],
           [ 1.  ,  0.  , -1.41],
           [ 1.  , -1.41,  1.41]])
    """

    domain: Domain | None = None
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        return np.concatenate([[1.0], (math.pi * np.arange(1.0, count)) ** -2.0])

    def waves(self, count: int) -> Waves:
        return _waves(math.pi, np.arange(count), np.zeros(count, bool))


@final
@config
class Periodic(WaveLine):
    """The eigenfunctions 1, √2 cos 2πjx, √2 sin 2πjx of the Sobolev space W_m on the circle (m: `order`). The domain is one period.

    domain    (low, high): one period, which cannot be found from the data.
    order     m > ½, whole or not. A larger one means smoother functions. Default: 2.0.
    constant  Whether the constant function is among them; False: only functions of mean 0. Default: True.

    >>> hours = onkel.Periodic(domain=(0.0, 24.0))
    >>> np.allclose(hours.functions(np.array([[1.0]]), 5), hours.functions(np.array([[25.0]]), 5))
    True
    """

    domain: Domain | None = field()
    order: float = 2.0
    constant: bool = True
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real(self, "order", least=0.500001, most=100.0)
        flag(self, "constant")
        if self.domain is None:
            raise InputError("Periodic: domain must be one period, such as domain=(0.0, 24.0); it cannot be found from the data")
        check_domain(self)

    @property
    def has_constant(self) -> bool:  # type: ignore[override]
        return self.constant

    def values(self, count: int, dim: int = 1) -> Vector:
        pairs = np.repeat((2.0 * math.pi * np.arange(1.0, count // 2 + 2)) ** (-2.0 * self.order), 2)
        return (np.concatenate([[1.0], pairs]) if self.constant else pairs)[:count]

    def waves(self, count: int) -> Waves:
        place = np.arange(count) + (0 if self.constant else 1)  # 0 is the constant, then cosines and sines in turn
        return _waves(2.0 * math.pi, (place + 1) // 2, (place > 0) & (place % 2 == 0))


def _waves(turn: float, multiple: Counts, is_sine: NDArray[np.bool_]) -> Waves:
    """These waves with the factors that give each mean square 1."""
    return Waves(turn, multiple, is_sine, np.where(multiple == 0, 1.0, math.sqrt(2.0)))
