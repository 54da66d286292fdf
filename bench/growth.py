"""How costs grow: the exponents that the benchmarks fit, and the table that shows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

console = Console(highlight=False, width=132)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of ln value against ln size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(title: str, symbol: str, sizes: Sequence[float], rows: dict[str, list[float]]) -> None:
    """Print a table with one line for each quantity, one column for each size, and the fitted exponent."""
    shown = Table(title=title, box=None, title_justify="left", header_style="bold")
    shown.add_column("")
    for heading in (*(f"{symbol} = {size:,.0f}" for size in sizes), "exponent"):
        shown.add_column(heading, justify="right")
    for name, values in rows.items():
        shown.add_row(name, *(f"{value:,.4g}" for value in values), f"{exponent(sizes, values):.2f}")
    console.print(shown, "")
