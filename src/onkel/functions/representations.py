"""The representations of a function without a budget, behind the same calls.

    Support         every point, O(m) a row: any kernel
    SortedBlocks    a sum of curves, O(log m) a row: additive kernels with lists (`onkel.kernels.lists`)
    CurvesWithDelta the same plus a `Delta`
    LinearFunction  one weight per column, O(1) in m: the linear kernel

Compiled code calls evaluate(kernel, f, x, work); the types of its arguments select the representation at compile time.

Besides f = Σ a_i k(x_i, ·) each can keep its moment Σ i a_i k(x_i, ·), where i is the round of x_i, counted from 1. The mean of f
over n rounds, including f = 0 before the first, is f − moment / (n + 1).
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
    """f = 0 in the representation that suits the kernel, on rows of `dim` columns, with its moment or without."""
    f: Function = _module(kernel).empty(kernel, dim, moment)
    return f


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return int(_module(kernel).footprint(kernel, dim, moment))


def _by_type(position: int, verb: str) -> Any:
    """The function of this name, of the module that matches the argument's type."""
    modules = {SupportTerms: support, Curves: sorted_blocks, DeltaTerms: curves_with_delta, LinearTerms: linear}
    return by_type(position, {kind: getattr(module, verb) for kind, module in modules.items()})


evaluate = _by_type(1, "evaluate")  # (kernel, f, x, work): f(x)
with_moment = _by_type(1, "with_moment")  # (kernel, f, x, work): f(x), and its moment there, if it keeps one
add = _by_type(1, "join")  # (kernel, f, x, own, a, round): f ← f + a k(x, ·), if there is room
amend = _by_type(1, "amend")  # (kernel, f, slot, x, own, a, round): the same, for a point that may already be in this slot
keep = _by_type(1, "keep")  # (kernel, f, x, own, a, round, most): the same, but with `most` points the oldest is evicted
shrink = _by_type(0, "shrink")  # (f, factor): f ← factor · f
count = _by_type(0, "count")  # (f): the number of points that have slots
holds = _by_type(0, "holds")  # (f, most): whether that number is `most`
has_room = _by_type(0, "has_room")  # (f): whether one more point fits
prepare = _by_type(1, "prepare")  # (kernel, f, X): scratch memory for `evaluate`; caches the path of each row down a tree
