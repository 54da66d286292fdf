"""x -> z of finite width: maps that own their kernel, chained with a tuple and put side by side with +.

Decisions: docs/decisions/features.md
"""

from onkel.features.basis import Basis
from onkel.features.compose import Chain, Constant, Features, Identity, Sum
from onkel.features.fourier import Fourier
from onkel.features.hats import Hats
from onkel.features.mercer import Mercer
from onkel.features.nystroem import Nystroem
from onkel.features.products import Products
from onkel.features.project import Project
from onkel.features.ranks import Ranks
from onkel.features.scale import Standardize
from onkel.features.taylor import Taylor

__all__ = [
    "Basis",
    "Chain",
    "Constant",
    "Features",
    "Fourier",
    "Hats",
    "Identity",
    "Mercer",
    "Nystroem",
    "Products",
    "Project",
    "Ranks",
    "Standardize",
    "Sum",
    "Taylor",
]
