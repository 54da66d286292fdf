"""Kernels k(x, x'): small frozen objects that can be added, multiplied, printed and called on two blocks of rows.

>>> k = Gaussian(width=2.0) + Linear() * Linear()
>>> k
Gaussian(width=2.0) + Linear() * Linear()
>>> k([[0.0, 1.0]], [[0.0, 1.0], [2.0, 1.0]])
array([[2.        , 1.60653066]])

Decisions: docs/decisions/kernels.md
"""

from onkel.kernels.additive import Additive, Interval
from onkel.kernels.bases import Bases
from onkel.kernels.brownian import Brownian
from onkel.kernels.combine import Product, Sum
from onkel.kernels.custom import CustomKernel
from onkel.kernels.delta import Delta
from onkel.kernels.exponential import Exponential
from onkel.kernels.gaussian import Gaussian
from onkel.kernels.kernel import Kernel
from onkel.kernels.laplacian import Laplacian
from onkel.kernels.linear import Linear
from onkel.kernels.periodic import PeriodicSpline
from onkel.kernels.polynomial import Polynomial
from onkel.kernels.spline import Spline

__all__ = [
    "Additive",
    "Bases",
    "Brownian",
    "CustomKernel",
    "Delta",
    "Exponential",
    "Gaussian",
    "Interval",
    "Kernel",
    "Laplacian",
    "Linear",
    "PeriodicSpline",
    "Polynomial",
    "Product",
    "Spline",
    "Sum",
]
