"""Streams in which every label agrees with some u = Σ c_j k(z_j, ·), with 20 random points, Σ c_j = 0 and x uniform in [-1, 1]⁴.

Classification: rows with |u(x)| below its 20 % quantile are left out and u is scaled so that all others have y u(x) ≥ 1.
Regression: u has deviation 1 over the rows, and y differs from u(x) by a uniform number from [-ε, ε].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.kernels import Kernel

Array = NDArray[np.float64]

DIM, POINTS, EPSILON, LEFT_OUT = 4, 20, 0.1, 0.2
KERNELS: dict[str, Kernel] = {
    "Additive(Spline())": onkel.Additive(onkel.Spline(domain=(-1.0, 1.0))),
    "Additive(Exponential())": onkel.Additive(onkel.Exponential()),
    "Gaussian()": onkel.Gaussian(1.0),
    "Linear()": onkel.Linear(),
}


@dataclass(frozen=True)
class Stream:
    """Rows, and the function that agrees with them."""

    X: Array
    y: Array
    u: onkel.Start
    norm: float


def agreeing(kernel: Kernel, margin: bool, rows: int, seed: int) -> Stream:
    rng = np.random.default_rng(seed)
    points, coef = rng.uniform(-1.0, 1.0, (POINTS, DIM)), rng.normal(size=POINTS)
    coef -= coef.mean()  # otherwise u would be little more than the constant of the spline
    X = rng.uniform(-1.0, 1.0, (2 * rows, DIM))
    values = kernel(X, points) @ coef
    unit = float(np.quantile(np.abs(values), LEFT_OUT) if margin else np.std(values))
    taken = np.flatnonzero(np.abs(values) >= (unit if margin else 0.0))[:rows]
    coef, values = coef / unit, values[taken] / unit
    y = np.sign(values) if margin else values + rng.uniform(-EPSILON, EPSILON, rows)
    return Stream(X[taken], y, onkel.Start(points, coef), float(np.sqrt(coef @ kernel(points, points) @ coef)))


def losses(scores: Array, y: Array, margin: bool) -> dict[str, Array]:
    """The losses that the theorems bound: mistakes and (1 − y f(x))₊² for classes, (|f(x) − y| − ε)₊² for numbers."""
    if margin:
        return {"mistakes": onkel.measure.mistakes(scores, y), "squared hinge": np.maximum(1.0 - y * scores, 0.0) ** 2}
    return {"ε-insensitive square": np.maximum(np.abs(scores - y) - EPSILON, 0.0) ** 2}
