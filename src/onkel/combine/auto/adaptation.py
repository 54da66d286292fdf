"""The checks of `Auto`: when the views change their scales, which families restart because the stream has changed, which are
dropped, which zooms start.

A *settlement* comes 32, 64, 128, 256 and 512 rows after the views (re)started. They take the scales of all these rows, which are
still stored. So every family that sees the views starts again and learns the rows on the new scales, and the rule starts again with
the new scores. A regular check comes every 256 rows (fewer in a small plan):

0. If the scale of a column has moved, the views take its new scale, and the families that forget learn the stored rows on it.
1. `restarts` says which families are suspected, because their errors are too large by more than noise, and the row of the change.
2. If the inputs have moved, a copy of the remembering family is tried on restarted views.
3. Each suspected family is tried: a copy learns the rows since the change, and replaces the family if its errors are smaller.
4. If the views restart, every family that sees them restarts too. If the views or the remembering family restart, so does the rule.
5. If neither of these restarted and a review is due, `zoom` drops families of little worth and starts zooms of the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._types import Counts, Cube
from onkel.combine.auto import labels as label_scale
from onkel.combine.auto import ledger, restarts, zoom
from onkel.combine.auto.plan import SLOW, Plan
from onkel.combine.auto.state import RULE, State, active_experts, select_without_lags, weights
from onkel.combine.auto.views import SparseViews, Views, restarted, standardized_rows
from onkel.state import copied
from onkel.turns import Steps


def next_check(plan: Plan, state: State) -> int:
    """The number of rows at the next check. It depends only on the stream, not on how it is cut into calls."""
    rows = state.recent.rows
    regular = (rows // plan.check + 1) * plan.check
    if rows < state.surveyed or not plan.settlements:
        return regular
    known: int = state.views.running.rows
    return min((regular, *(rows + settlement - known for settlement in plan.settlements if settlement > known)))


def is_due(plan: Plan, state: State) -> bool:
    """Whether a check is due."""
    return state.recent.rows != state.recent.checked and (not state.recent.rows % plan.check or _is_settlement(plan, state))


def _is_settlement(plan: Plan, state: State) -> bool:
    return state.recent.rows > state.surveyed and bool(plan.settlements) and state.views.running.rows in plan.settlements


def check(plan: Plan, views: Views | SparseViews, state: State) -> None:
    """Make the check that is due. It works on a copy of the parts of the state that it may change; the copy is stored in one
    step."""
    recent, weights_until_now = state.recent, weights(plan, state)  # in the rows since the last check
    noted = {name: getattr(recent, name).copy() for name in ("lag", "checks", "began", "again")}
    work = replace(state, recent=replace(recent, **noted), review=copied(state.review), ledger=copied(state.ledger))
    if isinstance(views, Views):  # sparse rows are not stored, so no family could restart
        if _is_settlement(plan, work):
            _settle(plan, views, work)
        else:
            _check(plan, views, work)
    ledger.note(work.ledger, recent.rows, plan.check, weights_until_now)
    work.recent.checked = recent.rows
    vars(state).update(vars(work))


def _settle(plan: Plan, views: Views, state: State) -> None:
    """The views take the scales of all rows since they (re)started, and families and rule start again with these rows."""
    state.views = views.settled(state.views)
    since = state.recent.in_order()[-state.views.running.rows :]
    _restart_rule(plan, views, state, state.recent.scores.copy(), since, plan.sees_views)


def _rescale(plan: Plan, views: Views, state: State) -> None:
    """If columns have moved, the views take their new scales, and the families that forget start again with the stored rows. Those
    that remember everything go on, since older rows are not stored."""
    if (views_now := views.rescaled(state.views)) is None:
        return
    state.views, everything = views_now, state.recent.in_order()
    for k in np.flatnonzero(plan.forgets & (state.review.awake > 0)).tolist():
        _replace(state, k, _trained(plan, views, state, state.views, k, everything)[0], everything)


def _check(plan: Plan, views: Views, state: State) -> None:
    _rescale(plan, views, state)
    recent = state.recent
    scores, changed = recent.scores.copy(), dict[int, Counts]()
    suspected = restarts.suspected(recent, plan.family_of, plan.forgets, state.review.awake > 0)
    moved = _try_views(plan, views, state, any(k == SLOW for k, _ in suspected) or restarts.is_new(recent, SLOW))
    with_views = plan.sees_views & (moved is not None)  # the families that restart with the views
    for k, since in suspected:
        if with_views[k]:
            continue
        fresh, again, own = _trained(plan, views, state, state.views, k, since)
        if restarts.better(recent, since, own, again):
            _replace(state, k, fresh, since)
            recent.again[k] += 1
            scores[np.ix_(since, np.arange(state.outputs), own)] = again
            changed[k] = since
    if moved is not None or SLOW in changed:
        recent.again += plan.starts & with_views
        _restart_rule(plan, views, state, scores, changed[SLOW] if moved is None else moved, with_views)
    elif recent.rows >= state.review.due:
        everything = recent.in_order()
        for k in zoom.woken(state.review, plan, state.ledger.account, recent.rows):
            _replace(state, k, _trained(plan, views, state, state.views, k, everything)[0], everything)


def _try_views(plan: Plan, views: Views, state: State, is_outdated: bool) -> Counts | None:
    """Restart the views if the inputs have moved and the remembering family has smaller errors with restarted views. Returns the
    places in the buffer of the rows since the move; None if the views do not restart.

    If the remembering family is suspected anyway, or has just restarted (`is_outdated`), its copy must beat the family itself;
    otherwise it must beat all experts.
    """
    recent = state.recent
    since = restarts.moved_since(recent, standardized_rows(state.views, recent.X[recent.in_order()]))
    if since is None:
        return None
    moved = restarted(views, state.views, recent.X[since])
    _, again, own = _trained(plan, views, state, moved, SLOW, since)
    if not restarts.better(recent, since, own if is_outdated else np.flatnonzero(active_experts(plan, state, 1)[0]), again):
        return None
    state.views, state.surveyed = moved, 0
    return since


def _trained(plan: Plan, views: Views, state: State, seen: Any, k: int, since: Counts) -> tuple[Any, Cube, Counts]:
    """A fresh state of family k that has learnt the rows at the places `since`, through the views' state `seen`; the scores of its
    experts before each of these rows; and the indices of its experts."""
    recent, reference = state.recent, state.labels.reference
    labels, lagged = recent.Y[since], recent.lagged[since]
    view, _ = views.write(seen, recent.X[since], labels, np.zeros(len(since)), lagged)
    family: Any = plan.families[k]
    fresh, steps = family.init(state.outputs), Steps()
    centred = np.empty(labels.shape)
    label_scale.centre(labels, reference, centred)
    again = family.learn(fresh, family.features(fresh, view, steps), centred, recent.weight[since], steps)
    steps.run()
    return fresh, again + reference[:, None], np.flatnonzero(plan.family_of == k)


def _replace(state: State, k: int, fresh: Any, since: Counts) -> None:
    state.families = (*state.families[:k], fresh, *state.families[k + 1 :])
    restarts.begun(state.recent, k, len(since))


def _restart_rule(plan: Plan, views: Views, state: State, scores: Cube, since: Counts, too: NDArray[np.bool_]) -> None:
    """Restart the mixing rule: it learns the stored rows at the places `since`, from the experts' `scores` of them. The families
    that were active at first are active again, and no others. Those of them that are in `too`, or had been dropped, are first
    trained anew on the same rows."""
    recent = state.recent
    for k in np.flatnonzero(plan.starts & (too | (state.review.awake == 0))).tolist():
        fresh, again, own = _trained(plan, views, state, state.views, k, since)
        _replace(state, k, fresh, since)
        scores[np.ix_(since, np.arange(state.outputs), own)] = again
    state.review = zoom.init(plan, recent.rows - len(since))
    known = scores[since], recent.Y[since], recent.weight[since], active_experts(plan, state, len(since))
    state.mixed = RULE.init(len(plan.experts), state.outputs)
    mixture = RULE.learn(state.mixed, *known)
    ledger.mixed_again(state.ledger, known[0], mixture, *known[1:])
    if state.alone is not None:
        without = select_without_lags(plan, *known)
        state.alone = RULE.init(without[0].shape[2], state.outputs)
        RULE.learn(state.alone, *without)
