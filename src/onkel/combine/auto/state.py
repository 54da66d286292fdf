"""The state of `Auto`, and which of its experts are active. The sizes of its parts follow from the plan and the views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel._types import Cube, Matrix, Vector
from onkel.combine import account
from onkel.combine.auto import labels as label_scale
from onkel.combine.auto import ledger, restarts, zoom
from onkel.combine.auto.labels import Labels
from onkel.combine.auto.plan import Plan
from onkel.combine.auto.views import SparseViews, Views, lag_columns
from onkel.combine.rules import Layered
from onkel.combine.rules.rule import Awake
from onkel.errors import InputError
from onkel.state import memory

RULE = Layered()


@memory
class State:
    views: Any
    families: tuple[Any, ...]
    labels: Labels
    recent: restarts.Recent
    review: zoom.Review
    ledger: ledger.Ledger
    mixed: Any  # the state of the rule over all experts
    alone: Any  # the state of the rule over the experts that see no earlier labels; None if there are no lags
    dim: int
    outputs: int
    surveyed: int = 0  # rows that the views had seen before any row was learnt; they do not change while these are learnt


def init(plan: Plan, views: Views | SparseViews, outputs: int) -> State:
    alone = RULE.init(int(plan.without_lags.sum()), outputs) if views.lags else None
    families = tuple(family.init(outputs) for family in plan.families)
    recent = restarts.init(plan.check, _kept(plan, views), outputs, lag_columns(views.lags), len(plan.experts), len(families))
    labels, mixed = label_scale.init(outputs), RULE.init(len(plan.experts), outputs)
    book = ledger.init(len(plan.experts), outputs)
    return State(views.init(), families, labels, recent, zoom.init(plan), book, mixed, alone, views.dim, outputs)


def footprint(plan: Plan, views: Views | SparseViews, outputs: int) -> int:
    """The size in bytes of the state that `init` makes."""
    experts = [len(plan.experts)] + ([int(plan.without_lags.sum())] if views.lags else [])
    sizes = outputs, lag_columns(views.lags), len(plan.experts), len(plan.families)
    return (
        views.footprint()
        + sum(family.footprint(outputs) for family in plan.families)
        + label_scale.footprint(outputs)
        + restarts.footprint(plan.check, _kept(plan, views), *sizes)
        + zoom.footprint(plan)
        + ledger.footprint(len(plan.experts), outputs)
        + sum(RULE.footprint(count, outputs) for count in experts)
        + 8 * 3
    )


def _kept(plan: Plan, views: Views | SparseViews) -> int:
    """The number of columns of the last rows that are stored: none if no family ever restarts."""
    return 0 if plan.lines_only else views.dim


def widen(plan: Plan, state: State, outputs: int) -> None:
    """Add outputs whose label was 0 until now."""
    for family, own in zip(plan.families, state.families, strict=True):
        family.widen(own, outputs)
    for rule in (state.mixed, state.alone):
        if rule is not None:
            RULE.widen(rule, outputs)
    state.labels = label_scale.widened(state.labels, outputs)
    restarts.widen(state.recent, outputs)
    ledger.widen(state.ledger, outputs)
    state.outputs = outputs


def check(plan: Plan, state: State) -> None:
    """Refuse a state that no rows can have made."""
    for family, own in zip(plan.families, state.families, strict=True):
        family.check(own)
    if not np.isin(state.review.awake, (0, 1)).all() or not state.review.awake[0]:
        raise InputError("its marks of active families are not 0 or 1, or its first family is inactive")
    for rule in (state.mixed, state.alone):
        if rule is not None:
            RULE.check(rule)
    account.check(state.ledger.account)


def each_family(plan: Plan, state: State) -> Iterator[tuple[Any, Any, int, int]]:
    """Each family, its state, whether it is active, and the number of its experts."""
    return zip(plan.families, state.families, state.review.awake.tolist(), plan.sizes, strict=True)


def active_experts(plan: Plan, state: State, rows: int) -> Awake:
    """Which experts are active, (rows, experts)."""
    active = plan.active(state.review.awake)
    return active if rows == 1 else np.repeat(active, rows, axis=0)


def weights(plan: Plan, state: State) -> Matrix:
    """The weight of each expert in the next score, (outputs, experts)."""
    return RULE.weights(state.mixed, active_experts(plan, state, 1)[0])


def select_without_lags(
    plan: Plan, P: Cube, Y: Matrix, weight: Vector, awake: Awake
) -> tuple[Cube, Matrix, Vector, Awake]:  # fmt: skip
    """The arguments of the rule over the experts that see no earlier labels."""
    alone = plan.without_lags
    return np.ascontiguousarray(P[:, :, alone]), Y, weight, np.ascontiguousarray(awake[:, alone])
