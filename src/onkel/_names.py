"""The public names, all of them. `onkel` fetches this module when the first of them is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onkel import combine, data, measure
from onkel.combine import BOA, Experts, ExponentialWeights, FixedShare, Layered, MLPoly, Ridge, Stacking
from onkel.dictionary import Kors, Start, Uniform
from onkel.errors import FileError, InputError
from onkel.features import Basis, Chain, Constant, Fourier, Identity, Mercer, Nystroem, Standardize, Taylor
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
from onkel.learners import (
    BOGD,
    BPAS,
    FOGD,
    FORKS,
    KONS,
    NOGD,
    NORMA,
    PKAWV,
    RBP,
    ROMMA,
    Forgetron,
    FunctionalSGD,
    KernelAdatron,
    KernelAWV,
    KernelRidge,
    MarginProjection,
    MercerProjection,
    NewtonFeatures,
    PassiveAggressive,
    Perceptron,
    PKAWVNystroem,
    Projectron,
    ProjectronPP,
    ProsNKONS,
    SkeGD,
    SketchedKONS,
    TubeProjection,
)
from onkel.learners.cycle import cycle
from onkel.losses import EpsilonInsensitive, Hinge, Logistic, Square, SquaredEpsilonInsensitive, SquaredHinge
from onkel.measure import Regret, Trace, budget_for, components, effective_dimension, prequential, regret
from onkel.persist import load, parse, save
from onkel.state import nbytes

if TYPE_CHECKING:
    from onkel.estimators import Classifier, Regressor, Transformer, to_river

__all__ = [
    "BOA",
    "BOGD",
    "BPAS",
    "FOGD",
    "FORKS",
    "KONS",
    "NOGD",
    "NORMA",
    "PKAWV",
    "RBP",
    "ROMMA",
    "Additive",
    "AdditiveSystem",
    "Bases",
    "Basis",
    "Beam",
    "Brownian",
    "Chain",
    "Classifier",
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
    "Forgetron",
    "Fourier",
    "FunctionalSGD",
    "Gaussian",
    "Haar",
    "Hermite",
    "Hinge",
    "Identity",
    "InputError",
    "KernelAWV",
    "KernelAdatron",
    "KernelRidge",
    "Kors",
    "Laplacian",
    "Layered",
    "Legendre",
    "Linear",
    "Listed",
    "Logistic",
    "MLPoly",
    "MarginProjection",
    "Mercer",
    "MercerProjection",
    "NewtonFeatures",
    "Numerical",
    "Nystroem",
    "PKAWVNystroem",
    "PassiveAggressive",
    "Perceptron",
    "Periodic",
    "PeriodicSpline",
    "Polynomial",
    "ProductSystem",
    "Projectron",
    "ProjectronPP",
    "ProsNKONS",
    "Regressor",
    "Regret",
    "Ridge",
    "Sine",
    "SkeGD",
    "SketchedKONS",
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
    "TubeProjection",
    "Uniform",
    "budget_for",
    "combine",
    "components",
    "cycle",
    "data",
    "effective_dimension",
    "load",
    "measure",
    "nbytes",
    "parse",
    "prequential",
    "regret",
    "save",
    "to_river",
]


def __getattr__(name: str) -> Any:
    """The estimators, once somebody asks: scikit-learn, which they are made of, takes a second to import."""
    if name in ("Classifier", "Regressor", "Transformer", "to_river"):
        from onkel import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'onkel' has no attribute {name!r}")
