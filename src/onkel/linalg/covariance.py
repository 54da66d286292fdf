"""P = A⁻¹ of a few coordinates, while A grows by ηGGᵀ a round.

    p = PG,   s = G·p,   P ← P − p pᵀ η/(1 + ηs)

The product of √(η/(1 + ηs)) p with itself is subtracted, so that P stays symmetric to the last bit. In the direction of G the
subtraction leaves 1/(1 + ηs) of what there was: where that is little, digits would go with it, and Joseph's form is taken,

    K = p/(1/η + s),   M = I − KGᵀ,   P ← M P Mᵀ + KKᵀ/η

which adds what the other subtracts, at O(k³). For ten coordinates a round costs less than half of a triangular factor's, whose
steps wait for each other. p is right to eps · ‖A‖‖P‖, the factor (`onkel.linalg.factor`) to about the root of that: it is the
better form where many coordinates, or rows of very different size, come together.

P is kept with zeros behind its columns (`onkel.features.sketch.padded`), and so are vectors.
"""

from __future__ import annotations

import numpy as np

from onkel._jit import hot, hot_inline
from onkel._types import Matrix, Vector
from onkel.errors import InputError

LARGEST_LEVERAGE = 1e6  # ηs: with more, the plain update would lose more than six digits
LARGEST_MISMATCH = 1e-6  # beyond which a P was not made here


@hot_inline
def times(P: Matrix, v: Vector, out: Vector) -> None:
    """out ← P v."""
    for j in range(out.size):
        out[j] = 0.0
    whole = P.shape[0] // 2 * 2
    for i in range(0, whole, 2):
        a, b = v[i], v[i + 1]
        for j in range(out.size):
            out[j] += a * P[i, j] + b * P[i + 1, j]
    for i in range(whole, P.shape[0]):
        for j in range(out.size):
            out[j] += v[i] * P[i, j]


@hot_inline
def inner(a: Vector, b: Vector) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@hot_inline
def narrow(P: Matrix, G: Vector, p: Vector, s: float, eta: float) -> None:
    """P ← (P⁻¹ + ηGGᵀ)⁻¹, where p = PG and s = G·p. p is used up."""
    if eta * s > LARGEST_LEVERAGE:
        _joseph(P, G, p, s, eta)
        return
    root = np.sqrt(eta / (1.0 + eta * s))
    for j in range(p.size):
        p[j] *= root
    for i in range(P.shape[0]):
        a = p[i]
        for j in range(p.size):
            P[i, j] -= a * p[j]


@hot
def _joseph(P: Matrix, G: Vector, p: Vector, s: float, eta: float) -> None:
    k = P.shape[0]
    K = p[:k] / (1.0 / eta + s)
    M = np.eye(k) - np.outer(K, G[:k])
    after = M @ np.ascontiguousarray(P[:, :k]) @ M.T + np.outer(K, K) / eta
    for i in range(k):
        for j in range(k):
            P[i, j] = 0.5 * (after[i, j] + after[j, i])


def check(P: Matrix, ridge: float) -> None:
    """Refuse a P that no rows can have made: A is at least the ridge."""
    values = np.linalg.eigvalsh(P) if np.isfinite(P).all() and np.array_equal(P, P.T) else np.array([-1.0])
    if values[0] < -LARGEST_MISMATCH * values[-1] or not values[-1] <= (1.0 + LARGEST_MISMATCH) / ridge:
        raise InputError("its matrix is not the inverse of one that rows can have made")
