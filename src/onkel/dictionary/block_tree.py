"""The tree over the points of one coordinate, in compiled code: to read a curve, and to add a point to it.

The points lie sorted in blocks of at most BLOCK, and over the blocks stands a tree: a node knows, of each of its at most FAN
children, the first and the last key below it and the sums that a kernel of `onkel.kernels.lists` needs of points left and right of
a key. To read a curve means to go down from the root, to take the sums of the children left and right of the way, and to add the
points of one block one by one.

A child that is full is split in two on the way down, and what its parent knows of it is summed anew: O(log m) in the worst case
too. No sum is the difference of two others, which would lose digits. Where the kernel decays, sums are anchored: the left one is
Σ a_i lower(p_i) e^(−rate (anchor − p_i)), and costs who asks for it one more exponential, e^(−rate (q − anchor)). A node whose keys
are close together has one anchor for all of its sums. In any other one each child has its own, at the key next to those who will
ask, the last key for the left sum and the first for the right one: no exponent is positive there, so nothing overflows, whatever
rate times range is.

Where f has a moment (`representations`) there are two layers of coefficients, sums and totals, for the same keys: one way down the
tree serves both. The lines of the second stand behind those of the first, and before the lists.

Loops over a node go through all of its FAN places, and those over a block through a whole number of vector registers: behind the
last point are zeros, and a loop that always ends in the same way costs no wrong guess of where it ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline, hot_lean, hot_strict
from onkel._lanes import lanes
from onkel._types import Counts, Matrix, Vector
from onkel.kernels.exponentials import NEAR, exponential, exponentials
from onkel.kernels.lists import EXPONENTIAL, GIVEN, KIND, POWERS, SHAPE, SIDES, halves_sum, split

BLOCK = 32  # the most points of a block: one pass over them costs about as much as a step down the tree
FAN = 32  # the most children of a node
FAN_BITS = FAN.bit_length() - 1
LEVELS = 8  # of a tree, for which the way to a key is written down: enough for 10⁹ points
ANCHOR, FALL, RISE, WAY = 3 + LEVELS, 2 + LEVELS, 1 + LEVELS, LEVELS  # where that stands in a row, from its end
NO_WAY = np.array([np.nan, 1.0, 1.0] + LEVELS * [-1.0])

KEY, COEF, LISTS = range(3)  # lines of a block: keys, coefficients, and the lists of a user's kernel from here on
FIRST, LAST, SUMS = range(3)  # lines of a node: the first and last key of each child, and its sums from here on
CLOSE = 200.0  # rate times the range of keys with one anchor: e^CLOSE leaves room for coefficients within the scale's limits
CANCELLED = 1e-3  # of what is added to a key: where less is left, the sums above it have lost digits


_NODE, _BLOCK = lanes(FAN), lanes(BLOCK)
count_up_to, beside, room_in_node = _NODE.count_up_to, _NODE.beside, _NODE.make_way
count_below, make_way, fetch = _BLOCK.count_below, _BLOCK.make_way, _BLOCK.fetch


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
    scratch: Matrix  # (4, BLOCK or more)  for a block's weights, and for the lists of a point


@hot_inline
def width(inputs: Inputs) -> int:
    """The numbers that a row has for an input: its key, its lists, and the way to its block."""
    return 1 + 2 * inputs.sides + inputs.powers + ANCHOR


@hot
def find_ways(inputs: Inputs, f: Curves, rows: Matrix) -> None:
    """Behind the lists of each row and input, the way down the tree as it is now: for each level node · FAN + child.

    Level by level, for all rows: what one row waits for is on its way to the next ones too, and so are the blocks in the end.
    """
    size = width(inputs)
    for c in range(inputs.table.shape[0]):
        root, end, rate = f.roots[c, 0], (c + 1) * size, decay_rate(inputs.table[c])
        if f.children[root, FAN] == 0:
            continue
        close, anchor = shared_anchor(rate, *range_of(f, root))
        for i in range(rows.shape[0] if close and rate > 0.0 else 0):
            rows[i, end - ANCHOR] = anchor
            rows[i, end - FALL], rows[i, end - RISE] = _from_anchor(rate, rows[i, c * size], anchor)
        for level in range(min(f.roots[c, 1], LEVELS)):
            place = end - WAY + level
            for i in range(rows.shape[0]):
                at = root if level == 0 else _child(f, rows[i, place - 1])
                rows[i, place] = at * FAN + _way(f.nodes[at], f.children[at, FAN], rows[i, c * size])
                if level + 1 == f.roots[c, 1]:
                    below = _child(f, rows[i, place])
                    fetch(f.blocks[below, KEY])
                    fetch(f.blocks[below, COEF])


@hot_inline
def _child(f: Curves, turn: float) -> int:
    """The node or block to which a turn leads."""
    place = int(turn)
    return int(f.children[place >> FAN_BITS, place & (FAN - 1)])


@hot
def fold(f: Curves) -> None:
    """The scale becomes part of all that it scales."""
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
    f.scale[0] = 1.0


@hot_inline
def curve(inputs: Inputs, f: Curves, c: int, x: Vector, work: Vector) -> tuple[float, float]:
    """f_c at the key x[0], and its moment there; 0, where it has none."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate, value, later = x[0], int(line[SIDES]), decay_rate(line), 0.0, 0.0
    if line[POWERS] > 0.0:
        value = _of_totals(f.totals[c, 0], x, 1 + 2 * d, int(line[POWERS]))
        later = _of_totals(f.totals[c, 1], x, 1 + 2 * d, int(line[POWERS])) if layers > 1 else 0.0
    if sides == 0 or f.children[f.roots[c, 0], FAN] == 0:
        return value, later
    at, anchor, fall, rise = f.roots[c, 0], x[x.size - ANCHOR], x[x.size - FALL], x[x.size - RISE]
    far, parent, way = _beyond(rate, u, anchor), at, 0
    for level in range(f.roots[c, 1]):
        node, n = f.nodes[at], f.children[at, FAN]
        way = _turn(f, at, u, x[x.size - WAY + level] if level < LEVELS else -1.0)
        close, shared = shared_anchor(rate, node[FIRST, 0], node[LAST, n - 1])
        if close and rate > 0.0 and shared != anchor:
            anchor = shared
            fall, rise = _from_anchor(rate, u, anchor)
            far = _beyond(rate, u, anchor)
        for layer in range(layers):
            total, sums = 0.0, SUMS + 2 * d * layer
            for j in range(sides):
                before, behind = x[1 + d + j], x[1 + j]
                if close:
                    total += far * beside(node[sums + j], node[sums + d + j], way, fall * before, rise * behind)
                else:
                    total += _beside_own_anchors(node, sums + j, sums + d + j, n, way, rate, u, before, behind, work)
            value, later = value + (0.0 if layer else total), later + (total if layer else 0.0)
        parent, at = at, f.children[at, way]
    near = rate * max(abs(u - f.nodes[parent, FIRST, way]), abs(u - f.nodes[parent, LAST, way])) <= NEAR
    for layer in range(layers):
        total = _inside(line, d, f, at, layer, near, x, work)
        value, later = value + (0.0 if layer else total), later + (total if layer else 0.0)
    return value, later


