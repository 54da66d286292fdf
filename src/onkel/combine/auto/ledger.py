"""What `Auto` remembers of its experts, to explain itself: their losses, and what they counted for over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._types import Counts, Cube, Matrix, Vector

SNAPSHOTS = 64  # when there are more, every second one is kept, and from then on half as many are taken


@dataclass
class Ledger:
    squares: Vector  # (experts,)  sum of squared errors, all outputs
    rows: Counts  # (SNAPSHOTS,)  after so many rows each snapshot was taken; 0 after the last
    weights: Matrix  # (SNAPSHOTS, experts)  what each expert counted for then, mean over outputs
    mixture: float = 0.0  # sum of the mixture's squared errors
    alone: float = 0.0  # the same of the mixture that does without earlier labels
    taken: int = 0
    every: int = 1  # checks from one snapshot to the next


def init(experts: int) -> Ledger:
    return Ledger(np.zeros(experts), np.zeros(SNAPSHOTS, np.int64), np.zeros((SNAPSHOTS, experts)))


def footprint(experts: int) -> int:
    return 8 * (experts + SNAPSHOTS * (1 + experts) + 4)


def count(ledger: Ledger, P: Cube, mixture: Matrix, alone: Matrix, Y: Matrix, weight: Vector) -> None:
    """Add the losses of rows that are learnt."""
    learnt = weight > 0.0
    ledger.squares += np.sum((P[learnt] - Y[learnt][:, :, None]) ** 2, axis=(0, 1))
    ledger.mixture += float(np.sum((mixture[learnt] - Y[learnt]) ** 2))
    ledger.alone += float(np.sum((alone[learnt] - Y[learnt]) ** 2))


def note(ledger: Ledger, rows: int, check: int, weights: Matrix) -> None:
    """Take a snapshot after so many rows, if it is time."""
    if rows % (check * ledger.every):
        return
    if ledger.taken == SNAPSHOTS:
        half = SNAPSHOTS // 2
        ledger.rows[:half], ledger.weights[:half] = ledger.rows[1::2], ledger.weights[1::2]
        ledger.rows[half:], ledger.weights[half:] = 0, 0.0
        ledger.taken, ledger.every = half, 2 * ledger.every
        if rows % (check * ledger.every):
            return
    ledger.rows[ledger.taken], ledger.weights[ledger.taken] = rows, weights.mean(axis=0)
    ledger.taken += 1
