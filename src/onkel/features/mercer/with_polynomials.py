"""Polynomials up to some degree before the functions of another system, which may lack them.

    WithPolynomials(Sine(), degree=0)                       1, √2 sin((2j−1)πx/2)               W₁, kernel 1 + min(s, t)
    WithPolynomials(Periodic(constant=False), degree=2)     1, p₁, p₂, √2 cos 2πjx, √2 sin 2πjx     W₂, free at the ends

p_k are the Legendre polynomials of mean square 1, so that 1, p₁, p₂ span 1, x, x². Their λ is 1. Polynomials are not orthogonal to
the functions after them. These are the designs (91) and (95) of Zhang & Simon (2021), An online projection estimator for
nonparametric regression in reproducing kernel Hilbert spaces; design (85), with x, x², sin 2πjx, cos 2πjx in each of several
columns, is AdditiveSystem of the second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self, final

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config, whole
from onkel.errors import InputError
from onkel.features.mercer.polynomial import Legendre
from onkel.features.mercer.system import Line
from onkel.kernels.space import ANYWHERE, Domain


@final
@config
class WithPolynomials(Line):
    """The polynomials 1, x, …, x^degree, then the functions of another system, without its constant.

    system  A system of one column with a domain, such as Sine().
    degree  The highest power, 0 to 20; 0 is the constant alone. Default: 0.

    >>> waves = onkel.Periodic(domain=(0.0, 1.0), constant=False)
    >>> X = np.random.default_rng(0).random((2000, 1))
    >>> y = np.exp(X[:, 0])  # its ends do not meet
    >>> for system in waves, onkel.WithPolynomials(waves, degree=2):
    ...     learner = onkel.MercerProjection(system, count=15)
    ...     scores = learner.learn(learner.init(dim=1), X, y)
    ...     print(bool(np.mean((scores - y)[1000:] ** 2) < 1e-3))
    False
    True
    """

    system: Line
    degree: int = 0
    has_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.system, Line) or self.system.domain == ANYWHERE:
            raise InputError(
                f"WithPolynomials: system must be one of one column with a domain, such as Sine(), got {self.system!r}"
            )
        whole(self, "degree", least=0, most=20)

    @property
    def domain(self) -> Domain | None:  # type: ignore[override]
        return self.system.domain

    def limit(self, dim: int) -> int:
        return self.degree + 1 + self.system.limit(dim) - self.system.has_constant

    def values(self, count: int, dim: int = 1) -> Vector:
        rest = max(count - self.degree - 1, 0)
        own = int(self.system.has_constant)
        return np.concatenate([np.ones(min(count, self.degree + 1)), self.system.values(rest + own)[own:]])

    def on_unit(self, u: Vector, count: int) -> Matrix:
        first, own = min(count, self.degree + 1), int(self.system.has_constant)
        out = np.empty((len(u), count))
        out[:, :first] = Legendre().on_unit(u, first)
        if count > first:
            out[:, first:] = self.system.on_unit(u, count - first + own)[:, own:]
        return out

    def on(self, dim: int, domains: Matrix) -> tuple[Self, Matrix]:
        system, left = self.system.on(dim, domains)
        return replace(self, system=system), left
