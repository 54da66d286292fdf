"""The records behind `explain`: the experts' losses, since the first row and since the rule (re)started, and their weights and
contributions over time.

A contribution is the product of an expert's weight and score. Weights are computed at the checks, every few hundred rows, and
multiplied by the sum of the scores since the last check. So contributions add up to the mixture, except for the change of the
weights between two checks.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine import account
from onkel.combine.account import Account
from onkel.combine.rules.rule import Awake
from onkel.state import memory
from onkel.turns import Steps

SNAPSHOTS = 64  # the largest number of snapshots. When it is reached, pairs are merged, and from then on half as many are taken


@memory
class Ledger:
    squares: Vector  # (experts,)  sum of squared errors over outputs and over the rows in which the expert was active
    heard: Vector  # (experts,)  the number of these rows
    account: Account  # the losses since the rule (re)started
    scores: Matrix  # (outputs, experts)  sum of the scores since the last check
    sums: Matrix  # (outputs, experts + 2)  sums since the last snapshot: of contributions, of the mixture, of labels
    rows: Counts  # (SNAPSHOTS,)  number of rows at each snapshot; 0 for unused places
    weights: Matrix  # (SNAPSHOTS, experts)  the weights of the experts at each snapshot, the mean over outputs
    means: Cube  # (SNAPSHOTS, outputs, experts + 2)  as `sums`, but means over the rows since the snapshot before
    lost: Vector  # (2,)  sums of squared errors of the mixture, and of the mixture of experts that see no earlier labels
    taken: int = 0  # number of snapshots
    every: int = 1  # number of checks from one snapshot to the next


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
    ledger: Ledger, P: Cube, mixture: Matrix, alone: Matrix, Y: Matrix, weight: Vector, awake: Awake, first: int, steps: Steps
) -> None:  # fmt: skip
    """Add to `steps` the steps that sum scores, labels and losses over the rows learnt. Up to the row of the very first label,
    `first`, the loss is that of the score 0."""
    scores = account.count(ledger.account, P, mixture, Y, weight, awake, steps)
    sums = ledger.squares, ledger.heard, ledger.scores, ledger.sums, ledger.lost
    steps.add(_count, *sums, P, mixture, alone, Y, weight, awake, first, scores)


@hot
def _count(
    squares: Vector, heard: Vector, sums_of_scores: Matrix, sums: Matrix, lost: Vector, P: Cube, mixture: Matrix, alone: Matrix,
    Y: Matrix, weight: Vector, awake: Awake, first: int, scores: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    for o in range(outputs):
        for k in range(experts):
            sums_of_scores[o, k] += scores[o, k]
    for t in range(n):
        if weight[t] == 0.0:
            continue
        for k in range(experts):
            heard[k] += 1.0 if awake[t, k] else 0.0
        for o in range(outputs):
            y, shown = Y[t, o], 1.0 if t > first else 0.0
            for k in range(experts):
                squares[k] += (P[t, o, k] - y) ** 2 if awake[t, k] else 0.0
            sums[o, experts] += mixture[t, o]
            sums[o, experts + 1] += y
            lost[0] += (shown * mixture[t, o] - y) ** 2
            lost[1] += (shown * alone[t, o] - y) ** 2


def mixed_again(ledger: Ledger, P: Cube, mixture: Matrix, Y: Matrix, weight: Vector, awake: Awake) -> None:
    """Restart the account with these rows, because the rule has restarted with them."""
    ledger.account, steps = account.init(P.shape[2], P.shape[1]), Steps()
    account.count(ledger.account, P, mixture, Y, weight, awake, steps)
    steps.run()


def note(ledger: Ledger, rows: int, check: int, weights: Matrix) -> None:
    """At a check after `rows` rows, add the contributions since the last check, and take a snapshot if one is due."""
    ledger.sums[:, :-2] += weights * ledger.scores
    ledger.scores[:] = 0.0
    if rows % (check * ledger.every):
        return
    if ledger.taken == SNAPSHOTS:  # merge pairs
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
