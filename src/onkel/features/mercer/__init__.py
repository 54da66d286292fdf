"""Eigen-systems of kernels, and their first functions as features."""

from onkel.features.mercer.beam import Beam
from onkel.features.mercer.columns import AdditiveSystem, ProductSystem
from onkel.features.mercer.features import Mercer
from onkel.features.mercer.haar import Haar
from onkel.features.mercer.hermite import Hermite
from onkel.features.mercer.listed import Listed
from onkel.features.mercer.numerical import Numerical
from onkel.features.mercer.polynomial import Legendre
from onkel.features.mercer.sphere import Sphere
from onkel.features.mercer.system import System
from onkel.features.mercer.trigonometric import Cosine, Periodic, Sine
from onkel.features.mercer.with_polynomials import WithPolynomials

__all__ = [
    "AdditiveSystem",
    "Beam",
    "Cosine",
    "Haar",
    "Hermite",
    "Legendre",
    "Listed",
    "Mercer",
    "Numerical",
    "Periodic",
    "ProductSystem",
    "Sine",
    "Sphere",
    "System",
    "WithPolynomials",
]
