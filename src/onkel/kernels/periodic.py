"""k(p, q) = 1 + B_{2m}(|p − q|) / 2B_{2m}(0) on the circle [0, 1), with B the Bernoulli polynomial and m = order.

Textbooks divide by (2m)! instead of 2B_{2m}(0). At order 2 the part of k that varies is then at most 1/720, while the constant is
1, so gradient steps would hardly learn the varying part. Here the part that varies is ½ at p = q, for every order.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, final

from onkel._validate import config, flag, whole
from onkel.errors import InputError
from onkel.kernels.additive import Interval, Line
from onkel.kernels.lists import LARGEST_ORDER, PERIODIC
from onkel.kernels.space import Domain, check_domain


@final
@config
class PeriodicSpline(Interval):
    """A constant and a periodic spline of degree 2·order − 1: for hours, weekdays, angles. The domain is one period.

    domain    (low, high): one period, such as (0, 24). It cannot be found from the data.
    order     m ≥ 1. A larger order means smoother curves. Default: 2.
    constant  Whether the constant 1 is added; False: only curves of mean 0. Default: True.

    >>> hours = onkel.PeriodicSpline(domain=(0.0, 24.0))
    >>> hours([[23.0]], [[23.0], [1.0], [11.0]]).round(2)  # 1 at night is near 23, 11 in the morning is far
    array([[1.5 , 1.41, 0.56]])
    """

    domain: Domain | None = field()
    order: int = 2
    constant: bool = True
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self, "order", 1, LARGEST_ORDER)
        flag(self, "constant")
        if self.domain is None:
            raise InputError(
                "PeriodicSpline: domain must be one period, such as domain=(0.0, 24.0); it cannot be found from the data"
            )
        check_domain(self)

    @property
    def line(self) -> Line:
        return PERIODIC, float(self.order), 2 * self.order + 1, int(self.constant)
