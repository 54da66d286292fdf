"""Auto: the learner that needs no tuning. Families of experts on the same features, mixed with a guarantee.

    row ──> views ──> families ──> the scores of some twenty experts ──> rule ──> score
            Z, U, L   ridges, logistic, neighbours, trees                Layered: convex rules, stackings, ML-Poly over all

The views (`views`) are standardised inputs, ranks and earlier labels. The families (`families`, `plan`) are ridge regressions that
remember everything or forget within 500, 100 or 20 rows, and have an expert for every prefix of their features; logistic
regressions; nearest neighbours; and random trees. Outlying labels are clipped (`labels`). After a change of the stream the families
that remember everything restart, and so do the views if the inputs have moved (`restarts`). Families of little worth are replaced
by variants of the best ones (`zoom`). `adaptation` makes these checks. `onkel.explain` reports the weights of the experts, and the
regret with its bound (`ledger`).

The guarantee: between two restarts of the rule, for any labels in a range of width E, the mixture's sum of squares is at most that
of the best expert, and that of the best fixed affine combination of experts, plus the terms of `onkel.measure.bounds.layered`.

A row costs O(r²) multiplications for the r ≤ 700 features of the remembering family, and O(8000 · dim) for the neighbours: 30 to 60
µs for up to 20 inputs. Memory is fixed: 12 to 20 MB. `cost_limit` and `memory_limit` make it smaller.

Gaillard & Goude (2015), Forecasting electricity consumption by aggregating experts, whose R package opera has the rules. Jézéquel,
Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems: the ridge and its regret.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> for learner in onkel.PKAWV(), onkel.Auto():
...     model = onkel.combine.Scaled(learner)
...     scores = model.learn(model.init(dim=10), X, y)
...     print(round(float(np.mean((scores - y)[1000:] ** 2)), 1))
4.2
1.8
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import leading
from onkel._sparse import Rows, check_labelled_rows, check_rows, count, part
from onkel._types import Cube, Matrix, Vector
from onkel._validate import config, real, whole
from onkel.combine.auto import labels as label_scale
from onkel.combine.auto import mixing
from onkel.combine.auto import state as states
from onkel.combine.auto.adaptation import check, is_due, next_check
from onkel.combine.auto.families import Expert
from onkel.combine.auto.plan import WIDEST_LINE, Plan, plans
from onkel.combine.auto.state import RULE, State, active_experts
from onkel.combine.auto.views import NARROW, SparseViews, Views, lag_columns
from onkel.combine.lagged import check_lagged, lag_inputs
from onkel.groups import Group
from onkel.one_row import RowSteps
from onkel.protocol import Learner
from onkel.turns import Call, Steps, turn

ROWS_AT_ONCE = 256  # rows that are predicted at a time, so that their features stay in the cache


@config
class Auto(Learner[State]):
    """No tuning: experts of several kinds, mixed by how well they have done.

    lags          How many earlier labels are inputs of the next row; 0 for rows in no particular order. Default: 0.
    cost_limit    The most time a row may take, in units of a row of ridge regression on 100 features (about 1.5 µs). Lower it
                  for speed. Default: 45.0.
    memory_limit  The most bytes of a state with one output. Experts that do not fit are left out. Default: 1000000000.0.
    seed          Of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.START
    when: ClassVar[str] = "first, and whenever you do not want to tune; it tells with `onkel.explain` what worked"
    paper: ClassVar[str] = "Gaillard & Goude 2015"

    lags: int = 0
    cost_limit: float = 45.0
    memory_limit: float = 1e9
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 1e-9
    scales_itself: ClassVar[bool] = True  # inputs and labels may have any scale
    takes_sparse: ClassVar[bool] = True  # X may be a scipy.sparse matrix

    def __post_init__(self) -> None:
        whole(self, "lags", 0, 100)
        real(self, "cost_limit", least=1e-3)
        real(self, "memory_limit", least=1.0)
        whole(self, "seed", 0, 2**32)

    def _init(self, dim: int, outputs: int) -> State:
        plan = self._plan(dim)
        return states.init(plan, self._views_of(plan, dim), outputs)

    def learn(self, state: State, X: Any, y: ArrayLike, weight: ArrayLike | None = None, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and changes nothing.

        X is an array or a scipy.sparse matrix; the same numbers give the same scores. `lagged` has one row for each row of X: what
        `remember` returned when the row was predicted. It is used instead of the labels just before the row.
        """
        return super().learn(state, X, y, weight, **({} if lagged is None else {"lagged": lagged}))

    def predict(self, state: State, X: Any, lagged: ArrayLike | None = None) -> Vector:  # type: ignore[override]
        """The score of each row as if it came next, with the earlier labels known now; changes nothing."""
        return super().predict(state, X, **({} if lagged is None else {"lagged": lagged}))

    def predict_any(self, state: State, X: Any) -> Vector:
        """The score of each row by only those experts that see no earlier labels, for rows that may come at any time. If `lags` is
        0, this is `predict`."""
        return self._predicted(self._score_any, state, X)

    def remember(self, state: State) -> Vector:
        """The earlier labels that a row predicted now uses. If the row's label comes late, store them with the row, and pass them
        to `learn` as `lagged`."""
        with turn(self, state):
            return self._remember(state)

    def experts(self, dim: int) -> tuple[Expert, ...]:
        """The experts that are mixed, for rows with `dim` columns."""
        return self._plan(dim).experts

    def weights(self, state: State) -> Matrix:
        """The weight of each expert in the next score, (outputs, experts)."""
        with turn(self, state):
            return self._weights(state)

    def _labelled(self, state: State, X: Any, y: ArrayLike) -> tuple[Any, Matrix, tuple[int, ...]]:
        return check_labelled_rows(X, y, state.dim, state.outputs)

    def _rows(self, state: State, X: Any) -> Any:
        return check_rows(X, state.dim)

    def _take(
        self, call: Call, state: State, X: Any, Y: Matrix, weight: Vector, scores: Matrix, lagged: ArrayLike | None = None
    ) -> None:  # fmt: skip
        given, start, plan = self._given(lagged, len(Y)), 0, self._plan(state.dim)
        while start < len(Y):
            stop = next_check(plan, state)
            stop = min(stop, state.surveyed) if state.recent.rows < state.surveyed else stop
            now, steps = slice(start, start + leading(weight[start:], stop - state.recent.rows)), Steps()
            block = part(X, now), Y[now], weight[now], None if given is None else given[now], scores[now]
            self._plan_steps(state, *block, steps)
            call.defer(steps.run)
            call.complete()
            self._settle(state)
            start = now.stop

    def _survey(self, state: State, X: Any, Y: Matrix, there: Any = None) -> None:
        if not self.lags:  # the views of earlier labels are made in the order of the rows
            views: Any = self._views(state.dim)
            state.views = views.settled(views.write(state.views, X, Y, np.ones(len(Y)))[1])
            state.surveyed += len(Y)

    def _settle(self, state: State) -> None:
        plan = self._plan(state.dim)
        if is_due(plan, state):
            check(plan, self._views(state.dim), state)

    def _plan_steps(
        self, state: State, rows: Matrix | Rows, labels: Matrix, weight: Vector, lagged: Matrix | None, scores: Matrix, steps: Steps
    ) -> None:  # fmt: skip
        """Add the steps that learn the rows; the state changes only when they run."""
        plan = self._plan(state.dim)
        Y, known = label_scale.accepted(state.labels, labels, weight)
        seen_before = state.recent.rows < state.surveyed
        view, views = self._views(state.dim).write(state.views, rows, Y, np.zeros(len(Y)) if seen_before else weight, lagged, steps)
        first = int(np.argmax(weight > 0.0)) if state.labels.rows == 0 and weight.any() else -1
        block = mixing.Block(view, labels, Y, known.reference, weight, active_experts(plan, state, len(Y)), first)
        mixture = mixing.learn(plan, state, block, steps)
        steps.add(_write_mixture, mixture, first, scores)
        steps.add(vars(state).update, {"views": views, "labels": known})

    def _single(self, state: State) -> RowSteps | None:
        plan = self._plan(state.dim)
        return mixing.row_steps(plan, self._views(state.dim), state, next_check(plan, state))

    def _score(self, state: State, X: Any, scores: Matrix, lagged: ArrayLike | None = None) -> None:
        given, plan = self._given(lagged, len(scores)), self._plan(state.dim)
        for start in range(0, len(scores), ROWS_AT_ONCE):
            now = slice(start, min(start + ROWS_AT_ONCE, len(scores)))
            P = self._expert_scores(state, part(X, now), None if given is None else given[now])
            scores[now] = RULE.predict(state.mixed, P, active_experts(plan, state, len(P)))

    def _score_any(self, state: State, X: Any, scores: Matrix) -> None:
        if state.alone is None:
            self._score(state, X, scores)
            return
        plan = self._plan(state.dim)
        alone = plan.without_lags
        for start in range(0, len(scores), ROWS_AT_ONCE):
            now = slice(start, min(start + ROWS_AT_ONCE, len(scores)))
            P = np.ascontiguousarray(self._expert_scores(state, part(X, now), None)[:, :, alone])
            scores[now] = RULE.predict(state.alone, P, np.ascontiguousarray(active_experts(plan, state, len(P))[:, alone]))

    def _expert_scores(self, state: State, rows: Matrix | Rows, lagged: Matrix | None) -> Cube:
        """The score of each row by every expert, as if the row came next."""
        plan, nothing, steps = self._plan(state.dim), np.zeros((count(rows), state.outputs)), Steps()
        view, _ = self._views(state.dim).write(state.views, rows, nothing, nothing[:, 0], lagged)
        scored = mixing.predict(plan, state, view, steps)
        parts = [part and part.scores for part in scored]
        P = mixing.side_by_side(plan, parts, nothing.shape, state.labels.reference, steps)
        steps.run()
        return P

    def _remember(self, state: State) -> Vector:
        inputs: Vector = np.empty(self._lag_columns)
        if self.lags:
            lag_inputs(state.views.lags.last, state.views.lags.means, inputs)
        return inputs

    def _learnt(self, state: State) -> int:
        return state.recent.rows

    def _weights(self, state: State) -> Matrix:
        return states.weights(self._plan(state.dim), state)

    @property
    def _lag_columns(self) -> int:
        return lag_columns(self.lags)

    def _views(self, dim: int) -> Views | SparseViews:
        if dim not in self._known_views:
            self._known_views[dim] = self._views_of(self._plan(dim), dim)
        return self._known_views[dim]

    @functools.cached_property
    def _known_views(self) -> dict[int, Views | SparseViews]:
        return {}

    def _views_of(self, plan: Plan, dim: int) -> Views | SparseViews:
        return SparseViews(dim, self.lags) if plan.lines_only else Views(dim, self.seed, self.lags, plan.goes_by_column)

    @functools.cached_property
    def _plans(self) -> dict[int, Plan]:
        return {}

    def _plan(self, dim: int) -> Plan:
        if dim not in self._plans:
            self._plans[dim] = _chosen(self, dim)
        return self._plans[dim]

    def _given(self, lagged: ArrayLike | None, rows: int) -> Matrix | None:
        return None if lagged is None else check_lagged(lagged, rows, self._lag_columns)

    def _widen(self, state: State, outputs: int) -> None:
        states.widen(self._plan(state.dim), state, outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        return states.footprint(self._plan(dim), self._views(dim), outputs)

    def _check(self, state: State) -> None:
        states.check(self._plan(state.dim), state)

    def _notes(self, state: State) -> list[str]:
        """What the user should know, one sentence each; `onkel.explain` has the details."""
        said, cut = [], int(state.labels.cut[0])
        if cut:
            labels = "1 label was" if cut == 1 else f"{cut} labels were"
            said.append(f"{labels} far from all earlier ones and clipped")
        if self._plan(state.dim).lines_only:
            limits = f"cost_limit={self.cost_limit:g} and memory_limit={self.memory_limit:g}"
            said.append(f"with {state.dim:,} columns only linear experts fit {limits}; more adds kernels, neighbours and trees")
        elif state.dim > WIDEST_LINE:
            said.append(f"kernels and neighbours see its {state.dim:,} columns through a random projection to {NARROW}")
        return said


@functools.lru_cache(maxsize=64)
def _chosen(auto: Auto, dim: int) -> Plan:
    """The first plan within the memory limit; the last plan if there is none."""
    known = plans(dim, lag_columns(auto.lags), auto.cost_limit, auto.seed)
    return next((plan for plan in known if states.footprint(plan, auto._views_of(plan, dim), 1) <= auto.memory_limit), known[-1])


def _write_mixture(mixture: Matrix, first: int, scores: Matrix) -> None:
    """Write the scores; up to the first label they are 0."""
    scores[:] = mixture
    scores[: first + 1] = 0.0
