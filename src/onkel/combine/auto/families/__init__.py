"""Families of experts: each computes the scores of several experts from the same views of the rows.

    RememberingRidge   ridge regression on many features, solved again from time to time; an expert for every prefix of its parts
    ForgettingRidge    ridge regression with forgetting on fewer features, exact in every row; again an expert for every prefix
    Logistic           logistic regression, for labels with two values
    DiagonalLinear     linear and logistic regressions with a diagonal covariance, for rows with many columns
    Nearest            nearest neighbours among the last rows
    Trees              online random trees

A family has the three verbs of a learner, for several experts at once: `learn` returns (n, outputs, experts). The rows are its
`features`, which it makes of the views. `learn_scored` learns a row that `predict` has just scored. All of them add steps to a
list, which are calls of compiled code: they fill the arrays that are returned.
"""

from onkel.combine.auto.families.diagonal_linear import DiagonalLinear
from onkel.combine.auto.families.expert import Expert
from onkel.combine.auto.families.forgetting_ridge import ForgettingRidge
from onkel.combine.auto.families.logistic import Logistic
from onkel.combine.auto.families.nearest import Nearest
from onkel.combine.auto.families.parts import Part, Parts
from onkel.combine.auto.families.remembering_ridge import RememberingRidge
from onkel.combine.auto.families.trees import Trees

Family = RememberingRidge | ForgettingRidge | Logistic | DiagonalLinear | Nearest | Trees

__all__ = [
    "DiagonalLinear",
    "Expert",
    "Family",
    "ForgettingRidge",
    "Logistic",
    "Nearest",
    "Part",
    "Parts",
    "RememberingRidge",
    "Trees",
]
