"""Learners with odd settings, one field at a time, and a stream with what is awkward about real ones. Nothing here knows a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.protocol import tasks_of

Array = NDArray[np.float64]

KERNELS = (
    onkel.Gaussian(width=0.01), onkel.Gaussian(width=1e3), onkel.Laplacian(width=0.5), onkel.Linear(), onkel.Polynomial(degree=3),
    onkel.Additive(onkel.Spline()), onkel.Additive(onkel.Brownian((-3.0, 3.0))), onkel.Additive(onkel.Exponential(rate=500.0)),
    onkel.Additive(onkel.Exponential()) + onkel.Delta(0.1),
)  # fmt: skip
LOSSES = (
    onkel.Square(), onkel.Hinge(), onkel.SquaredHinge(), onkel.Logistic(),
    onkel.EpsilonInsensitive(), onkel.EpsilonInsensitive(0.0), onkel.SquaredEpsilonInsensitive(),
)  # fmt: skip
VALUES: dict[str, tuple[Any, ...]] = {
    "float": (1e-12, 1e-3, 0.999, 1e3, 1e12),
    "int": (1, 2, 7),
    "bool": (False, True),
    "Kernel": KERNELS,
    "Features": (onkel.Fourier(count=10, width=1e-3), onkel.Taylor(degree=3, width=0.1), onkel.Identity(), onkel.Constant()),
    "Loss": LOSSES,
    "Dictionary": (onkel.Kors(mu=1e-6), onkel.Kors(mu=100.0, oversampling=1e-3), onkel.Uniform(0.5)),
    "None": (None,),
}


def odd(kind: Any) -> Iterator[Any]:
    """The default, and each setting that it takes with one field of another value."""
    plain = kind()
    yield plain
    for field in dataclasses.fields(plain):
        if field.name == "seed":
            continue
        for value in (value for name in str(field.type).split(" | ") for value in VALUES.get(name, ())):
            try:
                learner = dataclasses.replace(plain, **{field.name: value})
            except onkel.InputError:
                continue
            if learner != plain:
                yield learner


def awkward(learner: Any, rows: int, dim: int = 3) -> tuple[Array, Array]:
    """Standardised rows, rounded ones, near-duplicates and duplicates of a few, a constant column: an eighth of them at a time."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(rows, dim))
    few = X[rng.integers(0, 5, rows)]
    X[rng.random(rows) < 0.02] = 0.0
    for part, stage in enumerate(np.array_split(np.arange(rows), 8)):
        if part % 4 == 1:
            X[stage] = np.round(X[stage], 1)
        elif part % 4 == 2:
            X[stage] = few[stage] + rng.choice([0.0, 1e-15, 1e-9], (len(stage), 1)) * X[stage]
        elif part % 4 == 3:
            X[stage, 1] = 1.0
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + rng.normal(size=rows)
    return X, y if "regression" in tasks_of(learner) else np.where(y >= 0.0, 1.0, -1.0)
