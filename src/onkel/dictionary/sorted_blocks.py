"""f as a sum of curves, f(x) = ρ Σ_c f_c(x_c) with f_c(q) = Σ a_i k_c(p_i, q): O(log m) to read a curve, or to add a point.

A kernel of `onkel.kernels.lists` needs of all points left of q only a few sums, and of all points right of it a few others. So the
points of a coordinate lie sorted in blocks of at most BLOCK, and over the blocks stands a tree: a node knows, of each of its at
most FAN children, the first and the last key below it and those sums. To read a curve means to go down from the root, to take the
sums of the children left and right of the way, and to add the points of one block one by one.

    evaluate    f(x)
    join        one more point: a key in each coordinate; equal keys become one
    shrink      f ← c f, by the scale ρ alone; before it becomes too small or too large it is folded into all coefficients, and
                points that have shrunk to exactly 0 leave. Unless f shrinks by many powers of ten at once, that adds O(1) to a row

A child that is full is split in two on the way down, and what its parent knows of it is summed anew: O(log m) in the worst case
too. No sum is the difference of two others, which would lose digits. Where the kernel decays, sums are anchored: the left one is
Σ a_i lower(p_i) e^(−rate (anchor − p_i)), and costs who asks for it one more exponential, e^(−rate (q − anchor)). A node whose keys
are close together has one anchor for all of its sums. In any other one each child has its own, at the key next to those who will
ask, the last key for the left sum and the first for the right one: no exponent is positive there, so nothing overflows, whatever
rate times range is.

Where f has a moment (`representations`) there are two layers of coefficients, sums and totals, for the same keys: one way down the
tree serves both. The lines of the second stand behind those of the first, and before the lists.

All coordinates share the arrays. A row of numbers comes as `Additive.lists` makes it: for each coordinate its key and its lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline, hot_strict
from onkel._types import Counts, Matrix, Vector
from onkel.dictionary.function import Function
from onkel.errors import InputError
from onkel.kernels import Additive, Kernel
from onkel.kernels.exponentials import exponential, exponentials
from onkel.kernels.lists import EXPONENTIAL, GIVEN, KIND, POWERS, SHAPE, SIDES, halves, split
from onkel.state import capacity, fitted, growing, grown

BLOCK = 64  # the most points of a block: one pass over them costs about as much as a step down the tree
FAN = 32  # the most children of a node
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # of ρ; to fold it costs O(m), so it is done as rarely as it can be

KEY, COEF, LISTS = range(3)  # lines of a block: keys, coefficients, and the lists of a user's kernel from here on
CLOSE = (
    200.0  # rate times the range of keys with one anchor: its exponential leaves room for coefficients within the scale's limits
)
CANCELLED = 1e-3  # of what is added to a key: where less is left, the sums above it have lost digits
SUM_TOLERANCE = 1e-6  # of a sum computed anew
NOTHING = 1e-290  # what has shrunk to this has no digits left, in a sum as in a coefficient
FIRST, LAST, SUMS = range(3)  # lines of a node: the first and last key of each child, and its sums from here on


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


@dataclass
class SortedBlocks(Function):
    scale: Vector  # (1,)  ρ
    used: Counts  # (2,)  blocks and nodes in use; zeros behind them
    roots: Counts  # (inputs, 2)  the root of each tree, and how many levels of nodes it has
    totals: NDArray[np.float64]  # (inputs, layers, powers)  Σ a_i p_i^r
    nodes: NDArray[np.float64] = growing(0)  # (room, 2 + 2·sides·layers, FAN)
    children: Counts = growing(0)  # (room, FAN + 1)  nodes, or blocks at the lowest level; their number stands last
    blocks: NDArray[np.float64] = growing(0)  # (room, lines, BLOCK)
    length: Counts = growing(0)  # (room,)  points in a block

    @property
    def sum(self) -> Curves:
        return Curves(self.blocks, self.nodes, self.children, self.length, self.roots, self.totals, self.used, self.scale)

    @property
    def has_room(self) -> bool:
        blocks, nodes = needed(self.roots, self.used)
        return bool(blocks <= len(self.blocks) and nodes <= len(self.nodes))

    def make_room(self, kernel: Kernel) -> None:
        """Longer arrays, where another point would not fit. Where every second one has shrunk to 0, those leave first."""
        if not self.has_room and 2 * self._alive < np.sum(self.length):
            self._leave_out_the_dead(kernel)
        blocks, nodes = map(int, needed(self.roots, self.used))
        self.blocks, self.length = grown(self.blocks, blocks), grown(self.length, blocks)
        self.nodes, self.children = grown(self.nodes, nodes), grown(self.children, nodes)

    def _leave_out_the_dead(self, kernel: Kernel) -> None:
        """The trees anew, of the points whose coefficient is not 0, in arrays as long as these need. Keys that come in order leave
        every block and node half full, or less at the end: they may need more of them than there were."""
        most, columns = self._alive // (BLOCK // 2) + len(self.roots), _columns(kernel, len(self.roots))
        blocks, nodes = capacity(most), capacity(2 * most + len(self.roots))
        sizes = {"blocks": blocks, "length": blocks, "nodes": nodes, "children": nodes}
        blank = {name: np.zeros((size, *getattr(self, name).shape[1:]), getattr(self, name).dtype) for name, size in sizes.items()}
        new = replace(empty(kernel, columns, moment=self.totals.shape[1] > 1), **blank)
        _replant(inputs_of(kernel, columns), self.sum, new.sum)
        blocks, nodes = map(int, new.used)
        self.used, self.roots = new.used, new.roots
        self.blocks, self.length = fitted(new.blocks, blocks), fitted(new.length, blocks)
        self.nodes, self.children = fitted(new.nodes, nodes), fitted(new.children, nodes)

    @property
    def _alive(self) -> int:
        """The points, in each coordinate, with a coefficient that is not 0, in either layer."""
        return int(np.count_nonzero(np.any(self.blocks[:, COEF : self._lists], axis=1)))

    @property
    def _lists(self) -> int:
        """The line of a block where lists begin: behind the coefficients of each layer."""
        return COEF + int(self.totals.shape[1])

    def mean(self, rounds: int) -> SortedBlocks:
        """The mean of all that f has been, f − moment / (rounds + 1)."""
        half, part = (self.nodes.shape[1] - SUMS) // 2, 1.0 / (rounds + 1.0)
        blocks, nodes = np.delete(self.blocks, COEF + 1, axis=1), self.nodes[:, : SUMS + half].copy()
        blocks[:, COEF] -= part * self.blocks[:, COEF + 1]
        nodes[:, SUMS:] -= part * self.nodes[:, SUMS + half :]
        return replace(self, blocks=blocks, nodes=nodes, totals=self.totals[:, :1] - part * self.totals[:, 1:])

    def bytes_with(self, rows: int) -> int:
        full = 2 * rows * len(self.roots) // BLOCK + 1  # blocks are half full at least, once they have been split
        held = self.blocks.nbytes + self.nodes.nbytes + self.children.nbytes + self.length.nbytes
        return int(2 * (held + 8 * full * BLOCK * (self.blocks.shape[1] + self.nodes.shape[1])))

    def rows(self, kernel: Kernel, X: Matrix) -> Matrix:
        """For each row and input its key and its lists; then the row itself, by which it can be known again."""
        return np.hstack([_additive(kernel, X.shape[1]).lists(X), X])

    def source(self, kernel: Kernel, rows: Matrix) -> Inputs:
        return inputs_of(kernel, _columns(kernel, len(self.roots)))

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse trees that `insert` cannot have made in so many rounds."""
        lengths = len(self.nodes) == len(self.children) and len(self.blocks) == len(self.length)
        used = (self.used >= (0, len(self.roots))).all() and (self.used <= (len(self.blocks), len(self.nodes))).all()
        if not lengths or not used:
            raise InputError("its arrays are not as long as its sizes say")
        if not SMALLEST_SCALE <= self.scale[0] <= LARGEST_SCALE:
            raise InputError("its coefficients are beyond what can be learnt")
        behind = (
            self.blocks[self.used[0] :],
            self.length[self.used[0] :],
            self.nodes[self.used[1] :],
            self.children[self.used[1] :],
        )
        if any(np.any(array != 0) for array in behind):
            raise InputError("it has numbers where no point is")
        if np.sum(self.length) > rows * len(self.roots):
            raise InputError("it has more points than it has seen rows")
        inputs = inputs_of(kernel, _columns(kernel, len(self.roots)))
        largest = max(1.0, float(np.max(np.abs(self.blocks[:, self._lists :]), initial=0.0)))
        blocks, nodes = np.zeros(self.used[0], np.int64), np.zeros(self.used[1], np.int64)
        sound = all(_is_sound(inputs, self.sum, c, blocks, nodes, largest) for c in range(len(self.roots)))
        if not (sound and blocks.all() and nodes.all()):
            raise InputError("its points do not stand in order, or the sums over them are not theirs")


