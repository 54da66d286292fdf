"""The curves of an additive model, one for each input: f(x) = intercept + Σ_c f_c(x_c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import whole
from onkel.data.columns import listed
from onkel.errors import InputError
from onkel.functions.learnt import Learnt
from onkel.kernels import Additive
from onkel.kernels.space import ANYWHERE
from onkel.learners import MercerProjection
from onkel.protocol import is_learner


@dataclass(frozen=True, repr=False)
class Curve:
    """One input's part of f. Its mean over the points x is 0; for a `MercerProjection`, its mean over all rows learnt.

    A `MercerProjection` also gives confidence bands: from `low` to `high` for each x by itself, and from `lowest` to `highest` for
    the whole curve at once.

    >>> onkel.measure.Curve("age", x=np.array([20.0, 40.0, 60.0]), y=np.array([-1.5, 0.5, 1.0]))
    <Curve of age: x from 20 to 60, y from -1.5 to 1>
    """

    name: str
    x: Vector  # in the input's own units, over the input's domain (or the range of the points kept)
    y: Vector
    low: Vector | None = None
    high: Vector | None = None
    lowest: Vector | None = None
    highest: Vector | None = None

    def __repr__(self) -> str:
        x, y = (f"{values.min():.4g} to {values.max():.4g}" for values in (self.x, self.y))
        return f"<Curve of {self.name}: x from {x}, y from {y}>"


@dataclass(frozen=True, repr=False)
class Components:
    """f(x) = intercept + Σ curves. The part of f that a kernel's `Delta` contributes (only at points kept) is left out.

    >>> X, y = onkel.data.friedman(20_000, seed=0)
    >>> learner = onkel.NORMA(onkel.Additive(onkel.Spline()), loss=onkel.Square(), step=0.02, lam=0.0)
    >>> state = learner.init(dim=10)
    >>> scores = learner.learn(state, X, y)
    >>> curves = onkel.components(learner, state).curves
    >>> [curve.name for curve in curves if np.ptp(curve.y) > 2.0]  # the columns that matter
    ['x0', 'x1', 'x2', 'x3', 'x4']
    """

    intercept: float
    curves: tuple[Curve, ...]

    def __repr__(self) -> str:
        return f"<Components: intercept {self.intercept:.4g}, curves of {listed([curve.name for curve in self.curves])}>"


def components(
    learner: Any, state: Any, names: Sequence[str] | None = None, points: int = 200, confidence: float = 0.95
) -> Components:  # fmt: skip
    """The current curves of a learner with an additive kernel or system; `names` are the names of the columns.

    learner     A learner with an additive kernel, or a `MercerProjection` with an `AdditiveSystem`, whose curves have bands.
    state       Its state.
    names       The names of the columns; None: x0, x1, …
    points      The number of points at which each curve is evaluated. Default: 200.
    confidence  The nominal coverage of bands. Default: 0.95.

    >>> X = np.random.default_rng(0).uniform(0.0, 1.0, size=(2000, 2))
    >>> learner = onkel.TubeProjection(onkel.Additive(onkel.Spline(domain=(0.0, 1.0))), epsilon=0.05)
    >>> state = learner.init(dim=2)
    >>> scores = learner.learn(state, X, 3.0 * X[:, 0] - X[:, 1] ** 2)
    >>> for curve in onkel.components(learner, state, names=["length", "age"]).curves:
    ...     print(curve.name, np.round(curve.y[[0, 199]], 1))
    length [-1.4  1.5]
    age [ 0.4 -0.6]
    """
    whole(_Points(points), "points", 2)
    if not is_learner(learner):
        raise InputError(f"components takes a learner and its state, in this order, got {type(learner).__name__} first")
    if isinstance(learner, MercerProjection):
        intercept, parts = learner.curves(state, points, confidence)
        labels = _named(state.dim, names)
        return Components(intercept, tuple(Curve(name, *part) for name, part in zip(labels, parts, strict=True)))
    f = learner.function(state)
    if f is None or f.additive is None:
        raise InputError(f"{learner!r:.200} has no curves; take a learner with an additive kernel, such as Additive(Spline())")
    labels = _labels(f.additive, state.dim, names)
    grid = _grid(f.additive, f, state.dim, points)
    values = f.curves(grid)
    means = values.mean(axis=0)
    curves = [Curve(name, grid[:, c], values[:, c] - means[c]) for c, name in enumerate(labels)]
    return Components(float(means.sum()), tuple(curves))


@dataclass(frozen=True)
class _Points:
    points: int


def _labels(kernel: Additive, dim: int, names: Sequence[str] | None) -> list[str]:
    columns = _named(dim, names)
    return columns + [f"{columns[i]} × {columns[j]}" for i, j in kernel.products]


def _named(dim: int, names: Sequence[str] | None) -> list[str]:
    columns = [f"x{c}" for c in range(dim)] if names is None else list(names)
    if len(columns) != dim:
        raise InputError(f"names must be one for each of the {dim} columns, got {len(columns)}")
    return columns


def _grid(kernel: Additive, f: Learnt, dim: int, points: int) -> Matrix:
    """Equally spaced points over the domain of each input or, if it has none, over the range of its values at the points kept."""
    ends = []
    for c, base in enumerate(kernel.bases(dim)):
        low, high = ANYWHERE if base.domain is None else base.domain
        if (low, high) == ANYWHERE:
            keys = f.keys(c)
            low, high = (float(keys.min()), float(keys.max())) if len(keys) else (0.0, 1.0)
        ends.append((low, high))
    low, high = np.array(ends).T
    return np.linspace(low, high, points)
