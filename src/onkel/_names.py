"""All public names. `onkel` imports this module when one of them is first used."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from onkel import combine, data, learners, measure
from onkel.client import Client
from onkel.combine import BOA, Auto, Experts, ExponentialWeights, FixedShare, Layered, MLPoly, Ridge, Stacking
from onkel.dictionary import Kors, Start, Uniform
from onkel.errors import FileError, InputError
from onkel.features import (
    Basis,
    Chain,
    Constant,
    Fourier,
    Hats,
    Identity,
    Mercer,
    Nystroem,
    Products,
    Project,
    Ranks,
    Standardize,
    Taylor,
)
from onkel.features.mercer import (
    AdditiveSystem,
    Beam,
    Cosine,
    Haar,
    Hermite,
    Legendre,
    Listed,
    Numerical,
    Periodic,
    ProductSystem,
    Sine,
    Sphere,
    WithPolynomials,
)
from onkel.kernels import (
    Additive,
    Bases,
    Brownian,
    CustomKernel,
    Delta,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    PeriodicSpline,
    Polynomial,
    Spline,
)
from onkel.learners import *  # noqa: F403
from onkel.losses import EpsilonInsensitive, Hinge, Logistic, Square, SquaredEpsilonInsensitive, SquaredHinge
from onkel.measure import Regret, Trace, budget_for, components, cycle, effective_dimension, explain, prequential, regret
from onkel.model import Model, read
from onkel.persist import load, pack, parse, save, unpack
from onkel.state import nbytes

if TYPE_CHECKING:
    from onkel.estimators import Classifier, Regressor, Transformer, to_river

ESTIMATORS = ("Classifier", "Regressor", "Transformer", "to_river")

__all__ = [
    "BOA",
    "Additive",
    "AdditiveSystem",
    "Auto",
    "Bases",
    "Basis",
    "Beam",
    "Brownian",
    "Chain",
    "Classifier",
    "Client",
    "Constant",
    "Cosine",
    "CustomKernel",
    "Delta",
    "EpsilonInsensitive",
    "Experts",
    "Exponential",
    "ExponentialWeights",
    "FileError",
    "FixedShare",
    "Fourier",
    "Gaussian",
    "Haar",
    "Hats",
    "Hermite",
    "Hinge",
    "Identity",
    "InputError",
    "Kors",
    "Laplacian",
    "Layered",
    "Legendre",
    "Linear",
    "Listed",
    "Logistic",
    "MLPoly",
    "Mercer",
    "Model",
    "Numerical",
    "Nystroem",
    "Periodic",
    "PeriodicSpline",
    "Polynomial",
    "ProductSystem",
    "Products",
    "Project",
    "Ranks",
    "Regressor",
    "Regret",
    "Ridge",
    "Sine",
    "Sphere",
    "Spline",
    "Square",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Stacking",
    "Standardize",
    "Start",
    "Taylor",
    "Trace",
    "Transformer",
    "Uniform",
    "WithPolynomials",
    "budget_for",
    "combine",
    "components",
    "cycle",
    "data",
    "effective_dimension",
    "explain",
    "load",
    "measure",
    "nbytes",
    "pack",
    "parse",
    "prequential",
    "read",
    "regret",
    "save",
    "to_river",
    "unpack",
]
__all__ += learners.names
if importlib.util.find_spec("sklearn") is None:  # an extra: `from onkel import *` works without it
    __all__ = [name for name in __all__ if name not in ESTIMATORS]


def __getattr__(name: str) -> Any:
    """Import the estimators when they are first used: they need scikit-learn, which takes a second to import."""
    if name in ESTIMATORS:
        from onkel import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'onkel' has no attribute {name!r}")
