"""One paper's algorithm, one file. This list is the catalogue; `onkel.__all__` repeats it for users and laws."""

from onkel.learners.exact import KernelAWV, KernelRidge
from onkel.learners.pkawv import PKAWV
from onkel.learners.pkawv_nystroem import PKAWVNystroem

__all__ = ["PKAWV", "KernelAWV", "KernelRidge", "PKAWVNystroem"]
