"""Adaptive conformal bands: prediction intervals of several levels from the residuals so far.

Let r = |y − score|, let s₁ and s₂ be running means of r with memories of 10 and 100 rows, and s = √(s₁s₂). Each level has a number
θ. The half-width of a row's band is

    q = √(s·s₀) exp θ        known before the row's label, which is covered if r ≤ q
    θ ← θ + η(1[r > q] − (1 − level))        η is STEP, and larger in the first rows

1.  While η is constant, the share of T rows that were missed differs from 1 − level by exactly (θ_T − θ_0)/(ηT), on every stream.
    (Rows in which θ is limited are an exception, see FURTHEST.) Over 2,000 rows this is one percentage point if q/√s has changed by
    a factor of four.
2.  Steps are taken in log q, so if y is replaced by ay + c, the half-widths are multiplied by a.

If the residuals change their scale, only the factor √s follows at once, and the feedback through θ does the rest. If q were
proportional to s, bands would be too wide while the learner errs after a change. If q did not depend on s, bands of a level near 1
would need hundreds of rows to become narrower. s₀ is s during the first FOLLOWED rows, and is then fixed. A residual counts in s₁
and s₂ as at most LARGE times s, unless the one before it was as large: one outlier is not a change of scale, but two in a row may
be. The first residual is not used, since the learner knew nothing before it.

A band is infinite until level/(1 − level) residuals are known (19 for 0.95): with fewer, no conformal band of that level exists. It
has width 0 as long as every residual but the first was 0. Bands are nested: each band uses the largest q of its own and all lower
levels.

Gibbs & Candès (2021), Adaptive conformal inference under distribution shift, NeurIPS. Angelopoulos, Candès & Tibshirani (2023),
Conformal PID control for time series prediction, NeurIPS: θ is their quantile tracker, here of log r with a scale.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from onkel._jit import hot_inline, hot_lean
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.errors import InputError
from onkel.one_row import Row, Step
from onkel.state import Counted, counter, memory

MEMORIES = 10, 100  # memories of s₁ and s₂, in rows
STEP = 0.07  # η
FIRST_STEP = 2.0  # η is FIRST_STEP/rows if that is larger than STEP
FOLLOWED = 50  # rows during which s₀ follows s
LARGE = 5.0  # a residual counts as at most this many times s
FURTHEST = math.log(1000.0)  # largest |log q − log s|; without it θ would fall for ever if residuals are often exactly 0
_ROUNDING = 1e-9  # tolerance for the rounding of 1 − level, so that nine rows are enough for the level 0.9


@memory
class Bands(Counted):
    """The bands of each output."""

    levels: Vector  # (levels,)  increasing
    theta: Matrix  # (outputs, levels)
    means: Matrix  # (outputs, 2)  s₁, s₂
    unit: Vector  # (outputs,)  √s₀
    before: Vector  # (outputs,)  the last residual
    covered: Counts  # (outputs, levels)  number of rows whose label was inside its band
    width: Matrix  # (outputs, levels)  sum of the widths of all finite bands
    learnt: Counts = counter()  # number of residuals so far


def init(levels: tuple[float, ...], outputs: int) -> Bands:
    """Bands before the first residual. θ starts at the quantiles of a Gaussian."""
    assumed = [math.log(NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt(math.pi / 2.0)) for level in levels]
    size = outputs, len(levels)
    return Bands(
        np.array(levels),
        np.tile(assumed, (outputs, 1)),
        np.zeros((outputs, len(MEMORIES))),
        np.zeros(outputs),
        np.zeros(outputs),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
    )


def footprint(levels: int, outputs: int) -> int:
    """The bytes of the bands that `init` makes."""
    return 8 * (levels + outputs * (3 * levels + len(MEMORIES) + 2) + 1)


def learn(bands: Bands, residuals: Matrix, weight: Vector) -> Matrix:
    """The half-widths of each row before its residual was known, (rows, outputs, levels). Rows of weight 0 change nothing."""
    _, half = _room(bands, len(residuals))
    track(residuals, weight, half, *_arrays(bands))
    return half


def follow(bands: Bands, Y: Matrix, scores: Matrix, weight: Vector, done: int, upto: int) -> None:
    """Learn the residuals of the rows from `done` up to `upto`, without returning half-widths."""
    _follow(Y[done:upto], scores[done:upto], weight[done:upto], *_room(bands, upto - done), *_arrays(bands))


def row_step(bands: Bands, row: Row) -> Step:
    """The call that learns the residual of the row in these buffers."""
    return partial(_follow, row.Y, row.scores, row.weight, *_room(bands, 1), *_arrays(bands))


def _arrays(bands: Bands) -> tuple[Any, ...]:
    return bands.levels, bands.theta, bands.means, bands.unit, bands.before, bands.covered, bands.width, bands.learnt


def _room(bands: Bands, rows: int) -> tuple[Matrix, Cube]:
    """Arrays for the residuals and the half-widths of `rows` rows."""
    return np.empty((rows, len(bands.unit))), np.empty((rows, *bands.theta.shape))


def half_widths(bands: Bands) -> Matrix:
    """The half-widths of the next row, (outputs, levels)."""
    half = np.empty(bands.theta.shape)
    for theta, means, unit, row in zip(bands.theta, bands.means, bands.unit, half, strict=True):
        reach(theta, _root(means) * unit, row)
        _hide(bands.levels, bands.rows, row)
    return half


def widen(bands: Bands, outputs: int) -> None:
    """Add outputs, exactly as if all their residuals had been 0."""
    more = init(tuple(bands.levels), outputs - len(bands.unit))
    more.covered[...] = bands.rows
    for name in ("theta", "means", "unit", "before", "covered", "width"):
        setattr(bands, name, np.concatenate([getattr(bands, name), getattr(more, name)]))


def check(bands: Bands, levels: tuple[float, ...]) -> None:
    """Refuse bands that `init` and `learn` cannot lead to."""
    if tuple(bands.levels) != levels:
        raise InputError("its levels differ from its learner's")
    if any(np.any(array < 0.0) for array in (bands.means, bands.unit, bands.before, bands.width, bands.covered)):
        raise InputError("its sums of residuals are negative")
    if np.any(bands.covered > bands.rows) or np.any(np.diff(bands.covered) < 0):
        raise InputError("its counts of covered rows are impossible")


def coverage(bands: Bands) -> Matrix:
    """The share of labels inside their bands, (outputs, levels); 0 before the first row."""
    return np.asarray(bands.covered / max(1, bands.rows))


def mean_width(bands: Bands) -> Matrix:
    """The mean width of the finite bands, (outputs, levels); 0 before the first of them."""
    finite = [max(1, bands.rows - _needed(level)) for level in bands.levels]
    return np.asarray(bands.width / np.array(finite))


@hot_lean
def track(
    residuals: Matrix, weight: Vector, half: Cube,
    levels: Vector, theta: Matrix, means: Matrix, unit: Vector, before: Vector, covered: Counts, width: Matrix, learnt: Counts,
) -> None:  # fmt: skip
    """Write each row's half-widths, then learn its residuals, which may have any sign."""
    rows = learnt[0]
    for t in range(residuals.shape[0]):
        for k in range(residuals.shape[1]):
            root, r = _root(means[k]), abs(residuals[t, k])
            reach(theta[k], root * unit[k], half[t, k])
            if weight[t] > 0.0 and unit[k] > 0.0:
                _correct(levels, theta[k], half[t, k], r, rows)
            _hide(levels, rows, half[t, k])
            if weight[t] == 0.0:
                continue
            _count(half[t, k], r, covered[k], width[k])
            if rows > 0:
                _average(means[k], min(r, max(LARGE * root * root, before[k])), rows)
            root = _root(means[k])
            if root > 0.0 and (rows < FOLLOWED or unit[k] == 0.0):
                unit[k] = root
            if root > 0.0:
                _keep_near(theta[k], math.log(root / unit[k]))
            before[k] = r
        if weight[t] > 0.0:
            rows += 1
    learnt[0] = rows


