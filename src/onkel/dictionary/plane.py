"""f(x) = ρ w·x, the function of the linear kernel, in O(dim) however many points have made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel.dictionary.function import LARGEST_SCALE, SMALLEST_SCALE, Function
from onkel.dictionary.support import Source, source
from onkel.errors import InputError
from onkel.kernels import Kernel


class Slope(NamedTuple):
    """What compiled code sees of a `Plane`."""

    weights: Vector
    scale: Vector


@dataclass
class Plane(Function):
    scale: Vector  # (1,)  ρ
    weights: Vector  # (dim,)  w; and behind them, where it was asked for, those of the moment

    @property
    def sum(self) -> Slope:
        return Slope(self.weights, self.scale)

    @property
    def has_room(self) -> bool:
        return True

    def make_room(self, kernel: Kernel) -> None:
        """There is always room."""

    def bytes_with(self, rows: int) -> int:
        return 8 * (len(self.weights) + 1)

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        if not SMALLEST_SCALE <= self.scale[0] <= LARGEST_SCALE or (rows == 0 and np.any(self.weights != 0.0)):
            raise InputError("its weights are beyond what can be learnt")

    def source(self, kernel: Kernel, rows: Matrix) -> Source:
        return source(kernel, rows, np.empty((rows.shape[1], 0)))


def empty(kernel: Kernel, dim: int, moment: bool = False) -> Plane:
    """f = 0."""
    return Plane(np.ones(1), np.zeros((1 + moment) * dim))


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return 8 * ((1 + moment) * dim + 1)


@hot_inline
def evaluate(kernel: Source, f: Slope, x: Vector, work: Vector) -> float:
    """f(x)."""
    total = 0.0
    for j in range(x.size):
        total += f.weights[j] * x[j]
    return float(f.scale[0] * total)


@hot_inline
def with_moment(kernel: Source, f: Slope, x: Vector, work: Vector) -> tuple[float, float]:
    """f(x), and its moment there; 0, where it has none."""
    later = 0.0
    if f.weights.size > x.size:
        for j in range(x.size):
            later += f.weights[x.size + j] * x[j]
    return evaluate(kernel, f, x, work), f.scale[0] * later


@hot_inline
def join(kernel: Source, f: Slope, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·)."""
    for j in range(x.size):
        f.weights[j] += a / f.scale[0] * x[j]
    if f.weights.size > x.size:
        for j in range(x.size):
            f.weights[x.size + j] += (round + 1.0) * a / f.scale[0] * x[j]


@hot_inline
def shrink(f: Slope, factor: float) -> None:
    """f ← factor · f."""
    f.scale[0] *= factor
    if not SMALLEST_SCALE <= f.scale[0] <= LARGEST_SCALE:
        for j in range(f.weights.size):
            f.weights[j] *= f.scale[0]
        f.scale[0] = 1.0


@hot_inline
def keep(kernel: Source, f: Slope, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """`join`: points that are not known one by one are never too many."""
    join(kernel, f, x, own, a, round)


@hot_inline
def amend(kernel: Source, f: Slope, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """`join`: a point that was there before is found by its direction."""
    join(kernel, f, x, own, a, round)


@hot_inline
def count(f: Slope) -> int:
    return 0


@hot_inline
def holds(f: Slope, most: int) -> bool:
    return False


@hot_inline
def has_room(f: Slope) -> bool:
    return True


@hot
def workspace(kernel: Source, f: Slope, X: Matrix) -> Vector:
    return np.empty(0)
