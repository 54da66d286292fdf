"""Sphere: functions of the direction of a row with three columns, in the uniform measure on the sphere S².

ψ are the real spherical harmonics of degree l = 0, 1, 2, … and mean square 1, for each degree in the order m = −l … l, with sines
for m < 0: 1, √3 y, √3 z, √3 x, … The 2l + 1 functions of degree l have λ = (l(l+1))^(−order); for l = 0 it is 1. Only the direction
of a row counts; a row of zeros is taken as (0, 0, 1). With order 2 the kernel is 2 + Li₂((1 + u)/2) − π²/6, where u is the cosine
of the angle between two rows, and Li₂ the dilogarithm.
"""

from __future__ import annotations

import math
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, real
from onkel.errors import InputError
from onkel.features.mercer.system import System


@final
@config
class Sphere(System):
    """Spherical harmonics: functions of the direction of a row with three columns.

    order  How fast the eigenvalues fall. A larger order means smoother functions. Default: 2.0.

    >>> north, east = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    >>> onkel.Sphere().functions(np.array([north, east, [5.0, 0.0, 0.0]]), 4).round(2) + 0.0  # only the direction counts
    array([[1.  , 0.  , 1.73, 0.  ],
           [1.  , 0.  , 0.  , 1.73],
           [1.  , 0.  , 0.  , 1.73]])
    """

    order: float = 2.0
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        real(self, "order", least=1.000001, most=100.0)

    def check_columns(self, dim: int) -> None:
        if dim != 3:
            raise InputError(f"Sphere takes rows of 3 columns, a direction in space, got {dim}")

    def dimension(self, dim: int) -> int:
        return 2

    def values(self, count: int, dim: int = 3) -> Vector:
        degree = np.floor(np.sqrt(np.arange(count)))
        return np.where(degree == 0.0, 1.0, np.maximum(degree * (degree + 1.0), 1.0) ** -self.order)

    def functions(self, X: Matrix, count: int) -> Matrix:
        out = np.empty((len(X), math.isqrt(count - 1) ** 2 + 2 * math.isqrt(count - 1) + 1))
        _fill(X, out)
        return np.ascontiguousarray(out[:, :count])


@hot
def _fill(X: Matrix, out: Matrix) -> None:
    """ψ is p_l = N_lm P_lm(z)/(1 − z²)^(m/2) times Re or Im (x + iy)^m. No angle is computed, so the poles need no special case.

    P_lm are the associated Legendre functions; N_lm is the factor that makes the mean square of ψ equal to 1. For each m, the p_l
    follow by the recursion q_{l+1,m} p_{l+1} = z p_l − q_lm p_{l−1}, with q_lm = √((l−m)(l+m)/((2l−1)(2l+1))). It starts at l = m
    with p_m, which follows from that of m − 1 by the factor √((2m+1)/(2m)).
    """
    degrees = int(math.sqrt(out.shape[1]))  # the number of degrees l; `out` has all functions of each
    for i in range(X.shape[0]):
        largest = max(abs(X[i, 0]), max(abs(X[i, 1]), abs(X[i, 2])))
        x, y, z = (X[i, 0] / largest, X[i, 1] / largest, X[i, 2] / largest) if largest > 0.0 else (0.0, 0.0, 1.0)
        norm = math.sqrt(x * x + y * y + z * z)
        x, y, z = x / norm, y / norm, z / norm
        start, real_part, imaginary = 1.0, 1.0, 0.0
        for m in range(degrees):
            if m > 0:
                start *= math.sqrt((2.0 * m + 1.0) / (2.0 * m))
                real_part, imaginary = x * real_part - y * imaginary, x * imaginary + y * real_part
            twice = math.sqrt(2.0) if m > 0 else 1.0
            before, now, q = 0.0, start, 0.0
            for l in range(m, degrees):
                middle = l * l + l
                out[i, middle + m] = twice * now * real_part
                if m > 0:
                    out[i, middle - m] = twice * now * imaginary
                ahead = math.sqrt((l + 1.0 - m) * (l + 1.0 + m) / ((2.0 * l + 1.0) * (2.0 * l + 3.0)))
                before, now, q = now, (z * now - q * before) / ahead, ahead
