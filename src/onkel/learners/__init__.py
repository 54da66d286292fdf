"""One paper's algorithm, one file. This list is the catalogue: laws, command line, docs and benchmarks read it."""

from onkel.learners.pkawv import PKAWV

__all__ = ["PKAWV"]
