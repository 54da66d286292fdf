"""Round numbers along an axis, and the values of metrics on a page."""

from __future__ import annotations

import math

from onkel.report.results import SHARES, number, written

LARGE_SHARE = 100.0  # above this, shares are written with few digits


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, about so many."""
    if not high > low:
        return [low]
    rough = (high - low) / max(1, about)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * unit for unit in (1.0, 2.0, 2.5, 5.0, 10.0) if size * unit >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    found = [(first + k) * step for k in range(2 * about + 2)]
    return [0.0 if abs(value) < step * 1e-9 else value for value in found if value <= high + step * 1e-9]


def shown(metric: str, value: float) -> str:
    """The value of a metric."""
    if metric in SHARES and abs(value) > LARGE_SHARE:
        return written(value, share=True)
    return number(metric, value)
