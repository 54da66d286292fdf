"""What `Auto` looks at: a row as it is, standardised, as ranks, and what the last labels were. Computed once, for all families.

X    as given
Z    (x − mean)/deviation, of the rows so far and this one, cut at ±8
N    Z, or a random projection of it to 64 columns where it has more: what kernels and neighbours see
U    ranks of X (of N where it is a projection) among the rows so far, by 33 quantiles
L    earlier labels, as `Lagged` has them, standardised; of several classes, where each is a point of a circle
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onkel._types import Matrix, Vector
from onkel.combine.lagged import MEMORIES, lag
from onkel.features import Project, Ranks, Standardize

CUT = 8.0  # deviations
NARROW = 64  # columns that kernels and neighbours see at most
PLANE = 2  # numbers that a row of labels is remembered as
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))  # between an output and the next: no two of them come close


class View(NamedTuple):
    """A block of rows as the families see it."""

    X: Matrix
    Z: Matrix
    N: Matrix
    U: Matrix
    L: Matrix
    lagged: Matrix  # earlier labels as they are, before they are standardised


@dataclass
class Lags:
    first: Vector
    last: Matrix
    means: Matrix
    standardized: Any
    rows: int = 0


@dataclass
class State:
    standardized: Any
    projected: Any
    ranked: Any
    lags: Any  # Lags, or None


@dataclass(frozen=True)
class Views:
    """The maps, for rows of so many columns."""

    dim: int
    seed: int
    lags: int  # earlier labels

    @property
    def narrow(self) -> int:
        """Columns of N."""
        return min(self.dim, NARROW)

    @property
    def lag_columns(self) -> int:
        """Columns of L."""
        return PLANE * (self.lags + len(MEMORIES)) if self.lags else 0

    @property
    def _is_projected(self) -> bool:
        return self.dim > NARROW

    def init(self) -> State:
        lags = None
        if self.lags:
            nothing = np.zeros(PLANE), np.zeros((PLANE, self.lags)), np.zeros((PLANE, len(MEMORIES)))
            lags = Lags(*nothing, Standardize(CUT).init(self.lag_columns))
        projected = Project(NARROW, self.seed).init(self.dim) if self._is_projected else None
        return State(Standardize(CUT).init(self.dim), projected, Ranks().init(self.narrow), lags)

    def footprint(self) -> int:
        lags = 8 * (PLANE + self.lag_columns + 1) + Standardize(CUT).footprint(self.lag_columns) if self.lags else 0
        projected = Project(NARROW, self.seed).footprint(self.dim) if self._is_projected else 0
        return Standardize(CUT).footprint(self.dim) + projected + Ranks().footprint(self.narrow) + lags

    def write(self, state: State, X: Matrix, Y: Matrix, weight: Vector, lagged: Matrix | None = None) -> tuple[View, State]:
        """The views of each row, just before it is learnt, and the state after the rows. `lagged`: earlier labels that were known
        when the rows were predicted, in place of those just before them."""
        Z, N, U = np.empty(X.shape), X, np.empty((len(X), self.narrow))
        standardized = Standardize(CUT).write(state.standardized, X, weight, Z, 0)
        if self._is_projected:
            N = np.empty((len(X), NARROW))
            Project(NARROW, self.seed).write(state.projected, Z, weight, N, 0)
        ranked = Ranks().write(state.ranked, N, weight, U, 0)
        raw, L, lags = self._lags(state.lags, Y, weight, lagged)
        return View(X, Z, N if self._is_projected else Z, U, L, raw), State(standardized, state.projected, ranked, lags)

    def _lags(self, lags: Any, Y: Matrix, weight: Vector, lagged: Matrix | None) -> tuple[Matrix, Matrix, Any]:
        inputs = np.empty((len(Y), self.lag_columns))
        if lags is None:
            return inputs, inputs, None
        after = Lags(lags.first.copy(), lags.last.copy(), lags.means.copy(), None)
        after.rows = lag(after.first, after.last, after.means, lags.rows, _points(Y), weight, inputs)
        inputs, L = inputs if lagged is None else lagged, np.empty_like(inputs)
        after.standardized = Standardize(CUT).write(lags.standardized, inputs, weight, L, 0)
        return inputs, L, after


def _points(Y: Matrix) -> Matrix:
    """Labels as they are remembered."""
    angles = GOLDEN_ANGLE * np.arange(Y.shape[1])
    return np.ascontiguousarray(Y @ np.column_stack([np.cos(angles), np.sin(angles)]))
