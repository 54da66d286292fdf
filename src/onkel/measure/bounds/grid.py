"""The bound of `Experts` that mix one forecaster with several ridges λ, or with several feature maps, such as all degrees M of
Taylor features: the regret of the best of them, plus what the mixture may lose to it. Neither λ nor M must be known beforehand.

Jézéquel, Gaillard & Rudi (2019), section 3.1: λ "can be optimized in practice through … an expert advice algorithm on a finite
grid", and the degree "could be increased slowly over time". Here all degrees run at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block, check_labelled
from onkel.combine import Experts
from onkel.combine.rules import BOA, ExponentialWeights, FixedShare, Layered, MLPoly
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.learners import PKAWV, KernelAWV
from onkel.measure.bounds.experts import boa, cutting, exponential_weights, fixed_share, layered, ml_poly
from onkel.measure.bounds.jezequel2019 import fixed_span, kernel_awv

_MIXING: dict[type, Callable[[Any, ArrayLike, ArrayLike], float]] = {
    ExponentialWeights: exponential_weights, FixedShare: fixed_share, MLPoly: ml_poly, BOA: boa, Layered: layered,
}  # fmt: skip


def grid(
    learner: Experts, X: ArrayLike, y: ArrayLike, squared_norm: float, kernel: Kernel | None = None, largest: float | None = None
) -> float:
    """min over the learners of (λ‖f‖² + the learner's own bound), plus `mixing`: a bound on Σ(y − ŷ)² − Σ(y − f(x))².

    `squared_norm` is ‖f‖². If `kernel` is None, f is in the space of every learner, whose own bound is B² ln det(I + K/λ). If a
    kernel is given, f is in its space, and the own bound of a `PKAWV` on features is `fixed_span`. B is `largest` (None: the
    largest |y|). JGR Proposition 1 and Theorem 3. Conditions: |y| ≤ B; all learners are `KernelAWV`, or `PKAWV` that never forgets.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> kernel = onkel.Gaussian(width=1.0)
    >>> learner = onkel.Experts(tuple(onkel.KernelAWV(kernel, lam) for lam in (0.01, 0.1, 1.0, 10.0)))
    >>> best = min(onkel.measure.bounds.kernel_awv(kernel, X, y, part.lam) + part.lam * 5.0 for part in learner.learners)
    >>> grid(learner, X, y, squared_norm=5.0) - best < 0.1 * best  # what it costs not to know λ
    True
    """
    best: float = min(part.lam * squared_norm + _own(part, X, y, kernel, largest) for part in learner.learners)
    return best + mixing(learner, X, y)


def mixing(learner: Experts, X: ArrayLike, y: ArrayLike) -> float:
    """What the mixture may lose to the best learner, on this stream: the bound of its rule, and the cost of clipping (`cutting`).

    The learners and the rule are run on the stream. With `ExponentialWeights` it is of the order ln K for K learners. Conditions:
    one output; the rule is `ExponentialWeights`, `FixedShare`, `MLPoly`, `BOA` or `Layered`.

    >>> X, y = onkel.data.smooth(200, dim=2, seed=0)
    >>> learner = onkel.Experts(tuple(onkel.PKAWV(onkel.Taylor(degree, width=1.0)) for degree in range(4)))
    >>> scores, alone = onkel.prequential(learner, X, y).scores, onkel.prequential(learner.learners[3], X, y).scores
    >>> bool(np.sum((scores - y) ** 2) <= np.sum((alone - y) ** 2) + mixing(learner, X, y))
    True
    """
    rows = check_block("X", X)
    _, labels, _ = check_labelled(rows, y, rows.shape[1], 1)
    bound = _MIXING.get(type(learner.rule))
    if bound is None:
        raise InputError(f"no bound against the best learner is known for {learner.rule!r}; take ExponentialWeights() or Layered()")
    scores = [part.learn(part.init(rows.shape[1]), rows, labels[:, 0]) for part in learner.learners]
    return bound(learner.rule, np.stack(scores, axis=1), labels[:, 0]) + cutting(labels[:, 0])


def _own(part: Any, X: ArrayLike, y: ArrayLike, kernel: Kernel | None, largest: float | None) -> float:
    """The learner's own bound, without λ‖f‖²."""
    exact = isinstance(part, KernelAWV)
    if not exact and not (isinstance(part, PKAWV) and part.awv and part.forgetting == 1.0):
        raise InputError(f"the bound is for KernelAWV, and for PKAWV with awv=True and forgetting=1, got {part!r:.200}")
    if exact or kernel is None:
        return kernel_awv(part.kernel if exact else part.features, X, y, part.lam, largest)
    return fixed_span(kernel, part.features, X, y, part.lam, largest)
