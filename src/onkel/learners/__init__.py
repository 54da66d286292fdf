"""One paper's algorithm, one file. This list is the catalogue; `onkel.__all__` repeats it for users and laws."""

from onkel.learners.bogd import BOGD
from onkel.learners.bpas import BPAS
from onkel.learners.exact import KernelAWV, KernelRidge
from onkel.learners.fogd import FOGD
from onkel.learners.forgetron import Forgetron
from onkel.learners.forks import FORKS
from onkel.learners.functional_sgd import FunctionalSGD
from onkel.learners.kernel_adatron import KernelAdatron
from onkel.learners.kons import KONS, SketchedKONS
from onkel.learners.mercer_projection import MercerProjection
from onkel.learners.neighbours import Neighbours
from onkel.learners.newton_features import NewtonFeatures
from onkel.learners.nogd import NOGD
from onkel.learners.norma import NORMA
from onkel.learners.passive_aggressive import PassiveAggressive
from onkel.learners.perceptron import Perceptron
from onkel.learners.pkawv import PKAWV
from onkel.learners.pkawv_nystroem import PKAWVNystroem
from onkel.learners.projection import MarginProjection, TubeProjection
from onkel.learners.projectron import Projectron, ProjectronPP
from onkel.learners.pros_n_kons import ProsNKONS
from onkel.learners.random_trees import RandomTrees
from onkel.learners.rbp import RBP
from onkel.learners.romma import ROMMA
from onkel.learners.skegd import SkeGD

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
    "ROMMA",
    "Forgetron",
    "FunctionalSGD",
    "KernelAWV",
    "KernelAdatron",
    "KernelRidge",
    "MarginProjection",
    "MercerProjection",
    "Neighbours",
    "NewtonFeatures",
    "PKAWVNystroem",
    "PassiveAggressive",
    "Perceptron",
    "Projectron",
    "ProjectronPP",
    "ProsNKONS",
    "RandomTrees",
    "SkeGD",
    "SketchedKONS",
    "TubeProjection",
]
