"""How the tree over the points of one coordinate lies in memory, and the anchors of its sums, in compiled code.

The points lie sorted in blocks of at most BLOCK, and over the blocks stands a tree: a node knows, of each of its at most FAN
children, the first and the last key below it and the sums that a kernel of `onkel.kernels.lists` needs of points left and right of
a key. After the last point of a block, and the last child of a node, are zeros.

Where the kernel decays, sums are anchored: the left one is Σ a_i lower(p_i) e^(−rate (anchor − p_i)), and costs who asks for it one
more exponential, e^(−rate (q − anchor)). A node whose keys are close together has one anchor for all of its sums. In any other one
each child has its own, at the key next to those who will ask, the last key for the left sum and the first for the right one: no
exponent is positive there, so nothing overflows, whatever rate times range is.

Where f has a moment (`representations`) there are two layers of coefficients, sums and totals, for the same keys: one way down the
tree serves both. The lines of the second stand after those of the first, and before the lists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot_inline, hot_strict
from onkel._lanes import lanes
from onkel._types import Counts, Matrix, Vector
from onkel.kernels.exponentials import exponential
from onkel.kernels.lists import EXPONENTIAL, GIVEN, KIND, SHAPE

BLOCK = 32  # the most points of a block: one pass over them costs about as much as a step down the tree
FAN = 32  # the most children of a node
FAN_BITS = FAN.bit_length() - 1
LEVELS = 8  # of a tree, for which the way to a key is written down: enough for 10⁹ points
ANCHOR, FALL, RISE, WAY = 3 + LEVELS, 2 + LEVELS, 1 + LEVELS, LEVELS  # where that stands in a row, from its end
NO_WAY = np.array([np.nan, 1.0, 1.0] + LEVELS * [-1.0])

KEY, COEF, LISTS = range(3)  # lines of a block: keys, coefficients, and the lists of a user's kernel from here on
FIRST, LAST, SUMS = range(3)  # lines of a node: the first and last key of each child, and its sums from here on
CLOSE = 200.0  # rate times the range of keys with one anchor: e^CLOSE leaves room for coefficients within the scale's limits

count_up_to = lanes(FAN).count_up_to


class Inputs(NamedTuple):
    """The kernel, as compiled code sees it."""

    table: Matrix  # a line for each input
    sides: int  # the longest left list
    powers: int  # the longest global list


class Curves(NamedTuple):
    """What compiled code sees of `SortedBlocks`."""

    blocks: NDArray[np.float64]
    nodes: NDArray[np.float64]
    children: Counts
    length: Counts
    roots: Counts
    totals: NDArray[np.float64]
    used: Counts
    scale: Vector
    added: Vector
    scratch: Matrix  # (4, BLOCK or more)  for a block's weights, and for the lists of a point


@hot_inline
def width(inputs: Inputs) -> int:
    """The numbers that a row has for an input: its key, its lists, and the way to its block."""
    return 1 + 2 * inputs.sides + inputs.powers + ANCHOR


@hot_inline
def range_of(f: Curves, at: int) -> tuple[float, float]:
    """The first and the last key of a node."""
    return f.nodes[at, FIRST, 0], f.nodes[at, LAST, f.children[at, FAN] - 1]


@hot_inline
def way_to(node: Matrix, n: int, u: float) -> int:
    """The child for the key u: the last one that does not begin after it."""
    return max(count_up_to(node[FIRST], n, u) - 1, 0)


@hot_inline
def decay_rate(line: Vector) -> float:
    return line[SHAPE] if line[KIND] == EXPONENTIAL or line[KIND] == GIVEN else 0.0


@hot_strict
def decay(rate: float, distance: float) -> float:
    """e^(−rate · distance), where there is a distance."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0


@hot_inline
def carried(rate: float, distance: float) -> float:
    """e^(−rate · distance), where a distance may be negative, though not by more than twice CLOSE."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0 / exponential(rate * distance)


@hot_strict
def shared_anchor(rate: float, first: float, last: float) -> tuple[bool, float]:
    """Whether all sums of a node with these keys have one anchor, and where it is: on a grid, not after the first key, so that it
    seldom moves. Beyond the digits of a number there is no such grid."""
    if rate == 0.0:
        return True, 0.0
    cell = 0.5 * CLOSE / rate
    anchor = cell * np.floor(first * (2.0 * rate / CLOSE))
    return anchor <= first and last - anchor <= 2.0 * cell, anchor


@hot_strict
def from_anchor(rate: float, u: float, anchor: float) -> tuple[float, float]:
    """e^(−rate (u − anchor)), by which a left sum has fallen on the way from its anchor, and the inverse for a right one. A key
    before the anchor has no left sums. One after all keys has no right ones, and the left ones have fallen as if it were the last
    of them. Strict: the same bits whoever asks."""
    distance = rate * (u - anchor)
    before = distance < 0.0
    power = exponential(distance if before else -min(distance, CLOSE))
    return 0.0 if before else power, power if before else 1.0 / power


@hot_strict
def beyond(rate: float, u: float, anchor: float) -> float:
    """By how much more the left sums fall after the last key that their anchor may have: there are no right ones there. Not a part
    of e^(−rate (u − anchor)), which by itself can be too small for a number. Strict: the same bits whoever asks."""
    return decay(rate, u - anchor - CLOSE / rate) if rate > 0.0 else 1.0
