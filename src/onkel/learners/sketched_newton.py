"""SketchedNewton: the online Newton step on fixed features, with a Newton matrix of low rank by frequent directions; O(m r) a row.

    ȳ = z·u,   h = sign(ȳ)(|ȳ| − C)₊,   ŷ = ȳ − h,   g = ℓ'(ŷ, y)                       A = αI + SᵀS,   S empty, u₀ = 0
    u ← u − (h/q) A⁻¹z,   append g√η zᵀ to S,   u ← u − g A⁻¹z,      z = features(x),  q = zᵀA⁻¹z
    when S has 2m rows:   SᵀS = Σ λ_i v_i v_iᵀ with λ_1 ≥ λ_2 ≥ …,   row i of S ← √(λ_i − λ_{m+1}) v_iᵀ for i ≤ m; the others go

α is `alpha`, m is `rank`, C is `clip`, and η comes from `curvature`. For r features A⁻¹z takes two products with S, with

    L Lᵀ = S Sᵀ + αI,   l = L⁻¹Sz,   A⁻¹z = (z − SᵀL⁻ᵀl)/α,   q = (z·z − l·l)/α

The matrix never gains more than η g² z zᵀ in a round. So, for η = σ, R_D ≤ 0 in the bound of `onkel.measure.newton_regret`, and the
sketch costs regret only through R_G = Σ g² zᵀA⁻¹z, which grows with the eigenvalues λ_{m+1} that were taken away. If nothing was
taken away, as with m ≥ r, it is `NewtonFeatures`. A row costs O(m r + m²) on average, and memory is O(m r + m²).

Luo, Agarwal, Cesa-Bianchi & Langford (2016), Efficient second order online learning by sketching, NeurIPS: SON with frequent
directions, the rival that section 6 of Calandriello et al. (2017) names. Ghashami, Liberty, Phillips & Woodruff (2016), Frequent
directions. Departs from the paper: a triangular factor of S Sᵀ + αI between two decompositions, so that no row is decomposed alone.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> features = onkel.Fourier(count=200, width=0.3)
>>> for rank in 20, 80, 400:
...     learner = onkel.SketchedNewton(features, onkel.SquaredHinge(), rank=rank, alpha=0.01)
...     print(int(np.sum(np.sign(learner.learn(learner.init(dim=2), X, y)) != y)))
458
139
95
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onkel._inputs import refuse_weights
from onkel._jit import hot
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, whole
from onkel.errors import InputError
from onkel.features import Constant, Features, Fourier, Identity
from onkel.features.compose import check_features
from onkel.groups import Group
from onkel.linalg.cholesky import SMALLEST_RIDGE, append, is_factor, packed, solve, solve_transposed
from onkel.linalg.eigen import leading
from onkel.linalg.loops import dot
from onkel.losses import Loss, Square, slope
from onkel.state import Counted, counter, memory, with_copies
from onkel.updates.explicit_features import FeatureLearner
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


@memory
class State(Counted):
    features: Any  # the state of the features
    sketch: Matrix  # (2m, r)  S, and then rows of 0
    factor: Vector  # L, packed
    coef: Vector  # (r,)  u
    met: Vector  # (2,)  statistics of the labels: the number beyond clip, and the largest absolute value
    taken: Counts = counter()  # rows of S in use
    raised: Counts = counter()  # how often α was raised to SMALLEST_RIDGE times the largest value of S Sᵀ, because it was smaller
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@config
class SketchedNewton(FeatureLearner[State]):
    """The online Newton step on many explicit features, for any loss, with a matrix of low rank.

    features   The map z(x), a tuple for a chain of maps. X is not scaled here: scale it first, as with (Standardize(),
               Taylor()). Default: Fourier(count=100) + Identity() + Constant().
    loss       The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for numbers.
               Default: Square().
    rank       m ≥ 1, the number of directions that the matrix keeps. A larger one is closer to `NewtonFeatures`, and slower.
               Default: 20.
    alpha      α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip       C > 0: scores stay within [−C, C]. Set it to the largest label that you expect; labels beyond it are counted in
               a note. Default: 1.0.
    curvature  The weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the curvature of the
               loss, or, if it has none, a weight that falls like 1/√t with the round t. Default: None.
    dimension  d > 0, for a loss without curvature only: a larger one raises the weight of g gᵀ. Default: 1.0.
    """

    group: ClassVar[Group] = Group.FEATURES
    when: ClassVar[str] = "as NewtonFeatures, for so many features that their matrix is too large"
    cost: ClassVar[str] = "O(m r)"
    memory: ClassVar[str] = "O(m r)"
    paper: ClassVar[str] = "Luo et al. 2016"

    features: Features | tuple[Features, ...] = Fourier(count=100) + Identity() + Constant()
    loss: Loss = Square()
    rank: int = 20
    alpha: float = 1.0
    clip: float = 1.0
    curvature: float | None = None
    dimension: float = 1.0

    multi_output: ClassVar[bool] = False
    cut_tolerance: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_features(self)
        whole(self, "rank", 1, 10_000)
        check_newton(self)

    def _init(self, dim: int, outputs: int) -> State:
        r, most = self._map.size(dim), 2 * self.rank
        return State(self._map.init(dim), np.zeros((most, r)), np.zeros(packed(most)), np.zeros(r), no_labels(), dim=dim)

    def _admit(self, state: State, Y: Matrix, weight: Vector) -> None:
        refuse_weights(self, weight)
        self.loss.admit(Y)

    def _learn(self, state: State, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        """The row that fills the sketch is learnt on a copy, so that learning and shrinking are one step."""
        done = 0
        while done < len(Z):
            done += self._rounds(state, 1, Z[done:], Y[done:, 0], weight[done:], scores[done:, 0])
            if done < len(Z):
                one, work = (
                    slice(done, done + 1),
                    with_copies(state, "sketch", "factor", "coef", "met", "taken", "raised", "learnt"),
                )
                self._rounds(work, 0, Z[one], Y[one, 0], weight[one], scores[one, 0])
                if work.taken[0] == len(work.sketch):
                    self._shrink(work)
                vars(state).update(vars(work))
                done += 1

    def _rounds(self, state: State, spare: int, Z: Matrix, y: Vector, weight: Vector, scores: Vector) -> int:
        arrays = state.sketch, state.factor, state.coef, state.met, state.taken, state.raised, state.learnt
        return _learn(Z, y, weight, spare, arrays, newton_settings(self), scores)

    def _shrink(self, state: State) -> None:
        m, S = self.rank, state.sketch
        U, values = leading(S @ S.T, m + 1)
        less = values[:m] - values[m]
        rest = np.sqrt(np.divide(less, values[:m], out=np.zeros(m), where=values[:m] > 0.0))
        S[:m], S[m:], state.factor[:] = rest[:, None] * (U[:, :m].T @ S), 0.0, 0.0
        least = SMALLEST_RIDGE * values[0]
        state.factor[[packed(i) - 1 for i in range(1, m + 1)]] = np.sqrt(max(self.alpha, least) + less)
        state.raised[0] += self.alpha < least
        state.taken[0] = m

    def _footprint(self, dim: int, outputs: int) -> int:
        r, most = self._map.size(dim), 2 * self.rank
        return self._map.footprint(dim) + 8 * (most * r + packed(most) + r + 7)

    def _check(self, state: State) -> None:
        taken, S = int(state.taken[0]), state.sketch
        if not 0 <= taken < len(S) or np.any(S[taken:]) or taken > max(state.rows, self.rank if state.rows >= len(S) else 0):
            raise InputError("the number of rows in its sketch does not fit its rows")
        own = self.alpha + np.sum(S[:taken] ** 2, axis=1)

        def rows(a: int, b: int) -> Matrix:
            block = S[a:b] @ S[:taken].T
            block[np.arange(b - a), np.arange(a, b)] = own[a:b]
            return block

        if not is_factor(state.factor, taken, own, rows):
            raise InputError("its factor does not match its sketch")
        check_met(state.met, self.clip, state.rows)

    def _notes(self, state: State) -> list[str]:
        said = super()._notes(state) + label_notes(state.met, self.clip)
        if state.raised[0]:
            said.append(
                f"alpha was raised {state.raised[0]} times, because it was too small for the features (rescale X, or raise alpha)"
            )
        return said


@hot
def _learn(
    Z: Matrix,
    y: Vector,
    weight: Vector,
    spare: int,
    arrays: tuple[Matrix, Vector, Vector, Vector, Counts, Counts, Counts],
    settings: NewtonSettings,
    scores: Vector,
) -> int:
    """Score, then learn, each row. Stops before a row of positive weight if only `spare` rows of the sketch are free. Returns the
    number of rows done."""
    S, L, u, met, taken, raised, learnt = arrays
    loss, steps, alpha, clip = settings
    l, direction = np.empty(S.shape[0]), np.empty(u.size)
    for i in range(Z.shape[0]):
        z, size = Z[i], taken[0]
        if weight[i] > 0.0 and size + spare >= S.shape[0]:
            return i
        full = float(dot(z, u))
        scores[i] = within(full, clip)
        if weight[i] == 0.0:
            continue
        learnt[0] += 1
        count_label(met, y[i], clip)
        h, g = full - scores[i], slope(loss[0], loss[1], scores[i], y[i])
        if h == 0.0 and g == 0.0:
            continue
        for k in range(size):
            l[k] = dot(S[k], z)
        solve(L, size, l)
        own = dot(z, z)
        rest = max(own - dot(l[:size], l[:size]), 0.0)  # α q
        eta = weight_of_gradient(steps, learnt[0])
        s = g * np.sqrt(eta)
        step = g / (1.0 + s * s * rest / alpha)
        if rest > SMALLEST_VARIANCE * own:
            step += h * alpha / rest
        if g != 0.0:
            least = SMALLEST_RIDGE * s * s * own
            raised[0] += 1 if alpha < least else 0
            append(L, size, s * l, np.sqrt(max(alpha, least) + s * s * rest))
        solve_transposed(L, size, l)
        for j in range(u.size):
            direction[j] = z[j]
        for k in range(size):
            row = S[k]
            for j in range(u.size):
                direction[j] -= l[k] * row[j]
        for j in range(u.size):
            u[j] -= step / alpha * direction[j]
        if g != 0.0:
            for j in range(u.size):
                S[size, j] = s * z[j]
            taken[0] = size + 1
    return int(Z.shape[0])
