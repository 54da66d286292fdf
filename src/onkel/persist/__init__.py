"""Stop and go on: one file holds learner and state."""

from onkel.persist.checkpoint import load, save
from onkel.persist.config import from_json, parse, to_json

__all__ = ["from_json", "load", "parse", "save", "to_json"]
