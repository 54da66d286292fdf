"""The examples of the paper (its Tables 2, 3 and 5): a curve, where rows lie, noise, and the functions that are fitted to them.

    1      B₄(x)                                              x uniform         noise uniform in ±0.02    W₂ on the circle, mean 0
    2      g(x) = (6x − 3) sin(12x − 6) + cos²(12x − 6)       density x + ½     Normal(0, 5)              W₁
    A.1    1 + (x − 0.5)₊ + 2(x − 0.2)₊                       density x + ½     Normal(0, 1)              W₁
    A.2    1 + g(x) + 10(x − 0.5)₊²                           x uniform         uniform in ±5             W₂

Here Normal(0, 5) has the variance 5; `LOUDER` has the deviation 5. For W₁ and W₂ the functions are `Cosine` and `Beam`, which are
eigen-functions of these spaces. In example 2 the paper takes the kernel min(s, t), in whose space every curve begins at 0 (`Sine`);
but g(0) is 0.084. In A.2 the paper adds N functions to 1, x and x², with c = 1/30. Here these three are counted in N, and c = 1/75,
which gives the paper's N + 3, within one, from 10³ to 10⁵ rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.features.mercer import System

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]

UNIT = (0.0, 1.0)
FRESH = 1_000  # rows on which an error is measured


@dataclass(frozen=True)
class Example:
    truth: Callable[[Array], Array]
    inputs: Draw
    noise: Draw
    system: System
    rate: float  # c, which the paper picked by hand
    smoothness: float  # α

    def stream(self, rows: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        X = self.inputs(rng, rows)
        return X, self.truth(X) + self.noise(rng, rows)

    def fresh(self, seed: int) -> Array:
        return self.inputs(np.random.default_rng((seed, 1)), FRESH)

    def error(self, scores: Array, X: Array) -> float:
        """‖f̂ − f‖², on these rows."""
        return float(np.mean((scores - self.truth(X)) ** 2))

    @property
    def growing(self) -> onkel.MercerProjection:
        return onkel.MercerProjection(self.system, rate=self.rate, smoothness=self.smoothness)

    @property
    def following(self) -> onkel.MercerProjection:
        return onkel.MercerProjection(self.system)


def uniform(rng: np.random.Generator, rows: int) -> Array:
    return rng.random((rows, 1))


def slanted(rng: np.random.Generator, rows: int) -> Array:
    """Density x + ½: half of x² + x is uniform."""
    return np.asarray(np.sqrt(0.25 + 2.0 * rng.random((rows, 1))) - 0.5)


def even(most: float) -> Draw:
    return lambda rng, rows: rng.uniform(-most, most, rows)


def normal(deviation: float) -> Draw:
    return lambda rng, rows: rng.normal(0.0, deviation, rows)


def bernoulli(X: Array) -> Array:
    x = X[:, 0]
    return x**4 - 2.0 * x**3 + x**2 - 1.0 / 30.0


def wavy(X: Array) -> Array:
    t = 12.0 * X[:, 0] - 6.0
    return np.asarray(0.5 * t * np.sin(t) + np.cos(t) ** 2)


def bent(X: Array) -> Array:
    x = X[:, 0]
    return 1.0 + np.maximum(x - 0.5, 0.0) + 2.0 * np.maximum(x - 0.2, 0.0)


def wavy_and_bent(X: Array) -> Array:
    return 1.0 + wavy(X) + 10.0 * np.maximum(X[:, 0] - 0.5, 0.0) ** 2


FIRST = Example(bernoulli, uniform, even(0.02), onkel.Periodic(UNIT, order=2.0, constant=False), rate=0.2, smoothness=2.0)
SECOND = Example(wavy, slanted, normal(np.sqrt(5.0)), onkel.Cosine(UNIT), rate=0.5, smoothness=1.0)
LOUDER = replace(SECOND, noise=normal(5.0))
THIRD = Example(bent, slanted, normal(1.0), onkel.Cosine(UNIT), rate=0.5, smoothness=1.0)
FOURTH = Example(wavy_and_bent, uniform, even(5.0), onkel.Beam(UNIT), rate=1.0 / 75.0, smoothness=2.0)
BROWNIAN = onkel.Brownian(UNIT)  # example 2's kernel
CIRCLE = onkel.PeriodicSpline(UNIT, order=2, constant=False)  # example 1's, 360 times as large
LARGER = 360.0


def descent(kernel: Any, step: float) -> onkel.FunctionalSGD:
    return onkel.FunctionalSGD(kernel, step=step, decay=0.5)
