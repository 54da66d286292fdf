"""Learners made of learners: scaled, one-vs-rest, experts, auto, lags, intervals.

Wrappers have the same three verbs as the learner inside them. Rules mix the scores of several learners.

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
