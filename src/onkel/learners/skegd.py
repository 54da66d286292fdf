"""SkeGD: gradient descent in the coordinates of a sketched kernel matrix, whose sketch is updated as points join.

    φ(x) = Zᵀ k(landmarks, x),   g = ℓ'(w·φ, y),   if g ≠ 0:  w ← (1 − ηλ) w − η g φ
    update of the map:  Z from the exact leading eigenpairs of the sketch; w such that the function on the landmarks stays the same

These are the rounds of stage 2; `onkel.updates.sketched_descent` describes the stages.

Regret O(√T). With m landmarks and k coordinates a row costs O(m·dim + mk). With μ stored points and s columns of the sketch an
update of the map costs O(μ·dim + s³), and memory is O(μ·dim + s² + sm).

Zhang & Liao (2019), Incremental randomized sketching for online kernel learning, ICML; as Anonymous (2023), FORKS, describes it.
Departs from the paper: w is transferred to the new coordinates by least squares on the landmarks, since eigenvectors have no sign;
the sketch includes the kernel values between all sketched points (public code omits those between points that joined).

>>> X, y = onkel.data.rings(4000, seed=0)
>>> learner = onkel.SkeGD(period=500)
>>> state = learner.init(dim=2)
>>> print(int(np.sum(onkel.measure.mistakes(learner.learn(state, X, y), y))), "mistakes,", state.sketch.updates, "updates")
29 mistakes, 7 updates
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from onkel._types import Counts, Vector
from onkel._validate import config
from onkel.errors import InputError
from onkel.features.sketch import Sketch, in_lanes
from onkel.functions import support
from onkel.functions.row_block import RowBlock
from onkel.functions.support import Support
from onkel.groups import Group
from onkel.state import Counted, counter, memory
from onkel.updates.gradient import check_step, follow, gradient_settings
from onkel.updates.sketched_descent import SecondStage, SketchedDescent, published


@memory
class State(Counted):
    support: Support  # the sketched points, with their coefficients of stage 1
    sketch: Sketch
    weights: Vector  # (k,)  w
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class SkeGD(SketchedDescent[State]):
    """Gradient descent in the coordinates of an incrementally sketched kernel matrix.

    kernel             The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                       Default: Gaussian().
    loss               The loss that is minimised, such as Logistic() for probabilities, Hinge() for labels ±1, Square() for
                       numbers. Default: Hinge().
    budget             B, from which the defaults of the sizes below follow. A larger one means fewer errors and a higher cost
                       of a row. Default: 100.
    buffer             B̃, the number of points learnt in the first stage; None: 2B. Default: None.
    sketch             s_p, the number of columns of the sketch; None: B/2. Default: None.
    landmarks          s_m, the number of points whose kernel values with a row are computed; None: 2 s_p, at most B̃.
                       Default: None.
    rank               k, the number of coordinates of the second stage; None: s_p. Default: None.
    period             ρ ≥ 1, the number of rounds between two updates of the map. Lower it if the stream changes fast.
                       Default: 1000.
    blocks             d ≥ 1, the number of nonzero entries of the sketch for each point. Default: 1.
    step               η > 0, the size of a gradient step in the first stage (of SkeGD in the second, too). Default: 0.2.
    max_updates        The largest number of updates of the map; after them the map stays fixed. Default: 100.
    growing_landmarks  True: points that join may become landmarks too, until there are s_p/2, so the cost of a row grows.
                       Default: False.
    seed               The seed of the random draws: the same seed and stream give the same bits. Default: 0.
    lam                λ ≥ 0: adds λw to each gradient that is not 0. Default: 0.0.
    """

    group: ClassVar[Group] = Group.POINTS
    when: ClassVar[str] = "as FORKS with first-order steps: cheaper, with more errors"
    cost: ClassVar[str] = "O(m·dim + mk)"
    memory: ClassVar[str] = "O(μ·dim + s² + sm)"
    paper: ClassVar[str] = "Zhang & Liao 2019"

    lam: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_step(self)

    @classmethod
    def as_published(cls, rows: int) -> SkeGD:
        """SkeGD as in Table 2 of FORKS (2023), for a stream of this many rows.

        >>> onkel.SkeGD.as_published(1000).period
        300
        """
        return cls(**published(rows), lam=0.01)

    def _init(self, dim: int, outputs: int) -> State:
        return State(support.with_room(dim, self._room or 0), self._sketching.init(dim), np.zeros(self._sketching.rank), dim=dim)

    @cached_property
    def _second(self) -> SecondStage[State]:
        return _GradientStage(self)

    def _footprint(self, dim: int, outputs: int) -> int:
        return super()._footprint(dim, outputs) + 8 * self._sketching.rank

    def _check(self, state: State) -> None:
        super()._check(state)
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are not finite")


@dataclass(frozen=True)
class _GradientStage(SecondStage[State]):
    """The gradient step in the coordinates of the map; after an update, w keeps the function's values on the landmarks."""

    of: SkeGD

    forgets: ClassVar[bool] = False
    truncated: ClassVar[bool] = False

    def begin(self, state: State, weights: Vector) -> None:
        state.weights[:] = weights

    def learn(self, state: State, block: RowBlock, due: int, scores: Vector) -> int:
        sketch, descent = state.sketch, gradient_settings(self.of.loss, self.of.step, self.of.lam)
        return follow(block, sketch.landmarks, in_lanes(sketch.width), sketch.map, state.weights, descent, due, scores)

    def weights(self, state: State) -> Vector:
        return state.weights