@hot_lean
def _of_totals(totals: Vector, x: Vector, start: int, powers: int) -> float:
    """What the powers add. (This and the next few are called and not written out: what is not met in most rows lengthens the way
    through the rest, and a processor does not remember as many branches.)"""
    total = 0.0
    for r in range(powers):
        total += totals[r] * x[start + r]
    return total


@hot_lean
def _beside_own_anchors(
    node: Matrix, left: int, right: int, n: int, way: int, rate: float, u: float, before: float, behind: float, work: Vector
) -> float:  # fmt: skip
    """`beside` where each child has its own anchors."""
    for i in range(n):
        work[i] = max(u - node[LAST, i], 0.0) if i < way else max(node[FIRST, i] - u, 0.0)
    exponentials(work, n, -rate)
    total = 0.0
    for i in range(way):
        total += node[left, i] * work[i] * before
    for i in range(way + 1, n):
        total += node[right, i] * work[i] * behind
    return total


@hot_inline
def _inside(line: Vector, d: int, f: Curves, at: int, layer: int, near: bool, x: Vector, work: Vector) -> float:
    """What the points of one block add."""
    block = f.blocks[at]
    if line[KIND] == GIVEN:
        return _inside_given(line, d, block, f.length[at], layer, f.totals.shape[1], x, work)
    return halves_sum(int(line[KIND]), line[SHAPE], block[KEY], block[COEF + layer], x[0], near)


