"""Recovery: each model is its newest snapshot and the blocks logged after it, learnt again exactly as they were."""

from __future__ import annotations

import msgspec

from onkel.errors import FileError, InputError
from onkel.serve.messages import Block, Settings
from onkel.serve.served import Served
from onkel.serve.store import Known, Store
from onkel.serve.version import Version, unpacked

_SETTINGS, _BLOCK = msgspec.json.Decoder(Settings), msgspec.json.Decoder(Block)


def recovered(store: Store) -> dict[str, Served]:
    """All models of the store, by name."""
    return {known.name: _recovered(store, known) for known in store.models()}


def _recovered(store: Store, known: Known) -> Served:
    settings = _SETTINGS.decode(known.settings)
    version = _snapshot(store, known, Version(settings.model()))
    served = Served(known.id, known.name, settings, version, version.rows, log_bytes=store.bytes_of_log(known.id))
    for last, data in store.blocks_after(known.id, version.rows):
        block = _BLOCK.decode(data)
        if served.version.rows + len(block.rows) != last:
            raise FileError(
                f"the log of {known.name!r} in {store.folder} lacks rows: the block after row {served.version.rows:,} ends at "
                f"row {last:,}; restore a backup"
            )
        served.version = served.version.learn(block.rows, block.lagged)[0]
    return served


def _snapshot(store: Store, known: Known, empty: Version) -> Version:
    """The version of the newest snapshot that can be read; the empty one if there is none."""
    for last, data in store.snapshots(known.id):
        try:
            return unpacked(empty.model, last, data)
        except (FileError, InputError):
            continue  # the older snapshot, and more of the log
    return empty
