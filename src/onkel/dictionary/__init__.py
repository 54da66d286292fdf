"""Which past points are kept: by leverage scores, uniformly, with their span and history.

Decisions: docs/decisions/dictionary.md
"""

from onkel.dictionary.dictionary import Dictionary
from onkel.dictionary.kors import Kors
from onkel.dictionary.start import Start
from onkel.dictionary.uniform import Uniform

__all__ = ["Dictionary", "Kors", "Start", "Uniform"]
