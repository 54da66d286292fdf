"""How well it went, what it cost, and what theory promises."""

from onkel.measure import adversaries, bounds
from onkel.measure.metrics import absolute, mistakes, square
from onkel.measure.prequential import Trace, prequential
from onkel.measure.references import last_label, running_mean
from onkel.measure.regret import Regret, best_in_hindsight, effective_dimension, log_det, missing, regret, spectrum

__all__ = [
    "Regret",
    "Trace",
    "absolute",
    "adversaries",
    "best_in_hindsight",
    "bounds",
    "effective_dimension",
    "last_label",
    "log_det",
    "missing",
    "mistakes",
    "prequential",
    "regret",
    "running_mean",
    "spectrum",
    "square",
]