@hot_lean
def _follow(
    Y: Matrix, scores: Matrix, weight: Vector, residuals: Matrix, half: Cube,
    levels: Vector, theta: Matrix, means: Matrix, unit: Vector, before: Vector, covered: Counts, width: Matrix, learnt: Counts,
) -> None:  # fmt: skip
    for t in range(Y.shape[0]):
        for k in range(Y.shape[1]):
            residuals[t, k] = Y[t, k] - scores[t, k]
    track(residuals, weight, half, levels, theta, means, unit, before, covered, width, learnt)


@hot_inline
def reach(theta: Vector, scale: float, half: Vector) -> None:
    """The half-widths, each at least that of the level below it."""
    largest = -math.inf
    for i in range(theta.size):
        largest = max(largest, theta[i])
        half[i] = scale * math.exp(largest)


@hot_inline
def _hide(levels: Vector, rows: int, half: Vector) -> None:
    """Make a band infinite as long as its level needs more rows."""
    for i in range(levels.size - 1, -1, -1):
        if rows >= _needed(levels[i]):
            return
        half[i] = math.inf


@hot_inline
def _needed(level: float) -> int:
    """The number of rows until a band of this level is finite; at least 2, since the first residual is not used."""
    return max(2, math.ceil((level - _ROUNDING) / (1.0 - level)))


@hot_inline
def _root(means: Vector) -> float:
    """√s. The roots of the means are multiplied, because the product of the means could leave the range of float64."""
    return math.sqrt(math.sqrt(means[0]) * math.sqrt(means[1]))


@hot_inline
def _count(half: Vector, r: float, covered: Counts, width: Vector) -> None:
    for i in range(half.size):
        if r <= half[i]:
            covered[i] += 1
        if half[i] < math.inf:
            width[i] += 2.0 * half[i]


@hot_inline
def _correct(levels: Vector, theta: Vector, half: Vector, r: float, rows: int) -> None:
    """Update θ after a row, by whether each band missed its label; also as long as a band is still infinite."""
    step = max(STEP, FIRST_STEP / (rows + 1))
    for i in range(levels.size):
        missed = 1.0 if r > half[i] else 0.0
        theta[i] += step * (missed - (1.0 - levels[i]))


@hot_inline
def _average(means: Vector, r: float, rows: int) -> None:
    """Update the running means, which are plain means until their memory is full."""
    for i in range(means.size):
        means[i] += (r - means[i]) / min(MEMORIES[i], rows)


@hot_inline
def _keep_near(theta: Vector, centre: float) -> None:
    for i in range(theta.size):
        theta[i] = min(max(theta[i], centre - FURTHEST), centre + FURTHEST)
