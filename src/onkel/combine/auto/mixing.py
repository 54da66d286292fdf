"""Learning in `Auto`, as a list of steps: features of the views, scores of the families, their mixture, and the records.

Each step is a call of compiled code that reads and writes arrays. For a block of rows the steps are made and run once. For single
rows they are made once and run for every row (`onkel.one_row`), until a check is due; a check replaces parts of the state.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from onkel._inputs import no_weight
from onkel._jit import hot_lean
from onkel._types import Counts, Cube, Matrix, Vector
from onkel.combine.auto import labels as label_scale
from onkel.combine.auto import ledger, restarts
from onkel.combine.auto.families.scored import Scored
from onkel.combine.auto.plan import Plan
from onkel.combine.auto.state import RULE, State, active_experts, each_family
from onkel.combine.auto.views import SparseViews, View, Views
from onkel.combine.rules.rule import Awake
from onkel.features.compose import copy_columns
from onkel.one_row import Row, RowSteps, Step, stop_before
from onkel.turns import Steps


class Block(NamedTuple):
    """Rows to learn."""

    view: View
    given: Matrix  # the labels
    Y: Matrix  # the labels after outliers were clipped
    reference: Vector  # the label that is subtracted from them
    weight: Vector
    awake: Awake  # which experts are active
    first: int  # the row of the very first label; -1 if it was learnt before


def predict(plan: Plan, state: State, view: View, steps: Steps) -> list[Scored | None]:
    """What each family says of each row, as if the row came next; None for an inactive family."""
    return [
        family.predict(own, family.features(own, view, steps), steps) if awake else None
        for family, own, awake, _ in each_family(plan, state)
    ]


def learn(plan: Plan, state: State, block: Block, steps: Steps) -> Matrix:
    """Add the steps that score and learn the rows, except for the scales of inputs and labels. Returns the mixture."""
    centred = _centred(block, steps)
    parts = [
        family.learn(own, family.features(own, block.view, steps), centred, block.weight, steps) if awake else None
        for family, own, awake, _ in each_family(plan, state)
    ]
    P = side_by_side(plan, parts, block.Y.shape, block.reference, steps)
    if block.first >= 0:
        steps.add(_forgive, P, block.Y, block.first)
    return _mixed(plan, state, block, P, steps)


def learn_scored(plan: Plan, state: State, block: Block, scored: list[Scored | None], P: Cube, steps: Steps) -> Matrix:
    """`learn` for a row that has just been scored."""
    centred = _centred(block, steps)
    for (family, own, _, _), row in zip(each_family(plan, state), scored, strict=True):
        if row is not None:
            family.learn_scored(own, row, centred, block.weight, steps)
    return _mixed(plan, state, block, P, steps)


def _centred(block: Block, steps: Steps) -> Matrix:
    centred = np.empty(block.Y.shape)
    steps.add(label_scale.centre, block.Y, block.reference, centred)
    return centred


def _mixed(plan: Plan, state: State, block: Block, P: Cube, steps: Steps) -> Matrix:
    Y, weight, active, first = block.Y, block.weight, block.awake, block.first
    mixture = mixture_alone = RULE.plan(state.mixed, P, Y, weight, active, steps)
    if state.alone is not None:
        alone, P_alone = plan.without_lags, np.empty((*Y.shape, state.alone.experts))
        steps.add(_choose, np.flatnonzero(alone), P, P_alone)
        mixture_alone = RULE.plan(state.alone, P_alone, Y, weight, np.ascontiguousarray(active[:, alone]), steps)
    ledger.count(state.ledger, P, mixture, mixture_alone, Y, weight, active, first, steps)
    restarts.keep(state.recent, block.view.X, block.given, Y, weight, block.view.lagged, P, steps)
    return mixture


def row_steps(plan: Plan, views: Views | SparseViews, state: State, due: int) -> RowSteps | None:
    """The calls for single rows, until the next check, after row number `due`. None if this is one of the first rows, or if there
    are very many columns."""
    is_early = state.recent.rows < state.surveyed or not state.labels.rows
    if isinstance(views, SparseViews) or is_early or not views.has_steps(state.views):
        return None
    row, experts, scoring, learning = Row.empty(state.dim, state.outputs), Steps(), Steps(), Steps()
    view, Y, awake = views.buffers(row.X), np.empty(row.Y.shape), active_experts(plan, state, 1)
    scored = predict(plan, state, view, experts)
    P = side_by_side(plan, [row and row.scores for row in scored], Y.shape, state.labels.reference, experts)
    mixture = RULE.plan(state.mixed, P, np.zeros(Y.shape), no_weight(1), awake, scoring)
    scoring.add(copy_columns, mixture, row.scores, 0)
    block = Block(view, row.Y, Y, state.labels.reference, row.weight, awake, -1)
    mixture = learn_scored(plan, state, block, scored, P, learning)
    learning.add(copy_columns, mixture, row.scores, 0)

    before: list[Step] = [
        partial(stop_before, state.recent.learnt, due, row.weight),
        *views.limits(state.views, row.weight),
        label_scale.in_place(state.labels, row.Y, row.weight, Y),
        *views.in_place(state.views, view, Y, row.weight),
    ]
    score = [*views.in_place(state.views, view, np.zeros(Y.shape), no_weight(1)), *experts.steps, *scoring.steps]
    return RowSteps(row, score, [*before, *experts.steps, *learning.steps], [*before, *learning.steps])


def side_by_side(plan: Plan, parts: list[Cube | None], shape: tuple[int, ...], reference: Vector, steps: Steps) -> Cube:
    """The scores of all experts, (n, outputs, experts), which `steps` will write. `parts` has the scores of each family. Families
    learn labels minus `reference`, so `reference` is added to their scores. Those of an inactive family (None) are `reference`."""
    P, at = np.empty((*shape, len(plan.experts))), 0
    for part, size in zip(parts, plan.sizes, strict=True):
        if part is None:
            steps.add(_place_reference, P, at, size, reference)
        else:
            steps.add(_place, P, at, part, reference)
        at += size
    return P


@hot_lean
def _place(P: Cube, at: int, part: Cube, reference: Vector) -> None:
    for t in range(part.shape[0]):
        for o in range(part.shape[1]):
            for k in range(part.shape[2]):
                P[t, o, at + k] = part[t, o, k] + reference[o]


@hot_lean
def _place_reference(P: Cube, at: int, size: int, reference: Vector) -> None:
    for t in range(P.shape[0]):
        for o in range(P.shape[1]):
            for k in range(size):
                P[t, o, at + k] = reference[o]


@hot_lean
def _choose(chosen: Counts, P: Cube, out: Cube) -> None:
    """Write the scores of the chosen experts."""
    for t in range(P.shape[0]):
        for o in range(P.shape[1]):
            for k in range(chosen.size):
                out[t, o, k] = P[t, o, chosen[k]]


@hot_lean
def _forgive(P: Cube, Y: Matrix, first: int) -> None:
    """Up to the row of the very first label, no expert has a loss: before it no expert knows anything, and no one could know the
    label itself."""
    for t in range(first + 1):
        for o in range(P.shape[1]):
            for k in range(P.shape[2]):
                P[t, o, k] = 0.0 if t < first else Y[t, o]
