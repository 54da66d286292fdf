"""Projections: f moves to the nearest function in U, the set of functions that fit the row.

    MarginProjection   U = {f : y f(x) ≥ 1}            f ← f + a k(x, ·),  a = (y − f(x)) / k(x, x)         if y f(x) < 1
    TubeProjection     U = {f : |f(x) − y| ≤ ε}        f ← f + a k(x, ·),  a = (y ± ε − f(x)) / k(x, x)     if |f(x) − y| > ε

where ± is the sign of f(x) − y. Then, if there is a `radius` γ and ‖f‖ > γ: f ← f γ/‖f‖.

The loss of a row is 1 for a mistake (MarginProjection), or (|f(x) − y| − ε)₊² (TubeProjection). f₁ is f before the first row, κ²
the largest k(x, x). For every function u that is in the sets U of all rows, Σ loss ≤ κ² ‖u − f₁‖² (Theorems 2, 3 and 6). If there
is a radius, then over any interval of the stream Σ loss ≤ κ² (γ + ‖u‖)² for every u with ‖u‖ ≤ γ that is in the sets U of that
interval (Theorems 4 and 5), so a change of the stream does no lasting harm.

After m rows that changed f, a row costs O(m); for an additive kernel O(log m) for each input, for `Linear()` O(dim). Memory is
O(m).

Herbster (2001), Learning additive models online with fast evaluating kernels, COLT.

Departs from the paper: its equations 2 and 4 have misprints (`onkel.kernels.lists` has the correct formulas); a row with k(x, x)
below 1e-100 is ignored.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> learner = onkel.MarginProjection()
>>> int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y)))
9
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Counts, Matrix, Vector
from onkel._validate import config, instance, real
from onkel.dictionary import Start
from onkel.errors import InputError
from onkel.functions import representations
from onkel.functions.function import Function
from onkel.functions.learnt import Learnt
from onkel.functions.representations import add, evaluate, has_room, prepare, shrink
from onkel.functions.row_block import RowBlock
from onkel.groups import Group
from onkel.kernels import Additive, Exponential, Kernel
from onkel.state import Counted, counter, memory, nbytes
from onkel.updates.kernel_expansion import ExpansionLearner
from onkel.updates.projection import LEAST_OWN, passive_aggressive

NORM_TOLERANCE = 1e-9  # how far ‖f‖ may exceed the radius, relative to the radius


@memory
class State(Counted):
    support: Function
    norm2: Vector  # (1,)  ‖f‖²
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


class _Projecting(ExpansionLearner[State]):
    kernel: Kernel
    radius: float | None
    start: Start | None
    bounded: ClassVar[bool] = False
    margin: ClassVar[bool]  # True: U is given by a margin; False: by a tube of half-width `epsilon`

    def _check_fields(self) -> None:
        """Check the fields that both learners have."""
        instance(self, "kernel", Kernel, "Additive(Exponential())")
        real(self, "radius", least=1e-30, most=1e30, optional=True)
        if self.start is not None:
            instance(self, "start", Start, "Start(points=[[0.0]], coef=[1.0])")
            if self.kernel.is_open:
                raise InputError(
                    f"{type(self).__name__}: with a start, give the kernel its domain=(low, high); got {self.kernel!r}"
                )

    def _init(self, dim: int, outputs: int) -> State:
        state = self._initial(dim)
        norm = math.sqrt(state.norm2[0])
        if self.radius is not None and norm > self.radius * (1.0 + NORM_TOLERANCE):
            raise InputError(f"{type(self).__name__}: start has norm {norm:g}, above radius={self.radius:g}; scale its coef")
        return state

    def _initial(self, dim: int) -> State:
        """The state before the first row, with the function `start`."""
        state = State(representations.empty(self.kernel, dim), np.zeros(1), dim=dim)
        if self.start is not None:
            points, coef = self.start.arrays(dim)
            own, rows = self.kernel.diagonal(points), state.support.rows(self.kernel, points)
            for i in range(len(coef)):
                state.support.make_room(self.kernel)
                kernel = state.support.source(self.kernel, rows[i : i + 1])
                _begin(kernel, state.support.compiled, state.norm2, rows[i : i + 1], float(own[i]), float(coef[i]), i)
            state.support.make_room(self.kernel)
        return state

    def _settle(self, state: State) -> None:
        if state.rows > 0 or self.start is None:
            super()._settle(state)

    @property
    def _started(self) -> int:
        """The number of points of `start`."""
        return 0 if self.start is None else len(self.start.coef)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        radius, epsilon = math.inf if self.radius is None else self.radius, getattr(self, "epsilon", 0.0)
        return _learn(block, state.support.compiled, state.norm2, self._started, self.margin, epsilon, radius, scores)

    def _function(self, state: State) -> Learnt:
        return replace(state.support.learnt(self.kernel), squared_norm=float(state.norm2[0]))  # type: ignore[type-var]

    def _footprint(self, dim: int, outputs: int) -> int:
        fits = self.start is not None and len(self.start.points[0]) == dim
        return nbytes(self._initial(dim)) if fits else super()._footprint(dim, outputs) + 8

    def _check(self, state: State) -> None:
        state.support.check(self.kernel, state.rows + self._started, None)
        most = math.inf if self.radius is None else self.radius * (1.0 + NORM_TOLERANCE)
        if not 0.0 <= math.sqrt(max(state.norm2[0], 0.0)) <= most or state.norm2[0] < 0.0:
            raise InputError("its norm is above its radius, or negative")


@final
@config
class MarginProjection(_Projecting):
    """The projection algorithm for classification: f moves to the nearest function with margin 1 on the row.

    kernel  The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
            Additive(Exponential()).
    radius  γ > 0, the largest ‖f‖; it limits the harm if the stream changes. None: no limit. Default: None.
    start   f before the first row, as Start(points, coef); None: f = 0. Default: None.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for classes, as one curve for each input; with a radius for streams that change"
    cost: ClassVar[str] = "O(log m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Herbster 2001"

    kernel: Kernel = Additive(Exponential())
    radius: float | None = None
    start: Start | None = None

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    margin = True

    def __post_init__(self) -> None:
        self._check_fields()


