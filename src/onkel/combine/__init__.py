"""Learners made of learners: the same three verbs, around somebody else's."""

from onkel.combine.intervals import Intervals
from onkel.combine.lagged import Lagged
from onkel.combine.one_vs_rest import OneVsRest
from onkel.combine.scaled import Scaled

__all__ = ["Intervals", "Lagged", "OneVsRest", "Scaled"]
