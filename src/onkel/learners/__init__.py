"""One paper's algorithm, one file, and nothing else. The imports below are the only list of learners, one line for each.

Decisions: docs/decisions/learners.md
"""

from typing import TYPE_CHECKING

from onkel.learners.bogd import BOGD as BOGD
from onkel.learners.bpas import BPAS as BPAS
from onkel.learners.exact import KernelAWV as KernelAWV
from onkel.learners.exact import KernelRidge as KernelRidge
from onkel.learners.fogd import FOGD as FOGD
from onkel.learners.forgetron import Forgetron as Forgetron
from onkel.learners.forks import FORKS as FORKS
from onkel.learners.functional_sgd import FunctionalSGD as FunctionalSGD
from onkel.learners.kernel_adatron import KernelAdatron as KernelAdatron
from onkel.learners.kons import KONS as KONS
from onkel.learners.kons import SketchedKONS as SketchedKONS
from onkel.learners.mercer_projection import MercerProjection as MercerProjection
from onkel.learners.neighbours import Neighbours as Neighbours
from onkel.learners.newton_features import NewtonFeatures as NewtonFeatures
from onkel.learners.nogd import NOGD as NOGD
from onkel.learners.norma import NORMA as NORMA
from onkel.learners.passive_aggressive import PassiveAggressive as PassiveAggressive
from onkel.learners.perceptron import Perceptron as Perceptron
from onkel.learners.pkawv import PKAWV as PKAWV
from onkel.learners.pkawv_nystroem import PKAWVNystroem as PKAWVNystroem
from onkel.learners.projection import MarginProjection as MarginProjection
from onkel.learners.projection import TubeProjection as TubeProjection
from onkel.learners.projectron import Projectron as Projectron
from onkel.learners.projectron import ProjectronPP as ProjectronPP
from onkel.learners.pros_n_kons import ProsNKONS as ProsNKONS
from onkel.learners.random_trees import RandomTrees as RandomTrees
from onkel.learners.rbp import RBP as RBP
from onkel.learners.romma import ROMMA as ROMMA
from onkel.learners.skegd import SkeGD as SkeGD
from onkel.learners.sketched_newton import SketchedNewton as SketchedNewton

names = sorted(name for name, thing in globals().items() if isinstance(thing, type))
if not TYPE_CHECKING:  # a type checker reads the lines above, and takes a list that is not written out for an empty one
    __all__ = names
