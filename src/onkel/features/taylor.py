"""Taylor: the orthonormal Taylor basis of the Gaussian kernel, truncated at a degree.

One feature per multi-index k with |k| ≤ degree, orthonormal in the kernel's space:

    g_k(x) = e^{−‖x‖²/(2 width²)} Π_i x_i^{k_i} / (width^{k_i} √(k_i!)),      r = C(degree + dim, dim) features

Each feature is computed from one of the degree below, its parent: g_{k+e_i} = g_k · x_i / (width √(k_i + 1)), where k + e_i is k
with k_i raised by 1, and no coordinate after i has a power in k. So each feature has one parent, the children of a parent lie next
to each other, and no powers or factorials are needed.

The kernel's mass at x is k(x, x) = 1. The features capture the share Σ g_k(x)² = PoissonCDF(degree; ‖x‖²/width²) of it; the
truncation loses the rest.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, section 3.1.
Departs from the paper: its listing has Σ_j dim^j features, many of them equal; here each is kept once, with the same predictions.

>>> Taylor(degree=2, width=1.0).size(18)
190
>>> float(Taylor(degree=4, width=2.0).captured([[1.0, 1.0, 1.0]])[0].round(4))
0.9989
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import check_width, config, whole, width_or_root
from onkel.errors import InputError
from onkel.features.compose import Features
from onkel.linalg.loops import dot
from onkel.state import fixed, memory

WORTH_SAYING = 0.5  # a smaller captured share of the kernel's mass is reported to the user
TOO_MANY = 2**62  # the number of features is not computed beyond this: in a chain it could have millions of digits


@memory
class State:
    last: Counts = fixed()  # (parents,)  for each feature with children, the last coordinate that has a power in it
    power: Counts = fixed()  # (parents,)  the exponent of this coordinate
    rows: int = 0
    mass: float = 0.0  # captured mass of the kernel, summed over the rows learnt


@config
class Taylor(Features):
    """The Taylor features of the Gaussian kernel: all products of inputs up to a degree.

    degree  The highest degree. The number of features grows like dim^degree. Default: 2.
    width   The width of the Gaussian kernel; None: √dim, which suits standardised inputs. Default: None.
    """

    degree: int = 2
    width: float | None = None

    def __post_init__(self) -> None:
        whole(self, "degree", least=0, most=1000)
        check_width(self)

    def size(self, dim: int) -> int:
        return min(math.comb(self.degree + dim, dim), TOO_MANY)

    def init(self, dim: int) -> State:
        return State(*_tree(self.degree, dim))

    def footprint(self, dim: int) -> int:
        return 8 * (2 * self._parents(dim) + 2)

    def write(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> State:
        rows, mass = _taylor(state.last, state.power, width_or_root(self.width, X.shape[1]), X, weight, Z, at)
        return State(state.last, state.power, state.rows + rows, state.mass + mass)

    def notes(self, state: State) -> list[str]:
        if state.rows == 0 or state.mass / state.rows >= WORTH_SAYING:
            return []
        share = state.mass / state.rows
        return [f"{self} captures {share:.0%} of the Gaussian kernel on these rows; a larger width or degree captures more"]

    def captured(self, X: ArrayLike) -> Vector:
        """The share of the kernel's mass at each row that these features capture."""
        rows = check_block("X", X)
        return _poisson(self.degree, np.sum(rows**2, axis=1) / width_or_root(self.width, rows.shape[1]) ** 2)

    @classmethod
    def capturing(cls, mass: float, X: ArrayLike, width: float | None = None, largest_degree: int = 30) -> Taylor:
        """The Taylor features of the least degree that captures the wanted share of the kernel, on average over the rows of X.

        >>> X = np.random.default_rng(0).normal(size=(100, 8))
        >>> Taylor.capturing(0.95, X)
        Taylor(degree=3, width=None)
        """
        for degree in range(largest_degree + 1):
            if (features := cls(degree, width)).captured(X).mean() >= mass:
                return features
        raise InputError(
            f"no degree up to {largest_degree} captures {mass:g} of the kernel on these rows; centre them, or take a larger width"
        )

    def _parents(self, dim: int) -> int:
        return min(math.comb(self.degree - 1 + dim, dim), TOO_MANY) if self.degree else 0


def _poisson(degree: int, mean: Vector) -> Vector:
    """PoissonCDF(degree; mean), by logarithms: if the mean is large, the first terms underflow to 0, but later ones do not."""
    share = np.exp(-mean)
    with np.errstate(divide="ignore"):
        log_mean = np.log(mean)
    for k in range(1, degree + 1):
        share += np.exp(k * log_mean - mean - math.lgamma(k + 1.0))
    return share


def _tree(degree: int, dim: int) -> tuple[Counts, Counts]:
    last, power = [0], [0]
    level = range(1)
    for _ in range(1, degree):
        for parent in level:
            last += range(last[parent], dim)
            power += [power[parent] + 1] + [1] * (dim - 1 - last[parent])
        level = range(level.stop, len(last))
    parents = level.stop if degree else 0
    return np.array(last[:parents], dtype=np.int64), np.array(power[:parents], dtype=np.int64)


@hot
def _taylor(last: Counts, power: Counts, width: float, X: Matrix, weight: Vector, Z: Matrix, at: int) -> tuple[int, float]:
    rows, mass = 0, 0.0
    for t in range(X.shape[0]):
        z = Z[t, at:]
        x = X[t] / width
        z[0] = math.exp(-0.5 * dot(x, x))
        child = 1
        for parent in range(last.size):
            raised = x[last[parent] :]
            children = z[child : child + raised.size]
            for i in range(raised.size):
                children[i] = z[parent] * raised[i]
            children[0] /= math.sqrt(power[parent] + 1.0)
            child += raised.size
        if weight[t] > 0.0:
            rows += 1
            mass += dot(z[:child], z[:child])
    return rows, mass
