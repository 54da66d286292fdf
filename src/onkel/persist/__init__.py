"""Stop and go on: one file holds learner and state."""

from onkel.persist.checkpoint import Extra, load, pack, read, save, unpack
from onkel.persist.config import from_json, parse, to_json

__all__ = ["Extra", "from_json", "load", "pack", "parse", "read", "save", "to_json", "unpack"]
