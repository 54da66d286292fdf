"""k(p, q) = min(p, q) on [0, 1], the covariance of Brownian motion"""

from __future__ import annotations

from typing import final

from onkel._validate import config
from onkel.kernels.additive import Interval, Line
from onkel.kernels.lists import SPLINE
from onkel.kernels.space import Domain, check_domain


@final
@config
class Brownian(Interval):
    """k(p, q) = min(p, q), whose functions are piecewise linear curves that start at 0.

    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: taken from the first 100 rows. Values outside are
            clamped. Default: None.

    >>> onkel.Brownian(domain=(0.0, 10.0))([[2.0], [5.0]], [[2.0], [5.0], [9.0]])
    array([[0.2, 0.2, 0.2],
           [0.2, 0.5, 0.5]])
    """

    domain: Domain | None = None

    def __post_init__(self) -> None:
        check_domain(self)

    @property
    def line(self) -> Line:
        return SPLINE, 0.0, 1, 0  # the spline of order 0 without its constant
