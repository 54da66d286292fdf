"""The residuals of a regression, label − prediction, in bounded memory: their means, extremes and intervals along the stream, and a
random sample of rows.

>>> found = Residuals((0.9,))
>>> y = np.zeros(100_000)
>>> y[70_000] = 50.0                                       # one row among many
>>> found.add(np.zeros(100_000), y)
>>> float(found.summary().largest.max())
50.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.measure.sums import MOST, Pieces, added, halves, with_room
from onkel.random import uniform

SAMPLED = 1500  # rows
SEED = 0
KEY, ROW, PREDICTED, ACTUAL = range(4)  # columns of a row that is kept


@dataclass(frozen=True, repr=False)
class ResidualSummary:
    """Residuals in bins along the stream, and single rows: those with the extreme residuals of each bin, and a random sample."""

    ends: Counts  # (bins,)  the last row of each bin, counted from 1
    means: Vector  # (bins,)
    least: Vector  # (bins,)  the smallest residual in each bin
    largest: Vector  # (bins,)
    levels: tuple[float, ...]  # of the intervals
    window_ends: Counts  # (windows,)  the last row of each window, which is several bins long
    within: Matrix  # (windows, levels)  the share of labels within their interval; NaN where no interval was finite
    widths: Matrix  # (windows, levels)  the mean width of the finite intervals
    predicted: Vector  # (rows kept,)  the predictions of single rows
    actual: Vector  # (rows kept,)  their labels
    at: Counts  # (rows kept,)  their places in the stream, counted from 1
    extremes: int  # the first so many of these rows have the extreme residuals of their bins, the others are a random sample

    def __repr__(self) -> str:
        return f"<ResidualSummary: {len(self.ends):,} bins, {len(self.at):,} rows>"


class Residuals:
    def __init__(self, levels: Sequence[float] = ()) -> None:
        """`levels` are those of the intervals; () if there are none."""
        self.levels = tuple(levels)
        self.pieces = Pieces()
        # (pieces, 2 + 3 · levels)  rows, residuals, and for each level rows with a finite interval, labels within it, its width
        self.sums = np.zeros((MOST, 2 + 3 * len(self.levels)))
        self.extremes = _no_extremes()  # (pieces, 2, 4)  the rows with the smallest and the largest residual
        self.sample = np.empty((0, 4))  # the rows with the smallest keys

    def add(self, predicted: Vector, actual: Vector, half: Matrix | None = None) -> None:
        """Add rows, with half the widths of their intervals, (rows, levels)."""
        if not len(actual):
            return
        residuals = actual - predicted
        kept = np.column_stack([_keys(self.pieces.rows, len(actual)), np.arange(len(actual)) + self.pieces.rows + 1])
        kept = np.column_stack([kept, predicted, actual])
        columns = [np.ones(len(actual)), residuals]
        if half is not None:
            there = np.isfinite(half)
            inside = there & (np.abs(residuals)[:, None] <= half)
            columns += [there.astype(float), inside.astype(float), np.where(there, 2.0 * half, 0.0)]
        values = np.zeros((len(actual), self.sums.shape[1]))
        filled = np.column_stack(columns)
        values[:, : filled.shape[1]] = filled
        self._sample(kept)
        for piece, part in self.pieces.cuts(len(actual), self._halve):
            self.sums[piece] = added(self.sums[piece], values[part])
            both = np.concatenate([self.extremes[piece], kept[part]])
            self.extremes[piece] = _extreme(both)

    def _sample(self, kept: Matrix) -> None:
        if len(self.sample) == SAMPLED:
            kept = kept[kept[:, KEY] < self.sample[-1, KEY]]
        both = np.concatenate([self.sample, kept])
        self.sample = both[np.argsort(both[:, KEY], kind="stable")[:SAMPLED]]

    def _halve(self) -> None:
        self.sums = with_room(halves(self.sums).sum(axis=1))
        pairs = self.extremes.reshape(MOST // 2, 4, 4)
        self.extremes = np.concatenate([np.stack([_extreme(pair) for pair in pairs]), _no_extremes()[: MOST // 2]])

    def summary(self) -> ResidualSummary:
        used, levels = self.pieces.used, len(self.levels)
        sums, extremes = self.sums[:used], self.extremes[:used]
        windows = self.pieces.windows(self.sums).sum(axis=1)
        apart = extremes[:, :, ACTUAL] - extremes[:, :, PREDICTED]
        finite, inside, widths = (windows[:, 2 + k * levels : 2 + (k + 1) * levels] for k in range(3))
        first = np.unique(extremes.reshape(-1, 4), axis=0)
        others = self.sample[~np.isin(self.sample[:, ROW], first[:, ROW])]
        rows = np.concatenate([first, others])
        with np.errstate(invalid="ignore", divide="ignore"):
            within, widths = inside / finite, widths / finite
        return ResidualSummary(
            ends=np.minimum(self.pieces.length * np.arange(1, used + 1), self.pieces.rows),
            means=sums[:, 1] / np.maximum(sums[:, 0], 1.0),
            least=apart[:, 0],
            largest=apart[:, 1],
            levels=self.levels,
            window_ends=self.pieces.ends(),
            within=within,
            widths=widths,
            predicted=rows[:, PREDICTED],
            actual=rows[:, ACTUAL],
            at=rows[:, ROW].astype(np.int64),
            extremes=len(first),
        )


def _no_extremes() -> Matrix:
    return np.full((MOST, 2, 4), np.nan)


def _extreme(rows: Matrix) -> Matrix:
    """The rows with the smallest and the largest residual; NaN if there is no row yet."""
    residuals = rows[:, ACTUAL] - rows[:, PREDICTED]
    if np.isnan(residuals).all():
        return rows[:2]
    return rows[[int(np.nanargmin(residuals)), int(np.nanargmax(residuals))]]


def _keys(first: int, rows: int) -> Vector:
    keys = np.empty(rows)
    _draw(SEED, first, keys)
    return keys


@hot
def _draw(seed: int, first: int, keys: Vector) -> None:
    for t in range(keys.size):
        keys[t] = uniform(seed, first + t, 0)
