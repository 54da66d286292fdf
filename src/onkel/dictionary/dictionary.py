"""The protocol of a dictionary: before a round is scored, its point joins the dictionary with a probability p given by a rule.

    KORS      l = L⁻¹(s∘k),   q = (k(x, x) − l·l)/μ,   p = min(β (1 + ε) q/(1 + q), 1)        L Lᵀ = S K S + μI
    UNIFORM   p = rate

Here k are the kernel values of x with the points in the dictionary, and K is the kernel matrix of these points. Each point has the
weight 1/√p, with the probability p with which it joined; s are these weights, S = diag(s), and s∘k is their product with k, entry
by entry. μ, ε, β and `rate` are the fields `mu`, `accuracy` and `oversampling` of `Kors`, and `rate` of `Uniform`. Points never
leave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onkel._inputs import check_block
from onkel._jit import hot
from onkel._types import Matrix, Vector
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.linalg.cholesky import SMALLEST_RIDGE, append, is_factor, packed, solve
from onkel.linalg.loops import dot
from onkel.random import uniform
from onkel.state import growing, memory

KORS, UNIFORM = range(2)
Sampling = tuple[int, Vector, Vector, Vector]  # a rule and its statistics for compiled code: code, params, weights, factor
ROWS_AT_ONCE = 32


@memory
class State:
    """The rule's statistics of the m points; both arrays are empty for a rule that needs none."""

    weights: Vector = growing(0)  # (m,)  s, 1/√p
    factor: Vector = growing(0)  # (m (m + 1)/2,)  L, packed


class Dictionary(ABC):
    """A rule that decides which points join: the base of `Kors` and `Uniform`.

    >>> isinstance(onkel.Kors(), onkel.dictionary.Dictionary), isinstance(onkel.Uniform(), onkel.dictionary.Dictionary)
    (True, True)
    """

    code: ClassVar[int]
    remembers: ClassVar[bool]  # whether the rule keeps a point even if it is in the span of the others

    @abstractmethod
    def params(self) -> Vector:
        """The rule's parameters, for compiled code."""

    def sampling(self, state: State, points: int) -> Sampling:
        """The rule and its statistics of a dictionary with `points` points, for compiled code."""
        if len(state.weights) != (points if self.remembers else 0):
            raise InputError(f"this state's dictionary is not {self!r}; use the learner that made it")
        return self.code, self.params(), state.weights, state.factor

    def init(self) -> State:
        return State(np.empty(0), np.empty(0))

    @abstractmethod
    def joined(self, state: State, k: Vector, own: float) -> State:
        """The state after a point with kernel values k and k(x, x) = own has joined."""

    def check(self, state: State, kernel: Kernel, points: Matrix) -> None:
        """Refuse a state that `joined` cannot have made from these points."""
        m, s = len(points) if self.remembers else 0, state.weights
        if len(s) != m or len(state.factor) != packed(m) or (m and s.min() < 1.0):
            raise InputError("its dictionary's weights or factor have the wrong length for its points, or a weight is below 1")
        own = s * s * kernel.diagonal(points[:m])
        if not is_factor(state.factor, m, own, lambda a, b: s[a:b, None] * kernel.values(points[a:b], points) * s):
            raise InputError("the dictionary's factor does not match the kernel matrix of its points")

    def choose(self, kernel: Kernel, X: ArrayLike, seed: int = 0, budget: int | None = None) -> Matrix:
        """The points of X that this rule keeps, for a learner that knows its inputs beforehand.

        >>> X, y = onkel.data.smooth(1000, seed=0)
        >>> points = onkel.Kors(mu=0.1).choose(onkel.Gaussian(), X)
        >>> learner = onkel.PKAWV(features=onkel.Nystroem(onkel.Gaussian(), points))
        """
        from onkel.dictionary.span import empty, widened  # not at the top, because that file imports this one

        if not (isinstance(seed, int) and seed >= 0) or not (budget is None or (isinstance(budget, int) and budget >= 1)):
            raise InputError(
                f"seed must be a whole number, at least 0, and budget None or at least 1, got seed={seed!r} and budget={budget!r}"
            )
        rows = check_block("X", X)
        own = kernel.diagonal(rows)
        span, t = empty(self, rows.shape[1]), 0
        while t < len(rows) and (budget is None or len(span.points) < budget):
            stop = min(t + ROWS_AT_ONCE, len(rows))
            K = kernel.values(rows[t:stop], span.points)
            i = next_taken(self.sampling(span.sampling, len(span.points)), K, own[t:stop], seed, t)
            t += i
            if i < len(K):
                span, _, _ = widened(span, self, rows[t], K[i], float(own[t]), t)
                t += 1
        return span.points


@hot
def probability(sampling: Sampling, k: Vector, own: float, l: Vector) -> float:
    """The probability that a point joins. If the rule has a factor, l ← L⁻¹(s∘k)."""
    code, params, weights, factor = sampling
    if code == UNIFORM:
        return float(params[0])
    mu, accuracy, oversampling = params[0], params[1], params[2]
    for j in range(weights.size):
        l[j] = weights[j] * k[j]
    solve(factor, weights.size, l)
    q = max(own - dot(l[: weights.size], l[: weights.size]), 0.0) / mu
    return float(min(oversampling * (1.0 + accuracy) * (q / (1.0 + q)), 1.0))


@hot
def remember(weights: Vector, factor: Vector, size: int, l: Vector, own: float, mu: float, p: float) -> None:
    """Append the weight of a point that was taken with probability p, and its row of the factor of KORS, after those of `size`
    other points. Both arrays must have room. `own` is k(x, x).

    The pivot √(μ + (k(x, x) − l·l)/p) is at least √μ, so the factorisation cannot fail. If μ is so small that it would be lost in
    the rounding of k(x, x)/p, a larger μ is used for this point.
    """
    weights[size] = 1.0 / np.sqrt(p)
    rest = max(own - dot(l[:size], l[:size]), 0.0)
    append(factor, size, l[:size] / np.sqrt(p), np.sqrt(max(mu, SMALLEST_RIDGE * own / p) + rest / p))


@hot
def is_taken(sampling: Sampling, k: Vector, own: float, seed: int, round: int, l: Vector) -> bool:
    """Whether the point joins in this round: a random draw is compared with its probability."""
    return uniform(seed, round, 0) < probability(sampling, k, own, l)


@hot
def next_taken(sampling: Sampling, K: Matrix, own: Vector, seed: int, round: int) -> int:
    """The first row of K whose point joins; the number of rows if none does. Row i belongs to round `round` + i."""
    l = np.empty(K.shape[1])
    for i in range(K.shape[0]):
        if is_taken(sampling, K[i], own[i], seed, round + i, l):
            return i
    return int(K.shape[0])