@hot_lean
def _inside_given(line: Vector, d: int, block: Matrix, n: int, layer: int, layers: int, x: Vector, work: Vector) -> float:
    """The same, for a user's kernel."""
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
    """f_c ← f_c + a k_c(x[0], ·), and `late` in the place of a for its moment, if it has one."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate = x[0], int(line[SIDES]), decay_rate(line)
    for layer in range(layers if line[POWERS] > 0.0 else 0):
        _add_to_totals(f.totals[c, layer], x, 1 + 2 * d, int(line[POWERS]), late if layer else a)
    if sides == 0:  # a kernel of finite rank: its totals are all that is ever asked for
        return
    if f.children[f.roots[c, 0], FAN] == FAN:
        _raise_root(inputs, f, c)
    at, anchor, fall, rise = f.roots[c, 0], x[x.size - ANCHOR], x[x.size - FALL], x[x.size - RISE]
    height = f.roots[c, 1]
    for level in range(height, 0, -1):
        node, children = f.nodes[at], f.children[at]
        if children[FAN] == 0:
            children[0], children[FAN] = f.used[0], 1
            f.used[0] += 1
            node[FIRST, 0] = node[LAST, 0] = u
        way = _turn(f, at, u, x[x.size - WAY + height - level] if height - level < LEVELS else -1.0)
        if _is_full(f, children[way], level):
            _split(inputs, f, c, at, way, level)
            way += 1 if u >= node[FIRST, way + 1] else 0
        low, high = node[FIRST, 0], node[LAST, children[FAN] - 1]
        close, shared = shared_anchor(rate, min(low, u), max(high, u))
        if not (low <= u <= high):
            _move_anchor(inputs, f, c, at, level, shared_anchor(rate, low, high), (min(low, u), max(high, u)))
        first, last = node[FIRST, way], node[LAST, way]
        if u < first:
            node[FIRST, way] = u
        if u > last:
            node[LAST, way] = u
        if close:
            if rate > 0.0 and shared != anchor:
                anchor = shared
                fall, rise = _from_anchor(rate, u, anchor)
            for layer in range(layers):
                b, sums = late if layer else a, SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += b * x[1 + j] * rise
                    node[sums + d + j, way] += b * x[1 + d + j] * fall
        else:
            for layer in range(layers):
                _add_at_own_anchors(node, way, SUMS + 2 * d * layer, d, sides, rate, x, late if layer else a, (first, last))
        at = children[way]
    block, n = f.blocks[at], f.length[at]
    place = count_below(block[KEY], n, u)
    if place == n or block[KEY, place] != u:
        make_way(block[KEY], place, u)
        for layer in range(layers):
            make_way(block[COEF + layer], place, 0.0)
        for row in range(COEF + layers, block.shape[0]):
            make_way(block[row], place, x[1 + row - COEF - layers])
        f.length[at] = n + 1
    cancelled = False
    for layer in range(layers):
        b = late if layer else a
        block[COEF + layer, place] += b
        cancelled |= abs(block[COEF + layer, place]) < CANCELLED * abs(b)
    if cancelled:
        _sum_anew(inputs, f, c, u)


@hot_lean
def _add_to_totals(totals: Vector, x: Vector, start: int, powers: int, a: float) -> None:
    for r in range(powers):
        totals[r] += a * x[start + r]


@hot_lean
def _add_at_own_anchors(
    node: Matrix, way: int, sums: int, d: int, sides: int, rate: float, x: Vector, a: float, keys: tuple[float, float]
) -> None:  # fmt: skip
    """One point more in the sums of a child that had this range of keys, and has anchors of its own at its ends."""
    u, (first, last) = x[0], keys
    old_left, new_left = decay(rate, u - last), decay(rate, last - u)
    old_right, new_right = decay(rate, first - u), decay(rate, u - first)
    for j in range(sides):
        node[sums + j, way] = node[sums + j, way] * old_left + a * x[1 + j] * new_left
        node[sums + d + j, way] = node[sums + d + j, way] * old_right + a * x[1 + d + j] * new_right


@hot
def replant(inputs: Inputs, old: Curves, new: Curves) -> None:
    """Into empty trees, all points of others whose coefficient is not 0. The totals are left alone."""
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
                    _lists_of(line, d, block, COEF + layers, i, lower, upper)
                    x[0] = block[KEY, i]
                    for j in range(d):
                        x[1 + j], x[1 + d + j] = lower[j], upper[j]
                    insert(inputs, new, c, x, a, late)


@hot
def _leaves(f: Curves, c: int) -> Counts:
    """The blocks of a coordinate, from left to right."""
    level = f.roots[c, :1].copy()
    for _ in range(f.roots[c, 1]):
        below, count = np.empty(FAN * level.size, np.int64), 0
        for at in level:
            for i in range(f.children[at, FAN]):
                below[count] = f.children[at, i]
                count += 1
        level = below[:count].copy()
    return level


@hot_inline
def _lists_of(line: Vector, d: int, block: Matrix, lists: int, i: int, lower: Vector, upper: Vector) -> None:
    """The left and right list of a block's point."""
    if line[KIND] == GIVEN:
        for j in range(d):
            lower[j], upper[j] = block[lists + j, i], block[lists + d + j, i]
    else:
        split(int(line[KIND]), line[SHAPE], block[KEY, i], lower, upper)


