"""PKAWV: the Azoury-Warmuth-Vovk forecaster on any fixed features, an exact second-order learner for the square loss.

    ŷ_t = f̂_t(x_t),   f̂_t = argmin_f  Σ_{s<t} (y_s − f(x_s))² + λ‖f‖² + f(x_t)²        f(x) = θᵀz(x)

    z = features(x),   A ← A + z zᵀ,   ŷ = zᵀA⁻¹b,   b ← b + y z                         A₀ = λI, b₀ = 0

Regret against every f in the features' span, for any sequence with |y| ≤ B:  λ‖f‖² + B² ln det(I + Σ z zᵀ/λ).
For r features a row costs O(r²), and memory is O(r²).

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

from typing import Any, ClassVar

from onkel._types import Matrix, Vector
from onkel._validate import config, flag, real
from onkel.features import Constant, Features, Fourier, Identity
from onkel.features.compose import check_features
from onkel.groups import Group
from onkel.linalg import ridge
from onkel.linalg.inverse import BLOCK
from onkel.one_row import RowSteps
from onkel.state import memory
from onkel.updates.explicit_features import ROWS_AT_ONCE, FeatureLearner


@memory
class State:
    features: Any  # the state of the features
    ridge: ridge.Ridge  # A and b, stored as A⁻¹ and A⁻¹b, or as the triangle R with RᵀR = A and R⁻ᵀb
    dim: int
    outputs: int


@config
class PKAWV(FeatureLearner[State]):
    """Second-order online regression (and classification by ±1, or by one 0/1 output per class) on explicit features.

    features    The map z(x), a tuple for a chain of maps. X is not scaled here: scale it first, as with (Standardize(),
                Taylor()). Default: Fourier(count=100) + Identity() + Constant().
    lam         λ > 0, the ridge: the weight of ‖f‖². A larger one gives a smoother, more cautious function; raise it for noisy
                labels. Default: 1.0.
    awv         Whether the forecaster is Azoury, Vovk and Warmuth's, which shrinks each score by its own leverage; False:
                plain ridge regression. Default: True.
    forgetting  μ in [0.001, 1]: in each round the weight of past rows is multiplied by it. 1 never forgets; try 0.999 for a
                stream that changes. Default: 1.0.
    """

    group: ClassVar[Group] = Group.FEATURES
    when: ClassVar[str] = (
        "for speed with smooth functions of up to some tens of inputs; with features=Identity() + Constant() it is linear"
    )
    cost: ClassVar[str] = "O(r²)"
    memory: ClassVar[str] = "O(r²)"
    paper: ClassVar[str] = "Jézéquel et al. 2019"

    features: Features | tuple[Features, ...] = Fourier(count=100) + Identity() + Constant()
    lam: float = 1.0
    awv: bool = True
    forgetting: float = 1.0

    multi_output: ClassVar[bool] = True
    cut_tolerance: ClassVar[float] = 1e-9

    def __post_init__(self) -> None:
        check_features(self)
        real(self, "lam", least=1e-30, most=1e30)
        flag(self, "awv")
        real(self, "forgetting", least=1e-3, most=1.0)

    def _init(self, dim: int, outputs: int) -> State:
        return State(self._map.init(dim), ridge.init(self._map.size(dim), outputs, self.lam, self.forgetting), dim, outputs)

    def _first_piece(self, state: State) -> int:
        return ROWS_AT_ONCE - state.ridge.rows % BLOCK  # so that pieces end at the ends of the blocks of `linalg.inverse`

    def _learn(self, state: State, Z: Matrix, Y: Matrix, weight: Vector, scores: Matrix) -> None:
        ridge.learn(state.ridge, Z, Y, weight, self.awv, self.lam, self.forgetting, scores)

    def _predict(self, state: State, Z: Matrix, scores: Matrix) -> None:
        ridge.predict(state.ridge, Z, self.awv, self.lam, self.forgetting, scores)

    def _single(self, state: State) -> RowSteps | None:
        if state.ridge.factored:
            return None
        return self._row_steps(state, lambda Z, row: ridge.row_steps(state.ridge, Z, row, self.awv))

    def _learnt(self, state: State) -> int:
        return state.ridge.rows

    def _widen(self, state: State, outputs: int) -> None:
        wider = ridge.widened(state.ridge, outputs)
        vars(state).update(ridge=wider, outputs=outputs)

    def _footprint(self, dim: int, outputs: int) -> int:
        return self._map.footprint(dim) + ridge.footprint(self._map.size(dim), outputs) + 8 * 2

    def _check(self, state: State) -> None:
        ridge.check(state.ridge, self.lam, self.forgetting)

    def _notes(self, state: State) -> list[str]:
        return super()._notes(state) + ridge.notes(state.ridge, self.lam, self.forgetting)
