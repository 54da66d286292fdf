"""Validation of a tree from a file: could `block_tree.insert` have made it?

Each sum in the tree is computed again from what is below it, and may differ by the rounding error of the stored sum. This error is
proportional to the sum of the absolute values of all coefficients ever added, Σ |a| = `added`, not to the present value of the sum:
if coefficients cancel, only rounding errors may be left.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts
from onkel.functions.anchors import carried, decay_rate, shared_anchor
from onkel.functions.block_layout import BLOCK, COEF, FAN, FIRST, KEY, LAST, SUMS, Curves, Inputs, range_of
from onkel.functions.block_sums import summarise
from onkel.kernels.lists import GIVEN, KIND, POWERS

SUM_TOLERANCE = 1e-6  # relative to Σ |a|: the rounding errors of 10⁹ additions, each at most half a unit in the 16th digit
NOTHING = 1e-290  # smaller sums and coefficients are denormal and have lost their digits


@hot
def is_sound(inputs: Inputs, f: Curves, c: int, met_blocks: Counts, met_nodes: Counts, largest: float) -> bool:
    """Whether the tree of input c has sorted keys, only blocks and nodes not visited before, and correct sums.

    The search is depth-first from left to right; the sums of a node are checked after its children. `largest` is the largest number
    in the lists of a user's kernel, or 1: the tolerance for a sum is multiplied by it.
    """
    height = f.roots[c, 1]
    if not 1 <= height <= met_nodes.size or not _is_new(met_nodes, f.roots[c, 0]):
        return False
    path, turn = np.zeros(height, np.int64), np.zeros(height, np.int64)
    path[0] = f.roots[c, 0]
    depth, key, layers, powers = 0, -np.inf, f.totals.shape[1], f.totals.shape[2]
    totals, weight = np.zeros((layers, powers)), np.zeros(layers)
    # Without recursion, since a tree from a file may have any shape. `path` holds the nodes from the root to the current one,
    # `turn` the number of children of each that have been visited. Each step is one of three.
    while depth >= 0:
        at, way = path[depth], turn[depth]
        n = f.children[at, FAN]
        if not 0 <= n <= FAN or (n == 0 and height > 1):
            return False
        turn[depth] += 1
        if way == n:  # 1. all children are sound: compare the node's sums with them, and go up
            if np.any(f.nodes[at, :, n:] != 0.0) or np.any(f.children[at, n:FAN] != 0):
                return False
            for i in range(n):
                if not _is_summary(inputs, f, c, at, i, height - depth, largest):
                    return False
            depth -= 1
        elif depth + 1 < height:  # 2. go down into the next child; one visited before would make a cycle
            if not _is_new(met_nodes, f.children[at, way]):
                return False
            depth += 1
            path[depth], turn[depth] = f.children[at, way], 0
        else:  # 3. a block: its keys must continue those of the last block; add them to the totals
            block = f.children[at, way]
            if not _is_new(met_blocks, block) or not 1 <= f.length[block] <= BLOCK:
                return False
            if np.any(f.blocks[block, :, f.length[block] :] != 0.0):
                return False
            for i in range(f.length[block]):
                if not f.blocks[block, KEY, i] > key:
                    return False
                key = f.blocks[block, KEY, i]
                for layer in range(layers):
                    power = f.blocks[block, COEF + layer, i]
                    weight[layer] += abs(power)
                    for r in range(powers):
                        totals[layer, r] += power
                        power *= key
    for layer in range(layers):
        if not weight[layer] <= (1.0 + SUM_TOLERANCE) * f.added[layer] + NOTHING:
            return False
        for r in range(powers):
            asked, own, total = r < inputs.table[c, POWERS], inputs.table[c, KIND] != GIVEN, f.totals[c, layer, r]
            if asked and own and not abs(total - totals[layer, r]) <= SUM_TOLERANCE * f.added[layer] + NOTHING:
                return False
            if not asked and total != 0.0:
                return False
    return True


@hot
def _is_new(met: Counts, index: int) -> bool:
    """Whether the index is valid and has not been visited before; marks it."""
    if not 0 <= index < met.size or met[index] > 0:
        return False
    met[index] = 1
    return True


@hot
def _is_summary(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int, largest: float) -> bool:
    """Whether the keys and sums that a node stores for a child agree with the child, up to rounding."""
    known, (low, high), rate = f.nodes[at].copy(), range_of(f, at), decay_rate(inputs.table[c])
    close, anchor = shared_anchor(rate, low, high)
    summarise(inputs, f, c, at, way, level, (low, high))
    sound = True
    for row in range(known.shape[0]):
        tolerance = 0.0
        if row >= SUMS:
            layer, j = divmod(row - SUMS, 2 * inputs.sides)
            tolerance = largest * (SUM_TOLERANCE * f.added[layer] + NOTHING)
            if close:
                tolerance *= carried(rate, anchor - known[LAST, way] if j < inputs.sides else known[FIRST, way] - anchor)
        sound &= abs(known[row, way] - f.nodes[at, row, way]) <= tolerance
        f.nodes[at, row, way] = known[row, way]
    return sound
