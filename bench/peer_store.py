"""The figures of the peers, stored in peers.json beside this file, by data, rows, peer and its version.

A forest takes milliseconds a row, so a peer is run again only if its figures are missing or `again` is asked for. Stored times thus
come from an earlier run, maybe on another machine. To make them comparable, the time of the first START rows is stored too. A
stored time is multiplied by the time of these rows now, divided by their time then.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from peer_models import START, Outcome, Peer, standardised
from streams import Array, Rows

from onkel.measure import log_loss, mistakes, square

FILE = Path(__file__).with_name("peers.json")
EARLY = 10_000
CUT = 1e-6  # the probabilities of all systems are clipped to [CUT, 1 − CUT]


@dataclass(frozen=True)
class Figures:
    """The figures of one system on one stream."""

    error: float  # share of mistakes, or mean square
    early: float  # the same, of the first EARLY rows
    log_loss: float | None  # of classes
    microseconds: float | None  # a row
    start: float | None  # the same, of the first START rows
    nbytes: int | None  # of the state after the last row


def figures(outcome: Outcome, y: Array, classify: bool) -> Figures:
    said, rows = outcome.said, len(y)
    error = mistakes(said - 0.5, y) if classify else square(said, y)
    return Figures(
        float(error.mean()),
        float(error[:EARLY].mean()),
        log_loss(said, y > 0.0, floor=CUT) if classify else None,
        1e6 * outcome.seconds / rows,
        None if outcome.start is None else 1e6 * outcome.start / min(START, rows),
        outcome.nbytes,
    )


def key(rows: Rows, peer: Peer) -> str:
    return f"{rows.name}, {len(rows.y)} rows, {rows.digest}, {peer.name}, {peer.version}"


def kept() -> dict[str, Figures]:
    if not FILE.is_file():
        return {}
    return {name: Figures(**values) for name, values in json.loads(FILE.read_text()).items()}


def keep(name: str, values: Figures) -> None:
    """Write the figures to the file at once. It is replaced as a whole, so it is never incomplete; figures that other processes
    have written to it are kept."""
    everything = {**kept(), name: values}
    lines = [f"{json.dumps(one)}: {json.dumps(asdict(everything[one]))}" for one in sorted(everything)]
    work = FILE.with_suffix(f".{os.getpid()}")
    work.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(work, FILE)


def measured(rows: Rows, peer: Peer, again: bool = False) -> Figures:
    """The stored figures; if there are none, the peer is run."""
    name = key(rows, peer)
    found = None if again else kept().get(name)
    if found is None:
        found = figures(peer.run(standardised(rows.X), rows.y, rows.classify), rows.y, rows.classify)
        keep(name, found)
    return found
