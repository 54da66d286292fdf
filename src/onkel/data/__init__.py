"""Where tables come from: one file a format, named sets, generators.

Decisions: docs/decisions/data.md
"""

from __future__ import annotations

from onkel.data.generators import abrupt, drifting, friedman, rings, smooth
from onkel.data.order import Order
from onkel.data.reading import Reading, open_tables

__all__ = [
    "Order",
    "Reading",
    "abrupt",
    "drifting",
    "friedman",
    "open_tables",
    "rings",
    "smooth",
]
