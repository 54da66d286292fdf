"""Conformal bands from their definition, row by row, one output at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]


def half_widths(levels: Array, residuals: Array, weight: Array) -> Array:
    """(rows, levels): the half-width of each row, from the residuals of the rows before it."""
    theta = np.log(norm.ppf((1 + levels) / 2) / norm.expect(abs))
    known: list[float] = []  # residuals
    tamed: list[float] = []  # those that have a part in the scale, outliers cut
    s0, out = 0.0, []
    for residual, w in zip(np.abs(residuals), weight, strict=True):
        n, s = len(known), scale(tamed)
        band = np.sqrt(s * s0) * np.exp(np.maximum.accumulate(theta))
        out.append(np.where((n >= 2) & (n * (1 - levels) >= levels - 1e-9), band, np.inf))
        if w == 0:
            continue
        if s0 > 0:
            theta = theta + max(0.07, 2 / (n + 1)) * ((residual > band) - (1 - levels))
        if n > 0:
            tamed.append(min(residual, max(5 * s, known[-1])))
        known.append(residual)
        s = scale(tamed)
        if s > 0 and (n < 50 or s0 == 0):
            s0 = s
        if s > 0:
            theta = np.clip(theta, np.log(s / 1000) - np.log(s * s0) / 2, np.log(s * 1000) - np.log(s * s0) / 2)
    return np.array(out)


def scale(values: list[float]) -> float:
    """The geometric mean of two running means, one that remembers ten values and one that remembers a hundred."""
    means = []
    for memory in (10, 100):
        mean = 0.0
        for n, value in enumerate(values[-60 * memory :], start=max(0, len(values) - 60 * memory)):
            mean += (value - mean) / min(n + 1, memory)
        means.append(mean)
    return float(np.sqrt(means[0] * means[1]))
