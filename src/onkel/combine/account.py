"""The losses of a mixture and its experts since the rule (re)started: the sums behind the regret to the best expert and to the best
fixed combination of experts.

    e_k = y − p_k,    E = Σ w e eᵀ,    L(θ) = Σ w(y − θᵀp)² = θᵀEθ  for weights θ that sum to 1

p_k is the score of expert k, y the label and w the weight of the row; E is summed over the rows. p is clipped to the range of the
labels before the row, as in the rules. In rows in which expert k sleeps, e_k is set to 0, so E does not give the loss of
combinations that include an expert that has slept.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.rules.rule import Awake
from onkel.errors import InputError
from onkel.mixing import check_span, ends, extend, unknown_span
from onkel.state import Counted, counter, memory
from onkel.turns import Steps


@memory
class Account(Counted):
    products: Cube  # (outputs, experts, experts)  E, its lower triangle
    mixture: Vector  # (outputs,)  Σ w(y − ŷ)²
    span: Matrix  # (outputs, 3)  the span of the labels (`onkel.mixing`)
    heard: Vector  # (experts + 1,)  total weight of the rows in which each expert was awake; the last entry is that of all rows
    learnt: Counts = counter()

    @property
    def always(self) -> Awake:
        """Which experts were awake in every row: those whose weight in `heard` equals that of all rows. (Both are sums of the same
        weights in the same order, so they are equal to the last bit.)"""
        return np.asarray(self.heard[:-1] == self.heard[-1])

    @property
    def losses(self) -> Vector:
        """The loss Σ w(y − p_k)² of each expert, over the rows in which it was awake, summed over outputs."""
        return np.asarray(np.diagonal(self.products, axis1=1, axis2=2).sum(axis=0))


def init(experts: int, outputs: int) -> Account:
    return Account(np.zeros((outputs, experts, experts)), np.zeros(outputs), unknown_span(outputs), np.zeros(experts + 1))


def footprint(experts: int, outputs: int) -> int:
    return 8 * (outputs * (experts * experts + 1 + 3) + experts + 1 + 1)


def check(account: Account) -> None:
    """Refuse sums that no rows can lead to."""
    losses = np.diagonal(account.products, axis1=1, axis2=2)
    if min(losses.min(), account.mixture.min(), account.heard.min()) < 0.0 or account.heard.max() > account.heard[-1]:
        raise InputError("its sums of squares are negative")
    check_span(account.span)


def widen(account: Account, outputs: int, label: float) -> None:
    """Add outputs, as if their label and all scores had been `label` in every row so far."""
    more = outputs - len(account.mixture)
    account.products = np.pad(account.products, ((0, more), (0, 0), (0, 0)))
    account.mixture = np.pad(account.mixture, (0, more))
    fresh = np.tile([label, label, 1.0], (more, 1)) if account.rows else unknown_span(more)
    account.span = np.concatenate([account.span, fresh])


def count(account: Account, P: Cube, mixture: Matrix, Y: Matrix, weight: Vector, awake: Awake, steps: Steps) -> Matrix:
    """Add a step to `steps` that adds the rows learnt to the sums. Returns an array, (outputs, experts), which this step fills with
    the sum of each expert's clipped scores over the rows in which it is awake."""
    scores = np.empty(P.shape[1:])
    sums = account.products, account.mixture, account.span, account.heard, account.learnt
    steps.add(_count, *sums, P, mixture, Y, weight, awake, scores)
    return scores


@hot
def _count(
    products: Cube, lost: Vector, span: Matrix, heard: Vector, learnt: Counts, P: Cube, mixture: Matrix, Y: Matrix, weight: Vector,
    awake: Awake, scores: Matrix,
) -> None:  # fmt: skip
    n, outputs, experts = P.shape
    e = np.empty(experts)
    scores[:] = 0.0
    for t in range(n):
        learnt[0] += 1 if weight[t] > 0.0 else 0
        heard[experts] += weight[t]
        for k in range(experts):
            heard[k] += weight[t] if awake[t, k] else 0.0
    for o in range(outputs):
        for t in range(n):
            if weight[t] == 0.0:
                continue
            y, (low, high) = Y[t, o], ends(span[o])
            for k in range(experts):
                score = min(max(P[t, o, k], low), high)
                e[k] = y - score if awake[t, k] else 0.0
                scores[o, k] += score if awake[t, k] else 0.0
            for k in range(experts):
                E_k, w = products[o, k, : k + 1], weight[t] * e[k]
                for j in range(E_k.size):
                    E_k[j] += w * e[j]
            lost[o] += weight[t] * (y - mixture[t, o]) * (y - mixture[t, o])
            extend(span[o], y)
