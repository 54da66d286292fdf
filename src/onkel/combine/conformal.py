"""Adaptive conformal bands: how far a label may lie from its score, from the residuals so far, for several levels at once.

With r = |y − score|, two running means s₁ and s₂ of r (memories of 10 and 100 rows), s = √(s₁s₂), and a number θ a level, the
half-width of a row is

    q = √(s·s₀) exp θ        known before the row's label, which is covered where r ≤ q
    θ ← θ + η(1[r > q] − (1 − level))

So the share of rows 1 … T that were missed differs from 1 − level by exactly (θ_T − θ_0)/(ηT), whatever the stream: of 2,000 rows,
by one point where q/√s has changed by a factor of four. Steps are taken in log q, so that y → ay + c gives half-widths a·q.

The scale s is followed at once only by its root; the rest is left to the feedback. To follow all of it would make bands wide where
the learner errs for a while, after a change, and to follow none of it would take a level near 1 hundreds of rows to come down.
s₀ is s itself during the first FOLLOWED rows, and stays. A residual counts in s₁ and s₂ for no more than LARGE times s, unless the
one before it was as large: one outlier is no change of scale, and two in a row may be. The first row's does not count, for before
it a learner knows nothing.

A band is infinite until level/(1 − level) residuals are known (19 for 0.95), as for any conformal band: with fewer there is none of
that level. It is 0 as long as every residual but the first was 0. Bands of higher levels contain those of lower ones: q is the
largest of its own and all lower levels.

Gibbs & Candès (2021), Adaptive conformal inference under distribution shift, NeurIPS. Angelopoulos, Candès & Tibshirani (2023),
Conformal PID control for time series prediction, NeurIPS: θ is their quantile tracker, here of log r with a scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.state import Counted, counter

MEMORIES = 10, 100  # rows, of the means of residuals
STEP = 0.07  # η
FIRST_STEP = 2.0  # η is FIRST_STEP/rows as long as that is larger
FOLLOWED = 50  # rows during which the scale is followed at once
LARGE = 5.0  # scales
FURTHEST = math.log(1000.0)  # of log q from log s: where residuals are often exactly 0, θ would go for ever
_ROUNDING = 1e-9  # of 1 − level: nine rows are enough for 0.9


@dataclass
class Bands(Counted):
    """What is known of the residuals of each output."""

    levels: Vector  # (levels,)  rising
    theta: Matrix  # (outputs, levels)
    means: Matrix  # (outputs, 2)  s₁, s₂
    unit: Vector  # (outputs,)  √s₀
    before: Vector  # (outputs,)  the residual before
    covered: Counts  # (outputs, levels)  rows whose label lay within its band
    width: Matrix  # (outputs, levels)  sum of the widths of all bands that were finite
    learnt: Counts = counter()  # residuals so far


def init(levels: tuple[float, ...], outputs: int) -> Bands:
    """Bands before the first residual; as the residuals' distribution begins to show, that of a Gaussian is assumed."""
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
    """The bytes of `init`."""
    return 8 * (levels + outputs * (3 * levels + len(MEMORIES) + 2) + 1)


def learn(bands: Bands, residuals: Matrix, weight: Vector) -> Matrix:
    """The half-widths (rows, outputs, levels) of each row before its residual was known. Rows of weight 0 leave no trace."""
    half = np.empty((*residuals.shape, len(bands.levels)))
    arrays = bands.theta, bands.means, bands.unit, bands.before, bands.covered, bands.width
    track(bands.levels, *arrays, bands.learnt, residuals, weight, half)
    return half


def half_widths(bands: Bands) -> Matrix:
    """Those of the next row (outputs, levels)."""
    half = np.empty(bands.theta.shape)
    for theta, means, unit, row in zip(bands.theta, bands.means, bands.unit, half, strict=True):
        reach(theta, _root(means) * unit, row)
        _hide(bands.levels, bands.rows, row)
    return half


def widen(bands: Bands, outputs: int) -> None:
    """More outputs, exactly as if each residual of theirs had been 0."""
    more = init(tuple(bands.levels), outputs - len(bands.unit))
    more.covered[...] = bands.rows
    for name in ("theta", "means", "unit", "before", "covered", "width"):
        setattr(bands, name, np.concatenate([getattr(bands, name), getattr(more, name)]))


def check(bands: Bands, levels: tuple[float, ...]) -> None:
    """Refuse bands that `init` and `learn` cannot have made."""
    if tuple(bands.levels) != levels:
        raise InputError("its levels are others than its learner's")
    if any(np.any(array < 0.0) for array in (bands.means, bands.unit, bands.before, bands.width, bands.covered)):
        raise InputError("its residuals are none")
    if np.any(bands.covered > bands.rows) or np.any(np.diff(bands.covered) < 0):
        raise InputError("its bands have covered other rows than it has seen")


def coverage(bands: Bands) -> Matrix:
    """The share of rows within their bands (outputs, levels); 0 before the first row."""
    return np.asarray(bands.covered / max(1, bands.rows))


def mean_width(bands: Bands) -> Matrix:
    """Of the bands that were finite (outputs, levels); 0 before the first of them."""
    finite = [max(1, bands.rows - _needed(level)) for level in bands.levels]
    return np.asarray(bands.width / np.array(finite))


@hot
def track(
    levels: Vector, theta: Matrix, means: Matrix, unit: Vector, before: Vector, covered: Counts, width: Matrix,
    learnt: Counts, residuals: Matrix, weight: Vector, half: Matrix,
) -> None:  # fmt: skip
    """Write each row's half-widths, then learn its residuals (any sign), and count it."""
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


@hot_inline
def reach(theta: Vector, scale: float, half: Vector) -> None:
    """The half-widths, each at least that of the level below it."""
    largest = -math.inf
    for i in range(theta.size):
        largest = max(largest, theta[i])
        half[i] = scale * math.exp(largest)


@hot_inline
def _hide(levels: Vector, rows: int, half: Vector) -> None:
    """Infinite bands for the levels that need more rows."""
    for i in range(levels.size - 1, -1, -1):
        if rows >= _needed(levels[i]):
            return
        half[i] = math.inf


@hot_inline
def _needed(level: float) -> int:
    """Rows until a band of this level is finite; the first has no part in the scale."""
    return max(2, math.ceil((level - _ROUNDING) / (1.0 - level)))


@hot_inline
def _root(means: Vector) -> float:
    """√s, in roots of each mean: their product could leave the range of a float64."""
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
    """θ after a miss or none; also while the band is too young to be shown."""
    step = max(STEP, FIRST_STEP / (rows + 1))
    for i in range(levels.size):
        missed = 1.0 if r > half[i] else 0.0
        theta[i] += step * (missed - (1.0 - levels[i]))


@hot_inline
def _average(means: Vector, r: float, rows: int) -> None:
    """Plain means until their memory is full."""
    for i in range(means.size):
        means[i] += (r - means[i]) / min(MEMORIES[i], rows)


@hot_inline
def _keep_near(theta: Vector, centre: float) -> None:
    for i in range(theta.size):
        theta[i] = min(max(theta[i], centre - FURTHEST), centre + FURTHEST)
