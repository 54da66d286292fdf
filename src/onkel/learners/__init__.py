"""One paper's algorithm, one file. This list is the catalogue; `onkel.__all__` repeats it for users and laws."""

from onkel.learners.pkawv import PKAWV

__all__ = ["PKAWV"]
