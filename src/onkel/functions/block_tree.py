"""The tree over the points of one input, in compiled code: reading a curve, and adding a point to it.

Reading goes down from the root, adds the sums of the children to the left and right of the path, and then the points of one block
one by one. Adding a point goes down again and splits each full child on the path.

Several rows are passed at a time. The paths of all of them are looked up before the first one is learnt, and the blocks of points
at the ends of the paths are prefetched. A path is cached in its row, node by node. When the row's turn comes, each step is used if
it is still valid, and looked up again if the tree has changed there; so the cache affects only the speed, never a result.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_inline, hot_lean
from onkel._simd import lanes
from onkel._types import Counts, Matrix, Vector
from onkel.functions.anchors import beyond, decay, decay_rate, from_anchor, shared_anchor
from onkel.functions.block_layout import (
    ANCHOR,
    BLOCK,
    COEF,
    FALL,
    FAN,
    FAN_BITS,
    FIRST,
    KEY,
    LAST,
    LEVELS,
    NO_WAY,
    RISE,
    SUMS,
    WAY,
    Curves,
    Inputs,
    range_of,
    way_to,
    width,
)
from onkel.functions.block_sums import lists_of, move_anchor, raise_root, recompute_sums, split_child
from onkel.kernels.exponentials import NEAR, exponentials
from onkel.kernels.lists import GIVEN, KIND, POWERS, SHAPE, SIDES, halves_sum

CANCELLED = 1e-3  # if an old and a new coefficient add up to less than this share of the new one, sums have lost digits

beside = lanes(FAN).beside
count_below, make_way, fetch = lanes(BLOCK).count_below, lanes(BLOCK).make_way, lanes(BLOCK).fetch


@hot
def find_ways(inputs: Inputs, f: Curves, rows: Matrix) -> None:
    """Write into each row, for each input, the path down the tree as it is now: for each level the number node · FAN + child.

    Each level is done for all rows before the next one, so that the memory accesses of different rows overlap. At the end the
    blocks are prefetched.
    """
    size = width(inputs)
    for c in range(inputs.table.shape[0]):
        root, end, rate = f.roots[c, 0], (c + 1) * size, decay_rate(inputs.table[c])
        if f.children[root, FAN] == 0:
            continue
        close, anchor = shared_anchor(rate, *range_of(f, root))
        # Learners may share rows, so another learner may already have written this anchor, and the factors for it, into all of
        # them. `curve` verifies the anchor in any case.
        unknown = close and rate > 0.0 and rows.shape[0] > 0 and rows[0, end - ANCHOR] != anchor
        for i in range(rows.shape[0] if unknown else 0):
            rows[i, end - ANCHOR] = anchor
            rows[i, end - FALL], rows[i, end - RISE] = from_anchor(rate, rows[i, c * size], anchor)
        for level in range(min(f.roots[c, 1], LEVELS)):
            place = end - WAY + level
            for i in range(rows.shape[0]):
                at = root if level == 0 else _child(f, rows[i, place - 1])
                rows[i, place] = at * FAN + way_to(f.nodes[at], f.children[at, FAN], rows[i, c * size])
                if level + 1 == f.roots[c, 1]:
                    below = _child(f, rows[i, place])
                    fetch(f.blocks[below, KEY])
                    fetch(f.blocks[below, COEF])


@hot_inline
def _child(f: Curves, turn: float) -> int:
    """The index of the node or block to which a cached step of a path leads."""
    place = int(turn)
    return int(f.children[place >> FAN_BITS, place & (FAN - 1)])


@hot_inline
def _turn(f: Curves, at: int, u: float, turn: float) -> int:
    """`way_to` from this node; the cached step `turn` if it is still valid."""
    node, n = f.nodes[at], f.children[at, FAN]
    way = int(turn) & (FAN - 1)
    begins = (node[FIRST, way] <= u) | (way == 0)
    ends = (way + 1 >= n) | (node[FIRST, min(way + 1, FAN - 1)] > u)
    return way if (turn == at * FAN + way) & (way < n) & begins & ends else way_to(node, n, u)


@hot_inline
def curve(inputs: Inputs, f: Curves, c: int, x: Vector, work: Vector) -> tuple[float, float]:
    """f_c at the key x[0], and the moment of f_c there (see `representations`); 0 if f keeps none."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate, value, later = x[0], int(line[SIDES]), decay_rate(line), 0.0, 0.0
    if line[POWERS] > 0.0:
        value = _of_totals(f.totals[c, 0], x, 1 + 2 * d, int(line[POWERS]))
        later = _of_totals(f.totals[c, 1], x, 1 + 2 * d, int(line[POWERS])) if layers > 1 else 0.0
    if sides == 0 or f.children[f.roots[c, 0], FAN] == 0:
        return value, later
    at, anchor, fall, rise = f.roots[c, 0], x[x.size - ANCHOR], x[x.size - FALL], x[x.size - RISE]
    far, parent, way = beyond(rate, u, anchor), at, 0
    for level in range(f.roots[c, 1]):
        node, n = f.nodes[at], f.children[at, FAN]
        way = _turn(f, at, u, x[x.size - WAY + level] if level < LEVELS else -1.0)
        close, shared = shared_anchor(rate, node[FIRST, 0], node[LAST, n - 1])
        if close and rate > 0.0 and shared != anchor:
            anchor = shared
            fall, rise = from_anchor(rate, u, anchor)
            far = beyond(rate, u, anchor)
        for layer in range(layers):
            total, sums = 0.0, SUMS + 2 * d * layer
            for j in range(sides):
                before, after = x[1 + d + j], x[1 + j]
                if close:
                    total += far * beside(node[sums + j], node[sums + d + j], way, fall * before, rise * after)
                else:
                    total += _beside_own_anchors(node, sums + j, sums + d + j, n, way, rate, u, before, after, work)
            value, later = value + (0.0 if layer else total), later + (total if layer else 0.0)
        parent, at = at, f.children[at, way]
    near = rate * max(abs(u - f.nodes[parent, FIRST, way]), abs(u - f.nodes[parent, LAST, way])) <= NEAR
    for layer in range(layers):
        total = _inside(line, d, f, at, layer, near, x, work)
        value, later = value + (0.0 if layer else total), later + (total if layer else 0.0)
    return value, later


