"""Hats: piecewise linear functions of each input, for an additive model.

    z_k(x) = max(0, 1 − |x − knot_k| / h),   knot_k = low + (k − 1)h,   h = (high − low)/(count − 1),   k = 1 … count

for each input in turn. Values are clipped to [low, high], so that outside this range the outermost hat is 1. The hats of an input
sum to 1. Their linear combinations are the continuous functions that are linear between the knots and constant outside them.

de Boor (1978), A Practical Guide to Splines, chapter III: the B-splines of order 2.

>>> onkel.Transformer(Hats(count=3, low=-1.0, high=1.0)).fit_transform([[-0.25], [4.0]])
array([[0.25, 0.75, 0.  ],
       [0.  , 0.  , 1.  ]])
"""

from __future__ import annotations

from functools import partial

from onkel._inputs import LARGEST_NUMBER
from onkel._jit import hot
from onkel._types import Matrix
from onkel._validate import config, real, whole
from onkel.errors import InputError
from onkel.features.compose import Fixed
from onkel.one_row import Step

NARROWEST = 1e-30  # the least high − low


@config
class Hats(Fixed):
    """Piecewise linear functions of each input. The default knots suit standardised inputs.

    count  The number of knots for each input. More follow sharper bends. Default: 5.
    low    The first knot; use −√3 after Ranks(). Default: -2.0.
    high   The last knot; use √3 after Ranks(). Default: 2.0.
    """

    count: int = 5
    low: float = -2.0
    high: float = 2.0

    def __post_init__(self) -> None:
        whole(self, "count", least=2)
        real(self, "low", -LARGEST_NUMBER, LARGEST_NUMBER)
        real(self, "high", -LARGEST_NUMBER, LARGEST_NUMBER)
        if not self.high - self.low >= NARROWEST:
            raise InputError(f"Hats: high must be above low, got low={self.low:g} and high={self.high:g}")

    def size(self, dim: int) -> int:
        return self.count * dim

    def init(self, dim: int) -> None: ...

    def footprint(self, dim: int) -> int:
        return 0

    def step(self, state: None, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(_hats, self.count, self.low, self.high, X, Z, at)


@hot
def _hats(count: int, low: float, high: float, X: Matrix, Z: Matrix, at: int) -> None:
    dim = X.shape[1]
    per_unit = (count - 1) / (high - low)
    for t in range(X.shape[0]):
        z = Z[t, at : at + count * dim]
        z[:] = 0.0
        for j in range(dim):
            place = (min(max(X[t, j], low), high) - low) * per_unit  # distance from the first knot, in units of h
            left = min(int(place), count - 2)
            right_share = min(place - left, 1.0)
            z[j * count + left] = 1.0 - right_share
            z[j * count + left + 1] = right_share
