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

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_inputs, check_labelled, check_weight
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import flag, instance, real, whole
from onkel.dictionary import Dictionary, Kors
from onkel.dictionary.dictionary import Rule, is_taken
from onkel.dictionary.span import Span, check, empty, values, widened
from onkel.errors import InputError
from onkel.kernels import Gaussian, Kernel
from onkel.learners.protocol import check_room, check_sizes, check_wider
from onkel.linalg.cholesky import solve, solve_transposed
from onkel.linalg.factor import border, learn_solved, solve_row
from onkel.state import growing, grown

ROWS_AT_ONCE = 32  # kernel values are computed for so many rows at a time
PAST_ROWS_AT_ONCE = 1024
LARGEST_LEVERAGE = 1e12  # zᵀA⁻¹z beyond which a row is learnt with fewer than about six digits

Form = tuple[Counts, Vector, Matrix, Matrix]  # spanning, whitening, R, c


@dataclass
class State:
    span: Span
    matrix: Matrix = growing(0, 1)  # (r, r)  R, upper triangular
    coef: Matrix = growing(1)  # (outputs, r)  R⁻ᵀb
    past_inputs: Matrix = growing(0)  # (capacity, dim)  empty where no history is kept
    past_labels: Matrix = growing(0)  # (capacity, outputs)
    past_weights: Vector = growing(0)  # (capacity,)
    rows: int = 0  # learnt so far
    raised: int = 0  # times rounding brought a new pivot of R below √λ and it was raised
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
        if not self.kernel.fallible:
            return self._rounds(state, rows, labels, weights).reshape(shape)
        copied = deepcopy(state)  # a user's kernel may fail in the middle
        scores = self._rounds(copied, rows, labels, weights)
        vars(state).update(vars(copied))
        return scores.reshape(shape)

    def predict(self, state: State, X: ArrayLike) -> Vector:
        """The score of each row as if it came next, with the next round's coin; changes nothing."""
        rows = check_inputs(X, state.dim)
        scores = self._rounds(
            state, rows, np.zeros((len(rows), state.outputs)), np.zeros(len(rows))
        )  # weights 0: nothing is learnt
        return scores if state.outputs > 1 else scores[:, 0]

    def _rounds(self, state: State, X: Matrix, Y: Matrix, weight: Vector) -> Matrix:
        own = self.kernel.diagonal(X)
        if self.keep_history:
            rows = state.rows + int(np.count_nonzero(weight))
            check_room(self, 8 * rows * (state.dim + state.outputs + 1), "keep_history=False keeps no rows")
        scores = np.empty(Y.shape)
        done, decided = 0, False  # the row at `done` has had its coin
        while done < len(X):
            now = slice(done, done + ROWS_AT_ONCE)
            K = values(self.kernel, X[now], state.span.points)
            size = self._learn(state, K, own[now], Y[now], weight[now], decided, scores[now])
            self._keep(state, X[now][:size], Y[now][:size], weight[now][:size])
            done, decided = done + size, False
            if size < len(K):  # this row's point joins
                wider = self._joined(state, X[done], K[size], float(own[done]))
                decided = True
                if weight[done] > 0.0:
                    vars(state).update(vars(wider))
                else:
                    row = slice(done, done + 1)
                    K = values(self.kernel, X[row], wider.span.points)
                    self._learn(wider, K, own[row], Y[row], weight[row], decided, scores[row])
                    done, decided = done + 1, False
        return scores

    def _learn(self, state: State, K: Matrix, own: Vector, Y: Matrix, weight: Vector, decided: bool, scores: Matrix) -> int:
        """Score and learn rows up to the first whose point joins; how many were done."""
        asks = self.budget is None or len(state.span.points) < self.budget
        span = state.span
        rule, form = self.dictionary.rule(span.sampling), (span.spanning, span.whitening, state.matrix, state.coef)
        done, learnt, strained = _learn(rule, self.seed, state.rows, asks, decided, K, own, form, Y, weight, self.awv, scores)
        state.rows, state.strained = learnt, state.strained + strained
        return done

    def _keep(self, state: State, X: Matrix, Y: Matrix, weight: Vector) -> None:
        learnt = weight > 0.0
        if not self.keep_history or not learnt.any():
            return
        now = slice(state.rows - np.count_nonzero(learnt), state.rows)
        state.past_inputs = grown(state.past_inputs, now.stop)
        state.past_labels = grown(state.past_labels, now.stop)
        state.past_weights = grown(state.past_weights, now.stop)
        state.past_inputs[now], state.past_labels[now], state.past_weights[now] = X[learnt], Y[learnt], weight[learnt]

    def _joined(self, state: State, x: Vector, k: Vector, own: float) -> State:
        """A state like this one whose dictionary has one more point."""
        span, l, pivot = widened(state.span, self.dictionary, x, k, own, state.rows)
        if pivot == 0.0:
            return replace(state, span=span)
        column, corner, target = self._past_coordinate(state, x, l, pivot)
        matrix, coef, raised = border(state.matrix, state.coef, column, self.lam + corner, target, self.lam)
        return replace(state, span=span, matrix=matrix, coef=coef, raised=state.raised + raised)

    def _past_coordinate(self, state: State, x: Vector, l: Vector, pivot: float) -> tuple[Vector, float, Vector]:
        """Σ w z g, Σ w g² and Σ w y g over the past rows, where g(x_s) = (k(x, x_s) − l·z_s)/pivot is the new coordinate.

        With a = L⁻ᵀl it is (k(x, x_s) − a·k_s)/pivot: z_s is never formed, and Σ w z g = L⁻¹ Σ w k_s g.
        """
        r, span = len(l), state.span
        column, totals = np.zeros(r), np.zeros(1 + state.outputs)
        if self.keep_history:
            points = np.vstack([span.points[span.spanning], x])
            a = l.copy()
            solve_transposed(span.whitening, r, a)
            for start in range(0, state.rows, PAST_ROWS_AT_ONCE):
                now = slice(start, min(start + PAST_ROWS_AT_ONCE, state.rows))
                K = values(self.kernel, state.past_inputs[now], points)
                _add_past(K, a, pivot, state.past_labels[now], state.past_weights[now], column, totals)
            solve(span.whitening, r, column)
        return column, float(totals[0]), totals[1:]

    def widen(self, state: State, outputs: int) -> None:
        """Add outputs in mid-stream; each starts exactly as if its label had been 0 in every row so far."""
        outputs = check_wider(self, state, outputs)
        more = outputs - state.outputs
        state.coef = np.pad(state.coef, ((0, more), (0, 0)))
        state.past_labels = np.pad(state.past_labels, ((0, 0), (0, more)))
        state.outputs = outputs

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold: next to nothing. The header says how they grow."""
        return 8 * 5

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        check(state.span, self.dictionary, self.kernel, state.rows, self.budget)
        r = len(state.span.spanning)
        if state.matrix.shape != (r, r) or state.coef.shape[1] != r or (r and np.diag(state.matrix).min() <= 0.0):
            raise InputError("its matrix does not belong to its spanning points")
        lengths = {len(state.past_inputs), len(state.past_labels), len(state.past_weights)}
        if len(lengths) > 1 or (max(lengths) < state.rows if self.keep_history else max(lengths) > 0):
            raise InputError("its history does not have one entry a row learnt")
        if self.keep_history and np.any(state.past_weights[: state.rows] <= 0.0):
            raise InputError("its history has a row without weight")

    def notes(self, state: State) -> list[str]:
        """What a person should know of this state, one sentence each."""
        said = []
        if self.budget is not None and len(state.span.points) >= self.budget:
            said.append(f"the dictionary is full: {self.budget} points; it learns on with them (raise budget, or mu)")
        if state.raised:
            said.append(f"rounding brought a pivot below the ridge {state.raised} times; it was raised (raise lam)")
        if state.strained:
            said.append(f"lam is too small beside k(x, x) for {state.strained} rows: digits were lost (rescale X, or raise lam)")
        return said


@hot
def _learn(
    rule: Rule, seed: int, rows: int, asks: bool, decided: bool, K: Matrix, own: Vector, form: Form,
    Y: Matrix, weight: Vector, awv: bool, scores: Matrix,
) -> tuple[int, int, int]:  # fmt: skip
    """Rounds up to the first whose point joins: how many were done, the new count of rows learnt, and how many were strained."""
    spanning, whitening, R, c = form
    r, outputs = spanning.size, Y.shape[1]
    l, z = np.empty(K.shape[1]), np.empty(r)
    strained = 0
    for i in range(K.shape[0]):
        k = K[i]
        if asks and not (decided and i == 0) and is_taken(rule, k, own[i], seed, rows, l):
            return i, rows, strained
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
            strained += s > LARGEST_LEVERAGE
    return K.shape[0], rows, strained


@hot
def _add_past(K: Matrix, a: Vector, pivot: float, Y: Matrix, weight: Vector, column: Vector, totals: Vector) -> None:
    """column += Σ w g k,  totals += Σ w g (g, y), with g = (k_new − a·k)/pivot; the last column of K is k_new."""
    r = a.size
    for t in range(K.shape[0]):
        k = K[t, :r]
        g = (K[t, r] - np.dot(a, k)) / pivot
        step = weight[t] * g
        for j in range(r):
            column[j] += step * k[j]
        totals[0] += step * g
        for o in range(Y.shape[1]):
            totals[1 + o] += step * Y[t, o]
