"""Learners made of learners: the same three verbs, around somebody else's."""

from onkel.combine.experts import Experts
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.rules import BOA, ExponentialWeights, FixedShare, Layered, MLPoly, Ridge, Stacking
from onkel.combine.scaled import Scaled

__all__ = ["BOA", "Experts", "ExponentialWeights", "FixedShare", "Layered", "MLPoly", "OneVsRest", "Ridge", "Scaled", "Stacking"]
