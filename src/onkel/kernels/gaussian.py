"""k(x, z) = exp(−‖x − z‖² / (2 width²))"""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._validate import check_width, config, width_or_root
from onkel.kernels.kernel import Elementary, Program
from onkel.kernels.rows import GAUSSIAN


@final
@config
class Gaussian(Elementary):
    """k(x, z) = exp(−‖x − z‖² / (2 width²))

    width  σ > 0, the distance at which the kernel has fallen to e^(−1/2); None: √dim, which suits standardised inputs.
           Default: None.

    >>> onkel.Gaussian(width=1.0)([[0.0]], [[0.0], [1.0], [2.0], [3.0]]).round(3)
    array([[1.   , 0.607, 0.135, 0.011]])
    """

    width: float | None = None

    def __post_init__(self) -> None:
        check_width(self)

    def program(self, dim: int) -> Program:
        return np.array([GAUSSIAN]), np.array([width_or_root(self.width, dim)])
