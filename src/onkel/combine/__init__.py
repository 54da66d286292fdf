"""Learners made of learners: scaled, one-vs-rest, experts, auto, lags, intervals.

Wrappers with the same three verbs around other learners, and rules that mix the scores of several.

Decisions: docs/decisions/combine.md
"""

from onkel.combine.auto import Auto
from onkel.combine.calibrated import Calibrated
from onkel.combine.experts import Experts
from onkel.combine.intervals import Intervals
from onkel.combine.lagged import Lagged
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.rules import BOA, ExponentialWeights, FixedShare, Layered, MLPoly, Ridge, Rule, Stacking
from onkel.combine.scaled import Scaled

__all__ = [
    "BOA",
    "Auto",
    "Calibrated",
    "Experts",
    "ExponentialWeights",
    "FixedShare",
    "Intervals",
    "Lagged",
    "Layered",
    "MLPoly",
    "OneVsRest",
    "Ridge",
    "Rule",
    "Scaled",
    "Stacking",
]
