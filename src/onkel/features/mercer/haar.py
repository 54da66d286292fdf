"""Haar: steps on [0, 1], orthonormal in the uniform measure. ψ_1 = 1, and for n = 2^l + k, 0 ≤ k < 2^l,

    ψ_{n+1} = 2^(l/2) h(2^l x − k),   h = 1 on [0, ½) and −1 on [½, 1),   λ = 4^(−order·l)

They suit functions that jump: the first 2^l functions give the mean of f over each of 2^l equal parts.
"""

from __future__ import annotations

import math
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.features.mercer.system import Line
from onkel.kernels.space import Domain, check_domain

_LAST = math.nextafter(1.0, 0.0)  # used for x = 1, which belongs to the last interval


@final
@config
class Haar(Line):
    """Haar wavelets: step functions on dyadic intervals of [0, 1], for functions that jump.

    order   How fast the eigenvalues fall. A larger order means smoother functions. Default: 1.0.
    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.

    >>> onkel.Haar(domain=(0.0, 1.0)).functions(np.array([[0.1], [0.4], [0.6], [0.9]]), 3).round(2)
    array([[ 1.  ,  1.  ,  1.41],
           [ 1.  ,  1.  , -1.41],
           [ 1.  , -1.  ,  0.  ],
           [ 1.  , -1.  ,  0.  ]])
    """

    order: float = 1.0
    domain: Domain | None = None
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real(self, "order", least=0.500001, most=100.0)
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        level = np.floor(np.log2(np.arange(1, count)))
        return np.concatenate([[1.0], 4.0 ** (-self.order * level)])

    def on_unit(self, u: Vector, count: int) -> Matrix:
        out = np.zeros((len(u), count))
        _fill(u, out)
        return out


@hot
def _fill(places: Vector, out: Matrix) -> None:
    for i in range(places.size):
        u = min(places[i], _LAST)
        out[i, 0] = 1.0
        scale = 1
        while scale + int(u * scale) < out.shape[1]:
            k = int(u * scale)
            out[i, scale + k] = math.sqrt(scale) if u * scale - k < 0.5 else -math.sqrt(scale)
            scale *= 2
