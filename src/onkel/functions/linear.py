"""f(x) = ρ w·x, a function of the linear kernel: a row costs O(dim), however many points were added."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.functions.function import LARGEST_SCALE, SMALLEST_SCALE, Function
from onkel.functions.learnt import Expansion
from onkel.functions.support import KernelSource, source
from onkel.kernels import Kernel
from onkel.state import memory


class LinearTerms(NamedTuple):
    """The arrays of a `LinearFunction`, for compiled code."""

    weights: Vector
    scale: Vector


@memory
class LinearFunction(Function):
    scale: Vector  # (1,)  ρ
    weights: Vector  # (dim,)  w; with a moment (2 dim,), w and then the weights of the moment

    @property
    def compiled(self) -> LinearTerms:
        return LinearTerms(self.weights, self.scale)

    @property
    def has_room(self) -> bool:
        return True

    def make_room(self, kernel: Kernel) -> None:
        """Nothing to do: there is always room."""

    def bytes_with(self, rows: int) -> int:
        return 8 * (len(self.weights) + 1)

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        if not SMALLEST_SCALE <= self.scale[0] <= LARGEST_SCALE or (rows == 0 and np.any(self.weights != 0.0)):
            raise InputError("its weights are outside the range that can be learnt")

    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Expansion:
        """f as an expansion with one point, w, and the coefficient ρ."""
        weights = self.weights
        if rounds is not None:
            now, moment = np.split(weights, 2)
            weights = now - moment / (rounds + 1.0)
        return Expansion(kernel, weights[None, :].copy(), self.scale.copy())

    def source(self, kernel: Kernel, rows: Matrix) -> KernelSource:
        return source(kernel, rows, np.empty((rows.shape[1], 0)))


def empty(kernel: Kernel, dim: int, moment: bool = False) -> LinearFunction:
    """f = 0."""
    return LinearFunction(np.ones(1), np.zeros((1 + moment) * dim))


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return 8 * ((1 + moment) * dim + 1)


@hot_inline
def evaluate(kernel: KernelSource, f: LinearTerms, x: Vector, work: Vector) -> float:
    """f(x)."""
    total = 0.0
    for j in range(x.size):
        total += f.weights[j] * x[j]
    return float(f.scale[0] * total)


@hot_inline
def with_moment(kernel: KernelSource, f: LinearTerms, x: Vector, work: Vector) -> tuple[float, float]:
    """f(x), and the moment of f at x (see `representations`); 0 if f keeps none."""
    later = 0.0
    if f.weights.size > x.size:
        for j in range(x.size):
            later += f.weights[x.size + j] * x[j]
    return evaluate(kernel, f, x, work), f.scale[0] * later


@hot_inline
def join(kernel: KernelSource, f: LinearTerms, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·)."""
    for j in range(x.size):
        f.weights[j] += a / f.scale[0] * x[j]
    if f.weights.size > x.size:
        for j in range(x.size):
            f.weights[x.size + j] += (round + 1.0) * a / f.scale[0] * x[j]


@hot_inline
def shrink(f: LinearTerms, factor: float) -> None:
    """f ← factor · f."""
    f.scale[0] *= factor
    if not SMALLEST_SCALE <= f.scale[0] <= LARGEST_SCALE:
        for j in range(f.weights.size):
            f.weights[j] *= f.scale[0]
        f.scale[0] = 1.0


@hot_inline
def keep(kernel: KernelSource, f: LinearTerms, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """The same as `join`: the points have no slots, so their number is not limited."""
    join(kernel, f, x, own, a, round)


@hot_inline
def amend(kernel: KernelSource, f: LinearTerms, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """The same as `join`: f is one weight vector, whether the point is new or not."""
    join(kernel, f, x, own, a, round)


@hot_inline
def count(f: LinearTerms) -> int:
    return 0


@hot_inline
def holds(f: LinearTerms, most: int) -> bool:
    return False


@hot_inline
def has_room(f: LinearTerms) -> bool:
    return True


@hot
def prepare(kernel: KernelSource, f: LinearTerms, X: Matrix) -> Vector:
    """An empty array, because no scratch memory is needed."""
    return np.empty(0)
