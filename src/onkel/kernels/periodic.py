"""k(p, q) = 1 + (−1)^(m−1) B_{2m}(|p − q|) / (2m)! on the circle [0, 1), with B the Bernoulli polynomial and m = order"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from onkel._validate import whole
from onkel.kernels.additive import Domain, Interval, Line, check_domain
from onkel.kernels.lists import LARGEST_ORDER, PERIODIC


@final
@dataclass(frozen=True)
class PeriodicSpline(Interval):
    """A constant and a periodic spline of degree 2·order − 1: for hours, weekdays, angles. The domain is one period."""

    order: int = 2  # m
    domain: Domain | None = None
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self, "order", 1, LARGEST_ORDER)
        check_domain(self)

    @property
    def line(self) -> Line:
        return PERIODIC, float(self.order), 2 * self.order + 1, 1
