"""FORKS: the online Newton step in the coordinates of a kernel matrix that is sketched incrementally; for streams that change.

    φ(x) = Zᵀ k(landmarks, x),   |w·φ| ≤ C by projection,   G = ℓ'(w·φ, y) φ + λw,   A ← A + η GGᵀ,   w ← w − A⁻¹G
    an update:  Z of the truncated eigen-update of the sketch,  A = αI,  w = 0                  (stages: `onkel.learners.sketched`)

Regret O(log T) for curved losses and O(√T) for the hinge, if the sketch is large enough (`onkel.measure.bounds.forks_sizes`).
O(m·dim + mk + k²) a row, m landmarks and k coordinates; an update costs O(μ·dim + s m² + k³), μ points and s columns of the sketch.
Memory O(μ·dim + s² + sm).

Anonymous (2023), FORKS: fast second-order online kernel learning using incremental sketching.
Departs from the paper: Φ_pp is updated over all sketched points, its decomposition symmetrically (rank 2 a point) and, every 50
updates, exactly; stage 2 starts from the least squares fit of stage 1; A contains the round's own gradient in its step, and scores
are projected in the round of their input, as the proof has it. `step_uses_old_matrix` and `project_on_current` do as Algorithm 1
and the authors' code do. The period is counted in rounds: the length of the stream need not be known.

>>> X, y = onkel.data.rings(4000, seed=0)
>>> for loss in onkel.Hinge(), onkel.SquaredHinge():
...     learner = onkel.FORKS(loss=loss)
...     state = learner.init(dim=2)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(state, X, y), y))), "mistakes,", state.sketch.updates, "updates")
51 mistakes, 3 updates
77 mistakes, 3 updates
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel._validate import flag, real
from onkel.dictionary import support
from onkel.dictionary.support import Support, values
from onkel.errors import InputError
from onkel.features.sketch import Sketch, embed, in_lanes, padded
from onkel.learners.newton import SMALLEST_VARIANCE, Steps, check_steps, slope_of, steps, weight_of_gradient, within
from onkel.learners.newton import Slope as Loss
from onkel.learners.protocol import check_sizes
from onkel.learners.sketched import Sketched
from onkel.learners.supported import Block
from onkel.linalg import covariance
from onkel.linalg.covariance import inner, narrow, times
from onkel.losses import slope


class Rule(NamedTuple):
    """The settings, as compiled code sees them."""

    loss: Loss
    steps: Steps
    alpha: float
    clip: float
    lam: float
    old_matrix: bool
    on_current: bool


class _Coordinates(NamedTuple):
    """The map, A⁻¹ and w while rows are learnt, with zeros behind their columns."""

    Z: Matrix
    P: Matrix
    w: Vector


@dataclass
class State:
    support: Support  # the sketched points; coefficients of stage 1
    sketch: Sketch
    inverse: Matrix  # (k, k)  A⁻¹
    weights: Vector  # (k,)  w
    skipped: Counts  # (1,)  rows not learnt, because rounding would have decided their step
    rows: int = 0  # learnt so far
    dim: int = 1
    outputs: int = 1


@final
@dataclass(frozen=True)
class FORKS(Sketched):
    """Second-order learning on incremental sketches, linear in the budget."""

    alpha: float = 0.01  # α: A starts at αI
    clip: float = 1.0  # C: scores of stage 2 stay within [−C, C]
    curvature: float | None = 0.5  # η; None: the loss's own, or √k/(LC√t) where it has none
    lam: float = 0.0  # λ: adds λw to each gradient
    project_on_current: bool = False  # True: w is projected after its step, on the row just learnt
    step_uses_old_matrix: bool = False  # True: the step is taken before A gets the gradient

    truncated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self)
        real(self, "lam", least=0.0, most=1e30)
        flag(self, "project_on_current")
        flag(self, "step_uses_old_matrix")

    @property
    def dimension(self) -> float:
        """Of the space in which it steps."""
        return float(self._sketching.rank)

    def init(self, dim: int, outputs: int = 1) -> State:
        """A state that has seen nothing, for rows of `dim` inputs."""
        dim, outputs = check_sizes(self, dim, outputs)
        state = State(
            support.empty(dim, self._room or 0), self._sketching.init(dim), np.empty(0), np.empty(0), np.zeros(1, np.int64), dim=dim
        )
        self._start(state, np.zeros(self._sketching.rank))
        return state

    def _start(self, state: Any, weights: Vector) -> None:
        state.inverse, state.weights = np.eye(len(weights)) / self.alpha, weights

    def _go_on(self, state: Any, Z: Matrix) -> None:
        self._start(state, np.zeros(self._sketching.rank))

    def _steps(self, state: Any, block: Block, round: int, due: int, scores: Vector) -> int:
        sketch = state.sketch
        rule = Rule(
            slope_of(self.loss), steps(self), self.alpha, self.clip, self.lam, self.step_uses_old_matrix, self.project_on_current
        )
        width = in_lanes(sketch.width)
        return _learn(
            block, sketch.landmarks, width, sketch.map, state.inverse, state.weights, state.skipped, rule, due, round, scores
        )

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        k = self._sketching.rank
        return super().footprint(dim) + 8 * (k * (k + 1) + 1)

    def check(self, state: Any) -> None:
        """Refuse a state that `init` and `learn` cannot have made."""
        super().check(state)
        covariance.check(state.inverse, self.alpha)
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are beyond what can be learnt")
        if not 0 <= state.skipped[0] <= state.rows:
            raise InputError("it has skipped more rows than it has learnt")

    def notes(self, state: Any) -> list[str]:
        """What a person should know of this state, one sentence each."""
        if state.skipped[0] == 0:
            return super().notes(state)
        lost = (
            f"{state.skipped[0]:,} rows were not learnt: beside others, float64 cannot tell how far to step (scale X, raise alpha)"
        )
        return [lost, *super().notes(state)]


@hot
def _learn(
    block: Block, landmarks: Matrix, width: int, Z: Matrix, P: Matrix, w: Vector, skipped: Counts,
    rule: Rule, due: int, round: int, scores: Vector,
) -> int:  # fmt: skip
    """Score, then learn, rows, up to that of the round that is `due`, which is scored alone: how many."""
    rank = w.size
    f = _Coordinates(padded(Z, width), padded(P, rank), padded(w.reshape(1, rank), 1)[0])
    k, phi, p, G = np.zeros(width), np.empty(f.w.size), np.empty(f.w.size), np.empty(f.w.size)
    done = block.X.shape[0]
    for i in range(done):
        learn = block.weight[i] > 0.0
        values(block.kernel, landmarks, width, block.X[i], k)
        embed(k, width, f.Z, phi)
        full = inner(f.w, phi)
        scores[i] = full if rule.on_current else within(full, rule.clip)
        if learn and round == due:
            done = i + 1
            break
        if learn:
            if not rule.on_current:
                _project(f, phi, p, full - scores[i], block.own[i], rule.alpha)
            slope_now = slope(rule.loss[0], rule.loss[1], scores[i], block.y[i])
            if slope_now != 0.0 and not _step(f, phi, slope_now, rule, round + 1, p, G):
                skipped[0] += 1
            if rule.on_current:
                full = inner(f.w, phi)
                _project(f, phi, p, full - within(full, rule.clip), block.own[i], rule.alpha)
            round += 1
    P[:, :] = f.P[:, :rank]
    w[:] = f.w[:rank]
    return int(done)


@hot_inline
def _project(f: _Coordinates, phi: Vector, p: Vector, excess: float, own: float, alpha: float) -> None:
    """w ← w − (h/q) A⁻¹φ, with h the excess and q = φᵀA⁻¹φ, unless q is rounding."""
    if excess != 0.0:
        times(f.P, phi, p)
        q = inner(phi, p)
        if alpha * q > SMALLEST_VARIANCE * own:
            for j in range(p.size):
                f.w[j] -= excess / q * p[j]


@hot_inline
def _step(f: _Coordinates, phi: Vector, slope: float, rule: Rule, round: int, p: Vector, G: Vector) -> bool:
    """G = ℓ'φ + λw,   A ← A + η GGᵀ,   w ← w − A⁻¹G; False, and nothing done, where GᵀA⁻¹G is rounding."""
    for j in range(G.size):
        G[j] = slope * phi[j] + rule.lam * f.w[j]
    times(f.P, G, p)
    s = inner(G, p)
    if not rule.alpha * s > SMALLEST_VARIANCE * inner(G, G):
        return False
    eta = weight_of_gradient(rule.steps, round)
    length = 1.0 if rule.old_matrix else 1.0 / (1.0 + eta * s)
    for j in range(p.size):
        f.w[j] -= length * p[j]
    narrow(f.P, G, p, s, eta)
    return True
