"""k(x, z) = weight if x = z, else 0. Added to another kernel, it fits the noise of single rows, which the other kernel then need
not fit."""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._validate import config, real
from onkel.kernels.kernel import Elementary, Program
from onkel.kernels.rows import DELTA


@final
@config
class Delta(Elementary):
    """k(x, z) = weight if x = z, else 0: added to another kernel, it fits the noise of single rows

    weight  The value for equal rows, at least 0; for others it is 0. Default: 1.0.

    >>> (onkel.Gaussian(width=1.0) + onkel.Delta(weight=0.1))([[0.0]], [[0.0], [1e-9]]).round(3)
    array([[1.1, 1. ]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        real(self, "weight", 0.0, 1e100)

    def program(self, dim: int) -> Program:
        return np.array([DELTA]), np.array([self.weight])
