"""Learners made of learners: the same three verbs, around somebody else's."""

from onkel.combine.intervals import Intervals
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.scaled import Scaled

__all__ = ["Intervals", "OneVsRest", "Scaled"]
