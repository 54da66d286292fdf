"""ROMMA: the relaxed maximum margin. The new f is the shortest function that has a margin of 1 on the row and lies in a half-space
that the old f defines.

    f ← argmin ‖g‖  over  {g : ⟨g, f⟩ ≥ ‖f‖², y g(x) ≥ 1}

    with N = ‖f‖², k = k(x, x), D = k N − f(x)²:        f ← c f + e k(x, ·),   c = (k N − y f(x)) / D,   e = N (y − f(x)) / D

f is updated on mistakes, or, if `aggressive`, on every row with y f(x) < 1. The first update is f ← y k(x, ·)/k. If y f(x) ≥ k N,
as is possible for an aggressive learner, the shortest g with y g(x) ≥ 1 also has ⟨g, f⟩ ≥ ‖f‖², and again f ← y k(x, ·)/k.

There are at most κ² ‖u‖² mistakes for every function u with y u(x) ≥ 1 on all rows, where κ² is the largest k(x, x). After m
updates a row costs O(m); for an additive kernel O(log m) for each input, for `Linear()` O(dim). Memory is O(m).

Li & Long (2002), The relaxed online maximum margin algorithm, Machine Learning.

Departs from the paper: N = ‖f‖² is not computed from all points, but updated, together with a bound on its relative error. If a row
changes N to N', it multiplies this error bound by c²N/N' and adds 1e-16 (|c|√N + |e|√k)²/N'. A row that would raise the error bound
above 1e-10 is skipped, and counted. This happens if no f has a margin on all rows, because f then grows for ever and loses digits.
A row for which k(x, ·) is parallel to f, D ≤ 1e-12 k N, is skipped too. The bound on mistakes holds as long as no row is skipped.

>>> X, y = onkel.data.rings(2000, seed=0)
>>> for aggressive in False, True:
...     learner = onkel.ROMMA(aggressive=aggressive)
...     print(int(np.sum(onkel.measure.mistakes(learner.learn(learner.init(dim=2), X, y), y))))
20
8
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from onkel._jit import hot
from onkel._types import Counts, Vector
from onkel._validate import config, flag, instance
from onkel.errors import InputError
from onkel.functions import representations
from onkel.functions.function import Function
from onkel.functions.representations import add, evaluate, has_room, prepare, shrink
from onkel.functions.row_block import RowBlock
from onkel.functions.support import is_mistake
from onkel.groups import Group
from onkel.kernels import Additive, Exponential, Kernel
from onkel.state import Counted, counter, memory
from onkel.updates.kernel_expansion import ExpansionLearner
from onkel.updates.projection import LEAST_OWN

PARALLEL = 1e-12  # limit for D relative to k N; with less, k(x, ·) is parallel to f
LARGEST_ERROR = 1e-10  # the largest relative error of N
ROUNDING = 1e-16  # the relative error of one operation


@memory
class State(Counted):
    support: Function
    norm2: Vector  # (1,)  N = ‖f‖²
    error: Vector  # (1,)  a bound on the relative rounding error of N
    skipped: Counts  # (1,)  number of rows skipped
    learnt: Counts = counter()
    dim: int = 1
    outputs: int = 1


@final
@config
class ROMMA(ExpansionLearner[State]):
    """The relaxed online maximum margin algorithm: mistakes are learnt by the shortest f with a margin of 1 on them.

    kernel      The kernel k(x, x'), which decides how smooth the function is. X is not scaled here: scale it first. Default:
                Additive(Exponential()).
    aggressive  True: rows inside the margin are learnt too, not only mistakes. Default: False.
    """

    group: ClassVar[Group] = Group.CURVES
    when: ClassVar[str] = "for classes with a large margin, without any setting to tune"
    cost: ClassVar[str] = "O(log m)"
    memory: ClassVar[str] = "O(m)"
    paper: ClassVar[str] = "Li & Long 2002"

    kernel: Kernel = Additive(Exponential())
    aggressive: bool = False

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self, "kernel", Kernel, "Additive(Exponential())")
        flag(self, "aggressive")

    def _init(self, dim: int, outputs: int) -> State:
        return State(representations.empty(self.kernel, dim), np.zeros(1), np.zeros(1), np.zeros(1, np.int64), dim=dim)

    def _learn(self, state: State, block: RowBlock, scores: Vector) -> int:
        return _learn(block, state.support.compiled, state.norm2, state.error, state.skipped, self.aggressive, scores)

    def _footprint(self, dim: int, outputs: int) -> int:
        return super()._footprint(dim, outputs) + 24

    def _check(self, state: State) -> None:
        super()._check(state)
        if state.norm2[0] < 0.0 or not 0.0 <= state.error[0] <= LARGEST_ERROR:
            raise InputError("its norm is negative, or too inaccurate")
        if not 0 <= state.skipped[0] <= state.rows:
            raise InputError("its number of skipped rows is impossible")

    def _notes(self, state: State) -> list[str]:
        if not (skipped := int(state.skipped[0])):
            return []
        return [f"{skipped} rows were skipped: probably no f has a margin on all rows (for noisy labels add Delta() to the kernel)"]


@hot
def _learn(block: RowBlock, f: Any, norm2: Vector, error: Vector, skipped: Counts, aggressive: bool, scores: Vector) -> int:
    """Score, then learn, each row."""
    kernel, X, own, y, weight, learnt = block
    work = prepare(kernel, f, X)
    for i in range(X.shape[0]):
        if weight[i] > 0.0 and not has_room(f):
            return i
        score = scores[i] = evaluate(kernel, f, X[i], work)
        if weight[i] > 0.0:
            if own[i] >= LEAST_OWN and (y[i] * score < 1.0 if aggressive else is_mistake(score, y[i])):
                old, new = _pair(norm2[0], own[i], score, y[i])
                longer = old * old * norm2[0] + 2.0 * old * new * score + new * new * own[i]
                parts = (abs(old) * np.sqrt(norm2[0]) + abs(new) * np.sqrt(own[i])) ** 2
                now = (old * old * norm2[0] * error[0] + ROUNDING * parts) / longer if longer > 0.0 else np.inf
                if new == 0.0 or now > LARGEST_ERROR:
                    skipped[0] += 1
                else:
                    shrink(f, old)
                    add(kernel, f, X[i], own[i], new, learnt[0])
                    norm2[0], error[0] = longer, now
            learnt[0] += 1
    return int(X.shape[0])


@hot
def _pair(norm2: float, own: float, score: float, y: float) -> tuple[float, float]:
    """The coefficients c and e; e = 0 if the row must be skipped."""
    if own * norm2 <= y * score or norm2 == 0.0:
        return 0.0, y / own
    D = own * norm2 - score * score
    if PARALLEL * own * norm2 >= D:
        return 1.0, 0.0
    return (own * norm2 - y * score) / D, norm2 * (y - score) / D
