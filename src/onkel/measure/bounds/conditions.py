"""Conditions that several theorems share."""

from __future__ import annotations

import math
from typing import Any

from onkel.errors import InputError

ROUNDING = 1e-9  # a condition may be violated by this much, relative to the limit


def check_sampling(sampler: Any, n: int, delta: float) -> None:
    """Refuse a sampler to which the theorems do not apply for n rounds with probability 1 − δ. They need ε < 1 and
    β ≥ 3 ln(n/δ)/ε²."""
    if n < 1:
        raise InputError("X has no rows; the bound is for one or more")
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must lie between 0 and 1, got {delta!r}")
    eps = sampler.accuracy
    needed = 3.0 * math.log(n / delta) / eps**2 if eps > 0.0 else math.inf
    if not 0.0 < eps < 1.0 or sampler.oversampling < needed * (1.0 - ROUNDING):
        raise InputError(
            f"the bound is for an accuracy ε below 1 and an oversampling of at least 3 ln(n/δ)/ε² = {needed:.4g}, "
            f"got {eps:g} and {sampler.oversampling:g}"
        )
