"""How numbers are written for people, and round numbers along an axis."""

from __future__ import annotations

import math

from onkel.report.results import AT_MOST_1, SHARES, number

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


def written(value: float, share: bool = False) -> str:
    """A number for people: 12,500, 0.25, 3.2e-07; a share in per cent."""
    if share:
        return f"{float(f'{100.0 * value:.3g}'):g}%"
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 1e9:
        if abs(value) >= 1000.0:
            return f"{float(f'{value:.6g}'):,.0f}"
        return f"{float(f'{value:.4g}'):g}"
    return f"{value:.3g}"


def shown(metric: str, value: float) -> str:
    """The value of a metric."""
    if metric in SHARES and abs(value) > LARGE_SHARE:
        return written(value, share=True)
    return number(metric, value) if metric in (*SHARES, *AT_MOST_1) else written(value)
