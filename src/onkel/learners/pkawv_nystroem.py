"""PKAWVNystroem: the Azoury-Warmuth-Vovk forecaster in the span of a dictionary that the stream itself chooses.

    H_t = span{k(x, ·): x in the dictionary after round t's coin}
    f̂_t = argmin_{f in H_t}  Σ_{s<t} w_s (y_s − f(x_s))² + λ‖f‖² + f(x_t)²                    ŷ_t = f̂_t(x_t)

    z = L⁻¹k(x),  L Lᵀ = K(points, points)        orthonormal coordinates: a new point adds one and leaves the others as they are
    A = λI + Σ w z zᵀ = RᵀR,   b = Σ w y z,   ŷ = zᵀ(A + z zᵀ)⁻¹b

Regret with KORS, μ ≤ λ and |y| ≤ B, with high probability:  λ‖f‖² + B² d_eff(λ) ln(e + enκ²/λ) + 2B²(m + 1)nμ/λ, m points.

`keep_history=True` is the definition: a new coordinate is computed for all past rows, which are kept: O(m²dim) a row on average,
n(dim + outputs + 1) + O(m²) numbers. `keep_history=False` gives past rows a 0 there: O(m² + m·dim) a row and in memory, no proof.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS. Algorithm 2.
Departs from the paper: orthonormal coordinates in the place of its update and downdate of K_nmᵀK_nm + λK_mm, which fail when points
are alike; KORS with its own μ and weights 1/√p; a point already in the span (pivot² ≤ 1e-10 k(x, x)) does not widen it; row
weights; several outputs; `awv=False` is its Projected-KRR; `budget`: a dictionary of so many points takes no more.

>>> X, y = onkel.data.rings(4000, seed=0)
>>> learner = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.0))
>>> state = learner.init(dim=2)
>>> scores = learner.learn(state, X, y)
>>> print(len(state.span.points), "points,", int(np.sum(np.sign(scores) != y)), "mistakes")
166 points, 9 mistakes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel._inputs import LARGEST_NUMBER, check_inputs, check_labelled, check_weight
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import flag, instance, real, whole
from onkel.dictionary import Dictionary, Kors
from onkel.dictionary.dictionary import Rule, is_taken
from onkel.dictionary.span import Span, check, empty, widened
from onkel.errors import InputError
from onkel.kernels import Gaussian, Kernel
from onkel.learners.protocol import check_room, check_sizes, check_wider
from onkel.linalg.cholesky import solve, solve_transposed
from onkel.linalg.factor import border, check_factor, learn_solved, rotate, solve_row
from onkel.state import growing, grown, written_behind

ROWS_AT_ONCE = 32  # kernel values are computed for so many rows at a time
PAST_ROWS_AT_ONCE = 1024
LARGEST_LEVERAGE = 1e12  # zᵀA⁻¹z beyond which a row is learnt with fewer than about six digits

Form = tuple[Counts, Vector, Matrix, Matrix]  # spanning, whitening, R, c
Block = tuple[Matrix, Vector, Matrix, Vector]  # kernel values, k(x, x), labels, weights
Flags = NDArray[np.bool_]


@dataclass
class State:
    span: Span
    matrix: Matrix = growing(0, 1)  # (r, r)  R, upper triangular
    coef: Matrix = growing(1)  # (outputs, r)  R⁻ᵀb
    past_inputs: Matrix = growing(0)  # (capacity, dim)  empty where no history is kept
    past_labels: Matrix = growing(0)  # (capacity, outputs)
    past_weights: Vector = growing(0)  # (capacity,)
    rows: int = 0  # learnt so far
    rebuilt: int = 0  # times R was made anew from the history, where bordering it would have lost digits
    strained: int = 0  # rows whose zᵀA⁻¹z was beyond LARGEST_LEVERAGE
    dim: int = 1
    outputs: int = 1


@dataclass(frozen=True)
class PKAWVNystroem:
    """Second-order online regression in the span of points that the stream chooses, for any kernel."""

    kernel: Kernel = Gaussian()  # of X as it is; scale it first
    lam: float = 1.0  # λ: the ridge
    dictionary: Dictionary = Kors()
    awv: bool = True  # False: plain ridge regression (Projected-KRR)
    keep_history: bool = True  # False: O(m²) memory, and past rows stay as their own round saw them
    budget: int | None = None  # the most points the dictionary takes
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        real(self, "lam", least=1e-30, most=1e30)
        instance(self, "dictionary", Dictionary, "Kors(mu=0.1)")
        flag(self, "awv")
        flag(self, "keep_history")
        whole(self, "budget", 1, optional=True)
        whole(self, "seed", 0)

    def init(self, dim: int, outputs: int = 1) -> State:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        return State(
            span=empty(self.dictionary, dim),
            matrix=np.empty((0, 0)),
            coef=np.empty((outputs, 0)),
            past_inputs=np.empty((0, dim)),
            past_labels=np.empty((0, outputs)),
            past_weights=np.empty(0),
            dim=dim,
            outputs=outputs,
        )

    def learn(self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, state.outputs)
        weights = check_weight(weight, len(rows))
        own = self.kernel.diagonal(rows)
        work = state
        if self.kernel.fallible:  # it may fail in the middle; the history is written behind `rows`, all else is replaced
            work = replace(state, matrix=state.matrix.copy(), coef=state.coef.copy())
        self._make_room(state, work, int(np.count_nonzero(weights)))
        past = (state.past_inputs, state.past_labels, state.past_weights)
        with written_behind(*((array, state.rows) for array in past)):
            scores = self._rounds(work, rows, own, labels, weights)
        vars(state).update(vars(work))
        return scores.reshape(shape)

    def predict(self, state: State, X: ArrayLike) -> Vector:
        """The score of each row as if it came next, with the next round's coin; changes nothing."""
        rows = check_inputs(X, state.dim)
        own, labels = self.kernel.diagonal(rows), np.zeros((len(rows), state.outputs))
        scores = self._rounds(state, rows, own, labels, np.zeros(len(rows)))  # weights 0: nothing is learnt
        return scores if state.outputs > 1 else scores[:, 0]

    def _make_room(self, state: State, work: State, new: int) -> None:
        """Room in the history for so many rows, before anything is learnt."""
        if not self.keep_history:
            return
        rows = state.rows + new
        check_room(self, 16 * rows * (state.dim + state.outputs + 1), "keep_history=False keeps no rows")
        longer = [grown(array, rows) for array in (state.past_inputs, state.past_labels, state.past_weights)]
        for one in (state, work):
            one.past_inputs, one.past_labels, one.past_weights = longer

    def _rounds(self, state: State, X: Matrix, own: Vector, Y: Matrix, weight: Vector) -> Matrix:
        scores = np.empty(Y.shape)
        at_once = 1 if self.kernel.fallible else ROWS_AT_ONCE
        done, decided = 0, False  # the row at `done` has had its coin
        while done < len(X):
            now = slice(done, done + at_once)
            K = self.kernel.values(X[now], state.span.points)
            joins = np.zeros(len(K), np.bool_)
            size, next_joins = self._learn(state, K, own[now], Y[now], weight[now], decided, joins, scores[now])
            self._keep(state, X[now][:size], Y[now][:size], weight[now][:size])
            self._score_as_if_joined(state, X[now], K, own[now], joins, scores[now])
            done, decided = done + size, False
            if next_joins:
                span, l, pivot = widened(state.span, self.dictionary, X[done], K[size], float(own[done]), state.rows)
                vars(state).update(vars(self._wider(state, [(span, l, pivot)], X[done : done + 1])[0]))
                decided = True
        return scores

    def _score_as_if_joined(self, state: State, X: Matrix, K: Matrix, own: Vector, joins: Flags, scores: Matrix) -> None:
        """Score rows that are not learnt, but whose point would join if they came next."""
        rows = np.flatnonzero(joins)
        spans = [widened(state.span, self.dictionary, X[i], K[i], float(own[i]), state.rows) for i in rows]
        for i, wider in zip(rows, self._wider(state, spans, X[rows]), strict=True):
            one, nothing = slice(i, i + 1), np.zeros(1)
            values = self.kernel.values(X[one], wider.span.points)
            self._learn(wider, values, own[one], np.zeros((1, state.outputs)), nothing, True, np.zeros(1, np.bool_), scores[one])

    def _learn(
        self, state: State, K: Matrix, own: Vector, Y: Matrix, weight: Vector, decided: bool, joins: Flags, scores: Matrix
    ) -> tuple[int, bool]:
        """Score and learn rows up to the first that is learnt and whose point joins: how many were done, and whether one is next.

        Rows of a block without weights may join one by one, each for itself: they are marked in `joins`.
        """
        span = state.span
        asks = self.budget is None or len(span.points) < self.budget
        rule, form = (
            self.dictionary.rule(span.sampling, len(span.points)),
            (span.spanning, span.whitening, state.matrix, state.coef),
        )
        done, next_joins, state.rows, strained = _learn(
            rule, self.seed, state.rows, asks, decided, (K, own, Y, weight), form, self.awv, joins, scores
        )
        state.strained += strained
        return done, next_joins

    def _keep(self, state: State, X: Matrix, Y: Matrix, weight: Vector) -> None:
        learnt = weight > 0.0
        if self.keep_history and learnt.any():
            now = slice(state.rows - np.count_nonzero(learnt), state.rows)
            state.past_inputs[now], state.past_labels[now], state.past_weights[now] = X[learnt], Y[learnt], weight[learnt]

    def _wider(self, state: State, spans: list[tuple[Span, Vector, float]], X: Matrix) -> list[State]:
        """For each wider span: a state like this one in it."""
        found = []
        past = self._past_coordinates(state, [(l, pivot) for _, l, pivot in spans], X)
        for (span, _, pivot), (column, corner, target) in zip(spans, past, strict=True):
            if pivot == 0.0:
                found.append(replace(state, span=span))
                continue
            matrix, coef, sound = border(state.matrix, state.coef, column, self.lam + corner, target, self.lam)
            wider = replace(state, span=span, matrix=matrix, coef=coef)
            found.append(wider if sound else self._rebuilt(wider))
        return found

    def _past_coordinates(self, state: State, points: list[tuple[Vector, float]], X: Matrix) -> list[tuple[Vector, float, Vector]]:
        """Σ w z g, Σ w g² and Σ w y g over the past rows, for each new point x with l and pivot.

        g(x_s) = (k(x, x_s) − l·z_s)/pivot is the new coordinate. With a = L⁻ᵀl it is (k(x, x_s) − a·k_s)/pivot: z_s is never
        formed, and Σ w z g = L⁻¹ Σ w k_s g.
        """
        r, span = len(state.span.spanning), state.span
        columns, totals = np.zeros((len(points), r)), np.zeros((len(points), 1 + state.outputs))
        if self.keep_history and len(points):
            A, pivots = np.array([l for l, _ in points]).reshape(len(points), r), np.array([pivot for _, pivot in points])
            for a in A:
                solve_transposed(span.whitening, r, a)
            for start in range(0, state.rows, PAST_ROWS_AT_ONCE):
                now = slice(start, min(start + PAST_ROWS_AT_ONCE, state.rows))
                K = self.kernel.values(state.past_inputs[now], span.points[span.spanning])
                new = self.kernel.values(X, state.past_inputs[now])
                _add_past(K, new, A, pivots, state.past_labels[now], state.past_weights[now], columns, totals)
            for column in columns:
                solve(span.whitening, r, column)
        return [(column, float(total[0]), total[1:]) for column, total in zip(columns, totals, strict=True)]

    def _rebuilt(self, state: State) -> State:
        """R and c from the history, row by row: where bordering would lose digits, heavy rows or a small λ."""
        r, span = len(state.span.spanning), state.span
        R, c = np.sqrt(self.lam) * np.eye(r), np.zeros((state.outputs, r))
        for start in range(0, state.rows, PAST_ROWS_AT_ONCE):
            now = slice(start, min(start + PAST_ROWS_AT_ONCE, state.rows))
            K = self.kernel.values(state.past_inputs[now], span.points[span.spanning])
            _relearn(K, span.whitening, R, c, state.past_labels[now], state.past_weights[now])
        return replace(state, matrix=R, coef=c, rebuilt=state.rebuilt + 1)

    def widen(self, state: State, outputs: int) -> None:
        """Add outputs in mid-stream; each starts exactly as if its label had been 0 in every row so far."""
        outputs = check_wider(self, state, outputs)
        check_room(self, 8 * outputs * (len(state.past_labels) + state.coef.shape[1]), "add fewer outputs")
        more = outputs - state.outputs
        coef, labels = np.pad(state.coef, ((0, more), (0, 0))), np.pad(state.past_labels, ((0, 0), (0, more)))
        state.coef, state.past_labels, state.outputs = coef, labels, outputs

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold: next to nothing. The header says how they grow."""
        return 8 * 5

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        check(state.span, self.dictionary, self.kernel, state.rows, self.budget)
        check_factor(state.matrix, state.coef, len(state.span.spanning), self.lam)
        past = (state.past_inputs, state.past_labels, state.past_weights)
        lengths = {len(array) for array in past}
        if len(lengths) > 1 or (max(lengths) < state.rows if self.keep_history else max(lengths) > 0):
            raise InputError("its history does not have one entry a row learnt")
        if any(np.abs(array).max(initial=0.0) > LARGEST_NUMBER for array in past):
            raise InputError("its history holds numbers that were never learnt")
        if np.any(state.past_weights[: len(state.past_weights) and state.rows] <= 0.0):
            raise InputError("its history has a row without weight")

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        said = []
        if self.budget is not None and len(state.span.points) >= self.budget:
            said.append(f"the dictionary is full: {self.budget} points; it learns on with them (raise budget, or mu)")
        if state.rebuilt:
            said.append(
                f"heavy rows or a small lam: the matrix was rebuilt from the history {state.rebuilt} times to keep its digits"
            )
        if state.strained:
            said.append(f"lam is too small beside k(x, x) for {state.strained} rows: digits were lost (rescale X, or raise lam)")
        return said


@hot
def _learn(
    rule: Rule, seed: int, rows: int, asks: bool, decided: bool, block: Block, form: Form, awv: bool, joins: Flags, scores: Matrix
) -> tuple[int, bool, int, int]:
    """Rounds up to the first that is learnt and whose point joins.

    Returns how many were done, whether the next is such a round, the new count of rows learnt, and how many were strained.
    """
    K, own, Y, weight = block
    spanning, whitening, R, c = form
    r, outputs = spanning.size, Y.shape[1]
    l, z = np.empty(K.shape[1]), np.empty(r)
    strained, nothing_learnt = 0, not np.any(weight)
    for i in range(K.shape[0]):
        k = K[i]
        if asks and not (decided and i == 0) and is_taken(rule, k, own[i], seed, rows, l):
            if nothing_learnt:
                joins[i] = True
                continue
            if weight[i] == 0.0 and i == 0:
                joins[0] = True
                return 1, False, rows, strained
            # a row that is not learnt among rows that are begins a block of its own, to see the state of its own round
            return i, weight[i] > 0.0, rows, strained
        for j in range(r):
            z[j] = k[spanning[j]]
        solve(whitening, r, z)
        solve_row(R, z)
        s = np.dot(z, z)
        shrink = 1.0 + s if awv else 1.0
        for o in range(outputs):
            scores[i, o] = np.dot(c[o], z) / shrink
        if weight[i] > 0.0:
            root = np.sqrt(weight[i])
            learn_solved(R, c, root * z, root * Y[i])
            rows += 1
            if weight[i] * s > LARGEST_LEVERAGE:
                strained += 1
    return K.shape[0], False, rows, strained


@hot
def _add_past(
    K: Matrix, new: Matrix, A: Matrix, pivots: Vector, Y: Matrix, weight: Vector, columns: Matrix, totals: Matrix
) -> None:
    """columns += Σ w g k,  totals += Σ w g (g, y), with g = (k_new − a·k)/pivot, for each new point."""
    for p in range(A.shape[0]):
        if pivots[p] == 0.0:
            continue
        a, column = A[p], columns[p]
        for t in range(K.shape[0]):
            k = K[t]
            g = (new[p, t] - np.dot(a, k)) / pivots[p]
            step = weight[t] * g
            for j in range(k.size):
                column[j] += step * k[j]
            totals[p, 0] += step * g
            for o in range(Y.shape[1]):
                totals[p, 1 + o] += step * Y[t, o]


@hot
def _relearn(K: Matrix, whitening: Vector, R: Matrix, c: Matrix, Y: Matrix, weight: Vector) -> None:
    """Rotate the rows with kernel values K into R and c."""
    r, outputs = K.shape[1], Y.shape[1]
    z, label = np.empty((1, r)), np.empty((1, outputs))
    start, m, s = np.zeros(1, np.int64), np.empty((1, outputs)), np.empty(1)
    for t in range(K.shape[0]):
        z[0] = K[t]
        solve(whitening, r, z[0])
        root = np.sqrt(weight[t])
        z *= root
        label[0] = root * Y[t]
        rotate(R, c, z, label, start, m, s)
