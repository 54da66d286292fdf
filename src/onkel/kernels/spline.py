"""k(p, q) = Σ_{r≤z} (pq)^r + ∫₀^min(p,q) (p − τ)^z (q − τ)^z dτ, the spline kernel of order z on [0, 1]"""

from __future__ import annotations

from typing import final

from onkel._validate import config, whole
from onkel.kernels.additive import Interval, Line
from onkel.kernels.lists import LARGEST_ORDER, SPLINE
from onkel.kernels.space import Domain, check_domain


@final
@config
class Spline(Interval):
    """The functions Σ a_i k(x_i, ·) of this kernel are splines with a knot at every x_i: their pieces have degree 2·order + 1 and
    are joined with 2·order continuous derivatives.

    order   At least 0. With order 1 the pieces are cubic, with order 0 straight lines. Default: 1.
    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: taken from the first 100 rows. Values outside are
            clamped. Default: None.

    >>> onkel.Spline(order=1, domain=(0.0, 1.0))([[0.5]], [[0.25], [0.5], [1.0]])
    array([[1.13802083, 1.29166667, 1.60416667]])
    """

    order: int = 1
    domain: Domain | None = None

    def __post_init__(self) -> None:
        whole(self, "order", 0, LARGEST_ORDER)
        check_domain(self)

    @property
    def line(self) -> Line:
        return SPLINE, float(self.order), self.order + 1, self.order + 1
