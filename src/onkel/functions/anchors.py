"""The anchors of the sums in a tree, for kernels that decay.

The left sum of a child is stored with the values that its terms have at one key, the anchor:

    Σ a_i lower(p_i) e^(−rate (anchor − p_i))        to be multiplied by e^(−rate (q − anchor)) when it is read at a key q

over the points of the child, with their keys p_i and coefficients a_i; for right sums it is `upper`, and the signs of the exponents
are reversed. A node whose keys are close together has one anchor for all of its sums. In any other node each child has its own
anchors, the ends of its range: its last key for the left sum, which is read only at keys after it, and its first key for the right
sum. Then no exponent is positive, so nothing overflows, however large rate times range is.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot_inline, hot_strict
from onkel._types import Vector
from onkel.kernels.exponentials import exponential
from onkel.kernels.lists import EXPONENTIAL, GIVEN, KIND, SHAPE

CLOSE = 200.0  # largest rate · range of keys with one anchor: e^CLOSE leaves room for all coefficients that the limits of ρ allow


@hot_inline
def decay_rate(line: Vector) -> float:
    return line[SHAPE] if line[KIND] == EXPONENTIAL or line[KIND] == GIVEN else 0.0


@hot_strict
def decay(rate: float, distance: float) -> float:
    """e^(−rate · distance), or 1 for a negative distance."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0


@hot_inline
def carried(rate: float, distance: float) -> float:
    """e^(−rate · distance). The distance may be negative, but rate · distance must be at least −2 CLOSE."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0 / exponential(rate * distance)


@hot_strict
def shared_anchor(rate: float, first: float, last: float) -> tuple[bool, float]:
    """Whether all sums of a node whose keys are from `first` to `last` share one anchor; and this anchor.

    The anchor is the last point of a grid that is not after the first key, so it seldom moves. Keys so large that float64 cannot
    resolve the grid there have no shared anchor.
    """
    if rate == 0.0:
        return True, 0.0
    cell = 0.5 * CLOSE / rate
    anchor = cell * np.floor(first * (2.0 * rate / CLOSE))
    return anchor <= first and last - anchor <= 2.0 * cell, anchor


@hot_strict
def from_anchor(rate: float, u: float, anchor: float) -> tuple[float, float]:
    """The factors by which the left and the right sums are multiplied at the key u: e^(−rate (u − anchor)), and its inverse.

    A key before the anchor has no left sums, so their factor is 0. A key at a distance of more than CLOSE/rate is after all others
    and has no right sums; its left factor is that of the distance CLOSE/rate, and `beyond` returns the rest of it. The compiler may
    not reorder the arithmetic (`hot_strict`), so that every caller gets the same bits.
    """
    distance = rate * (u - anchor)
    before = distance < 0.0
    power = exponential(distance if before else -min(distance, CLOSE))
    return 0.0 if before else power, power if before else 1.0 / power


@hot_strict
def beyond(rate: float, u: float, anchor: float) -> float:
    """The part of the left factor (see `from_anchor`) for the distance beyond CLOSE/rate. It is kept apart from the factor for the
    distance CLOSE/rate, because the product of the two could underflow. Here, too, the arithmetic may not be reordered."""
    return decay(rate, u - anchor - CLOSE / rate) if rate > 0.0 else 1.0