def empty(kernel: Kernel, dim: int, moment: bool = False) -> SortedBlocks:
    """No points yet, on rows of `dim` columns."""
    inputs, sides, powers, lists = _sizes(kernel, dim)
    layers = 1 + moment
    roots, nodes = np.column_stack([np.arange(inputs), np.ones(inputs, np.int64)]), capacity(inputs)
    return SortedBlocks(
        np.ones(1),
        np.array([0, inputs]),
        roots,
        np.zeros((inputs, layers, powers)),
        np.zeros((nodes, SUMS + 2 * sides * layers, FAN)),
        np.zeros((nodes, FAN + 1), np.int64),
        np.zeros((0, COEF + layers + lists, BLOCK)),
        np.zeros(0, np.int64),
    )


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    inputs, sides, powers, _ = _sizes(kernel, dim)
    layers = 1 + moment
    return 8 * (3 + inputs * (2 + powers * layers) + capacity(inputs) * ((SUMS + 2 * sides * layers) * FAN + FAN + 1))


def inputs_of(kernel: Kernel, dim: int) -> Inputs:
    """The kernel as compiled code wants it."""
    additive = _additive(kernel, dim)
    return Inputs(additive.table(dim), *additive.widths)


def _additive(kernel: Kernel, dim: int) -> Additive:
    return kernel if isinstance(kernel, Additive) else kernel.alone(dim)  # type: ignore[attr-defined]


