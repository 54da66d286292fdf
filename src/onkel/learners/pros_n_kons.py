"""ProsNKONS: the online Newton step in the span of a growing dictionary, chosen by KORS; O(m²) a row for any loss and any kernel.

    z = L⁻¹k(x),  L Lᵀ = K(points, points)          orthonormal coordinates of the span (`onkel.dictionary.span`)
    the Newton step in these coordinates, with A₀ = αI and |f(x)| ≤ clip              (`onkel.updates.newton`)
    then a random draw decides whether x joins; if it does, the span has one more coordinate from the next round on, and
        restart=True    u = 0, A = αI            PROS-N-KONS: learning restarts in each span, as its proof requires
        restart=False   u ← (u, 0), A ← [[A, 0], [0, α]]            CON-KONS: the function is kept

Regret against every f with |f(x_t)| ≤ C, with high probability and up to logarithms, for m points:  m(α + d_eff(α)) + nμ/α.
Here C is `clip`, n the number of rows, d_eff the effective dimension, and μ the field `mu` of `Kors`.
A row costs O(m² + m·dim), and memory is O(m² + m·dim).

Calandriello, Lazaric & Valko (2017), Efficient second-order online kernel learning with adaptive embedding, NeurIPS.
Departs from the paper: the coordinates of an incremental Cholesky factor instead of an SVD at each change (they differ by a
rotation); η is half of the loss's curvature, as in public code; a point already in the span (`onkel.dictionary.span`) adds no
coordinate and causes no restart; `budget` limits the dictionary. By default the function is kept (CON-KONS), because with restarts
it can be worse than the more frequent label (`bench/defaults.py`).

>>> X, y = onkel.data.rings(4000, seed=0)
>>> for restart in True, False:
...     learner = onkel.ProsNKONS(onkel.Gaussian(width=1.0), onkel.Logistic(), restart=restart)
...     state = learner.init(dim=2)
...     scores = learner.learn(state, X, y)
...     print(state.restarts, "changes,", int(np.sum(np.sign(scores) != y)), "mistakes")
100 changes, 351 mistakes
100 changes, 22 mistakes
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onkel._inputs import refuse_weights
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, flag, instance, whole
from onkel.dictionary import Dictionary, Kors
from onkel.dictionary.dictionary import Sampling, is_taken
from onkel.dictionary.span import Span, check, empty, widened
from onkel.functions.learnt import Expansion
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.cholesky import solve, solve_transposed
from onkel.linalg.factor import border, check_factor
from onkel.linalg.rank_one import workspace
from onkel.linalg.triangular import solve_upper
from onkel.losses import Loss, Square
from onkel.state import Counted, counter, growing, memory, with_copies
from onkel.turns import Call
from onkel.updates.domains import KernelLearner
from onkel.updates.newton import NewtonSettings, check_met, check_newton, label_notes, newton_round, newton_settings, no_labels

ROWS_AT_ONCE = 32  # rows for which kernel values are computed at a time

NewtonForm = tuple[Counts, Vector, Matrix, Matrix, Vector]  # spanning, whitening, R, c, statistics of the labels


@memory
class State(Counted):
    span: Span
    met: Vector  # (2,)  statistics of the labels: the number beyond clip, and the largest absolute value
    matrix: Matrix = growing(0, 1)  # (r, r)  R, upper triangular
    coef: Matrix = growing(1)  # (1, r)  R u
    learnt: Counts = counter()
    restarts: int = 0  # how often a coordinate was added
    dim: int = 1
    outputs: int = 1


@config
class ProsNKONS(KernelLearner[State]):
    """Second-order online learning in the span of points chosen from the stream, for any loss and kernel.

    kernel      The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
                Gaussian().
    loss        The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
                Default: Square().
    alpha       α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip        C > 0: scores stay within [−C, C]. Set it to the largest label that you expect; labels beyond it are counted in
                a note. Default: 1.0.
    curvature   The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: half of the loss's
                curvature, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension   d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    dictionary  How points are chosen: Kors() by leverage scores, Uniform(rate) each row with probability rate. Default:
                Kors().
    restart     True: the function starts again at 0 when a point is added, as the theory requires; False: the function is
                kept (CON-KONS in the paper), which has lower losses in practice. Default: False.
    budget      The largest number of points; None: no limit. Default: 100.
    seed        The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.POINTS
    when: ClassVar[str] = "for other losses on points chosen from the stream"
    cost: ClassVar[str] = "O(m²)"
    memory: ClassVar[str] = "O(m² + m·dim)"
    paper: ClassVar[str] = "Calandriello et al. 2017"

    kernel: Kernel = Gaussian()
    loss: Loss = Square()
    alpha: float = 1.0
    clip: float = 1.0
    curvature: float | None = None
    dimension: float = 1.0
    dictionary: Dictionary = Kors()
    restart: bool = False
    budget: int | None = 100
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        check_newton(self)
        instance(self, "dictionary", Dictionary, "Kors(mu=0.1)")
        flag(self, "restart")
        whole(self, "budget", 1, optional=True)
        whole(self, "seed", 0)

    def _init(self, dim: int, outputs: int) -> State:
        return State(empty(self.dictionary, dim), no_labels(), np.empty((0, 0)), np.empty((1, 0)), dim=dim)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        self.loss.admit(Y)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        work = _with_own_arrays(state) if self.kernel.fallible else state  # a user's kernel may raise between two rows
        self._rounds(work, X, Y[:, 0], weight, scores[:, 0])
        vars(state).update(vars(work))

    def _take_again(self, state: State, X: Matrix, Y: Matrix, weight: Vector, **more: Any) -> None:
        """Learn rows again; no point joins, so the function does not restart."""
        self._rounds(state, X, Y[:, 0], weight, np.empty(len(X)), joins=False)

    def _rows_to_repeat(self, state: State) -> int:
        return state.rows if self.restart else 0

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        self._rounds(state, X, np.zeros(len(X)), np.zeros(len(X)), scores[:, 0])  # weight 0: nothing is learnt

    def _rounds(self, state: State, X: Matrix, y: Vector, weight: Vector, scores: Vector, joins: bool = True) -> None:
        """Score and learn the rows, in blocks that end when a point joins. The row whose point joins is learnt on a copy, so that
        learning and joining are one step."""
        own, done, at_once = self.kernel.diagonal(X), 0, 1 if self.kernel.fallible else ROWS_AT_ONCE
        while done < len(X):
            now = slice(done, done + at_once)
            K = self.kernel.values(X[now], state.span.points)
            asks = joins and (self.budget is None or len(state.span.points) < self.budget)
            size = self._learn(state, asks, K, own[now], y[now], weight[now], scores[now])
            if size < len(K):
                row, one, work = slice(size, size + 1), slice(done + size, done + size + 1), _with_own_arrays(state)
                self._learn(work, False, K[row], own[one], y[one], weight[one], scores[one])
                self._join(work, X[done + size], K[size], float(own[done + size]))
                vars(state).update(vars(work))
                size += 1
            done += size

    def _learn(self, state: State, asks: bool, K: Matrix, own: Vector, y: Vector, weight: Vector, scores: Vector) -> int:
        """Score and learn rows. Stops before the first row whose point joins. Returns the number of rows done. If `asks` is false,
        no point joins."""
        span = state.span
        sampling = self.dictionary.sampling(span.sampling, len(span.points))
        form = (span.spanning, span.whitening, state.matrix, state.coef, state.met)
        return _learn(sampling, self.seed, asks, K, own, form, y, weight, newton_settings(self, share=0.5), state.learnt, scores)

    def _join(self, state: State, x: Vector, k: Vector, own: float) -> None:
        """Add the last row's point to the dictionary, from the next round on."""
        state.span, _, pivot = widened(state.span, self.dictionary, x, k, own, state.rows - 1)
        if pivot == 0.0:
            return
        r = len(state.matrix)
        if self.restart:
            state.matrix, state.coef = np.sqrt(self.alpha) * np.eye(r + 1), np.zeros((1, r + 1))
        else:
            state.matrix, state.coef, _ = border(state.matrix, state.coef, np.zeros(r), self.alpha, np.zeros(1), self.alpha)
        state.restarts += 1

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold; the header says how they grow."""
        return 8 * 6

    def _check(self, state: State) -> None:
        check(state.span, self.dictionary, self.kernel, state.rows, self.budget)
        check_factor(state.matrix, state.coef, len(state.span.spanning), self.alpha)
        check_met(state.met, self.clip, state.rows)

    def _function(self, state: State) -> Expansion:
        coef = state.coef[0].copy()
        solve_upper(state.matrix, coef)
        solve_transposed(state.span.whitening, len(coef), coef)
        return Expansion(self.kernel, state.span.points[state.span.spanning], coef)

    def _notes(self, state: State) -> list[str]:
        said = label_notes(state.met, self.clip)
        if self.budget is not None and len(state.span.points) >= self.budget:
            said.append(f"the dictionary is full: {self.budget} points; it keeps learning with them (raise budget, or mu)")
        return said


def _with_own_arrays(state: State) -> State:
    return with_copies(state, "matrix", "coef", "met", "learnt")


@hot
def _learn(
    sampling: Sampling, seed: int, asks: bool, K: Matrix, own: Vector, form: NewtonForm,
    y: Vector, weight: Vector, settings: NewtonSettings, learnt: Counts, scores: Vector,
) -> int:  # fmt: skip
    """Score and learn rows. Stops before the first row whose point joins. Returns the number of rows done."""
    spanning, whitening, R, c, met = form
    l, z, work = np.empty(K.shape[1]), np.empty(spanning.size), workspace(spanning.size)
    for i in range(K.shape[0]):
        k, learn = K[i], weight[i] > 0.0
        if learn and asks and is_taken(sampling, k, own[i], seed, learnt[0], l):
            return i
        for j in range(z.size):
            z[j] = k[spanning[j]]
        solve(whitening, z.size, z)
        scores[i] = newton_round(R, c, z, own[i], y[i], learn, settings, learnt[0] + 1, met, work)
        if learn:
            learnt[0] += 1
    return int(K.shape[0])
