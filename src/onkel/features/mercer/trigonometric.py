"""Systems of sines and cosines on [0, 1], in the uniform measure.

Sine            f(0) = 0, ∫f'²         min(s, t)                              λ = (2/((2j−1)π))²      √2 sin((2j−1)πx/2)
Cosine          (∫f)² + ∫f'²           4/3 + (s² + t²)/2 − max(s, t)          1, (jπ)⁻²               1, √2 cos jπx
Periodic(m)     (∫f)² + ∫(f⁽ᵐ⁾)²       1 + (−1)^(m−1) B_{2m}({s − t})/(2m)!   1, (2πj)^(−2m) twice   1, √2 cos 2πjx, √2 sin 2πjx
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import flag, real
from onkel.errors import InputError
from onkel.features.fourier import cos_sin
from onkel.features.mercer.system import Line
from onkel.kernels.additive import Domain, check_domain


@final
@dataclass(frozen=True)
class Sine(Line):
    """The Sobolev space W₁⁰ of the kernel min, `Brownian`."""

    domain: Domain | None = None

    def __post_init__(self) -> None:
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        return (2.0 / ((2.0 * np.arange(1.0, count + 1.0) - 1.0) * math.pi)) ** 2.0

    def on_unit(self, u: Vector, count: int) -> Matrix:
        return _waves(u, math.pi * (np.arange(float(count)) + 0.5))[1]


@final
@dataclass(frozen=True)
class Cosine(Line):
    """The Sobolev space W₁."""

    domain: Domain | None = None
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        return np.concatenate([[1.0], (math.pi * np.arange(1.0, count)) ** -2.0])

    def on_unit(self, u: Vector, count: int) -> Matrix:
        return _with_constant(_waves(u, math.pi * np.arange(1.0, count))[0])


@final
@dataclass(frozen=True)
class Periodic(Line):
    """The Sobolev space W_m on the circle. The domain is one period."""

    domain: Domain | None = field()  # one period; no data tell how long that is
    order: float = 2.0  # m > ½, whole or not
    constant: bool = True  # False: the functions of mean 0
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real(self, "order", least=0.500001, most=100.0)
        flag(self, "constant")
        if self.domain is None:
            raise InputError("Periodic: domain must be one period, such as domain=(0.0, 24.0), which no data can tell")
        check_domain(self)

    @property
    def has_constant(self) -> bool:  # type: ignore[override]
        return self.constant

    def values(self, count: int, dim: int = 1) -> Vector:
        pairs = np.repeat((2.0 * math.pi * np.arange(1.0, count // 2 + 2)) ** (-2.0 * self.order), 2)
        return (np.concatenate([[1.0], pairs]) if self.constant else pairs)[:count]

    def on_unit(self, u: Vector, count: int) -> Matrix:
        cosines, sines = _waves(u, 2.0 * math.pi * np.arange(1.0, count // 2 + 2))
        pairs = np.stack([cosines, sines], axis=2).reshape(len(u), -1)
        return np.ascontiguousarray((_with_constant(pairs) if self.constant else pairs)[:, :count])


def _with_constant(others: Matrix) -> Matrix:
    return np.hstack([np.ones((len(others), 1)), others])


def _waves(u: Vector, frequencies: Vector) -> tuple[Matrix, Matrix]:
    """√2 cos(ωu) and √2 sin(ωu)."""
    cosines, sines = np.empty((len(u), len(frequencies))), np.empty((len(u), len(frequencies)))
    _fill_waves(u, frequencies, cosines, sines)
    return cosines, sines


@hot
def _fill_waves(u: Vector, frequencies: Vector, cosines: Matrix, sines: Matrix) -> None:
    phase = np.empty(frequencies.size)
    for i in range(u.size):
        for j in range(phase.size):
            phase[j] = u[i] * frequencies[j]
        cos_sin(phase, math.sqrt(2.0), cosines[i], sines[i])
