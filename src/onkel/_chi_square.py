"""The quantiles of the χ² distribution, which the standard library lacks.

>>> round(quantile(0.95, freedom=2), 10) == round(-2.0 * math.log(0.05), 10)  # two degrees of freedom: exponential distribution
True
"""

from __future__ import annotations

import itertools
import math


def quantile(share: float, freedom: int) -> float:
    """The quantile: the number that a χ² variable (the sum of squares of `freedom` independent standard normal variables) does not
    exceed with probability `share`."""
    rare = -math.log1p(-share)
    low, high = 0.0, freedom + 2.0 * math.sqrt(freedom * rare) + 2.0 * rare  # an upper bound: Laurent & Massart (2000), lemma 1
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return high


def _below(x: float, freedom: int) -> float:
    """P(χ² ≤ x): with a = freedom/2 and u = x/2, uᵃe⁻ᵘ/Γ(a+1) · (1 + u/(a+1) + u²/((a+1)(a+2)) + …)."""
    a, u = 0.5 * freedom, 0.5 * x
    term = total = math.exp(a * math.log(u) - u - math.lgamma(a + 1.0))
    for n in itertools.count(1):
        term *= u / (a + n)
        total += term
        if u < a + n and term <= total * 1e-17:
            break
    return total
