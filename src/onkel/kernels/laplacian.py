"""k(x, z) = exp(−‖x − z‖₁ / width)"""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._validate import check_width, config, width_or_root
from onkel.kernels.kernel import Elementary, Program
from onkel.kernels.rows import LAPLACIAN


@final
@config
class Laplacian(Elementary):
    """k(x, z) = exp(−‖x − z‖₁ / width)

    width  The distance (sum of absolute differences) at which the kernel has fallen to 1/e; None: √dim, which suits
           standardised inputs. Default: None.

    >>> onkel.Laplacian(width=1.0)([[0.0]], [[0.0], [1.0], [2.0], [3.0]]).round(3)
    array([[1.   , 0.368, 0.135, 0.05 ]])
    """

    width: float | None = None

    def __post_init__(self) -> None:
        check_width(self)

    def program(self, dim: int) -> Program:
        return np.array([LAPLACIAN]), np.array([width_or_root(self.width, dim)])
