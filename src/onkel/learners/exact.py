"""KernelAWV and KernelRidge: regression in the whole space of a kernel, exactly, one row at a time.

    f̂_t = argmin_f  Σ_{s<t} w_s (y_s − f(x_s))² + λ‖f‖²  [+ f(x_t)²: KernelAWV]           ŷ_t = f̂_t(x_t)

    L Lᵀ = K + λW⁻¹,  v = L⁻¹y        l = L⁻¹k_t,   m = l·v,   s = k(x_t, x_t) − l·l
    ŷ = λm/(λ + s) (KernelAWV)  or  m, clipped if `clip` is set (KernelRidge)
    append (l, √(λ/w + s)) to L and (y − m)/√(λ/w + s) to v

w_s is the weight of row s, and W the diagonal matrix of the weights. K is the kernel matrix of the rows so far, y their labels, and
k_t their kernel values with x_t.

Regret of KernelAWV against every f, for any sequence with |y| ≤ B:  λ‖f‖² + B² ln det(I + K/λ), without knowing B. KernelRidge
clipped to [−B, B] has 4B² instead of B². Every row is stored. Row t costs O(t²); t rows need t²/2 + t(dim + outputs) numbers, or up
to twice as many, because arrays grow by doubling.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS. Eq. (3).
Zhdanov & Kalnishkan (2013), An identity for kernel ridge regression, Theoretical Computer Science. The clipped ridge.
Departs from the papers: rows have weights; several outputs share one L; a ridge λ/w below 1e-8 k(x, x) is raised to that, and such
rows are counted.

>>> X, y = onkel.data.smooth(400, seed=0)
>>> for learner in onkel.PKAWV(onkel.Identity() + onkel.Constant()), onkel.KernelAWV():
...     scores = learner.learn(learner.init(dim=X.shape[1]), X, y)
...     print(round(float(np.mean((scores - y)[200:] ** 2)), 2))
0.59
0.27
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel._validate import config, instance, real
from onkel.errors import InputError
from onkel.functions.learnt import Expansion
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.cholesky import LARGEST_DEFICIT, SMALLEST_RIDGE, append, is_factor, packed, solve, solve_transposed
from onkel.linalg.loops import dot
from onkel.protocol import check_room
from onkel.state import growing, grown, memory, shallow
from onkel.turns import Call
from onkel.updates.domains import KernelLearner

ROWS_AT_ONCE = 32  # rows for which kernel values are computed at a time
LARGEST_TARGET = 1e150  # largest entry of v in absolute value; accepted labels and pivots cannot lead to larger ones

RidgeRows = tuple[
    Matrix, Matrix, Vector, Matrix, Vector
]  # the arrays of a block: kernel values with stored rows, kernel values with its own rows, k(x, x), labels, weights
Tally = tuple[int, int, int]  # rows, clamped, raised


@memory
class State:
    points: Matrix = growing(0)  # (capacity, dim)
    factor: Vector = growing(0)  # L, packed
    targets: Matrix = growing(0)  # (capacity, outputs)  v = L⁻¹y
    rows: int = 0  # learnt so far
    clamped: int = 0  # how often rounding made s negative and it was set to 0
    raised: int = 0  # rows whose ridge was too small relative to k(x, x) and was raised to SMALLEST_RIDGE of it
    dim: int = 1
    outputs: int = 1


@config
class Exact(KernelLearner[State]):
    """The base of KernelAWV and KernelRidge: everything except the last step, from m and s to the score.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    lam     λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for noisy
            labels. Default: 1.0.
    """

    kernel: Kernel = Gaussian()
    lam: float = 1.0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def _last_step(self) -> tuple[bool, float]:
        """Whether the score is shrunk by λ/(λ + s), and the size to which it is clipped."""

    def _init(self, dim: int, outputs: int) -> State:
        return State(np.zeros((0, dim)), np.zeros(0), np.zeros((0, outputs)), dim=dim, outputs=outputs)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        remedy = "PKAWVNystroem() keeps few rows, PKAWV() none"
        check_room(self, 16 * packed(state.rows + int(np.count_nonzero(weight))), remedy)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """Append the rows after the last one. They are counted when all of them are written."""
        rows = state.rows + int(np.count_nonzero(weight))
        work = shallow(state)
        work.points, work.targets = grown(state.points, rows), grown(state.targets, rows)
        work.factor = grown(state.factor, packed(rows))
        self._rounds(work, X, Y, weight, scores)
        vars(state).update(vars(work))

    def _settle(self, state: State) -> None:
        state.points[state.rows :] = state.targets[state.rows :] = 0.0
        state.factor[packed(state.rows) :] = 0.0

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        self._rounds(shallow(state), X, np.zeros(scores.shape), np.zeros(len(X)), scores)  # weight 0: nothing is learnt

    def _rounds(self, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        own = self.kernel.diagonal(X)
        at_once = 1 if self.kernel.fallible else ROWS_AT_ONCE  # a user's kernel gets single rows, however the stream is cut
        for start in range(0, len(X), at_once):
            now = slice(start, start + at_once)
            size, fresh = state.rows, X[now][weight[now] > 0.0]
            K, F = self.kernel.values(X[now], state.points[:size]), self.kernel.values(X[now], fresh)
            block, counts = (K, F, own[now], Y[now], weight[now]), (size, state.clamped, state.raised)
            wrong, counts = _learn(block, self.lam, *self._last_step, state.factor, state.targets, counts, scores[now])
            if wrong >= 0:
                raise InputError(f"{self.kernel!r} is not positive semi-definite: the rows up to {start + wrong} of X show it")
            state.rows, state.clamped, state.raised = counts
            state.points[size : state.rows] = fresh

    def _widen(self, state: State, outputs: int) -> None:
        check_room(self, 8 * len(state.targets) * outputs, "add fewer outputs")
        targets = np.pad(state.targets, ((0, 0), (0, outputs - state.outputs)))
        vars(state).update(targets=targets, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold; t rows hold about 4t² + 8t(dim + outputs), or up to twice that."""
        return 8 * 5

    def _check(self, state: State) -> None:
        if len(state.points) < state.rows or len(state.targets) < state.rows or len(state.factor) < packed(state.rows):
            raise InputError("its arrays are too short for its rows")
        points = state.points[: state.rows]
        own = self.kernel.diagonal(points)
        if not is_factor(state.factor, state.rows, own, lambda a, b: self.kernel.values(points[a:b], points)):
            raise InputError("the stored factor does not match the kernel matrix of the stored points")
        if np.abs(state.targets).max(initial=0.0) > LARGEST_TARGET:
            raise InputError("its targets are too large to come from labels")

    def _notes(self, state: State) -> list[str]:
        said = []
        if state.raised:
            said.append(f"lam is too small for k(x, x) in {state.raised} rows, where it was raised (rescale X, or raise lam)")
        if state.clamped:
            said.append(f"rounding made a variance negative {state.clamped} times; it was set to 0")
        return said


