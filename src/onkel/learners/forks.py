"""FORKS: the online Newton step in the coordinates of an incrementally sketched kernel matrix; for streams that change.

    φ(x) = Zᵀ k(landmarks, x),   |w·φ| ≤ C by projection,   G = ℓ'(w·φ, y) φ + λw,   A ← A + η GGᵀ,   w ← w − A⁻¹G
    reset, every `period` rounds:  Z from the truncated eigen-update of the sketch,  A = αI,  w = 0 if `restart`; otherwise w keeps
                                   the values of the function on the landmarks

These are the rounds of stage 2; `onkel.updates.sketched_descent` describes the stages.

Regret O(log T) for curved losses and O(√T) for the hinge, if the sketch is large enough (`onkel.measure.bounds.forks_sizes`).
With m landmarks and k coordinates a row costs O(m·dim + mk + k²). With μ stored points and s columns of the sketch an update of the
map costs O(μ·dim + s m² + k³), and memory is O(μ·dim + s² + sm).

Anonymous (2023), FORKS: fast second-order online kernel learning using incremental sketching. Departs from the paper: the sketch
Φ_pp (`onkel.features.sketch`) includes the kernel values between all sketched points; its decomposition is updated symmetrically
(rank 2 for each point) and computed again every 50 updates; stage 2 starts from the least squares fit to stage 1. The step uses the
matrix A that includes the round's own gradient, and a score is clipped in its own round, both as in the paper's proof. With
`step_uses_old_matrix` the step is that of Algorithm 1; with `project_on_current` the clip is that of Algorithm 1 and of the
authors' code. The period is counted in rounds, so the length of the stream need not be known. The default settings are not those
of the paper, whose α, clip, sizes and restarts were often no better than the more frequent label (`bench/defaults.py`);
`FORKS.as_published` has them. Resets go on when the map no longer changes.

>>> X, y = onkel.data.rings(4000, seed=0)
>>> for loss in onkel.Hinge(), onkel.SquaredHinge():
...     learner = onkel.FORKS(loss=loss)
...     state = learner.init(dim=2)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(state, X, y), y))), "mistakes,", state.sketch.updates, "updates")
29 mistakes, 3 updates
11 mistakes, 3 updates
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, final

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, flag, real
from onkel.errors import InputError
from onkel.features.sketch import Sketch, embed, in_lanes
from onkel.functions import support
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support, values
from onkel.groups import Group
from onkel.linalg.factor import check_factor
from onkel.linalg.rank_one import rank_one_update, workspace
from onkel.linalg.triangular import solve_row, solve_upper
from onkel.losses import slope
from onkel.state import Counted, counter, memory
from onkel.updates.newton import (
    SMALLEST_VARIANCE,
    LossCode,
    StepSize,
    check_met,
    check_steps,
    count_label,
    label_notes,
    loss_code,
    no_labels,
    step_size,
    weight_of_gradient,
    within,
)
from onkel.updates.sketched_descent import SecondStage, SketchedDescent, published


class ForksSettings(NamedTuple):
    """The settings, for compiled code."""

    loss: LossCode
    steps: StepSize
    alpha: float
    clip: float
    lam: float
    old_matrix: bool
    on_current: bool


@memory
class State(Counted):
    support: Support  # the sketched points, with their coefficients of stage 1
    sketch: Sketch
    matrix: Matrix  # (k, k)  R, upper triangular, RᵀR = A
    coef: Matrix  # (1, k)  R w
    met: Vector  # (2,)  statistics of the labels of stage 2: the number beyond clip, and the largest absolute value
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class FORKS(SketchedDescent[State]):
    """Newton steps in the coordinates of an incrementally sketched kernel matrix; a row costs time linear in the budget.

    kernel                The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                          Default: Gaussian().
    loss                  The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for
                          numbers. Default: Hinge().
    budget                B, from which the defaults of the sizes below follow. A larger one means fewer errors and a higher cost
                          of a row. Default: 100.
    buffer                B̃, the number of points learnt in the first stage; None: 2B. Default: None.
    sketch                s_p, the number of columns of the sketch; None: B/2. Default: None.
    landmarks             s_m, the number of points whose kernel values with a row are computed; None: 2 s_p, at most B̃.
                          Default: None.
    rank                  k, the number of coordinates of the second stage; None: s_p. Default: None.
    period                ρ ≥ 1, the number of rounds between two resets. A reset starts the Newton matrix anew, and updates the
                          map. Lower it if the stream changes fast. Default: 1000.
    blocks                d ≥ 1, the number of nonzero entries of the sketch for each point. Default: 1.
    step                  η > 0, the size of a gradient step in the first stage (of SkeGD in the second, too). Default: 0.2.
    max_updates           The largest number of updates of the map; after them the map stays fixed, but resets go on. Default: 100.
    growing_landmarks     True: points that join may become landmarks too, until there are s_p/2, so the cost of a row grows.
                          Default: False.
    seed                  The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    alpha                 α > 0: the Newton matrix starts at αI. A larger one makes the first steps smaller. Default: 1.0.
    clip                  C > 0: scores of the second stage stay within [−C, C]. For numbers, set it to the largest label that
                          you expect; for classes with the hinge loss, beyond 1, or no row would be right by a margin. Default:
                          3.0.
    curvature             η > 0, the weight of g gᵀ in the Newton matrix, with g the gradient of a row's loss; None: the
                          curvature of the loss, or, if it has none, √rank/(L · clip · √t) in round t, with L the largest
                          slope of the loss. Default: 0.5.
    lam                   λ ≥ 0: adds λw to each gradient that is not 0; at most α unless `restart`. A row whose loss has no slope,
                          such as one that the hinge loss finds right by a margin, changes nothing, so f does not fade by
                          itself. Default: 0.0.
    project_on_current    True: w is projected after its step, for the row just learnt; False: before the next score. Default:
                          False.
    step_uses_old_matrix  True: the step is taken before the gradient is added to the Newton matrix; False: after. Default:
                          False.
    restart               True: a reset sets w = 0, as in the paper, which is better if labels contradict earlier ones; False: it
                          keeps the function, which is better if they do not. Default: False.
    """

    group: ClassVar[Group] = Group.POINTS
    when: ClassVar[str] = "for classes with a small budget, also under changes by an adversary"
    cost: ClassVar[str] = "O(m·dim + mk + k²)"
    memory: ClassVar[str] = "O(μ·dim + s² + sm)"
    paper: ClassVar[str] = "Anonymous 2023"

    alpha: float = 1.0
    clip: float = 3.0
    curvature: float | None = 0.5
    lam: float = 0.0
    project_on_current: bool = False
    step_uses_old_matrix: bool = False
    restart: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self)
        real(self, "lam", least=0.0, most=1e30)
        flag(self, "project_on_current", "step_uses_old_matrix", "restart")
        if not self.restart and self.lam > self.alpha:  # A may be αI, so a step along λw would overshoot 0, and w would grow
            raise InputError(f"FORKS: lam must be at most alpha, {self.alpha:g}, unless restart=True; got {self.lam:g}")

    @classmethod
    def as_published(cls, rows: int) -> FORKS:
        """FORKS with the settings of its paper's Table 2, for a stream of this many rows.

        >>> onkel.FORKS.as_published(1000).alpha
        0.01
        """
        return cls(**published(rows), alpha=0.01, clip=1.0, restart=True)

    @property
    def dimension(self) -> float:
        """The dimension of the space in which the steps are taken."""
        return float(self._sketching.rank)

    def _init(self, dim: int, outputs: int) -> State:
        state = State(
            support.with_room(dim, self._room or 0), self._sketching.init(dim), np.empty(0), np.empty(0), no_labels(), dim=dim
        )
        self._second.begin(state, np.zeros(self._sketching.rank))
        return state

    @cached_property
    def _second(self) -> SecondStage[State]:
        return _NewtonStage(self)

    def _rows_to_repeat(self, state: State) -> int:
        """The number of rows that can be learnt before the next reset, if it sets the weights to 0."""
        return self._due(state) - state.rows if self._is_built(state) and self.restart else 0

    def _may_run_away(self, state: State, own: Vector) -> bool:
        return not self._is_built(state) and super()._may_run_away(state, own)  # scores of stage 2 are clipped

    def _footprint(self, dim: int, outputs: int) -> int:
        k = self._sketching.rank
        return super()._footprint(dim, outputs) + 8 * (k * (k + 1) + 2)

    def _check(self, state: State) -> None:
        super()._check(state)
        check_factor(state.matrix, state.coef, self._sketching.rank, self.alpha)
        check_met(state.met, self.clip, state.rows)

    def _notes(self, state: State) -> list[str]:
        return super()._notes(state) + label_notes(state.met, self.clip)


@dataclass(frozen=True)
class _NewtonStage(SecondStage[State]):
    """The Newton step in the coordinates of the map. A reset starts its matrix anew."""

    of: FORKS

    forgets: ClassVar[bool] = True
    truncated: ClassVar[bool] = True

    @property
    def keeps(self) -> bool:
        return not self.of.restart

    def begin(self, state: State, weights: Vector) -> None:
        root = np.sqrt(self.of.alpha)
        state.matrix, state.coef = root * np.eye(len(weights)), root * weights[None, :]

    def learn(self, state: State, block: RowBlock, due: int, scores: Vector) -> int:
        of, sketch = self.of, state.sketch
        settings = ForksSettings(
            loss_code(of.loss), step_size(of), of.alpha, of.clip, of.lam, of.step_uses_old_matrix, of.project_on_current
        )
        width = in_lanes(sketch.width)
        return _learn(block, sketch.landmarks, width, sketch.map, state.matrix, state.coef, state.met, settings, due, scores)

    def weights(self, state: State) -> Vector:
        w: Vector = state.coef[0].copy()
        solve_upper(state.matrix, w)
        return w


@hot
def _learn(
    block: RowBlock,
    landmarks: Matrix,
    width: int,
    M: Matrix,
    R: Matrix,
    c: Matrix,
    met: Vector,
    settings: ForksSettings,
    due: int,
    scores: Vector,
) -> int:
    """Score, then learn, each row. Stops after the row of round `due`, which is only scored. Returns the number of rows done.

    1. φ of the row by the sketched map, and z = R⁻ᵀφ: the score is z·c.
    2. Projection: w is moved along A⁻¹φ until |w·φ| ≤ C. If `on_current` is true, this comes after the step.
    3. The Newton step, if the loss has a slope.
    """
    rank, learnt = M.shape[0], block.learnt
    k, phi, z, g, work = np.zeros(width), np.empty(rank), np.empty(rank), np.empty(rank), workspace(rank)
    for i in range(block.X.shape[0]):
        learn = block.weight[i] > 0.0
        values(block.kernel, landmarks, width, block.X[i], k)
        embed(k, width, M, phi)
        for j in range(rank):
            z[j] = phi[j]  # a copy, because φ is needed again if the projection comes after the step
        full, q = _score(R, c, z)
        scores[i] = full if settings.on_current else within(full, settings.clip)
        if learn and learnt[0] == due:
            return i + 1
        if learn:
            if not settings.on_current:
                _project(c, z, q, full - scores[i], block.own[i], settings.alpha)
            count_label(met, block.y[i], settings.clip)
            slope_now = slope(settings.loss[0], settings.loss[1], scores[i], block.y[i])
            if slope_now != 0.0:
                _step(R, c, z, slope_now, settings, learnt[0] + 1, g, work)
            if settings.on_current:
                for j in range(rank):
                    z[j] = phi[j]
                full, q = _score(R, c, z)
                _project(c, z, q, full - within(full, settings.clip), block.own[i], settings.alpha)
            learnt[0] += 1
    return int(block.X.shape[0])


@hot_inline
def _score(R: Matrix, c: Matrix, z: Vector) -> tuple[float, float]:
    """w·φ = z·c and φᵀA⁻¹φ = z·z, for z ← R⁻ᵀφ and c = Rw."""
    solve_row(R, z)
    full, q = 0.0, 0.0
    for j in range(z.size):
        full += c[0, j] * z[j]
        q += z[j] * z[j]
    return full, q


@hot_inline
def _project(c: Matrix, z: Vector, q: float, excess: float, own: float, alpha: float) -> None:
    """w ← w − (h/q) A⁻¹φ with h = `excess`, unless q is only rounding errors."""
    if excess != 0.0 and alpha * q > SMALLEST_VARIANCE * own:
        for j in range(z.size):
            c[0, j] -= excess / q * z[j]


@hot_inline
def _step(R: Matrix, c: Matrix, z: Vector, slope: float, settings: ForksSettings, round: int, g: Vector, work: Matrix) -> None:
    """A ← A + η GGᵀ, w ← w − A⁻¹G, with g ← R⁻ᵀG. By Sherman-Morrison the new A⁻¹G is the old one divided by 1 + η g·g."""
    for j in range(z.size):
        g[j] = slope * z[j]
    if settings.lam > 0.0:
        _add_regulariser(R, c, settings.lam, g)
    eta = weight_of_gradient(settings.steps, round)
    square = 0.0
    for j in range(g.size):
        square += g[j] * g[j]
    length = 1.0 if settings.old_matrix else 1.0 / (1.0 + eta * square)
    root = np.sqrt(eta)
    for j in range(g.size):
        c[0, j] -= length * g[j]
        g[j] *= root
    if eta > 0.0:
        rank_one_update(R, c, g, work)


@hot
def _add_regulariser(R: Matrix, c: Matrix, lam: float, g: Vector) -> None:
    """g ← g + λ R⁻ᵀw."""
    w = c[0].copy()
    solve_upper(R, w)
    solve_row(R, w)
    for j in range(g.size):
        g[j] += lam * w[j]
