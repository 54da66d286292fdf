"""One paper's algorithm, one file. This list is the catalogue; `onkel.__all__` repeats it for users and laws."""

from onkel.learners.exact import KernelAWV, KernelRidge
from onkel.learners.kons import KONS, SketchedKONS
from onkel.learners.newton_features import NewtonFeatures
from onkel.learners.pkawv import PKAWV
from onkel.learners.pkawv_nystroem import PKAWVNystroem
from onkel.learners.pros_n_kons import ProsNKONS

__all__ = ["KONS", "PKAWV", "KernelAWV", "KernelRidge", "NewtonFeatures", "PKAWVNystroem", "ProsNKONS", "SketchedKONS"]
