"""How well it went, and what it cost."""

from onkel.measure.metrics import absolute, mistakes, square
from onkel.measure.prequential import Trace, prequential

__all__ = ["Trace", "absolute", "mistakes", "prequential", "square"]
