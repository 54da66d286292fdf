"""onkel: online kernel learning. Nonlinear predictors from a stream, in one pass, with bounded memory and proven regret.

learner = onkel.PKAWV(features=(onkel.Standardize(), onkel.Taylor(degree=2)))     the settings: frozen
state = learner.init(dim=8)                                                       all of the memory
scores = learner.learn(state, X, y)                                               the score of each row before it is learnt
scores = learner.predict(state, X)                                                changes nothing
"""

from onkel import data, measure
from onkel.dictionary import Kors, Uniform
from onkel.errors import FileError, InputError
from onkel.features import Basis, Chain, Constant, Fourier, Identity, Nystroem, Standardize, Taylor
from onkel.kernels import CustomKernel, Gaussian, Laplacian, Linear, Polynomial
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
    Forgetron,
    KernelAWV,
    KernelRidge,
    NewtonFeatures,
    PassiveAggressive,
    Perceptron,
    PKAWVNystroem,
    Projectron,
    ProjectronPP,
    ProsNKONS,
    SkeGD,
    SketchedKONS,
)
from onkel.losses import EpsilonInsensitive, Hinge, Logistic, Square, SquaredEpsilonInsensitive, SquaredHinge
from onkel.measure import Regret, Trace, budget_for, effective_dimension, prequential, regret
from onkel.persist import load, parse, save
from onkel.state import nbytes

__all__ = [
    "BOGD",
    "BPAS",
    "FOGD",
    "FORKS",
    "KONS",
    "NOGD",
    "NORMA",
    "PKAWV",
    "RBP",
    "Basis",
    "Chain",
    "Constant",
    "CustomKernel",
    "EpsilonInsensitive",
    "FileError",
    "Forgetron",
    "Fourier",
    "Gaussian",
    "Hinge",
    "Identity",
    "InputError",
    "KernelAWV",
    "KernelRidge",
    "Kors",
    "Laplacian",
    "Linear",
    "Logistic",
    "NewtonFeatures",
    "Nystroem",
    "PKAWVNystroem",
    "PassiveAggressive",
    "Perceptron",
    "Polynomial",
    "Projectron",
    "ProjectronPP",
    "ProsNKONS",
    "Regret",
    "SkeGD",
    "SketchedKONS",
    "Square",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Standardize",
    "Taylor",
    "Trace",
    "Uniform",
    "budget_for",
    "data",
    "effective_dimension",
    "load",
    "measure",
    "nbytes",
    "parse",
    "prequential",
    "regret",
    "save",
]
