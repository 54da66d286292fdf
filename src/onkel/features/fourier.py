"""Fourier: random features of the Gaussian or the Laplacian kernel.

    z(x) = (cos ω_jᵀx, sin ω_jᵀx)_{j ≤ count} / √count,     E z(x)ᵀz(x') = k(x, x')
    Gaussian:   ω_j ~ N(0, I) / width_j           Laplacian:   the coordinates of ω_j are Cauchy draws / width_j
    width_j = width · spread^(2u − 1),   u uniform on [0, 1):  log-uniform on [width/spread, width · spread]

If `spread` is 1, every width_j is the width. If it is larger, the map has narrow and wide features, and k is the mean of the
kernels of all those widths. Cauchy draws are clipped to their quantiles CAUCHY_CUT and 1 − CAUCHY_CUT, which are ±3183, so that the
phases ω_jᵀx do not become huge; this changes k(x, x') by at most 4 · CAUCHY_CUT for each input.

Rahimi & Recht (2007), Random features for large-scale kernel machines. The frequencies are draws of the counter-based generator
(`onkel.random`), so the first ones do not depend on `count`.

>>> X = np.array([[0.0, 0.0], [1.0, -0.5]])
>>> z = onkel.Transformer(Fourier(count=10_000, kernel=onkel.Laplacian(width=2.0))).fit_transform(X)
>>> float((z[0] @ z[1]).round(2)), float(np.exp(-1.5 / 2.0).round(2))
(0.47, 0.47)
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onkel import random
from onkel._jit import hot, hot_strict
from onkel._types import Matrix, Vector
from onkel._validate import check_width, config, real, whole, width_or_root
from onkel.errors import InputError
from onkel.features.compose import Fixed
from onkel.kernels import Gaussian, Laplacian
from onkel.one_row import Step
from onkel.state import fixed, memory

CAUCHY_CUT = 1e-4


@memory
class State:
    frequencies: Matrix = fixed()  # (dim, count)


@config
class Fourier(Fixed):
    """Random Fourier features: waves whose scalar products approximate a Gaussian or Laplacian kernel.

    count   The number of frequencies; there are twice as many features. More approximate the kernel better, and take more
            time. Default: 100.
    width   The width of the kernel; None: that of `kernel`, or √dim, which suits standardised inputs. Default: None.
    seed    The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    kernel  Gaussian() or Laplacian(), whose frequencies are drawn; None: Gaussian(). Default: None.
    spread  At least 1: widths are drawn from width/spread to width · spread. 2 or 3 helps if the right width is unknown.
            Default: 1.0.
    """

    count: int = 100
    width: float | None = None
    seed: int = 0
    kernel: Gaussian | Laplacian | None = None
    spread: float = 1.0

    def __post_init__(self) -> None:
        whole(self, "count", least=1)
        check_width(self)
        whole(self, "seed", least=0)
        if not isinstance(self.kernel, Gaussian | Laplacian | None):
            raise InputError(f"Fourier: kernel must be Gaussian(), Laplacian() or None, got {self.kernel!r:.200}")
        if self.width is not None and self.kernel is not None and self.kernel.width is not None:
            raise InputError(f"Fourier: got width={self.width:g} and {self.kernel!r}, which has a width too; give only one of them")
        real(self, "spread", least=1.0, most=1e30)

    def size(self, dim: int) -> int:
        return 2 * self.count

    def init(self, dim: int) -> State:
        draws = np.empty((self.count, dim))
        if isinstance(self.kernel, Laplacian):
            random.fill_uniform(self.seed, 0, draws)
            draws = np.tan(np.pi * (np.clip(draws, CAUCHY_CUT, 1.0 - CAUCHY_CUT) - 0.5))
        else:
            random.fill_normal(self.seed, 0, draws)
        width = width_or_root(self.kernel.width if self.kernel and self.width is None else self.width, dim)
        return State(np.ascontiguousarray(draws.T) / (width * self._spreads()))

    def _spreads(self) -> Vector | float:
        """width_j / width for each frequency."""
        if self.spread == 1.0:
            return 1.0
        lot = np.empty((1, self.count))
        random.fill_uniform(self.seed, 1, lot)
        return np.asarray(self.spread ** (2.0 * lot[0] - 1.0))

    def footprint(self, dim: int) -> int:
        return 8 * self.count * dim

    def step(self, state: State, X: Matrix, Z: Matrix, at: int) -> Step:
        return partial(_fourier, state.frequencies, X, Z, at)


@hot
def _fourier(frequencies: Matrix, X: Matrix, Z: Matrix, at: int) -> None:
    dim, count = frequencies.shape
    phase = np.empty(count)
    for t in range(X.shape[0]):
        for j in range(count):
            phase[j] = 0.0
        for i in range(dim):
            omega, x = frequencies[i], X[t, i]
            for j in range(count):
                phase[j] += x * omega[j]
        cos_sin(phase, 1.0 / math.sqrt(count), Z[t, at : at + count], Z[t, at + count : at + 2 * count])


# π/2 as a sum of three numbers of at most 33 bits, so that k times each of the first two is exact for |k| < 2²⁰.
_HALF_PI_1, _HALF_PI_2, _HALF_PI_3 = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21
_LARGEST_PHASE = 1.5e6


@hot_strict
def cos_sin(phase: Vector, scale: float, cosines: Vector, sines: Vector) -> None:
    """cosines, sines ← scale · cos(phase), scale · sin(phase), in one vectorised loop, to within 2 units in the last place.

    1. Range reduction: phase = k π/2 + y with a whole number k and |y| ≤ π/4.
    2. sin y and cos y are computed by the usual polynomials for that interval.
    3. The remainder of k divided by 4 says whether they are swapped, and which signs they get.
    """
    largest = 0.0
    for j in range(phase.size):
        largest = max(largest, abs(phase[j]))
    if largest > _LARGEST_PHASE:
        for j in range(phase.size):
            cosines[j], sines[j] = scale * math.cos(phase[j]), scale * math.sin(phase[j])
        return
    for j in range(phase.size):
        k = np.floor(phase[j] * 0.6366197723675814 + 0.5)
        rest, middle = phase[j] - k * _HALF_PI_1, k * _HALF_PI_2  # both exact
        y = rest - middle
        y += ((rest - y) - middle) - k * _HALF_PI_3  # corrects the rounding error of y, and adds the last digits of k π/2
        w = y * y
        sine = 1.58969099521155010221e-10 * w - 2.50507602534068634195e-08
        sine = ((sine * w + 2.75573137070700676789e-06) * w - 1.98412698298579493134e-04) * w + 8.33333333332248946124e-03
        sine = y + y * w * (sine * w - 1.66666666666666324348e-01)
        cosine = -1.13596475577881948265e-11 * w + 2.08757232129817482790e-09
        cosine = ((cosine * w - 2.75573143513906633035e-07) * w + 2.48015872894767294178e-05) * w - 1.38888888888741095749e-03
        cosine = 1.0 - 0.5 * w + w * w * (cosine * w + 4.16666666666666019037e-02)
        quadrant = k - 4.0 * np.floor(0.25 * k)
        odd = quadrant - 2.0 * np.floor(0.5 * quadrant) > 0.5
        cosine, sine = (sine, cosine) if odd else (cosine, sine)
        cosines[j] = -scale * cosine if 0.5 < quadrant < 2.5 else scale * cosine
        sines[j] = -scale * sine if quadrant > 1.5 else scale * sine
