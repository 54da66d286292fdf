"""A served model: its settings, its published version, and its place in the store."""

from __future__ import annotations

from dataclasses import dataclass

from onkel.errors import InputError
from onkel.serve.messages import Settings
from onkel.serve.version import Version


class Unknown(InputError):
    """There is no such model."""


class Conflict(InputError):
    """The name, or the id of a request, was used for something else."""


@dataclass
class Served:
    """A model, by its number in the store and by its name."""

    id: int
    name: str
    settings: Settings
    version: Version  # the last one that is on disk
    snapshot: int = 0  # the number of rows that its newest snapshot has learnt
    too_late: int = 0  # rows whose labels had not come when they were forgotten, since the server was started
    log_bytes: int = 0