@hot_lean
def _of_totals(totals: Vector, x: Vector, start: int, powers: int) -> float:
    """The part of a curve that comes from the totals. (This function and the next few are not inlined: they are rarely needed, and
    would make the code that every row runs longer.)"""
    total = 0.0
    for r in range(powers):
        total += totals[r] * x[start + r]
    return total


@hot_lean
def _beside_own_anchors(
    node: Matrix, left: int, right: int, n: int, way: int, rate: float, u: float, before: float, after: float, work: Vector
) -> float:  # fmt: skip
    """`beside` for a node in which each child has its own anchors."""
    for i in range(n):
        work[i] = max(u - node[LAST, i], 0.0) if i < way else max(node[FIRST, i] - u, 0.0)
    exponentials(work, n, -rate)
    total = 0.0
    for i in range(way):
        total += node[left, i] * work[i] * before
    for i in range(way + 1, n):
        total += node[right, i] * work[i] * after
    return total


@hot_inline
def _inside(line: Vector, d: int, f: Curves, at: int, layer: int, near: bool, x: Vector, work: Vector) -> float:
    """The sum over the points of one block."""
    block = f.blocks[at]
    if line[KIND] == GIVEN:
        return _inside_given(line, d, block, f.length[at], layer, f.totals.shape[1], x, work)
    return halves_sum(int(line[KIND]), line[SHAPE], block[KEY], block[COEF + layer], x[0], near)


@hot_lean
def _inside_given(line: Vector, d: int, block: Matrix, n: int, layer: int, layers: int, x: Vector, work: Vector) -> float:
    """The sum over the points of one block, for a user's kernel."""
    u, total, lists = x[0], 0.0, COEF + layers
    for i in range(n):
        work[i] = abs(u - block[KEY, i])
    exponentials(work, n, -line[SHAPE])
    for i in range(n):
        value = 0.0
        for j in range(int(line[SIDES])):
            value += block[lists + j, i] * x[1 + d + j] if block[KEY, i] <= u else block[lists + d + j, i] * x[1 + j]
        work[i] *= value
    for i in range(n):
        total += block[COEF + layer, i] * work[i]
    return total


