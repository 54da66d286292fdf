"""PKAWVNystroem: the Azoury-Warmuth-Vovk forecaster in the span of a dictionary chosen from the stream.

    H_t = span{k(x, ·): x in the dictionary in round t}, after it was decided whether x_t joins
    f̂_t = argmin_{f in H_t}  Σ_{s<t} w_s (y_s − f(x_s))² + λ‖f‖² + f(x_t)²                    ŷ_t = f̂_t(x_t)

    z = L⁻¹k(x),  L Lᵀ = K(points, points)        orthonormal coordinates: a new point adds one and does not change the others
    A = λI + Σ w z zᵀ = RᵀR,   b = Σ w y z,   ŷ = zᵀ(A + z zᵀ)⁻¹b

Regret with KORS, μ ≤ λ and |y| ≤ B, with high probability and m points:  λ‖f‖² + B² d_eff(λ) ln(e + enκ²/λ) + 2B²(m + 1)nμ/λ.
Here n is the number of rows, d_eff the effective dimension, κ² the largest k(x, x), and μ the field `mu` of `Kors`. For this bound
with probability 1 − δ, `Kors` must have the accuracy ½ and an oversampling of at least 12 ln(4n²/δ), far more than the default.

With `keep_history=True` the definition of ŷ_t holds exactly: all n past rows are stored, and a new coordinate is computed for them.
A row costs O(m² dim) on average, and memory is n(dim + outputs + 1) + O(m²) numbers. With `keep_history=False` a new coordinate is
taken as 0 in past rows. A row then costs O(m² + m·dim), as does memory, and there is no proof of a bound.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS. Algorithm 2.
Departs from the paper: orthonormal coordinates instead of its update and downdate of K_nmᵀK_nm + λK_mm, which fail for similar
points; KORS with its own μ and weights 1/√p; a point already in the span (`onkel.dictionary.span`) adds no coordinate; row weights;
several outputs; `awv=False` is its Projected-KRR; `budget` limits the dictionary.

>>> X, y = onkel.data.rings(4000, seed=0)
>>> learner = onkel.PKAWVNystroem(kernel=onkel.Gaussian(width=1.0))
>>> state = learner.init(dim=2)
>>> scores = learner.learn(state, X, y)
>>> print(len(state.span.points), "points,", int(np.sum(np.sign(scores) != y)), "mistakes")
166 points, 9 mistakes
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, flag, instance, real, whole
from onkel.dictionary import Dictionary, Kors, history, span
from onkel.dictionary.dictionary import Sampling, is_taken
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.cholesky import solve
from onkel.linalg.factor import border, check_factor
from onkel.linalg.loops import dot
from onkel.linalg.rank_one import learn_solved, workspace
from onkel.linalg.triangular import solve_row
from onkel.protocol import check_room
from onkel.state import Counted, counter, growing, memory, with_copies
from onkel.turns import Call
from onkel.updates.domains import KernelLearner

ROWS_AT_ONCE = 32  # rows for which kernel values are computed at a time
LARGEST_LEVERAGE = 1e12  # limit for w zᵀA⁻¹z; with more, a row is learnt with fewer than about six digits

RidgeForm = tuple[Counts, Vector, Matrix, Matrix]  # spanning, whitening, R, c
SpanRows = tuple[Matrix, Vector, Matrix, Vector]  # kernel values, k(x, x), labels, weights
Flags = NDArray[np.bool_]


@memory
class State(Counted):
    span: span.Span
    history: history.History  # the past rows; empty if they are not stored
    matrix: Matrix = growing(0, 1)  # (r, r)  R, upper triangular
    coef: Matrix = growing(1)  # (outputs, r)  R⁻ᵀb
    learnt: Counts = counter()
    rebuilt: int = 0  # how often R was computed from all past rows, because adding a column to it would have lost digits
    strained: Counts = counter()  # number of rows whose w zᵀA⁻¹z was above LARGEST_LEVERAGE
    dim: int = 1
    outputs: int = 1


@config
class PKAWVNystroem(KernelLearner[State]):
    """Second-order online regression in the span of points chosen from the stream, for any kernel.

    kernel        The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
                  Gaussian().
    lam           λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for
                  noisy labels. Default: 1.0.
    dictionary    How points are chosen: Kors() by leverage scores, Uniform(rate) each row with probability rate. Default:
                  Kors().
    awv           Whether the forecaster is Azoury, Vovk and Warmuth's, which shrinks each score by its own leverage; False:
                  plain ridge regression. Default: True.
    keep_history  Whether all past rows are kept, so that they count in the coordinates of later points too; False: memory
                  O(m²) for m points, and larger errors. Default: True.
    budget        The largest number of points; None: no limit. Default: None.
    seed          The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.POINTS
    when: ClassVar[str] = "for numbers and many inputs, or a kernel without features: the strongest of these"
    cost: ClassVar[str] = "O(m² dim)"
    memory: ClassVar[str] = "O(n·dim + m²)"
    paper: ClassVar[str] = "Jézéquel et al. 2019"

    kernel: Kernel = Gaussian()
    lam: float = 1.0
    dictionary: Dictionary = Kors()
    awv: bool = True
    keep_history: bool = True
    budget: int | None = None
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

    def _init(self, dim: int, outputs: int) -> State:
        parts = span.empty(self.dictionary, dim), history.empty(dim, outputs)
        return State(*parts, np.empty((0, 0)), np.empty((outputs, 0)), dim=dim, outputs=outputs)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        if self.keep_history:
            rows = state.rows + int(np.count_nonzero(weight))
            check_room(self, 16 * rows * (state.dim + state.outputs + 1), "keep_history=False keeps no rows")

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        own = self.kernel.diagonal(X)
        if self.keep_history:
            state.history = history.with_room(state.history, state.rows + int(np.count_nonzero(weight)))
        work = _with_own_arrays(state) if self.kernel.fallible else state  # a user's kernel may raise between two rows
        self._rounds(work, X, own, Y, weight, scores)
        vars(state).update(vars(work))

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        """Score each row as if it came next: whether its point joins is decided by the next round's random draw."""
        self._rounds(state, X, self.kernel.diagonal(X), np.zeros(scores.shape), np.zeros(len(X)), scores)  # weights of 0

    def _settle(self, state: State) -> None:
        """Remove rows that were written to the history but not learnt."""
        if self.keep_history:
            state.history = history.cut(state.history, state.rows)

    def _rounds(self, state: State, X: Matrix, own: Vector, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """Score and learn the rows, in blocks that end when a point joins. The row whose point joins is learnt on a copy, so that
        joining and learning are one step."""
        done, at_once = 0, 1 if self.kernel.fallible else ROWS_AT_ONCE
        while done < len(X):
            now = slice(done, done + at_once)
            K = self.kernel.values(X[now], state.span.points)
            if self.keep_history:
                history.write(state.history, state.rows, X[now], Y[now], weight[now])
            size, joining = self._learn(state, (K, own[now], Y[now], weight[now]), 0, scores[now])
            for i, wider in zip(joining, self._joined(state, X[now][joining], K[joining], own[now][joining]), strict=True):
                one = slice(done + i, done + i + 1)
                values = self.kernel.values(X[one], wider.span.points)
                self._learn(wider, (values, own[one], Y[one], weight[one]), 1, scores[one])
                if weight[done + i] > 0.0:  # otherwise the point joins only for the score of its row
                    vars(state).update(vars(wider))
                    size += 1
            done += size

    def _learn(self, state: State, block: SpanRows, decided: int, scores: Matrix) -> tuple[int, Counts]:
        """Score and learn rows. Stops before the first row of positive weight whose point joins. Returns the number of rows done,
        and which rows' points join. The points of the first `decided` rows do not join."""
        points, joins = len(state.span.points), np.zeros(len(scores), np.bool_)
        if self.budget is not None and points >= self.budget:
            decided = len(scores)  # nothing joins
        sampling = self.dictionary.sampling(state.span.sampling, points)
        form = (state.span.spanning, state.span.whitening, state.matrix, state.coef)
        counts = state.learnt, state.strained
        size = _learn(sampling, self.seed, decided, block, form, counts, self.awv, joins, scores)
        return size, np.flatnonzero(joins)

    def _joined(self, state: State, X: Matrix, K: Matrix, own: Vector) -> list[State]:
        """For each row of X, whose kernel values are in K: the state after its point has joined."""
        if not len(X):
            return []
        wider = [span.widened(state.span, self.dictionary, *row, state.rows) for row in zip(X, K, own, strict=True)]
        past = history.new_coordinates(
            state.history, self._past(state), self.kernel, state.span, X, [(l, pivot) for _, l, pivot in wider]
        )
        states = []
        for (after, _, pivot), (column, corner, target) in zip(wider, past, strict=True):
            if pivot == 0.0:  # the point was in the span already
                states.append(replace(_with_own_arrays(state), span=after))
                continue
            R, c, sound = border(state.matrix, state.coef, column, self.lam + corner, target, self.lam)
            if not sound:  # this happens if rows have large weights, or λ is small
                R, c = history.relearnt(state.history, self._past(state), self.kernel, after, self.lam)
            learnt, strained, rebuilt = state.learnt.copy(), state.strained.copy(), state.rebuilt + (not sound)
            states.append(replace(state, span=after, matrix=R, coef=c, learnt=learnt, strained=strained, rebuilt=rebuilt))
        return states

    def _past(self, state: State) -> int:
        """The number of stored past rows."""
        return state.rows if self.keep_history else 0

    def _widen(self, state: State, outputs: int) -> None:
        check_room(self, 8 * outputs * (len(state.history.labels) + state.coef.shape[1]), "add fewer outputs")
        coef = np.pad(state.coef, ((0, outputs - state.outputs), (0, 0)))
        vars(state).update(history=history.with_outputs(state.history, outputs), coef=coef, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold; the header says how they grow."""
        return 8 * 5

    def _check(self, state: State) -> None:
        span.check(state.span, self.dictionary, self.kernel, state.rows, self.budget)
        check_factor(state.matrix, state.coef, len(state.span.spanning), self.lam)
        history.check(state.history, state.rows, self.keep_history)

    def _notes(self, state: State) -> list[str]:
        said = []
        if self.budget is not None and len(state.span.points) >= self.budget:
            said.append(f"the dictionary is full: {self.budget} points; it keeps learning with them (raise budget, or mu)")
        if state.rebuilt:
            said.append(
                f"large weights or a small lam: the matrix was rebuilt from all past rows {state.rebuilt} times to keep its digits"
            )
        if strained := int(state.strained[0]):
            said.append(f"lam is too small for k(x, x) of {strained} rows: digits were lost (rescale X, or raise lam)")
        return said


def _with_own_arrays(state: State) -> State:
    """A copy to learn on. It shares the history, because rows are only appended to it."""
    return with_copies(state, "matrix", "coef", "learnt", "strained")


@hot
def _learn(
    sampling: Sampling, seed: int, decided: int, block: SpanRows, form: RidgeForm, counts: tuple[Counts, Counts], awv: bool,
    joins: Flags, scores: Matrix,
) -> int:  # fmt: skip
    """Score and learn rows. Stops before the first row of positive weight whose point joins. Returns the number of rows done, and
    marks in `joins` all rows whose points join.

    If the point of a row of weight 0 joins, the row is not scored, and this function also stops before the next row of positive
    weight, so that the caller can score the row of weight 0 first. The points of the first `decided` rows do not join. Counts the
    rows learnt, and those whose leverage was above LARGEST_LEVERAGE.
    """
    K, own, Y, weight = block
    spanning, whitening, R, c = form
    l, z, work = np.empty(K.shape[1]), np.empty(spanning.size), workspace(spanning.size)
    (learnt, strained), left = counts, False
    for i in range(K.shape[0]):
        k, learns = K[i], weight[i] > 0.0
        joins[i] = i >= decided and is_taken(sampling, k, own[i], seed, learnt[0], l)
        if learns and (joins[i] or left):
            return i
        if joins[i]:
            left = True
            continue
        for j in range(z.size):
            z[j] = k[spanning[j]]
        solve(whitening, z.size, z)
        solve_row(R, z)
        s = dot(z, z)
        shrink = 1.0 + s if awv else 1.0
        for o in range(Y.shape[1]):
            scores[i, o] = dot(c[o], z) / shrink
        if learns:
            root = np.sqrt(weight[i])
            learn_solved(R, c, root * z, root * Y[i], work)
            learnt[0] += 1
            if weight[i] * s > LARGEST_LEVERAGE:
                strained[0] += 1
    return int(K.shape[0])
