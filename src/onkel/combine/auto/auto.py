"""Auto: the learner that needs no tuning. Families of experts on the same features, mixed with a guarantee.

    row ──> views ──> families ──> the scores of some twenty experts ──> rule ──> score
            Z, U, L   slow, fast, odds, near, trees                      Layered: convex rules, stackings, ML-Poly over all

The views (`views`) are standardised inputs, ranks and earlier labels; the families (`families`, `plan`) are ridge regressions that
remember everything or forget within 500, 100 or 20 rows, of which every prefix of the features is an expert, logistic regressions,
nearest neighbours and random trees. Labels far from all before are cut (`labels`). When the stream has changed, families that
remember begin again, and the views do where the inputs have moved (`restarts`). Families that nobody would miss are dropped, for
others that do more of what is best (`zoom`).
`onkel.explain` says who counts, and the regret beside its bound (`ledger`).

The guarantee: between two such beginnings, for any labels in a range of width E, the sum of squares of the mixture is at most that
of the best expert, and that of the best fixed affine combination of them, plus the terms of `onkel.measure.bounds.layered`.

A row costs O(r²) multiplications for the r ≤ 700 features of the slow family, and O(8000 · dim) for the neighbours: 30 to 60 µs for
up to 20 inputs. The memory is fixed: 12 to 20 MB. `cost_limit` and `memory_limit` make it smaller.

Gaillard & Goude (2015), Forecasting electricity consumption by aggregating experts, whose R package opera has the rules. Jézéquel,
Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems: the ridge and its regret.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> for learner in onkel.PKAWV(), onkel.Auto():
...     model = onkel.combine.Scaled(learner)
...     scores = model.learn(model.init(dim=10), X, y)
...     print(round(float(np.mean((scores - y)[1000:] ** 2)), 1))
4.2
1.9
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import check_block
from onkel._sparse import Rows, check_labelled_rows, check_rows, count, part
from onkel._types import Counts, Cube, Matrix, Vector
from onkel._validate import real, whole
from onkel.combine import account
from onkel.combine.auto import labels as label_scale
from onkel.combine.auto import ledger, restarts, zoom
from onkel.combine.auto.families import Expert
from onkel.combine.auto.labels import Labels
from onkel.combine.auto.plan import SLOW, WIDEST_LINE, Plan, plans
from onkel.combine.auto.views import NARROW, SparseViews, Views, begun_again, lag_columns, standardized_rows
from onkel.combine.lagged import lag_inputs
from onkel.combine.rules import Layered
from onkel.combine.rules.rule import Awake
from onkel.errors import InputError
from onkel.protocol import Learner
from onkel.state import copied
from onkel.turns import Call, Steps, turn

ROWS_AT_ONCE = 1024  # of a prediction, to keep memory flat
RULE = Layered()


@dataclass
class State:
    views: Any
    families: tuple[Any, ...]
    labels: Labels
    recent: restarts.Recent
    review: zoom.Review
    ledger: ledger.Ledger
    mixed: Any  # of the rule over all experts
    alone: Any  # of the rule over those that see no earlier labels; None where all of them are
    dim: int
    outputs: int


@dataclass(frozen=True)
class Auto(Learner[State]):
    """No tuning: experts of several kinds, mixed by how well they have done."""

    paper: ClassVar[str] = "Gaillard & Goude 2015"

    lags: int = 0  # earlier labels that are inputs of the next row; 0 for rows whose order means nothing
    cost_limit: float = 45.0  # of a row, in rows of a ridge regression on 100 features (about 1.5 µs each)
    memory_limit: float = 1e9  # bytes of a state with one output
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 1e-9
    scales_itself: ClassVar[bool] = True  # inputs and labels may be of any size
    takes_sparse: ClassVar[bool] = True  # X may be one of scipy.sparse's matrices

    def __post_init__(self) -> None:
        whole(self, "lags", 0, 100)
        real(self, "cost_limit", least=1e-3)
        real(self, "memory_limit", least=1.0)
        whole(self, "seed", 0, 2**32)

    def _init(self, dim: int, outputs: int) -> State:
        plan = self._plan(dim)
        views, kept = self._views_of(plan, dim), 0 if plan.lines_only else dim
        alone = RULE.init(sum(not expert.lagged for expert in plan.experts), outputs) if self.lags else None
        families = tuple(family.init(outputs) for family in plan.families)
        recent = restarts.init(plan.check, kept, outputs, self._lag_columns, len(plan.experts), len(families))
        labels, mixed = label_scale.init(outputs), RULE.init(len(plan.experts), outputs)
        book = ledger.init(len(plan.experts), outputs)
        return State(views.init(), families, labels, recent, zoom.init(plan), book, mixed, alone, dim, outputs)

    def learn(self, state: State, X: Any, y: ArrayLike, weight: ArrayLike | None = None, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace.

        X is an array or one of scipy.sparse's; the same numbers give the same scores.
        `lagged`, one row for each of X: what `remember` said when the row was predicted, in place of the labels just before it.
        """
        return super().learn(state, X, y, weight, lagged=lagged)

    def predict(self, state: State, X: Any, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next, with the labels before it as known now; changes nothing."""
        return super().predict(state, X, lagged=lagged)

    def predict_any(self, state: State, X: Any) -> Vector:
        """The score of rows that may come at any time: without earlier labels. Where there are no lags, the same as `predict`."""
        return self._predicted(self._score_any, state, X)

    def remember(self, state: State) -> Vector:
        """The earlier labels that a row would get now: keep them with a row whose label comes late, and hand them to `learn`."""
        with turn(self, state):
            return self._remember(state)

    def experts(self, dim: int) -> tuple[Expert, ...]:
        """Who is mixed, for rows of so many columns."""
        return self._plan(dim).experts

    def weights(self, state: State) -> Matrix:
        """What each expert counts for in the next score, (outputs, experts)."""
        with turn(self, state):
            return self._weights(state)

    def _labelled(self, state: State, X: Any, y: ArrayLike) -> tuple[Any, Matrix, tuple[int, ...]]:
        return check_labelled_rows(X, y, state.dim, state.outputs)

    def _rows(self, state: State, X: Any) -> Any:
        return check_rows(X, state.dim)

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix, lagged: ArrayLike | None = None
    ) -> None:  # fmt: skip
        given, learnt = self._given(state, lagged, len(Y)), state.recent.rows + np.cumsum(weight > 0.0)
        start, every = 0, self._plan(state.dim).check
        while start < len(Y):
            check = (state.recent.rows // every + 1) * every  # at absolute numbers of rows, whatever the cut
            now, steps = slice(start, min(int(np.searchsorted(learnt, check)) + 1, len(Y))), Steps()
            block = part(X, now), Y[now], weight[now], None if given is None else given[now], scores[now]
            self._learn(state, *block, steps)
            call.owe(steps.run)
            call.pay()
            self._settle(state)
            start = now.stop

    def _learn(
        self, state: State, rows: Matrix | Rows, labels: Matrix, weight: Vector, lagged: Matrix | None, scores: Matrix, steps: Steps
    ) -> None:  # fmt: skip
        """Add the steps that learn the rows; nothing has changed before they run."""
        Y, known = label_scale.accepted(state.labels, labels, weight)
        view, views = self._views(state.dim).write(state.views, rows, Y, weight, lagged, steps)
        centred, who = Y - known.reference, self._awake(state, len(Y))
        parts = [family.learn(own, view, centred, weight, steps) for family, own in self._each(state)]
        first = int(np.argmax(weight > 0.0)) if state.labels.rows == 0 and weight.any() else -1
        P = np.empty((*Y.shape, who.shape[1]))
        steps.add(self._write_scores, P, parts, who[0], known.reference, Y, first)
        mixture = alone = RULE.plan(state.mixed, P, Y, weight, who, steps)
        ledger.mixed(state.ledger, P, mixture, Y, weight, who, steps)
        if state.alone is not None:
            P_alone = np.empty((*Y.shape, state.alone.experts))
            steps.add(np.compress, self._alone(state), P, 2, P_alone)
            alone = RULE.plan(state.alone, P_alone, Y, weight, np.ascontiguousarray(who[:, self._alone(state)]), steps)
        steps.add(_write_mixtures, mixture, alone, first, scores)
        ledger.count(state.ledger, P, mixture, alone, Y, weight, who[0], steps)
        trusted = np.where(np.all(labels == Y, axis=1), weight, 0.0)  # nobody begins again with a label that was cut
        restarts.keep(state.recent, weight > 0.0, view.X, Y, trusted, view.lagged, P, steps)
        steps.add(vars(state).update, {"views": views, "labels": known})

    def _write_scores(self, P: Cube, parts: list[Cube], who: Awake, reference: Vector, Y: Matrix, first: int) -> None:
        """The scores of all experts side by side, 0 of those asleep, with what was subtracted from the labels."""
        P[:] = 0.0
        P[:, :, who] = np.concatenate(parts, axis=2)
        P += reference[:, None]
        P[: first + 1] = 0.0  # nobody knows anything of labels before the first;
        if first >= 0:
            P[first] = Y[first][:, None]  # nor is it held against anybody

    def _settle(self, state: State) -> None:
        """A check is due every so many rows; it is made on a copy of what it may change, as one step."""
        recent, every = state.recent, self._plan(state.dim).check
        if recent.rows == recent.checked or recent.rows % every:
            return
        counted_for = self._weights(state)  # in the rows since the last check
        noted = {name: getattr(recent, name).copy() for name in ("lag", "checks", "began", "again")}
        work = replace(state, recent=replace(recent, **noted), review=copied(state.review), ledger=copied(state.ledger))
        self._review(work)
        ledger.note(work.ledger, recent.rows, every, counted_for)
        work.recent.checked = recent.rows
        vars(state).update(vars(work))

    def _review(self, state: State) -> None:
        """Who has to begin again, who is dropped, and who wakes."""
        plan, recent = self._plan(state.dim), state.recent
        if plan.lines_only:
            return
        scores, changed = recent.scores.copy(), dict[int, Counts]()
        suspected = restarts.suspected(recent, plan.family_of, plan.forgets, state.review.awake > 0)
        moved = self._move_views(state, any(k == SLOW for k, _ in suspected) or restarts.is_new(recent, SLOW))
        through = plan.sees_views & (moved is not None)  # who begins again with the views
        for k, since in suspected:
            if through[k]:
                continue
            fresh, again, own = self._begun(state, state.views, k, since)
            if restarts.better(recent, since, own, again):
                self._replace(state, k, fresh, since)
                recent.again[k] += 1
                scores[np.ix_(since, np.arange(state.outputs), own)] = again
                changed[k] = since
        if moved is not None or SLOW in changed:
            recent.again += plan.starts & through
            self._begin_again(state, scores, changed[SLOW] if moved is None else moved, through)
        elif recent.rows >= state.review.due:
            everything = recent.in_order()
            for k in zoom.woken(state.review, plan, state.ledger.account, recent.rows):
                self._replace(state, k, self._begun(state, state.views, k, everything)[0], everything)

    def _move_views(self, state: State, is_outdated: bool) -> Counts | None:
        """Begin the views again where the inputs have moved and that helps the slow family; the places of the rows since then.

        A slow family that is suspected anyway, or has just begun again, has to do better than as it is; others better than anybody.
        """
        recent, views = state.recent, self._views(state.dim)
        since = restarts.moved_since(recent, standardized_rows(state.views, recent.X[recent.in_order()]))
        if since is None:
            return None
        moved = begun_again(views, state.views, recent.X[since])
        _, again, own = self._begun(state, moved, SLOW, since)
        if not restarts.better(recent, since, own if is_outdated else np.flatnonzero(self._awake(state, 1)[0]), again):
            return None
        state.views = moved
        return since

    def _begun(self, state: State, views: Any, k: int, since: Counts) -> tuple[Any, Cube, Counts]:
        """Family k, begun with the rows at these places, seen by these views; what its experts said of them, and their numbers."""
        plan, recent, reference = self._plan(state.dim), state.recent, state.labels.reference
        labels, lagged = recent.Y[since], recent.lagged[since]
        view, _ = self._views(state.dim).write(views, recent.X[since], labels, np.zeros(len(since)), lagged)
        family: Any = plan.families[k]
        fresh, steps = family.init(state.outputs), Steps()
        again = family.learn(fresh, view, labels - reference, recent.weight[since], steps)
        steps.run()
        return fresh, again + reference[:, None], np.flatnonzero(plan.family_of == k)

    def _replace(self, state: State, k: int, fresh: Any, since: Counts) -> None:
        state.families = (*state.families[:k], fresh, *state.families[k + 1 :])
        restarts.begun(state.recent, k, len(since))

    def _begin_again(self, state: State, scores: Cube, since: Counts, too: NDArray[np.bool_]) -> None:
        """The rule begins again with these rows and what was said of them, and so do these families; awake is who was at first."""
        plan, recent = self._plan(state.dim), state.recent
        for k in np.flatnonzero(plan.starts & (too | (state.review.awake == 0))).tolist():
            fresh, again, own = self._begun(state, state.views, k, since)
            self._replace(state, k, fresh, since)
            scores[np.ix_(since, np.arange(state.outputs), own)] = again
        state.review = zoom.init(plan, recent.rows)
        known = scores[since], recent.Y[since], recent.weight[since], self._awake(state, len(since))
        state.mixed = RULE.init(len(plan.experts), state.outputs)
        mixture = RULE.learn(state.mixed, *known)
        ledger.mixed_again(state.ledger, known[0], mixture, *known[1:])
        if state.alone is not None:
            without = self._without_lags(state, *known)
            state.alone = RULE.init(without[0].shape[2], state.outputs)
            RULE.learn(state.alone, *without)

    def _score(self, state: State, X: Any, scores: Matrix, lagged: ArrayLike | None = None) -> None:
        given = self._given(state, lagged, len(scores))
        for start in range(0, len(scores), ROWS_AT_ONCE):
            now = slice(start, min(start + ROWS_AT_ONCE, len(scores)))
            P = self._scores(state, part(X, now), None if given is None else given[now])
            scores[now] = RULE.predict(state.mixed, P, self._awake(state, len(P)))

    def _score_any(self, state: State, X: Any, scores: Matrix) -> None:
        if state.alone is None:
            self._score(state, X, scores)
            return
        alone = self._alone(state)
        for start in range(0, len(scores), ROWS_AT_ONCE):
            now = slice(start, min(start + ROWS_AT_ONCE, len(scores)))
            P = np.ascontiguousarray(self._scores(state, part(X, now), None)[:, :, alone])
            scores[now] = RULE.predict(state.alone, P, np.ascontiguousarray(self._awake(state, len(P))[:, alone]))

    def _remember(self, state: State) -> Vector:
        inputs: Vector = np.empty(self._lag_columns)
        if self.lags:
            lag_inputs(state.views.lags.last, state.views.lags.means, inputs)
        return inputs

    def _learnt(self, state: State) -> int:
        return state.recent.rows

    def _weights(self, state: State) -> Matrix:
        return RULE.weights(state.mixed, self._awake(state, 1)[0])

    @property
    def _lag_columns(self) -> int:
        return lag_columns(self.lags)

    def _views(self, dim: int) -> Views | SparseViews:
        return self._views_of(self._plan(dim), dim)

    def _views_of(self, plan: Plan, dim: int) -> Views | SparseViews:
        return SparseViews(dim, self.lags) if plan.lines_only else Views(dim, self.seed, self.lags, plan.goes_by_column)

    @functools.cached_property
    def _plans(self) -> dict[int, Plan]:
        return {}

    def _plan(self, dim: int) -> Plan:
        if dim not in self._plans:
            self._plans[dim] = _chosen(self, dim)
        return self._plans[dim]

    def _each(self, state: State) -> list[tuple[Any, Any]]:
        """The families that are awake, with their states."""
        each = zip(self._plan(state.dim).families, state.families, state.review.awake, strict=True)
        return [(family, own) for family, own, awake in each if awake]

    def _awake(self, state: State, rows: int) -> NDArray[np.bool_]:
        """Which experts speak, (rows, experts)."""
        return np.tile(state.review.awake[self._plan(state.dim).family_of] > 0, (rows, 1))

    def _scores(self, state: State, rows: Matrix | Rows, lagged: Matrix | None) -> Cube:
        """Of every expert for each row as if it came next."""
        nothing = np.zeros((count(rows), state.outputs))
        view, _ = self._views(state.dim).write(state.views, rows, nothing, nothing[:, 0], lagged)
        P, who = np.empty((len(nothing), state.outputs, len(self.experts(state.dim)))), self._awake(state, 1)[0]
        parts = [family.predict(own, view) for family, own in self._each(state)]
        self._write_scores(P, parts, who, state.labels.reference, nothing, -1)
        return P

    def _alone(self, state: State) -> NDArray[np.bool_]:
        """The experts that see no earlier labels."""
        return np.array([not expert.lagged for expert in self.experts(state.dim)])

    def _without_lags(
        self, state: State, P: Cube, Y: Matrix, weight: Vector, who: NDArray[np.bool_]
    ) -> tuple[Cube, Matrix, Vector, NDArray[np.bool_]]:
        """What a rule learns, of those that see no earlier labels."""
        alone = self._alone(state)
        return np.ascontiguousarray(P[:, :, alone]), Y, weight, np.ascontiguousarray(who[:, alone])

    def _given(self, state: State, lagged: ArrayLike | None, rows: int) -> Matrix | None:
        if lagged is None:
            return None
        given, columns = check_block("lagged", lagged), self._lag_columns
        if given.shape != (rows, columns):
            raise InputError(f"lagged must have shape ({rows}, {columns}), what remember gave for each row; got {given.shape}")
        return given

    def _widen(self, state: State, outputs: int) -> None:
        for family, own in zip(self._plan(state.dim).families, state.families, strict=True):
            family.widen(own, outputs)
        for rule in (state.mixed, state.alone):
            if rule is not None:
                RULE.widen(rule, outputs)
        state.labels = label_scale.widened(state.labels, outputs)
        restarts.widen(state.recent, outputs)
        ledger.widen(state.ledger, outputs)
        state.outputs = outputs

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold."""
        return self._bytes(self._plan(dim), dim, outputs)

    def _bytes(self, plan: Plan, dim: int, outputs: int) -> int:
        experts = [len(plan.experts)] + ([sum(not expert.lagged for expert in plan.experts)] if self.lags else [])
        kept = 0 if plan.lines_only else dim
        recent = restarts.footprint(plan.check, kept, outputs, self._lag_columns, len(plan.experts), len(plan.families))
        families = sum(family.footprint(outputs) for family in plan.families)
        rules = sum(RULE.footprint(count, outputs) for count in experts)
        return (
            self._views_of(plan, dim).footprint()
            + families
            + label_scale.footprint(outputs)
            + recent
            + zoom.footprint(plan)
            + ledger.footprint(len(plan.experts), outputs)
            + rules
            + 8 * 2
        )

    def _check(self, state: State) -> None:
        for family, own in zip(self._plan(state.dim).families, state.families, strict=True):
            family.check(own)
        if not np.isin(state.review.awake, (0, 1)).all() or not state.review.awake[0]:
            raise InputError("its families are neither awake nor asleep")
        for rule in (state.mixed, state.alone):
            if rule is not None:
                RULE.check(rule)
        account.check(state.ledger.account)

    def _notes(self, state: State) -> list[str]:
        """`onkel.explain` says more."""
        said, cut = [], state.labels.cut
        if cut:
            labels = "1 label was" if cut == 1 else f"{cut} labels were"
            said.append(f"{labels} far from all before and counted for less")
        if self._plan(state.dim).lines_only:
            limits = f"cost_limit={self.cost_limit:g} and memory_limit={self.memory_limit:g}"
            said.append(f"with {state.dim:,} columns only linear experts fit {limits}; more adds kernels, neighbours and trees")
        elif state.dim > WIDEST_LINE:
            said.append(f"kernels and neighbours see its {state.dim:,} columns through a random projection to {NARROW}")
        return said


@functools.lru_cache(maxsize=64)
def _chosen(auto: Auto, dim: int) -> Plan:
    """The first plan that keeps the limit of memory, or the last."""
    known = plans(dim, lag_columns(auto.lags), auto.cost_limit, auto.seed)
    return next((plan for plan in known if auto._bytes(plan, dim, 1) <= auto.memory_limit), known[-1])


def _write_mixtures(mixture: Matrix, alone: Matrix, first: int, scores: Matrix) -> None:
    """Nothing is said before the first label."""
    mixture[: first + 1] = alone[: first + 1] = 0.0
    scores[:] = mixture
