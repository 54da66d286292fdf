"""The ways in which a learner without a budget holds its function, behind the same calls.

    Support         every point, O(m) a row: any kernel
    SortedBlocks    a sum of curves, O(log m) a row: additive kernels whose halves fall apart
    CurvesWithDelta the same with a `Delta`
    LinearFunction  a weight for each column, O(1) in m: the linear kernel

Compiled code says evaluate(kernel, f, x, work); which of them is meant is settled when it is compiled.

Each can keep, beside f = Σ a_i k(x_i, ·), its moment Σ i a_i k(x_i, ·), with i the round that brought x_i, counted from 1. The mean
of all that f has been after n rounds, 0 before the first of them included, is f − moment / (n + 1).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from onkel._jit import by_type
from onkel.functions import curves_with_delta, linear, sorted_blocks, support
from onkel.functions.block_layout import Curves
from onkel.functions.curves_with_delta import DeltaTerms, has_delta
from onkel.functions.function import Function
from onkel.functions.linear import LinearTerms
from onkel.functions.support import SupportTerms
from onkel.kernels import Additive, Interval, Kernel, Linear


def _module(kernel: Kernel) -> ModuleType:
    if isinstance(kernel, Linear):
        return linear
    if isinstance(kernel, Additive | Interval):
        return sorted_blocks
    return curves_with_delta if has_delta(kernel) else support


def empty(kernel: Kernel, dim: int, moment: bool = False) -> Function:
    """f = 0, held as suits the kernel on rows of `dim` columns, with its moment or without."""
    f: Function = _module(kernel).empty(kernel, dim, moment)
    return f


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return int(_module(kernel).footprint(kernel, dim, moment))


def _by_type(position: int, verb: str) -> Any:
    """What each of them does under this name."""
    modules = {SupportTerms: support, Curves: sorted_blocks, DeltaTerms: curves_with_delta, LinearTerms: linear}
    return by_type(position, {kind: getattr(module, verb) for kind, module in modules.items()})


evaluate = _by_type(1, "evaluate")  # (kernel, f, x, work): f(x)
with_moment = _by_type(1, "with_moment")  # (kernel, f, x, work): f(x), and its moment there, if it was made to keep one
add = _by_type(1, "join")  # (kernel, f, x, own, a, round): f ← f + a k(x, ·), if there is room
amend = _by_type(1, "amend")  # (kernel, f, slot, x, own, a, round): the same, for a point that may stand in this slot already
keep = _by_type(1, "keep")  # (kernel, f, x, own, a, round, most): the same, but beyond so many points the oldest gives way
shrink = _by_type(0, "shrink")  # (f, factor): f ← factor · f
count = _by_type(0, "count")  # (f): the points that have slots
holds = _by_type(0, "holds")  # (f, most): whether those are so many
has_room = _by_type(0, "has_room")  # (f): whether one more point fits
prepare = _by_type(1, "prepare")  # (kernel, f, X): memory for `evaluate`; into rows that go down a tree, their way is written
