"""Standardize: each input minus its running mean, divided by its running standard deviation.

For row n + 1, after n rows were learnt:   μ ← μ + (x − μ)/(n+1),   S ← S + (x − μ_old)(x − μ),   z = (x − μ)/√(S/(n+1))

μ is the running mean, and S the running sum of squared deviations. So mean and standard deviation are those of the rows up to and
including this one; labels are never used. All rows of positive weight count alike, since a score must not depend on the weight of
its own row. A column that has been constant so far gives 0. If `clip` is given, z is clipped to ±clip.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, real
from onkel.features.compose import Features
from onkel.one_row import Step
from onkel.state import Counted, counter, memory


@memory
class State(Counted):
    mean: Vector  # (dim,)
    spread: Vector  # (dim,)  sum of squared deviations from the mean
    learnt: Counts = counter()


@config
class Standardize(Features):
    """Inputs with mean 0 and standard deviation 1, estimated from the stream so far.

    clip  The largest |z|, against outliers; None: no limit. Default: None.
    """

    clip: float | None = None

    def __post_init__(self) -> None:
        real(self, "clip", least=1e-30, optional=True)

    def size(self, dim: int) -> int:
        return dim

    def init(self, dim: int) -> State:
        return State(np.zeros(dim), np.zeros(dim))

    def footprint(self, dim: int) -> int:
        return 8 * (2 * dim + 1)

    def write(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> State:
        after = State(state.mean.copy(), state.spread.copy(), state.learnt.copy())
        self.in_place(after, X, weight, Z, at)()
        return after

    def in_place(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> Step:
        """The call of compiled code that does what `write` does, but changes the given state."""
        clip = np.inf if self.clip is None else self.clip
        return partial(_standardize, state.mean, state.spread, state.learnt, clip, X, weight, Z, at)


@hot
def _standardize(
    mean: Vector, spread: Vector, learnt: Counts, clip: float, X: Matrix, weight: Vector, Z: Matrix, at: int
) -> None:  # fmt: skip
    rows = learnt[0]
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            centre, total = moments(X[t, j], mean[j], spread[j], rows)
            Z[t, at + j] = min(max(standardized(X[t, j], centre, total, rows + 1), -clip), clip)
            if weight[t] > 0.0:
                mean[j], spread[j] = centre, total
        if weight[t] > 0.0:
            rows += 1
    learnt[0] = rows


@hot_lean
def standardize_present(
    inputs: bool, known: Matrix, X: Matrix, there: NDArray[np.bool_], weight: Vector, Z: Matrix, after: Matrix
) -> None:
    """Write z of rows in which values may be missing, and the statistics of the columns after the last row.

    `known` (before the rows) and `after` have three rows: mean, spread and count of the values present in each column. `there` is
    the mask of values present. A missing value gives z = 0 and changes nothing. If `inputs` is false, values are not standardised,
    and a missing one is replaced by the mean so far. (The results are written to Z and `after`, not returned: an array that
    compiled code returns costs a microsecond.)
    """
    for k in range(known.shape[0]):
        for j in range(known.shape[1]):
            after[k, j] = known[k, j]
    mean, spread, seen = after[0], after[1], after[2]
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not there[t, j]:
                Z[t, j] = 0.0 if inputs else mean[j]
                continue
            centre, total = moments(X[t, j], mean[j], spread[j], seen[j])
            Z[t, j] = standardized(X[t, j], centre, total, seen[j] + 1.0) if inputs else X[t, j]
            if weight[t] > 0.0:
                mean[j], spread[j] = centre, total
                seen[j] += 1.0


@hot_inline
def moments(x: float, mean: float, spread: float, rows: float) -> tuple[float, float]:
    """The mean and the spread (the sum of squared deviations) after the value x, which follows `rows` earlier ones."""
    away = x - mean
    centre = mean + away / (rows + 1)
    return centre, spread + away * (x - centre)


@hot_inline
def standardized(x: float, mean: float, spread: float, rows: float) -> float:
    """x minus the mean, divided by the deviation, √(spread / rows); 0 if the spread is 0."""
    return (x - mean) / np.sqrt(spread / rows) if spread > 0.0 else 0.0
