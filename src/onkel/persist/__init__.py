"""Pack, unpack, save, load: a model, or a bare learner, and its state as bytes or as one file.

Decisions: docs/decisions/persist.md
"""

from onkel.persist.checkpoint import Extra, load, pack, read, save, unpack
from onkel.persist.config import from_json, parse, to_json

__all__ = ["Extra", "from_json", "load", "pack", "parse", "read", "save", "to_json", "unpack"]
