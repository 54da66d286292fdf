"""KernelAdatron: coordinate ascent on the dual of the support vector machine, one row at a time.

    f = Σ a_i y_i k(x_i, ·),      a ← clip(a + (η/k(x, x)) (1 − y f(x)), 0, C)                      η = `step`, C = `aggressiveness`

Here a is the coefficient of the present row; it is 0 if the row was not seen before. A repeated row is recognised by its values and
its label, so several passes over a stream are coordinate ascent: f approaches the support vector machine without a bias, with a
hard margin if C is large. If η < 2, each step raises the dual objective Σ a − ½‖f‖².

After m different rows, a row costs O(m); for an additive kernel O(log m) for each input, for `Linear()` O(dim). Memory is O(m).

Friess, Cristianini & Campbell (1998), The Kernel-Adatron, ICML.

Departs from the paper: its step is η, ours is η/k(x, x), so that one η suits every kernel; for k(x, x) = 1 they are the same.

>>> X, y = onkel.data.rings(500, seed=0)
>>> learner = onkel.KernelAdatron()
>>> state = learner.init(dim=2)
>>> [int(np.sum(onkel.measure.mistakes(learner.learn(state, X, y), y))) for _ in range(3)]
[10, 0, 0]
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Vector
from onkel._validate import config, instance, real
from onkel.errors import InputError
from onkel.functions import representations, row_table
from onkel.functions.function import Function
from onkel.functions.representations import amend, count, evaluate, has_room, prepare
from onkel.functions.row_block import RowBlock
from onkel.functions.row_table import RowSlots, RowTable, enter, slot
from onkel.functions.support import Support
from onkel.groups import Group
from onkel.kernels import Additive, Exponential, Kernel
from onkel.state import Counted, counter, memory
from onkel.updates.kernel_expansion import ExpansionLearner
from onkel.updates.projection import LEAST_OWN

CAP_TOLERANCE = 1e-9  # how far a coefficient may exceed C, relative to C


@memory
class State(Counted):
    support: Function
    known: RowTable  # the coefficient of every row learnt
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class KernelAdatron(ExpansionLearner[State]):
    """The Kernel-Adatron: a support vector machine learnt row by row, in one pass or in several.

    kernel          The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first.
                    Default: Additive(Exponential()).
    step            η in (0, 2), the size of a step towards the margin. Default: 0.5.
    aggressiveness  C > 0, the largest coefficient. 1e30 means no limit (a hard margin); a smaller limit is better with
                    noisy labels. Default: 1.0.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for the support vector machine, in several passes over the same rows (`onkel.cycle`)"
    cost: ClassVar[str] = "O(log m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Friess et al. 1998"

    kernel: Kernel = Additive(Exponential())
    step: float = 0.5
    aggressiveness: float = 1.0

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Additive(Exponential())")
        real(self, "step", least=1e-30, most=1.999999)
        real(self, "aggressiveness", least=1e-30, most=1e30)

    def _init(self, dim: int, outputs: int) -> State:
        return State(representations.empty(self.kernel, dim), row_table.empty(), dim=dim)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        f, known = state.support.compiled, state.known.table
        return _learn(block, f, known, state.dim, self.step, self.aggressiveness, scores)

    def _after(self, state: State) -> None:
        super()._after(state)
        state.known.make_room()

    def _footprint(self, dim: int, outputs: int) -> int:
        return super()._footprint(dim, outputs) + row_table.footprint()

    def _check(self, state: State) -> None:
        super()._check(state)
        state.known.check(state.rows)
        taken = np.any(state.known.keys, axis=1)
        places, points = state.known.places[taken], state.support.size[0] if isinstance(state.support, Support) else 1
        distinct = not isinstance(state.support, Support) or len(np.unique(places)) == len(places)
        if not distinct or np.any(places < 0) or np.any(places >= max(points, 1)):
            raise InputError("its table of rows does not fit its points")
        a = state.known.values
        if np.any(a < 0.0) or np.any(a > self.aggressiveness * (1.0 + CAP_TOLERANCE)):
            raise InputError("a coefficient is outside its bounds")


@hot
def _learn(
    block: RowBlock, f: Any, known: RowSlots, dim: int, step: float, most: float, scores: Vector
) -> int:  # fmt: skip
    """Score, then learn, each row; returns the number of rows done. The last `dim` numbers of a row of X are the raw row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not (has_room(f) and row_table.has_room(known)):
            return i
        scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            if own[i] >= LEAST_OWN:
                x = X[i, X.shape[1] - dim :]
                at = slot(known, x, y[i])
                before = known.values[at]
                after = min(max(before + step / own[i] * (1.0 - y[i] * scores[i]), 0.0), most)
                if after != before:
                    enter(known, at, x, y[i], count(f))
                    known.values[at] = after
                    amend(kernel, f, known.places[at], X[i], own[i], y[i] * (after - before), learnt[0])
            learnt[0] += 1
    return int(X.shape[0])
