"""KONS and SketchedKONS: the online Newton step in the whole space of a kernel; logarithmic regret for every curved loss.

    ȳ = φ·u,   h = sign(ȳ)(|ȳ| − C)₊,   ŷ = ȳ − h,   g = ℓ'(ŷ, y)                       A₀ = αI, u₀ = 0
    u ← u − (h/q) A⁻¹φ,   A ← A + z η g² φφᵀ,   u ← u − g A⁻¹φ,      q = φᵀA⁻¹φ          KONS: z = 1

Here φ is the feature vector of x in the kernel's space, C is `clip`, α is `alpha`, η comes from `curvature`, and z is 1 if the
point is added to A, otherwise 0. u is stored as coefficients, u = Σ ω_i φ_i, and the points in A are scaled by D_i = g_i √η_i. With
the kernel matrix K of these points, and their kernel values k with x:

    L Lᵀ = D K D + αI,   l = L⁻¹(D∘k),   q = (k(x, x) − l·l)/α,   a = (e_t − D∘L⁻ᵀl)/α = the coefficients of A⁻¹φ
    ω ← ω − [h/q + g/(1 + z η g² q)] a;      if z: append (s l, √(α + s²(k(x, x) − l·l))), s = g√η, to L

SketchedKONS adds a point to A (z = 1) with probability p̃ = max(min(β τ̃, 1), γ), where τ̃ is the leverage score of KORS for the
scaled points.

Regret of KONS against every f with |f(x_t)| ≤ C, for losses of curvature σ > 0:

    α‖f‖² + d_eff(α/(σL²)) (1 + ln(1 + σL²Tκ²/α))/σ                                      (`onkel.measure.bounds.kons_by_dimension`)

T is the number of rows, d_eff the effective dimension, L the largest slope of the loss, and κ² the largest k(x, x). For
SketchedKONS the second term is divided by (1 − ε) max(γ, min(β τ_min, 1)), where τ_min is the smallest leverage score of a row.
This holds with probability 1 − δ if β ≥ 3 ln(4T²/δ)/ε² and `weighted` is False.

A point is not stored if the slope of the loss is 0 there and the score is not clipped. Row t of KONS costs O(t²), and its memory is
O(t²). For SketchedKONS with m points in A both are O(m² + t·dim).

Calandriello, Lazaric & Valko (2017), Second-order kernel online convex optimization with adaptive sketching, ICML. Algorithms 1, 3.
Departs from the paper: the bounds, and their β, are those of its proofs (`onkel.measure.bounds`); its Lemmas 2 and 4 have misprints
(the scaled k̄_ii, −1/√η outside the bracket, and in Lemma 4 a ỹ without the factor z), and line 5 of Algorithms 1 and 3 has Σ b g
for Σ b φ̄. The lemmas divide by g, which may be 0; the coefficients above do not. The draw that adds a point to A also adds it to
KORS, with the weight 1/√p̃; the paper runs KORS with draws of its own, but its proof of Theorem 3 takes the points of both to be
the same. `weighted=True` adds z/p̃ instead of z to A, which is unbiased (section 6).

>>> X, y = onkel.data.rings(1000, seed=0)
>>> for learner in onkel.KONS(loss=onkel.Logistic()), onkel.SketchedKONS(loss=onkel.Logistic()):
...     state = learner.init(dim=2)
...     scores = learner.learn(state, X, y)
...     print(state.taken, "points in A,", int(np.sum(np.sign(scores) != y)), "mistakes")
1000 points in A, 13 mistakes
120 points in A, 14 mistakes
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from onkel._inputs import refuse_weights
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, flag, instance, real, whole
from onkel.dictionary.dictionary import KORS, probability, remember
from onkel.errors import InputError
from onkel.groups import Group
from onkel.kernels import Gaussian, Kernel
from onkel.linalg.cholesky import SMALLEST_RIDGE, append, is_factor, packed, solve, solve_transposed
from onkel.linalg.loops import dot
from onkel.losses import Loss, Square, slope
from onkel.protocol import check_room
from onkel.random import uniform
from onkel.state import capacity, fitted, growing, grown, memory, shallow
from onkel.turns import Call
from onkel.updates.domains import KernelLearner
from onkel.updates.newton import (
    SMALLEST_VARIANCE,
    NewtonSettings,
    check_met,
    check_newton,
    count_label,
    label_notes,
    newton_settings,
    no_labels,
    weight_of_gradient,
    within,
)

ROWS_AT_ONCE = 32  # rows for which kernel values are computed at a time

NewtonRows = tuple[
    Matrix, Matrix, Vector, Vector, Vector
]  # the arrays of a block: kernel values with stored points, kernel values with its own rows, k(x, x), labels, weights
Sketch = tuple[float, float, float, bool, int]  # floor, accuracy, oversampling, weighted, seed
Arrays = tuple[Vector, Counts, Vector, Vector, Vector, Vector]  # ω, active, D, L, weights and factor of KORS
Counters = tuple[int, int, int, int, int]  # size, taken, rows, unprojected, raised


@memory
class State:
    met: Vector  # (2,)  statistics of the labels: the number beyond clip, and the largest absolute value
    points: Matrix = growing(0)  # (capacity, dim)  the points with a coefficient
    omega: Vector = growing(0)  # (capacity,)  ω
    active: Counts = growing(0)  # (capacity,)  indices of the points in A
    scale: Vector = growing(0)  # (capacity,)  D of the points in A
    factor: Vector = growing(0)  # L, packed
    weights: Vector = growing(0)  # (capacity,)  1/√p̃ of the points in A, for KORS; empty for KONS
    sampling: Vector = growing(0)  # the factor of KORS, packed; empty for KONS
    size: int = 0  # points with a coefficient
    taken: int = 0  # points in A
    rows: int = 0  # learnt so far
    unprojected: int = 0  # how often the projection was left out, because rounding left no direction for it
    raised: int = 0  # points whose α was raised to SMALLEST_RIDGE times their scaled k(x, x), because it was smaller
    dim: int = 1
    outputs: int = 1


@config
class Newton(KernelLearner[State]):
    """The base of KONS and SketchedKONS: everything except which points are added to A.

    kernel     The kernel k(x, x'), which decides how smooth the function is. X is not scaled here. Default: Gaussian().
    loss       The loss, such as Logistic() for probabilities, Hinge() for labels ±1. Default: Square().
    alpha      α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip       C > 0: scores stay within [−C, C]. Labels beyond it are counted in a note. Default: 1.0.
    curvature  The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the curvature of the
               loss, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension  d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Square()
    alpha: float = 1.0
    clip: float = 1.0
    curvature: float | None = None
    dimension: float = 1.0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def _sketch(self) -> Sketch:
        """The settings that decide which points are added to A."""

    def _init(self, dim: int, outputs: int) -> State:
        none = np.empty(0)
        return State(no_labels(), np.empty((0, dim)), none, np.empty(0, np.int64), none, none, none, none, dim=dim)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        self.loss.admit(Y)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        vars(state).update(vars(self._rounds(state, X, Y[:, 0], weight, scores[:, 0])))

    def _settle(self, state: State) -> None:
        state.points[state.size :] = 0.0
        for array in (state.active, state.scale, state.weights):
            array[state.taken :] = 0
        state.factor[packed(state.taken) :] = state.sampling[packed(state.taken) :] = 0.0

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        self._rounds(state, X, np.zeros(len(X)), np.zeros(len(X)), scores[:, 0])  # weight 0: nothing is learnt

    def _rounds(self, state: State, X: Matrix, y: Vector, weight: Vector, scores: Vector) -> State:
        """The state after the rows. Arrays to which rows are only appended may be shared with the given state."""
        own, work = self.kernel.diagonal(X), shallow(state)
        work.omega, work.met = state.omega.copy(), state.met.copy()
        at_once = 1 if self.kernel.fallible else ROWS_AT_ONCE  # a user's kernel gets single rows, however the stream is cut
        for start in range(0, len(X), at_once):
            now = slice(start, start + at_once)
            old, fresh = work.size, X[now][weight[now] > 0.0]
            self._make_room(work, len(fresh))
            K, F = self.kernel.values(X[now], work.points[:old]), self.kernel.values(X[now], fresh)
            block, kept = (K, F, own[now], y[now], weight[now]), np.empty(len(fresh), np.int64)
            arrays = (work.omega, work.active, work.scale, work.factor, work.weights, work.sampling)
            counts = (work.size, work.taken, work.rows, work.unprojected, work.raised)
            counts = _learn(block, newton_settings(self), self._sketch, arrays, work.met, counts, kept, scores[now])
            work.size, work.taken, work.rows, work.unprojected, work.raised = counts
            work.points[old : work.size] = fresh[kept[: work.size - old]]
        _resize(work, fitted, work.size, work.taken, self._sketch[0] < 1.0)  # not every row was kept, or added to A
        return work

    def _make_room(self, state: State, rows: int) -> None:
        """Enlarge the arrays if `rows` more rows might not fit."""
        sketched, taken = self._sketch[0] < 1.0, state.taken + rows
        if packed(taken) > len(state.factor):
            remedy = "SketchedKONS() with a smaller floor or ProsNKONS() keep fewer points"
            check_room(self, 8 * capacity(packed(taken)) * (2 if sketched else 1), remedy)
        _resize(state, grown, state.size + rows, taken, sketched)

    def _footprint(self, dim: int, outputs: int) -> int:
        """The bytes that `init` will hold; the header says how they grow."""
        return 8 * 9

    def _check(self, state: State) -> None:
        size, taken = state.size, state.taken
        sketched, weighted = self._sketch[0] < 1.0, self._sketch[3]
        lengths = [(state.points, size), (state.omega, size), (state.active, taken), (state.scale, taken)]
        lengths += [(state.factor, packed(taken))]
        lengths += [(state.weights, taken), (state.sampling, packed(taken))] if sketched else []
        if any(len(array) < length for array, length in lengths) or not taken <= size <= state.rows:
            raise InputError("its arrays are too short for its sizes")
        if not sketched and len(state.weights) + len(state.sampling) > 0:
            raise InputError("it has sampling weights, but its learner does not sample")
        active, scale = state.active[:taken], state.scale[:taken]
        if np.any(np.diff(active, prepend=-1, append=size) <= 0):
            raise InputError("the points in its matrix are not among its points")
        weights = state.weights[:taken] if sketched else np.ones(taken)
        if np.any(weights < 1.0):
            raise InputError("its sampling weights are below 1, so they do not belong to probabilities")
        points = state.points[active]
        own = self.kernel.diagonal(points)

        def is_factor_with(factor: Vector, d: Vector) -> bool:
            rows = lambda a, b: d[a:b, None] * self.kernel.values(points[a:b], points) * d  # noqa: E731
            return is_factor(factor, taken, d * d * own, rows)

        if not is_factor_with(state.factor, scale):
            raise InputError("the stored factor does not match the kernel matrix of the stored points")
        if sketched and not is_factor_with(state.sampling, scale if weighted else scale * weights):
            raise InputError("the stored sampling factor does not match the kernel matrix of the stored points")
        check_met(state.met, self.clip, state.rows)

    def _notes(self, state: State) -> list[str]:
        said = label_notes(state.met, self.clip)
        if state.unprojected:
            said.append(f"rounding left no direction to project along {state.unprojected} times; only the score was clipped")
        if state.raised:
            said.append(f"alpha is too small for k(x, x) of {state.raised} points, where it was raised (rescale X, or raise alpha)")
        return said


@final
@config
class KONS(Newton):
    """The online Newton step in the whole space of a kernel: logarithmic regret, at O(t²) a row.

    kernel     The kernel k(x, x'), which decides how smooth the function is. X is not scaled here. Default: Gaussian().
    loss       The loss, such as Logistic() for probabilities, Hinge() for labels ±1. Default: Square().
    alpha      α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip       C > 0: scores stay within [−C, C]. Labels beyond it are counted in a note. Default: 1.0.
    curvature  The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the curvature of the
               loss, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension  d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    """

    group: ClassVar[Group] = Group.EXACT
    when: ClassVar[str] = "as the reference for losses other than the square, for up to some thousand rows"
    cost: ClassVar[str] = "O(t²)"
    memory: ClassVar[str] = "O(t²)"
    paper: ClassVar[str] = "Calandriello et al. 2017"

    _sketch = (1.0, 0.5, 1.0, False, 0)

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        check_newton(self)


@final
@config
class SketchedKONS(Newton):
    """KONS with a Newton matrix of only some of the points: those of high leverage, and each other one with probability `floor`.

    kernel        The kernel k(x, x'), which decides how smooth the function is. X is not scaled here. Default: Gaussian().
    loss          The loss, such as Logistic() for probabilities, Hinge() for labels ±1. Default: Square().
    alpha         α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip          C > 0: scores stay within [−C, C]. Labels beyond it are counted in a note. Default: 1.0.
    curvature     The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the curvature of the
                  loss, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension     d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    floor         γ in [0, 1], the least probability with which a point is added; 1 is KONS itself, with 0 leverage alone decides.
                  Default: 0.1.
    accuracy      ε in (0, 1): leverage scores are raised by the factor 1 + ε, and the oversampling that theory requires grows
                  like 1/ε². Default: 0.5.
    oversampling  β > 0: a point joins with β times its leverage score as probability. A larger one samples more points; for
                  T rows and a failure probability of δ the theory requires 3 ln(4T²/δ)/ε², with ε the accuracy. Default: 1.0.
    weighted      True: a point added with probability p counts 1/p, so that the matrix is right on average, but with a
                  large variance. Default: False.
    seed          The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    group: ClassVar[Group] = Group.EXACT
    when: ClassVar[str] = "as KONS, for longer streams"
    cost: ClassVar[str] = "O(m² + t·dim)"
    memory: ClassVar[str] = "O(m² + t·dim)"
    paper: ClassVar[str] = "Calandriello et al. 2017"

    floor: float = 0.1
    accuracy: float = 0.5
    oversampling: float = 1.0
    weighted: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Gaussian(width=1.0)")
        check_newton(self)
        real(self, "floor", least=0.0, most=1.0)
        real(self, "accuracy", least=0.0, most=1.0)
        real(self, "oversampling", least=0.0, most=1e30)
        flag(self, "weighted")
        whole(self, "seed", 0)

    @property
    def _sketch(self) -> Sketch:
        return self.floor, self.accuracy, self.oversampling, self.weighted, self.seed


def _resize(state: State, to: Callable[[NDArray[Any], int], NDArray[Any]], size: int, taken: int, sketched: bool) -> None:
    """Resize the arrays for `size` points with a coefficient and `taken` points in A."""
    state.points, state.omega = to(state.points, size), to(state.omega, size)
    state.active, state.scale, state.factor = to(state.active, taken), to(state.scale, taken), to(state.factor, packed(taken))
    if sketched:
        state.weights, state.sampling = to(state.weights, taken), to(state.sampling, packed(taken))


@hot
def _learn(
    block: NewtonRows,
    settings: NewtonSettings,
    sketch: Sketch,
    arrays: Arrays,
    met: Vector,
    counts: Counters,
    kept: Counts,
    scores: Vector,
) -> Counters:
    """Score, then learn, each row; returns the new counts. Writes to `kept` which rows got a coefficient, as their indices among
    the rows of positive weight."""
    K, F, own, y, weight = block
    size, taken, rows, unprojected, raised = counts
    omega, (loss, _, _, clip) = arrays[0], settings
    k, old, first = np.empty(omega.size), size, rows
    for i in range(K.shape[0]):
        for j in range(old):
            k[j] = K[i, j]
        for j in range(size - old):
            k[old + j] = F[i, kept[j]]
        score = dot(k[:size], omega[:size])
        scores[i] = within(score, clip)
        h = score - scores[i]
        if weight[i] == 0.0:
            continue
        rows += 1
        count_label(met, y[i], clip)
        g = slope(loss[0], loss[1], scores[i], y[i])
        if g == 0.0 and h == 0.0:
            continue
        takes, lost, rises = _step(k[:size], own[i], h, g, settings, sketch, rows, arrays, taken)
        taken += 1 if takes else 0
        unprojected += 1 if lost else 0
        raised += 1 if rises else 0
        kept[size - old] = rows - 1 - first
        size += 1
    return size, taken, rows, unprojected, raised


@hot
def _step(
    k: Vector, own: float, h: float, g: float, settings: NewtonSettings, sketch: Sketch, round: int, arrays: Arrays, taken: int
) -> tuple[bool, bool, bool]:
    """One Newton step, for a point with kernel values k and slope g, whose score exceeds C by h.

    Returns whether the point was added to A, whether the projection was left out because of rounding, and whether α was raised.
    """
    omega, active, D, L, weights, sampling = arrays
    _, steps, alpha, _ = settings
    eta = weight_of_gradient(steps, round)
    s = g * np.sqrt(eta)  # the point's D is s √z
    Dk = D[:taken] * k[active[:taken]]
    l = Dk.copy()
    solve(L, taken, l)
    rest = max(own - dot(l, l), 0.0)  # k(x, x) − l·l
    q = rest / alpha
    root_z = _coin(Dk, s, own, alpha, sketch, weights, sampling, round) if g != 0.0 else 0.0
    step = g / (1.0 + eta * root_z * root_z * g * g * q)
    projects = rest > SMALLEST_VARIANCE * own
    if projects:
        step += h / q
    square = s * s * root_z * root_z
    least = SMALLEST_RIDGE * square * own
    if root_z > 0.0:
        append(L, taken, s * root_z * l, np.sqrt(max(alpha, least) + square * rest))
        active[taken], D[taken] = k.size, s * root_z
    solve_transposed(L, taken, l)
    omega[active[:taken]] += step / alpha * D[:taken] * l
    omega[k.size] = -step / alpha
    return root_z > 0.0, h != 0.0 and not projects, alpha < least


@hot
def _coin(Dk: Vector, s: float, own: float, alpha: float, sketch: Sketch, weights: Vector, sampling: Vector, round: int) -> float:
    """√z: 0 if the point is not added to A. If it is added, √z is 1, or 1/√p̃ if weighted, and the point is appended to KORS."""
    floor, accuracy, oversampling, weighted, seed = sketch
    if floor == 1.0:
        return 1.0
    taken = Dk.size
    scaled = s * Dk / weights[:taken] if weighted else s * Dk
    sampler, l = (KORS, np.array([alpha, accuracy, oversampling]), weights[:taken], sampling), np.empty(taken)
    p = max(probability(sampler, scaled, s * s * own, l), floor)
    if uniform(seed, round - 1, 0) >= p:
        return 0.0
    remember(weights, sampling, taken, l, s * s * own, alpha, p)
    return 1.0 / np.sqrt(p) if weighted else 1.0
