"""k(x, z) = (x·z + offset)^degree"""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._validate import config, real, whole
from onkel.kernels.kernel import Elementary, Program
from onkel.kernels.rows import POLYNOMIAL


@final
@config
class Polynomial(Elementary):
    """k(x, z) = (x·z + offset)^degree

    degree  The degree, at least 1. Default: 2.
    offset  Added to x·z, at least 0. With 0 there are only terms of exactly this degree. Default: 1.0.

    >>> onkel.Polynomial(degree=2)([[1.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]])
    array([[9., 1.]])
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        whole(self, "degree", 1, 64)
        real(self, "offset", 0.0)

    def program(self, dim: int) -> Program:
        return np.array([POLYNOMIAL]), np.array([float(self.degree), self.offset])
