"""The representations of a function f of any number m of points, all used by the same calls.

    Support          for any kernel: a sum over all points; a row costs O(m)
    SortedBlocks     for additive kernels (`onkel.kernels.lists`): a sum of curves; a row costs O(log m)
    CurvesWithDelta  for additive kernels plus a `Delta`: a sum of curves with spikes; a row costs O(log m)
    LinearFunction   for the linear kernel: one weight for each column; the cost of a row does not depend on m

Compiled code calls evaluate(kernel, f, x, work); the types of its arguments select the representation at compile time.

Besides f = Σ a_i k(x_i, ·) each can keep the *moment* of f, Σ i a_i k(x_i, ·), where i is the round of x_i, counted from 1. The
mean of f over n rounds, including f = 0 before the first, is f − moment / (n + 1).
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
    """f = 0 in the representation for this kernel, for rows of `dim` columns, with a moment or without."""
    f: Function = _module(kernel).empty(kernel, dim, moment)
    return f


def footprint(kernel: Kernel, dim: int, moment: bool = False) -> int:
    """The bytes that `empty` will hold."""
    return int(_module(kernel).footprint(kernel, dim, moment))


def _by_type(position: int, verb: str) -> Any:
    """A function that calls the one named `verb` of the module that fits the type of the argument at `position`."""
    modules = {SupportTerms: support, Curves: sorted_blocks, DeltaTerms: curves_with_delta, LinearTerms: linear}
    return by_type(position, {kind: getattr(module, verb) for kind, module in modules.items()})


evaluate = _by_type(1, "evaluate")  # (kernel, f, x, work): f(x)
with_moment = _by_type(1, "with_moment")  # (kernel, f, x, work): f(x), and the moment of f at x; 0 if f keeps none
add = _by_type(1, "join")  # (kernel, f, x, own, a, round): f ← f + a k(x, ·); there must be room
amend = _by_type(1, "amend")  # (kernel, f, slot, x, own, a, round): as `add`, for a point that may already be in this slot
keep = _by_type(1, "keep")  # (kernel, f, x, own, a, round, most): as `add`, but if f has `most` points, it replaces the oldest
shrink = _by_type(0, "shrink")  # (f, factor): f ← factor · f
count = _by_type(0, "count")  # (f): the number of points that have slots
holds = _by_type(0, "holds")  # (f, most): whether the number of points that have slots is `most`
has_room = _by_type(0, "has_room")  # (f): whether one more point fits
prepare = _by_type(1, "prepare")  # (kernel, f, X): scratch memory for `evaluate`; caches the path of each row down a tree
