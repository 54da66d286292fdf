"""k(p, q) = exp(−rate |p − q|)"""

from __future__ import annotations

from typing import final

from onkel._validate import config, real
from onkel.kernels.additive import Interval, Line
from onkel.kernels.lists import EXPONENTIAL


@final
@config
class Exponential(Interval):
    """k(p, q) = exp(−rate |p − q|), a kernel of one input, which is not mapped to [0, 1]

    rate  How fast the kernel falls with the distance, per unit of the input. A larger rate means rougher curves. Default:
          1.0.

    >>> onkel.Exponential(rate=1.0)([[0.0]], [[0.0], [1.0], [-1.0]]).round(3)
    array([[1.   , 0.368, 0.368]])
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        real(self, "rate", 1e-30, 1e30)

    @property
    def line(self) -> Line:
        return EXPONENTIAL, self.rate, 1, 0
