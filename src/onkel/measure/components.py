"""What an additive model has learnt, one curve for each input: f(x) = intercept + Σ_c f_c(x_c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import whole
from onkel.dictionary.frozen import freeze, keys_and_coefficients
from onkel.dictionary.sorted_blocks import SortedBlocks
from onkel.dictionary.spiked import Spiked, parts
from onkel.dictionary.support import Support
from onkel.errors import InputError
from onkel.kernels import Additive, Interval
from onkel.kernels.additive import ANYWHERE
from onkel.learners import domains


@dataclass(frozen=True)
class Curve:
    """One input's part of f, with mean 0 over the points drawn."""

    name: str
    x: Vector  # in the input's own units, from one end of what was learnt to the other
    y: Vector


@dataclass(frozen=True)
class Components:
    """f(x) = intercept + Σ curves; spikes of a `Delta` are left out."""

    intercept: float
    curves: tuple[Curve, ...]


def components(learner: Any, state: Any, names: Sequence[str] | None = None, points: int = 200) -> Components:
    """The curves of a learner with an additive kernel, as they are now; columns have these names.

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
    if isinstance(state, domains.State) and domains.is_waiting(state):
        come = f"{state.rows} of {domains.FIRST_ROWS} rows have come"
        raise InputError(f"{come}: there are no domains yet, so no curves; learn more rows")
    if isinstance(state, domains.State):
        learner, state = domains.closed(learner, state), state.inner
    f, kernel = getattr(state, "support", None), getattr(learner, "kernel", None)
    if isinstance(f, Spiked):
        f, kernel = f.curves, parts(kernel)[0]  # type: ignore[arg-type]
    if isinstance(kernel, Interval):
        kernel = kernel.alone(state.dim)
    elsewhere = hasattr(state, "map") or hasattr(state, "sketch")  # NOGD, SkeGD, FORKS: f is not the sum over its points
    if not isinstance(kernel, Additive) or not isinstance(f, SortedBlocks | Support) or elsewhere:
        raise InputError(f"{learner!r:.200} has no curves; take a learner with an additive kernel, such as Additive(Spline())")
    if isinstance(f, SortedBlocks) and getattr(learner, "averaging", False):
        f = f.mean(state.rows)
    labels = _labels(kernel, state.dim, names)
    grid = _grid(kernel, f, state.dim, points)
    values = _values(kernel, f, state.dim, grid)
    means = values.mean(axis=0)
    curves = [Curve(name, grid[:, c], values[:, c] - means[c]) for c, name in enumerate(labels)]
    return Components(float(means.sum()), tuple(curves))


@dataclass(frozen=True)
class _Points:
    points: int


def _labels(kernel: Additive, dim: int, names: Sequence[str] | None) -> list[str]:
    columns = [f"x{c}" for c in range(dim)] if names is None else list(names)
    if len(columns) != dim:
        raise InputError(f"names must be one for each of the {dim} columns, got {len(columns)}")
    return columns + [f"{columns[i]} × {columns[j]}" for i, j in kernel.products]


def _grid(kernel: Additive, f: SortedBlocks | Support, dim: int, points: int) -> Matrix:
    """Places from end to end of each domain, or of the keys where there is none."""
    ends = []
    for c, base in enumerate(kernel.bases(dim)):
        low, high = ANYWHERE if base.domain is None else base.domain
        if (low, high) == ANYWHERE:
            keys = keys_and_coefficients(f, c)[0] if isinstance(f, SortedBlocks) else kernel.inputs(f.known)[:, c]
            low, high = (float(keys.min()), float(keys.max())) if len(keys) else (0.0, 1.0)
        ends.append((low, high))
    low, high = np.array(ends).T
    return np.linspace(low, high, points)


def _values(kernel: Additive, f: SortedBlocks | Support, dim: int, grid: Matrix) -> Matrix:
    """f_c at each place: the curves of single inputs, so products are inputs like any other."""
    alone = Additive(kernel.bases(dim))  # every input a column of its own
    if isinstance(f, SortedBlocks):
        return freeze(f, alone, len(alone.base)).curves(grid)
    inputs, a = kernel.inputs(f.known), f.scale[0] * f.coef[: f.size[0]]
    return np.column_stack([base.values(grid[:, [c]], inputs[:, [c]]) @ a for c, base in enumerate(alone.base)])
