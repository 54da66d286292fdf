"""Uniform: every point joins with the same probability."""

from __future__ import annotations

from typing import final

import numpy as np

from onkel._types import Vector
from onkel._validate import config, real
from onkel.dictionary.dictionary import UNIFORM, Dictionary, State


@final
@config
class Uniform(Dictionary):
    """Each point joins with probability `rate`, unless it is in the span of the others already.

    rate  The probability with which a point is taken. Default: 0.1.

    >>> X, _ = onkel.data.rings(2000, seed=0)
    >>> len(onkel.Uniform(rate=0.05).choose(onkel.Gaussian(width=1.0), X))
    99
    """

    rate: float = 0.1

    code = UNIFORM
    remembers = False

    def __post_init__(self) -> None:
        real(self, "rate", least=0.0, most=1.0)

    def params(self) -> Vector:
        return np.array([self.rate])

    def joined(self, state: State, k: Vector, own: float) -> State:
        return state
