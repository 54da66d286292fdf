"""How well it went, and what it cost."""

from onkel.measure.metrics import absolute, mistakes, square
from onkel.measure.prequential import Trace, prequential
from onkel.measure.references import last_label, running_mean

__all__ = ["Trace", "absolute", "last_label", "mistakes", "prequential", "running_mean", "square"]
