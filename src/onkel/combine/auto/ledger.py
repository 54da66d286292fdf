"""What `Auto` remembers of its experts, to explain itself: their losses, from the first row on and since its rule began (again),
what they counted for over time, and what they contributed.

A contribution is a weight times a score. Weights are known at the checks, every few hundred rows; there they are multiplied by the
sum of the scores since the check before. So contributions add up to the mixture but for what weights have moved from one check to
the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine import account
from onkel.combine.account import Account
from onkel.combine.rules.rule import Awake
from onkel.turns import Steps

SNAPSHOTS = 64  # when there are more, every two become one, and from then on half as many are taken


@dataclass
class Ledger:
    squares: Vector  # (experts,)  sum of squared errors, all outputs, of the rows in which it was awake
    heard: Vector  # (experts,)  how many they were
    account: Account  # since the rule began
    scores: Matrix  # (outputs, experts)  their sum since the last check
    sums: Matrix  # (outputs, experts + 2)  since the last snapshot: contributions, the mixture, labels
    rows: Counts  # (SNAPSHOTS,)  after so many rows each snapshot was taken; 0 after the last
    weights: Matrix  # (SNAPSHOTS, experts)  what each expert counted for then, mean over outputs
    means: Cube  # (SNAPSHOTS, outputs, experts + 2)  of the rows since the snapshot before: contributions, the mixture, labels
    lost: Vector  # (2,)  the mixture's sum of squared errors; the same of the mixture that does without earlier labels
    taken: int = 0
    every: int = 1  # checks from one snapshot to the next


def init(experts: int, outputs: int) -> Ledger:
    scores, sums = np.zeros((outputs, experts)), np.zeros((outputs, experts + 2))
    snapshots = np.zeros(SNAPSHOTS, np.int64), np.zeros((SNAPSHOTS, experts)), np.zeros((SNAPSHOTS, *sums.shape))
    return Ledger(np.zeros(experts), np.zeros(experts), account.init(experts, outputs), scores, sums, *snapshots, np.zeros(2))


def footprint(experts: int, outputs: int) -> int:
    sums = outputs * (experts + 2)
    own = 2 * experts + outputs * experts + sums + SNAPSHOTS * (1 + experts + sums) + 4
    return 8 * own + account.footprint(experts, outputs)


def widen(ledger: Ledger, outputs: int) -> None:
    """Add outputs whose label, and every score, was 0 until now."""
    more = outputs - len(ledger.scores)
    account.widen(ledger.account, outputs, 0.0)
    ledger.scores, ledger.sums = (np.pad(array, ((0, more), (0, 0))) for array in (ledger.scores, ledger.sums))
    ledger.means = np.pad(ledger.means, ((0, 0), (0, more), (0, 0)))


def count(
    ledger: Ledger, P: Cube, mixture: Matrix, alone: Matrix, Y: Matrix, weight: Vector, awake: Awake, steps: Steps
) -> None:  # fmt: skip
    """Add the losses of rows that are learnt; `awake` are the experts that speak in all of them."""
    learnt, squares, lost = weight > 0.0, np.empty(len(ledger.squares)), np.empty(2)

    def measure() -> None:
        squares[:] = np.where(awake, np.sum((P[learnt] - Y[learnt][:, :, None]) ** 2, axis=(0, 1)), 0.0)
        lost[:] = [np.sum((scores[learnt] - Y[learnt]) ** 2) for scores in (mixture, alone)]

    steps.add(measure)
    _add(steps, ledger.squares, squares)
    _add(steps, ledger.heard, np.where(awake, float(np.count_nonzero(learnt)), 0.0))
    _add(steps, ledger.lost, lost)


def mixed(ledger: Ledger, P: Cube, mixture: Matrix, Y: Matrix, weight: Vector, awake: Awake, steps: Steps) -> None:
    """Add what the rule has made of rows."""
    learnt, sums = weight > 0.0, np.empty((Y.shape[1], 2))

    def measure() -> None:
        sums[:, 0], sums[:, 1] = mixture[learnt].sum(axis=0), Y[learnt].sum(axis=0)

    _add(steps, ledger.scores, account.count(ledger.account, P, mixture, Y, weight, awake, steps))
    steps.add(measure)
    _add(steps, ledger.sums[:, -2:], sums)


def _add(steps: Steps, sums: Vector | Matrix, more: Vector | Matrix) -> None:
    steps.add(np.add, sums, more, sums)


def mixed_again(ledger: Ledger, P: Cube, mixture: Matrix, Y: Matrix, weight: Vector, awake: Awake) -> None:
    """The rule has begun again, with these rows."""
    ledger.account, steps = account.init(P.shape[2], P.shape[1]), Steps()
    account.count(ledger.account, P, mixture, Y, weight, awake, steps)
    steps.run()


def note(ledger: Ledger, rows: int, check: int, weights: Matrix) -> None:
    """A check, after so many rows: who has contributed what, and a snapshot, if it is time."""
    ledger.sums[:, :-2] += weights * ledger.scores
    ledger.scores[:] = 0.0
    if rows % (check * ledger.every):
        return
    if ledger.taken == SNAPSHOTS:
        half = SNAPSHOTS // 2
        ledger.rows[:half], ledger.weights[:half] = ledger.rows[1::2], ledger.weights[1::2]
        ledger.means[:half] = (ledger.means[::2] + ledger.means[1::2]) / 2.0
        ledger.rows[half:], ledger.weights[half:], ledger.means[half:] = 0, 0.0, 0.0
        ledger.taken, ledger.every = half, 2 * ledger.every
        if rows % (check * ledger.every):
            return
    ledger.rows[ledger.taken], ledger.weights[ledger.taken] = rows, weights.mean(axis=0)
    ledger.means[ledger.taken] = ledger.sums / (check * ledger.every)
    ledger.sums[:] = 0.0
    ledger.taken += 1