@hot_inline
def insert(inputs: Inputs, f: Curves, c: int, x: Vector, a: float, late: float) -> None:
    """f_c ← f_c + a k_c(x[0], ·). If f has a moment, the same is done for it with `late` instead of a."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate = x[0], int(line[SIDES]), decay_rate(line)
    # 1. The totals, over all points on both sides of a key, are stored outside the tree.
    for layer in range(layers if line[POWERS] > 0.0 else 0):
        _add_to_totals(f.totals[c, layer], x, 1 + 2 * d, int(line[POWERS]), late if layer else a)
    if sides == 0:  # a kernel of finite rank needs only the totals
        return
    # 2. Full nodes are split on the way down, never on the way up: each node that is entered has room for one more child, so one
    #    pass is enough and no path has to be stored. A full root gets a new root above it.
    if f.children[f.roots[c, 0], FAN] == FAN:
        raise_root(inputs, f, c)
    at, anchor, fall, rise = f.roots[c, 0], x[x.size - ANCHOR], x[x.size - FALL], x[x.size - RISE]
    height = f.roots[c, 1]
    for level in range(height, 0, -1):
        node, children = f.nodes[at], f.children[at]
        if children[FAN] == 0:  # only the root of an empty tree, at level 1: create its first block
            children[0], children[FAN] = f.used[0], 1
            f.used[0] += 1
            node[FIRST, 0] = node[LAST, 0] = u
        way = _turn(f, at, u, x[x.size - WAY + height - level] if height - level < LEVELS else -1.0)
        if _is_full(f, children[way], level):
            split_child(inputs, f, c, at, way, level)
            way += 1 if u >= node[FIRST, way + 1] else 0
        # 3. The key may widen the node's range of keys, and this may move the anchor of its sums. Then the sums are recomputed for
        #    the new anchor before anything is added, because the terms of a sum must all have the same anchor.
        low, high = node[FIRST, 0], node[LAST, children[FAN] - 1]
        close, shared = shared_anchor(rate, min(low, u), max(high, u))
        if not (low <= u <= high):
            move_anchor(inputs, f, c, at, level, shared_anchor(rate, low, high), (min(low, u), max(high, u)))
        first, last = node[FIRST, way], node[LAST, way]
        if u < first:
            node[FIRST, way] = u
        if u > last:
            node[LAST, way] = u
        # 4. Add the point to the sums of the child that it will be below. Levels with the same anchor share two exponentials; those
        #    for the root's anchor are cached in x.
        if close:
            if rate > 0.0 and shared != anchor:
                anchor = shared
                fall, rise = from_anchor(rate, u, anchor)
            for layer in range(layers):
                b, sums = late if layer else a, SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += b * x[1 + j] * rise
                    node[sums + d + j, way] += b * x[1 + d + j] * fall
        else:
            for layer in range(layers):
                _add_at_own_anchors(node, way, SUMS + 2 * d * layer, d, sides, rate, x, late if layer else a, (first, last))
        at = children[way]
    # 5. Insert the key into the sorted block; for a key that is already there, only the coefficient changes.
    block, n = f.blocks[at], f.length[at]
    place = count_below(block[KEY], n, u)
    if place == n or block[KEY, place] != u:
        make_way(block[KEY], place, u)
        for layer in range(layers):
            make_way(block[COEF + layer], place, 0.0)
        for row in range(COEF + layers, block.shape[0]):
            make_way(block[row], place, x[1 + row - COEF - layers])
        f.length[at] = n + 1
    # 6. If the new coefficient cancels the old one, the sums that contain both have lost digits, so these sums are recomputed from
    #    the block.
    cancelled = False
    for layer in range(layers):
        b = late if layer else a
        block[COEF + layer, place] += b
        cancelled |= abs(block[COEF + layer, place]) < CANCELLED * abs(b)
    if cancelled:
        recompute_sums(inputs, f, c, u)


@hot_inline
def _is_full(f: Curves, child: int, level: int) -> bool:
    return bool(f.length[child] == BLOCK) if level == 1 else bool(f.children[child, FAN] == FAN)


@hot_lean
def _add_to_totals(totals: Vector, x: Vector, start: int, powers: int, a: float) -> None:
    for r in range(powers):
        totals[r] += a * x[start + r]


@hot_lean
def _add_at_own_anchors(
    node: Matrix, way: int, sums: int, d: int, sides: int, rate: float, x: Vector, a: float, keys: tuple[float, float]
) -> None:  # fmt: skip
    """Add a point to the sums of a child that has anchors of its own. `keys` are the ends of its range before the point."""
    u, (first, last) = x[0], keys
    old_left, new_left = decay(rate, u - last), decay(rate, last - u)
    old_right, new_right = decay(rate, first - u), decay(rate, u - first)
    for j in range(sides):
        node[sums + j, way] = node[sums + j, way] * old_left + a * x[1 + j] * new_left
        node[sums + d + j, way] = node[sums + d + j, way] * old_right + a * x[1 + d + j] * new_right


@hot
def replant(inputs: Inputs, old: Curves, new: Curves) -> None:
    """Insert the points of the old trees with nonzero coefficients into new, empty ones. The totals do not change."""
    d, layers = inputs.sides, old.totals.shape[1]
    x, lower, upper = np.zeros(width(inputs)), np.zeros(d), np.zeros(d)
    x[x.size - ANCHOR :] = NO_WAY
    for c in range(old.roots.shape[0]):
        line = inputs.table[c]
        for j in range(d):
            lower[j] = upper[j] = 0.0
        for at in _leaves(old, c):
            block = old.blocks[at]
            for i in range(old.length[at]):
                a, late = block[COEF, i], block[COEF + layers - 1, i]
                if a != 0.0 or late != 0.0:
                    lists_of(line, d, block, COEF + layers, i, lower, upper)
                    x[0] = block[KEY, i]
                    for j in range(d):
                        x[1 + j], x[1 + d + j] = lower[j], upper[j]
                    insert(inputs, new, c, x, a, late)


@hot
def _leaves(f: Curves, c: int) -> Counts:
    """The indices of the blocks of input c, from left to right."""
    level = f.roots[c, :1].copy()
    for _ in range(f.roots[c, 1]):
        below, count = np.empty(FAN * level.size, np.int64), 0
        for at in level:
            for i in range(f.children[at, FAN]):
                below[count] = f.children[at, i]
                count += 1
        level = below[:count].copy()
    return level
