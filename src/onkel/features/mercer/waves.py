"""Waves: the first functions of a system of sines and cosines, ψ_j(u) = size_j · cos or sin(turn · multiple_j · u).

The multiples are whole numbers. A product of two waves is half the sum of two others, so O(N) sums over the rows, their *moments*,
determine all N² inner products:

    2 cos a cos b = cos(a − b) + cos(a + b),    2 sin a sin b = cos(a − b) − cos(a + b),    2 sin a cos b = sin(a + b) + sin(a − b)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel.features.fourier import cos_sin

TOGETHER, LANES = 64, 8  # rows whose angles are rotated together; numbers in a vector register


class Waves(NamedTuple):
    """The first N functions of a system."""

    turn: float  # the angle of the multiple 1 at u = 1, such as 2π
    multiple: Counts  # (N,)
    is_sine: NDArray[np.bool_]  # (N,)
    size: Vector  # (N,)  the factor of each wave

    @property
    def moments(self) -> int:
        """The number of columns of `sums`: the multiples 0, 1, … up to the largest sum of two."""
        return 1 + 2 * int(self.multiple.max())

    def functions(self, u: Vector) -> Matrix:
        out = np.empty((len(u), len(self.multiple)))
        distinct, which = np.unique(self.multiple, return_inverse=True)
        _fill(u, self.turn * distinct.astype(np.float64), which, self.is_sine, self.size, out)
        return out

    def add(self, u: Vector, weight: Vector, Y: Matrix, sums: Matrix, targets: Matrix, first: int) -> None:
        """Add Σ weight · (cos, sin)(turn · m · u) to sums[:, m], and Σ weight · y_o · ψ_j(u) to targets[o, j] for j ≥ first."""
        heights = np.zeros((Y.shape[1], 2, 1 + int(self.multiple.max())))
        _add(self.turn, u, weight, Y, sums, heights)
        later = slice(first, None)
        targets[:, later] += self.size[later] * heights[:, self.is_sine[later].astype(int), self.multiple[later]]

    def products(self, sums: Matrix, j: int) -> Vector:
        """Σ ψ_i ψ_j for i = 0 … j, computed from the sums."""
        out = np.empty(j + 1)
        _multiply(self.multiple, self.is_sine, self.size, sums, j, out)
        return out


@hot
def _fill(u: Vector, frequency: Vector, which: Counts, is_sine: NDArray[np.bool_], size: Vector, out: Matrix) -> None:
    phase, cosines, sines = np.empty(frequency.size), np.empty(frequency.size), np.empty(frequency.size)
    for i in range(u.size):
        for j in range(frequency.size):
            phase[j] = u[i] * frequency[j]
        cos_sin(phase, 1.0, cosines, sines)
        for j in range(which.size):
            out[i, j] = size[j] * (sines[which[j]] if is_sine[j] else cosines[which[j]])


@hot
def _multiply(multiple: Counts, is_sine: NDArray[np.bool_], size: Vector, sums: Matrix, j: int, out: Vector) -> None:
    cosines, sines = sums
    for i in range(j + 1):
        apart, together = multiple[i] - multiple[j], multiple[i] + multiple[j]
        if is_sine[i] == is_sine[j]:
            both = cosines[abs(apart)] + (-cosines[together] if is_sine[i] else cosines[together])
        else:
            lead = apart if is_sine[i] else -apart  # the multiple of the sine minus that of the cosine
            both = sines[together] + (sines[lead] if lead > 0 else -sines[-lead])
        out[i] = 0.5 * size[i] * size[j] * both


@hot
def _add(turn: float, u: Vector, weight: Vector, Y: Matrix, sums: Matrix, heights: NDArray[np.float64]) -> None:
    """The compiled part of `Waves.add`. The sine and cosine of each multiple follow from those of the multiple before by a
    rotation, which takes four multiplications."""
    first_cos, first_sin, cos, sin = np.empty(TOGETHER), np.empty(TOGETHER), np.empty(TOGETHER), np.empty(TOGETHER)
    w, wy = np.empty(TOGETHER), np.empty((Y.shape[1], TOGETHER))
    for start in range(0, u.size, TOGETHER):
        lanes = min(TOGETHER, (u.size - start + LANES - 1) & -LANES)
        for k in range(lanes):
            there = start + k < u.size
            w[k] = weight[start + k] if there else 0.0
            angle = turn * u[start + k] if there else 0.0
            first_cos[k], first_sin[k], cos[k], sin[k] = math.cos(angle), math.sin(angle), 1.0, 0.0
            for o in range(Y.shape[1]):
                wy[o, k] = w[k] * Y[start + k, o] if there else 0.0
        for m in range(sums.shape[1]):
            total, other = 0.0, 0.0
            for k in range(lanes):
                total += w[k] * cos[k]
                other += w[k] * sin[k]
            sums[0, m] += total
            sums[1, m] += other
            if m < heights.shape[2]:
                for o in range(Y.shape[1]):
                    total, other = 0.0, 0.0
                    for k in range(lanes):
                        total += wy[o, k] * cos[k]
                        other += wy[o, k] * sin[k]
                    heights[o, 0, m] += total
                    heights[o, 1, m] += other
            for k in range(lanes):
                turned = cos[k] * first_cos[k] - sin[k] * first_sin[k]
                sin[k] = sin[k] * first_cos[k] + cos[k] * first_sin[k]
                cos[k] = turned
