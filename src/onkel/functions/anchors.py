"""The anchors of the sums in a tree, for kernels that decay.

The left sum of a child is Σ a_i lower(p_i) e^(−rate (anchor − p_i)); reading it at q costs one more exponential, e^(−rate (q −
anchor)). A node whose keys are close together has one anchor for all of its sums. In any other node each child has its own anchors:
the last key for the left sum and the first key for the right sum, which are next to the keys that read them. No exponent is
positive there, so nothing overflows, whatever rate times range is.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot_inline, hot_strict
from onkel._types import Vector
from onkel.kernels.exponentials import exponential
from onkel.kernels.lists import EXPONENTIAL, GIVEN, KIND, SHAPE

CLOSE = 200.0  # rate times the range of keys with one anchor: e^CLOSE leaves room for coefficients within the scale's limits


@hot_inline
def decay_rate(line: Vector) -> float:
    return line[SHAPE] if line[KIND] == EXPONENTIAL or line[KIND] == GIVEN else 0.0


@hot_strict
def decay(rate: float, distance: float) -> float:
    """e^(−rate · distance), or 1 for a negative distance."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0


@hot_inline
def carried(rate: float, distance: float) -> float:
    """e^(−rate · distance). The distance may be negative, but rate · distance not below −2 CLOSE."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0 / exponential(rate * distance)


@hot_strict
def shared_anchor(rate: float, first: float, last: float) -> tuple[bool, float]:
    """Whether all sums of a node with these keys share one anchor, and the anchor: the last grid point not after the first key, so
    that it seldom moves. Keys too large for the grid's resolution have no shared anchor."""
    if rate == 0.0:
        return True, 0.0
    cell = 0.5 * CLOSE / rate
    anchor = cell * np.floor(first * (2.0 * rate / CLOSE))
    return anchor <= first and last - anchor <= 2.0 * cell, anchor


@hot_strict
def from_anchor(rate: float, u: float, anchor: float) -> tuple[float, float]:
    """The factors of the left sums, e^(−rate (u − anchor)), and of the right sums, its inverse. A key before the anchor has no left
    sums. A key after all others has no right sums, and its left factor stops falling at distance CLOSE/rate; `beyond` is the rest.
    Strict: the same bits for every caller."""
    distance = rate * (u - anchor)
    before = distance < 0.0
    power = exponential(distance if before else -min(distance, CLOSE))
    return 0.0 if before else power, power if before else 1.0 / power


@hot_strict
def beyond(rate: float, u: float, anchor: float) -> float:
    """The factor of the left sums beyond distance CLOSE/rate from their anchor. It is kept apart from e^(−rate (u − anchor)), which
    could underflow. Strict: the same bits for every caller."""
    return decay(rate, u - anchor - CLOSE / rate) if rate > 0.0 else 1.0
