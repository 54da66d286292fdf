"""Conditions that several theorems share."""

from __future__ import annotations

import math
from typing import Any

from onkel.errors import InputError

ROUNDING = 1e-9  # a condition may be violated by this much, relative to the limit


def oversampling(n: int, delta: float, accuracy: float = 0.5) -> float:
    """3 ln(4n²/δ)/ε², the β with which KORS keeps its guarantees in all n rounds with probability 1 − δ; ε is the `accuracy`.

    Calandriello, Lazaric & Valko (2017), the proof of Theorem 2. The theorem itself is printed with β ≥ 3 ln(n/δ)/ε², which the
    proof does not support: round t fails with a probability of at most 2t exp(−ε²β/3), and in sum over n rounds this is at most δ/2
    only for the β here. The other δ/2 is for the number of points.

    >>> round(oversampling(n=3000, delta=0.05)), round(3.0 * math.log(3000 / 0.05) / 0.5**2)  # as proved, and as printed
    (245, 132)
    """
    if n < 1:
        raise InputError("X has no rows; the bound is for one or more")
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must lie between 0 and 1, got {delta!r}")
    return 3.0 * math.log(4.0 * n**2 / delta) / accuracy**2 if accuracy > 0.0 else math.inf


def check_sampling(sampler: Any, n: int, delta: float) -> None:
    """Refuse a sampler to which the theorems do not apply for n rounds with probability 1 − δ. They need ε < 1 and the β of
    `oversampling`."""
    eps = sampler.accuracy
    needed = oversampling(n, delta, eps)
    if not 0.0 < eps < 1.0 or sampler.oversampling < needed * (1.0 - ROUNDING):
        raise InputError(
            f"the bound is for an accuracy ε below 1 and an oversampling of at least 3 ln(4n²/δ)/ε² = {needed:.4g}, "
            f"got {eps:g} and {sampler.oversampling:g}"
        )
