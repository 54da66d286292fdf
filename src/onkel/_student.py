"""The quantiles of Student's t distribution, which the standard library lacks.

>>> round(quantile(NormalDist().inv_cdf(0.75), 1.0), 10)  # one degree of freedom: the quartiles of a Cauchy variable are ±1
1.0
"""

from __future__ import annotations

import math
from statistics import NormalDist

MANY = 1000  # degrees of freedom from which a series in their inverse is exact to eight digits


def quantile(z: float, freedom: float) -> float:
    """The number that |t| exceeds as rarely as |Z| exceeds z, for standard normal Z. If there are fewer than `MANY` degrees of
    freedom, they are rounded down, to at least 1."""
    if freedom >= MANY:
        return _expanded(z, freedom)
    share, whole, low, high = 2.0 * NormalDist().cdf(z) - 1.0, max(int(freedom), 1), 0.0, 0.5 * math.pi
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _within(middle, whole) < share else (low, middle)
    return math.sqrt(whole) * math.tan(low)


def _expanded(z: float, freedom: float) -> float:
    """Cornish & Fisher's series."""
    terms = (
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def _within(angle: float, freedom: int) -> float:
    """P(|t| ≤ √freedom · tan(angle)): Abramowitz & Stegun 26.7.3 and 26.7.4."""
    cos, odd = math.cos(angle), freedom % 2
    total, term = 0.0, cos if odd else 1.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cos * cos * (k - 1.0) / k
    return 2.0 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
