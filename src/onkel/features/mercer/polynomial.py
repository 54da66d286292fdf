"""Legendre: polynomials on [0, 1], in the uniform measure: ψ_{j+1} = √(2j+1) P_j(2x − 1), with P_j the Legendre polynomials.

λ_1 is 1 and λ_{j+1} = (j(j+1))^(−order). These λ are a choice: they say how smooth a function of norm 1 is. With order 1 the kernel
of two inputs s and t is −ln((1 − min(s, t)) max(s, t)).
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


@final
@config
class Legendre(Line):
    """Legendre polynomials of rising degree on [0, 1].

    order   How fast the eigenvalues fall. A larger order means smoother functions. Default: 2.0.
    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.

    >>> onkel.Legendre(domain=(-1.0, 1.0)).functions(np.array([[-1.0], [0.0], [1.0]]), 3).round(2)
    array([[ 1.  , -1.73,  2.24],
           [ 1.  ,  0.  , -1.12],
           [ 1.  ,  1.73,  2.24]])
    """

    order: float = 2.0
    domain: Domain | None = None
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real(self, "order", least=1e-6, most=100.0)
        check_domain(self)

    def values(self, count: int, dim: int = 1) -> Vector:
        j = np.arange(1.0, count)
        return np.concatenate([[1.0], (j * (j + 1.0)) ** -self.order])

    def on_unit(self, u: Vector, count: int) -> Matrix:
        out = np.empty((len(u), count))
        _fill(u, out)
        return out


@hot
def _fill(places: Vector, out: Matrix) -> None:
    """The recursion (j + 1) P_{j+1} = (2j + 1) t P_j − j P_{j−1}, with t = 2x − 1."""
    for i in range(places.size):
        t = 2.0 * places[i] - 1.0
        before, now = 0.0, 1.0
        for j in range(out.shape[1]):
            out[i, j] = math.sqrt(2.0 * j + 1.0) * now
            before, now = now, ((2.0 * j + 1.0) * t * now - j * before) / (j + 1.0)
