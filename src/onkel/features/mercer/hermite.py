"""Hermite: the Gaussian kernel on the whole line, in the measure Normal(0, spread²).

    λ_j = √(a²/(a² + δ² + ε²)) (ε²/(a² + δ² + ε²))^(j−1)        ψ_{j+1}(x) = √β e^(−δ²x²) h_j(aβx),   h_j = H_j/√(2^j j!)

with a² = 1/(2 spread²), ε² = 1/(2 width²), β = (1 + 4ε²/a²)^¼, δ² = a²(β² − 1)/2 and the Hermite polynomials H_j; the formula for λ
begins with j = 1, that for ψ with j = 0. The recursion of the h_j is applied to the products e^(−δ²x²) h_j, because h_j alone can
overflow.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.features.mercer.system import UNLIMITED, Line

SMALLEST_VALUE = 1e-30  # limit for λ_j/λ_1; functions with less hardly contribute to the kernel, but may be as large as 1e15


@final
@config
class Hermite(Line):
    """The eigenfunctions of the Gaussian kernel for normally distributed inputs: Hermite functions.

    width   σ > 0, the distance at which the kernel has fallen to e^(−1/2); None: √dim, which suits standardised inputs.
            Default: None.
    spread  The standard deviation of the inputs. Default: 1.0.

    >>> onkel.Hermite(width=1.0).values(4).round(3)  # the Gaussian kernel needs few functions
    array([0.618, 0.236, 0.09 , 0.034])
    """

    width: float | None = None
    spread: float = 1.0

    def __post_init__(self) -> None:
        real(self, "width", least=1e-30, most=1e30, optional=True)
        real(self, "spread", least=1e-30, most=1e30)

    def for_columns(self, dim: int) -> Hermite:
        return replace(self, width=math.sqrt(dim)) if self.width is None else self

    def limit(self, dim: int) -> int:
        a2, d2, e2, _ = self._constants()
        falling = math.log1p((a2 + d2) / e2)  # ln λ_j/λ_{j+1}
        return 1 + int(min(-math.log(SMALLEST_VALUE) / falling, UNLIMITED - 1))

    def values(self, count: int, dim: int = 1) -> Vector:
        a2, d2, e2, _ = self._constants()
        whole = a2 + d2 + e2
        return math.sqrt(a2 / whole) * (e2 / whole) ** np.arange(float(count))

    def on_unit(self, u: Vector, count: int) -> Matrix:
        a2, d2, _, beta = self._constants()
        out = np.empty((len(u), count))
        _fill(u, math.sqrt(a2) * beta, d2, math.sqrt(beta), out)
        return out

    def _constants(self) -> tuple[float, float, float, float]:
        """a², δ², ε² and β."""
        width = 1.0 if self.width is None else self.width
        a2, e2 = 0.5 / self.spread**2, 0.5 / width**2
        beta = (1.0 + 4.0 * e2 / a2) ** 0.25
        return a2, 2.0 * e2 / (beta * beta + 1.0), e2, beta


@hot
def _fill(x: Vector, stretch: float, damping: float, first: float, out: Matrix) -> None:
    """The recursion h_{j+1} = √(2/(j+1)) u h_j − √(j/(j+1)) h_{j−1}, with u = aβx."""
    for i in range(x.size):
        u = stretch * x[i]
        before, now = 0.0, first * math.exp(-damping * x[i] * x[i])
        for j in range(out.shape[1]):
            out[i, j] = now
            before, now = now, math.sqrt(2.0 / (j + 1.0)) * u * now - math.sqrt(j / (j + 1.0)) * before