@hot_inline
def decay_rate(line: Vector) -> float:
    return line[SHAPE] if line[KIND] == EXPONENTIAL or line[KIND] == GIVEN else 0.0


@hot_inline
def decay(rate: float, distance: float) -> float:
    """e^(−rate · distance), where there is a distance."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0


@hot_inline
def carried(rate: float, distance: float) -> float:
    """e^(−rate · distance), where a distance may be negative, though not by more than twice CLOSE."""
    return exponential(-rate * distance) if rate * distance > 0.0 else 1.0 / exponential(rate * distance)


@hot_strict
def shared_anchor(rate: float, first: float, last: float) -> tuple[bool, float]:
    """Whether all sums of a node with these keys have one anchor, and where it is: on a grid, not behind the first key, so that it
    seldom moves. Beyond the digits of a number there is no such grid."""
    if rate == 0.0:
        return True, 0.0
    cell = 0.5 * CLOSE / rate
    anchor = cell * np.floor(first * (2.0 * rate / CLOSE))
    return anchor <= first and last - anchor <= 2.0 * cell, anchor


@hot_strict
def _from_anchor(rate: float, u: float, anchor: float) -> tuple[float, float]:
    """e^(−rate (u − anchor)), by which a left sum has fallen on the way from its anchor, and the inverse for a right one. A key
    before the anchor has no left sums. One behind all keys has no right ones, and the left ones have fallen as if it were the last
    of them. Strict: the same bits whoever asks."""
    distance = rate * (u - anchor)
    before = distance < 0.0
    power = exponential(distance if before else -min(distance, CLOSE))
    return 0.0 if before else power, power if before else 1.0 / power


@hot_inline
def _beyond(rate: float, u: float, anchor: float) -> float:
    """By how much more the left sums fall behind the last key that their anchor may have: there are no right ones there. Not a part
    of e^(−rate (u − anchor)), which by itself can be too small for a number."""
    return decay(rate, u - anchor - CLOSE / rate) if rate > 0.0 else 1.0


@hot_inline
def _turn(f: Curves, at: int, u: float, turn: float) -> int:
    """`_way` from this node: as it was written down, unless the tree has changed here."""
    node, n = f.nodes[at], f.children[at, FAN]
    way = int(turn) & (FAN - 1)
    begins = (node[FIRST, way] <= u) | (way == 0)
    ends = (way + 1 >= n) | (node[FIRST, min(way + 1, FAN - 1)] > u)
    return way if (turn == at * FAN + way) & (way < n) & begins & ends else _way(node, n, u)


@hot_inline
def _way(node: Matrix, n: int, u: float) -> int:
    """The child for the key u: the last one that does not begin behind it."""
    return max(count_up_to(node[FIRST], n, u) - 1, 0)


@hot_inline
def _is_full(f: Curves, child: int, level: int) -> bool:
    return bool(f.length[child] == BLOCK) if level == 1 else bool(f.children[child, FAN] == FAN)


@hot_lean
def _raise_root(inputs: Inputs, f: Curves, c: int) -> None:
    """A new root, whose only child is the old one."""
    old, new = f.roots[c, 0], f.used[1]
    f.used[1] += 1
    f.children[new, 0], f.children[new, FAN] = old, 1
    f.roots[c, 0] = new
    f.roots[c, 1] += 1
    summarise(inputs, f, c, new, 0, f.roots[c, 1], range_of(f, old))


@hot_lean
def _split(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int) -> None:
    """A full child gives its second half to a new one, next to it."""
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
        _move_anchor(inputs, f, c, old, level - 1, before, range_of(f, old))
        _move_anchor(inputs, f, c, new, level - 1, before, range_of(f, new))
    n = children[FAN]
    for i in range(n, way, -1):
        children[i] = children[i - 1]
    for row in range(node.shape[0]):
        room_in_node(node[row], way + 1, node[row, way])  # the range of keys stays what it was
    children[way + 1], children[FAN] = new, n + 1
    summarise(inputs, f, c, at, way, level, range_of(f, at))
    summarise(inputs, f, c, at, way + 1, level, range_of(f, at))


@hot
def _sum_anew(inputs: Inputs, f: Curves, c: int, u: float) -> None:
    """All that the tree knows of the block of this key, from the bottom up."""
    height = f.roots[c, 1]
    path, ways = np.empty(height, np.int64), np.empty(height, np.int64)
    at = f.roots[c, 0]
    for depth in range(height):
        path[depth], ways[depth] = at, _way(f.nodes[at], f.children[at, FAN], u)
        at = f.children[at, ways[depth]]
    for depth in range(height - 1, -1, -1):
        summarise(inputs, f, c, path[depth], ways[depth], height - depth, range_of(f, path[depth]))


@hot_lean
def _move(old: Matrix, half: int, new: Matrix) -> None:
    """The columns from `half` on become the first ones of another array, and leave zeros behind."""
    for row in range(old.shape[0]):
        for i in range(half, old.shape[1]):
            new[row, i - half], old[row, i] = old[row, i], 0.0


@hot_inline
def range_of(f: Curves, at: int) -> tuple[float, float]:
    """The first and the last key of a node."""
    return f.nodes[at, FIRST, 0], f.nodes[at, LAST, f.children[at, FAN] - 1]


@hot_lean
def _move_anchor(
    inputs: Inputs, f: Curves, c: int, at: int, level: int, before: tuple[bool, float], keys: tuple[float, float]
) -> None:
    """All sums of a node anew, if it had another anchor than it should have for this range of keys."""
    close, anchor = shared_anchor(decay_rate(inputs.table[c]), *keys)
    if close != before[0] or (close and anchor != before[1]):
        for i in range(f.children[at, FAN]):
            summarise(inputs, f, c, at, i, level, keys)


@hot
def summarise(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int, keys: tuple[float, float]) -> None:
    """What a node with this range of keys knows of one child, from what is in the child."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    sides, rate = int(line[SIDES]), decay_rate(line)
    node, child = f.nodes[at], f.children[at, way]
    close, anchor = shared_anchor(rate, *keys)
    for row in range(SUMS, node.shape[0]):
        node[row, way] = 0.0
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
            if close:
                for i in range(n):
                    left[i] = 1.0 / right[i]
            else:
                exponentials(left, n, -rate)
        for i in range(n):
            _lists_of(line, d, block, COEF + layers, i, lower, upper)
            for layer in range(layers):
                a, sums = block[COEF + layer, i], SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += a * lower[j] * left[i]
                    node[sums + d + j, way] += a * upper[j] * right[i]
    node[FIRST, way], node[LAST, way] = first, last
