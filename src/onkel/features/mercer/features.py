"""Mercer: the first functions of an eigen-system as features, z_j = √λ_j ψ_j(x), so that z·z' approximates the kernel k(x, x').

>>> X = np.linspace(0.0, 1.0, 5)[:, None]
>>> Z = np.empty((5, 400))
>>> features = onkel.Mercer(onkel.Sine(domain=(0.0, 1.0)), count=400)
>>> features.write(features.init(1), X, np.ones(5), Z, 0)
>>> bool(np.abs(Z @ Z.T - np.minimum.outer(X[:, 0], X[:, 0])).max() < 1e-3)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config, instance, whole
from onkel.errors import InputError
from onkel.features.compose import Features
from onkel.features.mercer.columns import ProductSystem
from onkel.features.mercer.system import System


@config
class Mercer(Features):
    """The features √λ_j ψ_j(x), j = 1 … count, for the first eigenfunctions ψ_j of a kernel and their eigenvalues λ_j.

    system  The functions ψ_j of a kernel, and their eigenvalues λ_j. Default: ProductSystem().
    count   The number of these functions that are features. Default: 100.
    """

    system: System = ProductSystem()
    count: int = 100

    def __post_init__(self) -> None:
        instance(self, "system", System, "Cosine(domain=(0.0, 1.0))")
        whole(self, "count", 1)
        if self.system.is_open:
            raise InputError(f"Mercer: {self.system!r} has no domain; give it one: domain=(low, high)")

    @property
    def fallible(self) -> bool:  # type: ignore[override]
        return self.system.fallible

    def size(self, dim: int) -> int:
        return self.count

    def init(self, dim: int) -> None:
        self.system.check_columns(dim)
        if self.count > (most := self.system.limit(dim)):
            raise InputError(
                f"Mercer: only the first {most} functions of {self.system!r} exceed rounding errors; lower count={self.count}"
            )

    def footprint(self, dim: int) -> int:
        return 0

    def write(self, state: Any, X: Matrix, weight: Vector, Z: Matrix, at: int) -> None:
        roots = np.sqrt(self.system.values(self.count, X.shape[1]))
        Z[:, at : at + self.count] = self.system.functions(X, self.count) * roots