@final
@config
class KernelAWV(Exact):
    """The Azoury-Warmuth-Vovk forecaster in the whole space of a kernel: the best regret, at O(t²) a row.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    lam     λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for noisy
            labels. Default: 1.0.
    """

    group: ClassVar[Group] = Group.EXACT
    when: ClassVar[str] = "as the reference with the best regret bound, for up to some thousand rows"
    cost: ClassVar[str] = "O(t²)"
    memory: ClassVar[str] = "O(t² + t·dim)"
    paper: ClassVar[str] = "Jézéquel et al. 2019"

    _last_step = (True, math.inf)

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        real(self, "lam", least=1e-30, most=1e30)


@final
@config
class KernelRidge(Exact):
    """Kernel ridge regression, refitted after every row; its scores may be clipped to [−clip, clip].

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Gaussian().
    lam     λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for noisy
            labels. Default: 1.0.
    clip    Scores are clipped to [−clip, clip], for labels known to lie there; None: not clipped. Default: None.

    >>> X, y = onkel.data.smooth(300, seed=0)
    >>> awv, ridge = (onkel.prequential(learner, X, y).scores for learner in (onkel.KernelAWV(), onkel.KernelRidge()))
    >>> float(np.mean(np.abs(awv) <= np.abs(ridge)))  # AWV shrinks each score
    1.0
    """

    group: ClassVar[Group] = Group.EXACT
    when: ClassVar[str] = "for kernel ridge regression itself, for up to some thousand rows"
    cost: ClassVar[str] = "O(t²)"
    memory: ClassVar[str] = "O(t² + t·dim)"
    paper: ClassVar[str] = "Jézéquel et al. 2019"

    clip: float | None = None

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        real(self, "lam", least=1e-30, most=1e30)
        real(self, "clip", least=0.0, optional=True)

    def _function(self, state: State) -> Expansion:
        coef = state.targets[: state.rows].T.copy()
        for column in coef:
            solve_transposed(state.factor, state.rows, column)
        return Expansion(self.kernel, state.points[: state.rows].copy(), coef.T if state.outputs > 1 else coef[0])

    @property
    def _last_step(self) -> tuple[bool, float]:
        return False, math.inf if self.clip is None else self.clip


@hot
def _learn(
    block: RidgeRows, lam: float, awv: bool, clip: float, L: Vector, targets: Matrix, counts: Tally, scores: Matrix
) -> tuple[int, Tally]:
    """Score each row, then append it if its weight is positive. Returns the index of the first row that shows that the kernel is
    not positive semi-definite (-1: none), and the new counts."""
    K, F, own, Y, weight = block
    size, clamped, raised = counts
    old = size
    l = np.empty(old + F.shape[1])
    for i in range(K.shape[0]):
        for j in range(size):
            l[j] = K[i, j] if j < old else F[i, j - old]
        solve(L, size, l)
        s = own[i] - dot(l[:size], l[:size])
        if s < -LARGEST_DEFICIT * own[i]:
            return i, counts
        learn = weight[i] > 0.0
        if s < 0.0:
            clamped += 1 if learn else 0
            s = 0.0
        least = SMALLEST_RIDGE * own[i]
        ridge = max(lam, least)
        pivot = 1.0
        if learn:
            raised += 1 if lam / weight[i] < least else 0
            pivot = np.sqrt(max(lam / weight[i], least) + s)
        for o in range(Y.shape[1]):
            m = np.sum(l[:size] * targets[:size, o])
            scores[i, o] = min(max(m * (ridge / (ridge + s)) if awv else m, -clip), clip)
            if learn:
                targets[size, o] = (Y[i, o] - m) / pivot
        if learn:
            append(L, size, l, pivot)
            size += 1
    return -1, (size, clamped, raised)
