"""Numerical: the eigen-system of any kernel of one column, in the uniform measure on a domain, by quadrature.

    M_ij = √w_i k(x_i, x_j) √w_j,   M u = λ u        ψ(x) = Σ_i √w_i u_i k(x, x_i) / λ

x_i and w_i are the nodes and weights of Gauss-Legendre quadrature. Each eigenvalue λ of M, with its eigenvector u, gives one
eigenfunction ψ. If the kernel has a kink at x = z, the error is of order nodes⁻²; for a smooth kernel the functions are exact up to
rounding. The sign of a function is chosen so that it is positive at the last node at which it is at least half as large as its
maximum.
"""

from __future__ import annotations

import functools
from typing import final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, instance, whole
from onkel.errors import InputError
from onkel.features.mercer.system import Line
from onkel.kernels import Kernel
from onkel.kernels.space import Domain, check_domain

SMALLEST_VALUE = 1e-12  # limit for λ_j relative to λ_1; with less, a function is only rounding errors
LARGEST_NEGATIVE = 1e-10  # limit for −λ_j relative to λ_1; if it is larger, that is not rounding


@final
@config
class Numerical(Line):
    """The eigenfunctions of any kernel of one column, computed by quadrature.

    kernel  A kernel of one input whose eigenfunctions have no known closed form.
    nodes   The number of quadrature nodes. With more, the eigenfunctions are more accurate. Default: 200.
    domain  (low, high), the range of the inputs, mapped to [0, 1]; None: that of the first 100 rows, and a
            quarter of it more to each side. Values outside are clamped. Default: None.

    >>> onkel.Numerical(onkel.Brownian(domain=(0.0, 1.0)), domain=(0.0, 1.0)).values(3).round(3)
    array([0.405, 0.045, 0.016])
    >>> onkel.Sine(domain=(0.0, 1.0)).values(3).round(3)  # the same in closed form
    array([0.405, 0.045, 0.016])
    """

    kernel: Kernel
    nodes: int = 200
    domain: Domain | None = None

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=0.2)")
        whole(self, "nodes", 2, 5000)
        check_domain(self)

    def limit(self, dim: int) -> int:
        return len(_solved(self)[0])

    def values(self, count: int, dim: int = 1) -> Vector:
        return _solved(self)[0][:count]

    def on_unit(self, u: Vector, count: int) -> Matrix:
        assert self.domain is not None
        (low, high), (_, nodes, coefficients) = self.domain, _solved(self)
        out = np.zeros((len(u), count))
        _add_up(self.kernel.values(low + (high - low) * u[:, None], nodes), coefficients, out)
        return out


@functools.lru_cache(maxsize=64)
def _solved(system: Numerical) -> tuple[Vector, Matrix, Matrix]:
    """The eigenvalues, the nodes x_i, and the coefficients with which each ψ is a sum of the k(·, x_i)."""
    if system.domain is None:
        raise InputError(f"{system!r} has no domain; give it one: domain=(low, high)")
    low, high = system.domain
    x, w = np.polynomial.legendre.leggauss(system.nodes)
    nodes, roots = (low + (high - low) * (x + 1.0) / 2.0)[:, None], np.sqrt(w / 2.0)
    K = system.kernel(nodes, nodes)
    values, vectors = np.linalg.eigh(roots[:, None] * 0.5 * (K + K.T) * roots)
    values, vectors = values[::-1], vectors[:, ::-1]
    if np.abs(K - K.T).max() > LARGEST_NEGATIVE * np.abs(K).max() or not -values[-1] < LARGEST_NEGATIVE * values[0]:
        where = f"({low:g}, {high:g})"
        raise InputError(
            f"{system.kernel!r} is not a kernel on {where}: its matrix is 0, not symmetric, or has an eigenvalue below 0"
        )
    known = values > SMALLEST_VALUE * values[0]
    values, vectors = values[known], vectors[:, known]
    at_nodes = np.abs(vectors / roots[:, None])
    last = [np.flatnonzero(column >= 0.5 * column.max())[-1] for column in at_nodes.T]
    signs = np.sign(vectors[last, range(len(values))])
    return values, nodes, roots[:, None] * vectors * signs / values


@hot
def _add_up(K: Matrix, coefficients: Matrix, out: Matrix) -> None:
    """out ← out + K @ coefficients, in a fixed order: large terms cancel, so another order of summation would change the result."""
    for i in range(K.shape[0]):
        for k in range(K.shape[1]):
            for j in range(out.shape[1]):
                out[i, j] += K[i, k] * coefficients[k, j]