def _columns(kernel: Kernel, inputs: int) -> int:
    """The columns of X, of which with their products there are so many inputs."""
    return inputs - (len(kernel.products) if isinstance(kernel, Additive) else 0)


def _sizes(kernel: Kernel, dim: int) -> tuple[int, int, int, int]:
    """Inputs, the longest lists, and the lines of a block that hold lists."""
    additive = _additive(kernel, dim)
    sides, powers = additive.widths
    return dim + len(additive.products), sides, powers, 2 * sides if additive.fallible else 0


@hot
def needed(roots: Counts, used: Counts) -> tuple[int, int]:
    """The blocks and nodes that there must be for one more point: each tree may be split from top to bottom."""
    return used[0] + roots.shape[0], used[1] + int(np.sum(roots[:, 1])) + roots.shape[0]


@hot_inline
def keep(kernel: Inputs, f: Curves, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """`join`: points that are not known one by one are never too many."""
    join(kernel, f, x, own, a, round)


@hot_inline
def amend(kernel: Inputs, f: Curves, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """`join`: a point that was there before is found by its keys."""
    join(kernel, f, x, own, a, round)


@hot_inline
def count(f: Curves) -> int:
    return 0


@hot_inline
def holds(f: Curves, most: int) -> bool:
    return False


@hot_inline
def has_room(f: Curves) -> bool:
    blocks, nodes = needed(f.roots, f.used)
    return bool(blocks <= f.blocks.shape[0] and nodes <= f.nodes.shape[0])


@hot_inline
def evaluate(inputs: Inputs, f: Curves, x: Vector, work: Vector) -> float:
    """f(x)."""
    _read(inputs, f, x, work)
    return float(f.scale[0] * work[BLOCK])


@hot_inline
def with_moment(inputs: Inputs, f: Curves, x: Vector, work: Vector) -> tuple[float, float]:
    """f(x), and its moment there; 0, where it has none."""
    _read(inputs, f, x, work)
    return f.scale[0] * work[BLOCK], f.scale[0] * work[BLOCK + 1]


@hot_inline
def _read(inputs: Inputs, f: Curves, x: Vector, work: Vector) -> None:
    """The sum of all curves, of each layer, behind the place for a block."""
    width = 1 + 2 * inputs.sides + inputs.powers
    work[BLOCK] = work[BLOCK + 1] = 0.0
    for c in range(inputs.table.shape[0]):
        curve(inputs, f, c, x[c * width : (c + 1) * width], work)


@hot_inline
def join(inputs: Inputs, f: Curves, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·); there is room."""
    width = 1 + 2 * inputs.sides + inputs.powers
    a /= f.scale[0]
    for c in range(inputs.table.shape[0]):
        insert(inputs, f, c, x[c * width : (c + 1) * width], a, (round + 1.0) * a)


@hot_inline
def shrink(f: Curves, factor: float) -> None:
    """f ← factor · f."""
    f.scale[0] *= factor
    if not SMALLEST_SCALE <= f.scale[0] <= LARGEST_SCALE:
        _fold(f)


@hot
def _fold(f: Curves) -> None:
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


@hot
def workspace(f: Curves) -> Vector:
    return np.empty(BLOCK + 2)  # for a block, and for the sum of each layer


@hot
def curve(inputs: Inputs, f: Curves, c: int, x: Vector, work: Vector) -> None:
    """Adds f_c at the key x[0], of which the lists stand behind it, to the numbers behind the place for a block."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate = x[0], int(line[SIDES]), decay_rate(line)
    for layer in range(layers):
        for r in range(int(line[POWERS])):
            work[BLOCK + layer] += f.totals[c, layer, r] * x[1 + 2 * d + r]
    if sides == 0 or f.children[f.roots[c, 0], FAN] == 0:
        return
    at, anchor, fall, rise, far = f.roots[c, 0], np.nan, 1.0, 1.0, 1.0
    for _ in range(f.roots[c, 1]):
        node, n = f.nodes[at], f.children[at, FAN]
        way = _way(node, n, u)
        close, shared = _anchor(rate, node[FIRST, 0], node[LAST, n - 1])
        if not close:
            for i in range(n):
                work[i] = max(u - node[LAST, i], 0.0) if i < way else max(node[FIRST, i] - u, 0.0)
            exponentials(work, n, -rate)
        elif rate > 0.0 and shared != anchor:
            anchor = shared
            fall, rise = _from_anchor(rate * (u - anchor))
            far = decay(rate, u - anchor - CLOSE / rate)
        for layer in range(layers):
            total, sums = 0.0, SUMS + 2 * d * layer
            for j in range(sides):
                left, right = 0.0, 0.0
                if not close:
                    for i in range(way):
                        left += node[sums + j, i] * work[i]
                    for i in range(way + 1, n):
                        right += node[sums + d + j, i] * work[i]
                else:
                    for i in range(way):
                        left += node[sums + j, i]
                    for i in range(way + 1, n):
                        right += node[sums + d + j, i]
                    left, right = _fallen(left, fall, far), right * rise
                total += left * x[1 + d + j] + right * x[1 + j]
            work[BLOCK + layer] += total
        at = f.children[at, way]
    block, n = f.blocks[at], f.length[at]
    _inside(line, d, block, COEF + layers, n, x, work)
    for layer in range(layers):
        total = 0.0
        for i in range(n):
            total += block[COEF + layer, i] * work[i]
        work[BLOCK + layer] += total


@hot_inline
def _inside(line: Vector, d: int, block: Matrix, lists: int, n: int, x: Vector, work: Vector) -> None:
    """work[i] ← the kernel, but for its powers, between the points of one block and x."""
    u = x[0]
    if line[KIND] != GIVEN:
        halves(int(line[KIND]), line[SHAPE], block[KEY], n, u, work)
        return
    for i in range(n):
        work[i] = abs(u - block[KEY, i])
    exponentials(work, n, -line[SHAPE])
    for i in range(n):
        value = 0.0
        for j in range(int(line[SIDES])):
            value += block[lists + j, i] * x[1 + d + j] if block[KEY, i] <= u else block[lists + d + j, i] * x[1 + j]
        work[i] *= value


@hot
def insert(inputs: Inputs, f: Curves, c: int, x: Vector, a: float, late: float) -> None:
    """f_c ← f_c + a k_c(x[0], ·), and `late` in the place of a for its moment, if it has one."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    u, sides, rate = x[0], int(line[SIDES]), decay_rate(line)
    for layer in range(layers):
        for r in range(int(line[POWERS])):
            f.totals[c, layer, r] += (late if layer else a) * x[1 + 2 * d + r]
    if sides == 0:  # a kernel of finite rank: its totals are all that is ever asked for
        return
    if f.children[f.roots[c, 0], FAN] == FAN:
        _raise_root(inputs, f, c)
    at, anchor, fall, rise = f.roots[c, 0], np.nan, 1.0, 1.0
    for level in range(f.roots[c, 1], 0, -1):
        node, children = f.nodes[at], f.children[at]
        if children[FAN] == 0:
            children[0], children[FAN] = f.used[0], 1
            f.used[0] += 1
            node[FIRST, 0] = node[LAST, 0] = u
        way = _way(node, children[FAN], u)
        if _is_full(f, children[way], level):
            _split(inputs, f, c, at, way, level)
            way += 1 if u >= node[FIRST, way + 1] else 0
        low, high = node[FIRST, 0], node[LAST, children[FAN] - 1]
        close, shared = _anchor(rate, min(low, u), max(high, u))
        if not (low <= u <= high):
            _move_anchor(inputs, f, c, at, level, _anchor(rate, low, high), (min(low, u), max(high, u)))
        first, last = node[FIRST, way], node[LAST, way]
        node[FIRST, way], node[LAST, way] = min(first, u), max(last, u)
        if close:
            if rate > 0.0 and shared != anchor:
                anchor = shared
                fall, rise = _from_anchor(rate * (u - anchor))
            for layer in range(layers):
                b, sums = late if layer else a, SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += b * x[1 + j] * rise
                    node[sums + d + j, way] += b * x[1 + d + j] * fall
        else:
            old_left, new_left = decay(rate, u - last), decay(rate, last - u)
            old_right, new_right = decay(rate, first - u), decay(rate, u - first)
            for layer in range(layers):
                b, sums = late if layer else a, SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] = node[sums + j, way] * old_left + b * x[1 + j] * new_left
                    node[sums + d + j, way] = node[sums + d + j, way] * old_right + b * x[1 + d + j] * new_right
        at = children[way]
    block, n = f.blocks[at], f.length[at]
    place = n
    while place > 0 and block[KEY, place - 1] >= u:
        place -= 1
    if place == n or block[KEY, place] != u:
        for row in range(block.shape[0]):
            for i in range(n, place, -1):
                block[row, i] = block[row, i - 1]
        block[KEY, place] = u
        for layer in range(layers):
            block[COEF + layer, place] = 0.0
        for row in range(COEF + layers, block.shape[0]):
            block[row, place] = x[1 + row - COEF - layers]
        f.length[at] = n + 1
    cancelled = False
    for layer in range(layers):
        b = late if layer else a
        block[COEF + layer, place] += b
        cancelled |= abs(block[COEF + layer, place]) < CANCELLED * abs(b)
    if cancelled:
        _sum_anew(inputs, f, c, u)


@hot
def _replant(inputs: Inputs, old: Curves, new: Curves) -> None:
    """Into empty trees, all points of others whose coefficient is not 0. The totals are left alone."""
    d, layers = inputs.sides, old.totals.shape[1]
    x, lower, upper = np.zeros(1 + 2 * d + inputs.powers), np.zeros(d), np.zeros(d)
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


@hot_inline
def _anchor(rate: float, first: float, last: float) -> tuple[bool, float]:
    """Whether all sums of a node with these keys have one anchor, and where it is: on a grid, not behind the first key, so that it
    seldom moves. Beyond the digits of a number there is no such grid."""
    if rate == 0.0:
        return True, 0.0
    cell = 0.5 * CLOSE / rate
    anchor = cell * np.floor(first / cell)
    return anchor <= first and last - anchor <= 2.0 * cell, anchor


@hot_inline
def _from_anchor(distance: float) -> tuple[float, float]:
    """e^(−distance), by which a left sum has fallen on the way from its anchor, and e^distance for a right one. A key before the
    anchor has no left sums. One behind all keys has no right ones, and the left ones have fallen as if it were the last of them."""
    if distance < 0.0:
        return 0.0, exponential(distance)
    fall = exponential(-min(distance, CLOSE))
    return fall, 1.0 / fall


@hot_strict
def _fallen(left: float, fall: float, far: float) -> float:
    """The product in this order: fall · far by itself can be too small for a number."""
    return (left * fall) * far


@hot_inline
def _way(node: Matrix, n: int, u: float) -> int:
    """The child for the key u: the last one that does not begin behind it."""
    way = 0
    for i in range(1, n):
        way += 1 if node[FIRST, i] <= u else 0
    return way


@hot_inline
def _is_full(f: Curves, child: int, level: int) -> bool:
    return bool(f.length[child] == BLOCK) if level == 1 else bool(f.children[child, FAN] == FAN)


@hot
def _raise_root(inputs: Inputs, f: Curves, c: int) -> None:
    """A new root, whose only child is the old one."""
    old, new = f.roots[c, 0], f.used[1]
    f.used[1] += 1
    f.children[new, 0], f.children[new, FAN] = old, 1
    f.roots[c, 0] = new
    f.roots[c, 1] += 1
    _summarise(inputs, f, c, new, 0, f.roots[c, 1], _range(f, old))


@hot
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
        half, low, high = FAN // 2, *_range(f, old)
        before = _anchor(decay_rate(inputs.table[c]), low, high)
        _move(f.nodes[old], half, f.nodes[new])
        for i in range(half, FAN):
            f.children[new, i - half], f.children[old, i] = f.children[old, i], 0
        f.children[old, FAN], f.children[new, FAN] = half, FAN - half
        _move_anchor(inputs, f, c, old, level - 1, before, _range(f, old))
        _move_anchor(inputs, f, c, new, level - 1, before, _range(f, new))
    n = children[FAN]
    for i in range(n, way, -1):
        children[i] = children[i - 1]
        for row in range(node.shape[0]):
            node[row, i] = node[row, i - 1]
    children[way + 1], children[FAN] = new, n + 1
    _summarise(inputs, f, c, at, way, level, _range(f, at))
    _summarise(inputs, f, c, at, way + 1, level, _range(f, at))


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
        _summarise(inputs, f, c, path[depth], ways[depth], height - depth, _range(f, path[depth]))


@hot
def _move(old: Matrix, half: int, new: Matrix) -> None:
    """The columns from `half` on become the first ones of another array, and leave zeros behind."""
    for row in range(old.shape[0]):
        for i in range(half, old.shape[1]):
            new[row, i - half], old[row, i] = old[row, i], 0.0


@hot_inline
def _range(f: Curves, at: int) -> tuple[float, float]:
    """The first and the last key of a node."""
    return f.nodes[at, FIRST, 0], f.nodes[at, LAST, f.children[at, FAN] - 1]


@hot
def _move_anchor(
    inputs: Inputs, f: Curves, c: int, at: int, level: int, before: tuple[bool, float], keys: tuple[float, float]
) -> None:
    """All sums of a node anew, if it had another anchor than it should have for this range of keys."""
    close, anchor = _anchor(decay_rate(inputs.table[c]), *keys)
    if close != before[0] or (close and anchor != before[1]):
        for i in range(f.children[at, FAN]):
            _summarise(inputs, f, c, at, i, level, keys)


@hot
def _summarise(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int, keys: tuple[float, float]) -> None:
    """What a node with this range of keys knows of one child, from what is in the child."""
    line, d, layers = inputs.table[c], inputs.sides, f.totals.shape[1]
    sides, rate = int(line[SIDES]), decay_rate(line)
    node, child = f.nodes[at], f.children[at, way]
    close, anchor = _anchor(rate, *keys)
    for row in range(SUMS, node.shape[0]):
        node[row, way] = 0.0
    if level > 1:
        below, n = f.nodes[child], f.children[child, FAN]
        first, last = below[FIRST, 0], below[LAST, n - 1]
        (to_left, to_right), (is_close, own) = (anchor, anchor) if close else (last, first), _anchor(rate, first, last)
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
        lower, upper = np.empty(d), np.empty(d)
        for i in range(n):
            _lists_of(line, d, block, COEF + layers, i, lower, upper)
            left, right = carried(rate, to_left - block[KEY, i]), carried(rate, block[KEY, i] - to_right)
            for layer in range(layers):
                a, sums = block[COEF + layer, i], SUMS + 2 * d * layer
                for j in range(sides):
                    node[sums + j, way] += a * lower[j] * left
                    node[sums + d + j, way] += a * upper[j] * right
    node[FIRST, way], node[LAST, way] = first, last


@hot
def _is_sound(inputs: Inputs, f: Curves, c: int, met_blocks: Counts, met_nodes: Counts, largest: float) -> bool:
    """Whether the tree of a coordinate has its keys in order, no block or node that was met before, and the right sums.

    It goes through the tree from left to right; a node is compared with its children when it is left. `largest` bounds the lists.
    """
    height = f.roots[c, 1]
    if not 1 <= height <= met_nodes.size or not _is_new(met_nodes, f.roots[c, 0]):
        return False
    path, turn = np.zeros(height, np.int64), np.zeros(height, np.int64)
    path[0] = f.roots[c, 0]
    depth, key, layers, powers = 0, -np.inf, f.totals.shape[1], f.totals.shape[2]
    totals, weight = np.zeros((layers, powers)), np.zeros(layers)
    while depth >= 0:
        at, way = path[depth], turn[depth]
        n = f.children[at, FAN]
        if not 0 <= n <= FAN or (n == 0 and height > 1):
            return False
        turn[depth] += 1
        if way == n:
            if np.any(f.nodes[at, :, n:] != 0.0) or np.any(f.children[at, n:FAN] != 0):
                return False
            for i in range(n):
                if not _is_summary(inputs, f, c, at, i, height - depth, largest, weight):
                    return False
            depth -= 1
        elif depth + 1 < height:
            if not _is_new(met_nodes, f.children[at, way]):
                return False
            depth += 1
            path[depth], turn[depth] = f.children[at, way], 0
        else:
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
        for r in range(powers):
            asked, own, total = r < inputs.table[c, POWERS], inputs.table[c, KIND] != GIVEN, f.totals[c, layer, r]
            if asked and own and not abs(total - totals[layer, r]) <= SUM_TOLERANCE * weight[layer] + NOTHING:
                return False
            if not asked and total != 0.0:
                return False
    return True


@hot
def _is_new(met: Counts, index: int) -> bool:
    """Whether there is such an index, met for the first time."""
    if not 0 <= index < met.size or met[index] > 0:
        return False
    met[index] = 1
    return True


@hot
def _is_summary(inputs: Inputs, f: Curves, c: int, at: int, way: int, level: int, largest: float, weight: Vector) -> bool:
    """Whether a node knows of a child what is in the child, as far as additions one by one can tell: Σ |a_i| is `weight`."""
    known, (low, high), rate = f.nodes[at].copy(), _range(f, at), decay_rate(inputs.table[c])
    close, anchor = _anchor(rate, low, high)
    _summarise(inputs, f, c, at, way, level, (low, high))
    sound = True
    for row in range(known.shape[0]):
        tolerance = 0.0
        if row >= SUMS:
            layer, j = divmod(row - SUMS, 2 * inputs.sides)
            tolerance = largest * (SUM_TOLERANCE * weight[layer] + NOTHING)
            if close:
                tolerance *= carried(rate, anchor - known[LAST, way] if j < inputs.sides else known[FIRST, way] - anchor)
        sound &= abs(known[row, way] - f.nodes[at, row, way]) <= tolerance
        f.nodes[at, row, way] = known[row, way]
    return sound
