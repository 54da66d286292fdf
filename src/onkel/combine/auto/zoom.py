"""Time for those who deserve it: families that nobody would miss are dropped, and what they cost goes to a zoom on the best.

    loss(S) = min θᵀE_S θ over weights θ of sum 1 = 1/(1ᵀE_S⁻¹1)        S some of the experts, E their products (`combine.account`)
    worth of a family = loss(all awake but its own)/loss(all awake) − 1 − k/n

k experts that say nothing take about k/n off the loss of n rows by chance.

A zoom is a family that sleeps at first and does more of what another one does: more frequencies, of more widths, beside the slow
family; still shorter a memory beside the one that forgets most; more trees. After some 4,000 rows of the rule, and whenever there
are twice as many, all families are reviewed, by the errors since the last review:

1.  Of those worth less than 0.02 % of the error the most expensive is dropped, and so on. The slow family stays, and of
    those that forget at least one, by which changes are noticed.
2.  Zooms are woken, those beside the worthiest first, where that family is worth 2 % of it or more and all who are
    awake then cost no more than those in the beginning. Each is tried once; like all others it may be dropped at the next review.

A zoom begins with the last rows, which are kept. When the stream has changed and the rule begins again, all is as in the beginning.
Costs are those of the plan's table, so that runs repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel._types import Counts, Matrix
from onkel.combine.account import Account
from onkel.combine.auto.families import ForgettingRidge
from onkel.combine.auto.plan import Plan

DISPENSABLE, WORTHY = 0.0002, 0.02  # of the error
RIDGE = 1e-9  # of the mean diagonal of E: experts may say the same


@dataclass
class Review:
    awake: Counts  # (families,)  1 where a family is awake
    tried: Counts  # (families,)  1 where it has been, since the rule began
    products: Matrix  # (experts, experts)  E of all outputs at the last review, its lower triangle
    due: int  # the next one, in rows of the stream
    heard: int = 0  # rows that the rule had learnt at the last one


def init(plan: Plan, rows: int = 0) -> Review:
    """As it is when the rule begins, after so many rows."""
    start, size = plan.starts.astype(np.int64), len(plan.experts)
    return Review(start, start.copy(), np.zeros((size, size)), rows + plan.first_review)


def footprint(plan: Plan) -> int:
    return 8 * (2 * len(plan.families) + len(plan.experts) ** 2 + 2)


def woken(review: Review, plan: Plan, account: Account, rows: int) -> list[int]:
    """Review the families after so many rows, by the account of the rule's rows; the numbers of those that wake."""
    products, n = account.products.sum(axis=0), account.rows - review.heard
    lower = products - review.products
    E = lower + np.tril(lower, -1).T
    awake = np.flatnonzero(review.awake).tolist()
    worth = {family: _worth(E, n, plan, awake, family) for family in awake}
    while spare := [family for family in _droppable(plan, awake) if _worth(E, n, plan, awake, family) < DISPENSABLE]:
        awake.remove(max(spare, key=lambda family: plan.costs[family]))
    new = []
    for zoom in sorted(plan.zooms, key=lambda zoom: -worth.get(plan.zooms[zoom], 0.0)):
        affordable = plan.costs[[*awake, zoom]].sum() <= plan.cost_ceiling
        if not review.tried[zoom] and worth.get(plan.zooms[zoom], 0.0) >= WORTHY and affordable:
            awake.append(zoom)
            new.append(zoom)
    review.awake[:] = np.isin(np.arange(len(plan.families)), awake)
    review.tried |= review.awake
    review.products, review.due, review.heard = products, rows + account.rows, account.rows
    return new


def _droppable(plan: Plan, awake: list[int]) -> list[int]:
    """All but the first family, and the last that forgets."""
    forgets = [family for family in awake if isinstance(plan.families[family], ForgettingRidge)]
    return [family for family in awake if family > 0 and forgets != [family]]


def _worth(E: Matrix, n: int, plan: Plan, awake: list[int], family: int) -> float:
    with_it, without = _loss(E, plan, awake), _loss(E, plan, [other for other in awake if other != family])
    by_chance = np.count_nonzero(plan.family_of == family) / n
    return without / with_it - 1.0 - by_chance if min(with_it, without) > 0.0 else 0.0


def _loss(E: Matrix, plan: Plan, families: list[int]) -> float:
    own = np.flatnonzero(np.isin(plan.family_of, families))
    part = E[np.ix_(own, own)]
    size = float(np.trace(part)) / len(own)
    if size <= 0.0:
        return 0.0
    return float(1.0 / np.linalg.solve(part + RIDGE * size * np.eye(len(own)), np.ones(len(own))).sum())
