"""How several experts become one: mixing rules with proven regret, one file each."""

from onkel.combine.rules.boa import BOA
from onkel.combine.rules.exponential_weights import ExponentialWeights
from onkel.combine.rules.fixed_share import FixedShare
from onkel.combine.rules.layered import Layered
from onkel.combine.rules.ml_poly import MLPoly
from onkel.combine.rules.ridge import Ridge
from onkel.combine.rules.rule import Rule
from onkel.combine.rules.stacking import Stacking

__all__ = ["BOA", "ExponentialWeights", "FixedShare", "Layered", "MLPoly", "Ridge", "Rule", "Stacking"]
