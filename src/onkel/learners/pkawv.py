"""PKAWV: the Azoury-Warmuth-Vovk forecaster on any fixed features, an exact second-order learner for the square loss.

    ŷ_t = f̂_t(x_t),   f̂_t = argmin_f  Σ_{s<t} (y_s − f(x_s))² + λ‖f‖² + f(x_t)²        f(x) = θᵀz(x)

    z = features(x),   A ← A + z zᵀ,   ŷ = zᵀA⁻¹b,   b ← b + y z                         A₀ = λI, b₀ = 0

Regret against every f in the features' span, for any sequence with |y| ≤ B:  λ‖f‖² + B² ln det(I + Σ z zᵀ/λ).
O(r²) a row and O(r²) memory, for r features.

Jézéquel, Gaillard & Rudi (2019), Efficient online learning with kernels for adversarial large scale problems, NeurIPS. Algorithm 1.
Departs from the paper: `awv=False` is its Projected-KRR (no f(x_t)² term), which it ran on real data; `forgetting` μ < 1
discounts the past, A ← μA + z zᵀ + λ(1−μʳ) e_j e_jᵀ with j = t mod r, so that no direction loses its ridge; a row of weight w
is learnt as w z zᵀ and w y z (in its own score the f(x_t)² term has weight 1); several outputs share one A.

>>> X, y = onkel.data.friedman(2000, seed=0)
>>> line, curve = onkel.Identity() + onkel.Constant(), onkel.Taylor(degree=2) + onkel.Identity() + onkel.Constant()
>>> for features in line, curve:
...     learner = onkel.PKAWV(features=(onkel.Standardize(), features))
...     scores = learner.learn(learner.init(dim=10), X, y)
...     print(round(float(np.mean((scores - y)[1000:] ** 2)), 1))
7.0
3.7
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from onkel._inputs import place
from onkel._types import Matrix, Vector
from onkel._validate import flag, real
from onkel.features import Constant, Features, Fourier, Identity
from onkel.features.compose import as_features, check_features
from onkel.learners.protocol import Learner, check_sizes
from onkel.linalg import ridge
from onkel.linalg.factor import fading_notes
from onkel.linalg.inverse import BLOCK
from onkel.turns import Call

ROWS_AT_ONCE = 32 * BLOCK  # features are computed for so many rows at a time, to keep memory flat


@dataclass
class State:
    features: Any  # the features' own state
    ridge: ridge.Ridge  # A and b, kept as A⁻¹ and A⁻¹b, or as the triangle R with RᵀR = A and R⁻ᵀb
    dim: int
    outputs: int


@dataclass(frozen=True)
class PKAWV(Learner):
    """Second-order online regression (and classification by ±1, or by one 0/1 output a class) on explicit features."""

    features: Features | tuple[Features, ...] = Fourier(count=100) + Identity() + Constant()  # of X as it is; scale it first
    lam: float = 1.0  # λ: the ridge
    awv: bool = True  # False: plain ridge regression (Projected-KRR)
    forgetting: float = 1.0  # μ: the weight of a row fades by this factor each round; 1 = never

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    multi_output: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 1e-9

    def __post_init__(self) -> None:
        check_features(self)
        real(self, "lam", least=1e-30, most=1e30)
        flag(self, "awv")
        real(self, "forgetting", least=1e-3, most=1.0)

    @cached_property
    def _map(self) -> Features:
        return as_features(self.features)

    @cached_property
    def _fallible(self) -> bool:
        return self._map.fallible

    def _init(self, dim: int, outputs: int) -> State:
        dim, outputs = check_sizes(self, dim, outputs)
        return State(self._map.init(dim), ridge.init(self._map.size(dim), outputs, self.lam, self.forgetting), dim, outputs)

    def _take(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        # a user's own basis may fail on any row: then all rows are transformed before the first is learnt
        done, longest = 0, len(X) if self._fallible else ROWS_AT_ONCE - state.ridge.rows % BLOCK
        if len(X) <= longest:
            self._take_block(call, state, X, Y, weight, scores)
            return
        while done < len(X):
            now = slice(done, done + longest)
            self._take_block(call, state, X[now], Y[now], weight[now], scores[now])
            done, longest = done + longest, ROWS_AT_ONCE

    def _take_block(self, call: Call, state: State, X: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        Z = np.empty((len(X), len(state.ridge.matrix)))
        features = self._map.write(state.features, X, weight, Z, 0)
        if features is state.features:
            self._learn(state, Z, Y, weight, scores)
        else:
            call.owe(partial(self._go_on, state, state.ridge.rows, features, (Z, Y, weight, scores)))
            call.pay()

    def _learn(self, state: State, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        ridge.learn(state.ridge, Z, Y, weight, self.awv, self.lam, self.forgetting, scores)

    def _go_on(self, state: State, rows: int, features: Any, block: tuple[Matrix, Matrix, Vector, Matrix]) -> None:
        """Learn what is left of a block that began after so many rows, and leave the features as they are after it."""
        done = place(block[2], state.ridge.rows - rows)
        self._learn(state, *(part[done:] for part in block))
        state.features = features

    def _score(self, state: State, X: Matrix, scores: Matrix) -> None:
        for start in range(0, len(X), ROWS_AT_ONCE):
            now = slice(start, start + ROWS_AT_ONCE)
            Z = np.empty((len(X[now]), len(state.ridge.matrix)))
            self._map.write(state.features, X[now], np.zeros(len(Z)), Z, 0)  # weights 0: transformed, not learnt
            ridge.predict(state.ridge, Z, self.awv, self.lam, self.forgetting, scores[now])

    def _learnt(self, state: State) -> int:
        return state.ridge.rows

    def _widen(self, state: State, outputs: int) -> None:
        wider = ridge.widened(state.ridge, outputs)
        vars(state).update(ridge=wider, outputs=outputs)

    def footprint(self, dim: int, outputs: int = 1) -> int:
        """The bytes that `init` will hold."""
        return self._map.footprint(dim) + ridge.footprint(self._map.size(dim), outputs) + 8 * 2

    def _check(self, state: State) -> None:
        ridge.check(state.ridge, self.lam, self.forgetting)

    def _notes(self, state: State) -> list[str]:
        fading = fading_notes(self.lam, self.forgetting, len(state.ridge.matrix), state.ridge.rows)
        return self._map.notes(state.features) + ridge.notes(state.ridge) + fading
