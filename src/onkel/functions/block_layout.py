"""The memory layout of the tree over the points of one input, for compiled code.

The points are sorted by their key, the value of the input, in blocks of at most BLOCK points. The blocks are the leaves of a tree.
A node has at most FAN children. For each child the node stores its first and last key, and the sums over its points
(`onkel.kernels.lists`): those for reading the curve to the right of these points, and those for reading it to the left. (If the
kernel decays, the sums are relative to an anchor: `anchors`.) After the last point of a block, and after the last child of a node,
there are zeros.

If f has a moment (`representations`), there are two layers of coefficients, sums and totals for the same keys, one for f and one
for the moment, so that both are read on one path down the tree. In a block the lines of the second layer come after those of the
first, and before the lists of a user's kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot_inline
from onkel._simd import lanes
from onkel._types import Counts, Matrix, Vector

BLOCK = 32  # most points of a block: a loop over them costs about as much as a step down the tree
FAN = 32  # most children of a node
FAN_BITS = FAN.bit_length() - 1
LEVELS = 8  # levels of a tree for which the path to a key is cached in a row: enough for 10⁹ points
# what is cached at the end of an input's part of a row, as distances from that end: the root's anchor, the factors of left and
# right sums (`from_anchor`), and the path; NO_WAY is an empty cache
ANCHOR, FALL, RISE, WAY = 3 + LEVELS, 2 + LEVELS, 1 + LEVELS, LEVELS
NO_WAY = np.array([np.nan, 1.0, 1.0] + LEVELS * [-1.0])

KEY, COEF, LISTS = range(3)  # lines of a block: keys, coefficients, and the lists of a user's kernel from here on
FIRST, LAST, SUMS = range(3)  # lines of a node: the first and last key of each child, and its sums from here on

count_up_to = lanes(FAN).count_up_to


class Inputs(NamedTuple):
    """The kernel, for compiled code."""

    table: Matrix  # one line per input, see `onkel.kernels.lists`
    sides: int  # length of the longest left list
    powers: int  # length of the longest global list


class Curves(NamedTuple):
    """The arrays of `SortedBlocks`, for compiled code."""

    blocks: NDArray[np.float64]
    nodes: NDArray[np.float64]
    children: Counts
    length: Counts
    roots: Counts
    totals: NDArray[np.float64]
    used: Counts
    scale: Vector
    added: Vector
    scratch: Matrix  # (4, BLOCK or more)  scratch memory for the weights of a block and the lists of a point


@hot_inline
def width(inputs: Inputs) -> int:
    """The length of an input's part of a row: its key, its lists, and the cached path to its block."""
    return 1 + 2 * inputs.sides + inputs.powers + ANCHOR


@hot_inline
def range_of(f: Curves, at: int) -> tuple[float, float]:
    """The first and the last key of a node."""
    return f.nodes[at, FIRST, 0], f.nodes[at, LAST, f.children[at, FAN] - 1]


@hot_inline
def way_to(node: Matrix, n: int, u: float) -> int:
    """The child for the key u: the last one whose first key is at most u."""
    return max(count_up_to(node[FIRST], n, u) - 1, 0)
