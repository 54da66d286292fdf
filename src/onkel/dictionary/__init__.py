"""Which past points are kept."""

from onkel.dictionary.dictionary import Dictionary
from onkel.dictionary.kors import Kors
from onkel.dictionary.start import Start
from onkel.dictionary.uniform import Uniform

__all__ = ["Dictionary", "Kors", "Start", "Uniform"]
