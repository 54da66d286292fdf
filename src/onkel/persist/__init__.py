"""Stop and go on: one file holds learner and state."""

from onkel.persist.checkpoint import Extra, load, read, save
from onkel.persist.config import from_json, parse, to_json

__all__ = ["Extra", "from_json", "load", "parse", "read", "save", "to_json"]
