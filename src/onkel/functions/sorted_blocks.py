"""f as a sum of curves, f(x) = ρ Σ_c f_c(x_c) with f_c(q) = Σ a_i k_c(p_i, q): reading a curve or adding a point costs O(log m).

The key p_i is the value of input c at point i. For a kernel of `onkel.kernels.lists`, f_c(q) needs only a few sums over the points
to the left of q, and a few others over those to the right. So for each input the points are sorted in blocks, and a tree over the
blocks holds those sums (`block_tree`).

    evaluate    f(x)
    join        add a point, which has a key in each input; equal keys are merged
    shrink      f ← c f, by changing the scale ρ alone. Before ρ becomes too small or too large, it is multiplied into all m
                coefficients; points whose coefficient is then exactly 0 are removed later (`make_room`). This happens so seldom
                that it costs O(1) for each row on average, unless f shrinks by many powers of ten at once

The trees of all inputs share the arrays. A row comes from `Additive.lists`: for each input its key and its lists.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel.errors import InputError
from onkel.functions.additive_curves import AdditiveCurves, additive_curves
from onkel.functions.block_check import is_sound
from onkel.functions.block_layout import BLOCK, COEF, FAN, KEY, NO_WAY, SUMS, Curves, Inputs, width
from onkel.functions.block_sums import fold
from onkel.functions.block_tree import curve, find_ways, insert, replant
from onkel.functions.function import Function
from onkel.kernels import Additive, Kernel
from onkel.state import capacity, fitted, growing, grown, memory

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # the range of ρ; wide, because multiplying it into the coefficients costs O(m)


@memory
class SortedBlocks(Function):
    scale: Vector  # (1,)  ρ
    used: Counts  # (2,)  the numbers of blocks and of nodes in use; after them there are zeros
    roots: Counts  # (inputs, 2)  the root of each tree, and its height in nodes
    totals: NDArray[np.float64]  # (inputs, layers, powers)  Σ a_i p_i^r
    # (layers,)  Σ |a| over all points ever added, in units of ρ; the rounding errors of the sums are proportional to it
    added: Vector
    nodes: NDArray[np.float64] = growing(0)  # (room, 2 + 2·sides·layers, FAN)
    children: Counts = growing(0)  # (room, FAN + 1)  indices of nodes, at the lowest level of blocks; their number is last
    blocks: NDArray[np.float64] = growing(0)  # (room, lines, BLOCK)
    length: Counts = growing(0)  # (room,)  number of points in a block

    @property
    def compiled(self) -> Curves:
        scratch = np.empty((4, max(BLOCK, self.nodes.shape[1])))
        return Curves(
            self.blocks, self.nodes, self.children, self.length, self.roots, self.totals, self.used, self.scale, self.added, scratch
        )  # fmt: skip

    @property
    def has_room(self) -> bool:
        blocks, nodes = needed(self.roots, self.used)
        return bool(blocks <= len(self.blocks) and nodes <= len(self.nodes))

    def make_room(self, kernel: Kernel) -> None:
        """Enlarge the arrays if another point would not fit. If more than half of the points have a coefficient of 0, they are
        removed first."""
        new = self
        if not self.has_room and 2 * self._nonzero < np.sum(self.length):
            new = self._without_zeros(kernel)
        lengths = _array_lengths(*needed(new.roots, new.used))
        longer = {name: grown(getattr(new, name), length) for name, length in lengths.items()}
        vars(self).update(longer, used=new.used, roots=new.roots)  # one step, which no interrupt can split

    def _without_zeros(self, kernel: Kernel) -> SortedBlocks:
        """The trees rebuilt from the points with nonzero coefficients, in arrays of fitting length. Points inserted in sorted
        order leave blocks and nodes half full, so there may be more of them than before."""
        most, columns = self._nonzero // (BLOCK // 2) + len(self.roots), _columns(kernel, len(self.roots))
        sizes = _array_lengths(capacity(most), capacity(2 * most + len(self.roots)))
        blank = {name: np.zeros((size, *getattr(self, name).shape[1:]), getattr(self, name).dtype) for name, size in sizes.items()}
        new = replace(empty(kernel, columns, moment=self.totals.shape[1] > 1), **blank)
        replant(inputs_of(kernel, columns), self.compiled, new.compiled)
        return replace(new, **{name: fitted(getattr(new, name), length) for name, length in _array_lengths(*new.used).items()})

    @property
    def _nonzero(self) -> int:
        """The number of points with a nonzero coefficient in either layer, summed over all inputs."""
        return int(np.count_nonzero(np.any(self.blocks[:, COEF : self._lists], axis=1)))

    @property
    def _lists(self) -> int:
        """The first line of a block that holds lists, after the coefficients of each layer."""
        return COEF + int(self.totals.shape[1])

    def mean(self, rounds: int) -> SortedBlocks:
        """The mean of f over all rounds, f − moment / (rounds + 1), as a function without a moment."""
        half, part = (self.nodes.shape[1] - SUMS) // 2, 1.0 / (rounds + 1.0)
        blocks, nodes = np.delete(self.blocks, COEF + 1, axis=1), self.nodes[:, : SUMS + half].copy()
        blocks[:, COEF] -= part * self.blocks[:, COEF + 1]
        nodes[:, SUMS:] -= part * self.nodes[:, SUMS + half :]
        totals, added = self.totals[:, :1] - part * self.totals[:, 1:], self.added[:1] + part * self.added[1:]
        return replace(self, blocks=blocks, nodes=nodes, totals=totals, added=added)

    def learnt(self, kernel: Kernel, rounds: int | None = None) -> AdditiveCurves:
        f = self if rounds is None else self.mean(rounds)
        points = [f._keys_and_coefficients(c) for c in range(len(f.roots))]
        additive = _additive(kernel, _columns(kernel, len(f.roots)))
        return additive_curves(additive, points, float(f.scale[0]), f.totals[:, 0])

    def _keys_and_coefficients(self, c: int) -> tuple[Vector, Vector]:
        """The sorted keys of an input and their coefficients, without the scale."""
        level = self.roots[c : c + 1, 0]
        for _ in range(self.roots[c, 1]):
            level = np.concatenate([self.children[at, : self.children[at, -1]] for at in level])
        blocks = [self.blocks[at, : COEF + 1, : self.length[at]] for at in level]
        together = np.hstack(blocks) if blocks else np.empty((2, 0))
        return together[KEY], together[COEF]

    def bytes_with(self, rows: int) -> int:
        full = 2 * rows * len(self.roots) // BLOCK + 1  # blocks are at least half full after a split
        held = self.blocks.nbytes + self.nodes.nbytes + self.children.nbytes + self.length.nbytes
        return int(2 * (held + 8 * full * BLOCK * (self.blocks.shape[1] + self.nodes.shape[1])))

    def lists(self, kernel: Kernel, X: Matrix) -> Matrix:
        """For each row: the key and the lists of each input, then the row itself, which identifies it in a table of rows."""
        return np.hstack([_additive(kernel, X.shape[1]).lists(X), X])

    def placed(self, kernel: Kernel, lists: Matrix) -> Matrix:
        """The `lists` of rows, with room after the lists of each input for the cached path to its block."""
        n, inputs, size = len(lists), len(self.roots), width(self.source(kernel, lists))
        own = size - NO_WAY.size
        placed = np.empty((n, lists.shape[1] + inputs * NO_WAY.size))
        each, row = placed[:, : inputs * size].reshape(n, inputs, size), placed[:, inputs * size :]
        each[:, :, :own], each[:, :, own:] = lists[:, : inputs * own].reshape(n, inputs, own), NO_WAY
        row[:] = lists[:, inputs * own :]
        return placed

    def source(self, kernel: Kernel, rows: Matrix) -> Inputs:
        return inputs_of(kernel, _columns(kernel, len(self.roots)))

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        """Refuse trees that `insert` cannot make in `rows` rounds."""
        lengths = len(self.nodes) == len(self.children) and len(self.blocks) == len(self.length)
        used = (self.used >= (0, len(self.roots))).all() and (self.used <= (len(self.blocks), len(self.nodes))).all()
        if not lengths:
            raise InputError("its blocks or nodes and the arrays that belong to them have different lengths")
        if not used:
            raise InputError("it says that more blocks or nodes are in use than it has")
        if not SMALLEST_SCALE <= self.scale[0] <= LARGEST_SCALE or not np.isfinite(self.added).all():
            raise InputError("its coefficients are outside the range that can be learnt")
        after = (
            self.blocks[self.used[0] :],
            self.length[self.used[0] :],
            self.nodes[self.used[1] :],
            self.children[self.used[1] :],
        )
        if any(np.any(array != 0) for array in after):
            raise InputError("it has numbers after its last block or node")
        if np.sum(self.length) > rows * len(self.roots):
            raise InputError("it has more points than rows were learnt")
        inputs = inputs_of(kernel, _columns(kernel, len(self.roots)))
        largest = max(1.0, float(np.max(np.abs(self.blocks[:, self._lists :]), initial=0.0)))
        blocks, nodes = np.zeros(self.used[0], np.int64), np.zeros(self.used[1], np.int64)
        sound = all(is_sound(inputs, self.compiled, c, blocks, nodes, largest) for c in range(len(self.roots)))
        if not (sound and blocks.all() and nodes.all()):
            raise InputError("its points are not sorted, or the sums over them are wrong")


def empty(kernel: Kernel, dim: int, moment: bool = False) -> SortedBlocks:
    """f = 0, a function of rows of `dim` columns."""
    inputs, sides, powers, lists = _sizes(kernel, dim)
    layers = 1 + moment
    roots, nodes = np.column_stack([np.arange(inputs), np.ones(inputs, np.int64)]), capacity(inputs)
    return SortedBlocks(
        np.ones(1),
        np.array([0, inputs]),
        roots,
        np.zeros((inputs, layers, powers)),
        np.zeros(layers),
        np.zeros((nodes, SUMS + 2 * sides * layers, FAN)),
        np.zeros((nodes, FAN + 1), np.int64),
        np.zeros((0, COEF + layers + lists, BLOCK)),
        np.zeros(0, np.int64),
    )


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    inputs, sides, powers, _ = _sizes(kernel, dim)
    layers = 1 + moment
    return 8 * (3 + layers + inputs * (2 + powers * layers) + capacity(inputs) * ((SUMS + 2 * sides * layers) * FAN + FAN + 1))


def inputs_of(kernel: Kernel, dim: int) -> Inputs:
    """The kernel in the format of compiled code."""
    additive = _additive(kernel, dim)
    return Inputs(additive.table(dim), *additive.widths)


def _additive(kernel: Kernel, dim: int) -> Additive:
    return kernel if isinstance(kernel, Additive) else kernel.alone(dim)  # type: ignore[attr-defined]


def _columns(kernel: Kernel, inputs: int) -> int:
    """The number of columns of X if these columns and their products are `inputs` inputs."""
    return inputs - (len(kernel.products) if isinstance(kernel, Additive) else 0)


def _sizes(kernel: Kernel, dim: int) -> tuple[int, int, int, int]:
    """The number of inputs, the lengths of the longest left and global lists, and how many lines of a block hold lists."""
    additive = _additive(kernel, dim)
    sides, powers = additive.widths
    return dim + len(additive.products), sides, powers, 2 * sides if additive.fallible else 0


def _array_lengths(blocks: int, nodes: int) -> dict[str, int]:
    """The length of each array for this many blocks and nodes."""
    return {"blocks": int(blocks), "length": int(blocks), "nodes": int(nodes), "children": int(nodes)}


@hot_inline
def needed(roots: Counts, used: Counts) -> tuple[int, int]:
    """The numbers of blocks and nodes that suffice for one more point, which may split a node on each level of each tree."""
    blocks, nodes = used[0] + roots.shape[0], used[1] + roots.shape[0]
    for c in range(roots.shape[0]):
        nodes += roots[c, 1]
    return blocks, nodes


@hot_inline
def keep(kernel: Inputs, f: Curves, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """The same as `join`: the points have no slots, so their number is not limited."""
    join(kernel, f, x, own, a, round)


@hot_inline
def amend(kernel: Inputs, f: Curves, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """The same as `join`, which finds a point that is already there by its keys."""
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
    return with_moment(inputs, f, x, work)[0]


@hot_inline
def with_moment(inputs: Inputs, f: Curves, x: Vector, work: Vector) -> tuple[float, float]:
    """f(x), and the moment of f at x (see `representations`); 0 if f keeps none."""
    size, value, later = width(inputs), 0.0, 0.0
    for c in range(inputs.table.shape[0]):
        more = curve(inputs, f, c, x[c * size : (c + 1) * size], work)
        value, later = value + more[0], later + more[1]
    return f.scale[0] * value, f.scale[0] * later


@hot_inline
def join(inputs: Inputs, f: Curves, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·); there is room."""
    size = width(inputs)
    a /= f.scale[0]
    for layer in range(f.added.size):
        f.added[layer] += abs((round + 1.0) * a if layer else a)
    for c in range(inputs.table.shape[0]):
        insert(inputs, f, c, x[c * size : (c + 1) * size], a, (round + 1.0) * a)


@hot_inline
def shrink(f: Curves, factor: float) -> None:
    """f ← factor · f."""
    f.scale[0] *= factor
    if not SMALLEST_SCALE <= f.scale[0] <= LARGEST_SCALE:
        fold(f)


@hot
def prepare(inputs: Inputs, f: Curves, X: Matrix) -> Vector:
    """Scratch memory for `evaluate`; caches in each row the paths to its blocks."""
    find_ways(inputs, f, X)
    return np.empty(max(BLOCK, FAN))
