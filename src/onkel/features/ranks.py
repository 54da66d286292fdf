"""Ranks: each input replaced by its rank among the values so far, whatever its scale and tails are.

    z = √12 (F(x) − ½),     F linear between `knots` quantiles q of a sample of the rows so far,
    F(q) = (share of the sample below q) + ½ (share equal to q),     F = 0 below the smallest of the sample, 1 above the largest

So z is in [−√3, √3], and a uniformly distributed rank gives mean 0 and standard deviation 1. If an input has at most `knots`
different values, all of them are quantiles, so z is exactly its rank, with ties in the middle; a constant input gives 0. The
quantiles are computed again after rows 32, 128, 512 and 2048, and are then fixed, so that the features keep their meaning for the
learner. Before row 32, F is the normal distribution function of the standardised input.

The sample has at most 512 rows. Up to row 512 it has all rows; at row 2048 it has one random row of every four. (Exactly every
fourth row would be a bad sample of a periodic stream: with one row per hour, some hours of the day would never be in it.) Give
Ranks the raw inputs, not standardised ones: a running mean makes equal values different.

>>> x = np.random.default_rng(0).normal(size=(3000, 1))
>>> ranks = onkel.Transformer(Ranks()).fit(np.sinh(5.0 * x))
>>> ranks.transform(np.sinh([[-99.0], [-5.0], [0.0], [5.0], [99.0]])).ravel().round(1)
array([-1.7, -1.1,  0.1,  1.2,  1.7])
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onkel import random
from onkel._jit import hot, hot_lean
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, whole
from onkel.features import scale
from onkel.features.compose import Features
from onkel.one_row import Step
from onkel.state import Counted, counter, memory

SAMPLE = 512  # most rows in the sample
REFRESHES = (32, 128, 512, 2048)  # rows after which the quantiles are computed again
ROOT_12 = math.sqrt(12.0)
erf = np.vectorize(math.erf, otypes=[float])  # for the first 32 rows only


@memory
class State(Counted):
    start: scale.State  # mean and deviation of the rows before the first quantiles
    sample: Matrix  # (512, dim)  the rows of the sample, then zeros; all zeros when the quantiles are fixed
    quantiles: Matrix  # (dim, knots)  ascending; padded with the largest if there are fewer
    levels: Matrix  # (dim, knots)  F at the quantiles
    learnt: Counts = counter()  # rows learnt; not counted any further when the quantiles are fixed


@config
class Ranks(Features):
    """Each input replaced by its rank among the rows so far, for inputs of any scale and any distribution.

    knots  The number of quantiles kept for each input, the smallest and the largest value included. Default: 33.
    """

    knots: int = 33

    def __post_init__(self) -> None:
        whole(self, "knots", least=2, most=SAMPLE)

    def size(self, dim: int) -> int:
        return dim

    def init(self, dim: int) -> State:
        knots = (dim, self.knots)
        return State(scale.Standardize().init(dim), np.zeros((SAMPLE, dim)), np.zeros(knots), np.zeros(knots))

    def footprint(self, dim: int) -> int:
        return scale.Standardize().footprint(dim) + 8 * (dim * (SAMPLE + 2 * self.knots) + 1)

    def write(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> State:
        begin = 0
        for refresh in [rows for rows in REFRESHES if rows > state.rows]:
            learnt = begin + np.flatnonzero(weight[begin:] > 0.0)[: refresh - state.rows]
            if learnt.size == 0:
                continue
            end = int(learnt[-1]) + 1 if state.rows + learnt.size == refresh else len(X)
            now = slice(begin, end)
            start = self._transform(state, X[now], weight[now], Z[now], at)
            sample = _sampled(state.sample, _picked(refresh), state.rows, X[learnt])
            state = State(start, sample, state.quantiles, state.levels, np.array([state.rows + learnt.size]))
            begin = end
            if state.rows == refresh:
                self._refresh(state)
        self._transform(state, X[begin:], weight[begin:], Z[begin:], at)
        return state

    def has_steps(self, state: State) -> bool:
        """Whether `in_place` can be used: not in the first rows."""
        return state.rows >= REFRESHES[0]

    def next_refresh(self, state: State) -> int | None:
        """The number of rows after which the quantiles are computed again, if ever."""
        return next((rows for rows in REFRESHES if rows > state.rows), None)

    def in_place(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> list[Step]:
        """The calls of compiled code that do what `write` does for one row before the next refresh, but change the given state."""
        ranks: list[Step] = [partial(_ranks, state.quantiles, state.levels, X, Z, at)]
        if (refresh := self.next_refresh(state)) is not None:
            ranks.append(partial(_sample_row, state.sample, _picked(refresh), state.learnt, refresh, X, weight))
        return ranks

    def _transform(self, state: State, X: Matrix, weight: Vector, Z: Matrix, at: int) -> scale.State:
        """Write the ranks of rows by the present quantiles; returns `start` after these rows."""
        if state.rows >= REFRESHES[0]:
            _ranks(state.quantiles, state.levels, X, Z, at)
            return state.start
        start = scale.Standardize().write(state.start, X, weight, Z, at)
        now = Z[:, at : at + X.shape[1]]
        now[:] = ROOT_12 * 0.5 * erf(now / math.sqrt(2.0))  # the normal distribution function is (1 + erf(z/√2))/2
        return start

    def _refresh(self, state: State) -> None:
        """Compute new quantiles, and make room in the sample for the rows up to the next refresh."""
        state.quantiles, state.levels = np.empty_like(state.quantiles), np.empty_like(state.levels)
        for j, column in enumerate(np.sort(state.sample[: state.rows], axis=0).T):
            values = np.unique(column)
            if values.size > self.knots:
                values = np.unique(column[np.linspace(0.0, column.size - 1.0, self.knots).round().astype(int)])
            below, up_to = np.searchsorted(column, values, "left"), np.searchsorted(column, values, "right")
            padding = (0, self.knots - values.size)
            state.quantiles[j] = np.pad(values, padding, "edge")
            state.levels[j] = np.pad((below + up_to) / (2.0 * column.size), padding, "edge")
        later = [_picked(rows) for rows in REFRESHES if rows > state.rows]
        state.sample = _thinned(state.sample, later[0][later[0] < state.rows] if later else np.empty(0, np.int64))


def _picked(rows: int) -> Counts:
    """The indices of the rows in the sample of the first `rows` rows: all of them, or one of each group of rows // SAMPLE."""
    group, draws = max(1, rows // SAMPLE), np.empty((1, min(rows, SAMPLE)))
    random.fill_uniform(0, 0, draws)
    numbers: Counts = group * np.arange(draws.size) + (group * draws[0]).astype(np.int64)
    return numbers


def _sampled(sample: Matrix, picked: Counts, rows: int, X: Matrix) -> Matrix:
    """The sample with those rows of X that were picked; X follows the first `rows` rows."""
    first, end = np.searchsorted(picked, [rows, rows + len(X)])
    after = sample.copy()
    after[first:end] = X[picked[first:end] - rows]
    return after


def _thinned(sample: Matrix, kept: Counts) -> Matrix:
    """The rows `kept` of a sample, and zeros after them."""
    after = np.zeros_like(sample)
    after[: len(kept)] = sample[kept]
    return after


@hot_lean
def _sample_row(sample: Matrix, picked: Counts, learnt: Counts, refresh: int, X: Matrix, weight: Vector) -> None:
    """Count a row, and store it if it was picked."""
    if weight[0] == 0.0:
        return
    at = learnt[0] // (refresh // picked.size)  # the group of this row, see `_picked`
    if picked[at] == learnt[0]:
        for j in range(X.shape[1]):
            sample[at, j] = X[0, j]
    learnt[0] += 1


@hot
def _ranks(quantiles: Matrix, levels: Matrix, X: Matrix, Z: Matrix, at: int) -> None:
    dim, knots = quantiles.shape
    for t in range(X.shape[0]):
        for j in range(dim):
            q, x = quantiles[j], X[t, j]
            k, span = 0, knots
            while span > 1:  # binary search; q[k] ≤ x < q[k + span], if x is in the range
                half = span // 2
                k += half if q[k + half] <= x else 0
                span -= half
            if x < q[0]:
                level = 0.0
            elif x > q[knots - 1]:
                level = 1.0
            elif k == knots - 1:
                level = levels[j, k]
            else:
                level = levels[j, k] + (levels[j, k + 1] - levels[j, k]) * ((x - q[k]) / (q[k + 1] - q[k]))
            Z[t, at + j] = ROOT_12 * (level - 0.5)
