"""PKAWVNystroem: the Azoury-Warmuth-Vovk forecaster in the span of a dictionary that the stream itself chooses.

    H_t = span{k(x, ·): x in the dictionary after round t's coin}
    f̂_t = argmin_{f in H_t}  Σ_{s<t} w_s (y_s − f(x_s))² + λ‖f‖² + f(x_t)²                    ŷ_t = f̂_t(x_t)

    z = L⁻¹k(x),  L Lᵀ = K(points, points)        orthonormal coordinates: a new point adds one and leaves the others as they are
    A = λI + Σ w z zᵀ = RᵀR,   b = Σ w y z,   ŷ = zᵀ(A + z zᵀ)⁻¹b

Regret with KORS, μ ≤ λ and |y| ≤ B, with high probability:  λ‖f‖² + B² d_eff(λ) ln(e + enκ²/λ) + 2B²(m + 1)nμ/λ, m points.

`keep_history=True` is the definition: a new coordinate is computed for all past rows, which are kept: O(m² dim) a row on average,
n(dim + outputs + 1) + O(m²) numbers. `keep_history=False` gives past rows a 0 there: O(m² + m·dim) a row and in memory, no proof.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS. Algorithm 2.
Departs from the paper: orthonormal coordinates in the place of its update and downdate of K_nmᵀK_nm + λK_mm, which fail when points
are alike; KORS with its own μ and weights 1/√p; a point already in the span (`onkel.dictionary.span`) does not widen it; row
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

from onkel._inputs import check_inputs, check_labelled, check_weight
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import flag, instance, real, whole
from onkel.dictionary import Dictionary, Kors, history, span
from onkel.dictionary.dictionary import Rule, is_taken
from onkel.kernels import Gaussian, Kernel
from onkel.learners.domains import on_domains
from onkel.learners.protocol import check_room, check_sizes, check_wider
from onkel.linalg.cholesky import solve
from onkel.linalg.factor import border, check_factor, learn_solved, solve_row, workspace
from onkel.state import growing

ROWS_AT_ONCE = 32  # kernel values are computed for so many rows at a time
LARGEST_LEVERAGE = 1e12  # zᵀA⁻¹z beyond which a row is learnt with fewer than about six digits

Form = tuple[Counts, Vector, Matrix, Matrix]  # spanning, whitening, R, c
Block = tuple[Matrix, Vector, Matrix, Vector]  # kernel values, k(x, x), labels, weights
Flags = NDArray[np.bool_]


@dataclass
class State:
    span: span.Span
    history: history.History  # empty where none is kept
    matrix: Matrix = growing(0, 1)  # (r, r)  R, upper triangular
    coef: Matrix = growing(1)  # (outputs, r)  R⁻ᵀb
    rows: int = 0  # learnt so far
    rebuilt: int = 0  # times R was made anew from the history, where bordering it would have lost digits
    strained: int = 0  # rows whose zᵀA⁻¹z was beyond LARGEST_LEVERAGE
    dim: int = 1
    outputs: int = 1


@on_domains
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
        parts = span.empty(self.dictionary, dim), history.empty(dim, outputs)
        return State(*parts, np.empty((0, 0)), np.empty((outputs, 0)), dim=dim, outputs=outputs)

    def learn(self, state: State, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Vector:
        """The score of each row before it is learnt, in y's shape. A row of weight 0 is scored and leaves no trace."""
        rows, labels, shape = check_labelled(X, y, state.dim, state.outputs)
        weights = check_weight(weight, len(rows))
        own = self.kernel.diagonal(rows)
        if self.keep_history:
            new = int(np.count_nonzero(weights))
            check_room(self, 16 * (state.rows + new) * (state.dim + state.outputs + 1), "keep_history=False keeps no rows")
            state.history = history.with_room(state.history, new)
        work = state
        if self.kernel.fallible:  # it may fail in the middle; the history is written behind its rows, all else is replaced
            work = replace(state, matrix=state.matrix.copy(), coef=state.coef.copy())
        with history.appending(state.history):
            scores = self._rounds(work, rows, own, labels, weights)
        vars(state).update(vars(work))
        return scores.reshape(shape)

    def predict(self, state: State, X: ArrayLike) -> Vector:
        """The score of each row as if it came next, with the next round's coin; changes nothing."""
        rows = check_inputs(X, state.dim)
        own, labels = self.kernel.diagonal(rows), np.zeros((len(rows), state.outputs))
        scores = self._rounds(state, rows, own, labels, np.zeros(len(rows)))  # weights 0: nothing is learnt
        return scores if state.outputs > 1 else scores[:, 0]

    def _rounds(self, state: State, X: Matrix, own: Vector, Y: Matrix, weight: Vector) -> Matrix:
        """Score and learn the rows, in blocks that end where a point joins."""
        scores = np.empty(Y.shape)
        at_once = 1 if self.kernel.fallible else ROWS_AT_ONCE
        done, decided = 0, 0  # so many rows are done; so many of the next have had their coin
        while done < len(X):
            now = slice(done, done + at_once)
            K = self.kernel.values(X[now], state.span.points)
            size, joining = self._learn(state, (K, own[now], Y[now], weight[now]), decided, scores[now])
            if self.keep_history:
                learnt = slice(done, done + size)
                state.history = history.with_rows(state.history, X[learnt], Y[learnt], weight[learnt])
            decided = 0
            for i, wider in zip(joining, self._joined(state, X[now][joining], K[joining], own[now][joining]), strict=True):
                if i == size:  # the next row to learn: its point joins for good
                    vars(state).update(vars(wider))
                    decided = 1
                else:  # a row that is not learnt: its point joins for its own score only
                    one = slice(done + i, done + i + 1)
                    values = self.kernel.values(X[one], wider.span.points)
                    self._learn(wider, (values, own[one], Y[one], weight[one]), 1, scores[one])
            done += size
        return scores

    def _learn(self, state: State, block: Block, decided: int, scores: Matrix) -> tuple[int, Counts]:
        """Score and learn rows, up to the first that is learnt and whose point joins: how many, and the rows whose points join."""
        points, joins = len(state.span.points), np.zeros(len(scores), np.bool_)
        if self.budget is not None and points >= self.budget:
            decided = len(scores)  # nothing joins
        rule = self.dictionary.rule(state.span.sampling, points)
        form = (state.span.spanning, state.span.whitening, state.matrix, state.coef)
        size, state.rows, strained = _learn(rule, self.seed, state.rows, decided, block, form, self.awv, joins, scores)
        state.strained += strained
        return size, np.flatnonzero(joins)

    def _joined(self, state: State, X: Matrix, K: Matrix, own: Vector) -> list[State]:
        """For each row, by its kernel values with the points: the state after its point has joined them."""
        if not len(X):
            return []
        wider = [span.widened(state.span, self.dictionary, *row, state.rows) for row in zip(X, K, own, strict=True)]
        past = history.new_coordinates(state.history, self.kernel, state.span, X, [(l, pivot) for _, l, pivot in wider])
        states = []
        for (after, _, pivot), (column, corner, target) in zip(wider, past, strict=True):
            if pivot == 0.0:  # it was in the span already
                states.append(replace(state, span=after))
                continue
            R, c, sound = border(state.matrix, state.coef, column, self.lam + corner, target, self.lam)
            if not sound:  # heavy rows or a small λ
                R, c = history.relearnt(state.history, self.kernel, after, self.lam)
            states.append(replace(state, span=after, matrix=R, coef=c, rebuilt=state.rebuilt + (not sound)))
        return states

    def widen(self, state: State, outputs: int) -> None:
        """Add outputs in mid-stream; each starts exactly as if its label had been 0 in every row so far."""
        outputs = check_wider(self, state, outputs)
        check_room(self, 8 * outputs * (len(state.history.labels) + state.coef.shape[1]), "add fewer outputs")
        coef = np.pad(state.coef, ((0, outputs - state.outputs), (0, 0)))
        state.history, state.coef, state.outputs = history.with_outputs(state.history, outputs), coef, outputs

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold: next to nothing. The header says how they grow."""
        return 8 * 6

    def check(self, state: State) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        span.check(state.span, self.dictionary, self.kernel, state.rows, self.budget)
        check_factor(state.matrix, state.coef, len(state.span.spanning), self.lam)
        history.check(state.history, state.rows, self.keep_history)

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
    rule: Rule, seed: int, rows: int, decided: int, block: Block, form: Form, awv: bool, joins: Flags, scores: Matrix
) -> tuple[int, int, int]:
    """Score and learn rows, up to the first that is learnt and whose point joins. Marks all rows whose points join.

    One that joins and is not learnt is left to the caller to score, before the next row is learnt. The first `decided` rows have
    had their coin. Returns how many rows were done, the new count of rows learnt, and how many of them were strained.
    """
    K, own, Y, weight = block
    spanning, whitening, R, c = form
    l, z, work = np.empty(K.shape[1]), np.empty(spanning.size), workspace(spanning.size)
    strained, left = 0, False
    for i in range(K.shape[0]):
        k, learns = K[i], weight[i] > 0.0
        joins[i] = i >= decided and is_taken(rule, k, own[i], seed, rows, l)
        if learns and (joins[i] or left):
            return i, rows, strained
        if joins[i]:
            left = True
            continue
        for j in range(z.size):
            z[j] = k[spanning[j]]
        solve(whitening, z.size, z)
        solve_row(R, z)
        s = np.dot(z, z)
        shrink = 1.0 + s if awv else 1.0
        for o in range(Y.shape[1]):
            scores[i, o] = np.dot(c[o], z) / shrink
        if learns:
            root = np.sqrt(weight[i])
            learn_solved(R, c, root * z, root * Y[i], work)
            rows += 1
            if weight[i] * s > LARGEST_LEVERAGE:
                strained += 1
    return K.shape[0], rows, strained
