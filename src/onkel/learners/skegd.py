"""SkeGD: gradient descent in the coordinates of a kernel matrix that is sketched, and sketched anew as points join.

    φ(x) = Zᵀ k(landmarks, x),   g = ℓ'(w·φ, y),   where g ≠ 0:  w ← (1 − ηλ) w − η g φ        (stages: `onkel.learners.sketched`)
    an update:  Z of the exact leading eigenpairs of the sketch; w such that the function on the landmarks is as it was

Regret O(√T). O(m·dim + mk) a row, m landmarks and k coordinates; an update costs O(μ·dim + s³), μ points, s columns of the sketch.
Memory O(μ·dim + s² + sm).

Zhang & Liao (2019), Incremental randomized sketching for online kernel learning, ICML; as Anonymous (2023), FORKS, describes it.
Departs from it: w is carried to the new coordinates by least squares on the landmarks, since eigenvectors have no sign; every
kernel value between sketched points enters the sketch (public code leaves out those between points that joined).

>>> X, y = onkel.data.rings(4000, seed=0)
>>> learner = onkel.SkeGD(period=500)
>>> state = learner.init(dim=2)
>>> print(int(np.sum(onkel.measure.mistakes(learner.learn(state, X, y), y))), "mistakes,", state.sketch.updates, "updates")
29 mistakes, 7 updates
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from onkel._types import Counts, Matrix, Vector
from onkel.dictionary import support
from onkel.dictionary.support import Support
from onkel.errors import InputError
from onkel.features.sketch import Sketch, in_lanes
from onkel.learners.descent import check_step, rule
from onkel.learners.domains import on_domains
from onkel.learners.nogd import follow
from onkel.learners.protocol import check_sizes
from onkel.learners.sketched import Sketched, least_squares
from onkel.learners.supported import Block
from onkel.state import Counted, counter


@dataclass
class State(Counted):
    support: Support  # the sketched points; coefficients of stage 1
    sketch: Sketch
    weights: Vector  # (k,)  w
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@on_domains
@dataclass(frozen=True)
class SkeGD(Sketched):
    """First-order learning on incremental sketches."""

    lam: float = 0.01  # λ

    truncated: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_step(self)

    def _init(self, dim: int, outputs: int) -> State:
        dim, outputs = check_sizes(self, dim, outputs)
        return State(support.with_room(dim, self._room or 0), self._sketching.init(dim), np.zeros(self._sketching.rank), dim=dim)

    def _steps(self, state: Any, block: Block, due: int, scores: Vector) -> int:
        sketch, descent = state.sketch, rule(self.loss, self.step, self.lam)
        return follow(block, sketch.landmarks, in_lanes(sketch.width), sketch.map, state.weights, descent, due, scores)

    def _start(self, state: Any, weights: Vector) -> None:
        state.weights[:] = weights

    def _go_on(self, state: Any, M: Matrix) -> None:
        width = state.sketch.width
        landmarks = np.ascontiguousarray(state.sketch.landmarks[:, :width].T)
        K = self.kernel.values(landmarks, landmarks)
        state.weights[:] = least_squares(K @ state.sketch.map[:, :width].T, K @ (state.weights @ M[:, :width]))

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return super().footprint(dim) + 8 * self._sketching.rank

    def _check(self, state: Any) -> None:
        super()._check(state)
        if not np.isfinite(state.weights).all():
            raise InputError("its weights are beyond what can be learnt")
