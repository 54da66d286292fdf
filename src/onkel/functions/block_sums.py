"""Recomputing the sums in a tree, in compiled code: when a child is split, an anchor moves, or a sum has lost its digits.

The sums that a node stores for a child are computed from the child's own content, so adding a point costs O(log m), also in the
worst case. No sum is computed as the difference of two others, which would lose digits.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._simd import lanes
from onkel._types import Matrix, Vector
from onkel.functions.anchors import carried, decay_rate, shared_anchor
from onkel.functions.block_layout import BLOCK, COEF, FAN, FIRST, KEY, LAST, SUMS, Curves, Inputs, range_of, way_to
from onkel.kernels.exponentials import exponentials
from onkel.kernels.lists import GIVEN, KIND, SHAPE, SIDES, split

make_way = lanes(FAN).make_way


@hot_lean
def raise_root(inputs: Inputs, f: Curves, c: int) -> None:
    """Add a new root, whose only child is the old one."""
    old, new = f.roots[c, 0], f.used[1]
    f.used[1] += 1
    f.children[new, 0], f.children[new, FAN] = old, 1
    f.roots[c, 0] = new
    f.roots[c, 1] += 1
    summarise(inputs, f, c, new, 0, f.roots[c, 1], range_of(f, old))


@hot_lean
def split_child(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int) -> None:
    """Move the second half of a full child to a new child next to it."""
    node, children = f.nodes[at], f.children[at]
    old, new = children[way], f.used[0] if level == 1 else f.used[1]
    if level == 1:
        f.used[0] += 1
        half = BLOCK // 2
        _move(f.blocks[old], half, f.blocks[new])
        f.length[old], f.length[new] = half, BLOCK - half
    else:
        f.used[1] += 1
        half, low, high = FAN // 2, *range_of(f, old)
        before = shared_anchor(decay_rate(inputs.table[c]), low, high)
        _move(f.nodes[old], half, f.nodes[new])
        for i in range(half, FAN):
            f.children[new, i - half], f.children[old, i] = f.children[old, i], 0
        f.children[old, FAN], f.children[new, FAN] = half, FAN - half
        move_anchor(inputs, f, c, old, level - 1, before, range_of(f, old))
        move_anchor(inputs, f, c, new, level - 1, before, range_of(f, new))
    n = children[FAN]
    for i in range(n, way, -1):
        children[i] = children[i - 1]
    for row in range(node.shape[0]):
        make_way(node[row], way + 1, node[row, way])  # a copy, so that the node's range of keys stays correct until `summarise`
    children[way + 1], children[FAN] = new, n + 1
    summarise(inputs, f, c, at, way, level, range_of(f, at))
    summarise(inputs, f, c, at, way + 1, level, range_of(f, at))


@hot
def recompute_sums(inputs: Inputs, f: Curves, c: int, u: float) -> None:
    """Recompute all sums that contain the block of the key u, from the bottom up."""
    height = f.roots[c, 1]
    path, ways = np.empty(height, np.int64), np.empty(height, np.int64)
    at = f.roots[c, 0]
    for depth in range(height):
        path[depth], ways[depth] = at, way_to(f.nodes[at], f.children[at, FAN], u)
        at = f.children[at, ways[depth]]
    for depth in range(height - 1, -1, -1):
        summarise(inputs, f, c, path[depth], ways[depth], height - depth, range_of(f, path[depth]))


@hot_lean
def move_anchor(
    inputs: Inputs, f: Curves, c: int, at: int, level: int, before: tuple[bool, float], keys: tuple[float, float]
) -> None:
    """Recompute all sums of a node if its anchor was `before` and is another one for this range of keys."""
    close, anchor = shared_anchor(decay_rate(inputs.table[c]), *keys)
    if close != before[0] or (close and anchor != before[1]):
        for i in range(f.children[at, FAN]):
            summarise(inputs, f, c, at, i, level, keys)


@hot
def summarise(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int, keys: tuple[float, float]) -> None:
    """Compute what a node with this range of keys stores for one child: first and last key, and sums."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    sides, rate = int(line[SIDES]), decay_rate(line)
    node, child = f.nodes[at], f.children[at, way]
    close, anchor = shared_anchor(rate, *keys)
    for row in range(SUMS, node.shape[0]):
        node[row, way] = 0.0
    # 1. A child that is a node has sums already. Add them, moved from its anchor (or each grandchild's own) to this node's anchor.
    if level > 1:
        below, n = f.nodes[child], f.children[child, FAN]
        first, last = below[FIRST, 0], below[LAST, n - 1]
        (to_left, to_right), (is_close, own) = (anchor, anchor) if close else (last, first), shared_anchor(rate, first, last)
        for i in range(n):
            left = carried(rate, to_left - (own if is_close else below[LAST, i]))
            right = carried(rate, (own if is_close else below[FIRST, i]) - to_right)
            for layer in range(layers):
                sums = SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += below[sums + j, i] * left
                    node[sums + d + j, way] += below[sums + d + j, i] * right
    # 2. A child that is a block has points. Add each of them, multiplied by the decay from the anchor.
    else:
        block, n = f.blocks[child], f.length[child]
        first, last = block[KEY, 0], block[KEY, n - 1]
        to_left, to_right = (anchor, anchor) if close else (last, first)
        lower, upper, left, right = f.scratch[0], f.scratch[1], f.scratch[2], f.scratch[3]
        for i in range(n):
            left[i] = right[i] = 1.0
        if rate > 0.0:
            for i in range(n):
                left[i], right[i] = to_left - block[KEY, i], block[KEY, i] - to_right
            exponentials(right, n, -rate)
            if close:  # both have the same anchor, so one factor is the inverse of the other; a division is cheaper than an exp
                for i in range(n):
                    left[i] = 1.0 / right[i]
            else:
                exponentials(left, n, -rate)
        for i in range(n):
            lists_of(line, d, block, COEF + layers, i, lower, upper)
            for layer in range(layers):
                a, sums = block[COEF + layer, i], SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += a * lower[j] * left[i]
                    node[sums + d + j, way] += a * upper[j] * right[i]
    node[FIRST, way], node[LAST, way] = first, last


@hot_lean
def _move(old: Matrix, half: int, new: Matrix) -> None:
    """Move the columns from `half` on to the start of another array, and put zeros in their place."""
    for row in range(old.shape[0]):
        for i in range(half, old.shape[1]):
            new[row, i - half], old[row, i] = old[row, i], 0.0


@hot_inline
def lists_of(line: Vector, d: int, block: Matrix, lists: int, i: int, lower: Vector, upper: Vector) -> None:
    """The left and right list of a block's point."""
    if line[KIND] == GIVEN:
        for j in range(d):
            lower[j], upper[j] = block[lists + j, i], block[lists + d + j, i]
    else:
        split(int(line[KIND]), line[SHAPE], block[KEY, i], lower, upper)


@hot
def fold(f: Curves) -> None:
    """Multiply all coefficients, sums and totals by the scale, and set it to 1."""
    scale = f.scale[0]
    for at in range(f.used[0]):
        for row in range(COEF, COEF + f.totals.shape[1]):
            for i in range(BLOCK):
                f.blocks[at, row, i] *= scale
    for at in range(f.used[1]):
        for row in range(SUMS, f.nodes.shape[1]):
            for i in range(FAN):
                f.nodes[at, row, i] *= scale
    for c in range(f.totals.shape[0]):
        for layer in range(f.totals.shape[1]):
            for r in range(f.totals.shape[2]):
                f.totals[c, layer, r] *= scale
    for layer in range(f.added.size):
        f.added[layer] *= abs(scale)
    f.scale[0] = 1.0
