"""The function that a learner has learnt, as an immutable object that can be called, inspected and plotted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block
from onkel._types import Matrix, Vector
from onkel.kernels import Additive, Interval, Kernel


class Learnt(ABC):
    """A learnt function f in the space of a kernel whose domains are known. Its values are not clipped; spikes of a `Delta` are
    left out."""

    kernel: Kernel
    squared_norm: float | None  # ‖f‖², if the learner computes it

    def __call__(self, X: ArrayLike) -> Vector:
        """f(x) for each row."""
        return self._values(check_block("X", X))

    @abstractmethod
    def _values(self, X: Matrix) -> Vector: ...

    @property
    @abstractmethod
    def additive(self) -> Additive | None:
        """The kernel as a sum of one-input kernels, so that f is a sum of curves f_c; None if the kernel is not such a sum."""

    @abstractmethod
    def curves(self, inputs: Matrix) -> Matrix:
        """f_c(u_c) for each row u of inputs (columns of X, then products of them). Only for an additive kernel."""

    @abstractmethod
    def keys(self, c: int) -> Vector:
        """The values of input c at the points of f = Σ a_i k(x_i, ·). Only for an additive kernel."""


@dataclass(frozen=True, repr=False)
class Expansion(Learnt):
    """f = Σ_j coef_j k(points_j, ·)"""

    kernel: Kernel
    points: Matrix  # (m, dim)
    coef: Vector  # (m,), or (m, outputs) for several outputs
    squared_norm: float | None = None

    def __repr__(self) -> str:
        return f"<Expansion of {len(self.points):,} points, {self.kernel!r:.200}>"

    def _values(self, X: Matrix) -> Vector:
        return np.asarray(self.kernel.values(X, self.points) @ self.coef)

    @property
    def additive(self) -> Additive | None:
        if self.coef.ndim > 1:
            return None
        if isinstance(self.kernel, Interval):
            return self.kernel.alone(self.points.shape[1])
        return self.kernel if isinstance(self.kernel, Additive) else None

    def curves(self, inputs: Matrix) -> Matrix:
        assert self.additive is not None
        known, bases = self.additive.inputs(self.points), self.additive.bases(self.points.shape[1])
        return np.column_stack([base.values(inputs[:, [c]], known[:, [c]]) @ self.coef for c, base in enumerate(bases)])

    def keys(self, c: int) -> Vector:
        assert self.additive is not None
        return self.additive.inputs(self.points)[:, c]
