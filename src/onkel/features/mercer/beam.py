"""Beam: the Sobolev space W₂ on [0, 1] with ‖f‖² = (∫f)² + (∫f p₁)² + ∫f''², p₁ = √3(2x − 1), in the uniform measure.

Its eigenfunctions are 1 and p₁, both with λ = 1, and the vibrations of a beam with free ends: φ'''' = ω⁴φ with φ'' = φ''' = 0 at
both ends, and λ = ω⁻⁴, where ω runs through the roots of cos ω cosh ω = 1. With u = x − ½ the vibrations are in turn

    cos(ωu)/cos(ω/2) + cosh(ωu)/cosh(ω/2)        and        sin(ωu)/sin(ω/2) + sinh(ωu)/sinh(ω/2)

The usual form, cosh ωx − σ sinh ωx + …, loses all digits from the twelfth function on.
"""

from __future__ import annotations

import functools
import math
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config
from onkel.features.mercer.system import Line
from onkel.kernels.space import Domain, check_domain


@final
@config
class Beam(Line):
    """The eigenfunctions of the Sobolev space W₂, the space of cubic smoothing splines: 1, x, and vibrations of a free beam.

    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.

    >>> system = onkel.Beam(domain=(0.0, 1.0))
    >>> Z = system.functions(np.linspace(0.0, 1.0, 2001)[:, None], 4)
    >>> (Z.T @ Z / 2001).round(2) + 0.0  # orthonormal
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """

    domain: Domain | None = None
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        return np.concatenate([[1.0, 1.0], _roots(count - 2) ** -4.0])[:count]

    def on_unit(self, u: Vector, count: int) -> Matrix:
        out = np.empty((len(u), max(count, 2)))
        _fill(u, _roots(count - 2), out)
        return np.ascontiguousarray(out[:, :count])


def _roots(count: int) -> Vector:
    """The first `count` roots of cos ω cosh ω = 1. After the eleventh they are odd multiples of π/2, up to rounding."""
    roots = math.pi * (np.arange(1.0, count + 1.0) + 0.5)
    roots[:11] = _first_roots()[: len(roots)]
    return roots


@functools.cache
def _first_roots() -> Vector:
    """The first eleven roots, by Newton's method for cos ω = 1/cosh ω. It begins at the odd multiples of π/2, which are wrong by at
    most 0.02, and each step doubles the number of right digits."""
    roots = math.pi * (np.arange(1.0, 12.0) + 0.5)
    for _ in range(5):
        roots -= (np.cos(roots) - 1.0 / np.cosh(roots)) / (np.tanh(roots) / np.cosh(roots) - np.sin(roots))
    return roots


@hot
def _fill(places: Vector, roots: Vector, out: Matrix) -> None:
    for i in range(places.size):
        u = places[i] - 0.5
        far = abs(u)
        out[i, 0], out[i, 1] = 1.0, 2.0 * math.sqrt(3.0) * u
        for j in range(roots.size):
            w = roots[j]
            edge, mirror, whole = math.exp(w * (far - 0.5)), math.exp(-2.0 * w * far), math.exp(-w)
            if j % 2 == 0:
                out[i, j + 2] = math.cos(w * u) / math.cos(0.5 * w) + edge * (1.0 + mirror) / (1.0 + whole)
            else:
                bent = math.copysign(edge * (1.0 - mirror) / (1.0 - whole), u)
                out[i, j + 2] = math.sin(w * u) / math.sin(0.5 * w) + bent
