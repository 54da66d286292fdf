"""Zooms: families that hardly lower the loss are dropped, and the time saved goes to variants of the best families.

    loss(S) = min θᵀE_S θ over weights θ of sum 1 = 1/(1ᵀE_S⁻¹1)        S: some experts; E: products of errors (`combine.account`)
    worth of a family = loss(all active experts without its own)/loss(all active experts) − 1 − k/n

The last term is what a family of k useless experts gains by chance: it reduces the loss over n rows by about the share k/n.

A zoom is a family that is inactive at first and extends another family: more frequencies and widths for the remembering family, a
still shorter memory for the one that forgets fastest, more trees. All active families are reviewed by the errors since the last
review, at first when the rule has learnt some 4,000 rows, and then each time this number has doubled:

1.  As long as there are families whose worth is less than 0.02 %, the most expensive of them is dropped. The remembering family is
    not dropped, nor is the last family that forgets, since it is needed to detect changes.
2.  Then zooms are started, first those of the family with the largest worth. This must be at least 2 %, and all active families
    together must not cost more than at first. Each zoom is tried once; like other families it may be dropped at the next review.

A zoom first learns the last rows, which are stored for this. When the rule restarts, the families that were active at first are
active again. Costs are those of the plan's table, so that runs are repeatable.
"""

from __future__ import annotations

import numpy as np

from onkel._types import Counts, Matrix
from onkel.combine.account import Account
from onkel.combine.auto.families import ForgettingRidge
from onkel.combine.auto.plan import Plan
from onkel.state import memory

DISPENSABLE, WORTHY = 0.0002, 0.02  # families of less worth are dropped; families of at least this worth get their zooms
RIDGE = 1e-9  # added to the diagonal of E, relative to its mean, because experts may be equal


@memory
class Review:
    awake: Counts  # (families,)  1 if a family is active
    tried: Counts  # (families,)  1 if it has been active since the rule (re)started
    products: Matrix  # (experts, experts)  lower triangle of E, summed over outputs, at the last review
    due: int  # number of rows of the stream at which the next review is due
    heard: int = 0  # rows that the rule had learnt at the last review


def init(plan: Plan, rows: int = 0) -> Review:
    """The state when the rule starts with the rows after the first `rows`."""
    start, size = plan.starts.astype(np.int64), len(plan.experts)
    return Review(start, start.copy(), np.zeros((size, size)), rows + plan.first_review)


def footprint(plan: Plan) -> int:
    return 8 * (2 * len(plan.families) + len(plan.experts) ** 2 + 2)


def woken(review: Review, plan: Plan, account: Account, rows: int) -> list[int]:
    """Review the families when the stream has had `rows` rows, by the products of errors in `account` since the last review.
    Returns the indices of the zooms that are started."""
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
    """The families that may be dropped: all except the first, and except the only one left that forgets."""
    forgets = [family for family in awake if isinstance(plan.families[family], ForgettingRidge)]
    return [family for family in awake if family > 0 and forgets != [family]]


def _worth(E: Matrix, n: int, plan: Plan, awake: list[int], family: int) -> float:
    """The worth of a family, see this file's header; 0 if a loss is 0."""
    with_it, without = _loss(E, plan, awake), _loss(E, plan, [other for other in awake if other != family])
    by_chance = np.count_nonzero(plan.family_of == family) / n
    return without / with_it - 1.0 - by_chance if min(with_it, without) > 0.0 else 0.0


def _loss(E: Matrix, plan: Plan, families: list[int]) -> float:
    """1/(1ᵀE⁻¹1) over the experts of these families."""
    own = np.flatnonzero(np.isin(plan.family_of, families))
    part = E[np.ix_(own, own)]
    size = float(np.trace(part)) / len(own)
    if size <= 0.0:
        return 0.0
    return float(1.0 / np.linalg.solve(part + RIDGE * size * np.eye(len(own)), np.ones(len(own))).sum())
