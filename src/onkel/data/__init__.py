"""Where blocks (X, y) come from: files, pipes, tables in memory, generators."""

from __future__ import annotations

from onkel.data.encoder import Cyclic, Encoder, Hashed, Missing, Number, OneHot
from onkel.data.files import read
from onkel.data.generators import abrupt, drifting, friedman, rings, smooth
from onkel.data.order import Order
from onkel.data.stream import Stream

__all__ = [
    "Cyclic",
    "Encoder",
    "Hashed",
    "Missing",
    "Number",
    "OneHot",
    "Order",
    "Stream",
    "abrupt",
    "drifting",
    "friedman",
    "read",
    "rings",
    "smooth",
]