@final
@config
class TubeProjection(_Projecting):
    """The projection algorithm for regression: f moves to the nearest function within ε of the row's label.

    kernel   The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
             Additive(Exponential()).
    epsilon  ε ≥ 0, in units of the label: errors up to it count as 0, and change nothing. Default: 0.1.
    radius   γ > 0, the largest ‖f‖; it limits the harm if the stream changes. None: no limit. Default: None.
    start    f before the first row, as Start(points, coef); None: f = 0. Default: None.

    >>> x = np.random.default_rng(0).uniform(size=2000)
    >>> learner = onkel.TubeProjection(kernel=onkel.Exponential(rate=1.0), epsilon=0.05)
    >>> scores = learner.learn(learner.init(dim=1), x[:, None], np.abs(x - 0.5))
    >>> outside = np.abs(scores - np.abs(x - 0.5)) > 0.05
    >>> int(outside[:500].sum()), int(outside[1500:].sum())
    (56, 1)
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for numbers with a known tolerance (epsilon), as one curve for each input"
    cost: ClassVar[str] = "O(log m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Herbster 2001"

    kernel: Kernel = Additive(Exponential())
    epsilon: float = 0.1
    radius: float | None = None
    start: Start | None = None

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})
    margin = False

    def __post_init__(self) -> None:
        self._check_fields()
        real(self, "epsilon", least=0.0, most=1e50)

    def _notes(self, state: State) -> list[str]:
        if state.rows > 0 and state.norm2[0] == 0.0:
            return [f"no label was further from 0 than epsilon={self.epsilon:g}: nothing was learnt (lower epsilon)"]
        return []


@hot
def _learn(
    block: RowBlock, f: Any, norm2: Vector, started: int, margin: bool, epsilon: float, radius: float, scores: Vector
) -> int:  # fmt: skip
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not has_room(f):
            return i
        scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            step = 0.0
            if own[i] >= LEAST_OWN:
                step = passive_aggressive(scores[i], y[i], own[i], np.inf) if margin else _to_tube(scores[i], y[i], own[i], epsilon)
            if step != 0.0:
                add(kernel, f, X[i], own[i], step, started + learnt[0])
                norm2[0] = max(norm2[0] + 2.0 * step * scores[i] + step * step * own[i], 0.0)
                if norm2[0] > radius * radius:
                    shrink(f, radius / math.sqrt(norm2[0]))
                    norm2[0] = radius * radius
            learnt[0] += 1
    return int(X.shape[0])


@hot_inline
def _to_tube(score: float, y: float, own: float, epsilon: float) -> float:
    """The step a that brings the score to the nearer edge of the tube; 0 if it is inside."""
    missing = y - score
    if abs(missing) <= epsilon:
        return 0.0
    return (missing - math.copysign(epsilon, missing)) / own


@hot
def _begin(kernel: Any, f: Any, norm2: Vector, x: Matrix, own: float, a: float, round: int) -> None:
    """Add one point of `start`, given as a single row, and update ‖f‖²."""
    score = evaluate(kernel, f, x[0], prepare(kernel, f, x))
    add(kernel, f, x[0], own, a, round)
    norm2[0] = max(norm2[0] + 2.0 * a * score + a * a * own, 0.0)
