"""The largest budget of a learner that fits into a given memory."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from onkel.errors import InputError

LARGEST_BUDGET = 2**40


def budget_for(make: Callable[[int], Any], nbytes: int, dim: int) -> int:
    """The largest budget with which the state of `make(budget)` has at most `nbytes` after `init`, on rows of `dim` inputs.

    `make` decides which setting the budget is, so that different learners can be given the same memory. A learner that is not
    `bounded` grows later; the header of its file says how.

    make     Makes the learner of a given budget.
    nbytes   The largest size of its state in bytes.
    dim      The number of inputs.

    >>> onkel.budget_for(lambda budget: onkel.RBP(budget=budget), nbytes=100_000, dim=8)
    1135
    >>> onkel.budget_for(lambda count: onkel.FOGD(features=onkel.Fourier(count=count)), nbytes=100_000, dim=8)
    1249
    """
    if not callable(make) or isinstance(make, type):
        raise InputError(
            f"make must be a function of the budget, such as lambda budget: onkel.RBP(budget=budget), got {make!r:.60}"
        )
    nbytes, dim = operator.index(nbytes), operator.index(dim)

    def fits(budget: int) -> bool:
        return _is_refused(make, budget) or bool(make(budget).footprint(dim) <= nbytes)

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
        if high > LARGEST_BUDGET:
            raise InputError(f"{make(high)!r:.200} takes no more bytes with a larger budget; make must use its argument")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        raise InputError(
            f"{make(1)!r:.200} takes {make(1).footprint(dim):,} bytes on {dim} inputs, more than {nbytes:,}; raise nbytes"
        )
    while low > 1 and _is_refused(make, low):
        low -= 1
    make(low)
    return low


def _is_refused(make: Callable[[int], Any], budget: int) -> bool:
    """Whether the learner refuses this budget: it may need more than one point, or a multiple of some number."""
    try:
        make(budget)
    except InputError:
        return True
    return False
