"""Functions of an additive kernel plus `Delta`, curves with spikes: f(x) = ρ (Σ_c f_c(x_c) + weight · Σ_{x_i = x} a_i).

ρ is the scale of f, and a_i the coefficient of the point x_i. The spike at x_i lets f fit this row without changing the curves.
Thus there is an f that fits even noisy labels, so a learner that is made for streams without noise can be used on noisy ones
(Shawe-Taylor & Cristianini; Herbster 2001, section 2.2). The sums of the spikes are in a hash table of rows. To find a row there
costs O(1), besides the O(log m) of the curves. If f has a moment (`representations`), a row has two entries in the table: with
label 0 for f, and with label 1 for the moment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.functions import row_table, sorted_blocks
from onkel.functions.block_layout import Curves, Inputs, width
from onkel.functions.function import Function
from onkel.functions.learnt import Learnt
from onkel.functions.row_table import RowSlots, RowTable, enter, slot
from onkel.functions.sorted_blocks import SortedBlocks
from onkel.kernels import Additive, Delta, Interval, Kernel, Sum
from onkel.state import memory, nbytes


class DeltaInputs(NamedTuple):
    """The kernel, for compiled code."""

    inputs: Inputs  # the additive kernel
    weight: float
    dim: int  # the row itself is in the last `dim` numbers


class DeltaTerms(NamedTuple):
    """The arrays of a `CurvesWithDelta`, for compiled code."""

    curves: Curves
    table: RowSlots


@memory
class CurvesWithDelta(Function):
    curves: SortedBlocks
    table: RowTable  # Σ a_i of each row seen; for a moment also Σ (round + 1) a_i, in another entry

    @property
    def scale(self) -> Vector:  # type: ignore[override]
        return self.curves.scale

    @property
    def compiled(self) -> DeltaTerms:
        return DeltaTerms(self.curves.compiled, self.table.table)

    @property
    def has_room(self) -> bool:
        return self.curves.has_room and bool(row_table.has_room(self.table.table, self._layers))

    def make_room(self, kernel: Kernel) -> None:
        """Enlarge the arrays if another point would not fit."""
        self.curves.make_room(parts(kernel)[0])
        self.table.make_room(self._layers)

    @property
    def _layers(self) -> int:
        return int(self.curves.totals.shape[1])

    def bytes_with(self, rows: int) -> int:
        slots = 4 * (int(self.table.size[0]) + self._layers * rows)  # a table is at least a quarter full, and doubling copies it
        return self.curves.bytes_with(rows) + 2 * max(nbytes(self.table), 32 * slots)

    def learnt(self, kernel: Kernel, rounds: int | None = None) -> Learnt:
        return replace(self.curves.learnt(parts(kernel)[0], rounds), kernel=kernel)

    def lists(self, kernel: Kernel, X: Matrix) -> Matrix:
        return self.curves.lists(parts(kernel)[0], X)

    def placed(self, kernel: Kernel, lists: Matrix) -> Matrix:
        return self.curves.placed(parts(kernel)[0], lists)

    def source(self, kernel: Kernel, rows: Matrix) -> DeltaInputs:
        additive, weight = parts(kernel)
        inputs = self.curves.source(additive, rows)
        return DeltaInputs(inputs, weight, rows.shape[1] - len(self.curves.roots) * width(inputs))

    def check(self, kernel: Kernel, rows: int, room: int | None) -> None:
        additive, _ = parts(kernel)
        self.curves.check(additive, rows, room)
        self.table.check(self._layers * rows)
        if np.any(self.table.places):
            raise InputError("its table of rows has indices, though there is no array for them")


def has_delta(kernel: Kernel) -> bool:
    """Whether the kernel is a sum of one additive kernel and one or more `Delta`s."""
    if not isinstance(kernel, Sum):
        return False
    others = [part for part in kernel.parts if not isinstance(part, Delta)]
    return len(others) == 1 < len(kernel.parts) and isinstance(others[0], Additive | Interval)


def parts(kernel: Kernel) -> tuple[Kernel, float]:
    """The additive kernel, and the total weight of the deltas."""
    assert isinstance(kernel, Sum)
    additive = next(part for part in kernel.parts if not isinstance(part, Delta))
    return additive, sum(part.weight for part in kernel.parts if isinstance(part, Delta))


def empty(kernel: Kernel, dim: int, moment: bool = False) -> CurvesWithDelta:
    """f = 0, a function of rows of `dim` columns."""
    return CurvesWithDelta(sorted_blocks.empty(parts(kernel)[0], dim, moment), row_table.empty())


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return sorted_blocks.footprint(parts(kernel)[0], dim, moment) + row_table.footprint()


@hot_inline
def evaluate(kernel: DeltaInputs, f: DeltaTerms, x: Vector, work: Vector) -> float:
    """f(x)."""
    end = x.size - kernel.dim
    return float(sorted_blocks.evaluate(kernel.inputs, f.curves, x[:end], work) + _spike(kernel, f, x[end:], 0.0))


@hot_inline
def with_moment(kernel: DeltaInputs, f: DeltaTerms, x: Vector, work: Vector) -> tuple[float, float]:
    """f(x), and the moment of f at x (see `representations`)."""
    end = x.size - kernel.dim
    value, moment = sorted_blocks.with_moment(kernel.inputs, f.curves, x[:end], work)
    return value + _spike(kernel, f, x[end:], 0.0), moment + _spike(kernel, f, x[end:], 1.0)


@hot_inline
def _spike(kernel: DeltaInputs, f: DeltaTerms, x: Vector, label: float) -> float:
    return float(f.curves.scale[0] * kernel.weight * f.table.values[slot(f.table, x, label)])  # 0 in a free slot


@hot_inline
def join(kernel: DeltaInputs, f: DeltaTerms, x: Vector, own: float, a: float, round: int) -> None:
    """f ← f + a k(x, ·); there is room."""
    end = x.size - kernel.dim
    sorted_blocks.join(kernel.inputs, f.curves, x[:end], own, a, round)
    for layer in range(f.curves.totals.shape[1]):
        at = slot(f.table, x[end:], float(layer))
        enter(f.table, at, x[end:], float(layer), 0)
        f.table.values[at] += a / f.curves.scale[0] * (round + 1.0 if layer else 1.0)


@hot_inline
def shrink(f: DeltaTerms, factor: float) -> None:
    """f ← factor · f."""
    scale = f.curves.scale[0] * factor
    sorted_blocks.shrink(f.curves, factor)
    if f.curves.scale[0] != scale:  # the scale was multiplied into the coefficients of the curves, and set to 1
        for i in range(f.table.values.size):
            f.table.values[i] *= scale


@hot_inline
def keep(kernel: DeltaInputs, f: DeltaTerms, x: Vector, own: float, a: float, round: int, most: int) -> None:
    """The same as `join`: the points have no slots, so their number is not limited."""
    join(kernel, f, x, own, a, round)


@hot_inline
def amend(kernel: DeltaInputs, f: DeltaTerms, slot: int, x: Vector, own: float, a: float, round: int) -> None:
    """The same as `join`, which finds a point that is already there by its keys."""
    join(kernel, f, x, own, a, round)


@hot_inline
def count(f: DeltaTerms) -> int:
    return 0


@hot_inline
def holds(f: DeltaTerms, most: int) -> bool:
    return False


@hot_inline
def has_room(f: DeltaTerms) -> bool:
    return sorted_blocks.has_room(f.curves) and row_table.has_room(f.table, f.curves.totals.shape[1])


@hot
def prepare(kernel: DeltaInputs, f: DeltaTerms, X: Matrix) -> Vector:
    """Scratch memory for `evaluate`; caches in each row the paths to its blocks."""
    return sorted_blocks.prepare(kernel.inputs, f.curves, X)
