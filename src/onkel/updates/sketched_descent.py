"""The base of FORKS and SkeGD: kernel gradient descent until a buffer is full, then steps in a sketched map that new points update.

    stage 1     f ← f − η g k(x, ·)      if g, the slope of the loss at the score, is not 0; until the buffer is full
    stage 2     a step in the coordinates φ(x) of a sketch of the buffer's kernel matrix                 (`onkel.features.sketch`);
                every `period` rounds the row is scored, then joins the sketch, and is learnt in the new coordinates

Each row that joins the sketch is stored, because the next row that joins needs its kernel value with each of them. After
`max_updates` such rows the map φ no longer changes. FORKS also resets its matrix in these rounds, and goes on
doing so after the last update of the map.

The default sizes have twice as many landmarks as the sketch has columns, and as many coordinates as columns. About as many
landmarks as columns would be the worst choice: Φ_pm would be square and nearly singular, and Φ_pm⁺ and φ would become huge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from onkel._types import Matrix, Vector
from onkel._validate import config, flag, whole
from onkel.errors import InputError
from onkel.features.sketch import CUT, Sketch, Sketching
from onkel.functions import support
from onkel.functions.learnt import Expansion, Learnt
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support, add
from onkel.kernels import Gaussian, Kernel
from onkel.losses import Hinge, Loss
from onkel.state import copied
from onkel.updates.gradient import check_descent, descend, gradient_settings, may_run_away
from onkel.updates.kernel_expansion import ExpansionLearner, ExpansionState

NEVER = -1  # used as the round of the next update if there is none


class SketchedState(ExpansionState, Protocol):
    """The fields of every state of a learner with a sketch."""

    sketch: Sketch

    @property
    def support(self) -> Support: ...


K = TypeVar("K", bound=SketchedState)


class SecondStage(ABC, Generic[K]):
    """How the weights w, in the coordinates of the map, are updated in stage 2."""

    forgets: ClassVar[bool]  # whether a reset changes more than the map, so that resets go on when the map no longer changes
    truncated: ClassVar[bool]  # whether an update of the map updates the decomposition of the sketch, instead of computing it again

    @property
    def keeps(self) -> bool:
        """Whether a reset keeps the function; otherwise w = 0 after it."""
        return True

    @abstractmethod
    def learn(self, state: K, block: RowBlock, due: int, scores: Vector) -> int:
        """Score, then learn, each row. Stops after the row of round `due`, which is only scored. Returns the number of rows
        done."""

    @abstractmethod
    def begin(self, state: K, weights: Vector) -> None:
        """w ← `weights`, at the start of stage 2 and after each reset. Nothing else that was learnt is kept."""

    @abstractmethod
    def weights(self, state: K) -> Vector:
        """w."""


@config
class SketchedDescent(ExpansionLearner[K]):
    """Kernel gradient descent until a buffer is full, then steps in the coordinates of a sketch, which subclasses define
    (`_second`).

    kernel             The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                       Default: Gaussian().
    loss               The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for
                       numbers. Default: Hinge().
    budget             B, from which the defaults of the sizes below follow. A larger one means fewer errors and a
                       higher cost of a row. Default: 100.
    buffer             B̃, the number of points learnt in the first stage; None: 2B. Default: None.
    sketch             s_p, the number of columns of the sketch; None: B/2. Default: None.
    landmarks          s_m, the number of points whose kernel values with a row are computed; None: 2 s_p, at most B̃. Default:
                       None.
    rank               k, the number of coordinates of the second stage; None: s_p. Default: None.
    period             ρ ≥ 1, the number of rounds between two updates of the map. Lower it if the stream changes fast.
                       Default: 1000.
    blocks             d ≥ 1, the number of nonzero entries of the sketch for each point. Default: 1.
    step               η > 0, the size of a gradient step in the first stage (of SkeGD in the second, too). Default: 0.2.
    max_updates        The largest number of updates of the map; after them the map stays fixed. Default: 100.
    growing_landmarks  True: points that join may become landmarks too, until there are s_p/2, so the cost of a row grows. Default:
                       False.
    seed               The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    buffer: int | None = None
    sketch: int | None = None
    landmarks: int | None = None
    rank: int | None = None
    period: int = 1000
    blocks: int = 1
    step: float = 0.2
    max_updates: int = 100
    growing_landmarks: bool = False
    seed: int = 0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_descent(self)
        for name in ("buffer", "sketch", "landmarks", "rank"):
            whole(self, name, 1, optional=True)
        whole(self, "period", 1)
        whole(self, "blocks", 1)
        whole(self, "max_updates", 0)
        flag(self, "growing_landmarks")
        whole(self, "seed", 0)
        s = self._sketching
        if s.size % s.blocks:
            raise InputError(f"{type(self).__name__}: sketch must be a multiple of blocks, {s.blocks}, got {s.size}")
        if s.landmarks > self._buffer:
            raise InputError(f"{type(self).__name__}: landmarks must be at most buffer, {self._buffer}, got {s.landmarks}")
        if s.rank > s.size:
            raise InputError(f"{type(self).__name__}: rank must be at most sketch, {s.size}, got {s.rank}")

    @property
    def _buffer(self) -> int:
        return 2 * self.budget if self.buffer is None else self.buffer

    @cached_property
    def _sketching(self) -> Sketching:
        half = max(1, self.budget // (2 * self.blocks)) * self.blocks  # S has `blocks` blocks of columns, all of one width
        size = half if self.sketch is None else self.sketch
        return Sketching(
            size,
            min(2 * size, self._buffer) if self.landmarks is None else self.landmarks,
            size if self.rank is None else self.rank,
            self.blocks,
            self.growing_landmarks,
            self.max_updates,
            self.seed,
        )

    @property
    def _room(self) -> int | None:
        return self._buffer + self.max_updates

    def _is_built(self, state: K) -> bool:
        return bool(state.support.size[0] >= self._buffer)

    def _points(self, state: K) -> Matrix:
        return state.sketch.landmarks[:, : state.sketch.width] if self._is_built(state) else super()._points(state)

    @property
    @abstractmethod
    def _second(self) -> SecondStage[K]: ...

    def _may_run_away(self, state: K, own: Vector) -> bool:
        return may_run_away(self, own)

    def _learn(self, state: K, block: RowBlock, scores: Vector) -> int:
        if not self._is_built(state):
            return descend(block, state.support.compiled, gradient_settings(self.loss, self.step), self._buffer, True, scores)
        before = state.rows
        due = self._due(state) if self._second.forgets or state.sketch.updates < self.max_updates else NEVER
        used = self._second.learn(state, block, due, scores)
        if before + np.count_nonzero(block.weight[:used]) > due != NEVER:
            self._update(state, block, used - 1, due)
        return used

    def _due(self, state: K) -> int:
        """The round of the next update of the map."""
        return -(-state.rows // self.period) * self.period

    def _after(self, state: K) -> None:
        """Start stage 2 if there are enough points: build the map, and fit w to the values of stage 1's function at its points."""
        if not self._is_built(state) or state.sketch.width > 0:
            return
        work = copied(state)
        points, coef = work.support.known, work.support.scale[0] * work.support.coef[: self._buffer]
        K = self._sketching.build(work.sketch, self.kernel, points)
        width = work.sketch.width
        Phi = K[:, work.sketch.numbers[:width]] @ work.sketch.map[:, :width].T
        self._second.begin(work, least_squares(Phi, K @ coef))
        vars(state).update(vars(work))

    def _update(self, state: K, block: RowBlock, i: int, round: int) -> None:
        """Let row i, which has been scored, join the sketch in this round if points still may, and learn it. This is done on a copy
        of the state, which is stored in one step."""
        row, x, own, work = slice(i, i + 1), block.X[i], float(block.own[i]), copied(state)
        if work.sketch.updates < self.max_updates:
            self._sketching.join(work.sketch, self.kernel, work.support.known, x, own, self._second.truncated)
            add(work.support.compiled, x, own, 0.0, round)
        self._second.begin(work, self._kept(state, work))
        kernel = support.source(self.kernel, block.X[row], self._points(work))
        alone = RowBlock(kernel, block.X[row], block.own[row], block.y[row], block.weight[row], work.learnt)
        self._second.learn(work, alone, NEVER, np.empty(1))
        vars(state).update(vars(work))

    def _kept(self, before: K, after: K) -> Vector:
        """The weights after a reset. A function that is kept has the same values on the landmarks, as far as the new map has such a
        function."""
        w = self._second.weights(before)
        if not self._second.keeps:
            return np.zeros(len(w))
        if after.sketch.updates == before.sketch.updates:
            return w
        width = after.sketch.width
        landmarks = np.ascontiguousarray(after.sketch.landmarks[:, :width].T)
        K = self.kernel.values(landmarks, landmarks)
        return least_squares(K @ after.sketch.map[:, :width].T, K @ (w @ before.sketch.map[:, :width]))

    def _function(self, state: K) -> Learnt | None:
        if not self._is_built(state):
            return super()._function(state)
        width = state.sketch.width
        landmarks = np.ascontiguousarray(state.sketch.landmarks[:, :width].T)
        return Expansion(self.kernel, landmarks, self._second.weights(state) @ state.sketch.map[:, :width])

    def _footprint(self, dim: int, outputs: int) -> int:
        return super()._footprint(dim, outputs) + self._sketching.footprint(dim)

    def _check(self, state: K) -> None:
        super()._check(state)
        size = int(state.support.size[0])
        if state.sketch.updates != max(size - self._buffer, 0):
            raise InputError("its number of updates does not fit its points")
        self._sketching.check(state.sketch, self.kernel, state.support.known[: size if self._is_built(state) else 0])

    def _notes(self, state: K) -> list[str]:
        if state.sketch.updates == self.max_updates > 0:
            return [f"the map has had its {self.max_updates} updates and no longer changes (raise max_updates, or period)"]
        return []


def published(rows: int) -> dict[str, Any]:
    """The settings that FORKS (2023) states for FORKS and SkeGD on a stream of this many rows (section 5 and appendix H), with the
    width of its code. For the sets of its Table 2, B is 50 up to 10,000 rows and 100 beyond."""
    budget, period = 50 if rows <= 10_000 else 100, max(1, int(0.3 * rows))
    return {
        "kernel": Gaussian(width=50.0),
        "loss": Hinge(),
        "budget": budget,
        "buffer": 2 * budget,
        "sketch": budget,
        "landmarks": budget // 5,
        "rank": budget // 10,
        "period": period,
        "step": 0.2,
        "max_updates": max(rows - 1, 0) // period,  # as many as there are
    }


def least_squares(Phi: Matrix, target: Vector) -> Vector:
    """The shortest w that minimises ‖Φw − target‖. Directions whose singular value is only rounding are ignored."""
    return np.asarray(np.linalg.pinv(Phi, rtol=CUT) @ target)
