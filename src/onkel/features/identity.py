"""The simplest features: the inputs themselves, and the intercept."""

from __future__ import annotations

from dataclasses import dataclass

from onkel._types import Matrix, Vector
from onkel.features.feature import Features


@dataclass(frozen=True)
class Identity(Features):
    """z = x: with it a learner is linear."""

    def size(self, dim: int) -> int:
        return dim

    def init(self, dim: int) -> None: ...

    def footprint(self, dim: int) -> int:
        return 0

    def write(self, state: None, X: Matrix, weight: Vector, Z: Matrix, at: int) -> None:
        Z[:, at : at + X.shape[1]] = X


@dataclass(frozen=True)
class Constant(Features):
    """z = 1: the intercept."""

    def size(self, dim: int) -> int:
        return 1

    def init(self, dim: int) -> None: ...

    def footprint(self, dim: int) -> int:
        return 0

    def write(self, state: None, X: Matrix, weight: Vector, Z: Matrix, at: int) -> None:
        Z[:, at] = 1.0
